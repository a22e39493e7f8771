//! One action per key in each interval. S4-30 to S4-38 of the requirements.

mod common;

use std::time::Duration;

use tollgate::{Attempt, BuildError, Clock, Cooldown, CooldownBuilder, ManualClock};

use common::{ms, secs};

fn builder(interval: Duration, clock: &ManualClock) -> CooldownBuilder {
    Cooldown::builder(interval).clock(Clock::manual(clock))
}

/// W-70: a cooldown of 10 s, and twenty callers that are refused at the same time.
#[test]
fn s4_32_refused_callers_do_not_move_the_next_instant_by_a_nanosecond() {
    let clock = ManualClock::default();
    let cooldown = builder(secs(10), &clock).build().unwrap();
    assert!(cooldown.allow("k").is_allowed());
    clock.advance(ms(3_500));
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                for _ in 0..500 {
                    let refused = cooldown.allow("k");
                    assert_eq!(refused.retry_after(), Some(ms(6_500)));
                }
            });
        }
    });
    clock.advance(ms(6_500) - Duration::from_nanos(1));
    assert_eq!(
        cooldown.allow("k").retry_after(),
        Some(Duration::from_nanos(1))
    );
    clock.advance(Duration::from_nanos(1));
    assert!(cooldown.allow("k").is_allowed());
}

#[test]
fn s4_33_keys_are_independent() {
    let clock = ManualClock::default();
    let cooldown = builder(secs(10), &clock).build().unwrap();
    // W-76: parts of a key do not run into each other.
    for key in [("a:b", "c"), ("a", "b:c")] {
        assert!(cooldown.allow(key).is_allowed());
        assert!(cooldown.allow(key).is_denied());
    }
    clock.advance(secs(3_600));
    assert!(cooldown.allow(("a", "b:c")).is_allowed());
    assert!(
        cooldown.allow(("a", "b:c")).is_denied(),
        "idle time saves nothing up"
    );
}

#[test]
fn s4_34_memory_is_bounded_whatever_the_keys() {
    let clock = ManualClock::default();
    let cooldown = builder(secs(10), &clock).max_keys(100).build().unwrap();
    for key in 0..10_000_u64 {
        assert!(cooldown.allow(key).is_allowed());
    }
    assert!(cooldown.stats().keys <= 100);
}

#[test]
fn s4_30_settings_that_cannot_be_are_refused() {
    let error = Cooldown::builder(secs(10))
        .max_age(secs(9))
        .build()
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "max_age: 9s is below the interval of 10s"
    );
    assert!(matches!(
        Cooldown::new(Duration::ZERO),
        Err(BuildError::Rate(_))
    ));
    // S4-35: zero switches off what there is no need for.
    assert!(
        Cooldown::builder(secs(10))
            .max_age(Duration::ZERO)
            .build()
            .is_ok()
    );
}

#[test]
fn w75_a_failed_action_gives_its_slot_back() {
    let clock = ManualClock::default();
    let cooldown = builder(secs(10), &clock).build().unwrap();
    let Attempt::Begun(action) = cooldown.begin("k") else {
        panic!()
    };
    clock.advance(secs(4));
    assert!(
        matches!(cooldown.begin("k"), Attempt::Refused { retry_after } if retry_after == secs(6))
    );
    action.roll_back();

    let Attempt::Begun(action) = cooldown.begin("k") else {
        panic!()
    };
    clock.advance(secs(4));
    action.commit();
    assert_eq!(
        cooldown.allow("k").retry_after(),
        Some(secs(6)),
        "from when it began"
    );
}

#[test]
fn w75_a_slot_whose_interval_is_over_is_not_given_back() {
    let clock = ManualClock::default();
    let cooldown = builder(secs(10), &clock).build().unwrap();
    let Attempt::Begun(slow) = cooldown.begin("k") else {
        panic!()
    };
    clock.advance(secs(10));
    assert!(cooldown.allow("k").is_allowed());
    slow.roll_back();
    assert!(
        cooldown.allow("k").is_denied(),
        "the slot is somebody else's"
    );
}

#[test]
fn w75_an_exclusive_action_outlasts_its_interval() {
    let clock = ManualClock::default();
    let cooldown = builder(secs(10), &clock).exclusive().build().unwrap();
    let Attempt::Begun(slow) = cooldown.begin("k") else {
        panic!()
    };
    clock.advance(secs(60));
    assert!(matches!(cooldown.begin("k"), Attempt::Running));
    assert!(matches!(cooldown.begin("other"), Attempt::Begun(_)));
    slow.commit();
    assert!(matches!(cooldown.begin("k"), Attempt::Begun(_)));
}
