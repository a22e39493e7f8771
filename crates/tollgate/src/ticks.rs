//! A clock that moves in ticks.

use std::time::Duration;

use tollgate_core::Timestamp;

use crate::clock::Clock;

/// Another clock, rounded down to whole intervals since a start.
///
/// A bucket on this clock refills in clumps, one each interval, without losing a fraction: what
/// flows in is measured from the times of the ticks.
#[derive(Clone, Debug)]
pub(crate) struct Ticks {
    pub(crate) clock: Clock,
    pub(crate) start: Timestamp,
    /// Invariant: at least 1.
    pub(crate) interval: u64,
}

impl Ticks {
    /// The ticks of `clock` from now on; `None` for an interval of zero.
    pub(crate) fn new(clock: Clock, interval: Duration) -> Option<Self> {
        let interval = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
        let start = clock.now();
        (interval > 0).then_some(Self {
            clock,
            start,
            interval,
        })
    }

    /// The last tick at or before `instant`.
    pub(crate) fn before(&self, instant: Timestamp) -> Timestamp {
        let (since, interval) = (self.since(instant), self.interval.max(1));
        self.at(since / interval * interval)
    }

    /// The first tick at or after `instant`.
    pub(crate) fn after(&self, instant: Timestamp) -> Timestamp {
        let (since, interval) = (self.since(instant), self.interval.max(1));
        self.at(since.div_ceil(interval).saturating_mul(interval))
    }

    fn since(&self, instant: Timestamp) -> u64 {
        instant.as_nanos().saturating_sub(self.start.as_nanos())
    }

    fn at(&self, since: u64) -> Timestamp {
        self.start + Duration::from_nanos(since)
    }
}
