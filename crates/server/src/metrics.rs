//! What is counted, and the text that Prometheus reads.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{
    Encoder, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    IntGaugeVec, Opts, Registry, TextEncoder,
};
use tollgate::{Limiter, MemoryStats, Observation, Observer};

/// Everything that is counted, in a registry of its own.
#[derive(Clone, Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    /// One for each of [`RESULTS`].
    decisions: [IntCounter; 3],
    durations: [Histogram; 3],
    policy_decisions: IntCounterVec,
    policy_durations: HistogramVec,
}

/// What can become of a request that was in order.
const RESULTS: [&str; 3] = ["allowed", "denied", "errored"];

/// The buckets that dashboards of this metric were made for.
const BUCKETS: [f64; 8] = [0.00005, 0.0001, 0.0005, 0.001, 0.1, 0.5, 1.0, 2.0];

/// The span of a decision, from a key in the processor's cache to a store that hangs, in steps that
/// leave no hole where a shared store lives.
const FINE_BUCKETS: [f64; 17] = [
    1e-7, 2.5e-7, 5e-7, 1e-6, 2.5e-6, 1e-5, 2.5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2,
    2.5e-2, 1e-1, 1.0,
];

impl Metrics {
    /// Counts nothing yet; all series of decisions are there.
    pub(crate) fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        let register = |collector: Box<dyn Collector>| registry.register(collector);

        let decisions = IntCounterVec::new(
            Opts::new(
                "ratelimiter_decisions_total",
                "Each decision count by its type.",
            ),
            &["result"],
        )?;
        let durations = HistogramVec::new(
            HistogramOpts::new(
                "ratelimiter_decision_duration_seconds",
                "Execution time of one decision in seconds.",
            )
            .buckets(BUCKETS.to_vec()),
            &["result"],
        )?;
        let policy_decisions = IntCounterVec::new(
            Opts::new(
                "tollgate_decisions_total",
                "Decisions by policy and result.",
            ),
            &["policy", "result"],
        )?;
        let policy_durations = HistogramVec::new(
            HistogramOpts::new(
                "tollgate_decision_duration_seconds",
                "Time that one decision of a policy took, in seconds.",
            )
            .buckets(FINE_BUCKETS.to_vec()),
            &["policy"],
        )?;
        let build = IntGaugeVec::new(
            Opts::new("tollgate_build_info", "The version that runs; always 1."),
            &["version"],
        )?;
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);

        register(Box::new(decisions.clone()))?;
        register(Box::new(durations.clone()))?;
        register(Box::new(policy_decisions.clone()))?;
        register(Box::new(policy_durations.clone()))?;
        register(Box::new(build))?;
        Ok(Self {
            decisions: RESULTS.map(|result| decisions.with_label_values(&[result])),
            durations: RESULTS.map(|result| durations.with_label_values(&[result])),
            registry,
            policy_decisions,
            policy_durations,
        })
    }

    /// Who counts the decisions of `policy`. Its series are looked up once, here.
    pub(crate) fn observer(&self, policy: &str) -> Arc<dyn Observer> {
        let policy_decision = |result| self.policy_decisions.with_label_values(&[policy, result]);
        Arc::new(Recorder {
            decisions: self.decisions.clone(),
            durations: self.durations.clone(),
            policy_decisions: RESULTS.map(policy_decision),
            policy_durations: self.policy_durations.with_label_values(&[policy]),
        })
    }

    /// Tells of the key tables of `limiters`, whenever metrics are read.
    pub(crate) fn watch(&self, limiters: Vec<Limiter>) -> Result<(), prometheus::Error> {
        self.registry.register(Box::new(KeyTables::new(limiters)?))
    }

    /// The metrics as Prometheus reads them.
    pub(crate) fn render(&self) -> Result<Vec<u8>, prometheus::Error> {
        let mut text = Vec::with_capacity(8_192);
        TextEncoder::new().encode(&self.registry.gather(), &mut text)?;
        Ok(text)
    }
}

struct Recorder {
    decisions: [IntCounter; 3],
    durations: [Histogram; 3],
    policy_decisions: [IntCounter; 3],
    policy_durations: Histogram,
}

impl Observer for Recorder {
    fn observe(&self, observation: &Observation<'_>) {
        let result = match observation.result {
            Ok(decision) if decision.is_allowed() => 0,
            Ok(_) => 1,
            Err(_) => 2,
        };
        let seconds = observation
            .elapsed
            .map_or(0.0, |elapsed: Duration| elapsed.as_secs_f64());
        self.decisions[result].inc();
        self.durations[result].observe(seconds);
        self.policy_decisions[result].inc();
        self.policy_durations.observe(seconds);
    }
}

/// The key tables of all policies, read when metrics are.
struct KeyTables {
    tables: Vec<TableMetrics>,
    vectors: Vec<Box<dyn Collector>>,
    /// Held while counters are brought up to date.
    reading: Mutex<()>,
}

struct TableMetrics {
    limiter: Limiter,
    keys: IntGauge,
    reclaimed: IntCounter,
    evicted: IntCounter,
    overflow_allowed: IntCounter,
    overflow_denied: IntCounter,
}

impl KeyTables {
    fn new(limiters: Vec<Limiter>) -> Result<Self, prometheus::Error> {
        let counter =
            |name, help, labels: &[&str]| IntCounterVec::new(Opts::new(name, help), labels);
        let keys = IntGaugeVec::new(
            Opts::new(
                "tollgate_keys",
                "Keys in the tables of a policy, one table for each quota.",
            ),
            &["policy"],
        )?;
        let reclaimed = counter(
            "tollgate_keys_reclaimed_total",
            "Keys whose place was taken after they had refilled.",
            &["policy"],
        )?;
        let evicted = counter(
            "tollgate_keys_evicted_total",
            "Keys that were forgotten in debt because a table was full.",
            &["policy"],
        )?;
        let overflow = counter(
            "tollgate_overflow_total",
            "Requests that a full table let pass or denied, by the policy's on_full rule.",
            &["policy", "rule"],
        )?;
        let table = |limiter: Limiter| {
            let policy = limiter.policy().to_owned();
            TableMetrics {
                keys: keys.with_label_values(&[&*policy]),
                reclaimed: reclaimed.with_label_values(&[&*policy]),
                evicted: evicted.with_label_values(&[&*policy]),
                overflow_allowed: overflow.with_label_values(&[&*policy, "allow"]),
                overflow_denied: overflow.with_label_values(&[&*policy, "deny"]),
                limiter,
            }
        };
        Ok(Self {
            tables: limiters.into_iter().map(table).collect(),
            vectors: vec![
                Box::new(keys),
                Box::new(reclaimed),
                Box::new(evicted),
                Box::new(overflow),
            ],
            reading: Mutex::new(()),
        })
    }
}

impl Collector for KeyTables {
    fn desc(&self) -> Vec<&Desc> {
        self.vectors
            .iter()
            .flat_map(|vector| vector.desc())
            .collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let _reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        for table in &self.tables {
            let stats = table.limiter.limits().iter().map(|limit| limit.stats());
            let stats = stats.fold(MemoryStats::default(), |total, stats| total + stats);
            table
                .keys
                .set(i64::try_from(stats.keys).unwrap_or(i64::MAX));
            for (counter, now) in [
                (&table.reclaimed, stats.reclaimed),
                (&table.evicted, stats.evicted),
                (&table.overflow_allowed, stats.overflow_allowed),
                (&table.overflow_denied, stats.overflow_denied),
            ] {
                counter.inc_by(now.saturating_sub(counter.get()));
            }
        }
        self.vectors
            .iter()
            .flat_map(|vector| vector.collect())
            .collect()
    }
}
