//! Promise 3: the core gives the answers of the oracle, for every algorithm and every verb.

use tollgate_core::Algorithm;
use tollgate_testing::trace::{Menu, trace};
use tollgate_testing::{CoreKey, compare, forall};

fn core_is_the_oracle(algorithm: Algorithm) {
    forall(100, &trace(algorithm, Menu::Everything, 60), |trace| {
        compare(&trace, &mut CoreKey::new(trace.quota, trace.debt))
    });
}

#[test]
fn token_bucket_answers_as_the_oracle() {
    core_is_the_oracle(Algorithm::TokenBucket);
}

#[test]
fn fixed_window_answers_as_the_oracle() {
    core_is_the_oracle(Algorithm::FixedWindow);
}

#[test]
fn rolling_window_answers_as_the_oracle() {
    core_is_the_oracle(Algorithm::RollingWindow);
}

#[test]
fn sliding_window_answers_as_the_oracle() {
    core_is_the_oracle(Algorithm::SlidingWindow);
}
