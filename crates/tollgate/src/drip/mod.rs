//! The waiting drip bucket of one instance.

mod builder;
mod hold;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tollgate_core::Cost;

pub use self::builder::DripBuilder;

use self::hold::Hold;
use crate::build_error::BuildError;
use crate::clock::Clock;
use crate::limiter::Limiter;
use crate::ticks::Ticks;
use crate::wait::{Reservation, WaitError};

/// A bucket for a whole instance into which drops fall, one for each request; a request that finds
/// none waits a little for the next.
///
/// Drops fall in clumps, one clump each [`sleep_interval`](DripBuilder::sleep_interval), or
/// [continuously](DripBuilder::continuous). Fractions are carried on, so rates below one a second
/// work. Unused drops are kept up to a maximum; those above are dismissed. There is no generator:
/// nothing runs in the background, and a drip that is dropped leaves nothing behind.
///
/// It limits this instance only, not the sum over several instances. For a limit by key, choose a
/// [`Limiter`], whose [`wait`](Limiter::wait) waits as well.
///
/// ```
/// use tollgate::Drip;
///
/// # fn do_work() {}
/// let limiter = Drip::builder().target_rate(100.0).build()?;
///
/// if limiter.limit_blocking() {
///     do_work();
/// }
/// # Ok::<(), tollgate::BuildError>(())
/// ```
///
/// On an asynchronous runtime, await [`Drip::limit`] instead.
#[derive(Clone)]
pub struct Drip(Arc<Shared>);

struct Shared {
    limiter: Limiter,
    /// The clock by which time passes, and its ticks if drops fall in clumps.
    clock: Clock,
    ticks: Option<Ticks>,
    hold: Option<Hold>,
    settings: Settings,
}

#[derive(Clone, Copy, Debug)]
struct Settings {
    target_rate: f64,
    drop_timeout: Duration,
    max_drops: u64,
    sleep_interval: Duration,
}

/// The one key of a drip.
const ALL: u64 = 0;

impl Drip {
    /// A drip with the defaults: one drop a second in ticks of 100 ms, at most 1000 of them kept,
    /// and a timeout of 150 ms.
    ///
    /// # Errors
    ///
    /// None that is known: the defaults are valid.
    pub fn new() -> Result<Self, BuildError> {
        Self::builder().build()
    }

    /// Starts a drip that differs from the defaults.
    pub fn builder() -> DripBuilder {
        DripBuilder::default()
    }

    /// Takes a drop, if need be after a wait for at most the
    /// [timeout](DripBuilder::drop_timeout), in order of arrival. Says whether there was one.
    ///
    /// A caller that is dropped while it waits leaves its drop to the next.
    pub async fn limit(&self) -> bool {
        if self.passes_now() {
            return true;
        }
        match self.take() {
            Ok(slot) => slot.ready().await.is_ok_and(|()| {
                slot.commit();
                true
            }),
            Err(WaitError::Limited(_)) => {
                let Some(hold) = &self.0.hold else {
                    return false;
                };
                let until = self.0.clock.now() + self.0.settings.drop_timeout;
                hold.until(&self.0.clock, until).await && self.try_limit()
            }
            Err(_) => false,
        }
    }

    /// As [`Drip::limit`], blocking the thread. Needs no runtime and no timer.
    #[must_use]
    pub fn limit_blocking(&self) -> bool {
        if self.passes_now() {
            return true;
        }
        match self.take() {
            Ok(slot) => slot.ready_blocking().is_ok_and(|()| {
                slot.commit();
                true
            }),
            Err(WaitError::Limited(_)) => {
                let Some(hold) = &self.0.hold else {
                    return false;
                };
                let until = self.0.clock.now() + self.0.settings.drop_timeout;
                hold.until_blocking(&self.0.clock, until) && self.try_limit()
            }
            Err(_) => false,
        }
    }

    /// Takes a drop if there is one now; never waits.
    #[must_use]
    pub fn try_limit(&self) -> bool {
        !self.is_stopped() && self.0.limiter.check(ALL).is_allowed()
    }

    /// Ends every wait at once, and lets no request pass from now on.
    pub fn stop(&self) {
        self.0.limiter.stop();
        if let Some(hold) = &self.0.hold {
            hold.stop();
        }
    }

    /// Whether the drip was stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.0.limiter.is_stopped()
    }

    /// Drops a second.
    #[must_use]
    pub fn target_rate(&self) -> f64 {
        self.0.settings.target_rate
    }

    /// How long a request waits for a drop.
    #[must_use]
    pub fn drop_timeout(&self) -> Duration {
        self.0.settings.drop_timeout
    }

    /// How many drops are kept.
    #[must_use]
    pub fn max_drops(&self) -> u64 {
        self.0.settings.max_drops
    }

    /// The time between two clumps of drops; zero if they fall continuously.
    #[must_use]
    pub fn sleep_interval(&self) -> Duration {
        self.0.settings.sleep_interval
    }

    /// How many requests wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.0.limiter.waiting() + self.0.hold.as_ref().map_or(0, Hold::len)
    }

    fn passes_now(&self) -> bool {
        !self.is_stopped() && self.0.limiter.passes_now(&ALL.into(), Cost::ONE)
    }

    /// Books a drop that falls before the timeout.
    fn take(&self) -> Result<Reservation<'static>, WaitError> {
        let Settings { drop_timeout, .. } = self.0.settings;
        let patience = match &self.0.ticks {
            // A drop that falls between two ticks is there at the second.
            Some(ticks) => {
                let now = self.0.clock.now();
                ticks.before(now + drop_timeout).since(ticks.before(now))
            }
            None => drop_timeout,
        };
        self.0.limiter.reserve(ALL, Cost::ONE, patience)
    }
}

impl fmt::Debug for Drip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drip")
            .field("settings", &self.0.settings)
            .field("waiting", &self.waiting())
            .field("is_stopped", &self.is_stopped())
            .finish_non_exhaustive()
    }
}
