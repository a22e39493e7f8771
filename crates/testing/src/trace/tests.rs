//! Traces that never get anywhere prove nothing: these meet every kind of answer, often.

use std::collections::BTreeMap;

use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use tollgate_core::Verb;

use super::*;
use crate::{CoreKey, Subject, run};

#[test]
fn traces_meet_every_kind_of_answer() {
    let mut runner = TestRunner::deterministic();
    for algorithm in Algorithm::ALL {
        let traces = trace(algorithm, Menu::Everything, 60);
        let mut met: BTreeMap<String, u32> = BTreeMap::new();
        let mut clocks_back = 0;
        for _ in 0..100 {
            let trace = traces.new_tree(&mut runner).expect("a trace").current();
            let mut key = CoreKey::new(trace.quota, trace.debt);
            let back = |step: &&TraceStep| matches!(step.tick, Tick::Back(_));
            clocks_back += trace.steps.iter().filter(back).count();
            let outcome = run(&trace, |now, ask| {
                let decision = key.ask(now, ask);
                let outcome = decision.outcome();
                let booked = !decision.act_after().is_zero();
                let kind = format!("{:?} {outcome:?} booked {booked}", ask.verb());
                *met.entry(kind).or_default() += 1;
                Ok(decision)
            });
            outcome.expect("nothing is looked at");
        }
        let count = |verb: Verb, rest: &str| {
            let kind = format!("{verb:?} {rest}");
            met.get(&kind).copied().unwrap_or_default()
        };
        for (verb, rest) in [
            (Verb::Check, "Allow booked false"),
            (Verb::Check, "Allow booked true"),
            (Verb::Check, "Deny booked false"),
            (Verb::Check, "Never booked false"),
            (Verb::Charge, "Allow booked false"),
            (Verb::Charge, "Deny booked false"),
            (Verb::Charge, "Never booked false"),
            (Verb::Refund, "Allow booked false"),
        ] {
            assert!(
                count(verb, rest) > 20,
                "{algorithm}: {verb:?} {rest} in {met:?}"
            );
        }
        assert!(clocks_back > 50, "{algorithm}: {clocks_back}");
    }
}
