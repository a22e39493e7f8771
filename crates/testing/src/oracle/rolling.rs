//! The rolling window: the list of everything that was ever admitted, and when.

use std::time::Duration;

use num_bigint::BigInt;
use num_rational::BigRational;

use super::{Model, Nanos, big, take_newest};

#[derive(Debug)]
pub(super) struct Rolling {
    limit: u64,
    length: Nanos,
    /// When something was admitted for, in order.
    entries: Vec<(Nanos, u64)>,
}

impl Rolling {
    pub(super) fn new(limit: u64, length: Duration) -> Self {
        Self {
            limit,
            length: length.as_nanos(),
            entries: Vec::new(),
        }
    }

    fn last(&self) -> Nanos {
        self.entries.last().map_or(0, |(at, _)| *at)
    }

    /// What was admitted less than a window before `at`, or will be later.
    fn counting(&self, at: Nanos) -> u128 {
        let counting = self
            .entries
            .iter()
            .filter(|(then, _)| then + self.length > at);
        counting.map(|(_, amount)| u128::from(*amount)).sum()
    }
}

impl Model for Rolling {
    /// Before the last booking there is no room, because a new request comes after it.
    fn room(&self, at: Nanos) -> BigRational {
        let counting = self
            .entries
            .iter()
            .filter(|(then, _)| then + self.length > at);
        let used: BigInt = counting.map(|(_, amount)| big(*amount)).sum();
        let room = BigRational::from(big(self.limit) - used);
        if self.last() > at {
            room.min(BigRational::from(BigInt::ZERO))
        } else {
            room
        }
    }

    /// When an entry leaves with which there is room, or when the last booking has come.
    fn guess(&self, now: Nanos, cost: u64) -> Nanos {
        let mut left = self.counting(now);
        let mut leaves = now;
        for (then, amount) in self
            .entries
            .iter()
            .filter(|(then, _)| then + self.length > now)
        {
            if left + u128::from(cost) <= u128::from(self.limit) {
                break;
            }
            left -= u128::from(*amount);
            leaves = then + self.length;
        }
        leaves.max(self.last()) - now
    }

    fn book(&mut self, _now: Nanos, slot: Nanos, cost: u64) {
        assert!(slot >= self.last(), "nobody overtakes");
        self.entries.push((slot, cost));
    }

    fn charge(&mut self, now: Nanos, cost: u64) {
        if cost > 0 {
            self.entries.push((now.max(self.last()), cost));
        }
    }

    fn refund(&mut self, now: Nanos, cost: u64) {
        let length = self.length;
        take_newest(&mut self.entries, cost, |then| then + length > now);
    }
}
