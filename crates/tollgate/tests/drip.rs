//! The waiting drip bucket. S1 of the requirements, with the figures of its own tests.

mod common;

use std::cell::RefCell;
use std::time::Duration;

use tollgate::{Clock, Drip, DripBuilder, ManualClock};

use common::{Sim, ms, secs};

fn builder(clock: &ManualClock) -> DripBuilder {
    Drip::builder().clock(Clock::manual(clock))
}

/// How many of the requests that one caller makes one after another pass in `time`.
fn passed_in(drip: &Drip, clock: &ManualClock, time: Duration) -> usize {
    let (start, passed) = (clock.now(), RefCell::new(0));
    let mut sim = Sim::new(clock);
    sim.spawn(async {
        while clock.now().since(start) < time {
            let admitted = drip.limit().await;
            if admitted && clock.now().since(start) <= time {
                *passed.borrow_mut() += 1;
            }
        }
    });
    sim.run();
    drop(sim);
    passed.into_inner()
}

/// X1-08: the figures of the source's own tests.
#[test]
fn s1_02_admits_the_target_rate_on_average() {
    for (rate, tick, time, expected) in [
        (1.0, 100, 3_000, 3),
        (100.0, 200, 420, 40),
        (0.5, 100, 2_100, 1),
    ] {
        let clock = ManualClock::default();
        let builder = builder(&clock).target_rate(rate).sleep_interval(ms(tick));
        let drip = builder.starts_empty().build().unwrap();
        assert_eq!(passed_in(&drip, &clock, ms(time)), expected, "{rate}/s");
    }
}

/// X1-08: 30 requests one after another at 20/s, a timeout of 15 ms and ticks of 100 ms.
#[test]
fn s1_08_a_waiter_that_gets_a_drop_in_time_passes() {
    let clock = ManualClock::default();
    let builder = builder(&clock).target_rate(20.0).drop_timeout(ms(15));
    let drip = builder
        .sleep_interval(ms(100))
        .starts_empty()
        .build()
        .unwrap();
    let passed = RefCell::new(0);
    let mut sim = Sim::new(&clock);
    sim.spawn(async {
        for _ in 0..30 {
            *passed.borrow_mut() += u32::from(drip.limit().await);
        }
    });
    sim.run();
    assert_eq!(*passed.borrow(), 6);
}

#[test]
fn s1_07_a_request_without_a_drop_waits_for_the_timeout_and_no_longer() {
    for timeout in [ms(400), secs(1), secs(2)] {
        let clock = ManualClock::default();
        let builder = builder(&clock).target_rate(0.1).drop_timeout(timeout);
        let drip = builder.starts_empty().build().unwrap();
        let start = clock.now();
        let mut sim = Sim::new(&clock);
        sim.spawn(async {
            assert!(!drip.limit().await);
            assert_eq!(clock.now().since(start), timeout);
        });
        sim.run();
        assert_eq!(drip.waiting(), 0);
    }
}

#[test]
fn s1_04_fractions_are_carried_to_the_next_interval() {
    let clock = ManualClock::default();
    let builder = builder(&clock)
        .target_rate(0.7)
        .drop_timeout(Duration::ZERO);
    let drip = builder
        .sleep_interval(ms(333))
        .starts_empty()
        .build()
        .unwrap();
    let mut passed = 0;
    for _ in 0..10_000 {
        clock.advance(ms(333));
        passed += u32::from(drip.try_limit());
    }
    assert_eq!(passed, 2_331, "0.7/s for 3330 s, exactly");
}

#[test]
fn s1_09_after_an_hour_idle_exactly_the_maximum_passes_at_once() {
    for max in [1, 10, 1_000] {
        let clock = ManualClock::default();
        let builder = builder(&clock).target_rate(100.0).max_drops_absolute(max);
        let drip = builder.starts_empty().build().unwrap();
        assert!(!drip.try_limit());
        clock.advance(secs(3_600));
        let passed = (0..5_000).filter(|_| drip.try_limit()).count() as u64;
        assert_eq!(passed, max);
    }
}

#[test]
fn s1_15_the_order_of_the_settings_does_not_matter() {
    for (interval, drops) in [(ms(1_000), 100), (secs(10), 1_000), (ms(1_400), 140)] {
        let before = Drip::builder()
            .max_drops_interval(interval)
            .target_rate(100.0);
        let after = Drip::builder()
            .target_rate(100.0)
            .max_drops_interval(interval);
        assert_eq!(before.build().unwrap().max_drops(), drops);
        assert_eq!(after.build().unwrap().max_drops(), drops);
    }
    let least = Drip::builder()
        .target_rate(0.1)
        .max_drops_interval(ms(1))
        .build()
        .unwrap();
    assert_eq!(least.max_drops(), 1);
}

#[test]
fn s1_18_settings_that_cannot_be_are_refused() {
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = Drip::builder().target_rate(rate).build().unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("target_rate: {rate} is not greater than 0")
        );
    }
    let error = Drip::builder()
        .sleep_interval(Duration::ZERO)
        .build()
        .unwrap_err();
    assert_eq!(error.to_string(), "sleep_interval: must be greater than 0");
    assert!(Drip::builder().max_drops_absolute(0).build().is_err());
}

#[test]
fn s1_20_the_defaults() {
    let drip = Drip::new().unwrap();
    assert_eq!(drip.target_rate(), 1.0);
    assert_eq!(drip.sleep_interval(), ms(100));
    assert_eq!(drip.max_drops(), 1_000);
    assert_eq!(drip.drop_timeout(), ms(150));
    assert!(drip.limit_blocking(), "starts full");
}

#[test]
fn s1_12_stopping_ends_waiters_promptly() {
    for rate in [5.0, 0.1] {
        let clock = ManualClock::default();
        let builder = builder(&clock).target_rate(rate).drop_timeout(secs(60));
        let drip = builder.starts_empty().build().unwrap();
        let answers = RefCell::new(vec![]);
        let mut sim = Sim::new(&clock);
        for _ in 0..50 {
            sim.spawn(async {
                let answer = drip.limit().await;
                answers.borrow_mut().push(answer);
            });
        }
        assert_eq!(drip.waiting(), 50);
        drip.stop();
        sim.settle();
        assert_eq!(*answers.borrow(), [false; 50]);
        assert_eq!((drip.waiting(), clock.next_wake()), (0, None));
        assert!(!drip.try_limit() && !drip.limit_blocking() && drip.is_stopped());
    }
}

#[test]
fn w24_waiters_are_bounded_and_the_rest_is_refused_at_once() {
    let clock = ManualClock::default();
    let builder = builder(&clock).target_rate(0.001).max_waiters(10);
    let drip = builder.starts_empty().build().unwrap();
    let refused = RefCell::new(0);
    let mut sim = Sim::new(&clock);
    for _ in 0..1_000 {
        sim.spawn(async {
            assert!(!drip.limit().await);
            *refused.borrow_mut() += 1;
        });
    }
    assert_eq!((*refused.borrow(), drip.waiting()), (990, 10));
    sim.run();
}

#[test]
fn w26_a_caller_that_hangs_up_leaves_its_drop_to_the_next() {
    let clock = ManualClock::default();
    let builder = builder(&clock)
        .target_rate(1.0)
        .drop_timeout(ms(1_500))
        .starts_empty();
    let drip = builder.build().unwrap();
    let passed = RefCell::new(vec![]);
    let start = clock.now();
    let mut sim = Sim::new(&clock);
    let hangs_up = sim.spawn(async {
        let _ = drip.limit().await;
    });
    // No drop falls for this one in time, unless the first hangs up.
    sim.spawn(async {
        let admitted = drip.limit().await;
        passed
            .borrow_mut()
            .push((admitted, clock.now().since(start)));
    });
    sim.run_until(ms(500));
    sim.cancel(hangs_up);
    sim.run();
    assert_eq!(*passed.borrow(), [(true, ms(1_500))]);
}

#[test]
fn w25_drops_fall_in_clumps_or_continuously_or_evenly_spaced() {
    let at = |builder: DripBuilder, clock: &ManualClock| -> Vec<u128> {
        let drip = builder.target_rate(100.0).starts_empty().build().unwrap();
        let (start, passed) = (clock.now(), RefCell::new(vec![]));
        let mut sim = Sim::new(clock);
        for _ in 0..12 {
            sim.spawn(async {
                if drip.limit().await {
                    passed
                        .borrow_mut()
                        .push(clock.now().since(start).as_millis());
                }
            });
        }
        sim.run();
        drop(sim);
        passed.into_inner()
    };
    let clock = ManualClock::default();
    assert_eq!(at(builder(&clock), &clock), [100; 10]);
    let each: Vec<u128> = (1..=12).map(|drop| drop * 10).collect();
    let clock = ManualClock::default();
    assert_eq!(at(builder(&clock).continuous(), &clock), each);
    let clock = ManualClock::default();
    assert_eq!(at(builder(&clock).even_spacing(), &clock), each);
}

/// Once for real.
#[test]
fn s1_11_blocking_callers_get_the_target_rate() {
    let builder = Drip::builder().target_rate(200.0).drop_timeout(secs(5));
    let drip = builder
        .sleep_interval(ms(5))
        .starts_empty()
        .build()
        .unwrap();
    let clock = Clock::system();
    let start = clock.now();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..5).for_each(|_| assert!(drip.limit_blocking())));
        }
    });
    let taken = clock.now().since(start);
    assert!(taken >= ms(95), "{taken:?}");
}
