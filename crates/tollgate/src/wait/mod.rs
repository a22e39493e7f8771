//! Waiting for a slot: one engine, first come first served, under every way to wait.
//!
//! A caller books its slot with the store when it arrives, enters the line of its key, and sleeps
//! until the slot has come. Every waiter has a timer of its own, so that no progress depends on
//! another one being awake. One that gives up hands its slot to those behind.
//!
//! | file | what it holds |
//! |---|---|
//! | `line` | the waiters of one key and what they have booked |
//! | `lines` | the lines of all keys of a limiter, and its bound |
//! | `shard` | some of those lines, under one lock |
//! | `flow` | what part of an amount is there when |
//! | `reservation` | a slot in the hands of a caller |
//! | `limiter` | `wait`, `reserve` and `stop` of a limiter |
//! | `error` | why there is no slot |

mod error;
mod flow;
mod limiter;
mod line;
mod lines;
mod reservation;
mod shard;

pub use self::error::{Limited, WaitError};
pub(crate) use self::lines::Lines;
pub use self::reservation::Reservation;
