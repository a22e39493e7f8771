//! Whether this server wants requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this server wants requests: until it begins to stop. Clones share the answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Readiness(Arc<AtomicBool>);

impl Readiness {
    /// No more, from now on.
    pub(crate) fn stop(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub(crate) fn is_ready(&self) -> bool {
        !self.0.load(Ordering::Acquire)
    }
}
