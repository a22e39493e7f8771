//! The oracle is only as good as its definitions, so these are followed tick by tick.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use tollgate_core::{Rate, Window};

use super::*;
use crate::trace::small_cost;
use std::time::Duration;

/// Quotas whose spans are a few ticks long, so that every tick can be looked at.
fn tiny_quotas() -> Vec<Quota> {
    let length = Duration::from_nanos(17);
    let rate = |tokens, nanos| Rate::per(tokens, Duration::from_nanos(nanos)).unwrap();
    vec![
        Quota::token_bucket(rate(1, 3), 4).unwrap(),
        Quota::token_bucket(rate(10, 13), 12).unwrap(),
        Quota::fixed_window(5, Window::of(length).unwrap()).unwrap(),
        Quota::rolling_window(5, length).unwrap(),
        Quota::sliding_window(5, length).unwrap(),
    ]
}

/// The wait is found by a guess or by halving, both of which hold only if room never shrinks while
/// nothing happens. Here it is looked for one tick after the other.
#[test]
fn a_wait_is_the_least_that_there_is() {
    let mut runner = TestRunner::deterministic();
    let steps = prop::collection::vec((0..30_u64, 0..6_u8, small_cost()), 30);
    for quota in tiny_quotas() {
        for _ in 0..5 {
            let mut oracle = Oracle::new(quota, Some(Cost::new(3).unwrap()));
            let mut now = 0;
            for (gap, verb, cost) in steps.new_tree(&mut runner).unwrap().current() {
                now += gap;
                let ask = match verb {
                    0 => Ask::refund(cost),
                    1 => Ask::charge(cost),
                    2 => Ask::check(cost).within(Duration::from_nanos(20)),
                    _ => Ask::check(cost),
                };
                oracle.ask(Timestamp::from_nanos(now), ask);
                every_tick_agrees(&oracle, now.into());
            }
        }
    }
}

fn every_tick_agrees(oracle: &Oracle, now: Nanos) {
    let room = |wait: Nanos| oracle.model.room(now + wait);
    let mut at_most = room(0);
    for wait in 1..60 {
        assert!(room(wait) >= at_most, "room never shrinks: {oracle:?}");
        at_most = room(wait);
    }
    for cost in (1..=oracle.limit).step_by(499) {
        let scanned = (0..).find(|wait| room(*wait) >= BigRational::from(big(cost)));
        assert_eq!(Some(oracle.until_room(now, cost)), scanned, "{oracle:?}");
    }
}
