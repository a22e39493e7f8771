//! Several charges at once: all or none.

use tollgate::{Algorithm, Ask, Charge, Cost, Decision, Key, Limiter, Outcome, Store};

use super::{Bench, ask, ask_each, bound, limiter, slow, ten, tokens};

const CHECK: Ask = Ask::check(Cost::ONE);

/// Every pair of algorithms.
fn pairs() -> impl Iterator<Item = (Algorithm, Algorithm)> {
    Algorithm::ALL
        .into_iter()
        .flat_map(|a| Algorithm::ALL.into_iter().map(move |b| (a, b)))
}

/// A policy whose tight quota denies leaves the wide one alone, in either order.
pub fn all_quotas_are_charged_or_none(bench: &impl Bench) {
    for (a, b) in pairs() {
        for tight_first in [true, false] {
            let (tight, wide) = (slow(a, 3), slow(b, 10));
            let quotas = if tight_first {
                [tight, wide]
            } else {
                [wide, tight]
            };
            let (tight, wide) = if tight_first { (0, 1) } else { (1, 0) };
            let limiter = limiter(bench, &quotas);
            for passed in 1..=3 {
                let (governing, each) = ask_each(bench, &limiter, "key", CHECK);
                assert!(governing.is_allowed(), "{a} {b}");
                assert_eq!(governing.quota_index(), tight, "{a} {b}: the least is left");
                assert_eq!(each[tight].remaining(), 3 - passed, "{a} {b}");
                assert_eq!(each[wide].remaining(), 10 - passed, "{a} {b}");
            }
            for _ in 0..20 {
                let (governing, each) = ask_each(bench, &limiter, "key", CHECK);
                assert_eq!(governing.outcome(), Outcome::Deny, "{a} {b}");
                assert_eq!(governing.quota_index(), tight, "{a} {b}");
                assert_eq!(each[tight].remaining(), 0, "{a} {b}");
                assert_eq!(
                    each[wide].remaining(),
                    7,
                    "{a} {b}: a denial spent something"
                );
            }
        }
    }
}

/// A cost that one quota can never admit is never, and spends nothing on the others.
pub fn a_quota_that_can_never_pass_spares_the_others(bench: &impl Bench) {
    for (a, b) in pairs() {
        let limiter = limiter(bench, &[slow(a, 3), slow(b, 10)]);
        let (governing, each) = ask_each(bench, &limiter, "key", Ask::check(tokens(4)));
        assert!(governing.is_never(), "{a} {b}");
        assert_eq!(governing.quota_index(), 0, "{a} {b}");
        assert_eq!(governing.retry_after(), None, "{a} {b}");
        assert_eq!(each[1].remaining(), 10, "{a} {b}");
        let (_, each) = ask_each(bench, &limiter, "key", Ask::check(tokens(3)));
        assert_eq!(
            (each[0].remaining(), each[1].remaining()),
            (0, 7),
            "{a} {b}"
        );
    }
}

/// What is refunded or charged after the fact is so on every quota.
pub fn every_quota_is_given_back(bench: &impl Bench) {
    for (a, b) in pairs() {
        let limiter = limiter(bench, &[slow(a, 3), slow(b, 10)]);
        assert!(ask(bench, &limiter, "key", Ask::charge(tokens(2))).is_allowed());
        let (_, each) = ask_each(bench, &limiter, "key", Ask::charge(tokens(2)));
        // The tight quota had one left; the wide one is charged in full all the same.
        assert_eq!(
            (each[0].remaining(), each[1].remaining()),
            (0, 6),
            "{a} {b}"
        );
        let (_, each) = ask_each(bench, &limiter, "key", Ask::refund(tokens(2)));
        assert_eq!(
            (each[0].remaining(), each[1].remaining()),
            (2, 8),
            "{a} {b}"
        );
        let (_, each) = ask_each(bench, &limiter, "key", Ask::refund(tokens(50)));
        assert_eq!(
            (each[0].remaining(), each[1].remaining()),
            (3, 10),
            "{a} {b}"
        );
    }
}

/// C42: a limit of each user and one of all of them, with keys of their own, in either order.
pub fn charges_of_different_limiters_are_all_or_none(bench: &impl Bench) {
    for (a, b) in pairs() {
        for user_first in [true, false] {
            let store = bench.store();
            let user = bound(Limiter::builder("user").quota(slow(a, 1)), &store);
            let global = bound(Limiter::builder("global").quota(slow(b, 10)), &store);
            let one = |name: &str| {
                let (name, all) = (Key::from(name), Key::from("all"));
                let of = |limiter: &'_ Limiter<_>, key| (limiter.clone(), key);
                let mut asked = [of(&user, name), of(&global, all)];
                if !user_first {
                    asked.reverse();
                }
                apply(bench, &store, &asked)
            };
            let passed = (0..20)
                .filter(|_| one("alice").iter().all(Decision::is_allowed))
                .count();
            assert_eq!(passed, 1, "{a} {b}");
            let left = ask(bench, &global, "all", Ask::peek(Cost::ONE)).remaining();
            assert_eq!(left, 9, "{a} {b}");
            assert!(one("bob").iter().all(Decision::is_allowed), "{a} {b}");
        }
    }
}

fn apply<B: Bench>(
    bench: &B,
    store: &B::Store,
    asked: &[(Limiter<B::Store>, Key<'_>)],
) -> Vec<Decision> {
    let charges: Vec<Charge<'_, _>> = asked
        .iter()
        .map(|(limiter, key)| Charge {
            limit: &limiter.limits()[0],
            key,
            ask: CHECK,
        })
        .collect();
    let mut decisions = vec![Decision::disabled(); charges.len()];
    let answer = bench.wait(store.apply(&charges, &mut decisions));
    answer.expect("the store answers");
    decisions
}

/// One key that is charged twice at once needs room for both.
pub fn charges_of_one_key_add_up(bench: &impl Bench) {
    for algorithm in Algorithm::ALL {
        let store = bench.store();
        let limiter = bound(Limiter::builder("policy").quota(ten(algorithm)), &store);
        let twice = || {
            let one = || (limiter.clone(), Key::from("key"));
            apply(bench, &store, &[one(), one()])
        };
        assert!(ask(bench, &limiter, "key", Ask::check(tokens(7))).is_allowed());
        assert!(
            twice().iter().all(Decision::is_allowed),
            "{algorithm}: two of three"
        );
        assert!(
            twice().iter().any(Decision::is_denied),
            "{algorithm}: two of one"
        );
        let left = ask(bench, &limiter, "key", Ask::peek(Cost::ONE)).remaining();
        assert_eq!(left, 1, "{algorithm}");
    }
}
