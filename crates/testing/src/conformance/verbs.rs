//! What each verb answers and keeps.

use tollgate::{Algorithm, Ask, Cost, Limiter, Outcome, Source};

use super::{Bench, ask, bound, limiter, ten, tokens};

/// D14: ten of ten pass, saying 9 to 0, and the eleventh does not.
pub fn admits_the_limit_and_says_what_remains(bench: &impl Bench) {
    for algorithm in Algorithm::ALL {
        let limiter = limiter(bench, &[ten(algorithm)]);
        for left in (0..10).rev() {
            let decision = ask(bench, &limiter, "key", Ask::check(Cost::ONE));
            assert!(decision.is_allowed(), "{algorithm}: {decision:?}");
            assert_eq!(decision.remaining(), left, "{algorithm}");
            assert_eq!(decision.limit(), 10, "{algorithm}");
            assert_eq!(decision.retry_after(), None, "{algorithm}");
            assert_eq!(decision.source(), Source::Store, "{algorithm}");
        }
        for _ in 0..3 {
            let decision = ask(bench, &limiter, "key", Ask::check(Cost::ONE));
            assert_eq!(decision.outcome(), Outcome::Deny, "{algorithm}");
            assert_eq!(decision.remaining(), 0, "{algorithm}");
            assert!(decision.retry_after().is_some_and(|wait| !wait.is_zero()));
        }
    }
}

/// C34: never, with what remains, with no time to retry, and without a trace.
pub fn a_cost_above_the_limit_is_never_and_spends_nothing(bench: &impl Bench) {
    for algorithm in Algorithm::ALL {
        let limiter = limiter(bench, &[ten(algorithm)]);
        let five = Ask::check(tokens(5));
        assert_eq!(ask(bench, &limiter, "key", five).remaining(), 5);
        for cost in [
            Cost::from_thousandths(10_001).expect("not zero"),
            tokens(100),
            Cost::MAX,
        ] {
            for asked in [Ask::check(cost), Ask::peek(cost)] {
                let decision = ask(bench, &limiter, "key", asked);
                assert!(decision.is_never(), "{algorithm} {cost}: {decision:?}");
                assert_eq!(decision.retry_after(), None, "{algorithm} {cost}");
                assert_eq!(decision.remaining(), 5, "{algorithm} {cost}");
            }
        }
        let decision = ask(bench, &limiter, "key", five);
        assert!(decision.is_allowed(), "{algorithm}: {decision:?}");
        assert!(ask(bench, &limiter, "key", Ask::check(Cost::ONE)).is_denied());
    }
}

/// C31: looking changes nothing, whether or not there is anything to see.
pub fn a_peek_spends_nothing(bench: &impl Bench) {
    for algorithm in Algorithm::ALL {
        let limiter = limiter(bench, &[ten(algorithm)]);
        let peek = Ask::peek(tokens(3));
        for _ in 0..20 {
            let decision = ask(bench, &limiter, "key", peek);
            assert!(decision.is_allowed(), "{algorithm}");
            assert_eq!(decision.remaining(), 10, "{algorithm}");
        }
        assert!(ask(bench, &limiter, "key", Ask::check(tokens(8))).is_allowed());
        for _ in 0..20 {
            let decision = ask(bench, &limiter, "key", peek);
            assert_eq!(decision.outcome(), Outcome::Deny, "{algorithm}");
            assert_eq!(decision.remaining(), 2, "{algorithm}");
        }
        assert!(ask(bench, &limiter, "key", Ask::check(tokens(2))).is_allowed());
    }
}

/// C32: a refund makes up for what was spent, and for no more.
pub fn a_refund_gives_back_no_more_than_was_spent(bench: &impl Bench) {
    for algorithm in Algorithm::ALL {
        let limiter = limiter(bench, &[ten(algorithm)]);
        // Of a key that was never seen there is nothing to give back.
        let decision = ask(bench, &limiter, "key", Ask::refund(tokens(5)));
        assert_eq!(decision.remaining(), 10, "{algorithm}");
        assert!(ask(bench, &limiter, "key", Ask::check(tokens(6))).is_allowed());
        let decision = ask(bench, &limiter, "key", Ask::refund(tokens(2)));
        assert_eq!(decision.remaining(), 6, "{algorithm}");
        for _ in 0..2 {
            let decision = ask(bench, &limiter, "key", Ask::refund(tokens(100)));
            assert_eq!(decision.remaining(), 10, "{algorithm}");
        }
        assert!(ask(bench, &limiter, "key", Ask::check(tokens(10))).is_allowed());
        assert!(ask(bench, &limiter, "key", Ask::check(Cost::ONE)).is_denied());
    }
}

/// D25: down to zero, without asking.
pub fn a_charge_takes_what_is_there(bench: &impl Bench) {
    for algorithm in Algorithm::ALL {
        let limiter = limiter(bench, &[ten(algorithm)]);
        let decision = ask(bench, &limiter, "key", Ask::charge(tokens(7)));
        assert!(decision.is_allowed(), "{algorithm}");
        assert_eq!(decision.remaining(), 3, "{algorithm}");
        let decision = ask(bench, &limiter, "key", Ask::charge(tokens(7)));
        assert_eq!(decision.outcome(), Outcome::Deny, "{algorithm}");
        assert_eq!(decision.remaining(), 0, "{algorithm}");
        // Nothing below zero was taken, so that what is given back is there at once.
        let decision = ask(bench, &limiter, "key", Ask::refund(tokens(1)));
        assert_eq!(decision.remaining(), 1, "{algorithm}");
    }
}

/// D25: down to the bound of the debt, which has to be paid before anything passes.
pub fn a_charge_takes_as_much_debt_as_it_may(bench: &impl Bench) {
    for algorithm in Algorithm::ALL {
        let builder = Limiter::builder("policy")
            .quota(ten(algorithm))
            .debt(tokens(5));
        let limiter = bound(builder, &bench.store());
        assert!(ask(bench, &limiter, "key", Ask::charge(tokens(12))).is_allowed());
        let decision = ask(bench, &limiter, "key", Ask::charge(tokens(4)));
        assert_eq!(
            decision.outcome(),
            Outcome::Deny,
            "{algorithm}: three of four"
        );
        let decision = ask(bench, &limiter, "key", Ask::refund(tokens(5)));
        assert_eq!(decision.remaining(), 0, "{algorithm}");
        assert!(ask(bench, &limiter, "key", Ask::check(Cost::ONE)).is_denied());
        let decision = ask(bench, &limiter, "key", Ask::refund(tokens(1)));
        assert_eq!(decision.remaining(), 1, "{algorithm}");
    }
}

/// Without a quota nothing is limited, and nothing is kept.
pub fn a_disabled_limiter_allows_everything(bench: &impl Bench) {
    let limiter = Limiter::disabled("policy", &bench.store());
    for _ in 0..3 {
        let decision = ask(bench, &limiter, "key", Ask::check(Cost::MAX));
        assert!(decision.is_allowed());
        assert_eq!(decision.source(), Source::Disabled);
    }
}
