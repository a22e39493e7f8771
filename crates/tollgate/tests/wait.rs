//! Waiting on a limiter: order, deadlines, cancellation and bounds, on a manual clock.

mod common;

use std::cell::RefCell;
use std::time::Duration;

use tollgate::{
    Clock, Cost, Limited, Limiter, ManualClock, MemoryStore, Quota, Rate, WaitError, Window,
};

use common::{Sim, limiter, ms, secs};

const FOREVER: Duration = Duration::MAX;

/// When each of several waiters was done, in the order in which they were done.
type Done = RefCell<Vec<(usize, Duration)>>;

async fn wait(limiter: &Limiter, clock: &ManualClock, who: usize, cost: u64, done: &Done) {
    let start = ManualClock::default().now();
    let cost = Cost::new(cost).unwrap();
    limiter.wait("k", cost, FOREVER).await.unwrap();
    done.borrow_mut().push((who, clock.now().since(start)));
}

#[test]
fn c44_waiters_are_done_one_after_another_in_order_of_arrival() {
    let clock = ManualClock::default();
    let limiter = limiter(Rate::per_second(5).unwrap(), 1, &clock);
    assert!(limiter.check("k").is_allowed());
    let done = Done::default();
    let mut sim = Sim::new(&clock);
    for who in 0..100 {
        sim.spawn(wait(&limiter, &clock, who, 1, &done));
    }
    assert_eq!(limiter.waiting(), 100);
    // A new caller that does not wait never gets in between.
    for slot in 1..=100 {
        sim.run_until(ms(slot * 200));
        assert!(limiter.check("k").is_denied(), "{slot}");
    }
    sim.run();
    let expected: Vec<_> = (0..100)
        .map(|who| (who, ms((who as u64 + 1) * 200)))
        .collect();
    assert_eq!(*done.borrow(), expected);
    assert_eq!(limiter.waiting(), 0);
}

#[test]
fn s4_14_a_slot_after_the_deadline_fails_at_once_and_costs_nothing() {
    let clock = ManualClock::default();
    let limiter = limiter(Rate::per_second(1).unwrap(), 1, &clock);
    assert!(limiter.check("k").is_allowed());
    for _ in 0..20 {
        let refused = limiter.reserve("k", Cost::ONE, ms(999)).unwrap_err();
        assert_eq!(refused, WaitError::Limited(Limited::new(secs(1))));
        assert_eq!(refused.retry_after(), Some(secs(1)));
    }
    assert_eq!(
        limiter
            .reserve("k", Cost::ONE, secs(1))
            .unwrap()
            .act_after(),
        secs(1)
    );
    clock.advance(secs(1));
    assert!(limiter.check("k").is_allowed());
}

#[test]
fn s4_16_a_storm_of_cancellations_wastes_no_slot() {
    for every in [1, 2, 3] {
        let clock = ManualClock::default();
        let limiter = limiter(Rate::every(ms(600)).unwrap(), 1, &clock);
        assert!(limiter.check("k").is_allowed());
        let done = Done::default();
        let mut sim = Sim::new(&clock);
        let tasks: Vec<_> = (0..1_200)
            .map(|who| sim.spawn(wait(&limiter, &clock, who, 1, &done)))
            .collect();
        // A thousand of them leave, spread over the whole line, some while slots come.
        let stay = |who: usize| {
            if every == 1 {
                who >= 1_000
            } else {
                who % 6 == every - 2
            }
        };
        let leavers: Vec<_> = tasks.iter().copied().filter(|who| !stay(*who)).collect();
        assert_eq!(leavers.len(), 1_000);
        for (count, task) in leavers.iter().rev().enumerate() {
            if count == 900 {
                sim.run_until(ms(600 * 3));
            }
            sim.cancel(*task);
        }
        sim.run();
        let times: Vec<_> = done.borrow().iter().map(|(_, at)| *at).collect();
        let expected: Vec<_> = (1..=times.len() as u64)
            .map(|slot| ms(slot * 600))
            .collect();
        assert_eq!(times, expected, "back to back, nothing wasted");
        let order: Vec<_> = done.borrow().iter().map(|(who, _)| *who).collect();
        assert!(order.is_sorted());
        // The store knows of nothing else: the next slot follows the last.
        assert_eq!(
            limiter
                .reserve("k", Cost::ONE, FOREVER)
                .unwrap()
                .act_after(),
            ms(600)
        );
    }
}

#[test]
fn a_cancelled_waiter_leaves_its_slot_to_the_next_whatever_it_costs() {
    // Ten tokens in ten seconds, then one each: the ten leave, and the ones move up.
    let clock = ManualClock::default();
    let limiter = limiter(Rate::per_second(1).unwrap(), 10, &clock);
    assert!(limiter.check_cost("k", Cost::new(10).unwrap()).is_allowed());
    let done = Done::default();
    let mut sim = Sim::new(&clock);
    let large = sim.spawn(wait(&limiter, &clock, 0, 10, &done));
    for who in 1..=3 {
        sim.spawn(wait(&limiter, &clock, who, 1, &done));
    }
    sim.run_until(ms(1_500));
    sim.cancel(large);
    // A token and a half has flowed back since the bucket was empty.
    sim.run();
    assert_eq!(
        *done.borrow(),
        [(1, ms(1_500)), (2, ms(2_000)), (3, ms(3_000))]
    );
}

/// Pitfall 22: a large request among small ones is not starved, and does not starve them.
#[test]
fn a_large_request_is_not_starved_by_small_ones() {
    let clock = ManualClock::default();
    let limiter = limiter(Rate::per_second(10).unwrap(), 10, &clock);
    assert!(limiter.check_cost("k", Cost::new(10).unwrap()).is_allowed());
    let done = Done::default();
    let mut sim = Sim::new(&clock);
    for who in 0..100 {
        sim.spawn(wait(
            &limiter,
            &clock,
            who,
            if who == 50 { 10 } else { 1 },
            &done,
        ));
    }
    sim.run();
    assert_eq!(done.borrow()[50], (50, ms(6_000)));
    assert_eq!(done.borrow()[99], (99, ms(10_900)));
}

/// Pitfall 23: a waiter that is never polled again holds nobody up, and leaves nothing for ever.
#[test]
fn a_leaked_waiter_holds_nobody_up() {
    let clock = ManualClock::default();
    let limiter = limiter(Rate::per_second(1).unwrap(), 1, &clock);
    assert!(limiter.check("k").is_allowed());
    let done = Done::default();
    let mut sim = Sim::new(&clock);
    let tasks: Vec<_> = (0..6)
        .map(|who| sim.spawn(wait(&limiter, &clock, who, 1, &done)))
        .collect();
    sim.leak(tasks[0]);
    sim.leak(tasks[3]);
    sim.run_until(secs(10));
    let times: Vec<_> = done.borrow().iter().map(|(_, at)| at.as_secs()).collect();
    assert_eq!(times, [2, 3, 5, 6]);
    assert_eq!(limiter.waiting(), 0);
}

#[test]
fn waiters_are_bounded_with_a_clear_error() {
    let clock = ManualClock::default();
    let store = MemoryStore::builder().clock(Clock::manual(&clock)).build();
    let quota = Quota::token_bucket(Rate::per_second(1).unwrap(), 1).unwrap();
    let limiter = Limiter::builder("p")
        .quota(quota)
        .max_waiters(3)
        .build(&store)
        .unwrap();
    let mut held = vec![];
    for _ in 0..4 {
        held.push(limiter.reserve("k", Cost::ONE, FOREVER).unwrap());
    }
    for _ in 0..10 {
        let error = limiter.reserve("k", Cost::ONE, FOREVER).unwrap_err();
        assert_eq!(error, WaitError::TooManyWaiters { max: 3 });
        assert_eq!(
            error.to_string(),
            "3 callers wait already, which is as many as may"
        );
    }
    held.pop();
    let last = limiter.reserve("k", Cost::ONE, FOREVER).unwrap();
    assert_eq!(last.act_after(), secs(3), "those turned away cost nothing");
}

#[test]
fn c37_cancelled_reservations_leave_no_trace() {
    let clock = ManualClock::default();
    let limiter = limiter(Rate::per_second(60).unwrap(), 1, &clock);
    let reservations: Vec<_> = (0..3)
        .map(|_| limiter.reserve("k", Cost::ONE, FOREVER).unwrap())
        .collect();
    assert_eq!(
        reservations[2].act_after(),
        Duration::from_nanos(33_333_334)
    );
    for reservation in reservations.into_iter().rev() {
        reservation.cancel();
    }
    assert!(limiter.check("k").is_allowed());
    assert_eq!(
        limiter.check("k").retry_after(),
        Some(Duration::from_nanos(16_666_667))
    );
}

#[test]
fn a_cost_above_the_limit_never_gets_a_slot_and_moves_nothing() {
    let clock = ManualClock::default();
    let limiter = limiter(Rate::per_second(1).unwrap(), 2, &clock);
    let two = Cost::new(2).unwrap();
    assert!(limiter.check_cost("k", two).is_allowed());
    clock.advance(ms(500));
    let three = Cost::new(3).unwrap();
    let error = limiter.reserve("k", three, FOREVER).unwrap_err();
    assert_eq!(error, WaitError::Never { cost: three });
    clock.advance(ms(500));
    assert!(limiter.check("k").is_allowed());
}

#[test]
fn a_settled_reservation_gives_back_or_charges_the_difference() {
    let clock = ManualClock::default();
    let limiter = limiter(Rate::per_second(1).unwrap(), 10, &clock);
    let five = Cost::new(5).unwrap();
    limiter
        .reserve("k", five, FOREVER)
        .unwrap()
        .settle(Cost::new(2).unwrap());
    assert_eq!(limiter.peek("k").remaining(), 8);
    limiter
        .reserve("k", five, FOREVER)
        .unwrap()
        .settle(Cost::new(7).unwrap());
    assert_eq!(limiter.peek("k").remaining(), 1);
    limiter.reserve("k", Cost::ONE, FOREVER).unwrap().commit();
    assert_eq!(limiter.peek("k").remaining(), 0);
    drop(limiter.reserve("k", Cost::ONE, FOREVER).unwrap());
    assert_eq!(limiter.peek("k").retry_after(), Some(secs(1)));
}

/// A slot that has come and is given back late lets the next one act now, but no two act closer
/// together than a bucket allows that had never been asked.
#[test]
fn a_slot_that_is_given_back_late_is_worth_what_is_left_of_it() {
    let clock = ManualClock::default();
    let limiter = limiter(Rate::per_second(1).unwrap(), 1, &clock);
    let reserve = || limiter.reserve("k", Cost::ONE, FOREVER).unwrap();
    let (first, second, third) = (reserve(), reserve(), reserve());
    clock.advance(ms(400));
    first.cancel();
    assert_eq!(second.act_after(), Duration::ZERO, "the first never acted");
    assert_eq!(third.act_after(), secs(1));
    clock.advance(ms(300));
    // Nobody has acted so far, so the bucket is full, and holds one token.
    second.cancel();
    assert_eq!(third.act_after(), Duration::ZERO);
    assert_eq!(reserve().act_after(), secs(1));
}

#[test]
fn a_refund_moves_those_who_wait_forward() {
    let clock = ManualClock::default();
    let limiter = limiter(Rate::per_second(1).unwrap(), 1, &clock);
    assert!(limiter.check("k").is_allowed());
    let waiting = limiter.reserve("k", Cost::ONE, FOREVER).unwrap();
    let next = limiter.reserve("k", Cost::ONE, FOREVER).unwrap();
    let _ = limiter.refund("k", Cost::ONE);
    assert_eq!((waiting.act_after(), next.act_after()), (secs(0), secs(1)));
    assert_eq!(
        limiter
            .reserve("k", Cost::ONE, secs(1))
            .unwrap_err()
            .retry_after(),
        Some(secs(2))
    );
}

#[test]
fn slots_of_windows_are_handed_forward_whole() {
    let clock = ManualClock::default();
    let store = MemoryStore::builder().clock(Clock::manual(&clock)).build();
    let window = Window::of(secs(10)).unwrap();
    let quota = Quota::fixed_window(2, window).unwrap();
    let limiter = Limiter::builder("w").quota(quota).build(&store).unwrap();
    let mut held: Vec<_> = (0..8)
        .map(|_| limiter.reserve("k", Cost::ONE, FOREVER).unwrap())
        .collect();
    let waits = |held: &[tollgate::Reservation<'_>]| -> Vec<u64> {
        held.iter().map(|held| held.act_after().as_secs()).collect()
    };
    assert_eq!(waits(&held), [0, 0, 10, 10, 20, 20, 30, 30]);
    held.remove(3).cancel();
    assert_eq!(waits(&held), [0, 0, 10, 10, 20, 20, 30]);
}

#[test]
fn stopping_ends_waits_promptly_and_refuses_new_ones() {
    let clock = ManualClock::default();
    let limiter = limiter(Rate::per_second(1).unwrap(), 1, &clock);
    assert!(limiter.check("k").is_allowed());
    let results = RefCell::new(vec![]);
    let mut sim = Sim::new(&clock);
    for _ in 0..50 {
        sim.spawn(async {
            let result = limiter.wait("k", Cost::ONE, FOREVER).await;
            results.borrow_mut().push(result);
        });
    }
    limiter.stop();
    sim.settle();
    assert_eq!(*results.borrow(), vec![Err(WaitError::Stopped); 50]);
    assert_eq!(
        limiter.reserve("k", Cost::ONE, FOREVER).unwrap_err(),
        WaitError::Stopped
    );
    clock.advance(secs(1));
    assert!(
        limiter.check("k").is_allowed(),
        "checks go on, and the waits cost nothing"
    );
}

#[test]
fn hundreds_of_thousands_of_waits_leave_nothing_behind() {
    let clock = ManualClock::default();
    let limiter = limiter(Rate::per_second(1_000).unwrap(), 1, &clock);
    for key in 0..100_000_u64 {
        let key = key % 5_000;
        drop(limiter.reserve(key, Cost::ONE, FOREVER));
        limiter.reserve(key, Cost::ONE, FOREVER).unwrap().commit();
        drop(limiter.reserve(key, Cost::ONE, FOREVER));
        clock.advance(Duration::from_micros(1));
    }
    assert_eq!(limiter.waiting(), 0);
    assert_eq!(clock.next_wake(), None);
}
