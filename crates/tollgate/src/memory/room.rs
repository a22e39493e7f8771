//! Making room in a table: keys that have refilled first, then by the rule for a full table.

use std::ops::Range;

use tollgate_core::{Debt, State, Timestamp};

use super::full::{OnFull, Room};
use super::line::{self, Layout, Line, MAX_REACH, MAX_SLOTS};
use super::table::Table;

/// Lines in a block, the unit in which a full table is searched for room.
pub(super) const BLOCK: usize = if cfg!(tollgate_loom) { 2 } else { 16 };

/// Keys of which the least in debt is evicted. Where nearly all are new, one of them is always among
/// so many.
const ENOUGH_TO_CHOOSE_FROM: usize = 16;

impl<L: Layout> Table<L> {
    /// Makes room for one key, by what the store is to do when it is full.
    pub(super) fn make_room(&self, hash: u64, now: Timestamp) -> Room {
        while let Some(block) = self.soonest.find(now.as_nanos()) {
            if self.reclaim_block(block, now) > 0 {
                return Room::Made;
            }
        }
        match self.full.on_full() {
            OnFull::Evict => self.evict(self.home(hash)),
            OnFull::Allow => Room::Allow,
            OnFull::Deny => Room::Deny {
                until: Timestamp::from_nanos(self.soonest.soonest()),
            },
        }
    }

    /// Frees every slot that is fresh again, and says how many there were.
    pub(super) fn reclaim(&self, now: Timestamp) -> u64 {
        let mut freed = 0;
        while let Some(block) = self.soonest.find(now.as_nanos()) {
            freed += self.reclaim_block(block, now);
        }
        freed
    }

    /// Frees the slots of a block that are fresh again.
    fn reclaim_block(&self, block: usize, now: Timestamp) -> u64 {
        self.soonest.look(block);
        let (mut freed, mut soonest) = (0, u64::MAX);
        for index in self.block(block) {
            let line = self.line(index);
            let mut first = self.first_fresh(line);
            if first.is_some_and(|first| first <= now) {
                line::lock(line);
                for slot in 0..L::SLOTS {
                    if self.is_fresh(line, slot, now) {
                        L::set_tag(line, slot, 0);
                        freed += 1;
                    }
                }
                line::unlock(line);
                first = self.first_fresh(line);
            }
            soonest = soonest.min(first.map_or(u64::MAX, Timestamp::as_nanos));
        }
        self.soonest.note(block, soonest);
        self.soonest.looked(block);
        self.full.release(freed);
        self.full.count_reclaimed(freed);
        freed
    }

    /// Forgets the key that is the least in debt, of a few near `home`.
    fn evict(&self, home: usize) -> Room {
        let blocks = (self.homes + MAX_REACH).div_ceil(BLOCK);
        let near = home / BLOCK;
        let mut seen = 0;
        let mut least: Option<(usize, Debtor)> = None;
        'search: for block in (near..blocks).chain(0..near) {
            for index in self.block(block) {
                let debtors = self.read_slots(self.line(index), |slot, tag, state| Debtor {
                    slot,
                    tag,
                    debt: self.limit.debt(state),
                });
                for debtor in debtors.into_iter().flatten() {
                    seen += 1;
                    if least.is_none_or(|(_, least)| debtor.debt < least.debt) {
                        least = Some((index, debtor));
                    }
                }
                if seen >= ENOUGH_TO_CHOOSE_FROM {
                    break 'search;
                }
            }
        }
        // Not one key in the whole table: then others have just left, and there is room.
        let Some((index, debtor)) = least else {
            return Room::Made;
        };
        let line = self.line(index);
        line::lock(line);
        let evicted = L::tag(line, debtor.slot) == debtor.tag
            && self.limit.debt(L::state(line, debtor.slot)) == debtor.debt;
        if evicted {
            L::set_tag(line, debtor.slot, 0);
        }
        line::unlock(line);
        if evicted {
            self.full.release(1);
            self.full.count_evicted();
        }
        // If another thread was quicker there is room too, or the caller comes again.
        Room::Made
    }

    /// When the first key of a line is fresh again.
    fn first_fresh(&self, line: &Line) -> Option<Timestamp> {
        let fresh_at = self.read_slots(line, |_, _, state| self.limit.fresh_at(state));
        fresh_at.into_iter().flatten().min()
    }

    /// What `read` makes of each key of a line, by slot, tag and state, read in one piece.
    fn read_slots<T>(
        &self,
        line: &Line,
        read: impl Fn(usize, u64, State) -> T,
    ) -> [Option<T>; MAX_SLOTS] {
        loop {
            let head = line::read(line);
            let slots = std::array::from_fn(|slot| {
                let tag = if slot < L::SLOTS {
                    L::tag(line, slot)
                } else {
                    0
                };
                (tag != 0).then(|| read(slot, tag, L::state(line, slot)))
            });
            if line::unchanged(line, head) {
                return slots;
            }
        }
    }

    /// The lines of a block.
    fn block(&self, block: usize) -> Range<usize> {
        block * BLOCK..((block + 1) * BLOCK).min(self.homes + MAX_REACH)
    }
}

/// A key that may be forgotten.
#[derive(Clone, Copy, Debug)]
struct Debtor {
    slot: usize,
    tag: u64,
    debt: Debt,
}
