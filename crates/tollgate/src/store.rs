//! What a limiter asks of the place where its states live.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tollgate_core::{Ask, Cost, Decision, Quota};

use crate::clock::Clock;
use crate::key::Key;

/// Where the states of keys live and change atomically.
///
/// A store owns the clock, the states and their bounds; it does not know which algorithm it runs:
/// a limit is bound once, and from then on the store applies `tollgate_core::Limit` to the state of
/// a key, atomically. This is the one thing that users extend.
pub trait Store: Clone + Send + Sync + 'static {
    /// A limit that is bound to the store. States of different limits never meet.
    type Limit: Send + Sync + 'static;

    /// Binds a limit.
    ///
    /// # Errors
    ///
    /// [`BindError`] if the store cannot keep the promises of the limit, or knows its name already.
    fn bind(&self, spec: &LimitSpec<'_>) -> Result<Self::Limit, BindError>;

    /// The clock by which callers wait for what they have booked.
    fn local_clock(&self) -> Clock {
        Clock::system()
    }

    /// Applies `charges` together and writes the decision of each in its place in `decisions`.
    ///
    /// Of the checks, either all are charged or none. `decisions` is as long as `charges`.
    ///
    /// # Errors
    ///
    /// A [`StoreError`] when the store could not decide. A denial is not an error.
    fn apply<'a>(
        &'a self,
        charges: &'a [Charge<'a, Self::Limit>],
        decisions: &'a mut [Decision],
    ) -> Answer<'a, Result<(), StoreError>>;
}

/// A [`Store`] in the same process: it decides at once and always.
pub trait LocalStore: Store {
    /// As [`Store::apply`], now.
    fn apply_now(&self, charges: &[Charge<'_, Self::Limit>], decisions: &mut [Decision]);

    /// As [`LocalStore::apply_now`], for a single charge.
    fn apply_one(&self, limit: &Self::Limit, key: &Key<'_>, ask: Ask) -> Decision;

    /// Asks the same of many keys, each on its own: `decisions[i]` answers `keys[i]`.
    ///
    /// Surplus decisions are left as they are; surplus keys are not asked.
    fn apply_many(
        &self,
        limit: &Self::Limit,
        keys: &[Key<'_>],
        ask: Ask,
        decisions: &mut [Decision],
    ) {
        for (key, decision) in keys.iter().zip(decisions) {
            *decision = self.apply_one(limit, key, ask);
        }
    }
}

/// A limit to be bound to a store.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LimitSpec<'a> {
    /// The name of the policy that the limit belongs to.
    pub policy: &'a str,
    /// Which quota of the policy it is, counted from 0.
    pub index: u16,
    /// Its numbers.
    pub quota: Quota,
    /// How far a charge may go below zero; not at all if `None`.
    pub debt: Option<Cost>,
}

impl<'a> LimitSpec<'a> {
    /// The first quota of `policy`, without debt.
    #[must_use]
    pub const fn new(policy: &'a str, quota: Quota) -> Self {
        Self {
            policy,
            index: 0,
            quota,
            debt: None,
        }
    }

    /// The same limit as quota number `index` of its policy.
    #[must_use]
    pub const fn at(self, index: u16) -> Self {
        Self { index, ..self }
    }

    /// The same limit, where a charge may take `debt` more than is there.
    #[must_use]
    pub const fn with_debt(self, debt: Option<Cost>) -> Self {
        Self { debt, ..self }
    }
}

/// One limit, who is charged on it, and what is asked.
#[derive(Debug)]
pub struct Charge<'a, L> {
    /// The limit.
    pub limit: &'a L,
    /// Who is charged.
    pub key: &'a Key<'a>,
    /// What is asked.
    pub ask: Ask,
}

impl<L> Clone for Charge<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L> Copy for Charge<'_, L> {}

/// What a store answers: at once, or later. A future either way.
///
/// A store in memory answers at once, so awaiting it allocates nothing and never yields.
pub enum Answer<'a, T> {
    /// The answer; `None` once it has been taken.
    Ready(Option<T>),
    /// The answer is on its way.
    Pending(Pin<Box<dyn Future<Output = T> + Send + 'a>>),
}

impl<T> Answer<'_, T> {
    /// An answer that is there.
    pub const fn ready(value: T) -> Self {
        Self::Ready(Some(value))
    }
}

impl<T: Unpin> Future for Answer<'_, T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match self.get_mut() {
            // Polling a finished future again never completes, which is what the contract of
            // `Future` leaves open.
            Answer::Ready(value) => value.take().map_or(Poll::Pending, Poll::Ready),
            Answer::Pending(future) => future.as_mut().poll(context),
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Answer<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready(value) => f.debug_tuple("Ready").field(value).finish(),
            Self::Pending(_) => f.write_str("Pending"),
        }
    }
}

/// Why a limit cannot be bound to a store.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum BindError {
    /// The store has a limit of that name already: two limiters would share states by accident.
    NameTaken {
        /// The policy.
        policy: String,
        /// Which quota of it.
        index: u16,
    },
    /// There is no memory for a table of that many keys.
    OutOfMemory {
        /// The bound that was asked for.
        max_keys: usize,
    },
    /// The store cannot decide this limit exactly.
    Inexact {
        /// The quota.
        quota: String,
        /// Which number to change.
        reason: String,
    },
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameTaken { policy, index } => write!(
                f,
                "the store already has quota {index} of a policy named {policy:?}; \
                 clone its limiter to share it, or choose another name"
            ),
            Self::OutOfMemory { max_keys } => {
                write!(
                    f,
                    "no memory for a table of {max_keys} keys; lower max_keys"
                )
            }
            Self::Inexact { quota, reason } => {
                write!(f, "this store cannot decide {quota} exactly: {reason}")
            }
        }
    }
}

impl std::error::Error for BindError {}

/// Why a store could not decide. Never a denial.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum StoreError {
    /// The store did not answer in time.
    Timeout,
    /// The store cannot be reached, or refuses to work.
    Unavailable(String),
    /// The store answered something that is not an answer.
    BadReply(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout => f.write_str("the store did not answer in time"),
            Self::Unavailable(reason) => write!(f, "the store is unavailable: {reason}"),
            Self::BadReply(reason) => write!(f, "the store gave a bad reply: {reason}"),
        }
    }
}

impl std::error::Error for StoreError {}
