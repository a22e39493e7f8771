//! What a caller asks of a limit.

use core::time::Duration;

use crate::cost::Cost;
use crate::time::nanos;

/// What to do with the cost.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Verb {
    /// Decide, and charge if allowed.
    Check,
    /// Decide, and charge nothing.
    Peek,
    /// Give back, never above a full quota.
    Refund,
    /// Spend after the fact without asking: what is there is taken, down to the debt bound.
    Charge,
}

/// One question to a limit: a verb, a cost, and how far ahead the caller will book.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Ask {
    pub(crate) verb: Verb,
    pub(crate) cost: Cost,
    pub(crate) patience: u64,
}

impl Ask {
    /// Decide and charge if allowed, now.
    #[inline(always)]
    #[must_use]
    pub const fn check(cost: Cost) -> Self {
        Self {
            verb: Verb::Check,
            cost,
            patience: 0,
        }
    }

    /// Decide and charge nothing.
    #[inline(always)]
    #[must_use]
    pub const fn peek(cost: Cost) -> Self {
        Self {
            verb: Verb::Peek,
            cost,
            patience: 0,
        }
    }

    /// Give back what was spent.
    #[inline(always)]
    #[must_use]
    pub const fn refund(cost: Cost) -> Self {
        Self {
            verb: Verb::Refund,
            cost,
            patience: 0,
        }
    }

    /// Spend after the fact.
    #[inline(always)]
    #[must_use]
    pub const fn charge(cost: Cost) -> Self {
        Self {
            verb: Verb::Charge,
            cost,
            patience: 0,
        }
    }

    /// The same question by a caller who will wait up to `patience` for its slot.
    ///
    /// A check that would be denied with a shorter wait is allowed instead, charged now, and says
    /// in [`Decision::act_after`](crate::Decision::act_after) when the caller may act. Later
    /// callers queue behind it.
    #[must_use]
    pub fn within(self, patience: Duration) -> Self {
        Self {
            patience: nanos(patience),
            ..self
        }
    }

    /// Whether this is a check for now, the question that is asked most.
    #[inline(always)]
    #[must_use]
    pub const fn is_check_now(self) -> bool {
        matches!(
            self,
            Self {
                verb: Verb::Check,
                patience: 0,
                ..
            }
        )
    }

    /// What to do with the cost.
    #[must_use]
    pub const fn verb(self) -> Verb {
        self.verb
    }

    /// The cost.
    #[must_use]
    pub const fn cost(self) -> Cost {
        self.cost
    }

    /// How far ahead the caller will book.
    #[must_use]
    pub const fn patience(self) -> Duration {
        Duration::from_nanos(self.patience)
    }
}
