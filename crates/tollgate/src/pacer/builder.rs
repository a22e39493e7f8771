//! The settings of a pacer.

use std::time::Duration;

use tollgate_core::{Cost, Quota, Rate, RateError};

use super::{KeyedPacer, Pacer};
use crate::build_error::BuildError;
use crate::clock::Clock;
use crate::limiter::Limiter;
use crate::memory::MemoryStore;
use crate::store::LocalStore;

/// A [`Pacer`] or [`KeyedPacer`] in the making. The order of the settings does not matter.
#[derive(Clone, Debug)]
#[must_use]
pub struct PacerBuilder {
    rate: Rate,
    headroom: f64,
    burst: u64,
    max_waiters: Option<usize>,
    max_keys: usize,
    clock: Option<Clock>,
}

/// More hosts than one process calls.
const DEFAULT_MAX_KEYS: usize = 10_000;

impl PacerBuilder {
    pub(super) const fn new(rate: Rate) -> Self {
        Self {
            rate,
            headroom: 1.0,
            burst: 1,
            max_waiters: None,
            max_keys: DEFAULT_MAX_KEYS,
            clock: None,
        }
    }

    /// Keeps to this share of the rate, more than 0 and at most 1, to the thousandth. The default
    /// is 1.
    pub fn headroom(self, headroom: f64) -> Self {
        Self { headroom, ..self }
    }

    /// Lets this many calls pass at once after a pause. The default is 1.
    pub fn burst(self, burst: u64) -> Self {
        Self { burst, ..self }
    }

    /// Bounds how many callers may wait at the same time. The default is 10,000.
    pub fn max_waiters(self, max_waiters: usize) -> Self {
        Self {
            max_waiters: Some(max_waiters),
            ..self
        }
    }

    /// Bounds how many keys a keyed pacer remembers. The default is 10,000.
    pub fn max_keys(self, max_keys: usize) -> Self {
        Self { max_keys, ..self }
    }

    /// Replaces the system's clock.
    pub fn clock(self, clock: Clock) -> Self {
        Self {
            clock: Some(clock),
            ..self
        }
    }

    /// Makes a pacer.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if a setting cannot be used.
    pub fn build(self) -> Result<Pacer, BuildError> {
        let store = self.store(1);
        self.build_on("pacer", &store)
    }

    /// Makes a pacer that keeps its state in `store`, under the name `policy`.
    ///
    /// # Errors
    ///
    /// As [`PacerBuilder::build`].
    pub fn build_on<S: LocalStore>(self, policy: &str, store: &S) -> Result<Pacer<S>, BuildError> {
        let (limiter, interval) = self.limiter(policy, store)?;
        Ok(Pacer { limiter, interval })
    }

    /// Makes a pacer for each key.
    ///
    /// # Errors
    ///
    /// As [`PacerBuilder::build`].
    pub fn build_keyed(self) -> Result<KeyedPacer, BuildError> {
        let store = self.store(self.max_keys);
        self.build_keyed_on("pacer", &store)
    }

    /// Makes a pacer for each key that keeps its states in `store`, under the name `policy`.
    ///
    /// # Errors
    ///
    /// As [`PacerBuilder::build`].
    pub fn build_keyed_on<S: LocalStore>(
        self,
        policy: &str,
        store: &S,
    ) -> Result<KeyedPacer<S>, BuildError> {
        let (limiter, interval) = self.limiter(policy, store)?;
        Ok(KeyedPacer { limiter, interval })
    }

    fn store(&self, max_keys: usize) -> MemoryStore {
        let clock = self.clock.clone().unwrap_or_default();
        MemoryStore::builder()
            .max_keys(max_keys)
            .clock(clock)
            .build()
    }

    fn limiter<S: LocalStore>(
        &self,
        policy: &str,
        store: &S,
    ) -> Result<(Limiter<S>, Duration), BuildError> {
        let rate = scale(self.rate, self.headroom)?;
        let quota = Quota::token_bucket(rate, self.burst)?;
        let mut builder = Limiter::builder(policy).quota(quota);
        if let Some(max_waiters) = self.max_waiters {
            builder = builder.max_waiters(max_waiters);
        }
        let interval = Quota::token_bucket(rate, 1)?.span();
        Ok((builder.build(store)?, interval))
    }
}

/// The share `headroom` of `rate`, exactly.
fn scale(rate: Rate, headroom: f64) -> Result<Rate, BuildError> {
    let invalid = || {
        let reason = format!("{headroom} is not more than 0 and at most 1, to the thousandth");
        BuildError::invalid("headroom", reason)
    };
    let thousandths = Cost::try_from(headroom)
        .map_err(|_| invalid())?
        .as_thousandths();
    // A number of that many thousandths has one nearest `f64`; any other was finer, or is above 1.
    let is_exact = u32::try_from(thousandths).is_ok_and(|t| f64::from(t) / 1_000.0 == headroom);
    if thousandths > 1_000 || !is_exact {
        return Err(invalid());
    }
    let tokens = rate.tokens().saturating_mul(thousandths);
    let period = rate
        .period()
        .checked_mul(1_000)
        .ok_or(RateError::PeriodTooLong)?;
    Ok(Rate::per(tokens, period)?)
}
