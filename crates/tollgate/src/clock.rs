//! Where the time of a store comes from.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tollgate_core::Timestamp;

use crate::system_clock::SystemClock;

/// The clock of a store: it drives every decision, and nothing else does.
///
/// The default is the machine's monotonic clock, anchored once to the time of day: it never goes
/// back and does not follow changes of the time of day. Tests and simulations use a
/// [`ManualClock`].
#[derive(Clone)]
pub struct Clock(Kind);

#[derive(Clone)]
enum Kind {
    System(&'static SystemClock),
    Manual(ManualClock),
    Other(Arc<dyn TimeSource>),
}

impl Clock {
    /// The machine's monotonic clock, anchored once to the time of day.
    #[must_use]
    pub fn system() -> Self {
        Self(Kind::System(SystemClock::shared()))
    }

    /// A clock that stands still until `clock` is moved.
    #[must_use]
    pub fn manual(clock: &ManualClock) -> Self {
        Self(Kind::Manual(clock.clone()))
    }

    /// A clock of the caller's own. It may stop, jump and go back; see
    /// [`Steady`](tollgate_core::Steady) for what a store makes of that.
    pub fn other(source: impl TimeSource) -> Self {
        Self(Kind::Other(Arc::new(source)))
    }

    /// The instant it is now.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Kind::System(clock) => clock.now(),
            Kind::Manual(clock) => clock.now(),
            Kind::Other(clock) => clock.now(),
        }
    }

    /// The instant it is now by a clock that never goes back; `None` if this clock may.
    #[inline(always)]
    pub(crate) fn steady_now(&self) -> Option<Timestamp> {
        match &self.0 {
            Kind::System(clock) => Some(clock.now()),
            Kind::Manual(_) | Kind::Other(_) => None,
        }
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::System(_) => "Clock::system",
            Kind::Manual(_) => "Clock::manual",
            Kind::Other(_) => "Clock::other",
        })
    }
}

/// A source of time that a caller brings along.
pub trait TimeSource: Send + Sync + 'static {
    /// The instant it is now.
    fn now(&self) -> Timestamp;
}

/// A clock that moves only when it is told to; clones share one time.
///
/// Starts at noon UTC of 2026-11-30, so that calendar windows have something to align to.
///
/// ```
/// use std::time::Duration;
/// use tollgate::{ManualClock, Timestamp};
///
/// let clock = ManualClock::default();
/// let start = clock.now();
/// clock.advance(Duration::from_secs(5));
/// assert_eq!(clock.now().since(start), Duration::from_secs(5));
/// clock.set(Timestamp::EPOCH);
/// ```
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// A clock that stands at `start`.
    #[must_use]
    pub fn at(start: Timestamp) -> Self {
        Self(Arc::new(AtomicU64::new(start.as_nanos())))
    }

    /// The instant the clock stands at.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.0.load(Ordering::SeqCst))
    }

    /// Moves the clock to `instant`, forward or back.
    pub fn set(&self, instant: Timestamp) {
        self.0.store(instant.as_nanos(), Ordering::SeqCst);
    }

    /// Moves the clock forward, at most to [`Timestamp::MAX`].
    pub fn advance(&self, by: Duration) {
        self.set(self.now() + by);
    }

    /// Moves the clock back, at most to [`Timestamp::EPOCH`].
    pub fn rewind(&self, by: Duration) {
        self.set(self.now() - by);
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::at(Timestamp::from_secs(1_796_040_000))
    }
}
