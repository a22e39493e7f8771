//! A clock for tests and simulations.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tollgate_core::Timestamp;

/// A clock that moves only when it is told to; clones share one time.
///
/// Starts at noon UTC of 2026-11-30, so that calendar windows have something to align to. Callers
/// that wait for a slot are woken when the clock is moved to it, in the order of their slots.
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
pub struct ManualClock(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    now: AtomicU64,
    sleepers: Mutex<Sleepers>,
}

/// Who sleeps, by when they are to be woken and, among those of one instant, since when.
#[derive(Debug, Default)]
struct Sleepers {
    next: u64,
    by_time: BTreeMap<(u64, u64), Waker>,
}

impl ManualClock {
    /// A clock that stands at `start`.
    #[must_use]
    pub fn at(start: Timestamp) -> Self {
        Self(Arc::new(Shared {
            now: AtomicU64::new(start.as_nanos()),
            sleepers: Mutex::default(),
        }))
    }

    /// The instant the clock stands at.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.0.now.load(Ordering::SeqCst))
    }

    /// Moves the clock to `instant`, forward or back, and wakes who slept until then.
    pub fn set(&self, instant: Timestamp) {
        self.0.now.store(instant.as_nanos(), Ordering::SeqCst);
        let woken = {
            let mut sleepers = self.sleepers();
            let later = sleepers
                .by_time
                .split_off(&(instant.as_nanos().saturating_add(1), 0));
            std::mem::replace(&mut sleepers.by_time, later)
        };
        for waker in woken.into_values() {
            waker.wake();
        }
    }

    /// Moves the clock forward, at most to [`Timestamp::MAX`].
    pub fn advance(&self, by: Duration) {
        self.set(self.now() + by);
    }

    /// Moves the clock back, at most to [`Timestamp::EPOCH`].
    pub fn rewind(&self, by: Duration) {
        self.set(self.now() - by);
    }

    /// The first instant at which somebody who waits is to be woken: where a simulation moves the
    /// clock to next.
    #[must_use]
    pub fn next_wake(&self) -> Option<Timestamp> {
        let sleepers = self.sleepers();
        let ((at, _), _) = sleepers.by_time.first_key_value()?;
        Some(Timestamp::from_nanos(*at))
    }

    pub(crate) fn sleep(&self, duration: Duration) -> ManualSleep {
        ManualSleep {
            clock: self.clone(),
            until: (self.now() + duration).as_nanos(),
            place: None,
        }
    }

    fn sleepers(&self) -> MutexGuard<'_, Sleepers> {
        // Nothing in here is ever half written.
        self.0
            .sleepers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::at(Timestamp::from_secs(1_796_040_000))
    }
}

/// A sleep that ends when the clock is moved.
#[derive(Debug)]
pub(crate) struct ManualSleep {
    clock: ManualClock,
    until: u64,
    place: Option<u64>,
}

impl Future for ManualSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let mut sleepers = this.clock.sleepers();
        // Read under the lock: whoever moves the clock wakes only afterwards.
        if this.clock.now().as_nanos() >= this.until {
            return Poll::Ready(());
        }
        let place = *this.place.get_or_insert_with(|| {
            sleepers.next = sleepers.next.wrapping_add(1);
            sleepers.next
        });
        sleepers
            .by_time
            .insert((this.until, place), context.waker().clone());
        Poll::Pending
    }
}

impl Drop for ManualSleep {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.clock.sleepers().by_time.remove(&(self.until, place));
        }
    }
}
