//! Instants, as whole nanoseconds since the Unix epoch.

use core::fmt;
use core::time::Duration;

/// An instant: whole nanoseconds since 1970-01-01T00:00:00Z.
///
/// Covers the years 1970 to 2554. Arithmetic saturates at both ends and never panics. A timestamp
/// says nothing about where it came from: the store owns the clock.
///
/// ```
/// use core::time::Duration;
/// use tollgate_core::Timestamp;
///
/// let start = Timestamp::from_secs(60);
/// let later = start + Duration::from_millis(1_500);
/// assert_eq!(later.since(start), Duration::from_millis(1_500));
/// assert_eq!(start.since(later), Duration::ZERO);
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The Unix epoch.
    pub const EPOCH: Self = Self(0);

    /// The last instant that can be named, in the year 2554.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `nanos` nanoseconds after the Unix epoch.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The instant `secs` seconds after the Unix epoch, at most [`Timestamp::MAX`].
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// Nanoseconds since the Unix epoch.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to `self`, zero when `earlier` is the later of the two.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl core::ops::Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(nanos(duration)))
    }
}

impl core::ops::Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(duration)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0 % 1_000_000_000;
        write!(f, "{}.{nanos:09} s since the epoch", self.0 / 1_000_000_000)
    }
}

/// A duration in whole nanoseconds, at most `u64::MAX` (584 years).
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
