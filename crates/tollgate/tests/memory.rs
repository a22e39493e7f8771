//! What a check allocates, and what a key costs in memory.

#![allow(missing_docs)]

use std::time::Duration;

use tollgate::{Limiter, MemoryStore, Quota, Rate, Window};

#[test]
fn a_check_allocates_nothing() {
    let hour = Duration::from_secs(3_600);
    let bucket = Quota::token_bucket(Rate::per_hour(10).unwrap(), 10).unwrap();
    let limiters = [
        Limiter::builder("bucket").quota(bucket),
        Limiter::builder("fixed")
            .quota(Quota::fixed_window(10, Window::of(hour).unwrap()).unwrap()),
        Limiter::builder("sliding").quota(Quota::sliding_window(10, hour).unwrap()),
        Limiter::builder("both")
            .quota(bucket)
            .quota(Quota::fixed_window(5, Window::Month).unwrap()),
    ];
    let store = MemoryStore::builder().max_keys(100).build();
    for limiter in limiters.map(|builder| builder.build(&store).unwrap()) {
        let measured = allocation_counter::measure(|| {
            for key in 0..1_000_u64 {
                let _ = limiter.check(("new", key));
                let _ = limiter.check("hot");
                let _ = limiter.peek("hot");
            }
        });
        assert_eq!(measured.count_total, 0, "{limiter:?}");
    }
}

/// Resident memory for each key of a table that was filled to a bound of a million.
#[test]
#[cfg(target_os = "linux")]
fn a_key_costs_as_little_as_it_is_said_to() {
    const KEYS: u64 = 1_000_000;
    let hour = Duration::from_secs(3_600);
    for (shape, quota, bound) in [
        (
            "token bucket",
            Quota::token_bucket(Rate::per_hour(1).unwrap(), 1).unwrap(),
            28,
        ),
        (
            "fixed window",
            Quota::fixed_window(1, Window::of(hour).unwrap()).unwrap(),
            28,
        ),
        (
            "sliding window",
            Quota::sliding_window(1, hour).unwrap(),
            40,
        ),
    ] {
        let before = resident_bytes();
        let store = MemoryStore::builder().max_keys(KEYS as usize).build();
        let limiter = Limiter::builder(shape).quota(quota).build(&store).unwrap();
        for key in 0..KEYS {
            assert!(limiter.check(key).is_allowed());
        }
        let stats = store.stats();
        assert_eq!((stats.keys, stats.evicted), (KEYS, 0));
        let each = resident_bytes().saturating_sub(before) / KEYS;
        assert!(each <= bound, "{shape}: {each} bytes a key");
        assert!(
            each > 20,
            "{shape}: {each} bytes cannot hold a key; the measure is wrong"
        );
    }
}

#[cfg(target_os = "linux")]
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<u64>()
        .unwrap()
        * 1_024
}
