//! Runs a trace on a subject and on the oracle, and says where they part.

use std::fmt::Write as _;
use std::time::Duration;

use tollgate_core::{Ask, Decision, Limit, Outcome, Timestamp, Verb};

use crate::oracle::{Answer, Oracle};
use crate::subject::Subject;
use crate::trace::{Last, Trace, TraceClock};

/// What is asked in a step of a trace, and when.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// What the clock reads.
    pub reading: Timestamp,
    /// The steady time that is made of it.
    pub now: Timestamp,
    /// What is asked.
    pub ask: Ask,
}

/// Asks everything that is in `trace`, in order, at the steady time that its clock gives.
///
/// # Errors
///
/// Whatever `answer` finds wrong, after everything that was asked before it.
pub fn run(
    trace: &Trace,
    mut answer: impl FnMut(Timestamp, Ask) -> Result<Decision, String>,
) -> Result<(), String> {
    run_on_clock(trace, |moment| answer(moment.now, moment.ask))
}

/// As [`run`], with the reading of the clock that the steady time is made of.
///
/// # Errors
///
/// As [`run`].
pub fn run_on_clock(
    trace: &Trace,
    mut answer: impl FnMut(Moment) -> Result<Decision, String>,
) -> Result<(), String> {
    let mut clock = TraceClock::new(trace.quota, trace.start);
    let mut now = trace.start;
    let mut last = Last::default();
    let mut transcript = String::new();
    for step in &trace.steps {
        let reading;
        (reading, now) = clock.tick(step.tick, now, last);
        // Nobody books past the end of time.
        let patience = step.patience.resolve(&trace.quota, now, last);
        let patience = patience.min(Timestamp::MAX.since(now + Duration::from_nanos(1)));
        let ask = step.ask.within(patience);
        let (at, read) = (now.as_nanos(), reading.as_nanos());
        let (verb, cost) = (ask.verb(), ask.cost());
        let _ = write!(transcript, "\n{at}: {verb:?} {cost} within {patience:?}");
        if read != at {
            let _ = write!(transcript, ", the clock reads {read}");
        }
        let moment = Moment { reading, now, ask };
        let decision = answer(moment).map_err(|error| {
            let (quota, debt) = (trace.quota, trace.debt);
            let algorithm = quota.algorithm();
            format!("{error}\n{algorithm} {quota}, debt {debt:?}{transcript}")
        })?;
        let _ = write!(transcript, ": {:?}", Answer::of(&decision));
        last = Last {
            wait: decision
                .retry_after()
                .unwrap_or_else(|| decision.act_after()),
            reset: decision.reset_after(),
        };
    }
    Ok(())
}

/// Runs `trace` on `subject` and on the oracle.
///
/// # Errors
///
/// The first difference, after everything that was asked before it.
pub fn compare(trace: &Trace, subject: &mut impl Subject) -> Result<(), String> {
    let mut oracle = Oracle::new(trace.quota, trace.debt);
    let limit = Limit::with_debt(trace.quota, trace.debt);
    run(trace, |now, ask| {
        let decision = subject.ask(now, ask);
        let asked = askable(&limit, &oracle, now, ask, &decision);
        oracle.ask(now, asked).agrees(&decision, now)?;
        Ok(decision)
    })
}

/// What to ask the oracle instead of `ask`: the same without patience, if a booking was refused
/// because the state cannot hold it, which the oracle knows nothing of. That may be when about half
/// of what the state can hold is taken.
pub(crate) fn askable(
    limit: &Limit,
    oracle: &Oracle,
    now: Timestamp,
    ask: Ask,
    decision: &Decision,
) -> Ask {
    let used = oracle.used(now) + u128::from(ask.cost().as_thousandths());
    // What flows back in a whole period of an odd rate may take room as well.
    let rate = limit.quota().rate();
    let flow = rate.map_or(0, |rate| u128::from(rate.tokens()) * 1_000);
    let booked_out = matches!(ask.verb(), Verb::Check | Verb::Peek)
        && decision.outcome() == Outcome::Deny
        && decision.retry_after() <= Some(ask.patience())
        && !limit.keeps_log()
        && (used + flow) * 2 >= u128::from(limit.most_used());
    if booked_out {
        ask.within(Duration::ZERO)
    } else {
        ask
    }
}

#[cfg(test)]
mod tests {
    use tollgate_core::{Algorithm, Cost};

    use super::*;
    use crate::subject::CoreKey;
    use crate::trace::{Menu, trace};
    use proptest::strategy::{Strategy, ValueTree};
    use proptest::test_runner::TestRunner;

    /// How many of 50 traces notice that something is wrong.
    fn noticed<S: Subject>(algorithm: Algorithm, mut wrong: impl FnMut(&Trace) -> S) -> usize {
        let mut runner = TestRunner::deterministic();
        let traces = trace(algorithm, Menu::Everything, 60);
        let differs = |_: &usize| {
            let trace = traces.new_tree(&mut runner).expect("a trace").current();
            compare(&trace, &mut wrong(&trace)).is_err()
        };
        (0..50).filter(differs).count()
    }

    /// A comparison that cannot fail proves nothing.
    #[test]
    fn wrong_subjects_are_noticed() {
        for algorithm in Algorithm::ALL {
            let key = |trace: &Trace| CoreKey::new(trace.quota, trace.debt);
            assert_eq!(noticed(algorithm, key), 0, "{algorithm} as it is");
            let fast = |trace: &Trace| {
                let mut key = key(trace);
                move |now: Timestamp, ask| key.ask(now + now.since(Timestamp::EPOCH) / 1_000, ask)
            };
            assert!(noticed(algorithm, fast) > 20, "{algorithm}, fast");
            let generous = |trace: &Trace| {
                let limit = trace.quota.limit_thousandths() + 1;
                let more = Cost::from_thousandths(limit).expect("not zero");
                CoreKey::new(trace.quota.with_limit(more).expect("in range"), trace.debt)
            };
            assert!(
                noticed(algorithm, generous) > 20,
                "{algorithm}, a thousandth more"
            );
            let forgetful = |trace: &Trace| {
                let (fresh, mut key, mut asked) = (key(trace), key(trace), 0);
                move |now, ask| {
                    asked += 1;
                    if asked % 20 == 0 {
                        key = fresh.clone();
                    }
                    key.ask(now, ask)
                }
            };
            assert!(noticed(algorithm, forgetful) > 20, "{algorithm}, forgetful");
        }
    }
}
