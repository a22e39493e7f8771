//! Promise 1: over any interval, no more is admitted than the quota says, whatever the clock does.

use tollgate_core::{Algorithm, Ask, Cost, Quota, Timestamp};
use tollgate_testing::trace::{Menu, trace};
use tollgate_testing::{CoreKey, Ledger, Subject, forall, run};

/// Checks, bookings and charges in steady time, on a clock that stops and goes back.
fn admits_no_more_than_it_says(algorithm: Algorithm) {
    forall(120, &trace(algorithm, Menu::Spending, 100), |trace| {
        let mut key = CoreKey::new(trace.quota, None);
        let mut ledger = Ledger::default();
        run(&trace, |now, ask| {
            let decision = key.ask(now, ask);
            ledger.note(now, ask, &decision);
            Ok(decision)
        })?;
        ledger.obeys(&trace.quota)
    });
}

#[test]
fn token_bucket_admits_at_most_its_burst_and_what_flows_in() {
    admits_no_more_than_it_says(Algorithm::TokenBucket);
}

#[test]
fn fixed_window_admits_at_most_its_limit_in_each_window() {
    admits_no_more_than_it_says(Algorithm::FixedWindow);
}

#[test]
fn rolling_window_admits_at_most_its_limit_in_every_trailing_window() {
    admits_no_more_than_it_says(Algorithm::RollingWindow);
}

#[test]
fn sliding_window_admits_at_most_its_limit_in_each_window_and_less_than_twice_in_a_trailing_one() {
    admits_no_more_than_it_says(Algorithm::SlidingWindow);
}

/// As much as possible is asked for, so that what is admitted is all that is promised: no refill is
/// lost either.
#[test]
fn token_bucket_admits_all_that_flows_in() {
    for text in [
        "1/3s burst 1",
        "10/13s burst 7",
        "999983/day burst 5",
        "300000/s burst 3",
    ] {
        let quota = Quota::parse(Algorithm::TokenBucket, text).unwrap();
        let rate = quota.rate().unwrap();
        let mut key = CoreKey::new(quota, None);
        let mut now = Timestamp::from_secs(1_750_000_000);
        let start = now;
        let mut admitted = 0_u128;
        for step in 0..5_000_u64 {
            while key.ask(now, Ask::check(Cost::MIN)).is_allowed() {
                admitted += 1;
            }
            let flowed = u128::from(rate.tokens()) * 1_000 * now.since(start).as_nanos()
                / rate.period().as_nanos();
            assert_eq!(
                admitted,
                u128::from(quota.limit_thousandths()) + flowed,
                "{text}"
            );
            // Gaps that divide nothing, and are too short for the bucket to fill up.
            now = now + core::time::Duration::from_nanos(3_001 + step * 7 % 5_003);
        }
    }
}

/// Readings that go back without anybody making them steady grant nothing twice either.
#[test]
fn readings_that_go_back_refill_nothing() {
    for algorithm in Algorithm::ALL {
        let quota = match algorithm {
            Algorithm::TokenBucket => Quota::parse(algorithm, "10/s burst 10"),
            _ => Quota::parse(algorithm, "10/s"),
        };
        let mut key = CoreKey::new(quota.unwrap(), None);
        let (old, new) = (Timestamp::from_secs(1_000), Timestamp::from_secs(1_002));
        let mut admitted = 0;
        for step in 0..1_000 {
            let now = if step % 2 == 0 { new } else { old };
            admitted += u32::from(key.ask(now, Ask::check(Cost::ONE)).is_allowed());
        }
        assert_eq!(admitted, 10, "{algorithm}");
    }
}
