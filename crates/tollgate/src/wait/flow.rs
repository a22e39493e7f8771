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

    /// How much of `cost`, spent at `slot`, can be given back at `now` while others wait.
    ///
    /// What has flowed back since is lost to them if the bucket could not have held it: had nobody
    /// spent it, the bucket would have been full by then. Where that cannot be told, nothing is
    /// given back after the slot has passed.
    pub(super) fn left_of(
        &self,
        cost: u64,
        slot: Timestamp,
        full: Timestamp,
        now: Timestamp,
    ) -> u64 {
        match self.quota.and_then(|quota| quota.rate()) {
            Some(rate) => cost.min(rate.thousandths_in(full.since(now))),
            None if now <= slot => cost,
            None => 0,
        }
    }
}
