//! Generated traces: a quota, and what is asked of it when.
//!
//! Steps are symbolic ("one nanosecond before the time that the last denial named"), because the
//! instants that matter depend on the answers. They are resolved while a trace runs, and shrink to
//! something that can be read.

mod amounts;
mod quotas;

use std::fmt;
use std::time::Duration;

use proptest::prelude::*;
use tollgate_core::{Algorithm, Ask, Cost, Quota, Steady, Timestamp};

pub use self::amounts::{cost, small_cost};
pub use self::quotas::{quota, small_quota};

/// A quota and what is asked of one key of it.
#[derive(Clone)]
pub struct Trace {
    /// The quota.
    pub quota: Quota,
    /// What a charge may take more than is there.
    pub debt: Option<Cost>,
    /// The first reading of the clock.
    pub start: Timestamp,
    /// What happens, in order.
    pub steps: Vec<TraceStep>,
}

/// Prints the numbers only: what the steps did is printed by whoever runs them.
impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (quota, steps) = (self.quota, self.steps.len());
        write!(f, "{steps} steps of {} {quota}", quota.algorithm())
    }
}

/// The clock moves, then something is asked.
#[derive(Clone, Copy, Debug)]
pub struct TraceStep {
    /// How the clock moves.
    pub tick: Tick,
    /// What is asked; the patience is replaced by `patience`.
    pub ask: Ask,
    /// How far ahead the caller will book.
    pub patience: Gap,
}

/// How a clock moves between two readings.
#[derive(Clone, Copy, Debug)]
pub enum Tick {
    /// It goes on, or stands still.
    Forward(Gap),
    /// It goes back by so many nanoseconds.
    Back(u64),
}

/// A length of time that may depend on what was answered last.
#[derive(Clone, Copy, Debug)]
pub enum Gap {
    /// No time.
    Zero,
    /// So many nanoseconds.
    Nanos(u64),
    /// So many thousandths of the quota's span.
    Span(u64),
    /// So many years.
    Years(u64),
    /// The wait of the last answer, and so many nanoseconds more.
    Retry(i64),
    /// The time until the quota is whole, and so many nanoseconds more.
    Reset(i64),
    /// The time to the end of the aligned window, and so many nanoseconds more. The time between
    /// two tokens for a token bucket.
    Boundary(i64),
}

/// What a [`Gap`] may depend on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Last {
    /// The wait of the last answer.
    pub wait: Duration,
    /// The time to a whole quota of the last answer.
    pub reset: Duration,
}

/// The clock of a trace, and the time that a store makes of it.
#[derive(Debug)]
pub struct TraceClock {
    quota: Quota,
    reading: Timestamp,
    steady: Steady,
}

impl Gap {
    /// The gap in nanoseconds, for a key of `quota` at `now`.
    #[must_use]
    pub fn resolve(self, quota: &Quota, now: Timestamp, last: Last) -> Duration {
        let add = |base: Duration, more: i64| {
            let more_or_less = Duration::from_nanos(more.unsigned_abs());
            if more < 0 {
                base.saturating_sub(more_or_less)
            } else {
                base.saturating_add(more_or_less)
            }
        };
        match self {
            Self::Zero => Duration::ZERO,
            Self::Nanos(nanos) => Duration::from_nanos(nanos),
            Self::Span(thousandths) => {
                let nanos = quota.span().as_nanos() * u128::from(thousandths) / 1_000;
                Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
            }
            Self::Years(years) => Duration::from_secs(31_556_952 * years),
            Self::Retry(more) => add(last.wait, more),
            Self::Reset(more) => add(last.reset, more),
            Self::Boundary(more) => match (quota.window(), quota.rate()) {
                (Some(window), _) => add(window.end_of(now).since(now), more),
                (None, Some(rate)) => add(rate.period() / one_at_least(rate.tokens()), more),
                (None, None) => Duration::ZERO,
            },
        }
    }
}

impl TraceClock {
    /// The last reading that a trace makes of its clock: the year 2439. Beyond, waits reach the
    /// end of time, which has tests of its own.
    pub const LAST: Timestamp = Timestamp::from_nanos(14_800_000_000_000_000_000);

    /// A clock that reads `start`.
    #[must_use]
    pub fn new(quota: Quota, start: Timestamp) -> Self {
        Self {
            quota,
            reading: start,
            steady: Steady::default(),
        }
    }

    /// Moves the clock, and returns its reading and the steady time.
    pub fn tick(&mut self, tick: Tick, now: Timestamp, last: Last) -> (Timestamp, Timestamp) {
        self.reading = match tick {
            Tick::Forward(gap) => self.reading + gap.resolve(&self.quota, now, last),
            Tick::Back(nanos) => self.reading - Duration::from_nanos(nanos),
        }
        .min(Self::LAST);
        let now = self.steady.advance(self.reading, self.quota.span());
        (self.reading, now)
    }
}

/// What the steps of a trace may contain.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Menu {
    /// Checks without patience.
    Checks,
    /// Checks, some of them with patience, and charges without debt: nothing is ever given back.
    Spending,
    /// Every verb, with patience and with debt.
    Everything,
}

/// Traces of up to `steps` steps for `algorithm`, on a clock that may stand still and go back.
pub fn trace(algorithm: Algorithm, menu: Menu, steps: usize) -> impl Strategy<Value = Trace> {
    trace_of(quota(algorithm), menu, steps, tick().boxed())
}

/// As [`trace`], on a clock that never goes back.
pub fn forward_trace(
    algorithm: Algorithm,
    menu: Menu,
    steps: usize,
) -> impl Strategy<Value = Trace> {
    trace_of(
        quota(algorithm),
        menu,
        steps,
        gap().prop_map(Tick::Forward).boxed(),
    )
}

/// Traces of the quotas that `quotas` makes.
fn trace_of(
    quotas: impl Strategy<Value = Quota>,
    menu: Menu,
    steps: usize,
    ticks: BoxedStrategy<Tick>,
) -> impl Strategy<Value = Trace> {
    quotas.prop_flat_map(move |quota| {
        let limit = quota.limit_thousandths();
        let debt = match menu {
            Menu::Checks | Menu::Spending => Just(None).boxed(),
            Menu::Everything => prop::option::of(amounts::debt(limit)).boxed(),
        };
        let step =
            (ticks.clone(), ask(menu, limit), patience(menu)).prop_map(|(tick, ask, patience)| {
                TraceStep {
                    tick,
                    ask,
                    patience,
                }
            });
        (debt, start(quota), prop::collection::vec(step, 1..=steps)).prop_map(
            move |(debt, start, steps)| Trace {
                quota,
                debt,
                start,
                steps,
            },
        )
    })
}

fn ask(menu: Menu, limit: u64) -> BoxedStrategy<Ask> {
    let cost = || cost(limit);
    match menu {
        Menu::Checks => cost().prop_map(Ask::check).boxed(),
        Menu::Spending => prop_oneof![
            5 => cost().prop_map(Ask::check),
            1 => cost().prop_map(Ask::charge),
        ]
        .boxed(),
        Menu::Everything => prop_oneof![
            6 => cost().prop_map(Ask::check),
            1 => cost().prop_map(Ask::peek),
            1 => cost().prop_map(Ask::refund),
            2 => cost().prop_map(Ask::charge),
        ]
        .boxed(),
    }
}

fn patience(menu: Menu) -> BoxedStrategy<Gap> {
    match menu {
        Menu::Checks => Just(Gap::Zero).boxed(),
        Menu::Spending | Menu::Everything => prop_oneof![
            4 => Just(Gap::Zero),
            1 => (-1..=1_i64).prop_map(Gap::Retry),
            1 => (0..3_000_u64).prop_map(Gap::Span),
            1 => (-1..=1_i64).prop_map(Gap::Boundary),
            1 => Just(Gap::Years(580)),
        ]
        .boxed(),
    }
}

fn tick() -> impl Strategy<Value = Tick> {
    prop_oneof![
        12 => gap().prop_map(Tick::Forward),
        1 => (0..64_u32, any::<u64>()).prop_map(|(bits, nanos)| Tick::Back(nanos >> bits)),
    ]
}

fn gap() -> impl Strategy<Value = Gap> {
    prop_oneof![
        6 => Just(Gap::Zero),
        1 => Just(Gap::Nanos(1)),
        2 => (0..64_u32, any::<u64>()).prop_map(|(bits, nanos)| Gap::Nanos((nanos >> bits) >> 8)),
        2 => (0..300_u64).prop_map(Gap::Span),
        1 => (900..2_100_u64).prop_map(Gap::Span),
        3 => (-1..=1_i64).prop_map(Gap::Retry),
        1 => (-1..=1_i64).prop_map(Gap::Reset),
        2 => (-1..=1_i64).prop_map(Gap::Boundary),
        1 => (1..30_u64).prop_map(Gap::Years),
    ]
}

/// Where clocks start: at the epoch, today, and at the start of a window of `quota`.
fn start(quota: Quota) -> impl Strategy<Value = Timestamp> {
    let today = 1_750_000_000_000_000_000..1_800_000_000_000_000_000_u64;
    let instant = prop_oneof![
        1 => Just(0),
        1 => 0..1_000_000_000_u64,
        4 => today,
    ];
    (instant, any::<bool>()).prop_map(move |(nanos, aligned)| {
        let instant = Timestamp::from_nanos(nanos);
        match quota.window() {
            Some(window) if aligned => window.end_of(instant).min(TraceClock::LAST),
            _ => instant,
        }
    })
}

fn one_at_least(tokens: u64) -> u32 {
    u32::try_from(tokens).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests;
