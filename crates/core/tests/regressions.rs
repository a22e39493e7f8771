//! What once went wrong.

use core::time::Duration;

use tollgate_core::{Algorithm, Ask, Cost, Limit, Log, Outcome, Quota, Rate, State, Timestamp};

const START: Timestamp = Timestamp::from_secs(1_750_000_000);

fn tokens(count: u64) -> Cost {
    Cost::new(count).unwrap()
}

/// Symptom: a charge of 5 on a bucket that held 3 said "retry after 2 s", as if it had not just
/// taken the 3.
#[test]
fn a_charge_that_falls_short_counts_what_it_took_in_the_wait() {
    let charge = Ask::charge(tokens(5));
    for (algorithm, text, wait) in [
        (
            Algorithm::TokenBucket,
            "1/s burst 10",
            Duration::from_secs(5),
        ),
        (Algorithm::FixedWindow, "10/10s", Duration::from_secs(10)),
        // Ten are used in this window, of which half count once half of the next one has passed.
        (Algorithm::SlidingWindow, "10/10s", Duration::from_secs(15)),
    ] {
        let limit = Limit::new(Quota::parse(algorithm, text).unwrap());
        let step = limit.decide(State::FRESH, START, Ask::check(tokens(7)));
        let step = limit.decide(step.next.unwrap(), START, charge);
        assert_eq!(step.decision.outcome(), Outcome::Deny, "{algorithm}");
        assert_eq!(step.decision.retry_after(), Some(wait), "{algorithm}");
    }
    let limit = Limit::new(Quota::parse(Algorithm::RollingWindow, "10/10s").unwrap());
    let mut log = Log::default();
    let second = Duration::from_secs(1);
    assert!(
        limit
            .decide_log(&mut log, START, Ask::check(tokens(3)))
            .is_allowed()
    );
    assert!(
        limit
            .decide_log(&mut log, START + second, Ask::check(tokens(4)))
            .is_allowed()
    );
    // The 3 and the 4 have to leave for 5 to fit; before the charge, the 3 were enough.
    let short = limit.decide_log(&mut log, START + second * 2, charge);
    assert_eq!(short.retry_after(), Some(second * 9));
}

/// Symptom: 4399 tokens a nanosecond printed as `4399000000000/s`, which is refused as too many.
#[test]
fn the_largest_rates_print_what_is_read_back() {
    for rate in [
        Rate::per(4_399, Duration::from_nanos(1)).unwrap(),
        Rate::per(1 << 36, Duration::from_nanos(1)).unwrap(),
        Rate::per((1 << 36) - 1, Duration::from_nanos(1 << 37)).unwrap(),
    ] {
        assert_eq!(rate.to_string().parse(), Ok(rate), "{rate}");
    }
}

/// Symptom: of two threads that check a rolling window at once, the one whose reading of the clock
/// was a few nanoseconds behind was queued behind the other, and denied with the window nearly
/// empty. Of C16, as boinkor-net/governor#299 reported it of a token bucket.
#[test]
fn an_earlier_reading_is_not_queued_behind_a_later_one() {
    let limit = Limit::new(Quota::parse(Algorithm::RollingWindow, "5/s").unwrap());
    let mut log = Log::default();
    let mut passed = 0;
    for reading in [1_000, 999, 1_001, 999, 998, 998] {
        let now = START + Duration::from_micros(reading * 100);
        passed += u32::from(
            limit
                .decide_log(&mut log, now, Ask::check(Cost::ONE))
                .is_allowed(),
        );
    }
    assert_eq!(passed, 5);
}

/// Symptom: with a state from a much larger limit, products of a small bucket overflowed, and a
/// denial told to retry after no time.
#[test]
fn a_state_of_a_larger_limit_is_no_more_than_full_debt() {
    let limit = Limit::new(Quota::parse(Algorithm::TokenBucket, "10/s burst 10").unwrap());
    let decide = |used| {
        let state = State {
            at: START.as_nanos(),
            used,
            before: 0,
        };
        let decision = limit.decide(state, START, Ask::check(Cost::ONE)).decision;
        assert_eq!(decision.outcome(), Outcome::Deny, "{used}");
        decision
    };
    for used in [1 << 40, 1 << 47, u64::MAX / 2, u64::MAX] {
        assert_eq!(decide(used), decide(limit.most_used()), "{used}");
    }
}
