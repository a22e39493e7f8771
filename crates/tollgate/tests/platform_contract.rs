//! The contract of the first source system: S0 of the requirements.

mod common;

use std::sync::Arc;
use std::time::Duration;

use tollgate::{
    Answer, Clock, Cost, Counters, Key, Limiter, ManualClock, MemoryStore, OnFull, Quota, Rate,
    RateLimiter, Selection, SelectionError, StoreError, retry_after_for,
};

use common::{limiter, ms, secs};

/// The value of an answer that is there at once.
fn now<T: Unpin>(mut answer: Answer<'_, T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::Pin::new(&mut answer).poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("not at once"),
    }
}

fn allow(limiter: &dyn RateLimiter, key: &str) -> bool {
    now(limiter.allow(key.into())).unwrap()
}

/// A limiter of a third party's: yes or no, and nothing else.
struct Narrow(bool);

impl RateLimiter for Narrow {
    fn allow<'a>(&'a self, _: Key<'a>) -> Answer<'a, Result<bool, StoreError>> {
        Answer::ready(Ok(self.0))
    }
}

#[test]
fn s0_02_the_contract_is_narrow_and_object_safe() {
    let clock = ManualClock::default();
    let memory = limiter(Rate::per_second(1).unwrap(), 1, &clock);
    let limiters: [Box<dyn RateLimiter>; 3] = [
        Box::new(memory),
        Box::new(Limiter::noop()),
        Box::new(Narrow(true)),
    ];
    for limiter in &limiters {
        assert!(allow(&**limiter, "k"));
        limiter.close();
        limiter.close();
    }
}

#[test]
fn s0_05_noop_allows_every_key_for_ever() {
    let noop = Limiter::noop();
    assert!((0..10_000).all(|_| allow(&noop, "k")));
    assert_eq!(now(retry_after_for(&noop, "k".into())), None);
}

#[test]
fn s0_06_an_implementation_is_selected_by_name() {
    let selection = |provider: &str| Selection {
        provider: provider.into(),
        ..Selection::default()
    };
    for name in ["memory", " Memory ", "MEMORY"] {
        let limiter = selection(name).build().unwrap();
        let decision = limiter.limiter().unwrap().check("k");
        assert_eq!(
            (decision.limit(), decision.reset_after()),
            (20, ms(100)),
            "10/s burst 20"
        );
    }
    assert!(
        selection("noop")
            .build()
            .unwrap()
            .limiter()
            .unwrap()
            .is_disabled()
    );
    for (name, message) in [
        (
            "",
            "no provider is named; choose memory or redis, or noop for no limit",
        ),
        (
            "  ",
            "no provider is named; choose memory or redis, or noop for no limit",
        ),
        (
            "memroy",
            "\"memroy\" is not a provider; choose memory, redis or noop",
        ),
        (
            "redis",
            "the provider redis needs a store of its own; bind the limiter to it, this crate only \
             has memory and noop",
        ),
    ] {
        assert_eq!(selection(name).build().unwrap_err().to_string(), message);
    }
}

/// X0-31: a typo is reported as itself, whatever the numbers are.
#[test]
fn s0_60_numbers_that_cannot_be_are_refused() {
    let selection = Selection {
        provider: "memroy".into(),
        requests_per_second: -1.0,
        ..Selection::default()
    };
    assert!(matches!(
        selection.build(),
        Err(SelectionError::UnknownProvider { .. })
    ));
    let memory = || Selection {
        provider: "memory".into(),
        ..Selection::default()
    };
    for requests_per_second in [-1.0, f64::NAN, f64::INFINITY] {
        let selection = Selection {
            requests_per_second,
            ..memory()
        };
        assert!(matches!(selection.build(), Err(SelectionError::Build(_))));
    }
    for selection in [
        Selection {
            burst_size: -1,
            ..memory()
        },
        Selection {
            max_keys: -1,
            ..memory()
        },
    ] {
        assert!(matches!(selection.build(), Err(SelectionError::Build(_))));
    }
}

#[test]
fn s0_10_a_refusal_is_a_value() {
    let clock = ManualClock::default();
    let limiter = limiter(Rate::per_second(1).unwrap(), 1, &clock);
    assert_eq!(now(limiter.allow("k".into())), Ok(true));
    assert_eq!(now(limiter.allow("k".into())), Ok(false));
}

#[test]
fn s0_22_a_limiter_without_hints_gives_none() {
    assert_eq!(now(retry_after_for(&Narrow(false), "k".into())), None);
}

#[test]
fn s0_23_there_is_no_hint_for_a_key_never_seen() {
    let clock = ManualClock::default();
    let limiter = limiter(Rate::per_second(1).unwrap(), 1, &clock);
    assert_eq!(now(retry_after_for(&limiter, "k".into())), None);
    assert_eq!(limiter.len(), 0, "S0-30: asking leaves no trace");
}

#[test]
fn s0_28_a_hint_is_the_time_until_a_whole_token_and_costs_nothing() {
    let clock = ManualClock::default();
    let limiter = limiter(Rate::per_second(10).unwrap(), 5, &clock);
    assert!((0..5).all(|_| allow(&limiter, "k")));
    clock.advance(ms(30));
    let mut last = Duration::MAX;
    for _ in 0..100 {
        let hint = now(retry_after_for(&limiter, "k".into())).unwrap();
        assert!(hint <= last, "S0-29");
        last = hint;
    }
    assert_eq!(last, ms(70));
    // S0-27: a hint admits nobody, and waiting for it does.
    assert!(!allow(&limiter, "k"));
    clock.advance(ms(70));
    assert!(allow(&limiter, "k"));
}

/// S0-41 to S0-46: a key that has refilled is free space, and nobody can tell.
#[test]
fn s0_46_forgetting_a_key_that_has_refilled_is_invisible() {
    let clock = ManualClock::default();
    let quota = Quota::token_bucket(Rate::per_second(10).unwrap(), 3).unwrap();
    let build = |max_keys| {
        let builder = MemoryStore::builder()
            .clock(Clock::manual(&clock))
            .max_keys(max_keys);
        Limiter::builder("k")
            .quota(quota)
            .build(&builder.build())
            .unwrap()
    };
    // The small one forgets whatever it can; a window later it decides as the large one does.
    let (small, large) = (build(4), build(10_000));
    for key in 0..500_u64 {
        for _ in 0..5 {
            assert_eq!(small.check(key), large.check(key));
        }
        assert!(small.len() <= 4);
        clock.advance(ms(300));
    }
    let stats = small.stats();
    assert_eq!(
        (stats.evicted, stats.reclaimed > 400),
        (0, true),
        "S0-52: counted apart"
    );
}

/// W-02: spending the burst and then sending throw-away keys does not reset anything.
#[test]
fn s0_50_a_flood_of_keys_forgets_the_least_in_debt_first() {
    let clock = ManualClock::default();
    let quota = Quota::token_bucket(Rate::per_second(1).unwrap(), 100).unwrap();
    let store = MemoryStore::builder()
        .clock(Clock::manual(&clock))
        .max_keys(1_000)
        .build();
    let limiter = Limiter::builder("k").quota(quota).build(&store).unwrap();
    assert!(
        limiter
            .check_cost("drained", Cost::new(100).unwrap())
            .is_allowed()
    );
    for key in 0..100_000_u64 {
        assert!(limiter.check(key).is_allowed());
    }
    assert!(limiter.check("drained").is_denied());
    assert!(limiter.stats().evicted > 90_000);
    assert!(limiter.len() <= 1_000);
}

#[test]
fn s0_61_the_example_of_the_source_holds() {
    let selection = Selection {
        provider: "memory".into(),
        requests_per_second: 10.0,
        burst_size: 5,
        ..Selection::default()
    };
    let limiter = selection.build().unwrap();
    assert!(allow(&limiter, "user-123"));
    limiter.close();
}

#[test]
fn s0_66_decisions_are_counted() {
    let counters = Arc::new(Counters::default());
    let clock = ManualClock::default();
    let store = MemoryStore::builder().clock(Clock::manual(&clock)).build();
    let quota = Quota::token_bucket(Rate::per_second(1).unwrap(), 2).unwrap();
    let builder = Limiter::builder("k")
        .quota(quota)
        .observer(counters.clone());
    let limiter = builder.build(&store).unwrap();
    (0..5).for_each(|_| {
        allow(&limiter, "k");
    });
    let _ = limiter.peek("k");
    let _ = limiter.check_cost("k", Cost::new(3).unwrap());
    assert_eq!(
        (counters.allowed(), counters.denied(), counters.never()),
        (2, 4, 1)
    );
    assert_eq!(
        (
            counters.errors(),
            counters.fallbacks(),
            counters.overflows()
        ),
        (0, 0, 0)
    );
}

#[test]
fn s0_68_closing_is_idempotent_and_lets_go_of_every_key() {
    let clock = ManualClock::default();
    let selection = Selection {
        provider: "memory".into(),
        ..Selection::default()
    };
    let closable = selection.build_with(Clock::manual(&clock), None).unwrap();
    assert!(allow(&closable, "k"));
    let clone = closable.limiter().unwrap();
    assert!(clone.check_cost("k", Cost::new(19).unwrap()).is_allowed());
    let waiting = clone.reserve("k", Cost::ONE, secs(60)).unwrap();
    closable.close();
    closable.close();
    assert!(waiting.ready_blocking().is_err(), "who waits is told");
    assert!(closable.limiter().is_none());
    let error = now(closable.allow("k".into())).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the store is unavailable: the limiter was closed"
    );
    assert_eq!(now(retry_after_for(&closable, "k".into())), None);
}

/// One limiter governs what comes in and what goes out.
#[test]
fn s0_83_clones_share_their_states() {
    let clock = ManualClock::default();
    let inbound = limiter(Rate::per_second(1).unwrap(), 2, &clock);
    let outbound = inbound.clone();
    assert!(allow(&inbound, "k") && allow(&outbound, "k"));
    assert!(!allow(&inbound, "k") && !allow(&outbound, "k"));
}

/// The table-full rule of S2-10, and that of S0-50, by choice.
#[test]
fn s2_10_a_full_table_lets_pass_and_counts() {
    let clock = ManualClock::default();
    let quota = Quota::token_bucket(Rate::per_minute(1).unwrap(), 1).unwrap();
    let builder = MemoryStore::builder()
        .clock(Clock::manual(&clock))
        .max_keys(10);
    let store = builder.on_full(OnFull::Allow).build();
    let limiter = Limiter::builder("k").quota(quota).build(&store).unwrap();
    for key in 0..100_u64 {
        assert!(limiter.check(key).is_allowed());
    }
    assert_eq!((limiter.overflows(), limiter.len()), (90, 10));
    assert!(
        limiter.check(0_u64).is_denied(),
        "who is in the table stays limited"
    );
}
