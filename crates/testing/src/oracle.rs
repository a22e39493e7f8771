//! A slow and obviously right answer to every question that a limit can be asked.
//!
//! The models share no formula with `tollgate-core`. Each keeps rationals or the full list of what
//! was ever charged, and says one thing only: how much room there is at an instant if nothing else
//! happens. Everything that is answered follows from that by definition. The wait, for one, is the
//! least time after which there is room. A model may guess it, because a search is slow, but what
//! is answered has been checked: there is room then, and none a nanosecond before.

mod bucket;
mod calendar;
mod fixed;
mod rolling;
mod sliding;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{ToPrimitive, Zero};
use tollgate_core::{Algorithm, Ask, Cost, Decision, Outcome, Quota, Timestamp, Verb};

use self::bucket::Bucket;
use self::fixed::Fixed;
use self::rolling::Rolling;
use self::sliding::Sliding;

/// Nanoseconds since the epoch, in a range that no computation leaves.
type Nanos = u128;

/// A key of one limit, answered from the definition of its algorithm.
#[derive(Debug)]
pub struct Oracle {
    limit: u64,
    debt: u64,
    model: Box<dyn Model>,
}

/// What the oracle answers; times in nanoseconds, however long.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Answer {
    /// Whether the request passes.
    pub outcome: Outcome,
    /// How many more requests of cost one pass at the same instant.
    pub remaining: u64,
    /// The time until the slot of an allowed request, or until a denied one passes.
    pub wait: u128,
    /// The time until the quota is whole.
    pub reset: u128,
}

/// What an algorithm is, reduced to what cannot be left out. Amounts in thousandths of a token.
trait Model: std::fmt::Debug {
    /// What a request could take at `at` if nothing else happened before; less than zero when more
    /// than everything is spoken for. Never shrinks while nothing happens.
    fn room(&self, at: Nanos) -> BigRational;

    /// The wait until there is room for `cost`, more or less.
    fn guess(&self, now: Nanos, cost: u64) -> Nanos;

    /// The last instant that a booking made at `now` may be for.
    fn horizon(&self, now: Nanos) -> Nanos {
        let _ = now;
        Nanos::MAX
    }

    /// Takes `cost` at `slot`, for a request made at `now`.
    fn book(&mut self, now: Nanos, slot: Nanos, cost: u64);

    /// Takes `cost` at `now`, whether or not there is room.
    fn charge(&mut self, now: Nanos, cost: u64);

    /// Gives `cost` back at `now`, as far as that much was taken.
    fn refund(&mut self, now: Nanos, cost: u64);
}

impl Oracle {
    /// A key that nothing has been spent on; a charge may take `debt` more than is there.
    #[must_use]
    pub fn new(quota: Quota, debt: Option<Cost>) -> Self {
        let limit = quota.limit_thousandths();
        let window = quota.window();
        let model: Box<dyn Model> = match quota.algorithm() {
            Algorithm::TokenBucket => Box::new(Bucket::new(quota)),
            Algorithm::FixedWindow => Box::new(Fixed::new(limit, window.expect("has a window"))),
            Algorithm::RollingWindow => Box::new(Rolling::new(limit, quota.span())),
            Algorithm::SlidingWindow => Box::new(Sliding::new(limit, quota.span())),
            other => panic!("no model of {other}"),
        };
        Self {
            limit,
            debt: debt.map_or(0, Cost::as_thousandths),
            model,
        }
    }

    /// Answers `ask` at `now`. Time must not go back.
    pub fn ask(&mut self, now: Timestamp, ask: Ask) -> Answer {
        let now = Nanos::from(now.as_nanos());
        let cost = ask.cost().as_thousandths();
        let (outcome, wait) = match ask.verb() {
            Verb::Check | Verb::Peek => {
                let (outcome, wait) = self.decide(now, cost, ask.patience().as_nanos());
                if (ask.verb(), outcome) == (Verb::Check, Outcome::Allow) {
                    self.model.book(now, now + wait, cost);
                }
                (outcome, wait)
            }
            Verb::Refund => {
                self.model.refund(now, cost);
                (Outcome::Allow, 0)
            }
            Verb::Charge => self.charge(now, cost),
            other => panic!("no answer to {other:?}"),
        };
        Answer {
            outcome,
            remaining: (floor(&self.model.room(now)) / 1_000_u32)
                .max(BigInt::zero())
                .to_u64()
                .expect("at most the limit"),
            wait,
            reset: self.until_room(now, self.limit),
        }
    }

    /// What is in use at `now` in thousandths, rounded up.
    #[must_use]
    pub fn used(&self, now: Timestamp) -> u128 {
        let used = big(self.limit) - floor(&self.model.room(now.as_nanos().into()));
        used.to_u128().expect("never less than nothing")
    }

    fn decide(&self, now: Nanos, cost: u64, patience: u128) -> (Outcome, u128) {
        if cost > self.limit {
            return (Outcome::Never, 0);
        }
        let wait = self.until_room(now, cost);
        let in_time = wait == 0 || (wait <= patience && now + wait <= self.model.horizon(now));
        (
            if in_time {
                Outcome::Allow
            } else {
                Outcome::Deny
            },
            wait,
        )
    }

    /// Takes what is there, in whole thousandths, down to the debt bound. If that is not enough,
    /// says when the same cost would pass a check.
    fn charge(&mut self, now: Nanos, cost: u64) -> (Outcome, u128) {
        let room = floor(&self.model.room(now)) + self.debt;
        let there = room.max(BigInt::zero()).to_u64().unwrap_or(u64::MAX);
        self.model.charge(now, cost.min(there));
        if cost <= there {
            (Outcome::Allow, 0)
        } else {
            let (outcome, wait) = self.decide(now, cost, 0);
            assert_ne!(outcome, Outcome::Allow, "all of it was taken");
            (outcome, wait)
        }
    }

    /// The least time after which there is room for `cost`.
    fn until_room(&self, now: Nanos, cost: u64) -> u128 {
        let fits = |wait: u128| self.model.room(now + wait) >= BigRational::from(big(cost));
        if fits(0) {
            return 0;
        }
        // Invariant of the search: no room after `short`, room after `enough`.
        let guess = self.model.guess(now, cost).max(1);
        let (mut short, mut enough) = (guess - 1, guess);
        if fits(short) {
            (short, enough) = (0, short);
        }
        while !fits(enough) {
            (short, enough) = (enough, enough * 2);
        }
        while enough - short > 1 {
            let middle = short + (enough - short) / 2;
            if fits(middle) {
                enough = middle;
            } else {
                short = middle;
            }
        }
        enough
    }
}

impl Answer {
    /// What `decision` says.
    #[must_use]
    pub fn of(decision: &Decision) -> Self {
        let wait = decision
            .retry_after()
            .unwrap_or_else(|| decision.act_after());
        Self {
            outcome: decision.outcome(),
            remaining: decision.remaining(),
            wait: wait.as_nanos(),
            reset: decision.reset_after().as_nanos(),
        }
    }

    /// The same answer at `now`, where all that is past the end of time is the end of time.
    #[must_use]
    pub fn until_the_end(self, now: Timestamp) -> Self {
        let most = u128::from(u64::MAX - now.as_nanos());
        Self {
            wait: self.wait.min(most),
            reset: self.reset.min(most),
            ..self
        }
    }

    /// Whether `decision`, made at `now`, says the same.
    ///
    /// # Errors
    ///
    /// Both answers, if they differ.
    pub fn agrees(&self, decision: &Decision, now: Timestamp) -> Result<(), String> {
        let oracle = self.clone().until_the_end(now);
        let subject = Self::of(decision).until_the_end(now);
        if oracle == subject {
            Ok(())
        } else {
            Err(format!("{subject:?}, but the oracle says {oracle:?}"))
        }
    }
}

fn big(number: impl Into<BigInt>) -> BigInt {
    number.into()
}

/// The largest integer that is not above `number`.
fn floor(number: &BigRational) -> BigInt {
    number.floor().to_integer()
}

/// Takes `cost` back from the newest of `entries`, and drops those that nothing is left of.
fn take_newest<T>(entries: &mut Vec<(T, u64)>, mut cost: u64, counts: impl Fn(&T) -> bool) {
    for (_, amount) in entries.iter_mut().rev().filter(|(at, _)| counts(at)) {
        let taken = cost.min(*amount);
        *amount -= taken;
        cost -= taken;
    }
    entries.retain(|(_, amount)| *amount > 0);
}

#[cfg(test)]
mod tests;
