//! Policies bound to a store: what callers hold.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use smallvec::SmallVec;
use tollgate_core::{Ask, Cost, Decision, Quota, Timestamp, Verb};

use crate::clock::Clock;
use crate::key::Key;
use crate::memory::{MemoryStats, MemoryStore};
use crate::observer::{Observation, Observer};
use crate::store::{BindError, Charge, LimitSpec, LocalStore, Store, StoreError};
use crate::wait::Lines;

/// One policy, bound to a store: decides by key.
///
/// With several quotas (10 a second and 1000 a day) a request is charged on all of them or on none.
/// Clones share their states. Dropping the last clone leaves nothing running.
///
/// The methods without a suffix decide at once and exist for stores in the same process; those
/// that end in `_async` work with every store, and cost the same on a local one.
pub struct Limiter<S: Store = MemoryStore> {
    inner: Arc<Inner<S>>,
}

struct Inner<S: Store> {
    policy: Box<str>,
    store: S,
    /// One per quota; none for a limiter that limits nothing.
    limits: Box<[S::Limit]>,
    quotas: PerQuota<Quota>,
    observer: Option<Arc<dyn Observer>>,
    max_waiters: usize,
    /// Who waits; made when somebody does.
    lines: OnceLock<Box<Lines>>,
}

/// How many callers may wait unless told otherwise: many more than a service has use for, and few
/// enough that their tasks do not fill a machine.
const DEFAULT_MAX_WAITERS: usize = 10_000;

/// Room for the decisions of this many quotas without a heap.
type PerQuota<T> = SmallVec<[T; 4]>;

impl Limiter {
    /// A limiter with a store of its own, in memory.
    ///
    /// For a name, several quotas, a bound on keys or a clock of your own, see
    /// [`Limiter::builder`].
    #[must_use]
    pub fn new(quota: Quota) -> Self {
        let store = MemoryStore::new();
        let bound = Self::builder("default").quota(quota).build(&store);
        // A new store knows no names, and the default table is small; if there is not even that
        // much memory, the process is about to end anyway.
        bound.unwrap_or_else(|_| Self::noop())
    }

    /// A limiter that allows every key for ever.
    #[must_use]
    pub fn noop() -> Self {
        Self::disabled("noop", &MemoryStore::new())
    }

    /// Starts a limiter by the name of its policy, which separates its states from those of other
    /// limiters on the same store and names it in metrics.
    pub fn builder(policy: impl Into<Box<str>>) -> LimiterBuilder {
        LimiterBuilder {
            policy: policy.into(),
            quotas: PerQuota::new(),
            debt: None,
            observer: None,
            max_waiters: DEFAULT_MAX_WAITERS,
        }
    }
}

impl<S: Store> Limiter<S> {
    /// A limiter that limits nothing and keeps nothing: a limit that is switched off.
    #[must_use]
    pub fn disabled(policy: impl Into<Box<str>>, store: &S) -> Self {
        let limits = Box::default();
        let inner = Inner {
            policy: policy.into(),
            store: store.clone(),
            limits,
            quotas: PerQuota::new(),
            observer: None,
            max_waiters: DEFAULT_MAX_WAITERS,
            lines: OnceLock::new(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The name of the policy.
    #[must_use]
    pub fn policy(&self) -> &str {
        &self.inner.policy
    }

    /// Whether this limiter limits nothing.
    #[must_use]
    pub fn is_disabled(&self) -> bool {
        self.inner.limits.is_empty()
    }

    /// How many quotas the policy has.
    #[must_use]
    pub fn quotas(&self) -> usize {
        self.inner.limits.len()
    }

    /// Who waits, if anybody ever has.
    pub(crate) fn known_lines(&self) -> Option<&Lines> {
        self.inner.lines.get().map(|lines| &**lines)
    }

    pub(crate) fn lines(&self) -> &Lines {
        self.inner.lines.get_or_init(|| {
            let Inner {
                quotas,
                store,
                max_waiters,
                ..
            } = &*self.inner;
            Box::new(Lines::new(quotas, store.local_clock(), *max_waiters))
        })
    }

    /// The bound limits, one per quota.
    #[must_use]
    pub fn limits(&self) -> &[S::Limit] {
        &self.inner.limits
    }

    /// Decides for a request of cost one, and charges it if allowed.
    ///
    /// # Errors
    ///
    /// A [`StoreError`] when the store could not decide.
    pub async fn check_async<'k>(&self, key: impl Into<Key<'k>>) -> Result<Decision, StoreError> {
        self.ask_async(key, Ask::check(Cost::ONE)).await
    }

    /// Asks every quota of the policy, and answers with the one that governs.
    ///
    /// # Errors
    ///
    /// A [`StoreError`] when the store could not decide.
    pub async fn ask_async<'k>(
        &self,
        key: impl Into<Key<'k>>,
        ask: Ask,
    ) -> Result<Decision, StoreError> {
        let mut decisions = PerQuota::new();
        self.ask_each_async(key, ask, &mut decisions).await
    }

    /// As [`Limiter::ask_async`]; `decisions` becomes the decisions of all quotas in their order.
    ///
    /// # Errors
    ///
    /// A [`StoreError`] when the store could not decide; then `decisions` means nothing.
    pub async fn ask_each_async<'k>(
        &self,
        key: impl Into<Key<'k>>,
        ask: Ask,
        decisions: &mut SmallVec<[Decision; 4]>,
    ) -> Result<Decision, StoreError> {
        let key = key.into();
        let start = self.start();
        let charges = self.charges(&key, ask);
        decisions.clear();
        decisions.resize(charges.len(), Decision::disabled());
        let result = self.inner.store.apply(&charges, decisions).await;
        let result = result.map(|()| govern(decisions));
        self.observe(ask.verb(), result.as_ref().copied(), start);
        result
    }

    fn charges<'a>(&'a self, key: &'a Key<'a>, ask: Ask) -> PerQuota<Charge<'a, S::Limit>> {
        self.inner
            .limits
            .iter()
            .map(|limit| Charge { limit, key, ask })
            .collect()
    }

    #[inline(always)]
    fn start(&self) -> Option<Timestamp> {
        self.inner
            .observer
            .as_ref()
            .and_then(|observer| started(observer.as_ref()))
    }

    #[inline(always)]
    fn observe(&self, verb: Verb, result: Result<Decision, &StoreError>, start: Option<Timestamp>) {
        if self.inner.observer.is_some() {
            self.tell(verb, result, start);
        }
    }

    #[inline(never)]
    fn tell(&self, verb: Verb, result: Result<Decision, &StoreError>, start: Option<Timestamp>) {
        if let Some(observer) = &self.inner.observer {
            let elapsed = start.map(|start| Clock::system().now().since(start));
            observer.observe(&Observation {
                policy: &self.inner.policy,
                verb,
                result,
                elapsed,
            });
        }
    }
}

impl Limiter {
    /// How many keys are in the tables of this limiter, with those that have refilled and were not
    /// reclaimed yet. Zero for a limiter that limits nothing.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.stats().keys
    }

    /// Whether no key is in a table.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The requests that passed uncounted, because a table was full. A value that climbs means
    /// that the limiter no longer limits; see [`OnFull`](crate::OnFull).
    #[must_use]
    pub fn overflows(&self) -> u64 {
        self.stats().overflow_allowed
    }

    /// The keys of all quotas, and what became of others.
    #[must_use]
    pub fn stats(&self) -> MemoryStats {
        let limits = self.limits().iter();
        limits
            .map(|limit| limit.stats())
            .fold(MemoryStats::default(), |a, b| a + b)
    }
}

impl<S: LocalStore> Limiter<S> {
    /// Decides for a request of cost one, and charges it if allowed.
    #[inline(always)]
    pub fn check<'k>(&self, key: impl Into<Key<'k>>) -> Decision {
        self.ask(key, Ask::check(Cost::ONE))
    }

    /// Decides for a request of `cost`, and charges it if allowed.
    #[inline(always)]
    pub fn check_cost<'k>(&self, key: impl Into<Key<'k>>, cost: Cost) -> Decision {
        self.ask(key, Ask::check(cost))
    }

    /// Decides for a request of cost one, and charges nothing. A key that was never seen is not
    /// remembered for having been looked at.
    #[inline]
    pub fn peek<'k>(&self, key: impl Into<Key<'k>>) -> Decision {
        self.ask(key, Ask::peek(Cost::ONE))
    }

    /// Gives `cost` back, on every quota, never above a full one. Those who wait move forward.
    #[inline]
    pub fn refund<'k>(&self, key: impl Into<Key<'k>>, cost: Cost) -> Decision {
        let key = key.into();
        match self.known_lines().filter(|lines| lines.waiting() > 0) {
            Some(lines) => lines.give(&key, cost, || self.refund_to_store(&key, cost)),
            None => self.refund_to_store(&key, cost),
        }
    }

    pub(crate) fn refund_to_store(&self, key: &Key<'_>, cost: Cost) -> Decision {
        self.ask(key.clone(), Ask::refund(cost))
    }

    /// Spends `cost` after the fact without asking: takes what is there, on every quota, down to
    /// the debt bound.
    #[inline]
    pub fn charge<'k>(&self, key: impl Into<Key<'k>>, cost: Cost) -> Decision {
        self.ask(key, Ask::charge(cost))
    }

    /// Decides for a request of `cost` by a caller who will wait up to `patience` for its slot.
    ///
    /// An allowed request is charged now; [`Decision::act_after`] says when to act. To wait
    /// alongside others, or to be able to cancel, see [`Limiter::reserve`], which this does not know
    /// of.
    #[inline]
    pub fn book<'k>(&self, key: impl Into<Key<'k>>, cost: Cost, patience: Duration) -> Decision {
        self.ask(key, Ask::check(cost).within(patience))
    }

    /// Asks every quota of the policy, and answers with the one that governs.
    #[inline(always)]
    pub fn ask<'k>(&self, key: impl Into<Key<'k>>, ask: Ask) -> Decision {
        let key = key.into();
        let start = self.start();
        let decision = match &*self.inner.limits {
            [limit] => self.inner.store.apply_one(limit, &key, ask),
            [] => Decision::disabled(),
            _ => {
                // A copy, so that the key of a single quota never has to be put into memory.
                let copy = key;
                self.ask_all(&copy, ask, &mut PerQuota::new())
            }
        };
        self.observe(ask.verb(), Ok(decision), start);
        decision
    }

    /// Charges `cost` if it passes now, and otherwise does nothing, nor tells the observer: the
    /// caller is about to ask again with patience.
    #[inline]
    pub(crate) fn passes_now(&self, key: &Key<'_>, cost: Cost) -> bool {
        let start = self.start();
        let ask = Ask::check(cost);
        let decision = match &*self.inner.limits {
            [limit] => self.inner.store.apply_one(limit, key, ask),
            [] => Decision::disabled(),
            _ => self.ask_all(key, ask, &mut PerQuota::new()),
        };
        if decision.is_allowed() {
            self.observe(Verb::Check, Ok(decision), start);
        }
        decision.is_allowed()
    }

    /// As [`Limiter::ask`]; `decisions` becomes the decisions of all quotas in their order.
    pub fn ask_each<'k>(
        &self,
        key: impl Into<Key<'k>>,
        ask: Ask,
        decisions: &mut SmallVec<[Decision; 4]>,
    ) -> Decision {
        let start = self.start();
        let decision = self.ask_all(&key.into(), ask, decisions);
        self.observe(ask.verb(), Ok(decision), start);
        decision
    }

    /// Checks many keys at a cost of one, each on its own: `decisions[i]` answers `keys[i]`.
    ///
    /// Several times quicker than one call for each where the table is larger than the processor's
    /// caches, because the lines of the table are fetched side by side. Observed one by one.
    ///
    /// ```
    /// use tollgate::{Decision, Key, Limiter, Quota, Rate};
    ///
    /// let limiter = Limiter::new(Quota::token_bucket(Rate::per_second(1)?, 1)?);
    /// let keys = [Key::from("a"), Key::from("b"), Key::from("a")];
    /// let mut decisions = [Decision::disabled(); 3];
    /// limiter.check_many(&keys, &mut decisions);
    /// assert_eq!(decisions.map(|decision| decision.is_allowed()), [true, true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_many(&self, keys: &[Key<'_>], decisions: &mut [Decision]) {
        let ask = Ask::check(Cost::ONE);
        match &*self.inner.limits {
            [limit] if self.inner.observer.is_none() => {
                self.inner.store.apply_many(limit, keys, ask, decisions);
            }
            _ => {
                for (key, decision) in keys.iter().zip(decisions) {
                    *decision = self.ask(key.clone(), ask);
                }
            }
        }
    }

    #[inline(never)]
    fn ask_all(&self, key: &Key<'_>, ask: Ask, decisions: &mut PerQuota<Decision>) -> Decision {
        let charges = self.charges(key, ask);
        decisions.clear();
        decisions.resize(charges.len(), Decision::disabled());
        self.inner.store.apply_now(&charges, decisions);
        govern(decisions)
    }
}

#[inline(never)]
fn started(observer: &dyn Observer) -> Option<Timestamp> {
    observer.wants_elapsed().then(|| Clock::system().now())
}

/// The decision that a client must be told, numbered by its quota.
fn govern(decisions: &mut [Decision]) -> Decision {
    for (index, decision) in decisions.iter_mut().enumerate() {
        *decision = decision.for_quota(u16::try_from(index).unwrap_or(u16::MAX));
    }
    decisions
        .iter()
        .copied()
        .reduce(Decision::governing)
        .unwrap_or_else(Decision::disabled)
}

impl<S: Store> Clone for Limiter<S> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

impl<S: Store> fmt::Debug for Limiter<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter")
            .field("policy", &self.inner.policy)
            .field("quotas", &self.inner.limits.len())
            .finish_non_exhaustive()
    }
}

/// A limiter in the making; see [`Limiter::builder`].
#[must_use]
pub struct LimiterBuilder {
    policy: Box<str>,
    quotas: PerQuota<Quota>,
    debt: Option<Cost>,
    observer: Option<Arc<dyn Observer>>,
    max_waiters: usize,
}

impl LimiterBuilder {
    /// Adds a quota. Requests are charged on all quotas or on none.
    pub fn quota(mut self, quota: Quota) -> Self {
        self.quotas.push(quota);
        self
    }

    /// Adds several quotas, or none: a limit that may be switched off is an `Option<Quota>`.
    ///
    /// ```
    /// use tollgate::{Limiter, MemoryStore, Quota, Rate};
    ///
    /// // In this configuration, zero switches a limit off.
    /// fn limiter(per_minute: u64, store: &MemoryStore) -> Limiter {
    ///     let rate = Rate::per_minute(per_minute).ok();
    ///     let quota = rate.and_then(|rate| Quota::token_bucket(rate, per_minute).ok());
    ///     Limiter::builder("login").quotas(quota).build(store).unwrap()
    /// }
    ///
    /// assert!(!limiter(10, &MemoryStore::new()).is_disabled());
    /// let disabled = limiter(0, &MemoryStore::new());
    /// assert!((0..1_000).all(|_| disabled.check("user-123").is_allowed()));
    /// ```
    pub fn quotas(mut self, quotas: impl IntoIterator<Item = Quota>) -> Self {
        self.quotas.extend(quotas);
        self
    }

    /// Lets a charge take up to `debt` more than is there; later checks wait until it is paid.
    pub fn debt(self, debt: Cost) -> Self {
        Self {
            debt: Some(debt),
            ..self
        }
    }

    /// Bounds how many callers may wait at the same time, over all keys. The default is 10,000.
    pub fn max_waiters(self, max_waiters: usize) -> Self {
        Self {
            max_waiters,
            ..self
        }
    }

    /// Tells `observer` of every decision.
    pub fn observer(self, observer: Arc<dyn Observer>) -> Self {
        Self {
            observer: Some(observer),
            ..self
        }
    }

    /// Binds the limiter to `store`.
    ///
    /// Without any quota the limiter limits nothing; see [`Limiter::disabled`].
    ///
    /// # Errors
    ///
    /// A [`BindError`] if the store cannot keep the promises of a quota, or already has a limiter
    /// of that name.
    pub fn build<S: Store>(self, store: &S) -> Result<Limiter<S>, BindError> {
        let mut limits = Vec::with_capacity(self.quotas.len());
        for (index, quota) in (0..=u16::MAX).zip(self.quotas.iter().copied()) {
            let spec = LimitSpec::new(&self.policy, quota)
                .at(index)
                .with_debt(self.debt);
            limits.push(store.bind(&spec)?);
        }
        let inner = Inner {
            policy: self.policy,
            store: store.clone(),
            limits: limits.into_boxed_slice(),
            quotas: self.quotas,
            observer: self.observer,
            max_waiters: self.max_waiters,
            lines: OnceLock::new(),
        };
        Ok(Limiter {
            inner: Arc::new(inner),
        })
    }
}

impl fmt::Debug for LimiterBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LimiterBuilder")
            .field("policy", &self.policy)
            .field("quotas", &self.quotas)
            .field("debt", &self.debt)
            .finish_non_exhaustive()
    }
}
