//! Who wants to know of decisions: metrics and logs.

use std::time::Duration;

use tollgate_core::{Decision, Verb};

use crate::store::StoreError;

/// Told of every decision of a limiter, after it was made.
///
/// Called on the caller's thread, so it has to be quick. It never sees a key.
pub trait Observer: Send + Sync + 'static {
    /// A decision was made, or could not be made.
    fn observe(&self, observation: &Observation<'_>);

    /// Whether [`Observation::elapsed`] is wanted. Measuring costs two readings of a clock for
    /// each decision.
    fn wants_elapsed(&self) -> bool {
        true
    }
}

/// One decision, or the failure to make one.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Observation<'a> {
    /// The name of the policy.
    pub policy: &'a str,
    /// What was asked.
    pub verb: Verb,
    /// The governing decision, or why there is none.
    pub result: Result<Decision, &'a StoreError>,
    /// How long it took, if the observer wants to know.
    pub elapsed: Option<Duration>,
}
