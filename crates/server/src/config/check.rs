//! From a file of either shape to a [`Config`].

use std::net::{Ipv4Addr, SocketAddr};

use tollgate::{Cost, Quota};
use tracing_subscriber::filter::{LevelFilter, Targets};

use super::article::{self, Article};
use super::decode;
use super::error::{self, ConfigError};
use super::file::{self, File};
use super::located::Located;
use super::node::Node;
use super::value::{Address, OneOrMany};
use super::{Config, Limits, Listen, Log, Metering, PolicyConfig, Shutdown};

/// Checks the configuration written at `root`.
pub(crate) fn config(root: &Node) -> Result<Config, ConfigError> {
    if article::KEYS.iter().any(|key| root.has(key)) {
        let article: Article = decode::decode(root)?;
        return Ok(Config {
            policies: vec![article.policy()?],
            listen: listen(&article.listen, article.metering()),
            limits: limits(&article.limits),
            shutdown: shutdown(article.shutdown)?,
            log: log(&article.log)?,
        });
    }
    let file: File = decode::decode(root)?;
    if file.policies.is_empty() {
        return Err(
            ConfigError::new("missing key \"policies\": there is nothing to limit by")
                .at(&root.origin),
        );
    }
    let policies = file.policies.iter().map(|(name, policy)| {
        self::policy(name, &policy.value)
            .map_err(|error| error.within(name).within("policies").at(&policy.origin))
    });
    Ok(Config {
        policies: policies.collect::<Result<_, _>>()?,
        listen: listen(
            &file.listen,
            match file.metrics.enabled {
                true => Metering::On { port: None },
                false => Metering::Off,
            },
        ),
        limits: limits(&file.limits),
        shutdown: shutdown(file.shutdown)?,
        log: log(&file.log)?,
    })
}

fn policy(name: &str, policy: &file::Policy) -> Result<PolicyConfig, ConfigError> {
    check_name(name)?;
    let debt = |debt: &Located<f64>| debt.check(|debt| Cost::try_from(*debt));
    Ok(PolicyConfig {
        name: name.to_owned(),
        quotas: quotas(policy)?,
        on_full: policy.on_full.into(),
        max_keys: policy.max_keys.size(),
        debt: policy
            .debt
            .as_ref()
            .map(debt)
            .transpose()
            .map_err(|error| error.within("debt"))?,
    })
}

/// A name is a metric label and part of header fields, and can be told in a variable.
fn check_name(name: &str) -> Result<(), ConfigError> {
    /// Long enough for any name, short enough for a header field.
    const MAX_NAME: usize = 64;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    match name.len() {
        1..=MAX_NAME if name.chars().all(fits) && !name.contains("__") => Ok(()),
        _ => Err(ConfigError::new(format!(
            "the name of a policy has 1 to {MAX_NAME} letters, digits, \
             and single characters of \"_-.\""
        ))),
    }
}

fn quotas(policy: &file::Policy) -> Result<Vec<Quota>, ConfigError> {
    let Some(Located {
        origin,
        value: OneOrMany(texts),
    }) = &policy.quotas
    else {
        return match policy.disabled {
            true => Ok(Vec::new()),
            false => Err(ConfigError::new(
                "missing key \"quotas\"; to limit nothing, say disabled: true",
            )),
        };
    };
    let algorithm = policy.algorithm.into();
    let zero = matches!(&**texts, [text] if text.value.trim() == "0");
    let quotas = match zero {
        true => Ok(Vec::new()),
        false => texts
            .iter()
            .map(|text| text.check(|text| Quota::parse(algorithm, text)))
            .collect(),
    };
    let quotas: Vec<Quota> = quotas.map_err(|error| error.within("quotas").at(origin))?;
    if texts.is_empty() {
        let error = ConfigError::new("an empty list; to limit nothing, say disabled: true");
        return Err(error.within("quotas").at(origin));
    }
    Ok(if policy.disabled { Vec::new() } else { quotas })
}

fn listen(listen: &file::Listen, metering: Metering) -> Listen {
    let at = |address: Option<Address>, port| {
        let default = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
        address.map_or(default, |address| address.0)
    };
    Listen {
        http: at(listen.http, 8080),
        grpc: at(listen.grpc, 8081),
        metrics: match metering {
            Metering::On { port } => Some(at(listen.metrics, port.unwrap_or(9091))),
            Metering::Off => None,
        },
    }
}

fn limits(limits: &file::Limits) -> Limits {
    Limits {
        max_key_bytes: limits.max_key_bytes.size(),
        max_body_bytes: limits.max_body_bytes.size(),
        max_header_bytes: limits.max_header_bytes.0,
        header_timeout: limits.header_timeout.0,
        body_timeout: limits.body_timeout.0,
        max_connections: limits.max_connections.size(),
        max_streams: limits.max_streams.0,
    }
}

fn shutdown(shutdown: file::Shutdown) -> Result<Shutdown, ConfigError> {
    let (delay, budget) = (shutdown.delay.0, shutdown.budget.0);
    if delay > budget {
        return Err(ConfigError::new(format!(
            "the delay of {delay:?} is longer than the whole budget of {budget:?}"
        ))
        .within("shutdown"));
    }
    Ok(Shutdown { delay, budget })
}

fn log(log: &file::Log) -> Result<Log, ConfigError> {
    let level = match &log.level {
        None => Ok(Targets::new().with_default(tracing::Level::INFO)),
        Some(level) => level.check(|level| targets(level)),
    };
    Ok(Log {
        level: level.map_err(|error| error.within("level").within("log"))?,
        format: log.format,
    })
}

/// Reads `info` or `info,target=debug`. A bare word is a level, never the name of a target.
///
/// A level alone speaks of this project. Whoever wants to hear more of the libraries below it,
/// which may log headers and with them keys, has to name them.
fn targets(text: &str) -> Result<Targets, String> {
    const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];
    let level = |part: &str| {
        part.rsplit_once('=')
            .map_or(part, |(_, level)| level)
            .to_owned()
    };
    let unknown = text
        .split(',')
        .map(level)
        .find(|level| !LEVELS.contains(&&**level));
    if let Some(level) = unknown {
        let known = error::one_of(&level, &LEVELS);
        return Err(format!("unknown level {level:?}{known}"));
    }
    let targets: Targets = text
        .parse()
        .map_err(|_| format!("{text:?} is not a level"))?;
    let Some(level) = targets.default_level() else {
        return Ok(targets);
    };
    let ours = ["tollgate", "tollgate_server"].map(|target| (target.to_owned(), level));
    let named = targets
        .iter()
        .map(|(target, level)| (target.to_owned(), level));
    Ok(Targets::new()
        .with_targets(ours)
        .with_targets(named)
        .with_default(level.min(LevelFilter::INFO)))
}
