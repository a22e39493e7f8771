//! The store in the process: bounded tables, no background work.
//!
//! Every limit has a table of its own, so limits on one store never share a state, a flood of keys
//! on one leaves the others alone, and a table knows when any of its keys is fresh again.
//!
//! | file | what it holds |
//! |---|---|
//! | `line` | a few slots in one cache line under one lock, readable without taking it |
//! | `table` | the lines of a limit: where a key is, and what is decided |
//! | `claim` | the slots that a key has or may have, held under lock |
//! | `room` | making room: what has refilled, then by the rule for a full table |
//! | `soonest` | which block of a table has a slot that is free again |
//! | `logs` | the states that do not fit a slot: the logs of rolling windows |
//! | `full` | the bound on keys, what happens when it is met, and its counters |
//! | `batch` | several charges at once, all or none |

mod batch;
mod claim;
mod full;
mod line;
mod logs;
#[cfg(all(test, tollgate_loom))]
mod model;
mod room;
mod soonest;
mod table;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Weak};

use tollgate_core::{Ask, Cost, Decision, Limit, Steady, Timestamp};

pub use self::full::{MemoryStats, OnFull};

use self::full::{Full, Room};
use self::line::{COMPACT_USED, Compact, Wide};
use self::logs::Logs;
use self::table::Table;
use crate::clock::Clock;
use crate::key::{Key, KeyHasher};
use crate::store::{Answer, BindError, Charge, LimitSpec, LocalStore, Store, StoreError};
use crate::sync::{Mutex, lock};

/// The default bound on the keys of a limit: far more than are active in one window of a usual
/// service, and less than three megabytes.
const DEFAULT_MAX_KEYS: usize = 100_000;

/// The store that keeps its states in the process.
///
/// Its memory is bounded by [`max_keys`](MemoryStoreBuilder::max_keys) for each limit, and taken up
/// as keys arrive: about 27 bytes a key for most limits, 39 for sliding windows and for limits
/// above 268,435 tokens, and 16 bytes for each admitted instant of a rolling window. A key that has
/// refilled leaves its place to the next new key; nothing runs in the background.
///
/// With N replicas of a service, each with a store in memory, the limit of the service is N times
/// the limit of the store.
///
/// Clones share their states.
#[derive(Clone)]
pub struct MemoryStore(Arc<Shared>);

struct Shared {
    max_keys: usize,
    on_full: OnFull,
    clock: Clock,
    hasher: KeyHasher,
    /// The limits that are in use, by policy and number of the quota.
    limits: Mutex<HashMap<Name, Weak<Bound>>>,
}

type Name = (Box<str>, u16);

/// A limit that is bound to a [`MemoryStore`], with its table of keys.
#[derive(Clone)]
pub struct MemoryLimit(Arc<Bound>);

struct Bound {
    shape: Shape,
    clock: Clock,
    /// Makes the time of a clock that may go back one that does not.
    steady: Mutex<Steady>,
    hasher: KeyHasher,
}

/// Where the states of a limit lie, by what they have to hold.
enum Shape {
    Compact(Table<Compact>),
    Wide(Table<Wide>),
    Logs(Logs),
}

impl MemoryStore {
    /// A store with the defaults: 100,000 keys a limit, of which the least in debt is forgotten
    /// when there are more, and the system's monotonic clock.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Starts a store that differs from the defaults.
    pub fn builder() -> MemoryStoreBuilder {
        MemoryStoreBuilder {
            max_keys: DEFAULT_MAX_KEYS,
            on_full: OnFull::default(),
            clock: Clock::default(),
        }
    }

    /// The clock of the store.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// The keys of all limits, and what became of others.
    #[must_use]
    pub fn stats(&self) -> MemoryStats {
        let total = |total, bound: Arc<Bound>| total + bound.full().stats();
        self.bounds()
            .into_iter()
            .fold(MemoryStats::default(), total)
    }

    /// Frees the places of all keys that have refilled, and says how many there were.
    ///
    /// Never needed: new keys take those places by themselves. It makes [`MemoryStats::keys`] the
    /// number of keys in debt.
    #[expect(
        clippy::must_use_candidate,
        reason = "reclaiming is what it is called for"
    )]
    pub fn reclaim(&self) -> u64 {
        self.bounds().iter().map(|bound| bound.reclaim()).sum()
    }

    fn bounds(&self) -> Vec<Arc<Bound>> {
        lock(&self.0.limits)
            .values()
            .filter_map(Weak::upgrade)
            .collect()
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("max_keys", &self.0.max_keys)
            .field("on_full", &self.0.on_full)
            .field("clock", &self.0.clock)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

impl Store for MemoryStore {
    type Limit = MemoryLimit;

    fn bind(&self, spec: &LimitSpec<'_>) -> Result<MemoryLimit, BindError> {
        let mut limits = lock(&self.0.limits);
        let name = (Box::from(spec.policy), spec.index);
        if limits
            .get(&name)
            .is_some_and(|bound| bound.strong_count() > 0)
        {
            return Err(BindError::NameTaken {
                policy: spec.policy.into(),
                index: spec.index,
            });
        }
        let bound = Arc::new(Bound {
            shape: Shape::new(spec, self.0.max_keys, self.0.on_full).ok_or(
                BindError::OutOfMemory {
                    max_keys: self.0.max_keys,
                },
            )?,
            clock: self.0.clock.clone(),
            steady: Mutex::default(),
            hasher: self.0.hasher.clone(),
        });
        limits.retain(|_, bound| bound.strong_count() > 0);
        limits.insert(name, Arc::downgrade(&bound));
        Ok(MemoryLimit(bound))
    }

    fn local_clock(&self) -> Clock {
        self.0.clock.clone()
    }

    fn apply<'a>(
        &'a self,
        charges: &'a [Charge<'a, MemoryLimit>],
        decisions: &'a mut [Decision],
    ) -> Answer<'a, Result<(), StoreError>> {
        self.apply_now(charges, decisions);
        Answer::ready(Ok(()))
    }
}

impl LocalStore for MemoryStore {
    #[inline]
    fn apply_now(&self, charges: &[Charge<'_, MemoryLimit>], decisions: &mut [Decision]) {
        match (charges, decisions) {
            ([charge], [decision, ..]) => {
                *decision = self.apply_one(charge.limit, charge.key, charge.ask);
            }
            (charges, decisions) => {
                debug_assert_eq!(charges.len(), decisions.len());
                let len = charges.len().min(decisions.len());
                batch::apply(&charges[..len], &mut decisions[..len]);
            }
        }
    }

    #[inline(always)]
    fn apply_one(&self, limit: &MemoryLimit, key: &Key<'_>, ask: Ask) -> Decision {
        limit.0.decide(key, ask)
    }

    fn apply_many(
        &self,
        limit: &MemoryLimit,
        keys: &[Key<'_>],
        ask: Ask,
        decisions: &mut [Decision],
    ) {
        limit.0.decide_many(keys, ask, decisions);
    }
}

impl MemoryLimit {
    /// The keys of this limit, and what became of others.
    #[must_use]
    pub fn stats(&self) -> MemoryStats {
        self.0.full().stats()
    }

    fn bound(&self) -> &Bound {
        &self.0
    }
}

impl fmt::Debug for MemoryLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryLimit")
            .field("quota", self.0.limit().quota())
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

impl Shape {
    fn new(spec: &LimitSpec<'_>, max_keys: usize, on_full: OnFull) -> Option<Self> {
        let limit = Limit::with_debt(spec.quota, spec.debt);
        if limit.keeps_log() {
            return Some(Self::Logs(Logs::new(limit, max_keys, on_full)));
        }
        if limit.most_used() <= COMPACT_USED && !limit.uses_before() {
            return Some(Self::Compact(Table::new(limit, max_keys, on_full)?));
        }
        Some(Self::Wide(Table::new(limit, max_keys, on_full)?))
    }
}

impl Bound {
    /// Inlined up to the hash, so that the kind of the key is known; the rest is one call.
    #[inline(always)]
    fn decide(&self, key: &Key<'_>, ask: Ask) -> Decision {
        let hash = self.hash(key);
        match &self.shape {
            Shape::Compact(table) if ask.is_check_now() => self.check(table, hash, ask.cost()),
            _ => self.ask(hash, ask),
        }
    }

    /// The one question that is asked most, of the most usual limit.
    #[inline(never)]
    fn check(&self, table: &Table<Compact>, hash: u64, cost: Cost) -> Decision {
        let now = self.now();
        let slowly = || self.check_slowly(table, hash, cost, now);
        match table.limit().as_quick_bucket() {
            Some(bucket) => {
                let decide = |state| bucket.decide_quickly(state, now, Ask::check(cost));
                table.decide_at_home(hash, decide, slowly)
            }
            None => slowly(),
        }
    }

    #[inline(never)]
    fn check_slowly(
        &self,
        table: &Table<Compact>,
        hash: u64,
        cost: Cost,
        now: Timestamp,
    ) -> Decision {
        table.decide_anywhere(hash, Ask::check(cost), now, &|| self.now())
    }

    #[inline(never)]
    fn ask(&self, hash: u64, ask: Ask) -> Decision {
        match &self.shape {
            Shape::Compact(table) => table.decide(hash, ask, || self.now()),
            Shape::Wide(table) => table.decide(hash, ask, || self.now()),
            Shape::Logs(logs) => logs.decide(hash, ask, || self.now()),
        }
    }

    fn decide_many(&self, keys: &[Key<'_>], ask: Ask, decisions: &mut [Decision]) {
        /// As many lines as a core fetches side by side.
        const SIDE_BY_SIDE: usize = 16;
        let chunks = keys
            .chunks(SIDE_BY_SIDE)
            .zip(decisions.chunks_mut(SIDE_BY_SIDE));
        for (keys, decisions) in chunks {
            let mut hashes = [0; SIDE_BY_SIDE];
            for (hash, key) in hashes.iter_mut().zip(keys) {
                *hash = self.hash(key);
            }
            let hashes = &hashes[..keys.len().min(decisions.len())];
            let now = self.now();
            match &self.shape {
                Shape::Compact(table) => table.decide_many(hashes, ask, now, decisions),
                Shape::Wide(table) => table.decide_many(hashes, ask, now, decisions),
                Shape::Logs(logs) => {
                    for (hash, decision) in hashes.iter().zip(decisions) {
                        *decision = logs.decide(*hash, ask, || now);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn hash(&self, key: &Key<'_>) -> u64 {
        self.hasher.hash(key)
    }

    /// The time of this limit, which never goes back.
    #[inline(always)]
    fn now(&self) -> Timestamp {
        match self.clock.steady_now() {
            Some(now) => now,
            None => self.made_steady(self.clock.now()),
        }
    }

    #[cold]
    fn made_steady(&self, now: Timestamp) -> Timestamp {
        lock(&self.steady).advance(now, self.limit().span())
    }

    fn limit(&self) -> &Limit {
        match &self.shape {
            Shape::Compact(table) => table.limit(),
            Shape::Wide(table) => table.limit(),
            Shape::Logs(logs) => logs.limit(),
        }
    }

    fn full(&self) -> &Full {
        match &self.shape {
            Shape::Compact(table) => table.full(),
            Shape::Wide(table) => table.full(),
            Shape::Logs(logs) => logs.full(),
        }
    }

    fn make_room(&self, hash: u64, now: Timestamp) -> Room {
        match &self.shape {
            Shape::Compact(table) => table.make_room(hash, now),
            Shape::Wide(table) => table.make_room(hash, now),
            Shape::Logs(logs) => logs.make_room(hash, now),
        }
    }

    fn overflow(&self, room: Room, now: Timestamp) -> Decision {
        self.full()
            .decision(room, self.limit().quota().limit(), now)
    }

    fn reclaim(&self) -> u64 {
        let now = self.now();
        match &self.shape {
            Shape::Compact(table) => table.reclaim(now),
            Shape::Wide(table) => table.reclaim(now),
            Shape::Logs(logs) => logs.reclaim(now),
        }
    }
}

/// A [`MemoryStore`] in the making; see [`MemoryStore::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct MemoryStoreBuilder {
    max_keys: usize,
    on_full: OnFull,
    clock: Clock,
}

impl MemoryStoreBuilder {
    /// Bounds the keys that each limit keeps, to at least one. The default is 100,000.
    pub fn max_keys(self, max_keys: usize) -> Self {
        Self {
            max_keys: max_keys.max(1),
            ..self
        }
    }

    /// Says what to do with a new key when all places are taken by keys in debt.
    pub fn on_full(self, on_full: OnFull) -> Self {
        Self { on_full, ..self }
    }

    /// Replaces the system's clock.
    pub fn clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Makes the store, with a secret of its own by which it hashes keys.
    #[must_use]
    pub fn build(self) -> MemoryStore {
        MemoryStore(Arc::new(Shared {
            max_keys: self.max_keys,
            on_full: self.on_full,
            clock: self.clock,
            hasher: KeyHasher::new(),
            limits: Mutex::default(),
        }))
    }
}
