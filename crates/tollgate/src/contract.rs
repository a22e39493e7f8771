//! The narrow contract of a limiter, for code that takes any.

use std::fmt;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use tollgate_core::{Ask, Cost};

use crate::drip::Drip;
use crate::key::Key;
use crate::limiter::Limiter;
use crate::store::{Answer, Store, StoreError};

/// A limiter by key, as narrow as can be: it says yes or no, and lets go of what it holds.
///
/// For code that is handed any limiter, one of these or its own. Who holds a [`Limiter`] asks it
/// directly: that is quicker and says more.
///
/// A refusal is `Ok(false)`, never an error. To give up on a slow answer, drop the future.
///
/// ```
/// use tollgate::{Limiter, Quota, Rate, RateLimiter};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let limiter = Limiter::new(Quota::token_bucket(Rate::per_second(10)?, 5)?);
/// let limiters: [&dyn RateLimiter; 2] = [&limiter, &Limiter::noop()];
/// for limiter in limiters {
///     assert!(limiter.allow("user-123".into()).await?);
/// }
/// # Ok(())
/// # }
/// # let waker = std::task::Waker::noop();
/// # assert!(Box::pin(example()).as_mut().poll(&mut std::task::Context::from_waker(waker)).is_ready());
/// ```
pub trait RateLimiter: Send + Sync {
    /// Whether one request of `key` may proceed; if so, it is charged.
    fn allow<'a>(&'a self, key: Key<'a>) -> Answer<'a, Result<bool, StoreError>>;

    /// Lets go of what the limiter holds, and ends those who wait. May be called more than once.
    fn close(&self) {}

    /// The limiter as one that knows when a key may come back, if it does.
    ///
    /// One that fronts a third party often cannot know. It has nothing to do here, and invents no
    /// number: clients obey what they are told.
    fn hint(&self) -> Option<&dyn RetryHint> {
        None
    }
}

/// The optional half of a [`RateLimiter`]: when a refused key may come back.
pub trait RetryHint: Send + Sync {
    /// How long `key` has to wait until it would be allowed; `None` without an estimate, which
    /// includes a key that would be allowed now or was never seen.
    ///
    /// Spends nothing and reserves nothing: another caller may come first. A least time to wait,
    /// not a promise, and no reason to admit anybody.
    fn retry_after<'a>(&'a self, key: Key<'a>) -> Answer<'a, Option<Duration>>;
}

/// When `key` may come back, or `None` if `limiter` cannot say.
///
/// The one way to ask, so that a refusal without a hint looks the same on every surface.
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Limiter, Quota, Rate, RateLimiter, retry_after_for};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let limiter = Limiter::new(Quota::token_bucket(Rate::per_minute(1)?, 1)?);
/// assert_eq!(retry_after_for(&limiter, "user-123".into()).await, None);
/// assert!(limiter.allow("user-123".into()).await?);
/// let hint = retry_after_for(&limiter, "user-123".into()).await;
/// assert!(hint > Some(Duration::from_secs(59)));
/// # Ok(())
/// # }
/// # let waker = std::task::Waker::noop();
/// # assert!(Box::pin(example()).as_mut().poll(&mut std::task::Context::from_waker(waker)).is_ready());
/// ```
pub fn retry_after_for<'a>(
    limiter: &'a (impl RateLimiter + ?Sized),
    key: Key<'a>,
) -> Answer<'a, Option<Duration>> {
    match limiter.hint() {
        Some(hint) => hint.retry_after(key),
        None => Answer::ready(None),
    }
}

impl<S: Store> RateLimiter for Limiter<S> {
    fn allow<'a>(&'a self, key: Key<'a>) -> Answer<'a, Result<bool, StoreError>> {
        Answer::Pending(Box::pin(async move {
            let decision = self.check_async(key).await?;
            Ok(decision.is_allowed())
        }))
    }

    /// Ends those who wait. There is nothing else to end; the states go with the last clone.
    fn close(&self) {
        self.stop();
    }

    fn hint(&self) -> Option<&dyn RetryHint> {
        Some(self)
    }
}

impl<S: Store> RetryHint for Limiter<S> {
    fn retry_after<'a>(&'a self, key: Key<'a>) -> Answer<'a, Option<Duration>> {
        Answer::Pending(Box::pin(async move {
            let decision = self.ask_async(key, Ask::peek(Cost::ONE)).await;
            decision.ok()?.retry_after()
        }))
    }
}

/// A drip has no keys: whoever asks takes a drop, and waits for it.
impl RateLimiter for Drip {
    fn allow<'a>(&'a self, _: Key<'a>) -> Answer<'a, Result<bool, StoreError>> {
        Answer::Pending(Box::pin(async move { Ok(self.limit().await) }))
    }

    fn close(&self) {
        self.stop();
    }
}

/// A limiter that lets go of everything when it is closed, although others still hold it.
///
/// After that it cannot decide, and says so with an error; it neither admits nor refuses.
///
/// ```
/// use tollgate::{Closable, Limiter, Quota, Rate, RateLimiter};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let limiter = Closable::new(Limiter::new(Quota::token_bucket(Rate::per_second(10)?, 5)?));
/// assert!(limiter.allow("user-123".into()).await?);
/// limiter.close();
/// limiter.close();
/// let error = limiter.allow("user-123".into()).await.unwrap_err();
/// assert_eq!(error.to_string(), "the store is unavailable: the limiter was closed");
/// # Ok(())
/// # }
/// # let waker = std::task::Waker::noop();
/// # assert!(Box::pin(example()).as_mut().poll(&mut std::task::Context::from_waker(waker)).is_ready());
/// ```
pub struct Closable<S: Store = crate::memory::MemoryStore>(RwLock<Option<Limiter<S>>>);

impl<S: Store> Closable<S> {
    /// A limiter that can be closed.
    #[must_use]
    pub const fn new(limiter: Limiter<S>) -> Self {
        Self(RwLock::new(Some(limiter)))
    }

    /// The limiter, unless it was closed. Whoever keeps it keeps what it holds.
    #[must_use]
    pub fn limiter(&self) -> Option<Limiter<S>> {
        let limiter = self.0.read().unwrap_or_else(PoisonError::into_inner);
        limiter.clone()
    }
}

impl<S: Store> RateLimiter for Closable<S> {
    fn allow<'a>(&'a self, key: Key<'a>) -> Answer<'a, Result<bool, StoreError>> {
        let Some(limiter) = self.limiter() else {
            let reason = String::from("the limiter was closed");
            return Answer::ready(Err(StoreError::Unavailable(reason)));
        };
        Answer::Pending(Box::pin(async move {
            Ok(limiter.check_async(key).await?.is_allowed())
        }))
    }

    fn close(&self) {
        let limiter = {
            let mut limiter = self.0.write().unwrap_or_else(PoisonError::into_inner);
            limiter.take()
        };
        if let Some(limiter) = limiter {
            limiter.stop();
        }
    }

    fn hint(&self) -> Option<&dyn RetryHint> {
        Some(self)
    }
}

impl<S: Store> RetryHint for Closable<S> {
    fn retry_after<'a>(&'a self, key: Key<'a>) -> Answer<'a, Option<Duration>> {
        let Some(limiter) = self.limiter() else {
            return Answer::ready(None);
        };
        Answer::Pending(Box::pin(async move {
            let decision = limiter.ask_async(key, Ask::peek(Cost::ONE)).await;
            decision.ok()?.retry_after()
        }))
    }
}

impl<S: Store> fmt::Debug for Closable<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Closable").field(&self.limiter()).finish()
    }
}
