//! D14: after `remaining = r`, exactly r more requests of cost one pass at that instant, and the
//! limit advertised is the number that is admitted from fresh.

use tollgate_core::{Algorithm, Ask, Cost, Timestamp};
use tollgate_testing::trace::{Menu, quota, trace};
use tollgate_testing::{CoreKey, Subject, forall, run};

#[test]
fn exactly_as_many_pass_as_remain() {
    for algorithm in Algorithm::ALL {
        forall(100, &trace(algorithm, Menu::Everything, 40), |trace| {
            let mut key = CoreKey::new(trace.quota, trace.debt);
            run(&trace, |now, ask| {
                let decision = key.ask(now, ask);
                admits(&key, now, decision.remaining()).map(|()| decision)
            })
        });
    }
}

#[test]
fn the_limit_is_the_number_admitted_from_fresh() {
    for algorithm in Algorithm::ALL {
        forall(300, &quota(algorithm), |quota| {
            let key = CoreKey::new(quota, None);
            let now = Timestamp::from_secs(1_750_000_000);
            let mut peeked = key.clone();
            let decision = peeked.ask(now, Ask::peek(Cost::MIN));
            if (decision.limit(), decision.remaining()) != (quota.limit(), quota.limit()) {
                return Err(format!("{quota} advertises {decision:?}"));
            }
            admits(&key, now, quota.limit())
        });
    }
}

/// Whether `key` admits `count` requests of cost one at `now`, and then no more.
fn admits(key: &CoreKey, now: Timestamp, count: u64) -> Result<(), String> {
    let mut key = key.clone();
    // The long way for what can be counted, and all but the last hundred at once for the rest.
    let at_once = count.saturating_sub(100);
    if let Ok(cost) = Cost::new(at_once)
        && !key.ask(now, Ask::check(cost)).is_allowed()
    {
        return Err(format!("{at_once} of {count} that remain do not pass"));
    }
    for passed in at_once..count {
        let decision = key.ask(now, Ask::check(Cost::ONE));
        if !decision.is_allowed() || decision.remaining() != count - passed - 1 {
            return Err(format!("{count} remain, but after {passed}: {decision:?}"));
        }
    }
    let decision = key.ask(now, Ask::check(Cost::ONE));
    if decision.is_allowed() || decision.remaining() != 0 {
        return Err(format!("{count} remain, but one more: {decision:?}"));
    }
    Ok(())
}
