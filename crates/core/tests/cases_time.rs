//! The cases of arithmetic and time in `CASES.md` that need no store, each by its number: what people
//! who run rate limiters reported, with the answer that is right. Starts are at the epoch.

use core::time::Duration;

use tollgate_core::{Algorithm, Ask, Cost, Quota, Rate, Timestamp, Window};
use tollgate_testing::{CoreKey, Subject, table, table_from};

fn quota(algorithm: Algorithm, text: &str) -> Quota {
    Quota::parse(algorithm, text).unwrap()
}

fn bucket(text: &str) -> Quota {
    quota(Algorithm::TokenBucket, text)
}

fn key(quota: Quota) -> CoreKey {
    CoreKey::new(quota, None)
}

/// How many of `requests` checks of cost one pass at the epoch.
fn admitted(key: &mut CoreKey, requests: u32) -> u32 {
    let check = |_| {
        key.ask(Timestamp::EPOCH, Ask::check(Cost::ONE))
            .is_allowed()
    };
    (0..requests).map(check).map(u32::from).sum()
}

#[test]
fn c01_long_idle_time_does_not_overflow() {
    table(
        bucket("1000000/h burst 1000000"),
        "
        0s     check 1000000  -> allow 0
        12h    check 1        -> allow 999999
        3650d  check 1        -> allow 999999
        ",
    );
}

#[test]
fn c03_progress_below_a_second_is_kept() {
    table(
        bucket("1/s burst 1"),
        "
        0s    check 1  -> allow 0
        0.6s  check 1  -> deny 0  wait 0.4s
        1.2s  check 1  -> allow 0
        1.8s  check 1  -> deny 0  wait 0.4s
        2.4s  check 1  -> allow 0
        ",
    );
}

#[test]
fn c05_rates_faster_than_the_time_unit() {
    table(
        bucket("2000/s burst 1"),
        "
        0s     check 1  -> allow 0
        0.2ms  check 1  -> deny 0  wait 0.3ms
        0.5ms  check 1  -> allow 0
        ",
    );
    let mut key = key(bucket("1000/min burst 1001"));
    assert_eq!(admitted(&mut key, 1_100), 1_001);
    let denied = key.ask(Timestamp::EPOCH, Ask::check(Cost::ONE));
    assert_eq!(denied.retry_after(), Some(Duration::from_millis(60)));
    // A billion and one a second: a token takes a little less than a nanosecond.
    table(
        bucket("1000000001/s burst 1"),
        "
        0s   check 1  -> allow 0
        0s   check 1  -> deny 0  wait 1ns
        1ns  check 1  -> allow 0
        ",
    );
}

#[test]
fn c09_retry_counts_what_has_refilled() {
    table(
        bucket("1/s burst 1"),
        "
        0s    check 1  -> allow 0
        0.2s  check 1  -> deny 0  wait 0.8s
        ",
    );
    table(
        bucket("6/min burst 6"),
        "
        0s      check 6  -> allow 0
        0s      check 1  -> deny 0  wait 10s
        5s      check 1  -> deny 0  wait 5s
        9.999s  check 1  -> deny 0  wait 1ms
        10s     check 1  -> allow 0
        ",
    );
}

#[test]
fn c10_reset_is_the_time_to_full() {
    table(bucket("1/3s burst 10"), "0s check 4 -> allow 6 reset 12s");
    table(bucket("30/min burst 16"), "0s check 1 -> allow 15 reset 2s");
}

#[test]
fn c12_remaining_counts_down_to_zero_and_the_limit_is_what_passes() {
    for algorithm in Algorithm::ALL {
        let mut key = key(quota(algorithm, "10/min"));
        let mut check = || key.ask(Timestamp::EPOCH, Ask::check(Cost::ONE));
        for left in (0..10).rev() {
            let decision = check();
            assert!(decision.is_allowed(), "{algorithm}");
            assert_eq!(
                (decision.remaining(), decision.limit()),
                (left, 10),
                "{algorithm}"
            );
        }
        for _ in 0..2 {
            let decision = check();
            assert!(decision.is_denied(), "{algorithm}");
            assert_eq!(decision.remaining(), 0, "{algorithm}");
        }
    }
    // A burst of 100 on top of one: 101 is written, 101 is advertised, and 101 pass.
    assert_eq!(admitted(&mut key(bucket("100/s burst 101")), 154), 101);
}

#[test]
fn c13_window_boundaries_are_half_open() {
    let at = |key: &mut CoreKey, millis| {
        let now = Timestamp::EPOCH + Duration::from_millis(millis);
        let check = |_| key.ask(now, Ask::check(Cost::ONE));
        (0..61)
            .map(check)
            .filter(|decision| decision.is_allowed())
            .count()
    };
    let mut fixed = key(quota(Algorithm::FixedWindow, "60/min"));
    assert_eq!((at(&mut fixed, 59_900), at(&mut fixed, 60_000)), (60, 60));
    let mut rolling = key(quota(Algorithm::RollingWindow, "60/min"));
    assert_eq!(
        (at(&mut rolling, 59_900), at(&mut rolling, 60_000)),
        (60, 0)
    );
    let denied = rolling.ask(Timestamp::from_secs(60), Ask::check(Cost::ONE));
    assert_eq!(denied.retry_after(), Some(Duration::from_millis(59_900)));
    for algorithm in [Algorithm::FixedWindow, Algorithm::RollingWindow] {
        table(
            quota(algorithm, "1/min"),
            "
            0s             check 1  -> allow 0
            59.4s          check 1  -> deny 0  wait 0.6s
            59.999999999s  check 1  -> deny 0  wait 1ns
            60s            check 1  -> allow 0
            ",
        );
    }
}

#[test]
fn c14_windows_beyond_31_bits_of_milliseconds() {
    for algorithm in [Algorithm::FixedWindow, Algorithm::RollingWindow] {
        table(
            quota(algorithm, "5/365day"),
            "
            0s    check 5  -> allow 0  reset 365d
            0s    check 1  -> deny 0   wait 365d
            25d   check 1  -> deny 0   wait 340d
            365d  check 1  -> allow 4
            ",
        );
    }
    // One action in a billion seconds.
    let cooldown = Rate::every(Duration::from_secs(1_000_000_000)).unwrap();
    table(
        Quota::token_bucket(cooldown, 1).unwrap(),
        "
        0s  check 1  -> allow 0
        1s  check 1  -> deny 0  wait 999999999s
        ",
    );
}

#[test]
fn c16_backward_jitter_inside_the_burst_is_no_denial() {
    for algorithm in Algorithm::ALL {
        let mut key = key(quota(algorithm, "5/s"));
        let readings = [1_000_000, 999_999, 1_000_001, 999_999, 999_998, 999_998];
        let passed = readings.map(|reading| {
            let now = Timestamp::from_nanos(reading * 100_000);
            key.ask(now, Ask::check(Cost::ONE)).is_allowed()
        });
        assert_eq!(passed, [true, true, true, true, true, false], "{algorithm}");
    }
}

#[test]
fn c21_a_month_is_of_the_calendar() {
    let month = Quota::fixed_window(2, Window::Month).unwrap();
    for (start, rows) in [
        (1_771_113_600, "0s check 1 -> allow 1 reset 1209600s"), // 2026-02-15T00:00:00Z
        (1_769_903_999, "0s check 1 -> allow 1 reset 1s"),       // 2026-01-31T23:59:59Z
        (1_709_251_199, "0s check 1 -> allow 1 reset 1s"),       // 2024-02-29T23:59:59Z
        (1_798_761_599, "0s check 1 -> allow 1 reset 1s"),       // 2026-12-31T23:59:59Z
    ] {
        table_from(Timestamp::from_secs(start), month, None, rows);
    }
    // Two hits seconds apart share a counter.
    table_from(
        Timestamp::from_secs(1_771_113_600),
        month,
        None,
        "
        0s  check 1  -> allow 1
        9s  check 1  -> allow 0
        9s  check 1  -> deny 0  wait 1209591s
        ",
    );
    // Thirty days since 1970 are another window, and say so.
    let thirty_days = quota(Algorithm::FixedWindow, "2/30day");
    let rows = "0s check 1 -> allow 1 reset 1814400s";
    table_from(Timestamp::from_secs(1_771_113_600), thirty_days, None, rows);
}
