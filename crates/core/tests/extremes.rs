//! Nothing panics, whatever comes in: times at both ends and backward, the largest of everything,
//! and states that no limit has made.

use core::time::Duration;

use proptest::prelude::*;
use tollgate_core::{
    Algorithm, Ask, Cost, Decision, Limit, Log, Quota, Rate, State, Steady, Timestamp, Window,
};
use tollgate_testing::forall;
use tollgate_testing::trace::quota;

/// Numbers of every size, and the ends of the range.
fn number() -> impl Strategy<Value = u64> + Clone {
    let ends = prop::sample::select(vec![0, 1, 999, 1_000, 1_001, u64::MAX - 1, u64::MAX]);
    prop_oneof![
        2 => ends,
        1 => (0..64_u32).prop_map(|bits| 1 << bits),
        1 => (0..64_u32).prop_map(|bits| u64::MAX >> bits),
        3 => (0..64_u32, any::<u64>()).prop_map(|(bits, number)| number >> bits),
    ]
}

fn cost() -> impl Strategy<Value = Cost> {
    number().prop_map(|number| Cost::from_thousandths(number.max(1)).unwrap())
}

fn ask() -> impl Strategy<Value = Ask> {
    (0..4_u8, cost(), number()).prop_map(|(verb, cost, patience)| {
        match verb {
            0 => Ask::check(cost),
            1 => Ask::peek(cost),
            2 => Ask::refund(cost),
            _ => Ask::charge(cost),
        }
        .within(Duration::from_nanos(patience))
    })
}

fn limit(algorithm: Algorithm) -> impl Strategy<Value = Limit> {
    let largest = quota(algorithm).prop_map(|quota| quota.with_limit(Cost::new(1 << 36).unwrap()));
    let quota = prop_oneof![3 => quota(algorithm), 1 => largest.prop_map(Result::unwrap)];
    (quota, prop::option::of(cost())).prop_map(|(quota, debt)| Limit::with_debt(quota, debt))
}

fn sane(limit: &Limit, now: u64, decision: &Decision) -> Result<(), String> {
    let possible = decision.remaining() <= decision.limit()
        && decision.limit() == limit.quota().limit()
        && (decision.retry_after() != Some(Duration::ZERO) || now == u64::MAX)
        && (decision.is_allowed() || decision.act_after().is_zero());
    possible
        .then_some(())
        .ok_or_else(|| format!("{decision:?} at {now} of {limit:?}"))
}

#[test]
fn any_state_is_decided_at_any_time() {
    for algorithm in Algorithm::ALL {
        let state = (number(), number(), number());
        let state = state.prop_map(|(at, used, before)| State { at, used, before });
        let asked = prop::collection::vec((number(), ask()), 1..20);
        forall(
            300,
            &(limit(algorithm), state, asked),
            |(limit, mut state, asked)| {
                for (now, ask) in asked {
                    let step = limit.decide(state, Timestamp::from_nanos(now), ask);
                    sane(&limit, now, &step.decision)?;
                    state = step.next.unwrap_or(state);
                    let _ = limit.fresh_at(state);
                }
                Ok(())
            },
        );
    }
}

#[test]
fn any_log_is_decided_at_any_time() {
    let asked = prop::collection::vec((number(), ask()), 1..40);
    forall(
        600,
        &(limit(Algorithm::RollingWindow), asked),
        |(limit, asked)| {
            let (mut log, mut latest) = (Log::default(), 0);
            for (now, ask) in asked {
                latest = now.max(latest);
                let decision = limit.decide_log(&mut log, Timestamp::from_nanos(now), ask);
                sane(&limit, latest, &decision)?;
                let _ = limit.log_fresh_at(&log);
            }
            Ok(())
        },
    );
}

#[test]
fn any_numbers_are_a_quota_or_an_error() {
    let numbers = (number(), number(), number());
    forall(3_000, &numbers, |(count, nanos, other)| {
        let (duration, now) = (Duration::from_nanos(nanos), Timestamp::from_nanos(other));
        for quota in [
            Rate::per(count, duration)
                .map(|rate| Quota::token_bucket(rate, other))
                .ok(),
            Window::of(duration).map(|window| Quota::fixed_window(count, window)),
            Some(Quota::fixed_window(count, Window::Month)),
            Some(Quota::rolling_window(count, duration)),
            Some(Quota::sliding_window(count, duration)),
        ] {
            if let Some(Ok(quota)) = quota {
                let printed = quota.to_string();
                if Quota::parse(quota.algorithm(), &printed) != Ok(quota) {
                    return Err(format!("{printed} is not {quota:?}"));
                }
                let limit = Limit::new(quota);
                let step = limit.decide(State::FRESH, now, Ask::check(Cost::ONE));
                sane(&limit, now.as_nanos(), &step.decision)?;
            }
        }
        Ok(())
    });
}

#[test]
fn steady_time_never_goes_back_nor_freezes_for_longer_than_the_span() {
    let readings = prop::collection::vec(number(), 1..50);
    forall(1_000, &(number(), readings), |(span, readings)| {
        let span = Duration::from_nanos(span);
        let mut steady = Steady::default();
        let mut last = Timestamp::EPOCH;
        for reading in readings.into_iter().map(Timestamp::from_nanos) {
            let now = steady.advance(reading, span);
            if now < last {
                return Err(format!("{now} after {last}"));
            }
            // A clock that goes on from here has caught up before the span is over.
            let moved = steady
                .clone()
                .advance(reading + span + Duration::from_nanos(1), span);
            if moved <= now && now < Timestamp::MAX && reading + span < Timestamp::MAX {
                return Err(format!("frozen at {now} for more than {span:?}"));
            }
            last = now;
        }
        Ok(())
    });
}
