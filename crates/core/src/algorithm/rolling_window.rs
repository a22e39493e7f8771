//! The rolling window: a log of what was admitted, exact in every trailing window.

use alloc::collections::VecDeque;

use super::{LARGE, Use, apply, decision};
use crate::ask::{Ask, Verb};
use crate::decision::{Decision, Outcome};
use crate::time::Timestamp;
use crate::window::WindowLength;

/// What was admitted in the trailing window of one key, oldest first; equal instants are one entry.
///
/// Bounded by the limit: an entry per admitted instant, of which a limit of `n` tokens has at most
/// `n` at a cost of one (and `n / c` at a cost of `c`).
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Log {
    entries: VecDeque<Entry>,
    /// Invariant: the sum of all costs in `entries`.
    total: u64,
    /// When something was charged last. Tells an entry that was booked ahead from one that a
    /// caller sees with an earlier reading of the clock.
    charged_at: u64,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Entry {
    at: u64,
    cost: u64,
}

impl Log {
    /// The number of distinct instants in the log.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the key is as good as one that was never seen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The sum of what is logged, in thousandths; with what has faded since the last decision.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    fn last(&self) -> u64 {
        self.entries.back().map_or(0, |entry| entry.at)
    }

    fn forget_until(&mut self, instant: u64) {
        while let Some(entry) = self
            .entries
            .front()
            .copied()
            .filter(|entry| entry.at <= instant)
        {
            self.total = self.total.saturating_sub(entry.cost);
            self.entries.pop_front();
        }
        // A burst must not hold its memory for ever; a quarter leaves room to grow back.
        if self.entries.len() < self.entries.capacity() / 4 {
            self.entries.shrink_to(self.entries.len().saturating_mul(2));
        }
    }

    /// Adds what is charged `now`, at its slot.
    fn push(&mut self, now: u64, at: u64, cost: u64) {
        self.charged_at = now;
        self.total = self.total.saturating_add(cost);
        match self.entries.back_mut() {
            Some(last) if last.at >= at => last.cost = last.cost.saturating_add(cost),
            _ => self.entries.push_back(Entry { at, cost }),
        }
    }

    /// Takes back `cost`, the newest first.
    fn take(&mut self, mut cost: u64) {
        while let Some(last) = self.entries.back_mut().filter(|_| cost > 0) {
            let taken = last.cost.min(cost);
            self.total = self.total.saturating_sub(taken);
            cost = cost.saturating_sub(taken);
            last.cost = last.cost.saturating_sub(taken);
            if last.cost == 0 {
                self.entries.pop_back();
            }
        }
    }

    /// The instant of the entry with which the first `thousandths` have been counted.
    fn instant_of(&self, thousandths: u64) -> u64 {
        let mut counted = 0_u64;
        for entry in &self.entries {
            counted = counted.saturating_add(entry.cost);
            if counted >= thousandths {
                return entry.at;
            }
        }
        self.last()
    }
}

/// At most a limit in every trailing window, exactly.
///
/// What was admitted at `t` counts until just before `t + window`. A caller that books ahead is
/// logged at its slot, and later callers queue behind it.
///
/// Readings of the clock before the last charge count as that instant: a thread that read the clock
/// before another one charged the key is not queued behind it.
#[derive(Clone, Copy, Debug)]
pub struct RollingWindow {
    limit: u64,
    debt: u64,
    length: u64,
}

impl RollingWindow {
    pub(crate) fn new(length: WindowLength, limit: u64, debt: u64) -> Self {
        Self {
            limit,
            debt: debt.min(LARGE / 4),
            length: length.as_nanos(),
        }
    }

    /// Decides `ask` for a key with `log` at `now`.
    ///
    /// Costs O(1) amortised; a denial also walks the part of the log that has to fade first.
    pub fn decide(&self, log: &mut Log, now: Timestamp, ask: Ask) -> Decision {
        let now = now.as_nanos().max(log.charged_at);
        if let Some(start) = now.checked_sub(self.length) {
            log.forget_until(start);
        }
        let cost = ask.cost.as_thousandths();
        let slot = self.slot(log, now, cost);
        // A slot booked ahead leaves nothing for a caller that asks for now.
        let booked = log.last() > now;
        let used = if booked {
            log.total.max(self.limit)
        } else {
            log.total
        };
        let in_use = Use {
            used,
            wait: slot.saturating_sub(now),
            from: log.total,
            ceiling: u64::MAX,
        };
        let mut verdict = apply(ask, self.limit, self.debt, &in_use);
        match ask.verb {
            Verb::Check if verdict.outcome == Outcome::Allow => log.push(now, slot, cost),
            Verb::Check | Verb::Peek => {}
            Verb::Refund => log.take(cost),
            Verb::Charge => {
                let charged = verdict.used.saturating_sub(in_use.used);
                if charged > 0 {
                    log.push(now, now.max(log.last()), charged);
                }
            }
        }
        verdict.used = if log.last() > now {
            log.total.max(self.limit)
        } else {
            log.total
        };
        if verdict.fell_short() {
            verdict.wait = self.slot(log, now, cost).saturating_sub(now);
        }
        let reset = self.fresh_at(log).as_nanos().saturating_sub(now);
        decision(&verdict, self.limit, reset)
    }

    /// The first instant at which `cost` fits, behind everything that is in the log.
    fn slot(&self, log: &Log, now: u64, cost: u64) -> u64 {
        let missing = log.total.saturating_add(cost).saturating_sub(self.limit);
        let fits = if missing == 0 {
            now
        } else {
            log.instant_of(missing).saturating_add(self.length)
        };
        fits.max(log.last())
    }

    /// When the last entry leaves the trailing window.
    pub(crate) fn fresh_at(&self, log: &Log) -> Timestamp {
        Timestamp::from_nanos(if log.is_empty() {
            0
        } else {
            log.last().saturating_add(self.length)
        })
    }
}
