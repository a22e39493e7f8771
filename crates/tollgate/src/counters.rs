//! Counts of decisions, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

use tollgate_core::{Source, Verb};

use crate::observer::{Observation, Observer};

/// Counts the decisions of a limiter: an [`Observer`] that every exporter of metrics can read.
///
/// Bound to one limiter, it has no labels to carry; it never sees a key. Give each limiter its own.
///
/// ```
/// use std::sync::Arc;
/// use tollgate::{Counters, Limiter, MemoryStore, Quota, Rate};
///
/// let counters = Arc::new(Counters::default());
/// let limiter = Limiter::builder("login")
///     .quota(Quota::token_bucket(Rate::per_minute(10)?, 1)?)
///     .observer(counters.clone())
///     .build(&MemoryStore::new())?;
///
/// for _ in 0..3 {
///     let _ = limiter.check("user-123");
/// }
/// assert_eq!((counters.allowed(), counters.denied()), (1, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Counters {
    allowed: AtomicU64,
    denied: AtomicU64,
    never: AtomicU64,
    errors: AtomicU64,
    fallbacks: AtomicU64,
    overflows: AtomicU64,
}

impl Counters {
    /// Checks that were allowed.
    #[must_use]
    pub fn allowed(&self) -> u64 {
        self.allowed.load(Ordering::Relaxed)
    }

    /// Checks that were denied, also those that can never pass.
    #[must_use]
    pub fn denied(&self) -> u64 {
        self.denied.load(Ordering::Relaxed)
    }

    /// Checks that can never pass, because they cost more than the limit.
    #[must_use]
    pub fn never(&self) -> u64 {
        self.never.load(Ordering::Relaxed)
    }

    /// Checks that the store could not decide.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.errors.load(Ordering::Relaxed)
    }

    /// Checks that were decided locally, because the shared store did not answer. Any movement
    /// means that the limit holds for this instance rather than for all of them.
    #[must_use]
    pub fn fallbacks(&self) -> u64 {
        self.fallbacks.load(Ordering::Relaxed)
    }

    /// Checks that were not decided, because the key table was full.
    #[must_use]
    pub fn overflows(&self) -> u64 {
        self.overflows.load(Ordering::Relaxed)
    }
}

impl Observer for Counters {
    fn observe(&self, observation: &Observation<'_>) {
        if observation.verb != Verb::Check {
            return;
        }
        let Ok(decision) = &observation.result else {
            return add(&self.errors, true);
        };
        add(&self.allowed, decision.is_allowed());
        add(&self.denied, decision.is_denied());
        add(&self.never, decision.is_never());
        add(&self.fallbacks, decision.source() == Source::Fallback);
        add(&self.overflows, decision.source() == Source::Overflow);
    }

    fn wants_elapsed(&self) -> bool {
        false
    }
}

fn add(counter: &AtomicU64, counts: bool) {
    if counts {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}
