//! Callers for whom no drop falls in time, held until their timeout.
//!
//! Somebody before them may give up, so that a drop is there after all when the timeout is over.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use ahash::RandomState;
use tollgate_core::Timestamp;

use crate::clock::Clock;
use crate::timer::unpark_current;

#[derive(Debug)]
pub(super) struct Hold {
    max: usize,
    stopped: AtomicBool,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    next: u64,
    wakers: HashMap<u64, Waker, RandomState>,
}

impl Hold {
    pub(super) fn new(max: usize) -> Self {
        Self {
            max,
            stopped: AtomicBool::new(false),
            held: Mutex::default(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.held().wakers.len()
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        let wakers: Vec<_> = self.held().wakers.drain().map(|(_, waker)| waker).collect();
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Waits until `until`; `false` if it was stopped before, or too many wait already.
    pub(super) async fn until(&self, clock: &Clock, until: Timestamp) -> bool {
        let Some(mut sleep) = clock.sleep_until(until) else {
            return false;
        };
        let mut place = Place::new(self);
        poll_fn(|context| {
            if !place.hold(context.waker()) {
                return Poll::Ready(false);
            }
            while Pin::new(&mut sleep).poll(context).is_ready() {
                match clock.sleep_until(until) {
                    Some(rest) if clock.now() < until => sleep = rest,
                    _ => return Poll::Ready(true),
                }
            }
            Poll::Pending
        })
        .await
    }

    /// As [`Hold::until`], blocking the thread.
    pub(super) fn until_blocking(&self, clock: &Clock, until: Timestamp) -> bool {
        let waker = unpark_current();
        let mut place = Place::new(self);
        while clock.now() < until {
            if !place.hold(&waker) {
                return false;
            }
            clock.park_until(until, &waker);
        }
        !self.stopped.load(Ordering::Acquire)
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // A map is never half written.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among those that are held, given up when dropped.
struct Place<'h> {
    hold: &'h Hold,
    number: Option<u64>,
}

impl<'h> Place<'h> {
    const fn new(hold: &'h Hold) -> Self {
        Self { hold, number: None }
    }

    /// Holds the caller of `waker`; `false` if it is to go.
    fn hold(&mut self, waker: &Waker) -> bool {
        let mut held = self.hold.held();
        // Read under the lock, under which those who are held are woken.
        if self.hold.stopped.load(Ordering::Acquire) {
            return false;
        }
        if self.number.is_none() {
            if held.wakers.len() >= self.hold.max {
                return false;
            }
            self.number = Some(held.next);
            held.next = held.next.wrapping_add(1);
        }
        if let Some(number) = self.number {
            held.wakers.insert(number, waker.clone());
        }
        true
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let mut held = self.hold.held();
            held.wakers.remove(&number);
            if held.wakers.is_empty() {
                held.wakers = HashMap::default();
            }
        }
    }
}
