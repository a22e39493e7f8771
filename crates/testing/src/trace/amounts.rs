//! Costs: one, fractions, thousandths, whole limits and a little more, and far too much.

use proptest::prelude::*;
use tollgate_core::Cost;

/// Costs that mean something to a limit of `limit` thousandths.
pub fn cost(limit: u64) -> impl Strategy<Value = Cost> {
    prop_oneof![
        8 => Just(1_000),
        2 => 1..=1_000_u64,
        1 => Just(1),
        2 => (1..=12_u64).prop_map(move |parts| limit / parts),
        1 => Just(limit.saturating_sub(1)),
        1 => Just(limit.saturating_add(1)),
        4 => (1..=1_000_u64).prop_map(move |part| scale(limit, part)),
        1 => (0..64_u32, any::<u64>()).prop_map(|(bits, cost)| cost >> bits),
    ]
    .prop_map(thousandths)
}

/// Debts of up to eight limits of `limit` thousandths.
pub(super) fn debt(limit: u64) -> impl Strategy<Value = Cost> {
    (1..=8_000_u64).prop_map(move |part| thousandths(scale(limit, part)))
}

/// Costs of 1 to 12 tokens.
pub fn small_cost() -> impl Strategy<Value = Cost> {
    (1..=12_u64).prop_map(|tokens| thousandths(tokens * 1_000))
}

/// `limit` times `part` thousandths.
fn scale(limit: u64, part: u64) -> u64 {
    let scaled = u128::from(limit) * u128::from(part) / 1_000;
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

fn thousandths(count: u64) -> Cost {
    Cost::from_thousandths(count.max(1)).expect("more than zero")
}
