//! The lines of a table: a few slots that fill one cache line, under one lock.
//!
//! Word 0 holds in its lower half the *version*: even while the line can be read, odd while one
//! thread writes it, and never again the same in between (it wraps after 2^31 writes). Readers take
//! no lock: they read, decide, and then either see that the version is still the same (a denial,
//! which writes nothing) or lock the line by moving on exactly the version that they read, so that
//! what they decided still holds.
//!
//! Every load of a word is an acquire and every store a release. A reader that sees any word of a
//! writer therefore also sees the odd version before it, and starts again.

use std::ops::Index;

use tollgate_core::State;

use crate::sync::{AtomicU64, Ordering, spin_loop};

/// The words of one line: 64 bytes, what processors move at a time.
#[cfg_attr(not(tollgate_loom), derive(bytemuck::Zeroable))]
#[repr(C, align(64))]
pub(super) struct Line([AtomicU64; 8]);

impl Index<usize> for Line {
    type Output = AtomicU64;

    #[inline(always)]
    fn index(&self, word: usize) -> &AtomicU64 {
        &self.0[word]
    }
}

/// `count` empty lines, or `None` if there is no memory for them.
///
/// The operating system hands out zeroed pages as they are first touched, so a large table costs
/// nothing until it is used, and no call pays for all of it.
#[cfg(not(tollgate_loom))]
pub(super) fn empty_lines(count: usize) -> Option<Box<[Line]>> {
    bytemuck::allocation::try_zeroed_slice_box(count).ok()
}

#[cfg(tollgate_loom)]
pub(super) fn empty_lines(count: usize) -> Option<Box<[Line]>> {
    let empty = || Line(std::array::from_fn(|_| AtomicU64::new(0)));
    Some((0..count).map(|_| empty()).collect())
}

/// The largest number of lines that a key may live past its home, for [`Layout::set_reach`].
///
/// A table that holds its keys with room to spare needs a few tens at the most. A model of a table
/// has to be small.
pub(super) const MAX_REACH: usize = if cfg!(tollgate_loom) { 1 } else { 255 };

const VERSION: u64 = 0xFFFF_FFFF;
const LOCKED: u64 = 1;

/// The most slots that a line of any layout has.
pub(super) const MAX_SLOTS: usize = 3;

/// How the slots lie in a line.
///
/// A slot is a tag (64 bits that stand for the key; zero when the slot is empty) and a state. Each
/// line also keeps how far past it keys live whose home it is: its *reach*.
pub(super) trait Layout: Send + Sync + 'static {
    /// Slots in a line.
    const SLOTS: usize;

    /// Lines for a table of `keys`, loaded so that a probe rarely leaves its line.
    fn lines(keys: usize) -> usize;

    /// Tags lie one after the other from word 2 on.
    #[inline(always)]
    fn tag(line: &Line, slot: usize) -> u64 {
        line[2 + slot].load(Ordering::Acquire)
    }

    #[inline(always)]
    fn set_tag(line: &Line, slot: usize, tag: u64) {
        line[2 + slot].store(tag, Ordering::Release);
    }

    fn state(line: &Line, slot: usize) -> State;

    /// Writes a state whose numbers fit the layout.
    fn set_state(line: &Line, slot: usize, state: State);

    /// Replaces the state of a slot, if the line is still as it was when `head` was read.
    #[inline(always)]
    fn replace(line: &Line, head: u64, slot: usize, state: State) -> bool {
        let locked = try_lock(line, head);
        if locked {
            Self::set_state(line, slot, state);
            unlock(line);
        }
        locked
    }

    fn reach(line: &Line) -> usize;
    fn set_reach(line: &Line, reach: usize);
}

/// Three slots: 64 bits of tag, 64 of time and 29 of what was used. For limits of up to 268,435
/// tokens (half of 2^29 thousandths), which is most.
pub(super) struct Compact;

/// Two slots: 64 bits of tag, 64 of time, and 48 for each of two counts. For everything else.
pub(super) struct Wide;

/// What a compact slot can hold of [`State::used`].
pub(super) const COMPACT_USED: u64 = (1 << 29) - 1;

impl Compact {
    /// The 32 bits beside a slot, 29 of what was used and 3 of the reach of the line, by word and
    /// shift: those of slot 0 follow the version in word 0, and the others follow them.
    #[inline(always)]
    const fn place(slot: usize) -> (usize, usize) {
        (slot.div_ceil(2), (slot + 1) % 2 * 32)
    }

    #[inline(always)]
    fn field(line: &Line, slot: usize) -> u64 {
        let (word, shift) = Self::place(slot);
        line[word].load(Ordering::Acquire) >> shift & 0xFFFF_FFFF
    }

    #[inline(always)]
    fn set_field(line: &Line, slot: usize, field: u64) {
        let (word, shift) = Self::place(slot);
        let rest = line[word].load(Ordering::Relaxed) & !(0xFFFF_FFFF << shift);
        line[word].store(rest | field << shift, Ordering::Release);
    }
}

impl Layout for Compact {
    const SLOTS: usize = 3;

    fn lines(keys: usize) -> usize {
        // 27 bytes a key: four slots of five are taken when the table is full.
        keys.saturating_mul(27).div_ceil(64)
    }

    #[inline(always)]
    fn state(line: &Line, slot: usize) -> State {
        let at = line[5 + slot].load(Ordering::Acquire);
        State {
            at,
            used: Self::field(line, slot) >> 3,
            before: 0,
        }
    }

    #[inline(always)]
    fn set_state(line: &Line, slot: usize, state: State) {
        debug_assert!(state.used <= COMPACT_USED && state.before == 0, "{state:?}");
        line[5 + slot].store(state.at, Ordering::Release);
        let reach = Self::field(line, slot) & 7;
        Self::set_field(line, slot, state.used << 3 | reach);
    }

    /// What is used of slot 0 lies beside the version, so that its states take a single exchange as
    /// long as their time stays the same, and one store less otherwise.
    #[inline(always)]
    fn replace(line: &Line, head: u64, slot: usize, state: State) -> bool {
        if slot != 0 {
            let locked = try_lock(line, head);
            if locked {
                Self::set_state(line, slot, state);
                unlock(line);
            }
            return locked;
        }
        debug_assert!(state.used <= COMPACT_USED && state.before == 0, "{state:?}");
        let version = head.wrapping_add(2) & VERSION;
        let reach = head & 7 << 32;
        let next = state.used << 35 | reach | version;
        let at = &line[5];
        if at.load(Ordering::Acquire) == state.at {
            return line[0]
                .compare_exchange(head, next, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok();
        }
        let locked = try_lock(line, head);
        if locked {
            at.store(state.at, Ordering::Release);
            line[0].store(next, Ordering::Release);
        }
        locked
    }

    #[inline(always)]
    fn reach(line: &Line) -> usize {
        let part = |slot| (Self::field(line, slot) & 7) as usize;
        part(0) | part(1) << 3 | part(2) << 6
    }

    fn set_reach(line: &Line, reach: usize) {
        debug_assert!(reach <= MAX_REACH);
        for slot in 0..Self::SLOTS {
            let part = (reach >> (3 * slot) & 7) as u64;
            Self::set_field(line, slot, Self::field(line, slot) & !7 | part);
        }
    }
}

impl Layout for Wide {
    const SLOTS: usize = 2;

    fn lines(keys: usize) -> usize {
        // 39 bytes a key.
        keys.saturating_mul(39).div_ceil(64)
    }

    #[inline(always)]
    fn state(line: &Line, slot: usize) -> State {
        let counts = line[6 + slot].load(Ordering::Acquire);
        let high = line[1].load(Ordering::Acquire) >> (32 * slot) & 0xFFFF_FFFF;
        State {
            at: line[4 + slot].load(Ordering::Acquire),
            used: counts & 0xFFFF_FFFF_FFFF,
            before: counts >> 48 | high << 16,
        }
    }

    #[inline(always)]
    fn set_state(line: &Line, slot: usize, state: State) {
        const MOST: u64 = (1 << 48) - 1;
        debug_assert!(state.used <= MOST && state.before <= MOST, "{state:?}");
        let (used, before) = (state.used.min(MOST), state.before.min(MOST));
        line[4 + slot].store(state.at, Ordering::Release);
        line[6 + slot].store(used | before << 48, Ordering::Release);
        let shift = 32 * slot;
        let rest = line[1].load(Ordering::Relaxed) & !(0xFFFF_FFFF << shift);
        line[1].store(rest | before >> 16 << shift, Ordering::Release);
    }

    #[inline(always)]
    fn reach(line: &Line) -> usize {
        (line[0].load(Ordering::Acquire) >> 32) as usize
    }

    fn set_reach(line: &Line, reach: usize) {
        debug_assert!(reach <= MAX_REACH);
        let version = line[0].load(Ordering::Relaxed) & VERSION;
        line[0].store(version | (reach as u64) << 32, Ordering::Release);
    }
}

/// Word 0 of the line, unless somebody writes it just now.
#[inline(always)]
pub(super) fn glance(line: &Line) -> Option<u64> {
    let head = line[0].load(Ordering::Acquire);
    (head & LOCKED == 0).then_some(head)
}

/// Word 0 of a line that nobody writes. Spins while somebody does.
#[inline(always)]
pub(super) fn read(line: &Line) -> u64 {
    let mut spins = 0;
    loop {
        match glance(line) {
            Some(head) => return head,
            None => pause(&mut spins),
        }
    }
}

/// Whether the line is still as it was when `head` was read.
#[inline(always)]
pub(super) fn unchanged(line: &Line, head: u64) -> bool {
    line[0].load(Ordering::Acquire) == head
}

/// Locks the line if it is still as it was when `head` was read.
#[inline(always)]
pub(super) fn try_lock(line: &Line, head: u64) -> bool {
    let locked = head | LOCKED;
    line[0]
        .compare_exchange(head, locked, Ordering::Acquire, Ordering::Relaxed)
        .is_ok()
}

/// Locks the line, however long that takes.
pub(super) fn lock(line: &Line) {
    while !try_lock(line, read(line)) {
        spin_loop();
    }
}

/// Locks the line, unless somebody holds it for long.
pub(super) fn lock_soon(line: &Line) -> bool {
    // A holder writes a few words; a hundred tries outlast it unless its thread is not running.
    for _ in 0..100 {
        if glance(line).is_some_and(|head| try_lock(line, head)) {
            return true;
        }
        spin_loop();
    }
    false
}

/// Unlocks the line after writing to it.
#[inline(always)]
pub(super) fn unlock(line: &Line) {
    let head = line[0].load(Ordering::Relaxed);
    let version = head.wrapping_add(1) & VERSION;
    line[0].store(head & !VERSION | version, Ordering::Release);
}

/// Unlocks the line without having written to it, so that readers need not start again.
pub(super) fn unlock_unchanged(line: &Line) {
    let head = line[0].load(Ordering::Relaxed);
    line[0].store(head & !LOCKED, Ordering::Release);
}

/// Waits a little longer each time, so that whoever holds a contended line gets several turns
/// while it is in its cache; then lets other threads run.
#[cold]
pub(super) fn pause(spins: &mut u32) {
    for _ in 0..1_u32 << (*spins).min(6) {
        spin_loop();
    }
    *spins += 1;
    if *spins > 16 {
        yield_now();
    }
}

#[cfg(not(tollgate_loom))]
fn yield_now() {
    std::thread::yield_now();
}

#[cfg(tollgate_loom)]
fn yield_now() {
    loom::thread::yield_now();
}

#[cfg(all(test, not(tollgate_loom)))]
mod tests {
    use super::*;

    fn line() -> Line {
        bytemuck::Zeroable::zeroed()
    }

    /// Writes every slot and the reach in turn, and reads all of them back each time.
    fn fields_do_not_touch<L: Layout>(most: State) {
        let line = line();
        lock(&line);
        let mut expected = vec![(0, State::FRESH); L::SLOTS];
        for round in 0..3 {
            for slot in 0..L::SLOTS {
                let state = match round {
                    0 => most,
                    1 => State::FRESH,
                    _ => State {
                        at: 7 + slot as u64,
                        used: most.used / 3,
                        before: most.before / 5,
                    },
                };
                let tag = u64::MAX - slot as u64 - round;
                L::set_tag(&line, slot, tag);
                L::set_state(&line, slot, state);
                expected[slot] = (tag, state);
                let reach = if round == 1 { 0 } else { MAX_REACH - slot };
                L::set_reach(&line, reach);
                assert_eq!(L::reach(&line), reach);
                for (slot, expected) in expected.iter().enumerate() {
                    assert_eq!((L::tag(&line, slot), L::state(&line, slot)), *expected);
                }
            }
        }
        assert_eq!(
            line[0].load(Ordering::Relaxed) & VERSION,
            1,
            "the version is untouched"
        );
        unlock(&line);
        assert_eq!(read(&line) & VERSION, 2);
    }

    #[test]
    fn fields_of_a_compact_line_do_not_touch() {
        fields_do_not_touch::<Compact>(State {
            at: u64::MAX,
            used: COMPACT_USED,
            before: 0,
        });
    }

    #[test]
    fn fields_of_a_wide_line_do_not_touch() {
        let most = (1 << 48) - 1;
        fields_do_not_touch::<Wide>(State {
            at: u64::MAX,
            used: most,
            before: most,
        });
    }

    #[test]
    fn a_version_wraps_without_touching_its_neighbour() {
        let line = line();
        line[0].store(5 << 32 | (VERSION - 1), Ordering::Relaxed);
        lock(&line);
        unlock(&line);
        assert_eq!(line[0].load(Ordering::Relaxed), 5 << 32);
    }

    #[test]
    fn a_lock_is_taken_only_if_nothing_changed() {
        let line = line();
        let head = read(&line);
        assert!(try_lock(&line, head));
        assert!(!try_lock(&line, head));
        unlock(&line);
        assert!(!try_lock(&line, head) && !unchanged(&line, head));
        let head = read(&line);
        lock(&line);
        unlock_unchanged(&line);
        assert!(unchanged(&line, head));
    }
}
