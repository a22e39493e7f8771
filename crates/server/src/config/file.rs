//! The configuration file of Tollgate, as it is written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::located::Located;
use super::value::{Address, OneOrMany, Time, Within};

/// The configuration of a Tollgate server.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Tollgate")]
pub(crate) struct File {
    /// Where the server listens.
    pub(crate) listen: Listen,
    /// What the server limits, by the name of the policy. The policy named `default` applies when a
    /// request names none.
    pub(crate) policies: BTreeMap<String, Located<Policy>>,
    pub(crate) limits: Limits,
    pub(crate) metrics: Metrics,
    pub(crate) shutdown: Shutdown,
    pub(crate) log: Log,
}

/// Where the server listens: IP address and port. Port 0 takes any free port.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Listen {
    /// REST and health. 0.0.0.0:8080 unless set.
    pub(crate) http: Option<Address>,
    /// gRPC. 0.0.0.0:8081 unless set.
    pub(crate) grpc: Option<Address>,
    /// Prometheus metrics. 0.0.0.0:9091 unless set.
    pub(crate) metrics: Option<Address>,
}

/// One named rule.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Policy {
    /// What the policy is for; for its readers.
    pub(crate) description: Option<String>,
    pub(crate) algorithm: Algorithm,
    /// One quota or several, as in `10/s burst 20` or `1000/day`. A request is charged on all of
    /// them or on none. `0` alone disables the policy.
    pub(crate) quotas: Option<Located<OneOrMany>>,
    /// Allows every request, and counts it. Said in the log at start.
    pub(crate) disabled: bool,
    pub(crate) on_full: OnFull,
    /// How many keys are kept, for each quota.
    pub(crate) max_keys: Within<1, 1_000_000_000>,
    /// How far charging after the fact may go below zero, in tokens.
    pub(crate) debt: Option<Located<f64>>,
}

/// How quotas are counted.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Algorithm {
    /// Refills continuously; starts full.
    #[default]
    TokenBucket,
    /// Counts in aligned windows, which may be calendar months and years.
    FixedWindow,
    /// Exact in every trailing window; keeps a log.
    RollingWindow,
    /// Estimates the trailing window by two counters.
    SlidingWindow,
}

/// What happens to a new key when the table is full of keys in debt.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnFull {
    /// The key that is the least in debt is forgotten.
    #[default]
    Evict,
    /// The request passes uncounted.
    Allow,
    /// The request is denied.
    Deny,
}

/// What a client may ask of the server itself.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Limits {
    /// The longest key, in bytes.
    pub(crate) max_key_bytes: Within<1, 1_048_576>,
    /// The largest request body and gRPC message, in bytes.
    pub(crate) max_body_bytes: Within<256, 16_777_216>,
    /// All headers of a request together, in bytes.
    pub(crate) max_header_bytes: Within<8_192, 1_048_576>,
    /// How long a connection may take to send the headers of a request.
    pub(crate) header_timeout: Time,
    /// How long a request may take to send its body.
    pub(crate) body_timeout: Time,
    /// Open connections, for each listener.
    pub(crate) max_connections: Within<1, 1_000_000>,
    /// Requests in flight on one HTTP/2 connection.
    pub(crate) max_streams: Within<1, 65_536>,
}

/// What is counted.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Metrics {
    /// Whether decisions are counted and `listen.metrics` is opened.
    pub(crate) enabled: bool,
}

/// How the server stops.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Shutdown {
    /// How long new requests are still served after readiness turned false.
    pub(crate) delay: Time,
    /// How long stopping may take in all, until what is in flight is cut off.
    pub(crate) budget: Time,
}

/// What is written to standard error.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Log {
    /// `error`, `warn`, `info`, `debug`, `trace` or `off`; and others for targets, as in
    /// `info,h2=debug`.
    pub(crate) level: Option<Located<String>>,
    pub(crate) format: LogFormat,
}

/// How a line of the log looks.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Human,
    /// One JSON object.
    Json,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            description: None,
            algorithm: Algorithm::default(),
            quotas: None,
            disabled: false,
            on_full: OnFull::default(),
            max_keys: Within(100_000),
            debt: None,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_key_bytes: Within(1_024),
            max_body_bytes: Within(65_536),
            max_header_bytes: Within(16_384),
            header_timeout: Time::from_secs(5),
            body_timeout: Time::from_secs(5),
            max_connections: Within(10_000),
            max_streams: Within(256),
        }
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self { enabled: true }
    }
}

impl Default for Shutdown {
    fn default() -> Self {
        Self {
            delay: Time::from_secs(1),
            budget: Time::from_secs(10),
        }
    }
}

impl From<Algorithm> for tollgate::Algorithm {
    fn from(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::TokenBucket => Self::TokenBucket,
            Algorithm::FixedWindow => Self::FixedWindow,
            Algorithm::RollingWindow => Self::RollingWindow,
            Algorithm::SlidingWindow => Self::SlidingWindow,
        }
    }
}

impl From<OnFull> for tollgate::OnFull {
    fn from(on_full: OnFull) -> Self {
        match on_full {
            OnFull::Evict => Self::Evict,
            OnFull::Allow => Self::Allow,
            OnFull::Deny => Self::Deny,
        }
    }
}
