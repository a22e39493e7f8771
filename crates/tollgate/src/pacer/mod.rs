//! Shaping of outbound calls: each waits for its turn.

mod builder;
mod keyed;

use std::time::Duration;

use tollgate_core::{Cost, Rate};

pub use self::builder::PacerBuilder;
pub use self::keyed::KeyedPacer;

use crate::build_error::BuildError;
use crate::limiter::Limiter;
use crate::memory::MemoryStore;
use crate::store::LocalStore;
use crate::wait::{Reservation, WaitError};

/// Shapes calls that you make: spreads concurrent callers over time, in order of arrival.
///
/// Choose it for calls to somebody else, where waiting is better than failing. For calls that
/// others make to you, which you cannot slow down, choose a [`Limiter`] or a
/// [`Cooldown`](crate::Cooldown). For one pace per downstream host, choose a [`KeyedPacer`].
///
/// The first call passes at once, and idle time saves nothing up: after a pause there is no pair
/// of calls closer than the interval, unless a [burst](PacerBuilder::burst) allows it. The interval
/// is fixed; when the other side limits you anyway, retry the request rather than slow everyone
/// down.
///
/// Create one for each resource and share it, by clone; it runs nothing in the background. It
/// paces this process only: with N replicas the resource sees N times the rate.
///
/// ```
/// use std::time::Duration;
/// use tollgate::Pacer;
///
/// # async fn call_downstream() {}
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let pacer = Pacer::new(Duration::from_millis(600))?; // about 1.67 calls a second
///
/// pacer.wait(Duration::from_secs(8)).await?; // fails at once if that is not enough
/// call_downstream().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Pacer<S: LocalStore = MemoryStore> {
    limiter: Limiter<S>,
    interval: Duration,
}

/// The one key of a pacer without keys.
const ALL: u64 = 0;

impl Pacer {
    /// A pacer that lets one call pass each `interval`.
    ///
    /// # Errors
    ///
    /// [`BuildError::Rate`] for an interval of zero or of more than 584 years.
    pub fn new(interval: Duration) -> Result<Self, BuildError> {
        Self::builder(Rate::every(interval)?).build()
    }

    /// Starts a pacer that differs from the defaults.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Pacer, Rate};
    ///
    /// // The other side allows 2 calls a second; keep to 80 % of that.
    /// let pacer = Pacer::builder(Rate::per_second(2)?).headroom(0.8).build()?;
    /// assert_eq!(pacer.interval(), Duration::from_millis(625));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn builder(rate: Rate) -> PacerBuilder {
        PacerBuilder::new(rate)
    }
}

impl<S: LocalStore> Pacer<S> {
    /// Waits for the next slot, for at most `patience`, in order of arrival.
    ///
    /// Dropped while it waits, it hands its slot to the next caller.
    ///
    /// # Errors
    ///
    /// [`WaitError::Limited`] at once if the slot comes later than that, which costs nothing and
    /// holds nobody up; otherwise as [`Limiter::wait`].
    pub async fn wait(&self, patience: Duration) -> Result<(), WaitError> {
        self.limiter.wait(ALL, Cost::ONE, patience).await
    }

    /// As [`Pacer::wait`], blocking the thread. Needs no runtime and no timer.
    ///
    /// # Errors
    ///
    /// As [`Pacer::wait`].
    pub fn wait_blocking(&self, patience: Duration) -> Result<(), WaitError> {
        self.limiter.wait_blocking(ALL, Cost::ONE, patience)
    }

    /// Books the next slot; see [`Limiter::reserve`].
    ///
    /// # Errors
    ///
    /// As [`Pacer::wait`].
    pub fn reserve(&self, patience: Duration) -> Result<Reservation<'static, S>, WaitError> {
        self.limiter.reserve(ALL, Cost::ONE, patience)
    }

    /// The time between two calls, rounded up to the nanosecond.
    #[must_use]
    pub const fn interval(&self) -> Duration {
        self.interval
    }

    /// How many callers wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.limiter.waiting()
    }

    /// Ends every wait with [`WaitError::Stopped`] and refuses new ones, for a shutdown. Not needed
    /// before dropping a pacer.
    pub fn stop(&self) {
        self.limiter.stop();
    }
}
