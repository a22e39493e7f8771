//! The settings of a drip.

use std::sync::Arc;
use std::time::Duration;

use tollgate_core::{Cost, Quota, Rate, RateError};

use super::hold::Hold;
use super::{ALL, Drip, Settings, Shared};
use crate::build_error::BuildError;
use crate::clock::Clock;
use crate::limiter::Limiter;
use crate::memory::MemoryStore;
use crate::observer::Observer;
use crate::ticks::Ticks;

/// A [`Drip`] in the making. The order of the settings does not matter.
#[must_use]
pub struct DripBuilder {
    target_rate: f64,
    drop_timeout: Duration,
    max_drops: MaxDrops,
    falling: Falling,
    starts_empty: bool,
    refuse_early: bool,
    max_waiters: usize,
    clock: Option<Clock>,
    observer: Option<Arc<dyn Observer>>,
}

#[derive(Clone, Copy, Debug)]
enum MaxDrops {
    Absolute(u64),
    Interval(Duration),
}

#[derive(Clone, Copy, Debug)]
enum Falling {
    InTicks(Duration),
    Continuously,
    EvenlySpaced,
}

impl Default for DripBuilder {
    fn default() -> Self {
        Self {
            target_rate: 1.0,
            drop_timeout: Duration::from_millis(150),
            max_drops: MaxDrops::Absolute(1_000),
            falling: Falling::InTicks(Duration::from_millis(100)),
            starts_empty: false,
            refuse_early: false,
            max_waiters: 1_000,
            clock: None,
            observer: None,
        }
    }
}

impl DripBuilder {
    /// Drops a second, read by the shortest decimal form of the number. The default is 1.
    pub fn target_rate(self, target_rate: f64) -> Self {
        Self {
            target_rate,
            ..self
        }
    }

    /// How long a request waits for a drop. The default is 150 ms.
    pub fn drop_timeout(self, drop_timeout: Duration) -> Self {
        Self {
            drop_timeout,
            ..self
        }
    }

    /// Keeps at most this many drops. The default is 1000.
    pub fn max_drops_absolute(self, max_drops: u64) -> Self {
        Self {
            max_drops: MaxDrops::Absolute(max_drops),
            ..self
        }
    }

    /// Keeps at most the drops of this much time, but at least one.
    pub fn max_drops_interval(self, interval: Duration) -> Self {
        Self {
            max_drops: MaxDrops::Interval(interval),
            ..self
        }
    }

    /// Lets drops fall in clumps, one each `interval`. The default is 100 ms.
    pub fn sleep_interval(self, interval: Duration) -> Self {
        Self {
            falling: Falling::InTicks(interval),
            ..self
        }
    }

    /// Lets each drop fall at its own time rather than in clumps.
    pub fn continuous(self) -> Self {
        Self {
            falling: Falling::Continuously,
            ..self
        }
    }

    /// Lets each drop fall at its own time and keeps only the last one, so that no two requests
    /// pass closer together than the rate says.
    pub fn even_spacing(self) -> Self {
        Self {
            falling: Falling::EvenlySpaced,
            ..self
        }
    }

    /// Starts without any drops, rather than with as many as are kept.
    pub fn starts_empty(self) -> Self {
        Self {
            starts_empty: true,
            ..self
        }
    }

    /// Refuses a request for which no drop falls before its timeout at once, rather than to hold it
    /// in case that somebody before it gives up.
    pub fn refuse_early(self) -> Self {
        Self {
            refuse_early: true,
            ..self
        }
    }

    /// Bounds how many requests may wait at the same time; those above are refused at once. The
    /// default is 1000.
    pub fn max_waiters(self, max_waiters: usize) -> Self {
        Self {
            max_waiters,
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

    /// Makes the drip.
    ///
    /// # Errors
    ///
    /// [`BuildError`] for a rate that is not greater than zero, a maximum of no drops, or an
    /// interval of zero.
    pub fn build(self) -> Result<Drip, BuildError> {
        let rate = Rate::try_per_second(self.target_rate).map_err(|error| match error {
            RateError::Zero | RateError::NotANumber => {
                let reason = format!("{} is not greater than 0", self.target_rate);
                BuildError::invalid("target_rate", reason)
            }
            other => other.into(),
        })?;
        let max_drops = match (self.falling, self.max_drops) {
            (Falling::EvenlySpaced, _) => 1,
            (_, MaxDrops::Absolute(drops)) => drops,
            (_, MaxDrops::Interval(interval)) => (rate.thousandths_in(interval) / 1_000).max(1),
        };
        let quota = Quota::token_bucket(rate, max_drops)?;
        let clock = self.clock.unwrap_or_default();
        let (ticks, sleep_interval) = match self.falling {
            Falling::InTicks(interval) => {
                let ticks = Ticks::new(clock.clone(), interval);
                let reason = "must be greater than 0";
                let ticks = ticks.ok_or_else(|| BuildError::invalid("sleep_interval", reason))?;
                (Some(ticks), interval)
            }
            Falling::Continuously | Falling::EvenlySpaced => (None, Duration::ZERO),
        };
        let store_clock = ticks.clone().map_or_else(|| clock.clone(), Clock::ticks);
        let store = MemoryStore::builder()
            .max_keys(1)
            .clock(store_clock)
            .build();
        let mut builder = Limiter::builder("drip")
            .quota(quota)
            .max_waiters(self.max_waiters);
        if let Some(observer) = self.observer {
            builder = builder.observer(observer);
        }
        let limiter = builder.build(&store)?;
        if self.starts_empty {
            let _ = limiter.charge(ALL, Cost::new(max_drops).unwrap_or(Cost::MAX));
        }
        Ok(Drip(Arc::new(Shared {
            limiter,
            clock,
            ticks,
            hold: (!self.refuse_early).then(|| Hold::new(self.max_waiters)),
            settings: Settings {
                target_rate: self.target_rate,
                drop_timeout: self.drop_timeout,
                max_drops,
                sleep_interval,
            },
        })))
    }
}

impl std::fmt::Debug for DripBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DripBuilder")
            .field("target_rate", &self.target_rate)
            .field("drop_timeout", &self.drop_timeout)
            .field("max_drops", &self.max_drops)
            .field("falling", &self.falling)
            .finish_non_exhaustive()
    }
}
