//! Quotas: one a year to a billion a second, bursts of 1 to 2^32 and fractions, odd rates, windows
//! of a nanosecond to a year and those of the calendar.

use std::time::Duration;

use proptest::prelude::*;
use tollgate_core::{Algorithm, Cost, Quota, Rate, Window};

/// Quotas of `algorithm`, of every size.
pub fn quota(algorithm: Algorithm) -> BoxedStrategy<Quota> {
    match algorithm {
        Algorithm::TokenBucket => (rate(), limit())
            .prop_map(|(rate, limit)| sized(Quota::token_bucket(rate, 1), limit))
            .boxed(),
        Algorithm::FixedWindow => (window(), limit())
            .prop_map(|(window, limit)| sized(Quota::fixed_window(1, window), limit))
            .boxed(),
        Algorithm::RollingWindow => (length(), limit())
            .prop_map(|(length, limit)| sized(Quota::rolling_window(1, length), limit))
            .boxed(),
        Algorithm::SlidingWindow => (length(), limit())
            .prop_map(|(length, limit)| sized(Quota::sliding_window(1, length), limit))
            .boxed(),
        other => panic!("no quotas of {other}"),
    }
}

/// Quotas of `algorithm` with a limit of 1 to 20 whole tokens.
pub fn small_quota(algorithm: Algorithm) -> impl Strategy<Value = Quota> {
    (quota(algorithm), 1..=20_u64)
        .prop_map(|(quota, tokens)| sized(Ok(quota), Cost::new(tokens).expect("not zero")))
}

fn sized(quota: Result<Quota, tollgate_core::QuotaError>, limit: Cost) -> Quota {
    quota
        .and_then(|quota| quota.with_limit(limit))
        .expect("in range")
}

/// One a year to a billion a second, thirds and thirteenths, and the ends of the range.
fn rate() -> impl Strategy<Value = Rate> {
    const SECOND: u64 = 1_000_000_000;
    const DAY: u64 = 86_400 * SECOND;
    let odd = prop::sample::select(vec![
        (1, 365 * DAY),
        (SECOND, SECOND),
        (1, 3 * SECOND),
        (10, 13 * SECOND),
        (999_983, DAY),
        (300_000, SECOND),
        (1 << 36, 1),
        (1, u64::MAX),
        (1 << 36, (1 << 36) + 1),
        ((1 << 36) - 1, u64::MAX),
    ]);
    let period = prop::sample::select(vec![1, 1_000_000, SECOND, 60 * SECOND, 3_600 * SECOND, DAY]);
    let any_size = (0..36_u32, 1..1_u64 << 36, 0..64_u32, 1..=u64::MAX);
    prop_oneof![
        3 => odd,
        3 => (1..1_000_000_u64, period),
        2 => any_size.prop_map(|(n, tokens, d, nanos)| ((tokens >> n).max(1), (nanos >> d).max(1))),
    ]
    .prop_map(|(tokens, nanos)| Rate::per(tokens, Duration::from_nanos(nanos)).expect("in range"))
}

/// 1, small numbers, 2^32 and everything between, and fractions.
fn limit() -> impl Strategy<Value = Cost> {
    prop_oneof![
        2 => Just(1_000),
        4 => (1..=20_u64).prop_map(|tokens| tokens * 1_000),
        2 => (0..32_u32, 1..=1_u64 << 32).prop_map(|(bits, tokens)| (tokens >> bits).max(1) * 1_000),
        1 => Just((1_u64 << 32) * 1_000),
        1 => 1..=5_000_u64,
    ]
    .prop_map(|thousandths| Cost::from_thousandths(thousandths).expect("more than zero"))
}

fn window() -> impl Strategy<Value = Window> {
    prop_oneof![
        4 => length().prop_map(|length| Window::of(length).expect("in range")),
        1 => Just(Window::Month),
        1 => Just(Window::Year),
    ]
}

fn length() -> impl Strategy<Value = Duration> {
    let usual = prop::sample::select(vec![
        Duration::from_nanos(1),
        Duration::from_millis(1),
        Duration::from_secs(1),
        Duration::from_secs(13),
        Duration::from_secs(60),
        Duration::from_secs(3_600),
        Duration::from_secs(86_400),
        Duration::from_secs(365 * 86_400),
    ]);
    let odd = (0..56_u32, 1..1_u64 << 56).prop_map(|(bits, nanos)| (nanos >> bits).max(1));
    prop_oneof![3 => usual, 1 => odd.prop_map(Duration::from_nanos)]
}
