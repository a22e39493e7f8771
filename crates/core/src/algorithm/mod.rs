//! The algorithms: pure functions over `(limit, state, now, ask)`.
//!
//! All count in thousandths of a token and in nanoseconds, and all do the same three things: find
//! how much is in use at `now`, compare that plus the cost with the limit, and say what is left.
//! What is in use is rounded up, so that every comparison is one of whole numbers and no fraction
//! has to be kept.

mod fixed_window;
mod rolling_window;
mod sliding_window;
mod token_bucket;

pub use self::fixed_window::FixedWindow;
pub use self::rolling_window::{Log, RollingWindow};
pub use self::sliding_window::SlidingWindow;
pub use self::token_bucket::TokenBucket;

use crate::ask::{Ask, Verb};
use crate::decision::{Decision, Outcome, Source};

/// What a store keeps for one key of a token bucket, a fixed or a sliding window.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct State {
    /// Token bucket: since when [`State::used`] counts. Windows: when the current one ends.
    /// Nanoseconds since the epoch.
    pub at: u64,
    /// What has been spent since then, or in the current window, in thousandths.
    pub used: u64,
    /// Sliding window: what was spent in the window before the current one, in thousandths.
    pub before: u64,
}

impl State {
    /// The state of a key that nothing has been spent on.
    pub const FRESH: Self = Self {
        at: 0,
        used: 0,
        before: 0,
    };
}

/// How much forgetting a key would forgive it: the larger, the more.
///
/// Comparable between the keys of one limit, at one instant, that are not fresh again.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Debt {
    /// What counts against it, in thousandths; the same for all keys where time says it better.
    pub(crate) used: u64,
    /// Until when.
    pub(crate) until: u64,
}

/// What a limit answers, and what the store keeps from then on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use]
pub struct Step {
    /// The answer.
    pub decision: Decision,
    /// The state to keep; `None` when it does not change.
    pub next: Option<State>,
}

/// What is in use when a limit is asked, in thousandths, and how the cost would fit in.
struct Use {
    /// In use now, rounded up; more than the limit when there is debt or a booking.
    used: u64,
    /// How long until the cost fits, in nanoseconds; zero if it fits now.
    wait: u64,
    /// What a check adds its cost to: `used`, or more where a booking has to skip room.
    from: u64,
    /// The most that can be in use, for the state to hold it.
    ceiling: u64,
}

/// What is in use after the verb was applied.
struct Verdict {
    outcome: Outcome,
    used: u64,
    wait: u64,
    /// Whether that is something else than before.
    changed: bool,
}

impl Verdict {
    /// Whether this is a charge that took what was there, and that was not enough: what was taken
    /// prolongs the wait.
    #[inline(always)]
    const fn fell_short(&self) -> bool {
        self.changed && matches!(self.outcome, Outcome::Deny)
    }
}

#[inline(always)]
fn apply(ask: Ask, limit: u64, debt: u64, now: &Use) -> Verdict {
    let cost = ask.cost.as_thousandths();
    match ask.verb {
        Verb::Check | Verb::Peek => {
            let after = now.from.saturating_add(cost);
            let outcome = if cost > limit {
                Outcome::Never
            } else if now.wait == 0 || (now.wait <= ask.patience && after <= now.ceiling) {
                Outcome::Allow
            } else {
                Outcome::Deny
            };
            // A cost is never zero, so what is charged is a change.
            let changed = matches!((ask.verb, outcome), (Verb::Check, Outcome::Allow));
            let used = if changed { after } else { now.used };
            Verdict {
                outcome,
                used,
                wait: now.wait,
                changed,
            }
        }
        Verb::Refund => {
            let used = now.used.saturating_sub(cost);
            Verdict {
                outcome: Outcome::Allow,
                used,
                wait: 0,
                changed: used != now.used,
            }
        }
        Verb::Charge => {
            let most = limit.saturating_add(debt).min(now.ceiling).max(now.used);
            let after = now.used.saturating_add(cost);
            if after <= most {
                Verdict {
                    outcome: Outcome::Allow,
                    used: after,
                    wait: 0,
                    changed: true,
                }
            } else {
                let outcome = if cost > limit {
                    Outcome::Never
                } else {
                    Outcome::Deny
                };
                Verdict {
                    outcome,
                    used: most,
                    wait: now.wait,
                    changed: most != now.used,
                }
            }
        }
    }
}

/// The most that a state of limits this small has to hold: what a table keeps in 29 bits.
const SMALL: u64 = (1 << 29) - 1;

/// The most that any state has to hold: 48 bits.
const LARGE: u64 = (1 << 48) - 1;

/// The ceiling of a limit whose states reach `least` without any booking: generous for bookings,
/// but not so much that a small limit would need a large state.
const fn ceiling(least: u64) -> u64 {
    if least <= SMALL / 2 { SMALL } else { LARGE }
}

/// Puts a decision together; *never* has no wait.
#[inline(always)]
fn decision(verdict: &Verdict, limit: u64, reset: u64) -> Decision {
    let Verdict {
        outcome,
        used,
        wait,
        ..
    } = *verdict;
    Decision {
        outcome,
        source: Source::Store,
        quota: 0,
        limit: limit / 1_000,
        remaining: limit.saturating_sub(used) / 1_000,
        wait: if matches!(outcome, Outcome::Never) {
            0
        } else {
            wait
        },
        reset,
    }
}
