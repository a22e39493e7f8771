//! The lines of all keys of one limiter.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use tollgate_core::{Cost, Decision, Quota, Timestamp};

use super::error::{Limited, WaitError};
use super::flow::Flow;
use super::line::{Line, Ticket, Woken};
use super::shard::Shard;
use crate::clock::Clock;
use crate::key::{Key, KeyHasher};

/// Who waits for which key. A key that nobody waits for takes up nothing.
///
/// Booking with the store and entering the line are one step under one lock, and so are leaving
/// the line and giving back to the store; otherwise two callers could come to hold one slot.
pub(crate) struct Lines {
    shards: [Mutex<Shard>; SHARDS],
    hasher: KeyHasher,
    clock: Clock,
    flow: Flow,
    waiting: AtomicUsize,
    max: usize,
    stopped: AtomicBool,
}

const SHARDS: usize = 8;

/// A slot that was booked.
#[derive(Debug)]
pub(super) struct Booked {
    hash: u64,
    /// The place in line; `None` if the slot was there at once.
    ticket: Option<Arc<Ticket>>,
    /// The slot as it was booked; it may have moved forward since.
    slot: Timestamp,
    /// When everything spent up to a slot that was there at once has flowed back.
    full: Timestamp,
}

impl Lines {
    pub(crate) fn new(quotas: &[Quota], clock: Clock, max: usize) -> Self {
        Self {
            shards: Default::default(),
            hasher: KeyHasher::new(),
            clock,
            flow: Flow::of(quotas),
            waiting: AtomicUsize::new(0),
            max,
            stopped: AtomicBool::new(false),
        }
    }

    /// How many callers wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Acquire)
    }

    pub(super) const fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Ends every wait, and lets no new one begin.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        for shard in &self.shards {
            let mut woken = Woken::new();
            for line in hold(shard).lines.values_mut() {
                line.wake_all(&mut woken);
            }
            wake(woken);
        }
    }

    /// Books a slot by `book`, which asks the store, and enters the line unless it is there now.
    pub(super) fn book(
        &self,
        key: &Key<'_>,
        cost: Cost,
        patience: Duration,
        book: impl FnOnce() -> Decision,
        refund: impl FnOnce(Cost),
    ) -> Result<(Decision, Booked), WaitError> {
        if self.is_stopped() {
            return Err(WaitError::Stopped);
        }
        let hash = self.hasher.hash(key);
        let mut shard = self.shard(hash);
        let decision = book();
        if decision.is_denied() {
            return Err(match decision.retry_after() {
                Some(retry_after) => Limited::new(retry_after).into(),
                None => WaitError::Never { cost },
            });
        }
        let now = self.clock.now();
        let mut booked = Booked {
            hash,
            ticket: None,
            slot: now + decision.act_after(),
            full: now + decision.reset_after(),
        };
        if decision.act_after().is_zero() {
            return Ok((decision, booked));
        }

        let mut woken = Woken::new();
        shard.sweep(now, &self.flow, &self.waiting, &mut woken);
        let ticket = Arc::new(Ticket::new(shard.next_number));
        shard.next_number = shard.next_number.wrapping_add(1);
        let line = shard.lines.entry(hash).or_default();
        line.enter(Arc::clone(&ticket), cost.as_thousandths(), booked.slot);
        let waiting = self.waiting.fetch_add(1, Ordering::AcqRel) + 1;
        // Whoever gave something back by other means has made room for those who are in line.
        let slot = line.peek(&ticket, &self.flow).unwrap_or(booked.slot);
        let late = slot.since(now) > patience;
        if late || waiting > self.max {
            line.leave(&ticket, &self.flow, &mut woken);
            self.left(&mut shard, hash, 1);
            refund(cost);
            drop(shard);
            wake(woken);
            return Err(if late {
                Limited::new(slot.since(now)).into()
            } else {
                WaitError::TooManyWaiters { max: self.max }
            });
        }
        booked.ticket = Some(ticket);
        drop(shard);
        wake(woken);
        Ok((decision, booked))
    }

    /// When the slot is to come; `None` once it is there. `waker` is told if that changes.
    pub(super) fn poll(&self, booked: &Booked, waker: &Waker) -> Option<Timestamp> {
        self.look(booked, |line, ticket| line.slot(ticket, waker, &self.flow))
    }

    /// When the slot is to come; `None` once it is there.
    pub(super) fn peek(&self, booked: &Booked) -> Option<Timestamp> {
        self.look(booked, |line, ticket| line.peek(ticket, &self.flow))
    }

    fn look(
        &self,
        booked: &Booked,
        slot: impl FnOnce(&mut Line, &Ticket) -> Option<Timestamp>,
    ) -> Option<Timestamp> {
        let ticket = booked.ticket.as_deref()?;
        if ticket.granted().is_some() {
            return None;
        }
        let now = self.clock.now();
        let mut shard = self.shard(booked.hash);
        let mut woken = Woken::new();
        let line = shard.lines.get_mut(&booked.hash)?;
        let granted = line.advance(now, &self.flow, &mut woken);
        let slot = slot(line, ticket);
        self.left(&mut shard, booked.hash, granted);
        drop(shard);
        wake(woken);
        slot
    }

    /// Gives `amount` of what was booked for `cost` back: to those in line, and by `refund` to the
    /// store. A whole amount of a slot that has not come gives up the slot.
    pub(super) fn give_back(
        &self,
        booked: &Booked,
        cost: Cost,
        amount: Cost,
        refund: impl FnOnce(Cost),
    ) {
        let now = self.clock.now();
        let mut shard = self.shard(booked.hash);
        let mut woken = Woken::new();
        let mut others_wait = false;
        let mut leaves = false;
        if let Some(line) = shard.lines.get_mut(&booked.hash) {
            let mut gone = line.advance(now, &self.flow, &mut woken);
            let ticket = booked.ticket.as_deref();
            if let Some(ticket) = ticket.filter(|ticket| ticket.granted().is_none()) {
                leaves = amount >= cost && line.leave(ticket, &self.flow, &mut woken);
                gone += usize::from(leaves);
            }
            others_wait = !line.is_empty();
            self.left(&mut shard, booked.hash, gone);
        }
        let given = if leaves {
            amount.as_thousandths()
        } else {
            self.left_of(booked, amount, now, others_wait)
        };
        if let Some(line) = shard.lines.get_mut(&booked.hash).filter(|_| !leaves) {
            line.give(given, now, &self.flow, &mut woken);
        }
        if let Ok(given) = Cost::from_thousandths(given) {
            refund(given);
        }
        drop(shard);
        wake(woken);
    }

    /// Gives something back that was not booked here, to those who wait for `key` first.
    pub(crate) fn give(
        &self,
        key: &Key<'_>,
        amount: Cost,
        refund: impl FnOnce() -> Decision,
    ) -> Decision {
        let hash = self.hasher.hash(key);
        let now = self.clock.now();
        let mut shard = self.shard(hash);
        let mut woken = Woken::new();
        if let Some(line) = shard.lines.get_mut(&hash) {
            let granted = line.advance(now, &self.flow, &mut woken);
            line.give(amount.as_thousandths(), now, &self.flow, &mut woken);
            self.left(&mut shard, hash, granted);
        }
        let decision = refund();
        drop(shard);
        wake(woken);
        decision
    }

    /// How much of a slot that has come can be given back.
    fn left_of(&self, booked: &Booked, amount: Cost, now: Timestamp, others_wait: bool) -> u64 {
        let granted = booked.ticket.as_deref().and_then(Ticket::granted);
        let (slot, full) = match granted {
            Some(slot) => (slot, self.flow.full_after(slot)),
            None => (booked.slot, booked.full),
        };
        let amount = amount.as_thousandths();
        if now <= slot {
            amount
        } else {
            self.flow.left_of(amount, full, now, others_wait)
        }
    }

    /// Counts `gone` waiters less, and forgets a line that nobody stands in.
    fn left(&self, shard: &mut Shard, hash: u64, gone: usize) {
        if gone > 0 {
            self.waiting.fetch_sub(gone, Ordering::AcqRel);
        }
        shard.forget_if_empty(hash);
    }

    fn shard(&self, hash: u64) -> MutexGuard<'_, Shard> {
        hold(&self.shards[hash as usize % SHARDS])
    }
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines")
            .field("waiting", &self.waiting())
            .field("max", &self.max)
            .finish_non_exhaustive()
    }
}

/// Nothing in a shard is ever half written, so poison is ignored.
fn hold(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Wakes, with no lock held: a waker may run its task on the spot.
fn wake(woken: Woken) {
    for waker in woken {
        waker.wake();
    }
}
