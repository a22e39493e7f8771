//! A quota made ready to decide.

use core::time::Duration;

use crate::algorithm::{
    Debt, FixedWindow, Log, RollingWindow, SlidingWindow, State, Step, TokenBucket,
};
use crate::ask::Ask;
use crate::cost::Cost;
use crate::decision::Decision;
use crate::quota::{Kind, Quota};
use crate::time::Timestamp;

/// A quota made ready to decide: everything that does not depend on the request is computed.
///
/// A store keeps one of these per limit, and a [`State`] (or, for a rolling window, a [`Log`]) per
/// key. [`State::FRESH`] is what a key that was never seen has, and what a key that has refilled
/// may be replaced by: the two cannot be told apart.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    quota: Quota,
    kind: Compiled,
}

#[derive(Clone, Copy, Debug)]
enum Compiled {
    TokenBucket(TokenBucket),
    FixedWindow(FixedWindow),
    SlidingWindow(SlidingWindow),
    RollingWindow(RollingWindow),
}

impl Limit {
    /// Makes `quota` ready, without debt: a charge takes what is there, down to zero.
    #[must_use]
    pub fn new(quota: Quota) -> Self {
        Self::with_debt(quota, None)
    }

    /// Makes `quota` ready; a charge may take up to `debt` more than is there.
    #[must_use]
    pub fn with_debt(quota: Quota, debt: Option<Cost>) -> Self {
        let debt = debt.map_or(0, Cost::as_thousandths);
        let kind = match quota.kind {
            Kind::TokenBucket(rate) => {
                Compiled::TokenBucket(TokenBucket::new(rate, quota.limit, debt))
            }
            Kind::FixedWindow(window) => {
                Compiled::FixedWindow(FixedWindow::new(window, quota.limit, debt))
            }
            Kind::SlidingWindow(length) => {
                Compiled::SlidingWindow(SlidingWindow::new(length, quota.limit, debt))
            }
            Kind::RollingWindow(length) => {
                Compiled::RollingWindow(RollingWindow::new(length, quota.limit, debt))
            }
        };
        Self { quota, kind }
    }

    /// The quota.
    #[must_use]
    pub const fn quota(&self) -> &Quota {
        &self.quota
    }

    /// Whether the states of this limit are logs, for [`Limit::decide_log`], rather than
    /// [`State`]s, for [`Limit::decide`].
    #[must_use]
    pub const fn keeps_log(&self) -> bool {
        matches!(self.kind, Compiled::RollingWindow(_))
    }

    /// The largest [`State::used`] that [`Limit::decide`] returns, in thousandths; zero for a limit
    /// that keeps a log. Below 2^48.
    #[must_use]
    pub const fn most_used(&self) -> u64 {
        match &self.kind {
            Compiled::TokenBucket(bucket) => bucket.ceiling(),
            Compiled::FixedWindow(window) => window.ceiling(),
            Compiled::SlidingWindow(window) => window.ceiling(),
            Compiled::RollingWindow(_) => 0,
        }
    }

    /// Whether [`State::before`] is ever other than zero.
    #[must_use]
    pub const fn uses_before(&self) -> bool {
        matches!(self.kind, Compiled::SlidingWindow(_))
    }

    /// The bucket of a limit that is one and [is quick](TokenBucket::is_quick), as most are.
    #[inline(always)]
    #[must_use]
    pub const fn as_quick_bucket(&self) -> Option<&TokenBucket> {
        match &self.kind {
            Compiled::TokenBucket(bucket) if bucket.is_quick() => Some(bucket),
            _ => None,
        }
    }

    /// Decides `ask` for a key in `state` at `now`.
    ///
    /// Costs the same whatever the state and however long ago it was made. For a limit that
    /// [keeps logs](Limit::keeps_log), decides as for a fresh key and keeps nothing.
    pub fn decide(&self, state: State, now: Timestamp, ask: Ask) -> Step {
        match &self.kind {
            Compiled::TokenBucket(bucket) if bucket.is_quick() => {
                // A state that another limit has made must not make the quick products wrong.
                let used = state.used.min(bucket.ceiling());
                bucket.decide_quickly(State { used, ..state }, now, ask)
            }
            Compiled::TokenBucket(bucket) => bucket.decide(state, now, ask),
            Compiled::FixedWindow(window) => window.decide(state, now, ask),
            Compiled::SlidingWindow(window) => window.decide(state, now, ask),
            Compiled::RollingWindow(window) => {
                let decision = window.decide(&mut Log::default(), now, ask);
                Step {
                    decision,
                    next: None,
                }
            }
        }
    }

    /// Decides `ask` for a key with `log` at `now`.
    ///
    /// For a limit that keeps no logs, decides as for a fresh key and keeps nothing.
    pub fn decide_log(&self, log: &mut Log, now: Timestamp, ask: Ask) -> Decision {
        match &self.kind {
            Compiled::RollingWindow(window) => window.decide(log, now, ask),
            _ => self.decide(State::FRESH, now, ask).decision,
        }
    }

    /// When `state` can no longer be told from [`State::FRESH`], so that its place is free.
    #[inline]
    #[must_use]
    pub fn fresh_at(&self, state: State) -> Timestamp {
        match &self.kind {
            Compiled::TokenBucket(bucket) => bucket.fresh_at(state),
            Compiled::FixedWindow(window) => window.fresh_at(state),
            Compiled::SlidingWindow(window) => window.fresh_at(state),
            Compiled::RollingWindow(_) => Timestamp::EPOCH,
        }
    }

    /// How much forgetting a key in `state` would forgive it.
    #[must_use]
    pub fn debt(&self, state: State) -> Debt {
        let until = self.fresh_at(state).as_nanos();
        match &self.kind {
            // A bucket pays its debt at one rate, so the one that is full last owes the most.
            Compiled::TokenBucket(_) => Debt { used: 0, until },
            // A window ends for all keys at once.
            _ => Debt {
                used: state.used.saturating_add(state.before),
                until,
            },
        }
    }

    /// How much forgetting a key with `log` would forgive it.
    #[must_use]
    pub fn log_debt(&self, log: &Log) -> Debt {
        Debt {
            used: log.total(),
            until: self.log_fresh_at(log).as_nanos(),
        }
    }

    /// When `log` will be empty, so that its place is free.
    #[must_use]
    pub fn log_fresh_at(&self, log: &Log) -> Timestamp {
        match &self.kind {
            Compiled::RollingWindow(window) => window.fresh_at(log),
            _ => Timestamp::EPOCH,
        }
    }

    /// The time after which nothing of a spent quota is left; see [`Quota::span`].
    #[must_use]
    pub fn span(&self) -> Duration {
        self.quota.span()
    }
}
