//! A part of the lines of a limiter, under one lock.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use ahash::RandomState;
use tollgate_core::Timestamp;

use super::flow::Flow;
use super::line::{Line, Woken};

/// A map keeps room for this many lines once it had them; above, it is given back.
const KEPT: usize = 32;

#[derive(Default)]
pub(super) struct Shard {
    pub(super) lines: HashMap<u64, Line, RandomState>,
    pub(super) next_number: u64,
    /// At this many lines, those whose waiters were forgotten are looked for.
    sweep_at: usize,
}

impl Shard {
    /// Forgets lines whose waiters were leaked rather than dropped, at a cost that is spread over
    /// those who come.
    pub(super) fn sweep(
        &mut self,
        now: Timestamp,
        flow: &Flow,
        waiting: &AtomicUsize,
        woken: &mut Woken,
    ) {
        if self.lines.len() < self.sweep_at.max(KEPT) {
            return;
        }
        self.lines.retain(|_, line| {
            waiting.fetch_sub(line.advance(now, flow, woken), Ordering::AcqRel);
            !line.is_empty()
        });
        self.sweep_at = self.lines.len().saturating_mul(2);
    }

    /// Forgets a line that nobody stands in.
    pub(super) fn forget_if_empty(&mut self, hash: u64) {
        if self.lines.get(&hash).is_some_and(Line::is_empty) {
            self.lines.remove(&hash);
            if self.lines.is_empty() && self.lines.capacity() > KEPT {
                self.lines = HashMap::default();
            }
        }
    }
}
