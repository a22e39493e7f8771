//! How a limit flows back, as far as a line of waiters has to know.

use std::time::Duration;

use tollgate_core::{Quota, Timestamp};

/// How the supply of a line flows.
///
/// Only a single token bucket flows steadily, so that a part of an amount is there earlier than
/// the whole. For windows, and for several quotas at once, a part is there no earlier: slots are
/// handed forward whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    quota: Option<Quota>,
}

impl Flow {
    pub(super) fn of(quotas: &[Quota]) -> Self {
        let quota = match quotas {
            [quota] if quota.rate().is_some() => Some(*quota),
            _ => None,
        };
        Self { quota }
    }

    /// The time by which an amount is there earlier than one that is larger by `thousandths`.
    /// Rounded down, so that a slot is never too early.
    pub(super) fn time_for(&self, thousandths: u64) -> Duration {
        let rate = self.quota.and_then(|quota| quota.rate());
        match rate {
            Some(rate) if thousandths > 0 => rate.time_for(thousandths),
            _ => Duration::ZERO,
        }
    }

    /// When everything that was spent up to a slot, which somebody had to wait for, has flowed
    /// back.
    pub(super) fn full_after(&self, slot: Timestamp) -> Timestamp {
        self.quota.map_or(slot, |quota| slot + quota.span())
    }

    /// How much of `cost` can be given back at `now`, if everything that was spent up to and
    /// including it has flowed back at `full`.
    ///
    /// Had nobody spent it, the bucket would have been full earlier by so much, and what flows into
    /// a full bucket is lost; others may have acted since on what was left. A window has all of it
    /// until it ends, unless others wait for the windows behind it.
    pub(super) fn left_of(
        &self,
        cost: u64,
        full: Timestamp,
        now: Timestamp,
        others_wait: bool,
    ) -> u64 {
        match self.quota.and_then(|quota| quota.rate()) {
            Some(rate) => cost.min(rate.thousandths_in(full.since(now))),
            None if now < full && !others_wait => cost,
            None => 0,
        }
    }
}
