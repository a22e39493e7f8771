//! At most so many at the same time.

mod common;

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tollgate::{Clock, Concurrency, ManualClock, WaitError};

use common::{Sim, ms, secs};

const FOREVER: Duration = Duration::MAX;

#[test]
fn permits_go_to_those_who_wait_in_order_of_arrival() {
    let clock = ManualClock::default();
    let limit = Concurrency::with(2, 100, Clock::manual(&clock)).unwrap();
    let mut held = vec![
        limit.try_acquire("k").unwrap(),
        limit.try_acquire("k").unwrap(),
    ];
    let order = RefCell::new(vec![]);
    let mut sim = Sim::new(&clock);
    let mut tasks = vec![];
    for who in 0..5 {
        let (limit, order) = (&limit, &order);
        tasks.push(sim.spawn(async move {
            let permit = limit.acquire("k", FOREVER).await.unwrap();
            order.borrow_mut().push((who, permit));
        }));
    }
    assert_eq!(limit.waiting(), 5);
    // One gives up; its place goes to the next.
    sim.cancel(tasks[1]);
    held.pop();
    assert!(limit.try_acquire("k").is_none(), "nobody gets in between");
    sim.settle();
    held.pop();
    sim.settle();
    let who: Vec<_> = order.borrow().iter().map(|(who, _)| *who).collect();
    assert_eq!(who, [0, 2]);
    assert_eq!((limit.in_flight("k"), limit.waiting()), (2, 2));
    order.borrow_mut().clear();
    sim.settle();
    let permits = std::mem::take(&mut *order.borrow_mut());
    assert_eq!(permits.len(), 2);
    drop(permits);
    assert_eq!((limit.in_flight("k"), limit.waiting()), (0, 0));
}

#[test]
fn a_permit_that_comes_to_one_who_has_gone_is_handed_on() {
    let clock = ManualClock::default();
    let limit = Concurrency::with(1, 100, Clock::manual(&clock)).unwrap();
    let held = limit.try_acquire("k").unwrap();
    let done = RefCell::new(false);
    let mut sim = Sim::new(&clock);
    let goes = sim.spawn(async {
        let _permit = limit.acquire("k", FOREVER).await;
    });
    sim.spawn(async {
        let _permit = limit.acquire("k", FOREVER).await.unwrap();
        *done.borrow_mut() = true;
    });
    // Granted, but dropped before it has noticed.
    drop(held);
    sim.cancel(goes);
    assert!(*done.borrow());
    assert_eq!(limit.in_flight("k"), 0);
}

#[test]
fn a_wait_ends_at_its_deadline_and_waiters_are_bounded() {
    let clock = ManualClock::default();
    let limit = Concurrency::with(1, 1, Clock::manual(&clock)).unwrap();
    let _held = limit.try_acquire("k").unwrap();
    let start = clock.now();
    let mut sim = Sim::new(&clock);
    sim.spawn(async {
        let error = limit.acquire("k", ms(300)).await.unwrap_err();
        assert_eq!(
            (error, clock.now().since(start)),
            (WaitError::TimedOut, ms(300))
        );
    });
    let error = limit.acquire_blocking("k", FOREVER).unwrap_err();
    assert_eq!(error, WaitError::TooManyWaiters { max: 1 });
    sim.run();
    assert_eq!(limit.waiting(), 0);
    limit.stop();
    assert_eq!(
        limit.acquire_blocking("k", secs(1)).unwrap_err(),
        WaitError::Stopped
    );
    assert!(Concurrency::new(0).is_err());
}

#[test]
fn threads_never_exceed_the_limit() {
    let limit = Concurrency::new(3).unwrap();
    let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..500 {
                    let _permit = limit.acquire_blocking("k", secs(60)).unwrap();
                    most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::hint::spin_loop();
                    inside.fetch_sub(1, Ordering::SeqCst);
                }
            });
        }
    });
    assert!(most.load(Ordering::SeqCst) <= 3);
    assert_eq!((limit.in_flight("k"), limit.waiting()), (0, 0));
}
