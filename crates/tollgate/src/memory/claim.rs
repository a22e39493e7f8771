//! Writing to a table: the slots that a key has or may have, held under lock.
//!
//! Locks are taken in one order, a home line before the lines behind it, and nothing is held while
//! room is made.

use smallvec::SmallVec;
use tollgate_core::{State, Timestamp};

use super::line::{self, Layout, Line, MAX_REACH};
use super::table::Table;

/// A slot that a key has, or may have, with its line and its home held by a [`Locks`].
#[derive(Debug)]
pub(super) struct Claim {
    hash: u64,
    line: usize,
    slot: usize,
    /// The state of the key.
    pub(super) state: State,
    /// What the slot held before, if the key is new.
    pub(super) vacancy: Option<Vacancy>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Vacancy {
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

impl<L: Layout> Table<L> {
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
}
