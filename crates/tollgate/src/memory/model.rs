//! Models of the table, in which loom tries every interleaving: what a check, an insertion, an
//! eviction and a reclaim may do to each other. Run by `scripts/test.sh`.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use tollgate_core::{Ask, Cost, Limit, Quota, Rate, Timestamp};

use super::full::OnFull;
use super::line::Compact;
use super::table::Table;

const START: Timestamp = Timestamp::from_secs(1_000);

/// A bucket of `burst` tokens that refills one in a second.
fn table(burst: u64, max_keys: usize, on_full: OnFull) -> Arc<Table<Compact>> {
    let quota = Quota::token_bucket(Rate::per_second(1).unwrap(), burst).unwrap();
    Arc::new(Table::new(Limit::new(quota), max_keys, on_full).unwrap())
}

fn check(table: &Table<Compact>, hash: u64, now: Timestamp) -> bool {
    table
        .decide(hash, Ask::check(Cost::ONE), || now)
        .is_allowed()
}

fn model(body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(body);
}

/// How many of two threads' checks of one key pass.
fn race(table: &Arc<Table<Compact>>, hash: u64, now: Timestamp) -> u64 {
    let passed = Arc::new(AtomicU64::new(0));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let (table, passed) = (Arc::clone(table), Arc::clone(&passed));
            thread::spawn(move || {
                passed.fetch_add(u64::from(check(&table, hash, now)), Ordering::Relaxed);
            })
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    passed.load(Ordering::Relaxed)
}

#[test]
fn loom_a_new_key_of_one_token_passes_once() {
    model(|| {
        let table = table(1, 3, OnFull::Evict);
        assert_eq!(race(&table, 7, START), 1);
        assert_eq!(table.full().stats().keys, 1);
    });
}

#[test]
fn loom_a_known_key_loses_no_charge() {
    model(|| {
        let table = table(3, 3, OnFull::Evict);
        assert!(check(&table, 7, START));
        assert_eq!(race(&table, 7, START), 2);
        assert!(!check(&table, 7, START));
    });
}

#[test]
fn loom_two_new_keys_of_one_line_find_a_slot_each() {
    model(|| {
        let table = table(1, 3, OnFull::Evict);
        let other = Arc::clone(&table);
        let thread = thread::spawn(move || assert!(check(&other, 7, START)));
        assert!(check(&table, 8, START));
        thread.join().unwrap();
        assert!(!check(&table, 7, START) && !check(&table, 8, START));
        assert_eq!(table.full().stats().keys, 2);
    });
}

#[test]
fn loom_a_bound_of_one_key_is_kept_by_each_rule() {
    for on_full in [OnFull::Evict, OnFull::Allow, OnFull::Deny] {
        model(move || {
            let table = table(1, 1, on_full);
            let other = Arc::clone(&table);
            let thread = thread::spawn(move || check(&other, 7, START));
            let passed = (check(&table, 8, START), thread.join().unwrap());
            let stats = table.full().stats();
            assert_eq!(stats.keys, 1, "{stats:?}");
            let turned_away = stats.evicted + stats.overflow_allowed + stats.overflow_denied;
            assert_eq!(turned_away, 1, "{stats:?}");
            assert_eq!(passed.0 && passed.1, on_full != OnFull::Deny);
        });
    }
}

#[test]
fn loom_the_place_of_a_refilled_key_is_taken_once() {
    model(|| {
        let table = table(1, 1, OnFull::Deny);
        assert!(check(&table, 7, START));
        let later = Timestamp::from_secs(1_001);
        // The old key comes back while a new one takes its place: whoever is first has it.
        let other = Arc::clone(&table);
        let thread = thread::spawn(move || check(&other, 7, later));
        let passed = [check(&table, 8, later), thread.join().unwrap()];
        let stats = table.full().stats();
        assert_eq!(stats.keys, 1, "{stats:?}");
        assert_eq!(
            passed.iter().filter(|passed| **passed).count(),
            1,
            "{stats:?}"
        );
    });
}

#[test]
fn loom_reclaim_does_not_free_a_key_that_was_just_charged() {
    model(|| {
        let table = table(1, 3, OnFull::Evict);
        assert!(check(&table, 7, START));
        let later = Timestamp::from_secs(1_001);
        let other = Arc::clone(&table);
        let thread = thread::spawn(move || check(&other, 7, later));
        let freed = table.reclaim(later);
        assert!(thread.join().unwrap());
        assert!(!check(&table, 7, later), "the charge was kept");
        assert_eq!(table.full().stats().keys, 1);
        assert!(freed <= 1);
    });
}
