//! A limiter by the names and numbers of a configuration.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use tollgate_core::{Quota, Rate};

use crate::build_error::BuildError;
use crate::clock::Clock;
use crate::contract::Closable;
use crate::limiter::Limiter;
use crate::memory::MemoryStore;
use crate::observer::Observer;

/// A limiter as a configuration describes it: a provider by name, and numbers of which zero stands
/// for the default.
///
/// ```
/// use tollgate::{Selection, SelectionError};
///
/// let selection = Selection {
///     provider: "Memory".into(),
///     burst_size: 5,
///     ..Selection::default()
/// };
/// let limiter = selection.build()?.limiter().unwrap();
/// assert_eq!(limiter.check("user-123").limit(), 5);
///
/// // There is no default provider: one that does not limit has to be asked for.
/// assert_eq!(Selection::default().build().unwrap_err(), SelectionError::NoProvider);
/// # Ok::<(), SelectionError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// `memory`, `redis` or `noop`, in any case, with spaces around it or not.
    pub provider: String,
    /// The steady rate; 10 if zero.
    pub requests_per_second: f64,
    /// How many may arrive at once; 20 if zero.
    pub burst_size: i64,
    /// How many keys are kept in memory; 100,000 if zero.
    pub max_keys: i64,
}

impl Selection {
    /// The rate that zero stands for.
    pub const DEFAULT_REQUESTS_PER_SECOND: f64 = 10.0;
    /// The burst that zero stands for.
    pub const DEFAULT_BURST_SIZE: u64 = 20;

    /// Makes the limiter.
    ///
    /// # Errors
    ///
    /// A [`SelectionError`]. A provider that is not known is reported before any number, so that a
    /// typo is not reported as its consequence.
    pub fn build(&self) -> Result<Closable, SelectionError> {
        self.build_with(Clock::system(), None)
    }

    /// Makes the limiter with a clock, and with an observer that is told of every decision.
    ///
    /// # Errors
    ///
    /// As [`Selection::build`].
    pub fn build_with(
        &self,
        clock: Clock,
        observer: Option<Arc<dyn Observer>>,
    ) -> Result<Closable, SelectionError> {
        let provider = self.provider.trim();
        match provider.to_ascii_lowercase().as_str() {
            "noop" => Ok(Closable::new(Limiter::noop())),
            "memory" => self.memory(clock, observer),
            "redis" => Err(SelectionError::Elsewhere { provider: "redis" }),
            "" => Err(SelectionError::NoProvider),
            _ => Err(SelectionError::UnknownProvider {
                provider: provider.into(),
            }),
        }
    }

    fn memory(
        &self,
        clock: Clock,
        observer: Option<Arc<dyn Observer>>,
    ) -> Result<Closable, SelectionError> {
        let rate = match self.requests_per_second {
            0.0 => Self::DEFAULT_REQUESTS_PER_SECOND,
            rate => rate,
        };
        let rate = Rate::try_per_second(rate).map_err(BuildError::from)?;
        let burst = match self.burst_size {
            0 => Self::DEFAULT_BURST_SIZE,
            size => positive("burst_size", size)?,
        };
        let quota = Quota::token_bucket(rate, burst).map_err(BuildError::from)?;
        let mut store = MemoryStore::builder().clock(clock);
        if self.max_keys != 0 {
            let max_keys = positive("max_keys", self.max_keys)?;
            store = store.max_keys(usize::try_from(max_keys).unwrap_or(usize::MAX));
        }
        let mut builder = Limiter::builder("default").quota(quota);
        if let Some(observer) = observer {
            builder = builder.observer(observer);
        }
        let limiter = builder.build(&store.build()).map_err(BuildError::from)?;
        Ok(Closable::new(limiter))
    }
}

fn positive(setting: &'static str, value: i64) -> Result<u64, BuildError> {
    u64::try_from(value).map_err(|_| {
        let reason = format!("{value} is negative, and there is no unlimited; choose a bound");
        BuildError::invalid(setting, reason)
    })
}

/// Why a configuration does not describe a limiter.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum SelectionError {
    /// No provider is named. A limiter that silently does not limit looks like one that is never
    /// hit, so `noop` has to be named.
    NoProvider,
    /// There is no provider of that name.
    UnknownProvider {
        /// The name.
        provider: String,
    },
    /// The provider is known, but not part of this crate.
    Elsewhere {
        /// The name.
        provider: &'static str,
    },
    /// A number cannot be used.
    Build(BuildError),
}

impl fmt::Display for SelectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProvider => {
                f.write_str("no provider is named; choose memory or redis, or noop for no limit")
            }
            Self::UnknownProvider { provider } => {
                write!(
                    f,
                    "{provider:?} is not a provider; choose memory, redis or noop"
                )
            }
            Self::Elsewhere { provider } => write!(
                f,
                "the provider {provider} needs a store of its own; \
                 bind the limiter to it, this crate only has memory and noop"
            ),
            Self::Build(_) => f.write_str("the numbers of the limiter cannot be used"),
        }
    }
}

impl Error for SelectionError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Build(error) => Some(error),
            _ => None,
        }
    }
}

impl From<BuildError> for SelectionError {
    fn from(error: BuildError) -> Self {
        Self::Build(error)
    }
}
