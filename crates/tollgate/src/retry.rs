//! Refusals as errors, and when to come back.

use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;

use crate::wait::Limited;

/// A limiter refused the request: for callers that have to hand a refusal back as an error.
///
/// A [`Decision`](crate::Decision) says so with a value; an outbound client has nowhere else to put
/// it. Found through any wrapping by [`is_rate_limited`].
///
/// ```
/// use tollgate::{RateLimited, is_rate_limited};
///
/// let error = std::io::Error::other(RateLimited);
/// assert_eq!(error.to_string(), "rate limited");
/// assert!(is_rate_limited(&error));
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct RateLimited;

impl fmt::Display for RateLimited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rate limited")
    }
}

impl Error for RateLimited {}

/// Whether `error`, or an error that it wraps, is a refusal: [`RateLimited`] or [`Limited`].
///
/// "Too fast right now" only. A quota that is used up for the month has another remedy, buying
/// more, and deserves another error.
#[must_use]
pub fn is_rate_limited(error: &(dyn Error + 'static)) -> bool {
    chain(error).any(|error| error.is::<RateLimited>() || error.is::<Limited>())
}

/// The time to come back, from `error` or an error that it wraps; `None` for other errors.
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Limited, WaitError, retry_after, retry_after_seconds};
///
/// let refused = WaitError::from(Limited::new(Duration::from_millis(1_500)));
/// let wrapped: Box<dyn std::error::Error> = Box::new(std::io::Error::other(refused));
///
/// let after = retry_after(&*wrapped).unwrap();
/// assert_eq!(retry_after_seconds(after), 2);
/// assert_eq!(retry_after(&std::fmt::Error), None);
/// ```
#[must_use]
pub fn retry_after(error: &(dyn Error + 'static)) -> Option<Duration> {
    chain(error).find_map(|error| Some(error.downcast_ref::<Limited>()?.retry_after()))
}

/// The value of a `Retry-After` header: whole seconds, rounded up, at least 1.
///
/// Zero would invite a retry that is certain to fail.
///
/// ```
/// use std::time::Duration;
/// use tollgate::retry_after_seconds;
///
/// let seconds = |millis| retry_after_seconds(Duration::from_millis(millis));
/// assert_eq!([0, 1, 1_000, 1_500].map(seconds), [1, 1, 1, 2]);
/// ```
#[must_use]
pub const fn retry_after_seconds(wait: Duration) -> u64 {
    let seconds = wait.as_secs();
    if wait.subsec_nanos() > 0 {
        seconds.saturating_add(1)
    } else if seconds == 0 {
        1
    } else {
        seconds
    }
}

/// `error` and everything it wraps.
fn chain<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| {
        let error: &'e (dyn Error + 'static) = *error;
        // An `io::Error` names as its source the source of what it wraps, not what it wraps.
        let wrapped = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        match wrapped {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        }
    })
}

#[cfg(all(test, not(tollgate_loom)))]
mod tests {
    use super::*;
    use crate::wait::WaitError;

    #[derive(Debug)]
    struct Wrapped(Box<dyn Error + Send + Sync>);

    impl fmt::Display for Wrapped {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("wrapped")
        }
    }

    impl Error for Wrapped {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&*self.0)
        }
    }

    #[test]
    fn s0_12_a_refusal_is_recognised_through_any_wrapping() {
        let deep = Wrapped(Box::new(io::Error::other(Wrapped(Box::new(RateLimited)))));
        assert!(is_rate_limited(&deep) && is_rate_limited(&RateLimited));
        assert!(!is_rate_limited(&Wrapped("rate limited".into())));
    }

    #[test]
    fn s4_40_retry_after_is_found_anywhere_in_the_chain() {
        let wait = Duration::from_secs(7);
        let refused = WaitError::from(Limited::new(wait));
        let deep = Wrapped(Box::new(io::Error::other(Wrapped(Box::new(refused)))));
        assert_eq!(retry_after(&deep), Some(wait));
        assert!(is_rate_limited(&deep));
        for other in [WaitError::Stopped, WaitError::NoTimer] {
            assert_eq!(retry_after(&other), None);
            assert!(!is_rate_limited(&other));
        }
    }

    #[test]
    fn s2_46_retry_after_seconds_at_the_edges() {
        assert_eq!(retry_after_seconds(Duration::from_nanos(1)), 1);
        assert_eq!(retry_after_seconds(Duration::new(1, 1)), 2);
        assert_eq!(retry_after_seconds(Duration::MAX), u64::MAX);
    }
}
