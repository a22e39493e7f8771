//! Waiting on a limiter.

use std::time::Duration;

use tollgate_core::Cost;

use super::error::WaitError;
use super::reservation::Reservation;
use crate::key::Key;
use crate::limiter::Limiter;
use crate::store::{LocalStore, Store};

impl<S: LocalStore> Limiter<S> {
    /// Books the next slot for `key`, if it comes within `patience`.
    ///
    /// The slot is charged now. Use the [`Reservation`] to learn when to act, and to give the slot
    /// back.
    ///
    /// With several quotas, or with windows, the slot is the first instant at which all of them
    /// would admit the call; they count it when it is booked.
    ///
    /// # Errors
    ///
    /// [`WaitError::Limited`] if the slot comes later: decided at once, and nothing is spent.
    /// [`WaitError::Never`] if the cost is larger than the limit, and
    /// [`WaitError::TooManyWaiters`] past the [bound](crate::LimiterBuilder::max_waiters).
    pub fn reserve<'k>(
        &self,
        key: impl Into<Key<'k>>,
        cost: Cost,
        patience: Duration,
    ) -> Result<Reservation<'k, S>, WaitError> {
        Reservation::new(self.clone(), key.into(), cost, patience)
    }

    /// Waits for a slot for `key`, in order of arrival, for at most `patience`.
    ///
    /// The slot is booked up front. One that would come too late fails at once rather than after
    /// the wait, and costs nothing. Whoever drops this future while it waits hands its slot to
    /// those behind. [`Duration::MAX`] waits for as long as it takes.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Cost, Limiter, Quota, Rate};
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let limiter = Limiter::new(Quota::token_bucket(Rate::per_second(10)?, 1)?);
    /// limiter.wait("api.example.com", Cost::ONE, Duration::from_secs(8)).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Limiter::reserve`] and [`Reservation::ready`].
    pub async fn wait<'k>(
        &self,
        key: impl Into<Key<'k>>,
        cost: Cost,
        patience: Duration,
    ) -> Result<(), WaitError> {
        let key = key.into();
        // While others wait, nothing passes now.
        if !self.is_stopped() && self.passes_now(&key, cost) {
            return Ok(());
        }
        let reservation = self.reserve(key, cost, patience)?;
        reservation.ready().await?;
        reservation.commit();
        Ok(())
    }

    /// As [`Limiter::wait`], blocking the thread. Needs no runtime and no timer.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Cost, Limiter, Quota, Rate};
    ///
    /// let limiter = Limiter::new(Quota::token_bucket(Rate::per_second(1000)?, 1)?);
    /// for _ in 0..3 {
    ///     limiter.wait_blocking("api.example.com", Cost::ONE, Duration::from_secs(8))?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Limiter::reserve`], and [`WaitError::Stopped`].
    pub fn wait_blocking<'k>(
        &self,
        key: impl Into<Key<'k>>,
        cost: Cost,
        patience: Duration,
    ) -> Result<(), WaitError> {
        let key = key.into();
        // While others wait, nothing passes now.
        if !self.is_stopped() && self.passes_now(&key, cost) {
            return Ok(());
        }
        let reservation = self.reserve(key, cost, patience)?;
        reservation.ready_blocking()?;
        reservation.commit();
        Ok(())
    }
}

impl<S: Store> Limiter<S> {
    /// How many callers wait, and reservations that have not come.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.known_lines().map_or(0, super::Lines::waiting)
    }

    /// Whether the limiter was [stopped](Limiter::stop).
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.known_lines().is_some_and(super::Lines::is_stopped)
    }

    /// Ends every wait with [`WaitError::Stopped`], and refuses new ones. Checks go on as before.
    ///
    /// For a shutdown that does not wait for those who wait. Not needed before dropping a limiter.
    pub fn stop(&self) {
        if !self.is_disabled() {
            self.lines().stop();
        }
    }
}
