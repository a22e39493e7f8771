//! What people who run rate limiters reported, as far as a limiter with a store in memory can show
//! it. The cases of the pure algorithms are tests of `tollgate-core`.

#![allow(missing_docs)]

use std::net::IpAddr;
use std::sync::Barrier;
use std::time::Duration;

use tollgate::{
    Algorithm, Clock, Cost, Limiter, ManualClock, MemoryStore, Part, Quota, Rate, Window,
};

const MINUTE: Duration = Duration::from_secs(60);

fn bucket(rate: &str) -> Quota {
    Quota::parse(Algorithm::TokenBucket, rate).unwrap()
}

/// A limiter on a clock that stands still, and that clock.
fn limiter(quota: Quota) -> (Limiter, ManualClock) {
    let clock = ManualClock::default();
    let store = MemoryStore::builder().clock(Clock::manual(&clock)).build();
    (
        Limiter::builder("case").quota(quota).build(&store).unwrap(),
        clock,
    )
}

/// IPv6 clients rotate inside their /64.
#[test]
fn c22_addresses_of_one_network_share_a_bucket() {
    let (limiter, _clock) = limiter(bucket("1/h burst 1"));
    for (address, allowed) in [
        ("2001:db8:0:1::1", true),
        ("2001:DB8:0:1:ffff:0:0:2", false),
        ("2001:0db8:0000:0001:0000:0000:0000:0003", false),
        ("2001:db8:0:2::1", true),
        ("192.0.2.1", true),
        ("192.0.2.2", true),
        ("::ffff:192.0.2.2", false),
    ] {
        let address: IpAddr = address.parse().unwrap();
        assert_eq!(limiter.check(address).is_allowed(), allowed, "{address}");
    }
}

/// Joined key parts collide elsewhere.
#[test]
fn c27_keys_that_look_alike_have_buckets_of_their_own() {
    let (limiter, _clock) = limiter(bucket("1/h burst 1"));
    let address: IpAddr = "127.0.0.1".parse().unwrap();
    assert!(limiter.check(("a:b", "c")).is_allowed());
    assert!(limiter.check(("a", "b:c")).is_allowed());
    assert!(limiter.check(("aa", "b")).is_allowed());
    assert!(limiter.check(("a", "ab")).is_allowed());
    assert!(limiter.check("127.0.0.1").is_allowed());
    assert!(limiter.check(address).is_allowed());
    assert!(
        limiter
            .check(&[Part::Text("a"), Part::Text("b_c")][..])
            .is_allowed()
    );
    assert!(
        limiter
            .check(&[Part::Text("a_b"), Part::Text("c")][..])
            .is_allowed()
    );
}

/// Long keys and shared prefixes.
#[test]
fn c30_long_keys_are_told_apart_by_their_last_byte_and_cost_no_more() {
    let store = MemoryStore::builder().max_keys(2_000).build();
    let limiter = Limiter::builder("long")
        .quota(bucket("1/h burst 1"))
        .build(&store)
        .unwrap();
    let (a, b) = ("x".repeat(299) + "a", "x".repeat(299) + "b");
    for key in [
        &*a,
        &*b,
        "tess_live_AAAA",
        "tess_live_BBBB",
        "\u{e9}",
        "e\u{301}",
    ] {
        assert!(limiter.check(key).is_allowed());
        assert!(limiter.check(key).is_denied());
    }
    let mut megabyte = "x".repeat(1 << 20);
    for tail in 0..1_000 {
        megabyte.truncate(1 << 20);
        megabyte.push_str(&tail.to_string());
        assert!(limiter.check(&megabyte).is_allowed());
    }
    assert_eq!(store.stats().keys, 1_006);
}

/// Giving back goes through a refund only, which stops at the limit.
#[test]
fn c32_a_refund_stops_at_the_limit() {
    let (limiter, _clock) = limiter(bucket("1/s burst 10"));
    let _ = limiter.check_cost("k", Cost::new(6).unwrap());
    assert!(Cost::try_from(-5.0).is_err());
    let denied = limiter.check_cost("k", Cost::new(5).unwrap());
    assert_eq!(denied.retry_after(), Some(Duration::from_secs(1)));
    assert_eq!(limiter.refund("k", Cost::new(100).unwrap()).remaining(), 10);
}

/// Exact admission under a race: 64 threads meet at a new key.
#[test]
fn c39_threads_that_meet_at_a_new_key_pass_exactly_as_often_as_they_may() {
    let hour = Duration::from_secs(3_600);
    for (quota, runs) in [
        (bucket("1/day burst 1"), 60),
        (bucket("1/day burst 10"), 60),
        (Quota::fixed_window(10, Window::Year).unwrap(), 20),
        (Quota::sliding_window(10, hour * 24).unwrap(), 20),
        (Quota::rolling_window(10, hour).unwrap(), 20),
    ] {
        // The system's own clock, as it is in production.
        let limiter = Limiter::new(quota);
        for run in 0..runs {
            let barrier = Barrier::new(64);
            let passed: usize = std::thread::scope(|scope| {
                let check = || {
                    barrier.wait();
                    let passes = (0..4).filter(|_| limiter.check(("run", run)).is_allowed());
                    passes.count()
                };
                let threads: Vec<_> = (0..64).map(|_| scope.spawn(check)).collect();
                threads
                    .into_iter()
                    .map(|thread| thread.join().unwrap())
                    .sum()
            });
            assert_eq!(passed as u64, quota.limit(), "{quota}, run {run}");
        }
    }
}

/// Several limits: all or nothing, in either order.
#[test]
fn c42_a_request_that_one_limit_refuses_spends_nothing_on_the_other() {
    // One user has a limit of its own, and all users have one together.
    for user_first in [true, false] {
        let clock = ManualClock::default();
        let store = MemoryStore::builder().clock(Clock::manual(&clock)).build();
        let (own, all) = (bucket("1/min burst 1"), bucket("10/min burst 10"));
        let bind = |name: &str, quota| Limiter::builder(name).quota(quota).build(&store).unwrap();
        let (own, all) = (bind("own", own), bind("all", all));
        let check = |user: &str| {
            use tollgate::{Ask, Charge, Decision, LocalStore};
            let (user, everyone) = (user.into(), "everyone".into());
            let ask = Ask::check(Cost::ONE);
            let mut charges = [
                Charge {
                    limit: &own.limits()[0],
                    key: &user,
                    ask,
                },
                Charge {
                    limit: &all.limits()[0],
                    key: &everyone,
                    ask,
                },
            ];
            if !user_first {
                charges.reverse();
            }
            let mut decisions = [Decision::disabled(); 2];
            store.apply_now(&charges, &mut decisions);
            decisions[0].governing(decisions[1])
        };
        let allowed = (0..20).filter(|_| check("greedy").is_allowed()).count();
        assert_eq!(allowed, 1);
        assert_eq!(all.peek("everyone").remaining(), 9);
        assert!(check("modest").is_allowed());
        assert_eq!(all.peek("everyone").remaining(), 8);
    }
}

/// Swept by somebody else's clock: a limit that forgets soon does not make another forget.
#[test]
fn c48_limits_on_one_store_forget_at_their_own_pace() {
    let clock = ManualClock::default();
    let store = MemoryStore::builder().clock(Clock::manual(&clock)).build();
    let bind = |name: &str, quota| {
        Limiter::builder(name)
            .quota(bucket(quota))
            .build(&store)
            .unwrap()
    };
    let (daily, minutely) = (
        bind("daily", "1/day burst 1"),
        bind("minutely", "1/min burst 1"),
    );
    assert!(daily.check("k").is_allowed() && minutely.check("k").is_allowed());
    clock.advance(Duration::from_secs(61));
    assert!(minutely.check("k").is_allowed());
    clock.advance(Duration::from_secs(1));
    store.reclaim();
    assert!(daily.check("k").is_denied());

    // Ten an hour, asked every 20 seconds for an hour.
    let hourly = bind("hourly", "10/h burst 10");
    let mut at = Vec::new();
    for second in (0..3_600).step_by(20) {
        if hourly.check("k").is_allowed() {
            at.push(second);
        }
        store.reclaim();
        clock.advance(Duration::from_secs(20));
    }
    let expected = (0..=180).step_by(20).chain((360..=3_240).step_by(360));
    assert_eq!(at, expected.collect::<Vec<_>>());
}

/// A denial does not prolong itself.
#[test]
fn c41_asking_again_and_again_does_not_prolong_a_denial() {
    let (limiter, clock) = limiter(Quota::rolling_window(10, MINUTE * 10).unwrap());
    let mut allowed = Vec::new();
    for second in (0..=1_200).step_by(30) {
        if limiter.check("k").is_allowed() {
            allowed.push(second);
        }
        clock.advance(Duration::from_secs(30));
    }
    let expected = (0..300)
        .step_by(30)
        .chain((600..900).step_by(30))
        .chain([1_200]);
    assert_eq!(allowed, expected.collect::<Vec<_>>());
}

/// A clock that goes back an hour, in the middle of a burst.
#[test]
fn a_clock_that_goes_back_far_neither_grants_nor_locks() {
    let (limiter, clock) = limiter(Quota::token_bucket(Rate::per_second(1).unwrap(), 5).unwrap());
    for _ in 0..5 {
        assert!(limiter.check("k").is_allowed());
    }
    clock.rewind(Duration::from_secs(3_600));
    assert_eq!(
        limiter.check("k").retry_after(),
        Some(Duration::from_secs(1))
    );
    clock.advance(Duration::from_secs(1));
    assert!(limiter.check("k").is_allowed());
    assert!(limiter.check("k").is_denied());
}
