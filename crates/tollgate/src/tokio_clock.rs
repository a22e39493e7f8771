//! The clock of a tokio runtime, which its tests can pause.

use tokio::time::Instant;
use tollgate_core::Timestamp;

use crate::clock::{Clock, TimeSource};

impl Clock {
    /// The clock of the tokio runtime: it stands still while a test has paused the runtime's time.
    ///
    /// For services, [`Clock::system`] is quicker to read and tells the same time. Starts at
    /// `start`.
    #[must_use]
    pub fn tokio(start: Timestamp) -> Self {
        Self::other(TokioClock {
            start,
            base: Instant::now(),
        })
    }
}

struct TokioClock {
    start: Timestamp,
    base: Instant,
}

impl TimeSource for TokioClock {
    fn now(&self) -> Timestamp {
        self.start + self.base.elapsed()
    }
}
