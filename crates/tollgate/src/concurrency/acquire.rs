//! A caller that waits for a permit.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tollgate_core::Timestamp;

use super::seats::{Entry, Seat, Seats};
use crate::timer::{Sleep, unpark_current};
use crate::wait::WaitError;

/// A wait for a permit; dropped, it gives up its place, or the permit if that has come.
pub(super) struct Acquire<'s> {
    seats: &'s Seats,
    hash: u64,
    /// The place in line; `None` once the permit is the caller's.
    seat: Option<Arc<Seat>>,
    deadline: Timestamp,
}

impl<'s> Acquire<'s> {
    pub(super) fn new(seats: &'s Seats, hash: u64, patience: Duration) -> Result<Self, WaitError> {
        if seats.is_stopped() {
            return Err(WaitError::Stopped);
        }
        let seat = match seats.enter(hash) {
            Entry::Granted => None,
            Entry::Waiting(seat) => Some(seat),
            Entry::Full(max) => return Err(WaitError::TooManyWaiters { max }),
        };
        Ok(Self {
            seats,
            hash,
            seat,
            deadline: seats.clock.now() + patience,
        })
    }

    pub(super) async fn ready(mut self) -> Result<(), WaitError> {
        let mut sleep = None;
        poll_fn(|context| self.poll_ready(context, &mut sleep)).await
    }

    pub(super) fn ready_blocking(mut self) -> Result<(), WaitError> {
        let waker = unpark_current();
        loop {
            if let Poll::Ready(result) = self.poll(&waker) {
                return result;
            }
            self.seats.clock.park_until(self.deadline, &waker);
        }
    }

    fn poll_ready(
        &mut self,
        context: &mut Context<'_>,
        sleep: &mut Option<Sleep>,
    ) -> Poll<Result<(), WaitError>> {
        loop {
            if let Poll::Ready(result) = self.poll(context.waker()) {
                return Poll::Ready(result);
            }
            // Who waits for as long as it takes needs no timer.
            if self.deadline == Timestamp::MAX {
                return Poll::Pending;
            }
            if sleep.is_none() {
                let timer = self.seats.clock.sleep_until(self.deadline);
                *sleep = Some(timer.ok_or(WaitError::NoTimer)?);
            }
            if let Some(timer) = sleep {
                if Pin::new(timer).poll(context).is_pending() {
                    return Poll::Pending;
                }
                // Either the deadline has come, or the timer was early.
                *sleep = None;
            }
        }
    }

    fn poll(&mut self, waker: &Waker) -> Poll<Result<(), WaitError>> {
        let Some(seat) = &self.seat else {
            return Poll::Ready(Ok(()));
        };
        seat.tell(waker);
        if seat.is_granted() {
            self.seat = None;
            return Poll::Ready(Ok(()));
        }
        if self.seats.is_stopped() {
            return Poll::Ready(Err(WaitError::Stopped));
        }
        if self.seats.clock.now() >= self.deadline {
            return Poll::Ready(Err(WaitError::TimedOut));
        }
        Poll::Pending
    }
}

impl Drop for Acquire<'_> {
    fn drop(&mut self) {
        if let Some(seat) = &self.seat {
            self.seats.leave(self.hash, seat);
        }
    }
}
