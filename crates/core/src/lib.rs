//! Exact rate limiting arithmetic: time, rates, quotas, costs, decisions and the algorithms.
//!
//! Everything here is a pure function of its arguments. Nothing reads a clock, takes a lock,
//! performs I/O or computes a decision in floating point, and nothing can panic: a store hands in
//! the state of a key and an instant, and gets back a [`Decision`] and the state to keep.
//!
//! Most users want the `tollgate` crate, which binds a [`Quota`] to a store. This crate is for
//! whoever writes a store, or checks one.
//!
//! ```
//! use tollgate_core::{Ask, Cost, Limit, Quota, Rate, State, Timestamp};
//!
//! let quota = Quota::token_bucket(Rate::per_second(10)?, 20)?;
//! let limit = Limit::new(quota);
//! let now = Timestamp::from_secs(1_000);
//!
//! let step = limit.decide(State::FRESH, now, Ask::check(Cost::ONE));
//! assert!(step.decision.is_allowed());
//! assert_eq!(step.decision.remaining(), 19);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

#![no_std]
#![forbid(unsafe_code)]
#![deny(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::float_arithmetic,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

extern crate alloc;

mod algorithm;
mod ask;
mod cost;
mod decimal;
mod decision;
mod limit;
mod math;
mod quota;
mod rate;
mod steady;
mod text;
mod time;
mod window;

pub use crate::algorithm::{
    Debt, FixedWindow, Log, RollingWindow, SlidingWindow, State, Step, TokenBucket,
};
pub use crate::ask::{Ask, Verb};
pub use crate::cost::{Cost, CostError};
pub use crate::decision::{Decision, Outcome, Source};
pub use crate::limit::Limit;
pub use crate::quota::{Algorithm, Quota, QuotaError};
pub use crate::rate::{Rate, RateError};
pub use crate::steady::Steady;
pub use crate::text::TextError;
pub use crate::time::Timestamp;
pub use crate::window::Window;
