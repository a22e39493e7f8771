//! The contract of the third source system: S2 of the requirements, as far as it is local.

mod common;

use std::net::IpAddr;
use std::time::Duration;

use tollgate::{Clock, Cost, Limiter, ManualClock, MemoryStore, Quota, Rate};

use common::secs;

fn per_minute(name: &str, per_minute: u64, store: &MemoryStore) -> Limiter {
    let quota = Quota::token_bucket(Rate::per_minute(per_minute).unwrap(), per_minute).unwrap();
    Limiter::builder(name).quota(quota).build(store).unwrap()
}

fn store(clock: &ManualClock) -> MemoryStore {
    MemoryStore::builder().clock(Clock::manual(clock)).build()
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn s2_20_addresses_count_whole_or_by_their_network() {
    let clock = ManualClock::default();
    let limiter = per_minute("a", 1, &store(&clock));
    assert!(limiter.check(address("192.0.2.1")).is_allowed());
    assert!(limiter.check(address("192.0.2.2")).is_allowed(), "S2-23");
    assert!(limiter.check(address("::ffff:192.0.2.1")).is_denied());
    assert!(limiter.check(address("2001:db8:0:1::1")).is_allowed());
    assert!(
        limiter.check(address("2001:db8:0:1:ffff::2")).is_denied(),
        "S2-21"
    );
    assert!(
        limiter.check(address("2001:db8:0:2::1")).is_allowed(),
        "S2-22"
    );
    assert!(
        limiter.check("192.0.2.1").is_allowed(),
        "S2-25: a text is not an address"
    );
}

#[test]
fn s2_31_a_disabled_limiter_allows_everything_in_every_method() {
    let clock = ManualClock::default();
    let store = store(&clock);
    let limiter = Limiter::builder("off").quotas(None).build(&store).unwrap();
    assert!(limiter.is_disabled());
    for _ in 0..1_000 {
        assert!(limiter.check("k").is_allowed());
        assert!(limiter.peek("k").is_allowed());
        assert!(limiter.charge("k", Cost::MAX).is_allowed());
        assert!(limiter.refund("k", Cost::MAX).is_allowed());
        assert!(limiter.book("k", Cost::MAX, Duration::ZERO).is_allowed());
        limiter
            .wait_blocking("k", Cost::MAX, Duration::ZERO)
            .unwrap();
        limiter
            .reserve("k", Cost::MAX, Duration::ZERO)
            .unwrap()
            .settle(Cost::ONE);
    }
    limiter.stop();
    assert_eq!(
        (limiter.len(), limiter.overflows(), limiter.waiting()),
        (0, 0, 0)
    );
}

#[test]
fn s2_33_a_refusal_says_how_long_and_an_admission_says_nothing() {
    let clock = ManualClock::default();
    let limiter = per_minute("l", 10, &store(&clock));
    for _ in 0..10 {
        assert_eq!(limiter.check("k").retry_after(), None);
    }
    assert_eq!(limiter.check("k").retry_after(), Some(secs(6)));
}

#[test]
fn s2_37_check_then_charge_bills_only_what_is_charged() {
    let clock = ManualClock::default();
    let limiter = per_minute("l", 3, &store(&clock));
    let visitor = address("192.0.2.1");
    assert!((0..1_000).all(|_| limiter.peek(visitor).is_allowed()));
    assert_eq!(limiter.len(), 0, "W-33: looking inserts nothing");
    for _ in 0..5 {
        let _ = limiter.charge(visitor, Cost::ONE);
    }
    assert!(limiter.peek(visitor).is_denied());
    assert_eq!(
        limiter.peek(visitor).retry_after(),
        Some(secs(20)),
        "S2-36: no further than zero"
    );
}

/// W-34: with one token left, only one of many gets it; it is billed only if it is used.
#[test]
fn s2_35_check_then_charge_has_an_atomic_form() {
    let clock = ManualClock::default();
    let limiter = per_minute("l", 1, &store(&clock));
    let attempt = || limiter.reserve("k", Cost::ONE, Duration::ZERO);
    let first = attempt().unwrap();
    assert!(attempt().is_err());
    first.cancel();
    attempt().unwrap().commit();
    assert!(attempt().is_err());
}

#[test]
fn s2_39_a_refund_never_raises_a_bucket_above_its_burst() {
    let clock = ManualClock::default();
    let limiter = per_minute("l", 3, &store(&clock));
    for _ in 0..10 {
        let _ = limiter.refund("k", Cost::ONE);
    }
    assert_eq!(limiter.len(), 0, "X2-07: a refund invents no key");
    assert!((0..3).all(|_| limiter.check("k").is_allowed()));
    assert!(limiter.check("k").is_denied());
    let _ = limiter.refund("k", Cost::new(100).unwrap());
    assert_eq!(limiter.peek("k").remaining(), 3);
}

/// S2-40, S2-41 and S2-48: both limbs are spent even if the first refuses, so that timing does not
/// tell which did; a right password gives back the limb of the link, not that of the address.
#[test]
fn s2_40_two_limbs_are_spent_and_one_is_given_back() {
    let clock = ManualClock::default();
    let store = store(&clock);
    let by_address = per_minute("address", 5, &store);
    let by_link = per_minute("link", 3, &store);
    let guess = |visitor: &str, right: bool| {
        let address = by_address.check(address(visitor));
        let link = by_link.check("example.org/secret");
        let decision = address.governing(link);
        if decision.is_allowed() && right {
            let _ = by_link.refund("example.org/secret", Cost::ONE);
        }
        decision
    };
    // Many visitors who know the password do not throttle the link.
    for visitor in 1..=50 {
        assert!(guess(&format!("192.0.2.{visitor}"), true).is_allowed());
    }
    // Guesses spread over addresses share the limb of the link.
    assert!(guess("198.51.100.1", false).is_allowed());
    assert!(guess("198.51.100.2", false).is_allowed());
    assert!(guess("198.51.100.3", false).is_allowed());
    let refused = guess("198.51.100.4", false);
    assert_eq!(refused.retry_after(), Some(secs(20)));
    assert_eq!(
        by_address.peek(address("198.51.100.4")).remaining(),
        4,
        "spent all the same"
    );
    // One address runs into its own limb, and the wait is the longer of the two.
    for _ in 0..5 {
        let _ = guess("203.0.113.9", false);
    }
    assert_eq!(by_address.peek(address("203.0.113.9")).remaining(), 0);
    assert_eq!(guess("203.0.113.9", false).retry_after(), Some(secs(20)));
}

/// The other way to combine two limits: charged both or none.
#[test]
fn w21_two_quotas_of_one_policy_are_charged_both_or_none() {
    let clock = ManualClock::default();
    let second = Quota::token_bucket(Rate::per_second(1).unwrap(), 2).unwrap();
    let hour = Quota::token_bucket(Rate::per_hour(1).unwrap(), 3).unwrap();
    let builder = Limiter::builder("both").quotas([second, hour]);
    let limiter = builder.build(&store(&clock)).unwrap();
    assert!(limiter.check("k").is_allowed() && limiter.check("k").is_allowed());
    for _ in 0..10 {
        assert!(limiter.check("k").is_denied());
    }
    clock.advance(secs(2));
    assert!(
        limiter.check("k").is_allowed(),
        "denials spent nothing of the hour"
    );
    assert_eq!(limiter.check("k").retry_after(), Some(secs(3_598)));
}

#[test]
fn s2_50_the_burst_is_the_allowance_of_a_minute_unless_told_otherwise() {
    let quota = Quota::parse(tollgate::Algorithm::TokenBucket, "10/min").unwrap();
    assert_eq!((quota.limit(), quota.span()), (10, secs(60)));
}
