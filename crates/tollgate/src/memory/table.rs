//! The key table: a flat array of lines that is probed from a key's home line onward.

use std::marker::PhantomData;

use smallvec::SmallVec;
use tollgate_core::{Ask, Debt, Decision, Limit, State, Step, Timestamp, Verb};

use super::full::{Full, OnFull, Room};
use super::line::{self, Layout, Line, MAX_REACH, MAX_SLOTS, empty_lines};
use super::soonest::Soonest;
use crate::sync::Ordering;

/// Lines in a block, the unit in which a full table is searched for room.
const BLOCK: usize = if cfg!(tollgate_loom) { 2 } else { 16 };

/// Keys of which the least in debt is evicted. Where nearly all are new, one of them is always among
/// so many.
const ENOUGH_TO_CHOOSE_FROM: usize = 16;

/// The states of one limit, by the hash of their key.
///
/// A key lives in its home line or, if that is full, in one of the lines that follow it; the home
/// line knows how far. Nothing ever moves, so a key that was found stays where it is for as long
/// as the version of its line does.
///
/// Locks are taken in one order, a home line before the lines behind it, and nothing is held while
/// room is made.
pub(super) struct Table<L> {
    limit: Limit,
    full: Full,
    lines: Box<[Line]>,
    /// Lines that are a home. Behind them lie [`MAX_REACH`] more, so that no probe wraps around.
    homes: usize,
    soonest: Soonest,
    layout: PhantomData<L>,
}

/// A slot in a table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) slot: usize,
}

impl<L: Layout> Table<L> {
    /// A table for at most `max_keys` keys, or `None` if there is no memory for it.
    pub(super) fn new(limit: Limit, max_keys: usize, on_full: OnFull) -> Option<Self> {
        let homes = L::lines(max_keys).max(1);
        let lines = homes.checked_add(MAX_REACH)?;
        Some(Self {
            limit,
            full: Full::new(max_keys, on_full),
            lines: empty_lines(lines)?,
            homes,
            soonest: Soonest::new(lines.div_ceil(BLOCK)),
            layout: PhantomData,
        })
    }

    pub(super) const fn limit(&self) -> &Limit {
        &self.limit
    }

    pub(super) const fn full(&self) -> &Full {
        &self.full
    }

    /// Decides `ask` for the key that `hash` stands for.
    ///
    /// Touches one cache line, unless the key is displaced or new. A denial and a peek write
    /// nothing.
    pub(super) fn decide(&self, hash: u64, ask: Ask, clock: impl Fn() -> Timestamp) -> Decision {
        let now = clock();
        if ask.verb() == Verb::Refund {
            return self.decide_anywhere(hash, ask, now, &clock);
        }
        let decide = |state| self.limit.decide(state, now, ask);
        self.decide_at_home(hash, decide, || {
            self.decide_anywhere(hash, ask, now, &clock)
        })
    }

    /// As [`Table::decide`], if the key is in its home and nobody is in the way, as is usual; and
    /// `otherwise` if not.
    ///
    /// The clock is read before the line, so that the two overlap. Another thread may charge the
    /// key in between with a later reading; the algorithms allow for that.
    #[inline(always)]
    pub(super) fn decide_at_home(
        &self,
        hash: u64,
        decide: impl FnOnce(State) -> Step,
        otherwise: impl FnOnce() -> Decision,
    ) -> Decision {
        let home = self.home(hash);
        let line = self.line(home);
        if let Some(head) = line::glance(line)
            && let Some(slot) = slot_of::<L>(line, hash)
        {
            let Step { decision, next } = decide(L::state(line, slot));
            let done = match next {
                Some(next) => L::replace(line, head, slot, next),
                None => line::unchanged(line, head),
            };
            if done {
                return decision;
            }
        }
        otherwise()
    }

    /// As [`Table::decide`], wherever the key is, and however long that takes.
    #[inline(never)]
    pub(super) fn decide_anywhere(
        &self,
        hash: u64,
        ask: Ask,
        mut now: Timestamp,
        clock: &impl Fn() -> Timestamp,
    ) -> Decision {
        let mut spins = 0;
        loop {
            let Some((place, head)) = self.find(hash) else {
                let step = self.limit.decide(State::FRESH, now, ask);
                // What changes nothing leaves no trace: a peek, a refund, a cost that never fits.
                return match step.next {
                    None => step.decision,
                    Some(_) => self.decide_new(hash, now, ask, step),
                };
            };
            let line = self.line(place.line);
            let step = self.limit.decide(L::state(line, place.slot), now, ask);
            let done = match step.next {
                Some(next) => L::replace(line, head, place.slot, next),
                None => line::unchanged(line, head),
            };
            if done {
                // A charge only puts off when the key is fresh again; a refund brings it forward.
                if let Some(next) = step.next.filter(|_| ask.verb() == Verb::Refund) {
                    self.note(place.line, next);
                }
                return step.decision;
            }
            line::pause(&mut spins);
            now = clock();
        }
    }

    /// Decides `ask` for several keys, each on its own, at one instant.
    pub(super) fn decide_many(
        &self,
        hashes: &[u64],
        ask: Ask,
        now: Timestamp,
        decisions: &mut [Decision],
    ) {
        // Loads that do not depend on each other are under way at the same time; after this, the
        // lines are in the cache.
        let touch =
            |sum: u64, hash: &u64| sum ^ self.line(self.home(*hash))[0].load(Ordering::Relaxed);
        std::hint::black_box(hashes.iter().fold(0, touch));
        for (hash, decision) in hashes.iter().zip(decisions) {
            *decision = self.decide(*hash, ask, || now);
        }
    }

    /// Where the key is, and the head of its line as it was then.
    #[inline(always)]
    fn find(&self, hash: u64) -> Option<(Place, u64)> {
        let home = self.home(hash);
        loop {
            let line = self.line(home);
            let head = line::read(line);
            if let Some(slot) = slot_of::<L>(line, hash) {
                return Some((Place { line: home, slot }, head));
            }
            let reach = L::reach(line);
            if reach > 0 {
                for index in home + 1..=home + reach {
                    let line = self.line(index);
                    let head = line::read(line);
                    if let Some(slot) = slot_of::<L>(line, hash) {
                        return Some((Place { line: index, slot }, head));
                    }
                }
            }
            if line::unchanged(line, head) {
                return None;
            }
        }
    }

    /// Decides `ask` for a key that was not there a moment ago, under the lock of its home. `fresh` is
    /// the step of a fresh key.
    fn decide_new(&self, hash: u64, now: Timestamp, ask: Ask, fresh: Step) -> Decision {
        let mut spins = 0;
        loop {
            let mut locks = Locks::default();
            let claim = match self.claim(hash, now, &mut locks) {
                Ok(claim) => claim,
                Err(Unclaimed::Busy) => {
                    drop(locks);
                    line::pause(&mut spins);
                    continue;
                }
                Err(Unclaimed::Full) => {
                    drop(locks);
                    match self.make_room(hash, now) {
                        Room::Made => continue,
                        room => return self.full.decision(room, self.limit.quota().limit(), now),
                    }
                }
            };
            let step = match claim.vacancy {
                Some(_) => fresh,
                None => self.limit.decide(claim.state, now, ask),
            };
            match step.next {
                Some(next) => self.commit(&claim, next, &mut locks),
                None => self.give_up(&claim),
            }
            return step.decision;
        }
    }

    /// Finds the slot of a key or a slot for it, and holds what it takes to write there.
    ///
    /// Whoever gets a claim passes it on to [`Table::commit`] or [`Table::give_up`] before `locks`
    /// are dropped.
    pub(super) fn claim<'t>(
        &'t self,
        hash: u64,
        now: Timestamp,
        locks: &mut Locks<'t>,
    ) -> Result<Claim, Unclaimed> {
        let home = self.home(hash);
        if !locks.hold(self.line(home)) {
            return Err(Unclaimed::Busy);
        }
        // With its home locked, nobody else inserts the key, nor any other that belongs here.
        let reach = L::reach(self.line(home));
        let mut furthest = home;
        for index in home..=home + reach {
            let line = self.line(index);
            for slot in 0..L::SLOTS {
                let tag = L::tag(line, slot);
                if tag == hash {
                    if !locks.hold(line) {
                        return Err(Unclaimed::Busy);
                    }
                    // Gone again, if it was evicted before its line was locked.
                    if L::tag(line, slot) == hash {
                        let state = L::state(line, slot);
                        return Ok(Claim {
                            hash,
                            line: index,
                            slot,
                            state,
                            vacancy: None,
                        });
                    }
                } else if index > home && tag != 0 && self.home(tag) == home {
                    furthest = index;
                }
            }
        }
        // Keys that lived further away have gone; do not look for them there any more.
        if furthest < home + reach {
            L::set_reach(self.line(home), furthest - home);
            locks.written = true;
        }
        self.claim_vacancy(hash, now, locks)
    }

    /// Finds a slot for a key whose home is held: the slot of a key that is fresh again, or an
    /// empty one if the table may hold one more key.
    fn claim_vacancy<'t>(
        &'t self,
        hash: u64,
        now: Timestamp,
        locks: &mut Locks<'t>,
    ) -> Result<Claim, Unclaimed> {
        let home = self.home(hash);
        let reserved = self.full.reserve();
        // A key more has to be put somewhere, however far from home; in place of a key that is
        // fresh again it is worth looking only where keys from here live anyway.
        let reach = if reserved {
            MAX_REACH
        } else {
            L::reach(self.line(home)).max(1)
        };
        for index in home..=home + reach {
            let line = self.line(index);
            // Empty slots first: that is quickly seen.
            let vacant = |locks: &Locks<'_>| {
                let empty = |slot: &usize| reserved && L::tag(line, *slot) == 0;
                let fresh =
                    |slot: &usize| (!reserved || index == home) && self.is_fresh(line, *slot, now);
                let mut slots = (0..L::SLOTS).filter(|slot| !locks.has_claimed(line, *slot));
                slots.clone().find(empty).or_else(|| slots.find(fresh))
            };
            if vacant(locks).is_none() {
                continue;
            }
            if !locks.hold(line) {
                self.full.release(u64::from(reserved));
                return Err(Unclaimed::Busy);
            }
            // Look again, now that nobody else writes here.
            let Some(slot) = vacant(locks) else {
                continue;
            };
            let reuses = L::tag(line, slot) != 0;
            if reuses {
                self.full.release(u64::from(reserved));
            }
            locks.claimed.push((line, slot));
            let vacancy = Some(if reuses {
                Vacancy::Reused
            } else {
                Vacancy::Empty
            });
            return Ok(Claim {
                hash,
                line: index,
                slot,
                state: State::FRESH,
                vacancy,
            });
        }
        self.full.release(u64::from(reserved));
        Err(Unclaimed::Full)
    }

    /// Writes the next state of a claimed slot.
    pub(super) fn commit(&self, claim: &Claim, next: State, locks: &mut Locks<'_>) {
        let (line, home) = (self.line(claim.line), self.home(claim.hash));
        locks.written = true;
        L::set_state(line, claim.slot, next);
        if let Some(vacancy) = claim.vacancy {
            L::set_tag(line, claim.slot, claim.hash);
            let reach = claim.line - home;
            if L::reach(self.line(home)) < reach {
                L::set_reach(self.line(home), reach);
            }
            self.full
                .count_reclaimed(u64::from(vacancy == Vacancy::Reused));
        }
        self.note(claim.line, next);
    }

    /// Leaves a claimed slot as it is.
    pub(super) fn give_up(&self, claim: &Claim) {
        self.full
            .release(u64::from(claim.vacancy == Some(Vacancy::Empty)));
    }

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

    /// Forgets the key that is the least in debt, of a few dozen near `home`.
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

    /// Whether the slot holds a key that can no longer be told from one that was never seen.
    #[inline]
    fn is_fresh(&self, line: &Line, slot: usize, now: Timestamp) -> bool {
        L::tag(line, slot) != 0 && self.limit.fresh_at(L::state(line, slot)) <= now
    }

    #[inline]
    fn note(&self, line: usize, state: State) {
        self.soonest
            .note(line / BLOCK, self.limit.fresh_at(state).as_nanos());
    }

    fn block(&self, block: usize) -> std::ops::Range<usize> {
        block * BLOCK..((block + 1) * BLOCK).min(self.homes + MAX_REACH)
    }

    /// The line where a key belongs: the upper bits of the hash, spread over all homes.
    #[inline(always)]
    fn home(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.homes as u128) >> 64) as usize
    }

    #[inline(always)]
    fn line(&self, index: usize) -> &Line {
        &self.lines[index]
    }
}

/// A slot that a key has, or may have, with its line and its home held by a [`Locks`].
#[derive(Debug)]
pub(super) struct Claim {
    hash: u64,
    line: usize,
    slot: usize,
    /// The state of the key.
    pub(super) state: State,
    /// What the slot held before, if the key is new.
    vacancy: Option<Vacancy>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Vacancy {
    /// Nothing; one more key is counted.
    Empty,
    /// A key that is fresh again.
    Reused,
}

/// Why there is no claim.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Unclaimed {
    /// Somebody else holds a line for long; drop the locks and try again.
    Busy,
    /// There is no room; drop the locks and make some.
    Full,
}

/// The lines that one caller holds, and the vacant slots in them that it has in mind.
///
/// Whoever wants more than one line only tries, and drops all of them if it does not get one, so
/// that no two callers wait for each other.
#[derive(Default)]
pub(super) struct Locks<'t> {
    lines: SmallVec<[&'t Line; 4]>,
    claimed: SmallVec<[(&'t Line, usize); 4]>,
    written: bool,
}

impl<'t> Locks<'t> {
    fn hold(&mut self, line: &'t Line) -> bool {
        if self.lines.iter().any(|held| std::ptr::eq(*held, line)) {
            return true;
        }
        let held = line::lock_soon(line);
        if held {
            self.lines.push(line);
        }
        held
    }

    fn has_claimed(&self, line: &Line, slot: usize) -> bool {
        self.claimed
            .iter()
            .any(|claimed| std::ptr::eq(claimed.0, line) && claimed.1 == slot)
    }
}

impl Drop for Locks<'_> {
    fn drop(&mut self) {
        for line in self.lines.iter().rev() {
            if self.written {
                line::unlock(line);
            } else {
                line::unlock_unchanged(line);
            }
        }
    }
}

/// A key that may be forgotten.
#[derive(Clone, Copy, Debug)]
struct Debtor {
    slot: usize,
    tag: u64,
    debt: Debt,
}

#[inline(always)]
fn slot_of<L: Layout>(line: &Line, hash: u64) -> Option<usize> {
    (0..L::SLOTS).find(|slot| L::tag(line, *slot) == hash)
}
