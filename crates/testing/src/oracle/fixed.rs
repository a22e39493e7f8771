//! The fixed window: the list of everything that was ever charged to a window.

use num_bigint::BigInt;
use num_rational::BigRational;
use tollgate_core::Window;

use super::calendar::Calendar;
use super::{Model, Nanos, big, take_newest};

#[derive(Debug)]
pub(super) struct Fixed {
    limit: u64,
    calendar: Calendar,
    /// The number of a window and what was charged to it, in order.
    entries: Vec<(u128, u64)>,
}

impl Fixed {
    pub(super) fn new(limit: u64, window: Window) -> Self {
        Self {
            limit,
            calendar: Calendar::new(window),
            entries: Vec::new(),
        }
    }

    /// The window that the queue has got to.
    fn front(&self, now: Nanos) -> u128 {
        let current = self.calendar.window(now);
        self.entries
            .last()
            .map_or(current, |(window, _)| current.max(*window))
    }

    fn left_in(&self, window: u128) -> u64 {
        let charged = self.entries.iter().filter(|(w, _)| *w == window);
        self.limit - charged.map(|(_, amount)| amount).sum::<u64>()
    }

    fn push(&mut self, window: u128, amount: u64) {
        if amount > 0 {
            self.entries.push((window, amount));
        }
    }
}

impl Model for Fixed {
    /// What is charged to later windows is ahead of any new request, so it counts as in use.
    fn room(&self, at: Nanos) -> BigRational {
        let current = self.calendar.window(at);
        let ahead = self.entries.iter().filter(|(window, _)| *window >= current);
        let used: BigInt = ahead.map(|(_, amount)| big(*amount)).sum();
        BigRational::from(big(self.limit) - used)
    }

    /// The start of the window that the queue has got to, or of the next one.
    fn guess(&self, now: Nanos, cost: u64) -> Nanos {
        let front = self.front(now);
        let full = u128::from(self.left_in(front) < cost);
        self.calendar.start(front + full).saturating_sub(now)
    }

    /// A booking is never split over two windows: room that it has to skip is closed.
    fn book(&mut self, now: Nanos, slot: Nanos, cost: u64) {
        let slot = self.calendar.window(slot);
        for skipped in self.front(now)..slot {
            self.push(skipped, self.left_in(skipped));
        }
        assert!(cost <= self.left_in(slot), "there is room at the slot");
        self.push(slot, cost);
    }

    /// Debt is spread over the windows that follow, a limit to each.
    fn charge(&mut self, now: Nanos, mut cost: u64) {
        let mut window = self.front(now);
        while cost > 0 {
            let part = cost.min(self.left_in(window));
            self.push(window, part);
            cost -= part;
            window += 1;
        }
    }

    fn refund(&mut self, now: Nanos, cost: u64) {
        let current = self.calendar.window(now);
        take_newest(&mut self.entries, cost, |window| *window >= current);
    }
}
