//! What a limit answers.

use core::time::Duration;

/// The answer itself.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Outcome {
    /// The request may proceed.
    Allow,
    /// Not now: wait for [`Decision::retry_after`].
    Deny,
    /// Not ever: the cost is larger than the limit.
    Never,
}

/// Who decided.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Source {
    /// The store, on the state of the key.
    Store,
    /// A local stand-in, because the shared store did not answer.
    Fallback,
    /// Nobody: the key table was full, and the store's rule for that answered.
    Overflow,
    /// Nobody: the limiter is disabled.
    Disabled,
}

/// The answer of a limit to one request, with what a client wants to know about it.
///
/// A denial is a value, never an error. Durations are exact to the nanosecond; only a header
/// rounds. [`Decision::remaining`] is what is left *after* this decision: exactly that many
/// requests of cost one pass at the same instant.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[must_use]
pub struct Decision {
    pub(crate) outcome: Outcome,
    pub(crate) source: Source,
    pub(crate) quota: u16,
    pub(crate) limit: u64,
    pub(crate) remaining: u64,
    /// Until the slot of an allowed request, or until a denied one may be asked again.
    pub(crate) wait: u64,
    pub(crate) reset: u64,
}

impl Decision {
    /// Whether the request may proceed, now or after [`Decision::act_after`].
    #[must_use]
    pub const fn is_allowed(&self) -> bool {
        matches!(self.outcome, Outcome::Allow)
    }

    /// Whether the request was refused, for now or for ever.
    #[must_use]
    pub const fn is_denied(&self) -> bool {
        !self.is_allowed()
    }

    /// Whether the request can never pass, because its cost is larger than the limit.
    #[must_use]
    pub const fn is_never(&self) -> bool {
        matches!(self.outcome, Outcome::Never)
    }

    /// The answer itself.
    #[must_use]
    pub const fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// The most that the governing quota ever admits at once, in whole tokens.
    #[must_use]
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// How many requests of cost one would still pass at this instant, after this decision.
    #[must_use]
    pub const fn remaining(&self) -> u64 {
        self.remaining
    }

    /// The least time after which the same cost passes a check if nothing else happens, without
    /// booking ahead; for a charge that fell short, after what it took.
    ///
    /// `None` when it was allowed, and when it can never pass. At most 584 years.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self.outcome {
            Outcome::Deny => Some(Duration::from_nanos(self.wait)),
            Outcome::Allow | Outcome::Never => None,
        }
    }

    /// How long an allowed caller that booked ahead has to wait before it acts; zero otherwise.
    #[must_use]
    pub const fn act_after(&self) -> Duration {
        match self.outcome {
            Outcome::Allow => Duration::from_nanos(self.wait),
            Outcome::Deny | Outcome::Never => Duration::ZERO,
        }
    }

    /// The time until the quota is whole again if nothing else happens: until a bucket is full, or
    /// until a window has ended. At most 584 years.
    #[must_use]
    pub const fn reset_after(&self) -> Duration {
        Duration::from_nanos(self.reset)
    }

    /// Which quota of its policy this decision speaks of, counted from 0 in the policy's order.
    #[must_use]
    pub const fn quota_index(&self) -> usize {
        self.quota as usize
    }

    /// Who decided.
    #[must_use]
    pub const fn source(&self) -> Source {
        self.source
    }

    /// The decision of a limiter that limits nothing.
    pub const fn disabled() -> Self {
        Self::without_state(Outcome::Allow, Source::Disabled, u64::MAX, 0)
    }

    /// The decision of a store that has no room to keep a state for the key.
    pub fn overflow(outcome: Outcome, limit: u64, retry_after: Duration) -> Self {
        Self::without_state(
            outcome,
            Source::Overflow,
            limit,
            crate::time::nanos(retry_after),
        )
    }

    const fn without_state(outcome: Outcome, source: Source, limit: u64, wait: u64) -> Self {
        let remaining = if matches!(outcome, Outcome::Allow) {
            limit
        } else {
            0
        };
        Self {
            outcome,
            source,
            quota: 0,
            limit,
            remaining,
            wait,
            reset: wait,
        }
    }

    /// The same decision, said of the quota number `index` of its policy.
    pub const fn for_quota(self, index: u16) -> Self {
        Self {
            quota: index,
            ..self
        }
    }

    /// The same decision, made by another source.
    pub const fn decided_by(self, source: Source) -> Self {
        Self { source, ..self }
    }

    /// The one of two decisions about the same request that a client must be told.
    ///
    /// A refusal governs an admission, *never* governs *not now*, then the longest wait governs;
    /// of two admissions, the one with the least left. The first governs a tie.
    pub fn governing(self, other: Self) -> Self {
        let rank = |decision: &Self| match decision.outcome {
            Outcome::Allow => 0,
            Outcome::Deny => 1,
            Outcome::Never => 2,
        };
        let prefer_other = match rank(&other).cmp(&rank(&self)) {
            core::cmp::Ordering::Greater => true,
            core::cmp::Ordering::Less => false,
            core::cmp::Ordering::Equal if self.is_allowed() => {
                (other.remaining, core::cmp::Reverse(other.wait))
                    < (self.remaining, core::cmp::Reverse(self.wait))
            }
            core::cmp::Ordering::Equal => other.wait > self.wait,
        };
        if prefer_other { other } else { self }
    }
}
