//! Who is in flight, and who waits for that.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use ahash::RandomState;

use crate::clock::Clock;
use crate::key::{Key, KeyHasher};

pub(super) struct Seats {
    max: usize,
    max_waiters: usize,
    pub(super) clock: Clock,
    hasher: KeyHasher,
    waiting: AtomicUsize,
    stopped: AtomicBool,
    shards: [Mutex<Keys>; SHARDS],
}

type Keys = HashMap<u64, Room, RandomState>;

const SHARDS: usize = 8;

/// One key. Invariant: nobody waits unless as many as may are in flight.
#[derive(Default)]
struct Room {
    in_flight: usize,
    waiters: VecDeque<Arc<Seat>>,
}

/// A place in the line for one key.
#[derive(Debug, Default)]
pub(super) struct Seat {
    /// Whether a permit was handed over.
    granted: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Seat {
    pub(super) fn is_granted(&self) -> bool {
        self.granted.load(Ordering::Acquire)
    }

    /// Remembers whom to wake; to be called before [`Seat::is_granted`].
    pub(super) fn tell(&self, waker: &Waker) {
        let mut known = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *known {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }

    fn wake(&self) {
        let waker = self
            .waker
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// What a caller gets who wants to wait.
pub(super) enum Entry {
    /// A permit, at once.
    Granted,
    /// A place in the line.
    Waiting(Arc<Seat>),
    /// Neither, because so many wait already.
    Full(usize),
}

impl Seats {
    pub(super) fn new(max: usize, max_waiters: usize, clock: Clock) -> Self {
        Self {
            max,
            max_waiters,
            clock,
            hasher: KeyHasher::new(),
            waiting: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
            shards: Default::default(),
        }
    }

    pub(super) fn hash(&self, key: &Key<'_>) -> u64 {
        self.hasher.hash(key)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Acquire)
    }

    pub(super) fn in_flight(&self, hash: u64) -> usize {
        self.shard(hash).get(&hash).map_or(0, |room| room.in_flight)
    }

    pub(super) fn try_take(&self, hash: u64) -> bool {
        !self.is_stopped() && self.take(&mut self.shard(hash), hash)
    }

    /// Takes a permit, or a place in the line.
    pub(super) fn enter(&self, hash: u64) -> Entry {
        let mut keys = self.shard(hash);
        if self.take(&mut keys, hash) {
            return Entry::Granted;
        }
        let add = |waiting| (waiting < self.max_waiters).then_some(waiting + 1);
        let counted = self
            .waiting
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, add);
        if counted.is_err() {
            return Entry::Full(self.max_waiters);
        }
        let seat = Arc::new(Seat::default());
        let room = keys.entry(hash).or_default();
        room.waiters.push_back(Arc::clone(&seat));
        Entry::Waiting(seat)
    }

    /// Leaves the line, with whatever was handed over meanwhile.
    pub(super) fn leave(&self, hash: u64, seat: &Arc<Seat>) {
        let mut keys = self.shard(hash);
        let place = keys.get_mut(&hash).and_then(|room| {
            let place = room
                .waiters
                .iter()
                .position(|other| Arc::ptr_eq(other, seat))?;
            room.waiters.remove(place)
        });
        drop(keys);
        if place.is_some() {
            self.waiting.fetch_sub(1, Ordering::AcqRel);
        } else if seat.is_granted() {
            self.give_back(hash);
        }
    }

    /// Gives a permit back: to the first in line, if there is one.
    pub(super) fn give_back(&self, hash: u64) {
        let mut keys = self.shard(hash);
        let Some(room) = keys.get_mut(&hash) else {
            return;
        };
        let Some(next) = room.waiters.pop_front() else {
            room.in_flight = room.in_flight.saturating_sub(1);
            if room.in_flight == 0 {
                keys.remove(&hash);
                if keys.is_empty() {
                    *keys = Keys::default();
                }
            }
            return;
        };
        next.granted.store(true, Ordering::Release);
        drop(keys);
        self.waiting.fetch_sub(1, Ordering::AcqRel);
        next.wake();
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        for shard in &self.shards {
            let waiters: Vec<_> = {
                let keys = shard.lock().unwrap_or_else(PoisonError::into_inner);
                keys.values()
                    .flat_map(|room| room.waiters.iter().cloned())
                    .collect()
            };
            waiters.iter().for_each(|seat| seat.wake());
        }
    }

    fn take(&self, keys: &mut Keys, hash: u64) -> bool {
        let room = keys.entry(hash).or_default();
        let free = room.in_flight < self.max;
        room.in_flight += usize::from(free);
        free
    }

    fn shard(&self, hash: u64) -> MutexGuard<'_, Keys> {
        // A map is never half written.
        self.shards[hash as usize % SHARDS]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Seats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Concurrency")
            .field("max", &self.max)
            .field("waiting", &self.waiting())
            .finish_non_exhaustive()
    }
}
