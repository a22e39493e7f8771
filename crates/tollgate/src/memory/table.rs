//! The key table: a flat array of lines that is probed from a key's home line onward.
//!
//! Here is how a key is found and decided on; `claim` has how it is written under lock, and `room`
//! how room is made for it.

use std::marker::PhantomData;

use tollgate_core::{Ask, Decision, Limit, State, Step, Timestamp, Verb};

use super::claim::{Locks, Unclaimed};
use super::full::{Full, OnFull, Room};
use super::line::{self, Layout, Line, MAX_REACH, empty_lines};
use super::room::BLOCK;
use super::soonest::Soonest;
use crate::sync::Ordering;

/// The states of one limit, by the hash of their key.
///
/// A key lives in its home line or, if that is full, in one of the lines that follow it; the home
/// line knows how far. Nothing ever moves, so a key that was found stays where it is for as long
/// as the version of its line does.
///
/// Locks are taken in one order, a home line before the lines behind it, and nothing is held while
/// room is made.
pub(super) struct Table<L> {
    pub(super) limit: Limit,
    pub(super) full: Full,
    lines: Box<[Line]>,
    /// Lines that are a home. Behind them lie [`MAX_REACH`] more, so that no probe wraps around.
    pub(super) homes: usize,
    pub(super) soonest: Soonest,
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

    /// Whether the slot holds a key that can no longer be told from one that was never seen.
    #[inline]
    pub(super) fn is_fresh(&self, line: &Line, slot: usize, now: Timestamp) -> bool {
        L::tag(line, slot) != 0 && self.limit.fresh_at(L::state(line, slot)) <= now
    }

    #[inline]
    pub(super) fn note(&self, line: usize, state: State) {
        self.soonest
            .note(line / BLOCK, self.limit.fresh_at(state).as_nanos());
    }

    /// The line where a key belongs: the upper bits of the hash, spread over all homes.
    #[inline(always)]
    pub(super) fn home(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.homes as u128) >> 64) as usize
    }

    #[inline(always)]
    pub(super) fn line(&self, index: usize) -> &Line {
        &self.lines[index]
    }
}

#[inline(always)]
fn slot_of<L: Layout>(line: &Line, hash: u64) -> Option<usize> {
    (0..L::SLOTS).find(|slot| L::tag(line, *slot) == hash)
}
