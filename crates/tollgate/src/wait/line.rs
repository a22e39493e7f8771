//! The callers that wait for one key, in order of arrival.
//!
//! Every waiter has booked its cost with the store when it arrived, so the line owns a *supply*:
//! amounts, and the instants from which they are there. The waiters are its *demand*: in order,
//! each for its cost. The slot of a waiter is the instant from which the supply covers everything
//! up to and including its own cost.
//!
//! Whoever leaves takes away demand, not supply, and so hands its slot to those behind, and the
//! slots of those to the ones behind them. What is left over at the end of the supply goes back to
//! the store, where the next to arrive books it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;

use tollgate_core::Timestamp;

use super::flow::Flow;

#[derive(Debug, Default)]
pub(super) struct Line {
    waiters: VecDeque<Waiter>,
    /// Ordered by time. Invariant: the amounts add up to the costs of the waiters.
    supply: VecDeque<Supply>,
    /// Whether a slot has moved forward behind those that were told.
    moved: bool,
}

#[derive(Debug)]
struct Waiter {
    ticket: Arc<Ticket>,
    cost: u64,
    /// The instant that the waiter has set its timer to.
    timer: Timestamp,
    waker: Option<Waker>,
}

/// An amount, in thousandths of a token, that is there from an instant on.
#[derive(Clone, Copy, Debug)]
struct Supply {
    amount: u64,
    at: Timestamp,
}

/// A place in a line, shared by the line and the waiter.
#[derive(Debug)]
pub(super) struct Ticket {
    number: u64,
    /// The slot, once it is the waiter's for good; `WAITING` before that.
    granted: AtomicU64,
}

const WAITING: u64 = u64::MAX;

/// As many waiters as are told at once that their slots have moved. Those behind them are told as
/// they come closer; until then their timers are late, which does not matter as long as one of
/// this many waiters is awake.
const NEAR: usize = 32;

/// Waiters to be woken once no lock is held.
pub(super) type Woken = smallvec::SmallVec<[Waker; 4]>;

impl Ticket {
    pub(super) const fn new(number: u64) -> Self {
        Self {
            number,
            granted: AtomicU64::new(WAITING),
        }
    }

    /// The slot, if it has come.
    pub(super) fn granted(&self) -> Option<Timestamp> {
        match self.granted.load(Ordering::Acquire) {
            WAITING => None,
            slot => Some(Timestamp::from_nanos(slot)),
        }
    }
}

impl Line {
    pub(super) fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    /// Puts a waiter at the end, with what it has booked.
    pub(super) fn enter(&mut self, ticket: Arc<Ticket>, cost: u64, at: Timestamp) {
        self.waiters.push_back(Waiter {
            ticket,
            cost,
            timer: Timestamp::MAX,
            waker: None,
        });
        let index = self.supply.partition_point(|supply| supply.at <= at);
        self.supply.insert(index, Supply { amount: cost, at });
        if index + 1 < self.supply.len() {
            self.moved = true;
        }
    }

    /// Grants every slot that has come, and says how many.
    pub(super) fn advance(&mut self, now: Timestamp, flow: &Flow, woken: &mut Woken) -> usize {
        let mut granted = 0;
        loop {
            let first = self.slots(flow).next();
            let Some(slot) = first.filter(|slot| *slot <= now) else {
                break;
            };
            let Some(waiter) = self.waiters.pop_front() else {
                break;
            };
            self.consume(waiter.cost);
            let slot = slot.as_nanos().min(WAITING - 1);
            waiter.ticket.granted.store(slot, Ordering::Release);
            if waiter.timer > now {
                woken.extend(waiter.waker);
            }
            granted += 1;
        }
        if granted > 0 && self.moved {
            self.tell(flow, woken);
        }
        granted
    }

    /// The slot of a waiter, which sets its timer to it.
    pub(super) fn slot(
        &mut self,
        ticket: &Ticket,
        waker: &Waker,
        flow: &Flow,
    ) -> Option<Timestamp> {
        let index = self.find(ticket)?;
        let slot = match self.waiters.get(index)?.timer {
            // Far from its slot and told of it before: it is told again when it comes closer.
            timer if index >= NEAR && timer < Timestamp::MAX => timer,
            _ => self.slot_at(index, flow)?,
        };
        let waiter = self.waiters.get_mut(index)?;
        waiter.timer = slot;
        match &mut waiter.waker {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
        Some(slot)
    }

    /// The slot of a waiter as it is now.
    pub(super) fn peek(&self, ticket: &Ticket, flow: &Flow) -> Option<Timestamp> {
        self.slot_at(self.find(ticket)?, flow)
    }

    /// Takes a waiter out, and hands its slot forward. Says whether it was waiting.
    pub(super) fn leave(&mut self, ticket: &Ticket, flow: &Flow, woken: &mut Woken) -> bool {
        let Some(waiter) = self
            .find(ticket)
            .and_then(|index| self.waiters.remove(index))
        else {
            return false;
        };
        self.trim(waiter.cost, flow);
        self.tell(flow, woken);
        true
    }

    /// Adds an amount that somebody has given back, for the first in line.
    pub(super) fn give(&mut self, amount: u64, now: Timestamp, flow: &Flow, woken: &mut Woken) {
        if amount > 0 {
            self.supply.push_front(Supply { amount, at: now });
            self.trim(amount, flow);
            self.tell(flow, woken);
        }
    }

    /// Wakes everybody, without granting anything.
    pub(super) fn wake_all(&mut self, woken: &mut Woken) {
        woken.extend(
            self.waiters
                .iter_mut()
                .filter_map(|waiter| waiter.waker.take()),
        );
    }

    /// Tells those near the head whose slots are earlier than their timers.
    fn tell(&mut self, flow: &Flow, woken: &mut Woken) {
        let slots: smallvec::SmallVec<[Timestamp; NEAR]> = self.slots(flow).take(NEAR).collect();
        for (waiter, slot) in self.waiters.iter_mut().zip(slots) {
            if waiter.timer > slot {
                woken.extend(waiter.waker.take());
            }
        }
        self.moved = self.waiters.len() > NEAR;
    }

    fn find(&self, ticket: &Ticket) -> Option<usize> {
        self.waiters
            .binary_search_by_key(&ticket.number, |waiter| waiter.ticket.number)
            .ok()
    }

    fn slot_at(&self, index: usize, flow: &Flow) -> Option<Timestamp> {
        if index + 1 == self.waiters.len() {
            return self.supply.back().map(|supply| supply.at);
        }
        self.slots(flow).nth(index)
    }

    /// The slots of all waiters, in order.
    fn slots<'a>(&'a self, flow: &'a Flow) -> impl Iterator<Item = Timestamp> + 'a {
        let mut supply = self.supply.iter();
        let (mut demanded, mut supplied, mut at) = (0_u128, 0_u128, Timestamp::EPOCH);
        self.waiters.iter().map(move |waiter| {
            demanded += u128::from(waiter.cost);
            while supplied < demanded {
                let Some(next) = supply.next() else { break };
                supplied += u128::from(next.amount);
                at = next.at;
            }
            // The part of an amount that is needed was there earlier than the whole.
            let early = u64::try_from(supplied.saturating_sub(demanded)).unwrap_or(0);
            at - flow.time_for(early)
        })
    }

    /// Takes an amount from the front of the supply.
    fn consume(&mut self, mut amount: u64) {
        while let Some(first) = self.supply.front_mut() {
            if first.amount > amount {
                first.amount -= amount;
                return;
            }
            amount -= first.amount;
            self.supply.pop_front();
            if amount == 0 {
                return;
            }
        }
    }

    /// Takes an amount from the end of the supply.
    fn trim(&mut self, mut amount: u64, flow: &Flow) {
        while let Some(last) = self.supply.back_mut() {
            if last.amount > amount {
                last.amount -= amount;
                last.at = last.at - flow.time_for(amount);
                return;
            }
            amount -= last.amount;
            self.supply.pop_back();
            if amount == 0 {
                return;
            }
        }
    }
}
