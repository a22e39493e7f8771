//! A slot that was booked ahead.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tollgate_core::{Cost, Decision, Timestamp};

use super::error::WaitError;
use super::lines::{Booked, Lines};
use crate::key::Key;
use crate::limiter::Limiter;
use crate::memory::MemoryStore;
use crate::store::LocalStore;
use crate::timer::{Sleep, unpark_current};

/// A slot that was booked ahead, and is given back unless it is used.
///
/// Act once [`act_after`](Reservation::act_after) has passed, or wait for that with
/// [`ready`](Reservation::ready), then [`commit`](Reservation::commit) or, when the cost turns out
/// to be another one, [`settle`](Reservation::settle). Dropped before, the slot goes to whoever
/// waits next, and everyone behind moves forward. A slot that has come and is given back late is
/// worth what is left of it: what would have flowed into a full bucket since then is lost.
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Clock, Cost, Limiter, ManualClock, MemoryStore, Quota, Rate};
///
/// let clock = ManualClock::default();
/// let store = MemoryStore::builder().clock(Clock::manual(&clock)).build();
/// let quota = Quota::token_bucket(Rate::per_second(1)?, 1)?;
/// let limiter = Limiter::builder("jobs").quota(quota).build(&store)?;
///
/// let minute = Duration::from_secs(60);
/// limiter.reserve("user-123", Cost::ONE, minute)?.commit();
/// let second = limiter.reserve("user-123", Cost::ONE, minute)?;
/// let third = limiter.reserve("user-123", Cost::ONE, minute)?;
/// assert_eq!(third.act_after(), Duration::from_secs(2));
///
/// second.cancel();
/// assert_eq!(third.act_after(), Duration::from_secs(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a reservation that is dropped is given back"]
pub struct Reservation<'k, S: LocalStore = MemoryStore> {
    limiter: Limiter<S>,
    key: Key<'k>,
    cost: Cost,
    decision: Decision,
    /// `None` once it is used or given back, and for a limiter that limits nothing.
    booked: Option<Booked>,
}

impl<'k, S: LocalStore> Reservation<'k, S> {
    pub(super) fn new(
        limiter: Limiter<S>,
        key: Key<'k>,
        cost: Cost,
        patience: Duration,
    ) -> Result<Self, WaitError> {
        let mut reservation = Self {
            limiter,
            key,
            cost,
            decision: Decision::disabled(),
            booked: None,
        };
        let Self { limiter, key, .. } = &reservation;
        if !limiter.is_disabled() {
            let (decision, booked) = limiter.lines().book(
                key,
                cost,
                patience,
                || limiter.book(key.clone(), cost, patience),
                |amount| refund(limiter, key, amount),
            )?;
            reservation.decision = decision;
            reservation.booked = Some(booked);
        }
        Ok(reservation)
    }

    /// The decision that booked the slot.
    pub const fn decision(&self) -> Decision {
        self.decision
    }

    /// How much was booked.
    #[must_use]
    pub const fn cost(&self) -> Cost {
        self.cost
    }

    /// How long to wait before acting; zero once the slot has come. It may get shorter, never
    /// longer.
    #[must_use]
    pub fn act_after(&self) -> Duration {
        let Some(booked) = &self.booked else {
            return Duration::ZERO;
        };
        let lines = self.limiter.lines();
        let slot = lines.peek(booked);
        slot.map_or(Duration::ZERO, |slot| slot.since(lines.clock().now()))
    }

    /// Waits until the slot has come. May be dropped and called again.
    ///
    /// # Errors
    ///
    /// [`WaitError::Stopped`] if the limiter was stopped before, and [`WaitError::NoTimer`] if
    /// there is nobody to wake the caller.
    pub async fn ready(&self) -> Result<(), WaitError> {
        let mut sleep = None;
        poll_fn(|context| self.poll_ready(context, &mut sleep)).await
    }

    /// Blocks the thread until the slot has come.
    ///
    /// # Errors
    ///
    /// [`WaitError::Stopped`] if the limiter was stopped before.
    pub fn ready_blocking(&self) -> Result<(), WaitError> {
        let waker = unpark_current();
        while let Some((lines, slot)) = self.poll_slot(&waker)? {
            lines.clock().park_until(slot, &waker);
        }
        Ok(())
    }

    /// Keeps the slot: it was used.
    pub fn commit(mut self) {
        self.booked = None;
    }

    /// Gives the slot back, as dropping does.
    pub fn cancel(self) {}

    /// Keeps the slot and corrects its cost: gives back what was booked too much, or charges what
    /// was booked too little, as far as the limiter [allows debt](crate::LimiterBuilder::debt).
    pub fn settle(mut self, actual: Cost) {
        let Some(booked) = self.booked.take() else {
            return;
        };
        let (booked_cost, actual) = (self.cost.as_thousandths(), actual.as_thousandths());
        if let Ok(surplus) = Cost::from_thousandths(booked_cost.saturating_sub(actual)) {
            self.give_back(&booked, surplus);
        }
        if let Ok(missing) = Cost::from_thousandths(actual.saturating_sub(booked_cost)) {
            let _ = self.limiter.charge(self.key.clone(), missing);
        }
    }

    fn poll_ready(
        &self,
        context: &mut Context<'_>,
        sleep: &mut Option<(Timestamp, Sleep)>,
    ) -> Poll<Result<(), WaitError>> {
        loop {
            let Some((lines, slot)) = self.poll_slot(context.waker())? else {
                return Poll::Ready(Ok(()));
            };
            if sleep.as_ref().is_none_or(|(until, _)| *until != slot) {
                let new = lines.clock().sleep_until(slot).ok_or(WaitError::NoTimer)?;
                *sleep = Some((slot, new));
            }
            if let Some((_, timer)) = sleep {
                if Pin::new(timer).poll(context).is_pending() {
                    return Poll::Pending;
                }
                // Either the slot has come, or the timer was early and another one is needed.
                *sleep = None;
            }
        }
    }

    /// The instant of the slot, if it is still to come.
    fn poll_slot(&self, waker: &Waker) -> Result<Option<(&Lines, Timestamp)>, WaitError> {
        let Some(booked) = &self.booked else {
            return Ok(None);
        };
        let lines = self.limiter.lines();
        let slot = lines.poll(booked, waker);
        if slot.is_some() && lines.is_stopped() {
            return Err(WaitError::Stopped);
        }
        Ok(slot.map(|slot| (lines, slot)))
    }

    fn give_back(&self, booked: &Booked, amount: Cost) {
        let give = |given| refund(&self.limiter, &self.key, given);
        self.limiter
            .lines()
            .give_back(booked, self.cost, amount, give);
    }
}

impl<S: LocalStore> Drop for Reservation<'_, S> {
    fn drop(&mut self) {
        if let Some(booked) = self.booked.take() {
            self.give_back(&booked, self.cost);
        }
    }
}

impl<S: LocalStore> fmt::Debug for Reservation<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation")
            .field("policy", &self.limiter.policy())
            .field("cost", &self.cost)
            .field("act_after", &self.act_after())
            .finish_non_exhaustive()
    }
}

fn refund<S: LocalStore>(limiter: &Limiter<S>, key: &Key<'_>, amount: Cost) {
    let _ = limiter.refund_to_store(key, amount);
}
