//! Promise 2: a denied request passes after the time it was told, and not a nanosecond before; one
//! that is never to pass is told so.

use core::time::Duration;

use tollgate_core::{Algorithm, Ask, Cost, Decision, Timestamp, Verb};
use tollgate_testing::trace::{Menu, trace};
use tollgate_testing::{CoreKey, Subject, forall, run};

fn retries_are_honest(algorithm: Algorithm) {
    forall(100, &trace(algorithm, Menu::Everything, 80), |trace| {
        let mut key = CoreKey::new(trace.quota, trace.debt);
        run(&trace, |now, ask| {
            let decision = key.ask(now, ask);
            honest(&key, now, ask, &decision).map(|()| decision)
        })
    });
}

fn honest(key: &CoreKey, now: Timestamp, ask: Ask, decision: &Decision) -> Result<(), String> {
    let Some(wait) = decision.retry_after() else {
        return if decision.is_denied() && ask.cost().as_thousandths() <= limit(key) {
            Err(format!("a cost that fits is never to pass: {decision:?}"))
        } else {
            Ok(())
        };
    };
    let allowed_after = |wait| {
        let asked = Ask::check(ask.cost());
        key.clone().ask(now + wait, asked).is_allowed()
    };
    if wait.is_zero() {
        return Err(format!("told to wait for no time: {decision:?}"));
    }
    if now + wait == Timestamp::MAX {
        return Ok(());
    }
    let tick = Duration::from_nanos(1);
    for early in [Duration::ZERO, wait / 3, wait / 2, wait - tick] {
        if allowed_after(early) {
            return Err(format!("allowed after {early:?} of {wait:?}: {decision:?}"));
        }
    }
    for late in [wait, wait + tick, wait * 2] {
        if !allowed_after(late) {
            return Err(format!("denied {late:?} after being told {wait:?}"));
        }
    }
    Ok(())
}

fn limit(key: &CoreKey) -> u64 {
    key.limit.quota().limit_thousandths()
}

#[test]
fn token_bucket_passes_when_it_said_and_not_before() {
    retries_are_honest(Algorithm::TokenBucket);
}

#[test]
fn fixed_window_passes_when_it_said_and_not_before() {
    retries_are_honest(Algorithm::FixedWindow);
}

#[test]
fn rolling_window_passes_when_it_said_and_not_before() {
    retries_are_honest(Algorithm::RollingWindow);
}

#[test]
fn sliding_window_passes_when_it_said_and_not_before() {
    retries_are_honest(Algorithm::SlidingWindow);
}

/// Costs above the limit, to the end of the integers: never, with no time to retry, and no trace.
#[test]
fn a_cost_above_the_limit_is_never_and_changes_nothing() {
    for algorithm in Algorithm::ALL {
        forall(100, &trace(algorithm, Menu::Checks, 20), |trace| {
            let mut key = CoreKey::new(trace.quota, None);
            let (quota, mut bits) = (trace.quota, 0);
            run(&trace, |now, ask| {
                let decision = key.ask(now, ask);
                bits = (bits + 1) % 64;
                let limit = quota.limit_thousandths();
                for cost in [limit + 1, limit.saturating_add(1 << bits), u64::MAX >> bits] {
                    let cost = Cost::from_thousandths(cost).unwrap();
                    if cost.as_thousandths() > limit {
                        refused_for_ever(&key, now, cost)?;
                    }
                }
                Ok(decision)
            })
        });
    }
}

fn refused_for_ever(key: &CoreKey, now: Timestamp, cost: Cost) -> Result<(), String> {
    for ask in [Ask::check(cost), Ask::peek(cost)] {
        for patience in [Duration::ZERO, Duration::from_secs(1), Duration::MAX] {
            let mut asked = key.clone();
            let decision = asked.ask(now, ask.within(patience));
            if !decision.is_never() || decision.retry_after().is_some() {
                return Err(format!("{:?} {cost} is {decision:?}", Verb::Check));
            }
            let mut one = key.clone();
            if asked.ask(now, Ask::peek(Cost::ONE)) != one.ask(now, Ask::peek(Cost::ONE)) {
                return Err(format!("{cost} left a trace"));
            }
            if (asked.state, asked.log) != (one.state, one.log) {
                return Err(format!("{cost} changed the state"));
            }
        }
    }
    Ok(())
}
