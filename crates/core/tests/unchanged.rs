//! Promise 5: what is denied, and what only looks, changes no bit of the state.

use tollgate_core::{Algorithm, Ask, Cost, Limit, Log, State, Timestamp, Verb};
use tollgate_testing::trace::{Menu, trace};
use tollgate_testing::{CoreKey, Subject, forall, run};

#[test]
fn peeks_and_denials_change_no_bit() {
    for algorithm in Algorithm::ALL {
        forall(80, &trace(algorithm, Menu::Everything, 60), |trace| {
            let mut key = CoreKey::new(trace.quota, trace.debt);
            run(&trace, |now, ask| {
                let mut before = key.clone();
                // Whatever is asked of a log drops what has left the window, which is no longer
                // there anyway.
                let _ = before.ask(now, Ask::peek(Cost::MIN));
                let mut peeked = before.clone();
                let _ = peeked.ask(now, Ask::peek(ask.cost()).within(ask.patience()));
                if (peeked.state, &peeked.log) != (before.state, &before.log) {
                    return Err("a peek changed the state".to_owned());
                }
                let decision = key.ask(now, ask);
                let spends = matches!(ask.verb(), Verb::Check | Verb::Peek);
                let changed = (key.state, &key.log) != (before.state, &before.log);
                if spends && decision.is_denied() && changed {
                    return Err(format!("{decision:?} changed the state"));
                }
                Ok(decision)
            })
        });
    }
}

/// `Step::next` says whether there is anything to write; a store may skip the write otherwise.
#[test]
fn a_step_says_whether_the_state_changes() {
    for algorithm in Algorithm::ALL {
        forall(100, &trace(algorithm, Menu::Everything, 40), |trace| {
            let limit = Limit::with_debt(trace.quota, trace.debt);
            let mut state = State::FRESH;
            run(&trace, |now, ask| {
                let step = limit.decide(state, now, ask);
                let charged = step.decision.is_allowed() && ask.verb() == Verb::Check;
                if charged && !limit.keeps_log() && step.next.is_none() {
                    return Err("charged, and nothing to keep".to_owned());
                }
                state = step.next.unwrap_or(state);
                Ok(step.decision)
            })
        });
    }
}

/// The wrong method for an algorithm decides as for a fresh key, and keeps nothing.
#[test]
fn the_wrong_kind_of_state_is_left_alone() {
    let now = Timestamp::from_secs(1_000);
    let check = Ask::check(Cost::ONE);
    for algorithm in Algorithm::ALL {
        let quota = tollgate_core::Quota::parse(algorithm, "1/s").unwrap();
        let limit = Limit::new(quota);
        for _ in 0..3 {
            if limit.keeps_log() {
                let step = limit.decide(State::FRESH, now, check);
                assert!(step.decision.is_allowed() && step.next.is_none());
            } else {
                let mut log = Log::default();
                assert!(limit.decide_log(&mut log, now, check).is_allowed());
                assert!(log.is_empty());
            }
        }
    }
}
