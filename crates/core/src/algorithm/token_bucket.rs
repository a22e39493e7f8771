//! The token bucket: starts full, refills continuously, exact.

use super::{LARGE, SMALL, State, Step, Use, Verdict, apply, decision};
use crate::ask::{Ask, Verb};
use crate::decision::Outcome;
use crate::math::Ratio;
use crate::rate::Rate;
use crate::time::Timestamp;

/// A bucket of tokens that refills at a steady rate.
///
/// The state is what has been *spent* since an instant at which the bucket was full. What has
/// flowed back since then is `floor(rate x elapsed)`, always measured from that one instant, so
/// that no rounding ever adds up, however odd the rate. Once all of it has flowed back the bucket
/// is full, and the next charge starts from a new instant.
///
/// Readings of the clock before that instant count as that instant: a thread that read the clock
/// before another one charged the key still sees the whole burst.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    burst: u64,
    debt: u64,
    ceiling: u64,
    /// Thousandths per nanosecond.
    rate: Ratio,
    /// Nanoseconds per thousandth.
    time: Ratio,
    /// Time in which even the ceiling has flowed back.
    whole: u64,
    /// A time in which a whole number of thousandths flows back, and that number: the state is
    /// moved forward by it, so that what is spent stays small in a bucket that never is full.
    renewal: u64,
    renewal_flow: u64,
    /// Whether all products of the rate stay within 63 bits.
    quick: bool,
}

impl TokenBucket {
    pub(crate) fn new(rate: Rate, burst: u64, debt: u64) -> Self {
        let debt = debt.min(LARGE / 4);
        let rate = rate.thousandths();
        let (flow, period) = (rate.numerator(), rate.denominator());
        let time = Ratio::new(period, flow);
        // About four seconds, so that renewals are rare, but no more than 2^26 thousandths, so that
        // they leave room in a small state.
        let periods = ((1_u64 << 32).checked_div(period).unwrap_or(1))
            .min((1_u64 << 26).checked_div(flow).unwrap_or(1))
            .max(1);
        let renewal_flow = flow.saturating_mul(periods);
        let least = burst
            .saturating_add(debt)
            .saturating_add(renewal_flow)
            .min(LARGE);
        // Bookings may go on for as long as the products stay quick. Half, because what a denied
        // request is missing may be as much again.
        let most = if least <= SMALL / 2 { SMALL } else { LARGE };
        let ceiling = (time.quick_values() / 2).clamp(least, most);
        let whole = time.ceil_of(ceiling);
        Self {
            burst,
            debt,
            ceiling,
            rate,
            time,
            whole,
            renewal: period.saturating_mul(periods),
            renewal_flow,
            quick: ceiling <= time.quick_values() / 2 && whole <= rate.quick_values(),
        }
    }

    pub(crate) const fn ceiling(&self) -> u64 {
        self.ceiling
    }

    /// Whether [`TokenBucket::decide_quickly`] may be used.
    #[inline(always)]
    #[must_use]
    pub const fn is_quick(&self) -> bool {
        self.quick
    }

    /// Decides `ask` for a key in `state` at `now`.
    pub fn decide(&self, state: State, now: Timestamp, ask: Ask) -> Step {
        self.decide_with::<false>(state, now, ask)
    }

    /// As [`TokenBucket::decide`], for a bucket that [is quick](TokenBucket::is_quick): inlined, so
    /// that a question that is known where it is asked costs only what its answer takes. Only for
    /// states that this bucket has made.
    #[inline(always)]
    pub fn decide_quickly(&self, state: State, now: Timestamp, ask: Ask) -> Step {
        self.decide_with::<true>(state, now, ask)
    }

    #[inline(always)]
    fn decide_with<const QUICK: bool>(&self, state: State, now: Timestamp, ask: Ask) -> Step {
        let Flow {
            at,
            elapsed,
            spent,
            refilled,
        } = self.settle::<QUICK>(state, now.as_nanos());
        let used = spent.saturating_sub(refilled);
        let cost = ask.cost.as_thousandths();
        let after = used.saturating_add(cost);
        if ask.verb == Verb::Check && after <= self.burst {
            // What all of the below comes to, for the question and the answer that are most usual.
            let spent = spent.saturating_add(cost);
            let reset = self.time_of::<QUICK>(spent).saturating_sub(elapsed);
            let verdict = Verdict {
                outcome: Outcome::Allow,
                used: after,
                wait: 0,
                changed: true,
            };
            let next = Some(State {
                at,
                used: spent,
                before: 0,
            });
            return Step {
                decision: decision(&verdict, self.burst, reset),
                next,
            };
        }
        let wait = if after <= self.burst {
            0
        } else if cost > self.burst {
            u64::MAX
        } else {
            let missing = spent.saturating_add(cost).saturating_sub(self.burst);
            self.time_of::<QUICK>(missing).saturating_sub(elapsed)
        };
        let ceiling = self.ceiling.saturating_sub(refilled);
        let mut verdict = apply(
            ask,
            self.burst,
            self.debt,
            &Use {
                used,
                wait,
                from: used,
                ceiling,
            },
        );
        let after = if verdict.used == 0 {
            0
        } else {
            verdict.used.saturating_add(refilled)
        };
        if verdict.fell_short() {
            let missing = after.saturating_add(cost).saturating_sub(self.burst);
            verdict.wait = self.time_of::<QUICK>(missing).saturating_sub(elapsed);
        }
        let reset = self.time_of::<QUICK>(after).saturating_sub(elapsed);
        let next = State {
            at,
            used: after,
            before: 0,
        };
        Step {
            decision: decision(&verdict, self.burst, reset),
            next: verdict.changed.then_some(next),
        }
    }

    /// When the bucket is full.
    #[inline]
    pub(crate) fn fresh_at(&self, state: State) -> Timestamp {
        let time = if self.quick && state.used <= self.ceiling {
            self.time.quick_ceil_of(state.used)
        } else {
            self.time.ceil_of(state.used)
        };
        Timestamp::from_nanos(state.at.saturating_add(time))
    }

    /// The time in which `thousandths`, at most twice the ceiling, flow back.
    #[inline(always)]
    fn time_of<const QUICK: bool>(&self, thousandths: u64) -> u64 {
        if QUICK {
            self.time.quick_ceil_of(thousandths)
        } else {
            self.time.ceil_of(thousandths)
        }
    }

    /// What is left of `state` at `now`.
    #[inline(always)]
    fn settle<const QUICK: bool>(&self, state: State, now: u64) -> Flow {
        let State {
            at, used: spent, ..
        } = state;
        let elapsed = now.saturating_sub(at);
        let full = Flow {
            at: now.max(at),
            elapsed: 0,
            spent: 0,
            refilled: 0,
        };
        // Past `whole` the product below would be needlessly large, and it would be for nothing.
        if spent == 0 || elapsed >= self.whole {
            return full;
        }
        let refilled = if QUICK {
            self.rate.quick_floor_of(elapsed)
        } else {
            self.rate.floor_of(elapsed)
        };
        if refilled >= spent {
            return full;
        }
        if elapsed < self.renewal {
            return Flow {
                at,
                elapsed,
                spent,
                refilled,
            };
        }
        self.renew(at, elapsed, spent, refilled)
    }

    #[cold]
    fn renew(&self, at: u64, elapsed: u64, spent: u64, refilled: u64) -> Flow {
        // Less than all has flowed back, so none of these goes below zero.
        let renewals = elapsed.checked_div(self.renewal).unwrap_or(0);
        let time = renewals.saturating_mul(self.renewal);
        let flow = renewals.saturating_mul(self.renewal_flow);
        Flow {
            at: at.saturating_add(time),
            elapsed: elapsed.saturating_sub(time),
            spent: spent.saturating_sub(flow),
            refilled: refilled.saturating_sub(flow),
        }
    }
}

/// A state of a bucket, seen from now.
struct Flow {
    /// Since when it counts.
    at: u64,
    /// The time since then.
    elapsed: u64,
    /// What was spent since then.
    spent: u64,
    /// What has flowed back since then; less than was spent, unless both are zero.
    refilled: u64,
}
