//! A store that is slow and right: one map under one lock. Or wrong, in one way.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tollgate::{Answer, Ask, BindError, Charge, Cost, Decision, Key, LimitSpec, ManualClock, Part};
use tollgate::{Store, StoreError, Timestamp, Verb};
use tollgate_core::Steady;
use tollgate_testing::{CoreKey, Subject};

/// What a [`Naive`] store does wrong.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Flaw {
    None,
    /// `("a", "b")` is `("a:b")`.
    JoinsParts,
    /// The text `"1"` is the number 1.
    ForgetsKinds,
    CutsKeys,
    /// All policies have the same states.
    SharesLimits,
    BindsTwice,
    /// Goes through a batch until one is denied.
    ChargesInPart,
    /// Asks each charge of one key as if it were alone.
    DoesNotAddUp,
    /// Reads, decides and writes as separate steps.
    LosesUpdates,
    /// Microseconds, where nanoseconds are wanted.
    CoarseClock,
    /// Goes back with the clock.
    BelievesTheClock,
    /// Forgets every other charge.
    ForgetsDebts,
    PeeksForReal,
}

#[derive(Clone)]
pub(crate) struct Naive(Arc<Shared>);

struct Shared {
    flaw: Flaw,
    clock: ManualClock,
    states: Mutex<States>,
    /// The names that are bound; a limit gives its name back when it is dropped.
    names: Arc<Mutex<HashSet<(String, u16)>>>,
}

#[derive(Default)]
struct States {
    keys: HashMap<(String, u16, String), CoreKey>,
    steady: HashMap<(String, u16), Steady>,
    charges: u64,
}

pub(crate) struct NaiveLimit {
    name: (String, u16),
    fresh: CoreKey,
    names: Arc<Mutex<HashSet<(String, u16)>>>,
}

impl Drop for NaiveLimit {
    fn drop(&mut self) {
        self.names.lock().unwrap().remove(&self.name);
    }
}

impl Naive {
    pub(crate) fn new(clock: &ManualClock, flaw: Flaw) -> Self {
        Self(Arc::new(Shared {
            flaw,
            clock: clock.clone(),
            states: Mutex::default(),
            names: Arc::default(),
        }))
    }

    fn states(&self) -> MutexGuard<'_, States> {
        self.0
            .states
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn id(&self, charge: &Charge<'_, NaiveLimit>) -> (String, u16, String) {
        let (policy, index) = charge.limit.name.clone();
        let policy = match self.0.flaw {
            Flaw::SharesLimits => String::new(),
            _ => policy,
        };
        (policy, index, text(charge.key, self.0.flaw))
    }

    fn now(&self, states: &mut States, limit: &NaiveLimit) -> Timestamp {
        let reading = self.0.clock.now();
        match self.0.flaw {
            Flaw::BelievesTheClock => reading,
            Flaw::CoarseClock => Timestamp::from_nanos(reading.as_nanos() / 1_000 * 1_000),
            _ => {
                let steady = states.steady.entry(limit.name.clone()).or_default();
                steady.advance(reading, limit.fresh.limit.span())
            }
        }
    }

    /// Asks the key of a charge, and keeps what becomes of it.
    fn ask(&self, charge: &Charge<'_, NaiveLimit>, ask: Ask) -> Decision {
        let mut states = self.states();
        let now = self.now(&mut states, charge.limit);
        let id = self.id(charge);
        let mut key = states.keys.get(&id).unwrap_or(&charge.limit.fresh).clone();
        if self.0.flaw == Flaw::LosesUpdates {
            drop(states);
            std::thread::yield_now();
            states = self.states();
        }
        let ask = match ask.verb() {
            Verb::Peek if self.0.flaw == Flaw::PeeksForReal => Ask::check(ask.cost()),
            _ => ask,
        };
        let decision = key.ask(now, ask);
        states.charges += 1;
        if self.0.flaw != Flaw::ForgetsDebts || states.charges.is_multiple_of(2) {
            states.keys.insert(id, key);
        }
        decision
    }

    /// What a check would be answered if everything before it in the batch passed.
    fn peek(&self, before: &[Charge<'_, NaiveLimit>], charge: &Charge<'_, NaiveLimit>) -> Decision {
        let mut cost = charge.ask.cost().as_thousandths();
        if self.0.flaw != Flaw::DoesNotAddUp {
            let same = before
                .iter()
                .filter(|earlier| self.id(earlier) == self.id(charge));
            cost += same
                .map(|earlier| earlier.ask.cost().as_thousandths())
                .sum::<u64>();
        }
        let cost = Cost::from_thousandths(cost).unwrap();
        self.ask(charge, Ask::peek(cost).within(charge.ask.patience()))
    }

    fn apply_all(&self, charges: &[Charge<'_, NaiveLimit>], decisions: &mut [Decision]) {
        // One at a time, unless updates are to be lost.
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _held = (self.0.flaw != Flaw::LosesUpdates).then(|| {
            ONE_AT_A_TIME
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner())
        });
        let checks = charges
            .iter()
            .all(|charge| charge.ask.verb() == Verb::Check);
        let mut pass = true;
        if checks && charges.len() > 1 && self.0.flaw != Flaw::ChargesInPart {
            for (index, charge) in charges.iter().enumerate() {
                decisions[index] = self.peek(&charges[..index], charge);
                pass &= decisions[index].is_allowed();
            }
        }
        for (charge, decision) in charges.iter().zip(decisions).filter(|_| pass) {
            *decision = self.ask(charge, charge.ask);
        }
    }
}

impl Store for Naive {
    type Limit = NaiveLimit;

    fn bind(&self, spec: &LimitSpec<'_>) -> Result<NaiveLimit, BindError> {
        let name = (spec.policy.to_owned(), spec.index);
        let new = self.0.names.lock().unwrap().insert(name.clone());
        if !new && self.0.flaw != Flaw::BindsTwice {
            return Err(BindError::NameTaken {
                policy: name.0,
                index: name.1,
            });
        }
        Ok(NaiveLimit {
            name,
            fresh: CoreKey::new(spec.quota, spec.debt),
            names: Arc::clone(&self.0.names),
        })
    }

    fn apply<'a>(
        &'a self,
        charges: &'a [Charge<'a, NaiveLimit>],
        decisions: &'a mut [Decision],
    ) -> Answer<'a, Result<(), StoreError>> {
        self.apply_all(charges, decisions);
        Answer::ready(Ok(()))
    }
}

/// A text that only equal keys share, if the flaw lets it.
fn text(key: &Key<'_>, flaw: Flaw) -> String {
    let part = |part: &Part<'_>| match part {
        Part::Text(text) => (0, (*text).to_owned()),
        Part::Bytes(bytes) => (1, format!("{bytes:?}")),
        Part::Number(number) => (2, number.to_string()),
        Part::Address(address) => (3, address.to_string()),
        other => panic!("no text for {other:?}"),
    };
    let parts: Vec<(u8, String)> = key.parts().iter().map(part).collect();
    let texts: Vec<&str> = parts.iter().map(|(_, text)| text.as_str()).collect();
    match flaw {
        Flaw::JoinsParts => texts.join(":"),
        Flaw::ForgetsKinds => format!("{texts:?}"),
        Flaw::CutsKeys => format!("{parts:?}").chars().take(128).collect(),
        _ => format!("{parts:?}"),
    }
}

#[test]
fn a_microsecond_is_coarse() {
    let clock = ManualClock::default();
    clock.advance(Duration::from_nanos(1));
    let store = Naive::new(&clock, Flaw::CoarseClock);
    let spec = tollgate::Quota::parse(tollgate::Algorithm::TokenBucket, "1/s").unwrap();
    let limit = store.bind(&LimitSpec::new("policy", spec)).unwrap();
    let now = store.now(&mut store.states(), &limit);
    assert_eq!(clock.now().since(now), Duration::from_nanos(1));
}
