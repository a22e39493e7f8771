//! The bound on the keys of a limit, and what happens when it is met.

use std::time::Duration;

use tollgate_core::{Decision, Outcome, Timestamp};

use crate::sync::{AtomicU64, Ordering};

/// What a store does with a new key when its table is full of keys that are all in debt.
///
/// The place of a key that has refilled is always taken first; nobody can tell. Keys in debt are
/// forgotten, under [`OnFull::Evict`], in the order of their debt: a flood of new keys displaces
/// itself, and a drained key stays drained.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum OnFull {
    /// Forget the key nearby that is the least in debt, which may forgive it something.
    #[default]
    Evict,
    /// Let the request pass without keeping anything.
    Allow,
    /// Deny the request.
    Deny,
}

/// How many keys there may be, how many there are, and what became of the others.
#[derive(Debug)]
pub(super) struct Full {
    max_keys: u64,
    on_full: OnFull,
    keys: AtomicU64,
    reclaimed: AtomicU64,
    evicted: AtomicU64,
    allowed: AtomicU64,
    denied: AtomicU64,
}

/// Whether there is room for another key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Room {
    /// There was, a moment ago.
    Made,
    /// There is none, and the request passes.
    Allow,
    /// There is none, and the request does not pass; there may be some at the given time.
    Deny { until: Timestamp },
}

impl Full {
    pub(super) fn new(max_keys: usize, on_full: OnFull) -> Self {
        Self {
            max_keys: max_keys as u64,
            on_full,
            keys: AtomicU64::new(0),
            reclaimed: AtomicU64::new(0),
            evicted: AtomicU64::new(0),
            allowed: AtomicU64::new(0),
            denied: AtomicU64::new(0),
        }
    }

    pub(super) const fn on_full(&self) -> OnFull {
        self.on_full
    }

    /// Counts one more key, if there may be one more.
    pub(super) fn reserve(&self) -> bool {
        let add = |keys| (keys < self.max_keys).then_some(keys + 1);
        self.keys
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, add)
            .is_ok()
    }

    /// Counts `keys` fewer.
    pub(super) fn release(&self, keys: u64) {
        if keys > 0 {
            self.keys.fetch_sub(keys, Ordering::AcqRel);
        }
    }

    pub(super) fn count_reclaimed(&self, keys: u64) {
        if keys > 0 {
            self.reclaimed.fetch_add(keys, Ordering::Relaxed);
        }
    }

    pub(super) fn count_evicted(&self) {
        self.evicted.fetch_add(1, Ordering::Relaxed);
    }

    /// The decision about a key that there is no room for.
    pub(super) fn decision(&self, room: Room, limit: u64, now: Timestamp) -> Decision {
        match room {
            Room::Made | Room::Allow => {
                self.allowed.fetch_add(1, Ordering::Relaxed);
                Decision::overflow(Outcome::Allow, limit, Duration::ZERO)
            }
            Room::Deny { until } => {
                self.denied.fetch_add(1, Ordering::Relaxed);
                let wait = until.since(now).max(Duration::from_nanos(1));
                Decision::overflow(Outcome::Deny, limit, wait)
            }
        }
    }

    pub(super) fn stats(&self) -> MemoryStats {
        MemoryStats {
            keys: self.keys.load(Ordering::Acquire),
            reclaimed: self.reclaimed.load(Ordering::Relaxed),
            evicted: self.evicted.load(Ordering::Relaxed),
            overflow_allowed: self.allowed.load(Ordering::Relaxed),
            overflow_denied: self.denied.load(Ordering::Relaxed),
        }
    }
}

/// What a limit in memory keeps, and what it had to forget or turn away.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct MemoryStats {
    /// Keys in the table now, with those that have refilled and were not reclaimed yet.
    pub keys: u64,
    /// Keys whose place was taken after they had refilled. Nobody can tell.
    pub reclaimed: u64,
    /// Keys that were forgotten in debt, because the table was full. More than a few mean that
    /// some keys get their allowance back early: raise the bound.
    pub evicted: u64,
    /// Requests that passed uncounted, because the table was full.
    pub overflow_allowed: u64,
    /// Requests that were denied, because the table was full.
    pub overflow_denied: u64,
}

impl std::ops::Add for MemoryStats {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            keys: self.keys + other.keys,
            reclaimed: self.reclaimed + other.reclaimed,
            evicted: self.evicted + other.evicted,
            overflow_allowed: self.overflow_allowed + other.overflow_allowed,
            overflow_denied: self.overflow_denied + other.overflow_denied,
        }
    }
}
