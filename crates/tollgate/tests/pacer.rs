//! Pacing: one call each interval, in order of arrival. S4-10 to S4-19a of the requirements.

mod common;

use std::cell::RefCell;
use std::error::Error;
use std::time::Duration;

use tollgate::{BuildError, Clock, KeyedPacer, Limited, ManualClock, Pacer, Rate, WaitError};

use common::{Sim, ms, secs};

const FOREVER: Duration = Duration::MAX;

fn pacer(rate: Rate, clock: &ManualClock) -> Pacer {
    Pacer::builder(rate)
        .clock(Clock::manual(clock))
        .build()
        .unwrap()
}

/// Starts `callers` at once, and says when each was done, in milliseconds, in the order of arrival.
fn done_at(pacer: &Pacer, clock: &ManualClock, callers: usize) -> Vec<u128> {
    let done = RefCell::new(vec![]);
    let start = clock.now();
    let mut sim = Sim::new(clock);
    for who in 0..callers {
        let done = &done;
        sim.spawn(async move {
            pacer.wait(FOREVER).await.unwrap();
            done.borrow_mut()
                .push((who, clock.now().since(start).as_millis()));
        });
    }
    sim.run();
    drop(sim);
    let done = done.into_inner();
    assert!(
        done.is_sorted_by_key(|(who, _)| *who),
        "in order of arrival"
    );
    done.into_iter().map(|(_, at)| at).collect()
}

#[test]
fn s4_10_one_call_each_interval() {
    let clock = ManualClock::default();
    let pacer = pacer(Rate::per_second(1).unwrap(), &clock);
    assert_eq!(
        done_at(&pacer, &clock, 6),
        [0, 1_000, 2_000, 3_000, 4_000, 5_000]
    );
}

#[test]
fn s4_12_a_hundred_at_once_pass_in_order_of_arrival() {
    let clock = ManualClock::default();
    let pacer = pacer(Rate::per_second(5).unwrap(), &clock);
    pacer.wait_blocking(FOREVER).unwrap();
    let expected: Vec<_> = (1..=100).map(|slot| slot * 200).collect();
    assert_eq!(done_at(&pacer, &clock, 100), expected);
}

/// C07: first use at 30 s, then ten calls back to back.
#[test]
fn s4_17_idle_time_saves_nothing_up() {
    for (burst, expected) in [
        (1, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
        (3, [0, 0, 0, 1, 2, 3, 4, 5, 6, 7]),
    ] {
        let clock = ManualClock::default();
        let rate = Rate::per_second(1).unwrap();
        let builder = Pacer::builder(rate)
            .burst(burst)
            .clock(Clock::manual(&clock));
        let pacer = builder.build().unwrap();
        clock.advance(secs(30));
        let expected = expected.map(|secs| secs * 1_000);
        assert_eq!(done_at(&pacer, &clock, 10), expected);
        clock.advance(secs(3_600));
        assert_eq!(done_at(&pacer, &clock, 10), expected, "after an hour");
    }
}

#[test]
fn s4_14_a_slot_after_the_deadline_fails_at_once_with_the_time_to_come_back() {
    let clock = ManualClock::default();
    let pacer = pacer(Rate::every(ms(600)).unwrap(), &clock);
    pacer.wait_blocking(secs(8)).unwrap();
    let error = pacer.wait_blocking(ms(599)).unwrap_err();
    assert_eq!(error, WaitError::Limited(Limited::new(ms(600))));
    assert_eq!(
        error.source().unwrap().to_string(),
        "rate limited, retry after 600ms"
    );
    // Waiting exactly that long passes.
    clock.advance(ms(600));
    pacer.wait_blocking(Duration::ZERO).unwrap();
}

/// S4-15: those who are refused cost nothing, however many there are.
#[test]
fn s4_15_a_released_slot_does_not_push_others_back() {
    let clock = ManualClock::default();
    let pacer = pacer(Rate::per_second(1).unwrap(), &clock);
    let _first = pacer.reserve(FOREVER).unwrap();
    let held: Vec<_> = (0..20).map(|_| pacer.reserve(FOREVER).unwrap()).collect();
    let mut held = held.into_iter();
    // First in, first cancelled: the case in which a reservation taken back frees nothing.
    held.by_ref().take(19).for_each(|slot| slot.cancel());
    assert_eq!(held.next().unwrap().act_after(), secs(1));
}

/// The admission table of X4-04: an interval of 625 ms, and all callers at once.
#[test]
fn s4_19a_patient_and_impatient_callers_are_told_apart() {
    for (budget, admitted) in [(secs(8), 13), (secs(30), 49), (secs(120), 193)] {
        let clock = ManualClock::default();
        let rate = Rate::per_second(2).unwrap();
        let builder = Pacer::builder(rate)
            .headroom(0.8)
            .clock(Clock::manual(&clock));
        let pacer = builder.build().unwrap();
        assert_eq!(pacer.interval(), ms(625));
        let held: Vec<_> = (0..300).map_while(|_| pacer.reserve(budget).ok()).collect();
        assert_eq!(held.len(), admitted);
    }

    // Fifty patient ones are in line; of fifty impatient ones none gets a slot, at once.
    let clock = ManualClock::default();
    let pacer = pacer(Rate::every(ms(625)).unwrap(), &clock);
    let (patient, refused) = (RefCell::new(vec![]), RefCell::new(0));
    let mut sim = Sim::new(&clock);
    for _ in 0..50 {
        sim.spawn(async {
            let passed = pacer.wait(secs(30)).await.is_ok();
            patient.borrow_mut().push(passed);
        });
        sim.spawn(async {
            let failed = pacer.wait(secs(8)).await.is_err();
            *refused.borrow_mut() += u32::from(failed);
        });
    }
    // Alternating, the first 13 slots go to both alike; from then on only the patient are in line.
    assert_eq!(*refused.borrow(), 50 - 6);
    sim.run();
    let patient = patient.borrow();
    assert_eq!(patient.iter().filter(|passed| **passed).count(), 49 - 6);
    assert_eq!(clock.now().since(ManualClock::default().now()), secs(30));
}

#[test]
fn s4_43_keys_have_paces_of_their_own() {
    let clock = ManualClock::default();
    let builder = KeyedPacer::builder(Rate::per_second(1).unwrap()).clock(Clock::manual(&clock));
    let pacer = builder.build_keyed().unwrap();
    let waits = ["a", "b", "a", "b"].map(|host| {
        let slot = pacer.reserve(host, FOREVER).unwrap();
        let wait = slot.act_after();
        slot.commit();
        wait
    });
    assert_eq!(waits, [secs(0), secs(0), secs(1), secs(1)]);
    assert_eq!(pacer.interval(), secs(1));
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let rate = Rate::per_second(2).unwrap();
    for headroom in [0.0, -1.0, 1.001, f64::NAN, f64::INFINITY, 0.000_1, 0.123_45] {
        let error = Pacer::builder(rate).headroom(headroom).build().unwrap_err();
        let expected =
            format!("headroom: {headroom} is not more than 0 and at most 1, to the thousandth");
        assert_eq!(error.to_string(), expected);
    }
    assert!(matches!(
        Pacer::new(Duration::ZERO),
        Err(BuildError::Rate(_))
    ));
    assert!(matches!(
        Pacer::builder(rate).burst(0).build(),
        Err(BuildError::Quota(_))
    ));
    let odd = Pacer::builder(Rate::per_second(3).unwrap())
        .headroom(0.999)
        .build()
        .unwrap();
    assert_eq!(
        odd.interval(),
        Duration::from_nanos(333_667_001),
        "rounded up"
    );
}

/// Once for real, on threads.
#[test]
fn s4_11_blocking_callers_on_threads_are_paced() {
    let pacer = Pacer::new(ms(5)).unwrap();
    let clock = Clock::system();
    let start = clock.now();
    let mut times: Vec<_> = std::thread::scope(|scope| {
        let callers = [(); 20].map(|()| {
            scope.spawn(|| {
                pacer.wait_blocking(secs(60)).unwrap();
                clock.now().since(start)
            })
        });
        callers.map(|caller| caller.join().unwrap()).into()
    });
    times.sort();
    for (slot, time) in (0_u64..).zip(&times) {
        assert!(*time >= ms(slot * 5), "{slot}: {time:?}");
    }
    assert_eq!(pacer.waiting(), 0);
}
