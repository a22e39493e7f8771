//! Which block of a table has a slot that is free again: a tree of minima.

use crate::sync::{AtomicU64, Ordering};

/// Children of a node.
const FAN: usize = 64;

/// For each block of a table, a time before which none of its slots is free again; above that, the
/// least of each [`FAN`] nodes, up to one root.
///
/// The times are lower bounds. They are lowered as slots are written, and raised only when a block
/// is looked through. A key that is charged again leaves the bound of its block too low, at most
/// once for each such look, so keeping the tree costs O(1) amortised.
///
/// A bound is raised by setting it to the maximum *first*, then looking at what is below, and then
/// lowering it to what was found: whoever lowers it meanwhile is not lost.
#[derive(Debug)]
pub(super) struct Soonest {
    /// The blocks first, the root last.
    levels: Vec<Box<[AtomicU64]>>,
}

impl Soonest {
    /// A tree over `blocks` blocks, all empty.
    pub(super) fn new(blocks: usize) -> Self {
        let mut levels = Vec::new();
        let mut nodes = blocks.max(1);
        loop {
            levels.push((0..nodes).map(|_| AtomicU64::new(u64::MAX)).collect());
            if nodes == 1 {
                return Self { levels };
            }
            nodes = nodes.div_ceil(FAN);
        }
    }

    /// Takes note that a slot of `block` is free again at `time`.
    #[inline]
    pub(super) fn note(&self, block: usize, time: u64) {
        let mut node = block;
        for level in &self.levels {
            // A parent is at most its children, so there is nothing to do above this one.
            if level[node].load(Ordering::Acquire) <= time {
                return;
            }
            level[node].fetch_min(time, Ordering::AcqRel);
            node /= FAN;
        }
    }

    /// The time before which no slot of the table is free again.
    pub(super) fn soonest(&self) -> u64 {
        match self.levels.last() {
            Some(root) => root[0].load(Ordering::Acquire),
            None => u64::MAX,
        }
    }

    /// Finds a block that may have a slot that is free again at `now`; `None` if none has.
    ///
    /// Bounds that turn out to be too low are raised on the way.
    pub(super) fn find(&self, now: u64) -> Option<usize> {
        'search: while self.soonest() <= now {
            let mut node = 0;
            for level in (0..self.levels.len().saturating_sub(1)).rev() {
                let children = node * FAN..((node + 1) * FAN).min(self.levels[level].len());
                let due = |child: &usize| self.levels[level][*child].load(Ordering::Acquire) <= now;
                match children.clone().find(due) {
                    Some(child) => node = child,
                    None => {
                        self.raise(level + 1, node);
                        continue 'search;
                    }
                }
            }
            return Some(node);
        }
        None
    }

    /// Starts to look through `block`: until [`Soonest::note`] is called for what is found, nothing
    /// in it is thought to become free. Whoever is through calls [`Soonest::looked`].
    pub(super) fn look(&self, block: usize) {
        self.levels[0][block].store(u64::MAX, Ordering::SeqCst);
    }

    /// Raises the bounds above `block` after it was looked through.
    pub(super) fn looked(&self, block: usize) {
        let mut node = block;
        for level in 1..self.levels.len() {
            node /= FAN;
            self.raise(level, node);
        }
    }

    fn raise(&self, level: usize, node: usize) {
        self.levels[level][node].store(u64::MAX, Ordering::SeqCst);
        let below = &self.levels[level - 1];
        let children = node * FAN..((node + 1) * FAN).min(below.len());
        let least = children
            .map(|child| below[child].load(Ordering::SeqCst))
            .min();
        let mut time = least.unwrap_or(u64::MAX);
        // The node was the maximum for a moment; put the bound back here and above.
        let mut node = node;
        for level in &self.levels[level..] {
            time = time.min(level[node].fetch_min(time, Ordering::SeqCst));
            node /= FAN;
        }
    }
}

#[cfg(all(test, not(tollgate_loom)))]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_due_and_nothing_else() {
        for blocks in [1, 2, 63, 64, 65, 5_000] {
            let tree = Soonest::new(blocks);
            assert_eq!(tree.find(u64::MAX - 1), None);
            for block in 0..blocks {
                tree.note(block, 1_000 + block as u64);
            }
            assert_eq!(tree.find(999), None);
            for block in 0..blocks {
                let now = 1_000 + block as u64;
                assert_eq!(tree.soonest(), now);
                assert_eq!(tree.find(now), Some(block), "{blocks}");
                tree.look(block);
                tree.looked(block);
                assert_eq!(tree.find(now), None);
            }
            assert_eq!(tree.soonest(), u64::MAX);
        }
    }

    #[test]
    fn a_bound_that_was_lowered_while_it_was_raised_is_kept() {
        let tree = Soonest::new(5_000);
        tree.note(77, 10);
        tree.look(77);
        tree.note(77, 20);
        tree.looked(77);
        assert_eq!(tree.find(19), None);
        assert_eq!(tree.find(20), Some(77));
    }
}
