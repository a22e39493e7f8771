//! The states that are logs: a few maps, each under a lock, in which every key has its log.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use tollgate_core::{Ask, Debt, Decision, Limit, Log, Timestamp, Verb};

use super::full::{Full, OnFull, Room};
use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering, lock, try_lock};

/// Maps among which keys are divided, so that callers rarely wait for each other.
const SHARDS: usize = 64;

/// Keys of which the least in debt is evicted, as in a table.
const ENOUGH_TO_CHOOSE_FROM: usize = 16;

/// The logs of one rolling window, by the hash of their key.
pub(super) struct Logs {
    limit: Limit,
    full: Full,
    shards: Box<[Shard]>,
}

struct Shard {
    keys: Mutex<Keys>,
    /// A time before which no key here is fresh again.
    soonest: AtomicU64,
}

/// The keys of a shard.
#[derive(Default)]
pub(super) struct Keys {
    logs: HashMap<u64, Log, BuildHasherDefault<AsIs>>,
    /// For every key, a time that is not later than when it is fresh again. Charges leave it as it
    /// is; it is put right when it comes to the front.
    due: BinaryHeap<Reverse<(u64, u64)>>,
}

/// What a claim on a log stands for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum LogPlace {
    /// A log that is there.
    Taken,
    /// Room for one key more, counted already.
    Reserved,
}

impl Logs {
    pub(super) fn new(limit: Limit, max_keys: usize, on_full: OnFull) -> Self {
        let shard = || Shard {
            keys: Mutex::default(),
            soonest: AtomicU64::new(u64::MAX),
        };
        Self {
            limit,
            full: Full::new(max_keys, on_full),
            shards: (0..SHARDS).map(|_| shard()).collect(),
        }
    }

    pub(super) const fn limit(&self) -> &Limit {
        &self.limit
    }

    pub(super) const fn full(&self) -> &Full {
        &self.full
    }

    /// Decides `ask` for the key that `hash` stands for.
    pub(super) fn decide(&self, hash: u64, ask: Ask, clock: impl Fn() -> Timestamp) -> Decision {
        loop {
            let mut keys = self.hold(hash);
            // Read under the lock, so that a log never sees time go back.
            let now = clock();
            if let Some(mut place) = self.claim(&keys, hash) {
                let decision = self.apply(&mut keys, hash, now, ask, &mut place);
                self.give_up(place);
                return decision;
            }
            drop(keys);
            match self.make_room(hash, now) {
                Room::Made => {}
                room => return self.full.decision(room, self.limit.quota().limit(), now),
            }
        }
    }

    /// Holds the keys among which `hash` is.
    fn hold(&self, hash: u64) -> MutexGuard<'_, Keys> {
        lock(&self.shard(hash).keys)
    }

    /// As [`Logs::hold`], unless somebody else holds them.
    pub(super) fn try_hold(&self, hash: u64) -> Option<MutexGuard<'_, Keys>> {
        try_lock(&self.shard(hash).keys)
    }

    /// Whether `a` and `b` are held together.
    pub(super) fn held_together(a: u64, b: u64) -> bool {
        index(a) == index(b)
    }

    /// Finds or makes a place for a key among those that are held; `None` if there is no room.
    /// Whoever gets one passes it on to [`Logs::give_up`].
    pub(super) fn claim(&self, keys: &Keys, hash: u64) -> Option<LogPlace> {
        if keys.logs.contains_key(&hash) {
            return Some(LogPlace::Taken);
        }
        self.full.reserve().then_some(LogPlace::Reserved)
    }

    /// Gives a place back that no key took.
    pub(super) fn give_up(&self, place: LogPlace) {
        self.full.release(u64::from(place == LogPlace::Reserved));
    }

    /// Decides `ask` for a key among those that are held.
    pub(super) fn apply(
        &self,
        keys: &mut Keys,
        hash: u64,
        now: Timestamp,
        ask: Ask,
        place: &mut LogPlace,
    ) -> Decision {
        if let Some(log) = keys.logs.get_mut(&hash) {
            let decision = self.limit.decide_log(log, now, ask);
            if ask.verb() == Verb::Refund {
                let fresh_at = self.limit.log_fresh_at(log).as_nanos();
                self.note(keys, hash, fresh_at);
            }
            return decision;
        }
        let mut log = Log::default();
        let decision = self.limit.decide_log(&mut log, now, ask);
        if !log.is_empty() {
            let fresh_at = self.limit.log_fresh_at(&log).as_nanos();
            keys.logs.insert(hash, log);
            self.note(keys, hash, fresh_at);
            *place = LogPlace::Taken;
        }
        decision
    }

    /// Makes room for one key, by what the store is to do when it is full.
    pub(super) fn make_room(&self, hash: u64, now: Timestamp) -> Room {
        let near = index(hash);
        let order = || {
            (near..SHARDS)
                .chain(0..near)
                .filter_map(|index| self.shards.get(index))
        };
        let due = |shard: &&Shard| shard.soonest.load(Ordering::Acquire) <= now.as_nanos();
        if order()
            .filter(due)
            .any(|shard| self.reclaim_shard(shard, now) > 0)
        {
            return Room::Made;
        }
        match self.full.on_full() {
            OnFull::Evict => {
                self.evict(hash);
                Room::Made
            }
            OnFull::Allow => Room::Allow,
            OnFull::Deny => {
                let soonest = order()
                    .map(|shard| shard.soonest.load(Ordering::Acquire))
                    .min();
                Room::Deny {
                    until: Timestamp::from_nanos(soonest.unwrap_or(u64::MAX)),
                }
            }
        }
    }

    /// Frees every key that is fresh again, and says how many there were.
    pub(super) fn reclaim(&self, now: Timestamp) -> u64 {
        self.shards
            .iter()
            .map(|shard| self.reclaim_shard(shard, now))
            .sum()
    }

    fn reclaim_shard(&self, shard: &Shard, now: Timestamp) -> u64 {
        let keys = &mut lock(&shard.keys);
        let mut freed = 0;
        while let Some((fresh_at, hash)) =
            self.first(keys).filter(|first| first.0 <= now.as_nanos())
        {
            debug_assert!(fresh_at <= now.as_nanos());
            keys.logs.remove(&hash);
            keys.due.pop();
            freed += 1;
        }
        self.settle(shard, keys);
        self.full.release(freed);
        self.full.count_reclaimed(freed);
        freed
    }

    /// Forgets the key that is the least in debt, of a few near `hash`.
    fn evict(&self, hash: u64) {
        let near = index(hash);
        let mut seen = 0;
        let mut least: Option<(Debt, u64)> = None;
        for index in (near..SHARDS).chain(0..near) {
            let keys = lock(&self.shards[index].keys);
            // Any run of the keys will do; where it starts is as random as the hash.
            let due = keys.due.as_slice();
            let start = usize::try_from(hash)
                .unwrap_or(0)
                .checked_rem(due.len())
                .unwrap_or(0);
            let run = due[start..]
                .iter()
                .chain(&due[..start])
                .take(2 * ENOUGH_TO_CHOOSE_FROM);
            for Reverse((_, hash)) in run {
                if let Some(log) = keys.logs.get(hash) {
                    seen += 1;
                    let debtor = (self.limit.log_debt(log), *hash);
                    least = Some(least.map_or(debtor, |least| least.min(debtor)));
                }
            }
            if seen >= ENOUGH_TO_CHOOSE_FROM {
                break;
            }
        }
        // If there is none, or another thread was quicker, there is room or the caller comes again.
        if let Some((debt, hash)) = least {
            let keys = &mut *self.hold(hash);
            if keys
                .logs
                .get(&hash)
                .is_some_and(|log| self.limit.log_debt(log) == debt)
            {
                keys.logs.remove(&hash);
                self.full.release(1);
                self.full.count_evicted();
            }
        }
    }

    /// The key that is fresh again first, and when; it is at the front of `due` then.
    fn first(&self, keys: &mut Keys) -> Option<(u64, u64)> {
        loop {
            let Reverse((noted, hash)) = *keys.due.peek()?;
            let Some(log) = keys.logs.get(&hash) else {
                keys.due.pop();
                continue;
            };
            let fresh_at = self.limit.log_fresh_at(log).as_nanos();
            if fresh_at <= noted {
                return Some((fresh_at, hash));
            }
            if let Some(mut front) = keys.due.peek_mut() {
                *front = Reverse((fresh_at, hash));
            }
        }
    }

    fn note(&self, keys: &mut Keys, hash: u64, fresh_at: u64) {
        keys.due.push(Reverse((fresh_at, hash)));
        // Refunds leave notes behind that come to the front only later; do not let them pile up.
        if keys.due.len() > 2 * keys.logs.len() + 16 {
            let logs = &keys.logs;
            let fresh_at = |log| self.limit.log_fresh_at(log).as_nanos();
            keys.due = logs
                .iter()
                .map(|(hash, log)| Reverse((fresh_at(log), *hash)))
                .collect();
        }
        self.shard(hash)
            .soonest
            .fetch_min(fresh_at, Ordering::AcqRel);
    }

    /// Raises the bound of a shard that is held to what it is.
    fn settle(&self, shard: &Shard, keys: &Keys) {
        let soonest = keys
            .due
            .peek()
            .map_or(u64::MAX, |Reverse((fresh_at, _))| *fresh_at);
        shard.soonest.store(soonest, Ordering::Release);
    }

    fn shard(&self, hash: u64) -> &Shard {
        &self.shards[index(hash)]
    }
}

/// The shard of a key: the upper bits of its hash; the map looks at all of them.
fn index(hash: u64) -> usize {
    (hash >> 32) as usize % SHARDS
}

/// Takes a hash as it is: keys are hashed with a secret before they come here.
#[derive(Default)]
pub(super) struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
