//! What is dropped leaves nothing behind: no byte, no thread, no timer. C75 of the cases.

#![allow(unsafe_code, reason = "counts the bytes of the allocator")]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tollgate::{
    Attempt, Clock, Cooldown, Cost, Drip, KeyedPacer, Limiter, ManualClock, MemoryStore, Pacer,
    Quota, Rate,
};

use common::{Sim, ms, secs};

struct Counting;

static BYTES: AtomicI64 = AtomicI64::new(0);

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

/// Makes one of each, uses it, with somebody waiting, and drops it.
fn make_and_drop(clock: &ManualClock) {
    let quota = Quota::token_bucket(Rate::per_second(1).unwrap(), 1).unwrap();
    // Tables of a usual size are zeroed memory of two megabytes each, which takes its time.
    let store = MemoryStore::builder().max_keys(100).build();
    let limiter = Limiter::builder("k").quota(quota).build(&store).unwrap();
    assert!(limiter.check("k").is_allowed());
    let waiting = limiter.reserve("k", Cost::ONE, Duration::MAX).unwrap();

    let build = |builder: tollgate::PacerBuilder| builder.clock(Clock::manual(clock));
    let pacer = build(Pacer::builder(Rate::per_second(1).unwrap()))
        .build()
        .unwrap();
    let keyed = build(KeyedPacer::builder(Rate::per_second(1).unwrap()).max_keys(100));
    let keyed = keyed.build_keyed().unwrap();
    let drip = Drip::builder()
        .clock(Clock::manual(clock))
        .starts_empty()
        .build()
        .unwrap();
    let mut sim = Sim::new(clock);
    for _ in 0..3 {
        sim.spawn(async { pacer.wait(Duration::MAX).await.unwrap() });
        sim.spawn(async { keyed.wait("host", Duration::MAX).await.unwrap() });
        sim.spawn(async { assert!(!drip.limit().await) });
    }
    sim.run_until(ms(50));
    drop(sim);

    let cooldown = Cooldown::builder(secs(10)).exclusive().max_keys(100);
    let cooldown = cooldown.build().unwrap();
    assert!(matches!(cooldown.begin("k"), Attempt::Begun(_)));
    assert!(cooldown.allow("k").is_allowed());
    drop(waiting);
}

#[test]
fn c75_ten_thousand_that_are_dropped_leave_nothing_behind() {
    let clock = ManualClock::default();
    make_and_drop(&clock);
    let before = (BYTES.load(Ordering::SeqCst), threads());
    for _ in 0..10_000 {
        make_and_drop(&clock);
    }
    let after = (BYTES.load(Ordering::SeqCst), threads());
    assert_eq!(after, before, "bytes and threads");
    assert_eq!(clock.next_wake(), None, "timers");
}
