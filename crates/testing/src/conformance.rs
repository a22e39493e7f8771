//! One suite that every store passes.
//!
//! A store in the process, on a clock that can be set, is tested by one line:
//!
//! ```
//! # mod tests {
//! use tollgate::{Clock, MemoryStore};
//!
//! tollgate_testing::store_conformance!(|clock| {
//!     MemoryStore::builder().clock(Clock::manual(clock)).build()
//! });
//! # }
//! ```
//!
//! A store that has its own clock, or whose answers take time, implements [`Bench`] and passes the
//! part that does not depend on the time, with
//! [`store_conformance_timeless!`](crate::store_conformance_timeless). Whoever can set the clock of
//! such a store implements [`TimedBench`] as well, and passes the rest with
//! [`store_conformance_timed!`](crate::store_conformance_timed).

mod keys;
mod races;
mod time;
mod together;
mod verbs;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use smallvec::SmallVec;
use tollgate::{Algorithm, Ask, Cost, Decision, Key, Limiter, LimiterBuilder, ManualClock};
use tollgate::{Quota, Rate, Store, Window};

pub use self::keys::*;
pub use self::races::*;
pub use self::time::*;
pub use self::together::*;
pub use self::verbs::*;

/// Where a store is tested.
pub trait Bench: Sync {
    /// The store.
    type Store: Store;

    /// A store that holds nothing yet, and shares nothing with those before it.
    fn store(&self) -> Self::Store;

    /// Waits for an answer of the store, on whatever it runs on. Many threads wait at once.
    fn wait<T>(&self, answer: impl Future<Output = T>) -> T;
}

/// Where a store is tested whose clock can be set.
pub trait TimedBench: Bench {
    /// The clock of every store that [`Bench::store`] makes from now on.
    fn clock(&self) -> &ManualClock;
}

/// The bench of a store that is made on a given clock and answers at once.
#[derive(Debug)]
pub struct ManualBench<F> {
    clock: ManualClock,
    make: F,
}

impl<S: Store, F: Fn(&ManualClock) -> S + Sync> ManualBench<F> {
    /// A bench with a clock of its own.
    pub fn new(make: F) -> Self {
        Self {
            clock: ManualClock::default(),
            make,
        }
    }
}

impl<S: Store, F: Fn(&ManualClock) -> S + Sync> Bench for ManualBench<F> {
    type Store = S;

    fn store(&self) -> S {
        (self.make)(&self.clock)
    }

    fn wait<T>(&self, answer: impl Future<Output = T>) -> T {
        match pin!(answer).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => answer,
            Poll::Pending => panic!("not at once: implement `Bench` for this store"),
        }
    }
}

impl<S: Store, F: Fn(&ManualClock) -> S + Sync> TimedBench for ManualBench<F> {
    fn clock(&self) -> &ManualClock {
        &self.clock
    }
}

/// Tests a store in full; the expression makes one on a given [`ManualClock`].
#[macro_export]
macro_rules! store_conformance {
    ($make:expr) => {
        $crate::store_conformance_timeless!($crate::conformance::ManualBench::new($make));
        $crate::store_conformance_timed!($crate::conformance::ManualBench::new($make));
    };
}

/// Tests everything about a store for which its clock need not be set; the expression makes a
/// [`Bench`](crate::conformance::Bench).
#[macro_export]
macro_rules! store_conformance_timeless {
    ($bench:expr) => {
        $crate::conformance_tests! {
            $bench =>
            admits_the_limit_and_says_what_remains,
            a_cost_above_the_limit_is_never_and_spends_nothing,
            a_peek_spends_nothing,
            a_refund_gives_back_no_more_than_was_spent,
            a_charge_takes_what_is_there,
            a_charge_takes_as_much_debt_as_it_may,
            a_disabled_limiter_allows_everything,
            keys_with_different_parts_never_meet,
            keys_are_neither_cut_nor_folded,
            limits_on_one_store_share_no_state,
            a_name_is_bound_once,
            all_quotas_are_charged_or_none,
            a_quota_that_can_never_pass_spares_the_others,
            every_quota_is_given_back,
            charges_of_different_limiters_are_all_or_none,
            charges_of_one_key_add_up,
            threads_admit_exactly_the_limit,
            threads_that_meet_a_new_key_admit_one,
            threads_charge_all_quotas_or_none,
            threads_lose_nothing_that_is_given_back,
        }
    };
}

/// Tests what a store makes of time; the expression makes a
/// [`TimedBench`](crate::conformance::TimedBench).
#[macro_export]
macro_rules! store_conformance_timed {
    ($bench:expr) => {
        $crate::conformance_tests! {
            $bench =>
            retries_are_honest,
            retries_of_several_quotas_are_honest,
            single_keys_answer_as_the_oracle,
            several_keys_answer_as_the_oracle,
            several_quotas_answer_as_the_oracle,
            what_is_admitted_obeys_the_quota,
        }
    };
}

/// Makes a test of each function.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_tests {
    ($bench:expr => $($test:ident,)*) => {
        $(
            #[test]
            fn $test() {
                $crate::conformance::$test(&$bench);
            }
        )*
    };
}

/// A limit of ten, of every algorithm, of which so little comes back while a test runs that it may
/// be taken for nothing.
fn ten(algorithm: Algorithm) -> Quota {
    slow(algorithm, 10)
}

fn slow(algorithm: Algorithm, limit: u64) -> Quota {
    /// A hundred years: less than a thousandth of a token in an hour, and no boundary soon.
    const LONG: Duration = Duration::from_secs(100 * 365 * 86_400);
    match algorithm {
        Algorithm::TokenBucket => {
            Quota::token_bucket(Rate::per(limit, LONG).expect("in range"), limit)
        }
        Algorithm::FixedWindow => Quota::fixed_window(limit, Window::of(LONG).expect("in range")),
        Algorithm::RollingWindow => Quota::rolling_window(limit, LONG),
        Algorithm::SlidingWindow => Quota::sliding_window(limit, LONG),
        other => panic!("no quota of {other}"),
    }
    .expect("in range")
}

fn tokens(count: u64) -> Cost {
    Cost::new(count).expect("more than zero")
}

fn bound<S: Store>(builder: LimiterBuilder, store: &S) -> Limiter<S> {
    builder.build(store).expect("can be bound")
}

/// A limiter with a store of its own.
fn limiter<B: Bench>(bench: &B, quotas: &[Quota]) -> Limiter<B::Store> {
    let builder = Limiter::builder("policy");
    let with_all = quotas
        .iter()
        .fold(builder, |builder, quota| builder.quota(*quota));
    bound(with_all, &bench.store())
}

/// Asks, of a store that has to answer.
fn ask<'k, B: Bench>(
    bench: &B,
    limiter: &Limiter<B::Store>,
    key: impl Into<Key<'k>>,
    ask: Ask,
) -> Decision {
    bench
        .wait(limiter.ask_async(key, ask))
        .expect("the store answers")
}

/// As [`ask`], with the decision of each quota.
fn ask_each<'k, B: Bench>(
    bench: &B,
    limiter: &Limiter<B::Store>,
    key: impl Into<Key<'k>>,
    ask: Ask,
) -> (Decision, SmallVec<[Decision; 4]>) {
    let mut each = SmallVec::new();
    let governing = bench.wait(limiter.ask_each_async(key, ask, &mut each));
    (governing.expect("the store answers"), each)
}
