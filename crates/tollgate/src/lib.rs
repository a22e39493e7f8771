//! An exact rate limiter: limit by key in tens of nanoseconds.
//!
//! A [`Limiter`] binds one or several [`Quota`]s to a [`Store`]. The store that comes with this
//! crate, [`MemoryStore`], keeps its states in the process, in bounded memory, without any
//! background work.
//!
//! ```
//! use tollgate::{Limiter, Quota, Rate};
//!
//! let limiter = Limiter::new(Quota::token_bucket(Rate::per_second(10)?, 5)?);
//!
//! let decision = limiter.check("user-123");
//! assert!(decision.is_allowed());
//! assert_eq!(decision.remaining(), 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A denial is a value with a time to come back, never an error:
//!
//! ```
//! use std::time::Duration;
//! use tollgate::{Clock, Limiter, ManualClock, MemoryStore, Quota, Rate};
//!
//! let clock = ManualClock::default();
//! let store = MemoryStore::builder().clock(Clock::manual(&clock)).build();
//! let limiter = Limiter::builder("login").quota(Quota::token_bucket(Rate::per_minute(6)?, 1)?).build(&store)?;
//!
//! assert!(limiter.check("user-123").is_allowed());
//! let denied = limiter.check("user-123");
//! assert_eq!(denied.retry_after(), Some(Duration::from_secs(10)));
//!
//! clock.advance(Duration::from_secs(10));
//! assert!(limiter.check("user-123").is_allowed());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod build_error;
mod clock;
mod concurrency;
mod contract;
mod cooldown;
mod counters;
mod drip;
mod key;
mod limiter;
mod manual_clock;
mod memory;
mod observer;
mod pacer;
mod retry;
mod selection;
mod store;
mod sync;
mod system_clock;
mod ticks;
mod timer;
#[cfg(feature = "tokio")]
mod tokio_clock;
mod wait;

pub use tollgate_core::{
    Algorithm, Ask, Cost, CostError, Decision, Outcome, Quota, QuotaError, Rate, RateError, Source,
    TextError, Timestamp, Verb, Window,
};

pub use crate::build_error::BuildError;
pub use crate::clock::{Clock, TimeSource};
pub use crate::concurrency::{Concurrency, Permit};
pub use crate::contract::{Closable, RateLimiter, RetryHint, retry_after_for};
pub use crate::cooldown::{Action, Attempt, Cooldown, CooldownBuilder};
pub use crate::counters::Counters;
pub use crate::drip::{Drip, DripBuilder};
pub use crate::key::{AddressError, AddressKey, Key, Part};
pub use crate::limiter::{Limiter, LimiterBuilder};
pub use crate::manual_clock::ManualClock;
pub use crate::memory::{MemoryLimit, MemoryStats, MemoryStore, MemoryStoreBuilder, OnFull};
pub use crate::observer::{Observation, Observer};
pub use crate::pacer::{KeyedPacer, Pacer, PacerBuilder};
pub use crate::retry::{RateLimited, is_rate_limited, retry_after, retry_after_seconds};
pub use crate::selection::{Selection, SelectionError};
pub use crate::store::{Answer, BindError, Charge, LimitSpec, LocalStore, Store, StoreError};
pub use crate::timer::Timer;
pub use crate::wait::{Limited, Reservation, WaitError};

/// The code in the documents compiles and runs.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../../README.md")]
    struct Readme;

    #[doc = include_str!("../../../docs/library.md")]
    struct Library;
}
