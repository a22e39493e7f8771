//! Whatever can be asked about one key: the core itself, a store, or a wrong model.

use tollgate_core::{Ask, Cost, Decision, Limit, Log, Quota, State, Timestamp};

/// Something that answers for one key of one limit.
pub trait Subject {
    /// Answers `ask` at `now`.
    fn ask(&mut self, now: Timestamp, ask: Ask) -> Decision;
}

impl<F: FnMut(Timestamp, Ask) -> Decision> Subject for F {
    fn ask(&mut self, now: Timestamp, ask: Ask) -> Decision {
        self(now, ask)
    }
}

/// One key of a [`Limit`], kept the way that a store keeps it.
#[derive(Clone, Debug)]
pub struct CoreKey {
    /// The limit.
    pub limit: Limit,
    /// The state, of a limit that keeps states.
    pub state: State,
    /// The log, of a limit that keeps logs.
    pub log: Log,
}

impl CoreKey {
    /// A key that nothing has been spent on.
    #[must_use]
    pub fn new(quota: Quota, debt: Option<Cost>) -> Self {
        Self {
            limit: Limit::with_debt(quota, debt),
            state: State::FRESH,
            log: Log::default(),
        }
    }

    /// When the key can no longer be told from a fresh one.
    #[must_use]
    pub fn fresh_at(&self) -> Timestamp {
        if self.limit.keeps_log() {
            self.limit.log_fresh_at(&self.log)
        } else {
            self.limit.fresh_at(self.state)
        }
    }
}

impl Subject for CoreKey {
    fn ask(&mut self, now: Timestamp, ask: Ask) -> Decision {
        if self.limit.keeps_log() {
            return self.limit.decide_log(&mut self.log, now, ask);
        }
        let step = self.limit.decide(self.state, now, ask);
        self.state = step.next.unwrap_or(self.state);
        step.decision
    }
}
