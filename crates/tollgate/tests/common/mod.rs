//! Runs futures on a manual clock, one after another, in the order in which they are woken.

#![allow(dead_code, reason = "not every test uses all of it")]

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use tollgate::{Clock, Limiter, ManualClock, MemoryStore, Quota, Rate, Timestamp};

type Task<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

pub(crate) struct Sim<'a> {
    pub(crate) clock: ManualClock,
    start: Timestamp,
    tasks: Vec<Option<Task<'a>>>,
    woken: Arc<Mutex<VecDeque<usize>>>,
}

struct TaskWaker {
    task: usize,
    woken: Arc<Mutex<VecDeque<usize>>>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.woken.lock().unwrap().push_back(self.task);
    }
}

impl<'a> Sim<'a> {
    pub(crate) fn new(clock: &ManualClock) -> Self {
        Self {
            clock: clock.clone(),
            start: clock.now(),
            tasks: Vec::new(),
            woken: Arc::default(),
        }
    }

    /// Starts a task now.
    pub(crate) fn spawn(&mut self, task: impl Future<Output = ()> + 'a) -> usize {
        let id = self.tasks.len();
        self.tasks.push(Some(Box::pin(task)));
        self.woken.lock().unwrap().push_back(id);
        self.settle();
        id
    }

    /// Drops a task as it is.
    pub(crate) fn cancel(&mut self, task: usize) {
        self.tasks[task] = None;
        self.settle();
    }

    /// Forgets a task without dropping it.
    pub(crate) fn leak(&mut self, task: usize) {
        std::mem::forget(self.tasks[task].take());
    }

    /// Polls whatever is woken until nothing is.
    pub(crate) fn settle(&mut self) {
        loop {
            let Some(id) = self.woken.lock().unwrap().pop_front() else {
                return;
            };
            let Some(task) = &mut self.tasks[id] else {
                continue;
            };
            let woken = Arc::clone(&self.woken);
            let waker = Waker::from(Arc::new(TaskWaker { task: id, woken }));
            if task
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_ready()
            {
                self.tasks[id] = None;
            }
        }
    }

    /// Moves the clock to `at` after the start, stopping wherever somebody is to be woken.
    pub(crate) fn run_until(&mut self, at: Duration) {
        let end = self.start + at;
        self.settle();
        while let Some(next) = self.clock.next_wake().filter(|next| *next <= end) {
            self.clock.set(next);
            self.settle();
        }
        self.clock.set(end);
        self.settle();
    }

    /// Runs until nobody waits.
    pub(crate) fn run(&mut self) {
        self.settle();
        while let Some(next) = self.clock.next_wake() {
            self.clock.set(next);
            self.settle();
        }
        assert_eq!(self.alive(), 0, "somebody waits for ever");
    }

    pub(crate) fn alive(&self) -> usize {
        self.tasks.iter().flatten().count()
    }
}

/// A limiter on a manual clock.
pub(crate) fn limiter(rate: Rate, burst: u64, clock: &ManualClock) -> Limiter {
    let quota = Quota::token_bucket(rate, burst).unwrap();
    let store = MemoryStore::builder().clock(Clock::manual(clock)).build();
    Limiter::builder("test").quota(quota).build(&store).unwrap()
}

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}
