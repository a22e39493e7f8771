//! The token bucket: a level, a rational number, that rises all the time.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::ToPrimitive;
use tollgate_core::Quota;

use super::{Model, Nanos, big};

#[derive(Debug)]
pub(super) struct Bucket {
    burst: BigRational,
    /// Thousandths per nanosecond.
    rate: BigRational,
    level: BigRational,
    at: Nanos,
}

impl Bucket {
    pub(super) fn new(quota: Quota) -> Self {
        let rate = quota.rate().expect("a token bucket has a rate");
        let burst = BigRational::from(big(quota.limit_thousandths()));
        Self {
            level: burst.clone(),
            burst,
            rate: BigRational::new(big(rate.tokens()) * 1_000, big(rate.period().as_nanos())),
            at: 0,
        }
    }

    fn add(&mut self, now: Nanos, amount: BigInt) {
        self.level = (self.room(now) + amount).min(self.burst.clone());
        self.at = now;
    }
}

impl Model for Bucket {
    fn room(&self, at: Nanos) -> BigRational {
        let elapsed = big(at.checked_sub(self.at).expect("time does not go back"));
        (&self.level + &self.rate * elapsed).min(self.burst.clone())
    }

    fn guess(&self, now: Nanos, cost: u64) -> Nanos {
        let missing = BigRational::from(big(cost)) - self.room(now);
        (missing / &self.rate)
            .ceil()
            .to_integer()
            .to_u128()
            .expect("not below zero")
    }

    /// A booking leaves the level below zero: it is back at zero when the slot has come.
    fn book(&mut self, now: Nanos, _slot: Nanos, cost: u64) {
        self.charge(now, cost);
    }

    fn charge(&mut self, now: Nanos, cost: u64) {
        self.add(now, -big(cost));
    }

    fn refund(&mut self, now: Nanos, cost: u64) {
        self.add(now, big(cost));
    }
}
