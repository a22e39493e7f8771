//! One action per key in each interval.

mod action;
mod builder;

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ahash::RandomState;
use tollgate_core::Decision;

pub use self::action::{Action, Attempt};
pub use self::builder::CooldownBuilder;

use crate::build_error::BuildError;
use crate::clock::Clock;
use crate::key::{Key, KeyHasher};
use crate::limiter::Limiter;
use crate::memory::MemoryStats;

/// Polices actions that others ask of you: at most one per key in each interval.
///
/// An early repeat is refused outright, never delayed, with the time that is left. A refusal is a
/// value, and does not count: the time left goes on running down however often, and however many
/// at once, a client tries. For calls that *you* make, choose a [`Pacer`](crate::Pacer).
///
/// Memory is bounded and nothing runs in the background: a key whose interval has passed takes up
/// no room that another key could not have. Clones share their keys.
///
/// ```
/// use std::time::Duration;
/// use tollgate::Cooldown;
///
/// let cooldown = Cooldown::builder(Duration::from_secs(3 * 60))
///     .max_age(Duration::from_secs(60 * 60))
///     .build()?;
///
/// assert!(cooldown.allow(("namespace", "infra-1")).is_allowed());
/// let refused = cooldown.allow(("namespace", "infra-1"));
/// assert!(refused.retry_after().is_some_and(|after| after > Duration::from_secs(179)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// If the slot is to count only when the action succeeds, see [`Cooldown::begin`].
#[derive(Clone)]
pub struct Cooldown(Arc<Shared>);

struct Shared {
    limiter: Limiter,
    interval: Duration,
    clock: Clock,
    exclusive: bool,
    hasher: KeyHasher,
    /// The keys with an action that runs, if only one may. The lock of a key also makes looking at
    /// the time and giving a slot back one step.
    running: [Mutex<Running>; STRIPES],
}

type Running = HashSet<u64, RandomState>;

const STRIPES: usize = 16;

impl Cooldown {
    /// A cooldown of `interval`, with the defaults.
    ///
    /// # Errors
    ///
    /// [`BuildError::Rate`] for an interval of zero or of more than 584 years.
    pub fn new(interval: Duration) -> Result<Self, BuildError> {
        Self::builder(interval).build()
    }

    /// Starts a cooldown that differs from the defaults.
    pub const fn builder(interval: Duration) -> CooldownBuilder {
        CooldownBuilder::new(interval)
    }

    /// Decides whether the action may be done now, and if so, starts the interval.
    pub fn allow<'k>(&self, key: impl Into<Key<'k>>) -> Decision {
        let key = key.into();
        let _running = self.running(&key);
        self.0.limiter.check(key)
    }

    /// Decides as [`Cooldown::allow`], and charges nothing.
    pub fn peek<'k>(&self, key: impl Into<Key<'k>>) -> Decision {
        self.0.limiter.peek(key)
    }

    /// Begins an action whose slot counts only if it succeeds.
    ///
    /// The slot is taken now, so that nobody else begins at the same time. [`Action::commit`] keeps
    /// it; an [`Action`] that is dropped, because the action failed, gives it back, unless the
    /// interval is over anyway.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Attempt, Cooldown};
    ///
    /// fn restart() -> Result<(), std::fmt::Error> { Err(std::fmt::Error) }
    ///
    /// let cooldown = Cooldown::new(Duration::from_secs(10))?;
    /// for _ in 0..2 {
    ///     match cooldown.begin("server-7") {
    ///         Attempt::Begun(action) => if restart().is_ok() { action.commit() },
    ///         other => panic!("a failed action does not count: {other:?}"),
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn begin<'k>(&self, key: impl Into<Key<'k>>) -> Attempt<'k> {
        let key = key.into();
        let hash = self.0.hasher.hash(&key);
        let mut running = self.running(&key);
        if running.contains(&hash) {
            return Attempt::Running;
        }
        // Read before the decision, so that a slot is never given back after its interval.
        let until = self.0.clock.now() + self.0.interval;
        let decision = self.0.limiter.check(key.clone());
        if decision.is_denied() {
            let retry_after = decision.retry_after().unwrap_or(self.0.interval);
            return Attempt::Refused { retry_after };
        }
        if self.0.exclusive {
            running.insert(hash);
        }
        Attempt::Begun(Action::new(self.clone(), key, until))
    }

    /// The interval.
    #[must_use]
    pub fn interval(&self) -> Duration {
        self.0.interval
    }

    /// The keys that are kept, and what became of others.
    #[must_use]
    pub fn stats(&self) -> MemoryStats {
        let limits = self.0.limiter.limits().iter();
        limits
            .map(|limit| limit.stats())
            .fold(MemoryStats::default(), |a, b| a + b)
    }

    /// Ends an action; gives its slot back if `until` has not come.
    fn end(&self, key: &Key<'_>, give_back_before: Option<tollgate_core::Timestamp>) {
        let hash = self.0.hasher.hash(key);
        let mut running = self.running(key);
        running.remove(&hash);
        if running.is_empty() {
            *running = Running::default();
        }
        if give_back_before.is_some_and(|until| self.0.clock.now() < until) {
            let _ = self.0.limiter.refund(key.clone(), tollgate_core::Cost::ONE);
        }
    }

    fn running(&self, key: &Key<'_>) -> MutexGuard<'_, Running> {
        let stripe = self.0.hasher.hash(key) as usize % STRIPES;
        // A set is never half written.
        self.0.running[stripe]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Cooldown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cooldown")
            .field("interval", &self.0.interval)
            .field("exclusive", &self.0.exclusive)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
