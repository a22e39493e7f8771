//! What a store makes of time, on a clock that is moved by hand.

use std::time::Duration;

use proptest::prelude::*;
use tollgate::{Algorithm, Ask, Cost, Decision, Limiter, Quota, Verb};
use tollgate_core::Limit;

use super::{TimedBench, ask, ask_each, bound, limiter, tokens};
use crate::compare::askable;
use crate::trace::{Menu, Trace, forward_trace, small_quota, trace};
use crate::{Ledger, Oracle, forall, run_on_clock};

const TICK: Duration = Duration::from_nanos(1);

/// Promise 2, by hand: a tick early it is still too early.
pub fn retries_are_honest(bench: &impl TimedBench) {
    for algorithm in Algorithm::ALL {
        let quota = Quota::parse(algorithm, "7/13s").expect("a quota");
        let limiter = limiter(bench, &[quota]);
        for cost in [1, 2, 7] {
            while ask(bench, &limiter, "key", Ask::check(Cost::ONE)).is_allowed() {}
            honest(bench, &limiter, cost);
        }
    }
}

/// With several quotas, the longest wait counts.
pub fn retries_of_several_quotas_are_honest(bench: &impl TimedBench) {
    let parse = |(algorithm, text)| Quota::parse(algorithm, text).expect("a quota");
    let quotas = [
        (Algorithm::TokenBucket, "7/13s"),
        (Algorithm::FixedWindow, "20/min"),
        (Algorithm::RollingWindow, "15/31s"),
        (Algorithm::SlidingWindow, "20/29s"),
    ];
    let limiter = limiter(bench, &quotas.map(parse));
    for cost in [1, 1, 7, 2, 1, 7, 5] {
        while ask(bench, &limiter, "key", Ask::check(Cost::ONE)).is_allowed() {}
        honest(bench, &limiter, cost);
    }
}

/// A denied `cost` passes when it was told to come back, and not a tick before. Spends it.
fn honest<B: TimedBench>(bench: &B, limiter: &Limiter<B::Store>, cost: u64) {
    let check = Ask::check(tokens(cost));
    let denied = ask(bench, limiter, "key", check);
    let wait = denied.retry_after().expect("denied for now");
    bench.clock().advance(wait - TICK);
    let early = ask(bench, limiter, "key", check);
    assert_eq!(early.retry_after(), Some(TICK), "{denied:?}");
    bench.clock().advance(TICK);
    let decision = ask(bench, limiter, "key", check);
    assert!(decision.is_allowed(), "{decision:?} after {denied:?}");
}

/// A limiter of the quota of `trace`, with a store of its own.
fn traced<B: TimedBench>(bench: &B, trace: &Trace) -> Limiter<B::Store> {
    let builder = Limiter::builder("policy").quota(trace.quota);
    let builder = match trace.debt {
        Some(debt) => builder.debt(debt),
        None => builder,
    };
    bench.clock().set(trace.start);
    bound(builder, &bench.store())
}

/// Promise 3: a key answers as the oracle does, on a clock that stops and goes back.
pub fn single_keys_answer_as_the_oracle(bench: &impl TimedBench) {
    for algorithm in Algorithm::ALL {
        forall(30, &trace(algorithm, Menu::Everything, 40), |trace| {
            answers_as_oracles(bench, &trace, 1)
        });
    }
}

/// The same of several keys in turn, each with an oracle of its own.
pub fn several_keys_answer_as_the_oracle(bench: &impl TimedBench) {
    for algorithm in Algorithm::ALL {
        forall(12, &trace(algorithm, Menu::Everything, 100), |trace| {
            answers_as_oracles(bench, &trace, 5)
        });
    }
}

fn answers_as_oracles<B: TimedBench>(bench: &B, trace: &Trace, keys: usize) -> Result<(), String> {
    let limiter = traced(bench, trace);
    let limit = Limit::with_debt(trace.quota, trace.debt);
    let oracle = |_| Oracle::new(trace.quota, trace.debt);
    let mut oracles: Vec<_> = (0..keys).map(oracle).collect();
    let mut step = 0;
    run_on_clock(trace, |moment| {
        bench.clock().set(moment.reading);
        // No pattern, but the same one in every run.
        step += 1;
        let key = (step * step + step / 3) % keys;
        let decision = ask(bench, &limiter, key as u64, moment.ask);
        let oracle = &mut oracles[key];
        let asked = askable(&limit, oracle, moment.now, moment.ask, &decision);
        oracle
            .ask(moment.now, asked)
            .agrees(&decision, moment.now)?;
        Ok(decision)
    })
}

/// Promises 3 and 5: several quotas answer as their oracles do when these are asked all or none.
pub fn several_quotas_answer_as_the_oracle(bench: &impl TimedBench) {
    let algorithm = || prop::sample::select(Algorithm::ALL.to_vec());
    let others = prop::collection::vec(algorithm().prop_flat_map(small_quota), 1..=3);
    let traces = algorithm().prop_flat_map(|first| forward_trace(first, Menu::Everything, 40));
    forall(40, &(traces, others), |(trace, others)| {
        let quotas: Vec<Quota> = [trace.quota].into_iter().chain(others).collect();
        quotas_answer_as_oracles(bench, &trace, &quotas)
            .map_err(|error| format!("{error}\nof {quotas:?}"))
    });
}

fn quotas_answer_as_oracles<B: TimedBench>(
    bench: &B,
    trace: &Trace,
    quotas: &[Quota],
) -> Result<(), String> {
    bench.clock().set(trace.start);
    let limiter = limiter(bench, quotas);
    let mut oracles: Vec<_> = quotas
        .iter()
        .map(|quota| Oracle::new(*quota, None))
        .collect();
    run_on_clock(trace, |moment| {
        bench.clock().set(moment.reading);
        let now = moment.now;
        let (governing, each) = ask_each(bench, &limiter, "key", moment.ask);
        let mut asks = Vec::new();
        let mut pass = true;
        for ((oracle, quota), decision) in oracles.iter_mut().zip(quotas).zip(&each) {
            let limit = Limit::new(*quota);
            let asked = askable(&limit, oracle, now, moment.ask, decision);
            if moment.ask.verb() == Verb::Check {
                let peek = Ask::peek(asked.cost()).within(asked.patience());
                let answer = oracle.ask(now, peek);
                pass &= answer.outcome == tollgate::Outcome::Allow;
                asks.push((asked, peek));
            } else {
                asks.push((asked, asked));
            }
        }
        for ((oracle, decision), (ask, peek)) in oracles.iter_mut().zip(&each).zip(asks) {
            oracle
                .ask(now, if pass { ask } else { peek })
                .agrees(decision, now)?;
        }
        let right = each.iter().copied().reduce(Decision::governing);
        if right == Some(governing) {
            Ok(governing)
        } else {
            Err(format!("{governing:?} governs {each:?}"))
        }
    })
}

/// Promise 1: what several keys are admitted is what the quota allows each of them.
pub fn what_is_admitted_obeys_the_quota(bench: &impl TimedBench) {
    for algorithm in Algorithm::ALL {
        forall(20, &trace(algorithm, Menu::Spending, 150), |trace| {
            let limiter = traced(bench, &trace);
            let mut ledgers = [Ledger::default(), Ledger::default()];
            let mut step = 0;
            run_on_clock(&trace, |moment| {
                bench.clock().set(moment.reading);
                step = (step + 1) % ledgers.len();
                let decision = ask(bench, &limiter, step as u64, moment.ask);
                ledgers[step].note(moment.now, moment.ask, &decision);
                Ok(decision)
            })?;
            let obeys = |ledger: &mut Ledger| ledger.obeys(&trace.quota);
            ledgers.iter_mut().try_for_each(obeys)
        });
    }
}
