//! A table at its bound: what it holds, what it forgets, and what it counts.

#![allow(missing_docs)]

use std::time::Duration;

use tollgate::{
    Clock, Limiter, ManualClock, MemoryStats, MemoryStore, OnFull, Quota, Rate, Source, Window,
};

/// One limit of each shape that a table has, each of one token: spent by one check.
fn shapes() -> [(&'static str, Quota); 4] {
    let hour = Duration::from_secs(3_600);
    [
        (
            "token bucket",
            Quota::token_bucket(Rate::per_hour(1).unwrap(), 1).unwrap(),
        ),
        (
            "fixed window",
            Quota::fixed_window(1, Window::of(hour).unwrap()).unwrap(),
        ),
        ("sliding window", Quota::sliding_window(1, hour).unwrap()),
        ("rolling window", Quota::rolling_window(1, hour).unwrap()),
    ]
}

struct Table {
    clock: ManualClock,
    store: MemoryStore,
    limiter: Limiter,
}

impl Table {
    fn new(quota: Quota, max_keys: usize, on_full: OnFull) -> Self {
        let clock = ManualClock::default();
        let store = MemoryStore::builder()
            .max_keys(max_keys)
            .on_full(on_full)
            .clock(Clock::manual(&clock))
            .build();
        let limiter = Limiter::builder("full").quota(quota).build(&store).unwrap();
        Self {
            clock,
            store,
            limiter,
        }
    }

    fn stats(&self) -> MemoryStats {
        self.store.stats()
    }
}

#[test]
fn a_table_of_n_keys_holds_n_keys_in_debt_exactly() {
    for (shape, quota) in shapes() {
        for n in [1, 2, 3, 4, 5, 17, 100, 1_000, 20_000_u64] {
            let table = Table::new(quota, n as usize, OnFull::Evict);
            for key in 0..n {
                assert!(table.limiter.check(key).is_allowed(), "{shape} {n}");
            }
            for key in 0..n {
                assert!(
                    table.limiter.check(key).is_denied(),
                    "{shape} {n}: {key} was forgotten"
                );
            }
            let stats = table.stats();
            assert_eq!(
                (stats.keys, stats.evicted, stats.reclaimed),
                (n, 0, 0),
                "{shape} {n}"
            );
            assert!(table.limiter.check(n).is_allowed());
            let stats = table.stats();
            assert_eq!(
                (stats.keys, stats.evicted, stats.reclaimed),
                (n, 1, 0),
                "{shape} {n}"
            );
        }
    }
}

/// C46, without the idle time: a million distinct keys, one check each.
#[test]
fn c46_a_flood_of_a_million_keys_stays_within_the_bound() {
    const FLOOD: u64 = 1_000_000;
    const BOUND: u64 = 1_000;
    let (_, quota) = shapes()[0];
    for on_full in [OnFull::Evict, OnFull::Allow, OnFull::Deny] {
        let table = Table::new(quota, BOUND as usize, on_full);
        let mut allowed = 0;
        for key in 0..FLOOD {
            let decision = table.limiter.check(key);
            allowed += u64::from(decision.is_allowed());
            if key >= BOUND && on_full != OnFull::Evict {
                assert_eq!(decision.source(), Source::Overflow);
            }
            if key % 10_000 == 0 {
                assert!(table.stats().keys <= BOUND);
            }
        }
        let stats = table.stats();
        assert_eq!(stats.keys, BOUND);
        let turned_away = (stats.evicted, stats.overflow_allowed, stats.overflow_denied);
        let over = FLOOD - BOUND;
        match on_full {
            OnFull::Evict => assert_eq!((turned_away, allowed), ((over, 0, 0), FLOOD)),
            OnFull::Allow => assert_eq!((turned_away, allowed), ((0, over, 0), FLOOD)),
            _ => assert_eq!((turned_away, allowed), ((0, 0, over), BOUND)),
        }
        // All of them have refilled an hour later.
        table.clock.advance(Duration::from_secs(3_600));
        assert_eq!(table.store.reclaim(), BOUND);
        assert_eq!(table.stats().keys, 0);
    }
}

/// W-02: spend everything, send a flood of other keys, and have it forgiven. Not here.
#[test]
fn a_drained_key_survives_a_flood() {
    let hour = Duration::from_secs(3_600);
    for quota in [
        Quota::token_bucket(Rate::per_hour(10).unwrap(), 10).unwrap(),
        Quota::fixed_window(10, Window::of(hour).unwrap()).unwrap(),
        Quota::sliding_window(10, hour).unwrap(),
        Quota::rolling_window(10, hour).unwrap(),
    ] {
        for bound in [2, 10, 500] {
            let table = Table::new(quota, bound, OnFull::Evict);
            while table.limiter.check("drained").is_allowed() {}
            for key in 0..20_000_u64 {
                let _ = table.limiter.check(("flood", key));
                if key % 1_000 == 0 {
                    table.clock.advance(Duration::from_secs(1));
                }
            }
            assert!(
                table.limiter.check("drained").is_denied(),
                "{quota}, {bound} keys"
            );
            assert_eq!(
                table.stats().evicted,
                20_001 - bound as u64,
                "{quota}, {bound} keys"
            );
        }
    }
}

/// Promise 6: a key in debt is never forgotten before a key that is not, wherever that one is.
#[test]
fn the_one_key_that_has_refilled_is_found_among_all_others() {
    for (shape, quota) in shapes() {
        const N: u64 = 2_000;
        let table = Table::new(quota, N as usize, OnFull::Evict);
        let _ = table.limiter.check(("early", 0));
        table.clock.advance(Duration::from_secs(7_200));
        // The early one is fresh again from here on, and all others are not.
        for key in 1..N {
            assert!(table.limiter.check(key).is_allowed(), "{shape}");
        }
        assert_eq!(table.stats().keys + table.stats().reclaimed, N, "{shape}");
        assert!(table.limiter.check("late").is_allowed(), "{shape}");
        let stats = table.stats();
        assert_eq!((stats.evicted, stats.reclaimed), (0, 1), "{shape}");
        for key in 1..N {
            assert!(
                table.limiter.check(key).is_denied(),
                "{shape}: {key} was forgotten"
            );
        }
    }
}

#[test]
fn a_refund_makes_a_place_free_at_once() {
    for (shape, quota) in shapes() {
        let table = Table::new(quota, 2, OnFull::Deny);
        assert!(table.limiter.check("a").is_allowed());
        assert!(table.limiter.check("b").is_allowed());
        let denied = table.limiter.check("c");
        assert!(
            denied.is_denied() && denied.source() == Source::Overflow,
            "{shape}"
        );
        assert!(
            denied.retry_after().unwrap() <= Duration::from_secs(7_200),
            "{shape}"
        );
        let _ = table.limiter.refund("a", tollgate::Cost::ONE);
        assert!(table.limiter.check("c").is_allowed(), "{shape}");
        assert!(table.limiter.check("b").is_denied(), "{shape}");
    }
}

#[test]
fn looking_and_asking_for_too_much_take_no_place() {
    for (shape, quota) in shapes() {
        let table = Table::new(quota, 2, OnFull::Evict);
        for key in 0..100_u64 {
            assert!(table.limiter.peek(key).is_allowed(), "{shape}");
            assert!(
                table
                    .limiter
                    .check_cost(key, tollgate::Cost::new(2).unwrap())
                    .is_never()
            );
            let _ = table.limiter.refund(key, tollgate::Cost::ONE);
        }
        assert_eq!(table.stats(), MemoryStats::default(), "{shape}");
    }
}

#[test]
fn threads_that_flood_one_table_stay_within_its_bound() {
    for (shape, quota) in shapes() {
        for on_full in [OnFull::Evict, OnFull::Allow, OnFull::Deny] {
            const BOUND: u64 = 300;
            let table = Table::new(quota, BOUND as usize, on_full);
            std::thread::scope(|scope| {
                for thread in 0..4_u64 {
                    let table = &table;
                    scope.spawn(move || {
                        for key in 0..5_000 {
                            let _ = table.limiter.check(key * 3 + thread % 2);
                            if key % 64 == 0 {
                                assert!(table.stats().keys <= BOUND, "{shape}");
                            }
                        }
                    });
                }
            });
            assert_eq!(table.stats().keys, BOUND, "{shape} {on_full:?}");
        }
    }
}

/// Several quotas in one table each: a request that finds no room in one of them is decided by the
/// rule, and spends nothing on the others when that denies it.
#[test]
fn a_batch_without_room_is_all_or_none() {
    for (on_full, passes) in [
        (OnFull::Evict, true),
        (OnFull::Allow, true),
        (OnFull::Deny, false),
    ] {
        let clock = ManualClock::default();
        let store = MemoryStore::builder()
            .max_keys(1)
            .on_full(on_full)
            .clock(Clock::manual(&clock))
            .build();
        let limiter = Limiter::builder("both")
            .quota(Quota::token_bucket(Rate::per_second(10).unwrap(), 10).unwrap())
            .quota(Quota::rolling_window(5, Duration::from_secs(60)).unwrap())
            .build(&store)
            .unwrap();
        assert!(limiter.check("first").is_allowed());
        // The bucket has refilled, so its place is free; the log has not.
        clock.advance(Duration::from_secs(1));
        let decision = limiter.check("second");
        assert_eq!(decision.is_allowed(), passes, "{on_full:?}");
        if !passes {
            assert_eq!(
                (decision.quota_index(), decision.source()),
                (1, Source::Overflow)
            );
            let mut decisions = Default::default();
            let _ = limiter.ask_each(
                "second",
                tollgate::Ask::peek(tollgate::Cost::ONE),
                &mut decisions,
            );
            assert_eq!(
                decisions[0].remaining(),
                10,
                "nothing was spent on the bucket"
            );
        }
    }
}
