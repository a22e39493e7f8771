//! The configuration file of the service that Tollgate can stand in for.
//!
//! It has one unnamed policy, which becomes `default`. What it says of a store's upkeep is checked
//! and has no effect on decisions: Tollgate's tables are bounded and need no sweeping.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use tollgate::{Cost, OnFull, Quota, Rate, Window};

use super::error::ConfigError;
use super::file::{Limits, Listen, Log, Shutdown};
use super::located::Located;
use super::value::Within;
use super::{Metering, PolicyConfig};

/// The keys that only this kind of file has.
pub(crate) const KEYS: [&str; 4] = ["store", "use_algo", "algo_settings", "backends"];

/// A configuration with one policy: a store, an algorithm and its settings.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "OnePolicy")]
pub(crate) struct Article {
    /// `in_memory`.
    store: Located<String>,
    /// `token_bucket`, `fixed_window` or `rolling_window`.
    use_algo: Located<String>,
    #[serde(default)]
    algo_settings: Option<Located<AlgoSettings>>,
    #[serde(default)]
    metrics: Metrics,
    #[serde(default)]
    #[expect(dead_code, reason = "checked as it is read, and without effect")]
    backends: Backends,
    #[serde(default)]
    pub(crate) listen: Listen,
    #[serde(default)]
    pub(crate) limits: Limits,
    #[serde(default)]
    pub(crate) shutdown: Shutdown,
    #[serde(default)]
    pub(crate) log: Log,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Metrics {
    /// Whether decisions are counted and served.
    use_prometheus: bool,
    /// The port of the metrics, on all addresses. 9091 unless set; `listen.metrics` wins.
    port: Option<Within<1, 65_535>>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct AlgoSettings {
    /// What a token bucket holds.
    capacity: Option<f64>,
    /// What flows into a token bucket each second.
    rate: Option<f64>,
    /// The length of a window in seconds.
    window_size: Option<i64>,
    /// What a window admits.
    max_requests: Option<i64>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Backends {
    in_memory: Option<InMemory>,
    redis: Option<Redis>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "checked as it is read, and without effect")]
struct InMemory {
    /// No effect.
    #[serde(default)]
    default_ttl: Option<Within<1, { u32::MAX }>>,
    /// No effect.
    #[serde(default)]
    eviction_time: Option<Within<1, { u32::MAX }>>,
    /// No effect; a power of two.
    #[serde(default, deserialize_with = "power_of_two")]
    shards_count: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "checked as it is read, and without effect")]
struct Redis {
    addr: String,
    #[serde(default)]
    password: Option<String>,
    #[serde(default)]
    db: Option<Within<0, 65_535>>,
    #[serde(default)]
    default_ttl: Option<Within<1, { u32::MAX }>>,
}

fn power_of_two<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Option<u32>, D::Error> {
    match Option::deserialize(d)? {
        Some(count) if !u32::is_power_of_two(count) => Err(serde::de::Error::custom(format!(
            "must be a power of two, not {count}"
        ))),
        count => Ok(count),
    }
}

impl Article {
    /// The one policy of the file.
    pub(crate) fn policy(&self) -> Result<PolicyConfig, ConfigError> {
        self.store
            .check(|store| match &**store {
                "in_memory" => Ok(()),
                "redis" => {
                    Err("the store \"redis\" is not built in yet; use \"in_memory\"".to_owned())
                }
                other => Err(format!("unsupported store: {other:?}; use \"in_memory\"")),
            })
            .map_err(|error| error.within("store"))?;
        let settings = self.algo_settings.as_ref().map(|settings| settings.value);
        let settings = settings.unwrap_or_default();
        let place = |error: ConfigError| match &self.algo_settings {
            Some(settings) => error.within("algo_settings").at(&settings.origin),
            None => error.at(&self.use_algo.origin),
        };
        let quota = match &*self.use_algo.value {
            "token_bucket" => settings.token_bucket().map_err(place),
            "fixed_window" => settings
                .window()
                .and_then(|(limit, size)| {
                    let window = Window::of(size).ok_or_else(|| too_long(size))?;
                    Quota::fixed_window(limit, window).map_err(|error| wrong("max_requests", error))
                })
                .map_err(place),
            "rolling_window" => settings
                .window()
                .and_then(|(limit, size)| {
                    Window::of(size).ok_or_else(|| too_long(size))?;
                    Quota::rolling_window(limit, size).map_err(|error| wrong("max_requests", error))
                })
                .map_err(place),
            other => Err(ConfigError::new(format!(
                "unsupported rate limiting algorithm: {other}; \
                 use token_bucket, fixed_window or rolling_window"
            ))
            .within("use_algo")
            .at(&self.use_algo.origin)),
        };
        Ok(PolicyConfig {
            name: super::DEFAULT_POLICY.to_owned(),
            quotas: vec![quota?],
            on_full: OnFull::default(),
            max_keys: super::file::Policy::default().max_keys.size(),
            debt: None,
        })
    }

    /// Whether to count, and the port that the file gives to metrics.
    pub(crate) fn metering(&self) -> Metering {
        match self.metrics.use_prometheus {
            true => Metering::On {
                port: self
                    .metrics
                    .port
                    .and_then(|port| u16::try_from(port.0).ok()),
            },
            false => Metering::Off,
        }
    }
}

impl AlgoSettings {
    fn token_bucket(self) -> Result<Quota, ConfigError> {
        let capacity = required("capacity", self.capacity)?;
        let rate = required("rate", self.rate)?;
        let capacity = positive("capacity", capacity)?;
        let rate = positive("rate", rate)?;
        let rate = Rate::try_per_second(rate).map_err(|error| wrong("rate", error))?;
        let capacity = Cost::try_from(capacity).map_err(|error| wrong("capacity", error))?;
        Quota::token_bucket(rate, 1)
            .and_then(|quota| quota.with_limit(capacity))
            .map_err(|error| wrong("capacity", error))
    }

    fn window(self) -> Result<(u64, Duration), ConfigError> {
        let limit = required("max_requests", self.max_requests)?;
        let size = required("window_size", self.window_size)?;
        let natural = |name, number: i64| match u64::try_from(number) {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(not_positive(name, number)),
        };
        let limit = natural("max_requests", limit)?;
        let size = natural("window_size", size)?;
        Ok((limit, Duration::from_secs(size)))
    }
}

fn required<T>(name: &str, setting: Option<T>) -> Result<T, ConfigError> {
    let missing = || ConfigError::new(format!("missing required configuration property: '{name}'"));
    setting.ok_or_else(missing)
}

fn positive(name: &str, number: f64) -> Result<f64, ConfigError> {
    match number.is_finite() && number > 0.0 {
        true => Ok(number),
        false => Err(not_positive(name, number)),
    }
}

fn not_positive(name: &str, number: impl std::fmt::Display) -> ConfigError {
    ConfigError::new(format!("should be strictly greater than 0, not {number}")).within(name)
}

fn wrong(name: &str, error: impl std::fmt::Display) -> ConfigError {
    ConfigError::new(error.to_string()).within(name)
}

fn too_long(size: Duration) -> ConfigError {
    wrong(
        "window_size",
        format!("{} seconds are more than 584 years", size.as_secs()),
    )
}
