//! Refunds never give more than was taken, and a charge takes what is there, down to its bound.

use core::time::Duration;

use tollgate_core::{Algorithm, Ask, Cost, Outcome, Timestamp, Verb};
use tollgate_testing::trace::{Menu, trace};
use tollgate_testing::{CoreKey, Subject, forall, run};

#[test]
fn a_refund_never_makes_more_than_a_full_quota() {
    for algorithm in Algorithm::ALL {
        forall(80, &trace(algorithm, Menu::Everything, 40), |trace| {
            let limit = trace.quota.limit();
            let mut key = CoreKey::new(trace.quota, trace.debt);
            run(&trace, |now, ask| {
                let mut refunded = key.clone();
                let full = refunded.ask(now, Ask::refund(Cost::MAX));
                let mut fresh = CoreKey::new(trace.quota, trace.debt);
                for later in [Duration::ZERO, Duration::from_nanos(1), trace.quota.span()] {
                    let peek = Ask::peek(ask.cost()).within(ask.patience());
                    if refunded.ask(now + later, peek) != fresh.ask(now + later, peek) {
                        return Err(format!("not as good as new, {later:?} after {full:?}"));
                    }
                }
                let decision = key.ask(now, ask);
                for decision in [&decision, &full] {
                    if decision.remaining() > limit {
                        return Err(format!("more than full: {decision:?}"));
                    }
                }
                if !full.reset_after().is_zero() || full.remaining() != limit {
                    return Err(format!("everything is given back, but {full:?}"));
                }
                Ok(decision)
            })
        });
    }
}

/// A check and its refund at the same instant leave nothing behind: the next one sees what the
/// first one saw. (Bookings are another matter: a fixed window closes what they skip.)
#[test]
fn a_refunded_check_leaves_no_trace() {
    for algorithm in Algorithm::ALL {
        forall(80, &trace(algorithm, Menu::Everything, 40), |trace| {
            let mut key = CoreKey::new(trace.quota, trace.debt);
            run(&trace, |now, ask| {
                let mut undone = key.clone();
                let check = Ask::check(ask.cost());
                if undone.ask(now, check).is_allowed() {
                    let _ = undone.ask(now, Ask::refund(ask.cost()));
                    for later in [0, 1, 1_000_000_007] {
                        let then = now + Duration::from_nanos(later);
                        let (seen, should) = (
                            undone.clone().ask(then, check),
                            key.clone().ask(then, check),
                        );
                        if seen != should {
                            return Err(format!("{seen:?} after a refund, not {should:?}"));
                        }
                    }
                }
                Ok(key.ask(now, ask))
            })
        });
    }
}

/// A charge that falls short leaves exactly the stated debt, no more, and nothing passes until it
/// is paid.
#[test]
fn a_charge_takes_no_more_than_the_debt_bound() {
    for algorithm in Algorithm::ALL {
        forall(80, &trace(algorithm, Menu::Everything, 40), |trace| {
            let mut key = CoreKey::new(trace.quota, trace.debt);
            run(&trace, |now, ask| {
                let decision = key.ask(now, ask);
                let short = ask.verb() == Verb::Charge && decision.outcome() != Outcome::Allow;
                // Behind a booking, what a rolling window would have room for is not there to be
                // taken, so that charges get up to the same bound in steps of the debt.
                let booked = key.limit.keeps_log() && decision.reset_after() > trace.quota.span();
                if short && !booked {
                    let mut more = key.clone();
                    let _ = more.ask(now, Ask::charge(Cost::MAX));
                    if (more.state, &more.log) != (key.state, &key.log) {
                        return Err(format!("{decision:?} left something to take"));
                    }
                    let one = more.ask(now, Ask::check(Cost::MIN));
                    if one.is_allowed() || decision.remaining() != 0 {
                        return Err(format!("all is taken, but {one:?} after {decision:?}"));
                    }
                }
                Ok(decision)
            })
        });
    }
}

/// Fifteen of ten are spent after the fact, with a debt of at most five: the five are paid first.
#[test]
fn debt_is_paid_before_anything_passes() {
    let debt = Some(Cost::new(5).unwrap());
    for (algorithm, text, paid_after) in [
        (
            Algorithm::TokenBucket,
            "1/s burst 10",
            Duration::from_secs(6),
        ),
        (Algorithm::FixedWindow, "10/10s", Duration::from_secs(10)),
        (Algorithm::RollingWindow, "10/10s", Duration::from_secs(10)),
        // Ten seconds on, fifteen count for 9 once two fifths of the next window have passed.
        (Algorithm::SlidingWindow, "10/10s", Duration::from_secs(14)),
    ] {
        let quota = tollgate_core::Quota::parse(algorithm, text).unwrap();
        let mut key = CoreKey::new(quota, debt);
        let now = Timestamp::from_secs(1_000);
        let all = key.ask(now, Ask::charge(Cost::new(15).unwrap()));
        assert!(all.is_allowed(), "{algorithm}");
        assert_eq!(all.remaining(), 0, "{algorithm}");
        let none = key.ask(now, Ask::charge(Cost::ONE));
        assert_eq!(
            none.outcome(),
            Outcome::Deny,
            "{algorithm}: the bound is reached"
        );
        let denied = key.ask(now, Ask::check(Cost::ONE));
        assert_eq!(denied.retry_after(), Some(paid_after), "{algorithm}");
        assert!(
            key.ask(now + paid_after, Ask::check(Cost::ONE))
                .is_allowed()
        );
    }
}
