//! The fixed window: a count per aligned window.

use super::{LARGE, State, Step, Use, apply, ceiling, decision};
use crate::ask::Ask;
use crate::time::Timestamp;
use crate::window::Window;

/// A count per window, aligned to the epoch or to the calendar.
///
/// Exact in each window, so up to twice the limit passes across a boundary. What is spent past the
/// limit, by debt or by booking ahead, is carried into the windows that follow, one limit each.
#[derive(Clone, Copy, Debug)]
pub struct FixedWindow {
    limit: u64,
    debt: u64,
    ceiling: u64,
    window: Window,
}

impl FixedWindow {
    pub(crate) fn new(window: Window, limit: u64, debt: u64) -> Self {
        let debt = debt.min(LARGE / 4);
        Self {
            limit,
            debt,
            ceiling: ceiling(limit.saturating_add(debt)),
            window,
        }
    }

    pub(crate) const fn ceiling(&self) -> u64 {
        self.ceiling
    }

    /// Decides `ask` for a key in `state` at `now`.
    #[inline]
    pub fn decide(&self, state: State, now: Timestamp, ask: Ask) -> Step {
        let now = now.as_nanos();
        let (ends, used) = if now < state.at || state.at == u64::MAX {
            (state.at, state.used)
        } else {
            self.roll(state, now)
        };
        // How many windows on the cost fits: over by at most one limit, usually.
        let windows_until_room = |used: u64| {
            let cost = ask.cost.as_thousandths();
            self.windows(used.saturating_add(cost).saturating_sub(self.limit))
        };
        let wait = |windows: u64| match windows {
            0 => 0,
            _ => self.start(ends, windows).saturating_sub(now),
        };
        let windows = windows_until_room(used);
        let in_use = Use {
            used,
            wait: wait(windows),
            from: used.max(windows.saturating_mul(self.limit)),
            ceiling: self.ceiling,
        };
        let mut verdict = apply(ask, self.limit, self.debt, &in_use);
        if verdict.fell_short() {
            verdict.wait = wait(windows_until_room(verdict.used));
        }
        let reset = match verdict.used {
            0 => 0,
            used => self.start(ends, self.windows(used)).saturating_sub(now),
        };
        let next = State {
            at: ends,
            used: verdict.used,
            before: 0,
        };
        Step {
            decision: decision(&verdict, self.limit, reset),
            next: verdict.changed.then_some(next),
        }
    }

    /// The end of the last window that anything was spent in.
    #[inline]
    pub(crate) fn fresh_at(&self, state: State) -> Timestamp {
        Timestamp::from_nanos(match state.used {
            0 => 0,
            used => self.start(state.at, self.windows(used)),
        })
    }

    /// The windows that `thousandths` fill, the last one perhaps in part.
    #[inline(always)]
    fn windows(&self, thousandths: u64) -> u64 {
        if thousandths <= self.limit {
            u64::from(thousandths > 0)
        } else {
            thousandths.div_ceil(self.limit.max(1))
        }
    }

    /// Where the window number `windows`, at least 1, after the one that `ends` starts.
    #[inline(always)]
    fn start(&self, ends: u64, windows: u64) -> u64 {
        match self.window {
            _ if windows <= 1 => ends,
            Window::Length(length) => {
                ends.saturating_add(windows.saturating_sub(1).saturating_mul(length.as_nanos()))
            }
            Window::Month | Window::Year => {
                let index = self.window.index(Timestamp::from_nanos(ends));
                self.window
                    .start(index.saturating_add(windows.saturating_sub(1)))
                    .as_nanos()
            }
        }
    }

    /// The window that contains `now`, past the end of the one in `state`, and what is carried in.
    fn roll(&self, state: State, now: u64) -> (u64, u64) {
        let index = self.window.index(Timestamp::from_nanos(now));
        let ends = self.window.start(index.saturating_add(1)).as_nanos();
        if state.used <= self.limit {
            return (ends, 0);
        }
        let last = self
            .window
            .index(Timestamp::from_nanos(state.at.saturating_sub(1)));
        let passed = index.saturating_sub(last).saturating_mul(self.limit);
        (ends, state.used.saturating_sub(passed))
    }
}
