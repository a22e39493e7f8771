//! Several charges at once: all or none.

use smallvec::{SmallVec, smallvec};
use tollgate_core::{Ask, Cost, Decision, State, Timestamp, Verb};

use super::claim::{Claim, Locks, Unclaimed};
use super::full::Room;
use super::line;
use super::logs::{Keys, LogPlace, Logs};
use super::{Bound, MemoryLimit, Shape};
use crate::store::Charge;
use crate::sync::MutexGuard;

/// Applies `charges` together, each decision in its place in `decisions`.
///
/// All states are locked first. Then every check is asked as a peek; only if all of them pass are
/// they asked for real, so that a batch with a denial changes nothing that it checks.
pub(super) fn apply(charges: &[Charge<'_, MemoryLimit>], decisions: &mut [Decision]) {
    let mut turned_away: PerCharge<Option<Decision>> = smallvec![None; charges.len()];
    let mut spins = 0;
    while let Err(hindrance) = attempt(charges, &turned_away, decisions) {
        match hindrance {
            Hindrance::Busy => line::pause(&mut spins),
            Hindrance::Full { charge, hash, now } => {
                let bound = charges[charge].limit.bound();
                match bound.make_room(hash, now) {
                    Room::Made => {}
                    room => turned_away[charge] = Some(bound.overflow(room, now)),
                }
            }
        }
    }
}

type PerCharge<T> = SmallVec<[T; 4]>;

/// Why an attempt ended without a decision.
enum Hindrance {
    /// Somebody else holds one of the states.
    Busy,
    /// There is no room for the key of the charge of that number.
    Full {
        charge: usize,
        hash: u64,
        now: Timestamp,
    },
}

fn attempt(
    charges: &[Charge<'_, MemoryLimit>],
    turned_away: &[Option<Decision>],
    decisions: &mut [Decision],
) -> Result<(), Hindrance> {
    let mut batch = Batch {
        entries: PerCharge::new(),
        logs: PerCharge::new(),
        locks: Locks::default(),
    };
    let mut entry_of: PerCharge<Option<usize>> = smallvec![None; charges.len()];
    for index in lock_order(charges) {
        if turned_away[index].is_none() {
            entry_of[index] = Some(batch.entry(index, &charges[index])?);
        }
    }

    let mut pass = true;
    for (index, charge) in charges.iter().enumerate() {
        let Some(entry) = entry_of[index] else {
            decisions[index] = turned_away[index].unwrap_or_else(Decision::disabled);
            pass &= decisions[index].is_allowed();
            continue;
        };
        if charge.ask.verb() == Verb::Check {
            // Checks of one key add up.
            let before = charges[..index]
                .iter()
                .zip(&entry_of)
                .filter(|(earlier, of)| earlier.ask.verb() == Verb::Check && **of == Some(entry));
            let cost = before.fold(charge.ask.cost(), |sum, (earlier, _)| {
                add(sum, earlier.ask.cost())
            });
            decisions[index] = batch.decide(entry, Ask::peek(cost).within(charge.ask.patience()));
            pass &= decisions[index].is_allowed();
        }
    }
    for (index, charge) in charges.iter().enumerate() {
        if let Some(entry) = entry_of[index].filter(|_| pass || charge.ask.verb() != Verb::Check) {
            decisions[index] = batch.decide(entry, charge.ask);
        }
    }
    batch.commit();
    Ok(())
}

/// The charges by where their states lie, so that batches that meet rarely hinder each other.
fn lock_order(charges: &[Charge<'_, MemoryLimit>]) -> PerCharge<usize> {
    let mut order: PerCharge<usize> = (0..charges.len()).collect();
    order.sort_by_key(|index| std::ptr::from_ref(charges[*index].limit.bound()).addr());
    order
}

fn add(a: Cost, b: Cost) -> Cost {
    Cost::from_thousandths(a.as_thousandths().saturating_add(b.as_thousandths())).unwrap_or(a)
}

/// The states of a batch, locked.
struct Batch<'a> {
    entries: PerCharge<Entry<'a>>,
    logs: PerCharge<HeldLogs<'a>>,
    locks: Locks<'a>,
}

/// The key of a limit.
struct Entry<'a> {
    bound: &'a Bound,
    hash: u64,
    now: Timestamp,
    held: Held,
}

enum Held {
    /// A slot, and its next state if that changes.
    Slot(Claim, Option<State>),
    /// A log among the held logs of that number.
    Log(usize, LogPlace),
}

/// Logs that are locked together.
struct HeldLogs<'a> {
    logs: &'a Logs,
    hash: u64,
    keys: MutexGuard<'a, Keys>,
}

impl<'a> Batch<'a> {
    /// The entry of a charge, locked; the same one for the same key of the same limit.
    fn entry(
        &mut self,
        index: usize,
        charge: &Charge<'a, MemoryLimit>,
    ) -> Result<usize, Hindrance> {
        let bound = charge.limit.bound();
        let hash = bound.hash(charge.key);
        let same = |entry: &Entry<'_>| std::ptr::eq(entry.bound, bound) && entry.hash == hash;
        if let Some(entry) = self.entries.iter().position(same) {
            return Ok(entry);
        }
        let now = bound.now();
        let full = Hindrance::Full {
            charge: index,
            hash,
            now,
        };
        let held = match &bound.shape {
            Shape::Compact(table) => table.claim(hash, now, &mut self.locks).map(slot),
            Shape::Wide(table) => table.claim(hash, now, &mut self.locks).map(slot),
            Shape::Logs(logs) => self.claim_log(logs, hash),
        };
        let held = held.map_err(|unclaimed| match unclaimed {
            Unclaimed::Busy => Hindrance::Busy,
            Unclaimed::Full => full,
        })?;
        self.entries.push(Entry {
            bound,
            hash,
            now,
            held,
        });
        Ok(self.entries.len() - 1)
    }

    fn claim_log(&mut self, logs: &'a Logs, hash: u64) -> Result<Held, Unclaimed> {
        let same = |held: &HeldLogs<'_>| {
            std::ptr::eq(held.logs, logs) && Logs::held_together(held.hash, hash)
        };
        let index = match self.logs.iter().position(same) {
            Some(index) => index,
            None => {
                let keys = logs.try_hold(hash).ok_or(Unclaimed::Busy)?;
                self.logs.push(HeldLogs { logs, hash, keys });
                self.logs.len() - 1
            }
        };
        let place = logs
            .claim(&self.logs[index].keys, hash)
            .ok_or(Unclaimed::Full)?;
        Ok(Held::Log(index, place))
    }

    fn decide(&mut self, entry: usize, ask: Ask) -> Decision {
        let Entry {
            bound,
            hash,
            now,
            held,
        } = &mut self.entries[entry];
        match held {
            Held::Slot(claim, next) => {
                let state = next.unwrap_or(claim.state);
                let step = bound.limit().decide(state, *now, ask);
                *next = step.next.or(*next);
                step.decision
            }
            Held::Log(index, place) => {
                let HeldLogs { logs, keys, .. } = &mut self.logs[*index];
                logs.apply(keys, *hash, *now, ask, place)
            }
        }
    }

    /// Writes what was decided.
    fn commit(mut self) {
        for entry in &self.entries {
            if let Held::Slot(claim, Some(next)) = &entry.held {
                match &entry.bound.shape {
                    Shape::Compact(table) => table.commit(claim, *next, &mut self.locks),
                    Shape::Wide(table) => table.commit(claim, *next, &mut self.locks),
                    Shape::Logs(_) => {}
                }
            }
        }
    }
}

/// Gives back every place that no key took, then unlocks.
impl Drop for Batch<'_> {
    fn drop(&mut self) {
        for entry in &self.entries {
            match (&entry.held, &entry.bound.shape) {
                (Held::Slot(claim, None), Shape::Compact(table)) => table.give_up(claim),
                (Held::Slot(claim, None), Shape::Wide(table)) => table.give_up(claim),
                (Held::Log(_, place), Shape::Logs(logs)) => logs.give_up(*place),
                _ => {}
            }
        }
    }
}

fn slot(claim: Claim) -> Held {
    Held::Slot(claim, None)
}
