//! Who wakes a caller that waits.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use crate::manual_clock::ManualSleep;

/// Wakes callers that wait, on an asynchronous runtime of the user's choice.
///
/// A timer may be late, but then a caller acts late; one that is early is asked again. With the
/// feature `tokio` nobody needs to write one for tokio.
///
/// ```
/// use std::future::Future;
/// use std::pin::Pin;
/// use std::time::Duration;
/// use tollgate::{Clock, Timer};
///
/// /// Sleeps on a thread of its own, for the sake of the example.
/// struct Threads;
///
/// impl Timer for Threads {
///     fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
///         let (mut thread, start) = (None, std::sync::Arc::new(std::sync::OnceLock::new()));
///         Box::pin(std::future::poll_fn(move |context| {
///             let (waker, done) = (context.waker().clone(), start.clone());
///             if done.get().is_some() {
///                 return std::task::Poll::Ready(());
///             }
///             thread.get_or_insert_with(|| std::thread::spawn(move || {
///                 std::thread::sleep(duration);
///                 let _ = done.set(());
///                 waker.wake();
///             }));
///             std::task::Poll::Pending
///         }))
///     }
/// }
///
/// let clock = Clock::system().with_timer(Threads);
/// # let _ = clock;
/// ```
pub trait Timer: Send + Sync + 'static {
    /// A future that is ready once `duration` has passed.
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// A sleep that can be awaited. Dropped, it leaves nothing behind.
pub(crate) enum Sleep {
    Manual(ManualSleep),
    Other(Pin<Box<dyn Future<Output = ()> + Send>>),
    #[cfg(feature = "tokio")]
    Tokio(Pin<Box<tokio::time::Sleep>>),
}

impl Sleep {
    pub(crate) fn of(future: Pin<Box<dyn Future<Output = ()> + Send>>) -> Self {
        Self::Other(future)
    }

    pub(crate) const fn manual(sleep: ManualSleep) -> Self {
        Self::Manual(sleep)
    }

    /// A sleep by the runtime that the caller runs on, if there is one that we know.
    #[cfg(feature = "tokio")]
    pub(crate) fn of_runtime(duration: Duration) -> Option<Self> {
        tokio::runtime::Handle::try_current().ok()?;
        // Kept short of what the runtime's clock can name; whoever wakes early sleeps again.
        let duration = duration.min(Duration::from_secs(86_400));
        Some(Self::Tokio(Box::pin(tokio::time::sleep(duration))))
    }

    #[cfg(not(feature = "tokio"))]
    pub(crate) fn of_runtime(_: Duration) -> Option<Self> {
        None
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        match self.get_mut() {
            Self::Manual(sleep) => Pin::new(sleep).poll(context),
            Self::Other(sleep) => sleep.as_mut().poll(context),
            #[cfg(feature = "tokio")]
            Self::Tokio(sleep) => sleep.as_mut().poll(context),
        }
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sleep")
    }
}

/// A waker that unparks the thread that calls this.
pub(crate) fn unpark_current() -> Waker {
    Waker::from(Arc::new(Unpark(std::thread::current())))
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
