//! The sliding window: the list of everything that was ever charged to a window, weighed by the
//! part of the window that the trailing one still covers.

use std::time::Duration;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::ToPrimitive;

use super::{Model, Nanos, big, take_newest};

#[derive(Debug)]
pub(super) struct Sliding {
    limit: u64,
    length: Nanos,
    /// The number of a window and what was charged to it, in order.
    entries: Vec<(Nanos, u64)>,
}

impl Sliding {
    pub(super) fn new(limit: u64, length: Duration) -> Self {
        Self {
            limit,
            length: length.as_nanos(),
            entries: Vec::new(),
        }
    }

    fn charged_to(&self, window: u128) -> BigInt {
        let charged = self.entries.iter().filter(|(w, _)| *w == window);
        charged.map(|(_, amount)| big(*amount)).sum()
    }
}

impl Model for Sliding {
    fn room(&self, at: Nanos) -> BigRational {
        let current = at / self.length;
        let used = BigRational::from(self.charged_to(current));
        let weighted = match current.checked_sub(1) {
            None => BigRational::from(BigInt::ZERO),
            Some(previous) => {
                let covered = self.length - at % self.length;
                BigRational::new(self.charged_to(previous) * big(covered), big(self.length))
            }
        };
        BigRational::from(big(self.limit)) - used - weighted
    }

    /// Solves for the share of the last window, or of this one seen from the next.
    fn guess(&self, now: Nanos, cost: u64) -> Nanos {
        let current = now / self.length;
        let left = self.length - now % self.length;
        let room = big(self.limit) - big(cost) - self.charged_to(current);
        let (room, fading, windows) = if room >= BigInt::ZERO {
            let previous = current.checked_sub(1);
            (
                room,
                previous.map_or(BigInt::ZERO, |window| self.charged_to(window)),
                0,
            )
        } else {
            (
                big(self.limit) - big(cost),
                self.charged_to(current),
                self.length,
            )
        };
        if fading == BigInt::ZERO {
            return left;
        }
        let uncovered = room * big(self.length) / fading;
        let wait = big(left + windows) - uncovered.min(big(self.length));
        wait.max(BigInt::ZERO).to_u128().expect("not below zero")
    }

    /// A booking counts in the window in which it is made, so it has to be for that window.
    fn horizon(&self, now: Nanos) -> Nanos {
        (now / self.length + 1) * self.length - 1
    }

    fn book(&mut self, now: Nanos, slot: Nanos, cost: u64) {
        assert_eq!(now / self.length, slot / self.length, "in the same window");
        self.charge(now, cost);
    }

    fn charge(&mut self, now: Nanos, cost: u64) {
        if cost > 0 {
            self.entries.push((now / self.length, cost));
        }
    }

    fn refund(&mut self, now: Nanos, cost: u64) {
        let current = now / self.length;
        take_newest(&mut self.entries, cost, |window| window + 1 >= current);
    }
}
