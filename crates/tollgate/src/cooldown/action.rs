//! An action that has begun.

use std::fmt;
use std::time::Duration;

use tollgate_core::Timestamp;

use super::Cooldown;
use crate::key::Key;

/// What [`Cooldown::begin`] answers.
#[derive(Debug)]
#[must_use]
pub enum Attempt<'k> {
    /// Go ahead.
    Begun(Action<'k>),
    /// Too early.
    Refused {
        /// The time that is left.
        retry_after: Duration,
    },
    /// The action still runs, and only one [may](super::CooldownBuilder::exclusive).
    Running,
}

/// An action that has begun; dropped, it has failed and its slot is given back.
#[must_use = "an action that is dropped has failed"]
pub struct Action<'k> {
    cooldown: Cooldown,
    key: Key<'k>,
    /// When the interval ends, if the slot may be given back.
    until: Option<Timestamp>,
}

impl<'k> Action<'k> {
    pub(super) const fn new(cooldown: Cooldown, key: Key<'k>, until: Timestamp) -> Self {
        Self {
            cooldown,
            key,
            until: Some(until),
        }
    }

    /// The action succeeded: the slot counts, from when the action began.
    pub fn commit(mut self) {
        self.until = None;
    }

    /// The action failed: the slot is given back, as by dropping.
    pub fn roll_back(self) {}
}

impl Drop for Action<'_> {
    fn drop(&mut self) {
        self.cooldown.end(&self.key, self.until);
    }
}

impl fmt::Debug for Action<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Action")
    }
}
