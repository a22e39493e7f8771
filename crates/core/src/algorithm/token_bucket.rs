//! The token bucket: starts full, refills continuously, exact.

use super::{LARGE, SMALL, State, Step, Use, apply, decision};
use crate::ask::Ask;
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
}

impl TokenBucket {
    pub(crate) fn new(rate: Rate, burst: u64, debt: u64) -> Self {
        let debt = debt.min(LARGE / 4);
        let rate = rate.thousandths();
        let (flow, period) = (rate.numerator(), rate.denominator());
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
        // Bookings may go on for as long as products of the rate stay within 63 bits.
        let quick = (1_u64 << 62).checked_div(period).unwrap_or(0);
        let most = if least <= SMALL / 2 { SMALL } else { LARGE };
        let ceiling = quick.clamp(least, most);
        let time = Ratio::new(period, flow);
        Self {
            burst,
            debt,
            ceiling,
            rate,
            time,
            whole: time.ceil_of(ceiling),
            renewal: period.saturating_mul(periods),
            renewal_flow,
        }
    }

    pub(crate) const fn ceiling(&self) -> u64 {
        self.ceiling
    }

    /// Decides `ask` for a key in `state` at `now`.
    #[inline]
    pub fn decide(&self, state: State, now: Timestamp, ask: Ask) -> Step {
        let (at, spent, refilled) = self.settle(state, now.as_nanos());
        let elapsed = now.as_nanos().saturating_sub(at);
        let used = spent.saturating_sub(refilled);
        let missing = spent
            .saturating_add(ask.cost.as_thousandths())
            .saturating_sub(self.burst);
        let wait = if missing <= refilled {
            0
        } else {
            self.time.ceil_of(missing).saturating_sub(elapsed)
        };
        let ceiling = self.ceiling.saturating_sub(refilled);
        let verdict = apply(
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
        if verdict.used == used {
            let reset = self.time.ceil_of(spent).saturating_sub(elapsed);
            return Step {
                decision: decision(&verdict, self.burst, reset),
                next: None,
            };
        }
        let spent = if verdict.used == 0 {
            0
        } else {
            verdict.used.saturating_add(refilled)
        };
        let reset = self.time.ceil_of(spent).saturating_sub(elapsed);
        Step {
            decision: decision(&verdict, self.burst, reset),
            next: Some(State {
                at,
                used: spent,
                before: 0,
            }),
        }
    }

    /// When the bucket is full.
    #[inline]
    pub(crate) fn fresh_at(&self, state: State) -> Timestamp {
        Timestamp::from_nanos(state.at.saturating_add(self.time.ceil_of(state.used)))
    }

    /// Since when `state` counts, what it has spent since then, and what has flowed back by `now`.
    #[inline(always)]
    fn settle(&self, state: State, now: u64) -> (u64, u64, u64) {
        let State {
            at, used: spent, ..
        } = state;
        let elapsed = now.saturating_sub(at);
        // Past `whole` the product below would be needlessly large, and it would be for nothing.
        if spent == 0 || elapsed >= self.whole {
            return (now.max(at), 0, 0);
        }
        let refilled = self.rate.floor_of(elapsed);
        if refilled >= spent {
            return (now.max(at), 0, 0);
        }
        if elapsed < self.renewal {
            return (at, spent, refilled);
        }
        // Less than all has flowed back, so none of these goes below zero.
        let renewals = elapsed.checked_div(self.renewal).unwrap_or(0);
        let flow = renewals.saturating_mul(self.renewal_flow);
        (
            at.saturating_add(renewals.saturating_mul(self.renewal)),
            spent.saturating_sub(flow),
            refilled.saturating_sub(flow),
        )
    }
}
