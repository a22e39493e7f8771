//! Time that never goes back, made of a clock that may.

use core::time::Duration;

use crate::time::{Timestamp, nanos};

/// Turns the readings of a clock that may stop, jump or go back into a time that never goes back.
///
/// A small step back (up to the *span*) freezes time until the clock has caught up: nothing is
/// granted twice. A larger one would freeze it for longer than any caller was told to wait, so time
/// goes on from where it was, and every level is kept. Choose as span the shortest time in which
/// one of the quotas forgets everything, [`Quota::span`](crate::Quota::span).
///
/// ```
/// use core::time::Duration;
/// use tollgate_core::{Steady, Timestamp};
///
/// let span = Duration::from_secs(10);
/// let mut steady = Steady::default();
/// assert_eq!(steady.advance(Timestamp::from_secs(100), span), Timestamp::from_secs(100));
/// // Five seconds back: frozen.
/// assert_eq!(steady.advance(Timestamp::from_secs(95), span), Timestamp::from_secs(100));
/// // An hour back and one second on: time goes on by that second.
/// assert_eq!(steady.advance(Timestamp::from_secs(10), span), Timestamp::from_secs(100));
/// assert_eq!(steady.advance(Timestamp::from_secs(11), span), Timestamp::from_secs(101));
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Steady {
    high: u64,
    offset: u64,
}

impl Steady {
    /// The steady time at a `reading` of the clock, where quotas forget everything in `span`.
    pub fn advance(&mut self, reading: Timestamp, span: Duration) -> Timestamp {
        let now = reading.as_nanos().saturating_add(self.offset);
        let step_back = self.high.saturating_sub(now);
        if step_back > nanos(span) {
            self.offset = self.offset.saturating_add(step_back);
        }
        self.high = self.high.max(now);
        Timestamp::from_nanos(self.high)
    }
}
