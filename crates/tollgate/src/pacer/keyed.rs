//! One pace for each key.

use std::time::Duration;

use tollgate_core::{Cost, Rate};

use super::PacerBuilder;
use crate::key::Key;
use crate::limiter::Limiter;
use crate::memory::MemoryStore;
use crate::store::LocalStore;
use crate::wait::{Reservation, WaitError};

/// A [`Pacer`](crate::Pacer) for each key: one for each downstream host, say.
///
/// ```
/// use std::time::Duration;
/// use tollgate::{KeyedPacer, Rate};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let pacer = KeyedPacer::builder(Rate::per_second(5)?).build_keyed()?;
/// pacer.wait("api.example.com", Duration::from_secs(8)).await?;
/// pacer.wait(("api.example.org", 8080), Duration::from_secs(8)).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct KeyedPacer<S: LocalStore = MemoryStore> {
    pub(super) limiter: Limiter<S>,
    pub(super) interval: Duration,
}

impl KeyedPacer {
    /// Starts a keyed pacer; ends with [`PacerBuilder::build_keyed`].
    pub const fn builder(rate: Rate) -> PacerBuilder {
        PacerBuilder::new(rate)
    }
}

impl<S: LocalStore> KeyedPacer<S> {
    /// Waits for the next slot of `key`; see [`Pacer::wait`](crate::Pacer::wait).
    ///
    /// # Errors
    ///
    /// As [`Limiter::wait`].
    pub async fn wait<'k>(
        &self,
        key: impl Into<Key<'k>>,
        patience: Duration,
    ) -> Result<(), WaitError> {
        self.limiter.wait(key, Cost::ONE, patience).await
    }

    /// As [`KeyedPacer::wait`], blocking the thread.
    ///
    /// # Errors
    ///
    /// As [`Limiter::wait_blocking`].
    pub fn wait_blocking<'k>(
        &self,
        key: impl Into<Key<'k>>,
        patience: Duration,
    ) -> Result<(), WaitError> {
        self.limiter.wait_blocking(key, Cost::ONE, patience)
    }

    /// Books the next slot of `key`.
    ///
    /// # Errors
    ///
    /// As [`Limiter::reserve`].
    pub fn reserve<'k>(
        &self,
        key: impl Into<Key<'k>>,
        patience: Duration,
    ) -> Result<Reservation<'k, S>, WaitError> {
        self.limiter.reserve(key, Cost::ONE, patience)
    }

    /// The time between two calls for one key, rounded up to the nanosecond.
    #[must_use]
    pub const fn interval(&self) -> Duration {
        self.interval
    }

    /// How many callers wait, for any key.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.limiter.waiting()
    }

    /// Ends every wait with [`WaitError::Stopped`] and refuses new ones, for a shutdown.
    pub fn stop(&self) {
        self.limiter.stop();
    }
}
