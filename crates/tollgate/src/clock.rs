//! Where the time of a store comes from.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use tollgate_core::Timestamp;

use crate::manual_clock::ManualClock;
use crate::system_clock::SystemClock;
use crate::ticks::Ticks;
use crate::timer::{Sleep, Timer};

/// The clock of a store: it drives every decision, and nothing else does.
///
/// The default is the machine's monotonic clock, anchored once to the time of day: it never goes
/// back and does not follow changes of the time of day. Tests and simulations use a
/// [`ManualClock`].
///
/// A clock also wakes callers that wait for a slot. A manual clock does so by itself, the others by
/// the [`Timer`] they were given or, with the feature `tokio`, by that of the tokio runtime that
/// the caller runs on.
#[derive(Clone)]
pub struct Clock {
    kind: Kind,
    timer: Option<Arc<dyn Timer>>,
}

#[derive(Clone)]
enum Kind {
    System(&'static SystemClock),
    Manual(ManualClock),
    Other(Arc<dyn TimeSource>),
    Ticks(Arc<Ticks>),
}

impl Clock {
    /// The machine's monotonic clock, anchored once to the time of day.
    #[must_use]
    pub fn system() -> Self {
        Self::of(Kind::System(SystemClock::shared()))
    }

    /// A clock that stands still until `clock` is moved.
    #[must_use]
    pub fn manual(clock: &ManualClock) -> Self {
        Self::of(Kind::Manual(clock.clone()))
    }

    /// A clock of the caller's own. It may stop, jump and go back; see
    /// [`Steady`](tollgate_core::Steady) for what a store makes of that.
    pub fn other(source: impl TimeSource) -> Self {
        Self::of(Kind::Other(Arc::new(source)))
    }

    /// Another clock that moves in ticks.
    pub(crate) fn ticks(ticks: Ticks) -> Self {
        Self::of(Kind::Ticks(Arc::new(ticks)))
    }

    /// The instant it is now.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &self.kind {
            Kind::System(clock) => clock.now(),
            Kind::Manual(clock) => clock.now(),
            Kind::Other(clock) => clock.now(),
            Kind::Ticks(ticks) => ticks.before(ticks.clock.now()),
        }
    }

    /// The same clock, where callers that wait are woken by `timer`: the way to wait on any
    /// asynchronous runtime.
    #[must_use]
    pub fn with_timer(self, timer: impl Timer) -> Self {
        Self {
            timer: Some(Arc::new(timer)),
            ..self
        }
    }

    /// Sleeps until `instant`; `None` if there is nobody to wake the caller.
    pub(crate) fn sleep_until(&self, instant: Timestamp) -> Option<Sleep> {
        if let Kind::Ticks(ticks) = &self.kind {
            return ticks.clock.sleep_until(ticks.after(instant));
        }
        let duration = instant.since(self.now());
        match (&self.timer, &self.kind) {
            (Some(timer), _) => Some(Sleep::of(timer.sleep(duration))),
            (None, Kind::Manual(clock)) => Some(Sleep::manual(clock.sleep(duration))),
            (None, _) => Sleep::of_runtime(duration),
        }
    }

    /// Blocks the thread until `instant` or until it is unparked, whichever comes first; `waker`
    /// unparks it.
    pub(crate) fn park_until(&self, instant: Timestamp, waker: &Waker) {
        if let Kind::Ticks(ticks) = &self.kind {
            return ticks.clock.park_until(ticks.after(instant), waker);
        }
        let duration = instant.since(self.now());
        if let Kind::Manual(clock) = &self.kind {
            let mut sleep = clock.sleep(duration);
            let pending = Pin::new(&mut sleep)
                .poll(&mut Context::from_waker(waker))
                .is_pending();
            if pending {
                std::thread::park();
            }
        } else {
            std::thread::park_timeout(duration);
        }
    }

    fn of(kind: Kind) -> Self {
        Self { kind, timer: None }
    }

    /// The instant it is now by a clock that never goes back; `None` if this clock may.
    #[inline(always)]
    pub(crate) fn steady_now(&self) -> Option<Timestamp> {
        match &self.kind {
            Kind::System(clock) => Some(clock.now()),
            _ => None,
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
        f.write_str(match self.kind {
            Kind::System(_) => "Clock::system",
            Kind::Manual(_) => "Clock::manual",
            Kind::Other(_) => "Clock::other",
            Kind::Ticks(_) => "Clock::ticks",
        })
    }
}

/// A source of time that a caller brings along.
pub trait TimeSource: Send + Sync + 'static {
    /// The instant it is now.
    fn now(&self) -> Timestamp;
}
