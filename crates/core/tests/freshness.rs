//! A state can be dropped exactly from the instant that `fresh_at` names: not told from a fresh one
//! after it, and still worth something before. And no state outgrows what the limit says.

use core::time::Duration;

use tollgate_core::{Algorithm, Ask, Cost, Timestamp};
use tollgate_testing::trace::{Menu, trace};
use tollgate_testing::{CoreKey, Subject, forall, run};

#[test]
fn a_state_is_fresh_from_the_instant_that_is_named() {
    for algorithm in Algorithm::ALL {
        forall(80, &trace(algorithm, Menu::Everything, 40), |trace| {
            let mut key = CoreKey::new(trace.quota, trace.debt);
            run(&trace, |now, ask| {
                let decision = key.ask(now, ask);
                let fresh_at = key.fresh_at();
                let nano = Duration::from_nanos(1);
                if fresh_at > now && differs(&key, fresh_at - nano, ask).is_ok() {
                    return Err(format!("already fresh before {fresh_at}"));
                }
                for later in [
                    Duration::ZERO,
                    nano,
                    trace.quota.span(),
                    trace.quota.span() * 3,
                ] {
                    // At the end of time nothing has had the time to refill.
                    let then = fresh_at.max(now) + later;
                    if then < Timestamp::MAX {
                        differs(&key, then, ask)?;
                    }
                }
                Ok(decision)
            })
        });
    }
}

/// Asks `key` and a fresh one the same things from `now` on.
fn differs(key: &CoreKey, now: Timestamp, ask: Ask) -> Result<(), String> {
    let mut key = key.clone();
    let mut fresh = CoreKey {
        state: tollgate_core::State::FRESH,
        log: tollgate_core::Log::default(),
        ..key
    };
    let whole = Cost::from_thousandths(key.limit.quota().limit_thousandths()).unwrap();
    let half = key.limit.span() / 2;
    for (later, ask) in [
        (Duration::ZERO, Ask::peek(whole)),
        (Duration::ZERO, Ask::peek(Cost::ONE)),
        (Duration::ZERO, ask),
        (half, Ask::check(Cost::ONE).within(half)),
        (half, Ask::check(whole)),
    ] {
        let (kept, new) = (key.ask(now + later, ask), fresh.ask(now + later, ask));
        if kept != new {
            return Err(format!(
                "{kept:?} at {now} and {later:?}, but fresh {new:?}"
            ));
        }
    }
    Ok(())
}

#[test]
fn no_state_outgrows_what_its_limit_says() {
    for algorithm in Algorithm::ALL {
        forall(100, &trace(algorithm, Menu::Everything, 60), |trace| {
            let mut key = CoreKey::new(trace.quota, trace.debt);
            run(&trace, |now, ask| {
                let decision = key.ask(now, ask);
                // A second booking, as far ahead as it goes.
                let _ = key
                    .clone()
                    .ask(now, Ask::check(ask.cost()).within(Duration::MAX));
                let (state, limit) = (key.state, &key.limit);
                if state.used > limit.most_used() || limit.most_used() >= 1 << 48 {
                    return Err(format!("{state:?} is above {}", limit.most_used()));
                }
                if state.before > 0 && !limit.uses_before() {
                    return Err(format!("{state:?} has a count that is not used"));
                }
                Ok(decision)
            })
        });
    }
}

/// A log has an entry for each instant, and no more of them than the limit has whole tokens when
/// everything costs one.
#[test]
fn a_log_is_bounded_by_the_limit() {
    let algorithm = Algorithm::RollingWindow;
    forall(80, &trace(algorithm, Menu::Checks, 100), |trace| {
        let mut key = CoreKey::new(trace.quota, None);
        run(&trace, |now, _| {
            let decision = key.ask(now, Ask::check(Cost::ONE));
            if u64::try_from(key.log.len()).unwrap() > trace.quota.limit() {
                return Err(format!("{} entries", key.log.len()));
            }
            Ok(decision)
        })
    });
}
