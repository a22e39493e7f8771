//! The service behind every surface: which policy, is the request in order, and what is decided.
//!
//! Surfaces turn their wire format into a [`Request`] and an [`Answer`] into their wire format. They
//! make no decisions of their own.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use tollgate::{
    Answer as StoreAnswer, Ask, BindError, Cost, CostError, Decision, Key, Limiter, MemoryStore,
    Observer, Quota, StoreError,
};

use crate::config::{DEFAULT_POLICY, PolicyConfig};

/// Everything that can be asked, by the name of its policy.
#[derive(Debug)]
pub(crate) struct Service {
    policies: Vec<Policy>,
    by_name: HashMap<Box<str>, usize>,
    default: Option<usize>,
    max_key_bytes: usize,
}

/// A policy that requests can name.
pub(crate) struct Policy {
    /// Its place in [`Service::policies`].
    pub(crate) index: usize,
    pub(crate) name: Box<str>,
    /// None if the policy is disabled.
    pub(crate) quotas: Box<[Quota]>,
    decider: Box<dyn Decide>,
}

/// What a surface asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    /// `None` for the default policy.
    pub(crate) policy: Option<&'a str>,
    pub(crate) key: &'a str,
    pub(crate) cost: Cost,
}

/// What a surface is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer<'s> {
    pub(crate) policy: &'s Policy,
    pub(crate) decision: Decision,
}

/// Why nothing was decided.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Refusal {
    /// The request is wrong, and would be wrong again.
    Invalid(Invalid),
    /// The store could not decide.
    Store(StoreError),
}

/// What is wrong with a request. Never says what a key holds.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Invalid {
    BlankKey,
    LongKey { len: usize, max: usize },
    NulInKey,
    KeyNotText,
    PolicyNotText,
    Cost(CostError),
    UnknownPolicy(Box<str>),
    NoDefaultPolicy,
}

/// Decides by key: a limiter, whatever its store.
pub(crate) trait Decide: Send + Sync {
    /// Decides `ask` for `key`, at once if the store can.
    fn decide<'a>(
        &'a self,
        key: &'a str,
        ask: Ask,
    ) -> StoreAnswer<'a, Result<Decision, StoreError>>;
}

impl Decide for Limiter<MemoryStore> {
    fn decide<'a>(
        &'a self,
        key: &'a str,
        ask: Ask,
    ) -> StoreAnswer<'a, Result<Decision, StoreError>> {
        StoreAnswer::ready(Ok(self.ask(Key::from(key), ask)))
    }
}

impl Service {
    pub(crate) fn new(policies: Vec<Policy>, max_key_bytes: usize) -> Self {
        let name = |policy: &Policy| (policy.name.clone(), policy.index);
        let by_name: HashMap<_, _> = policies.iter().map(name).collect();
        Self {
            default: by_name.get(DEFAULT_POLICY).copied(),
            by_name,
            policies,
            max_key_bytes,
        }
    }

    /// All policies, by their index.
    pub(crate) fn policies(&self) -> &[Policy] {
        &self.policies
    }

    /// Decides for a request, and charges its key if it is allowed.
    pub(crate) async fn check(&self, request: Request<'_>) -> Result<Answer<'_>, Refusal> {
        let policy = self.policy(request.policy).map_err(Refusal::Invalid)?;
        self.check_key(request.key).map_err(Refusal::Invalid)?;
        let ask = Ask::check(request.cost);
        match policy.decider.decide(request.key, ask).await {
            Ok(decision) => {
                if decision.is_denied() {
                    tracing::debug!(policy = &*policy.name, cost = %request.cost, "denied");
                }
                Ok(Answer { policy, decision })
            }
            Err(error) => {
                tracing::warn!(policy = &*policy.name, %error, "could not decide");
                Err(Refusal::Store(error))
            }
        }
    }

    fn policy(&self, name: Option<&str>) -> Result<&Policy, Invalid> {
        let index = match name {
            None => self.default.ok_or(Invalid::NoDefaultPolicy)?,
            Some(name) => match self.by_name.get(name) {
                Some(index) => *index,
                None => return Err(Invalid::UnknownPolicy(name.chars().take(64).collect())),
            },
        };
        self.policies.get(index).ok_or(Invalid::NoDefaultPolicy)
    }

    fn check_key(&self, key: &str) -> Result<(), Invalid> {
        let (len, max) = (key.len(), self.max_key_bytes);
        if len > max {
            return Err(Invalid::LongKey { len, max });
        }
        if key.trim_ascii().is_empty() {
            return Err(Invalid::BlankKey);
        }
        if key.contains('\0') {
            return Err(Invalid::NulInKey);
        }
        Ok(())
    }
}

impl Policy {
    /// The policy number `index`, with its states in memory; `observer` is told of its decisions.
    ///
    /// # Errors
    ///
    /// A [`BindError`] if there is no memory for its table.
    pub(crate) fn in_memory(
        index: usize,
        config: &PolicyConfig,
        observer: Option<Arc<dyn Observer>>,
    ) -> Result<(Self, Limiter), BindError> {
        let store = MemoryStore::builder()
            .max_keys(config.max_keys)
            .on_full(config.on_full)
            .build();
        let mut builder = Limiter::builder(&*config.name);
        for quota in &config.quotas {
            builder = builder.quota(*quota);
        }
        if let Some(debt) = config.debt {
            builder = builder.debt(debt);
        }
        if let Some(observer) = observer {
            builder = builder.observer(observer);
        }
        let limiter = builder.build(&store)?;
        let policy = Self {
            index,
            name: config.name.as_str().into(),
            quotas: config.quotas.as_slice().into(),
            decider: Box::new(limiter.clone()),
        };
        Ok((policy, limiter))
    }

    /// Whether the policy limits nothing.
    pub(crate) fn is_disabled(&self) -> bool {
        self.quotas.is_empty()
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy")
            .field("name", &self.name)
            .field("quotas", &self.quotas)
            .finish_non_exhaustive()
    }
}

impl From<CostError> for Invalid {
    fn from(error: CostError) -> Self {
        Self::Cost(error)
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BlankKey => f.write_str("a key must not be empty"),
            Self::LongKey { len, max } => {
                write!(f, "a key has at most {max} bytes, and this one has {len}")
            }
            Self::KeyNotText => f.write_str("a key must be UTF-8"),
            Self::PolicyNotText => f.write_str("the name of a policy must be UTF-8"),
            Self::NulInKey => f.write_str("a key must not contain NUL"),
            Self::Cost(error) => error.fmt(f),
            Self::UnknownPolicy(name) => write!(f, "there is no policy named {name:?}"),
            Self::NoDefaultPolicy => write!(
                f,
                "no policy was named, and there is none named {DEFAULT_POLICY:?}"
            ),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A service whose only policy has a store that does not answer.
    pub(crate) fn failing() -> Service {
        struct Failing;
        impl Decide for Failing {
            fn decide<'a>(
                &'a self,
                _: &'a str,
                _: Ask,
            ) -> StoreAnswer<'a, Result<Decision, StoreError>> {
                let secret = StoreError::Unavailable("secret".to_owned());
                StoreAnswer::Pending(Box::pin(async { Err(secret) }))
            }
        }
        let policy = Policy {
            index: 0,
            name: DEFAULT_POLICY.into(),
            quotas: Box::default(),
            decider: Box::new(Failing),
        };
        Service::new(vec![policy], 1_024)
    }

    #[tokio::test]
    async fn a_failure_to_decide_is_not_a_denial() {
        let service = failing();
        let request = Request {
            policy: None,
            key: "a",
            cost: Cost::ONE,
        };
        let refusal = service.check(request).await.err();
        assert!(matches!(refusal, Some(Refusal::Store(_))), "{refusal:?}");
    }
}
