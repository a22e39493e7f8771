//! The settings of a cooldown.

use std::sync::Arc;
use std::time::Duration;

use tollgate_core::{Quota, Rate};

use super::{Cooldown, Shared};
use crate::build_error::BuildError;
use crate::clock::Clock;
use crate::key::KeyHasher;
use crate::limiter::Limiter;
use crate::memory::MemoryStore;
use crate::observer::Observer;

/// A [`Cooldown`] in the making.
#[must_use]
pub struct CooldownBuilder {
    interval: Duration,
    max_age: Option<Duration>,
    max_keys: Option<usize>,
    exclusive: bool,
    clock: Option<Clock>,
    observer: Option<Arc<dyn Observer>>,
}

impl CooldownBuilder {
    pub(super) const fn new(interval: Duration) -> Self {
        Self {
            interval,
            max_age: None,
            max_keys: None,
            exclusive: false,
            clock: None,
            observer: None,
        }
    }

    /// How long a key is remembered at least. Anything from the interval up means the same: a key
    /// whose interval is over cannot be told from a new one. Zero means the default.
    pub fn max_age(self, max_age: Duration) -> Self {
        Self {
            max_age: Some(max_age),
            ..self
        }
    }

    /// Bounds how many keys are remembered. The default is 100,000.
    pub fn max_keys(self, max_keys: usize) -> Self {
        Self {
            max_keys: Some(max_keys),
            ..self
        }
    }

    /// Lets no action [begin](Cooldown::begin) while another one for the same key still runs, even
    /// if it runs for longer than the interval.
    pub fn exclusive(self) -> Self {
        Self {
            exclusive: true,
            ..self
        }
    }

    /// Replaces the system's clock.
    pub fn clock(self, clock: Clock) -> Self {
        Self {
            clock: Some(clock),
            ..self
        }
    }

    /// Tells `observer` of every decision.
    pub fn observer(self, observer: Arc<dyn Observer>) -> Self {
        Self {
            observer: Some(observer),
            ..self
        }
    }

    /// Makes the cooldown.
    ///
    /// # Errors
    ///
    /// [`BuildError::Rate`] for an interval of zero, and [`BuildError::Invalid`] for a `max_age`
    /// below the interval, which would let an action through early.
    pub fn build(self) -> Result<Cooldown, BuildError> {
        let Self {
            interval, max_age, ..
        } = self;
        if let Some(max_age) = max_age.filter(|age| !age.is_zero() && *age < interval) {
            let reason = format!("{max_age:?} is below the interval of {interval:?}");
            return Err(BuildError::invalid("max_age", reason));
        }
        let quota = Quota::token_bucket(Rate::every(interval)?, 1)?;
        let clock = self.clock.unwrap_or_default();
        let mut store = MemoryStore::builder().clock(clock.clone());
        if let Some(max_keys) = self.max_keys {
            store = store.max_keys(max_keys);
        }
        let mut builder = Limiter::builder("cooldown").quota(quota);
        if let Some(observer) = self.observer {
            builder = builder.observer(observer);
        }
        Ok(Cooldown(Arc::new(Shared {
            limiter: builder.build(&store.build())?,
            interval,
            clock,
            exclusive: self.exclusive,
            hasher: KeyHasher::new(),
            running: Default::default(),
        })))
    }
}

impl std::fmt::Debug for CooldownBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CooldownBuilder")
            .field("interval", &self.interval)
            .field("max_age", &self.max_age)
            .field("max_keys", &self.max_keys)
            .field("exclusive", &self.exclusive)
            .finish_non_exhaustive()
    }
}
