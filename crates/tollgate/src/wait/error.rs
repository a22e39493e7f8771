//! Why a caller does not get a slot.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use tollgate_core::Cost;

/// The slot would come after the caller's deadline. Nothing was spent.
///
/// Found anywhere in a chain of errors by [`retry_after`](crate::retry_after).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limited {
    retry_after: Duration,
}

impl Limited {
    /// A refusal that lasts for `retry_after`.
    #[must_use]
    pub const fn new(retry_after: Duration) -> Self {
        Self { retry_after }
    }

    /// The least time after which the same call passes at once, if nothing else happens.
    #[must_use]
    pub const fn retry_after(&self) -> Duration {
        self.retry_after
    }
}

impl fmt::Display for Limited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rate limited, retry after {:?}", self.retry_after)
    }
}

impl Error for Limited {}

/// Why a caller does not get a slot.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum WaitError {
    /// The slot would come after the deadline.
    Limited(Limited),
    /// The cost is larger than the limit, so there will never be a slot.
    Never {
        /// The cost.
        cost: Cost,
    },
    /// As many callers wait as may.
    TooManyWaiters {
        /// How many may wait.
        max: usize,
    },
    /// Nobody gave a permit back before the deadline. When somebody will cannot be told.
    TimedOut,
    /// There is nobody to wake the caller: no timer was given and no known runtime runs.
    NoTimer,
    /// The limiter was stopped.
    Stopped,
}

impl WaitError {
    /// The least time after which the same call passes, where that is known.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Limited(limited) => Some(limited.retry_after),
            _ => None,
        }
    }
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limited(_) => f.write_str("no slot before the deadline"),
            Self::Never { cost } => write!(f, "a cost of {cost} is larger than the limit"),
            Self::TooManyWaiters { max } => {
                write!(f, "{max} callers wait already, which is as many as may")
            }
            Self::TimedOut => f.write_str("no permit before the deadline"),
            Self::NoTimer => f.write_str(
                "nobody to wake a caller that waits: give the clock a timer, \
                 or call from a tokio runtime with the feature `tokio`",
            ),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl Error for WaitError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Limited(limited) => Some(limited),
            _ => None,
        }
    }
}

impl From<Limited> for WaitError {
    fn from(limited: Limited) -> Self {
        Self::Limited(limited)
    }
}
