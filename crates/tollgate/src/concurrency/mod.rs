//! At most so many at the same time.

mod acquire;
mod seats;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use self::acquire::Acquire;
use self::seats::Seats;
use crate::build_error::BuildError;
use crate::clock::Clock;
use crate::key::Key;
use crate::wait::WaitError;

/// Lets at most a number of callers be in flight at the same time, for each key.
///
/// Choose it where a call holds something while it lasts, such as a connection or memory; for how
/// often calls may begin, choose a [`Limiter`](crate::Limiter) or a [`Pacer`](crate::Pacer). A
/// [`Permit`] is given back when it is dropped, to those who wait, in order of arrival. It limits
/// this process only.
///
/// Memory is taken up for keys with somebody in flight, and for nothing else.
///
/// ```
/// use tollgate::Concurrency;
///
/// let limit = Concurrency::new(2)?;
/// let first = limit.try_acquire("tenant-1");
/// let second = limit.try_acquire("tenant-1");
/// assert!(first.is_some() && second.is_some());
/// assert!(limit.try_acquire("tenant-1").is_none());
/// assert!(limit.try_acquire("tenant-2").is_some());
///
/// drop(first);
/// assert!(limit.try_acquire("tenant-1").is_some());
/// # Ok::<(), tollgate::BuildError>(())
/// ```
#[derive(Clone)]
pub struct Concurrency(Arc<Seats>);

/// How many callers may wait unless told otherwise.
const DEFAULT_MAX_WAITERS: usize = 10_000;

impl Concurrency {
    /// A limit of `max` callers for each key.
    ///
    /// # Errors
    ///
    /// [`BuildError::Invalid`] for zero, which would admit nobody ever.
    pub fn new(max: usize) -> Result<Self, BuildError> {
        Self::with(max, DEFAULT_MAX_WAITERS, Clock::system())
    }

    /// A limit of `max` callers for each key, where at most `max_waiters` callers wait, for any
    /// key, by `clock`.
    ///
    /// # Errors
    ///
    /// As [`Concurrency::new`].
    pub fn with(max: usize, max_waiters: usize, clock: Clock) -> Result<Self, BuildError> {
        if max == 0 {
            return Err(BuildError::invalid("max", "must be greater than 0"));
        }
        Ok(Self(Arc::new(Seats::new(max, max_waiters, clock))))
    }

    /// A permit for `key` if there is one now.
    #[must_use]
    pub fn try_acquire<'k>(&self, key: impl Into<Key<'k>>) -> Option<Permit> {
        let hash = self.0.hash(&key.into());
        self.0.try_take(hash).then(|| self.permit(hash))
    }

    /// Waits for a permit for `key`, for at most `patience`, in order of arrival.
    ///
    /// # Errors
    ///
    /// [`WaitError::TimedOut`] when there is none in time, [`WaitError::TooManyWaiters`],
    /// [`WaitError::Stopped`], and [`WaitError::NoTimer`] if there is nobody to wake the caller at
    /// its deadline.
    pub async fn acquire<'k>(
        &self,
        key: impl Into<Key<'k>>,
        patience: Duration,
    ) -> Result<Permit, WaitError> {
        let hash = self.0.hash(&key.into());
        Acquire::new(&self.0, hash, patience)?.ready().await?;
        Ok(self.permit(hash))
    }

    /// As [`Concurrency::acquire`], blocking the thread. Needs no runtime and no timer.
    ///
    /// # Errors
    ///
    /// As [`Concurrency::acquire`], without [`WaitError::NoTimer`].
    pub fn acquire_blocking<'k>(
        &self,
        key: impl Into<Key<'k>>,
        patience: Duration,
    ) -> Result<Permit, WaitError> {
        let hash = self.0.hash(&key.into());
        Acquire::new(&self.0, hash, patience)?.ready_blocking()?;
        Ok(self.permit(hash))
    }

    /// How many are in flight for `key`.
    #[must_use]
    pub fn in_flight<'k>(&self, key: impl Into<Key<'k>>) -> usize {
        self.0.in_flight(self.0.hash(&key.into()))
    }

    /// How many callers wait, for any key.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.0.waiting()
    }

    /// Ends every wait with [`WaitError::Stopped`] and lets nobody begin from now on, for a
    /// shutdown. Permits that are out stay valid.
    pub fn stop(&self) {
        self.0.stop();
    }

    fn permit(&self, hash: u64) -> Permit {
        Permit {
            seats: Arc::clone(&self.0),
            hash,
        }
    }
}

impl fmt::Debug for Concurrency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The right to be in flight, until it is dropped.
#[must_use = "a permit that is dropped is given back"]
pub struct Permit {
    seats: Arc<Seats>,
    hash: u64,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.seats.give_back(self.hash);
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Permit")
    }
}
