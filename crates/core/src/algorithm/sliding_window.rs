//! The sliding window: two counters that estimate the trailing window.

use super::{LARGE, State, Step, Use, apply, decision};
use crate::ask::{Ask, Verb};
use crate::math::{saturate, widening};
use crate::time::Timestamp;
use crate::window::WindowLength;

/// The count of the current window, plus the share of the last one that the trailing window still
/// covers, as if its requests had been spread evenly.
///
/// At most the limit passes in each aligned window. In a trailing window it is an estimate: less
/// than twice the limit passes, the worst case being a whole limit at the very end of one window
/// and another as its weight fades. A caller books at most to the end of the current window.
#[derive(Clone, Copy, Debug)]
pub struct SlidingWindow {
    limit: u64,
    debt: u64,
    length: u64,
}

impl SlidingWindow {
    pub(crate) fn new(length: WindowLength, limit: u64, debt: u64) -> Self {
        Self {
            limit,
            debt: debt.min(LARGE / 4),
            length: length.as_nanos(),
        }
    }

    pub(crate) const fn ceiling(&self) -> u64 {
        LARGE
    }

    /// Decides `ask` for a key in `state` at `now`.
    #[inline]
    pub fn decide(&self, state: State, now: Timestamp, ask: Ask) -> Step {
        let State {
            at: ends,
            used: current,
            before,
        } = self.roll(state, now.as_nanos());
        // A reading from before the current window counts as its start.
        let left = ends.saturating_sub(now.as_nanos()).min(self.length);
        let weighted = self.share(before, left);
        let used = current.saturating_add(weighted);
        let cost = ask.cost.as_thousandths();
        let wait = self.wait(current, before, left, used, cost);
        let ask = Ask {
            patience: ask.patience.min(left.saturating_sub(1)),
            ..ask
        };
        let in_use = Use {
            used,
            wait,
            from: used,
            ceiling: LARGE,
        };
        let mut verdict = apply(ask, self.limit, self.debt, &in_use);
        let next = if ask.verb == Verb::Refund {
            let rest = cost.saturating_sub(current);
            State {
                at: ends,
                used: current.saturating_sub(cost),
                before: before.saturating_sub(rest),
            }
        } else {
            State {
                at: ends,
                used: verdict.used.saturating_sub(weighted),
                before,
            }
        };
        verdict.used = next.used.saturating_add(self.share(next.before, left));
        if verdict.fell_short() {
            verdict.wait = self.wait(next.used, before, left, verdict.used, cost);
        }
        let reset = match (next.used, next.before) {
            (0, 0) => 0,
            (0, _) => left,
            _ => left.saturating_add(self.length),
        };
        Step {
            decision: decision(&verdict, self.limit, reset),
            next: ((next.used, next.before) != (current, before)).then_some(next),
        }
    }

    /// When both counters are out of every trailing window.
    #[inline]
    pub(crate) fn fresh_at(&self, state: State) -> Timestamp {
        Timestamp::from_nanos(match (state.used, state.before) {
            (0, 0) => 0,
            (0, _) => state.at,
            _ => state.at.saturating_add(self.length),
        })
    }

    /// The state as it is in the window that contains `now`.
    #[inline(always)]
    fn roll(&self, state: State, now: u64) -> State {
        if now < state.at || state.at == u64::MAX {
            return state;
        }
        let start = now.saturating_sub(now.checked_rem(self.length).unwrap_or(0));
        let before = if start == state.at { state.used } else { 0 };
        State {
            at: start.saturating_add(self.length),
            used: 0,
            before,
        }
    }

    /// What `before` counts for with `left` of the current window to go, rounded up.
    #[inline(always)]
    fn share(&self, before: u64, left: u64) -> u64 {
        if before == 0 {
            return 0;
        }
        saturate(widening(before, left).div_ceil(u128::from(self.length.max(1))))
    }

    /// How long until `cost` fits, zero if it does.
    #[inline(always)]
    fn wait(&self, current: u64, before: u64, left: u64, used: u64, cost: u64) -> u64 {
        if used.saturating_add(cost) <= self.limit {
            return 0;
        }
        // What the share of a count may be: it is when at most `room x length / count` is left.
        let left_for = |room: u64, count: u64| {
            saturate(
                widening(room, self.length)
                    .checked_div(u128::from(count))
                    .unwrap_or(0),
            )
        };
        match self.limit.checked_sub(current.saturating_add(cost)) {
            Some(room) => left.saturating_sub(left_for(room, before)),
            None => {
                // Only in the next window, where the current count is the one that fades.
                let fade = left_for(self.limit.saturating_sub(cost), current).min(self.length);
                left.saturating_add(self.length.saturating_sub(fade))
            }
        }
    }
}
