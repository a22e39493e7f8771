//! The cases of cost, denial and configuration in `CASES.md` that need no store, each by its number:
//! what people who run rate limiters reported, with the answer that is right.

use core::time::Duration;

use tollgate_core::{Algorithm, Ask, Cost, CostError, Quota, QuotaError, Rate, RateError};
use tollgate_core::{Timestamp, Window};
use tollgate_testing::{CoreKey, Subject, table};

fn quota(algorithm: Algorithm, text: &str) -> Quota {
    Quota::parse(algorithm, text).unwrap()
}

fn bucket(text: &str) -> Quota {
    quota(Algorithm::TokenBucket, text)
}

fn key(quota: Quota) -> CoreKey {
    CoreKey::new(quota, None)
}

#[test]
fn c31_a_cost_of_zero_does_not_exist_and_a_peek_changes_nothing() {
    assert_eq!(Cost::new(0), Err(CostError::NotPositive));
    assert_eq!("0".parse::<Cost>(), Err(CostError::NotPositive));
    table(
        bucket("1/s burst 3"),
        "
        0s  peek 1   -> allow 3
        0s  check 3  -> allow 0
        0s  peek 1   -> deny 0  wait 1s
        0s  check 1  -> deny 0  wait 1s
        ",
    );
}

#[test]
fn c32_a_negative_cost_does_not_exist_and_a_refund_is_bounded() {
    assert_eq!(Cost::try_from(-5.0), Err(CostError::NotPositive));
    assert_eq!("-5".parse::<Cost>(), Err(CostError::NotPositive));
    table(
        bucket("1/s burst 10"),
        "
        0s  check 6     -> allow 4
        0s  check 5     -> deny 4  wait 1s
        0s  refund 100  -> allow 10
        ",
    );
}

#[test]
fn c34_a_cost_above_capacity_is_never() {
    table(
        quota(Algorithm::RollingWindow, "10/min"),
        "
        0s  check 5    -> allow 5
        0s  check 100  -> never 5
        0s  check 5    -> allow 0
        0s  check 1    -> deny 0  wait 60s
        ",
    );
    table(
        bucket("5/s burst 5"),
        "
        0s  check 6 within 365d  -> never 5
        0s  check 5              -> allow 0
        ",
    );
}

#[test]
fn c37_cancelled_bookings_leave_no_trace() {
    table(
        bucket("60/s burst 1"),
        "
        0s  check 1 within 1s  -> allow 0
        0s  check 1 within 1s  -> allow 0  wait 16.666667ms
        0s  check 1 within 1s  -> allow 0  wait 33.333334ms
        0s  refund 1           -> allow 0
        0s  refund 1           -> allow 0
        0s  refund 1           -> allow 1  reset 0s
        0s  check 1            -> allow 0
        ",
    );
    table(
        bucket("1/s burst 2"),
        "
        0s    check 2  -> allow 0
        0.5s  check 3  -> never 0
        1s    check 1  -> allow 0
        ",
    );
}

#[test]
fn c38_zero_is_refused_by_name() {
    assert_eq!(Rate::per_second(0), Err(RateError::Zero));
    assert_eq!(
        "0/s".parse::<Rate>().unwrap_err().to_string(),
        "\"0/s\": a rate must be greater than 0"
    );
    let rate = Rate::per_second(1).unwrap();
    assert_eq!(Quota::token_bucket(rate, 0), Err(QuotaError::Zero));
    let minute = Window::of(Duration::from_secs(60)).unwrap();
    assert_eq!(Quota::fixed_window(0, minute), Err(QuotaError::Zero));
    assert_eq!(
        QuotaError::Zero.to_string(),
        "a limit must be greater than 0"
    );
}

#[test]
fn c41_denied_hits_do_not_prolong_the_denial() {
    let passes = |quota: Quota, every: u64, until: u64| -> Vec<u64> {
        let mut key = key(quota);
        let mut passes = |secs: &u64| {
            let now = Timestamp::from_secs(*secs);
            key.ask(now, Ask::check(Cost::ONE)).is_allowed()
        };
        (0..=until / every)
            .map(|n| n * every)
            .filter(|secs| passes(secs))
            .collect()
    };
    let rolling = passes(quota(Algorithm::RollingWindow, "10/10min"), 30, 1_200);
    let run = |start: u64| (0..10).map(move |n| start + n * 30);
    let right: Vec<u64> = run(0).chain(run(600)).chain([1_200]).collect();
    assert_eq!(rolling, right);
    // The windows of ours are aligned, which the first hit at the epoch is as well.
    let fixed = passes(quota(Algorithm::FixedWindow, "5/min"), 10, 120);
    assert_eq!(fixed, [0, 10, 20, 30, 40, 60, 70, 80, 90, 100, 120]);
}

#[test]
fn c48_a_bucket_is_not_refilled_by_idling() {
    let mut key = key(bucket("10/h burst 10"));
    let mut passes = |secs: &u64| {
        let now = Timestamp::from_secs(*secs);
        key.ask(now, Ask::check(Cost::ONE)).is_allowed()
    };
    let passed: Vec<u64> = (0..180)
        .map(|n| n * 20)
        .filter(|secs| passes(secs))
        .collect();
    let right: Vec<u64> = (0..10)
        .map(|n| n * 20)
        .chain((1..10).map(|n| n * 360))
        .collect();
    assert_eq!(passed.len(), 19);
    assert_eq!(passed, right);
}

#[test]
fn c72_a_rate_is_what_it_says() {
    table(
        bucket("4000/s burst 1"),
        "
        0s     check 1  -> allow 0
        250us  check 1  -> allow 0
        500us  check 1  -> allow 0
        749us  check 1  -> deny 0  wait 1us
        ",
    );
    assert_eq!(
        bucket("1.5/s").rate(),
        Rate::per(3, Duration::from_secs(2)).ok()
    );
    assert_eq!(bucket(" 5 / 1min ").rate(), Rate::per_minute(5).ok());
    for wrong in [
        "10 perr day",
        "1 per hour; 10 perr day",
        "hoursss",
        "5/m",
        "5/M",
        "1/0s",
        "5/-1m",
    ] {
        assert!(
            Quota::parse(Algorithm::TokenBucket, wrong).is_err(),
            "{wrong}"
        );
    }
}
