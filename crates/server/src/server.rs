//! The server as a whole: bound, run, stopped.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::service::TowerToHyperService;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tollgate::BindError;
use tonic::service::Routes;
use tonic_health::server::HealthReporter;

use crate::config::{Config, PolicyConfig, Shutdown};
use crate::health::Readiness;
use crate::metrics::Metrics;
use crate::net::{Listener, Protocol};
use crate::service::{Policy, Service};
use crate::surface::{exposition, grpc, http::Http};

/// A server that holds its addresses and is ready to run.
#[derive(Debug)]
pub struct Server {
    config: Config,
    readiness: Readiness,
    http: (Listener, Arc<Http>),
    grpc: (Listener, Routes, HealthReporter),
    metrics: Option<(Listener, Metrics)>,
}

/// Where a server listens.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// REST and health.
    pub http: SocketAddr,
    /// gRPC.
    pub grpc: SocketAddr,
    /// Prometheus metrics, unless nothing is counted.
    pub metrics: Option<SocketAddr>,
}

/// Why a server does not run.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServerError {
    /// A policy cannot be set up.
    Limiter(BindError),
    /// An address cannot be listened at.
    Listen(io::Error),
    /// What is counted, or what is reflected, does not fit together.
    Surface(String),
    /// A part of the server died.
    Died(String),
}

impl Server {
    /// Sets up what `config` says, and takes its addresses.
    ///
    /// # Errors
    ///
    /// A [`ServerError`] that names what cannot be had.
    pub async fn bind(config: Config) -> Result<Self, ServerError> {
        let metrics = match config.listen.metrics {
            Some(_) => Some(Metrics::new().map_err(surface)?),
            None => None,
        };
        let policies = policies(&config.policies, metrics.as_ref())?;
        let service = Arc::new(Service::new(policies, config.limits.max_key_bytes));
        let readiness = Readiness::default();
        let http = Http::new(Arc::clone(&service), readiness.clone(), config.limits);
        let (routes, reporter) = grpc::routes(service, &config.limits)
            .await
            .map_err(surface)?;

        let listen = config.listen;
        let bind = async |name, address, protocol| {
            let bound = Listener::bind(name, address, protocol).await;
            bound.map_err(ServerError::Listen)
        };
        Ok(Self {
            readiness,
            http: (
                bind("http", listen.http, Protocol::Http).await?,
                Arc::new(http),
            ),
            grpc: (
                bind("grpc", listen.grpc, Protocol::Http2).await?,
                routes,
                reporter,
            ),
            metrics: match (listen.metrics, metrics) {
                (Some(address), Some(metrics)) => {
                    Some((bind("metrics", address, Protocol::Http).await?, metrics))
                }
                _ => None,
            },
            config,
        })
    }

    /// Where the server listens.
    #[must_use]
    pub fn addresses(&self) -> Addresses {
        Addresses {
            http: self.http.0.address(),
            grpc: self.grpc.0.address(),
            metrics: self
                .metrics
                .as_ref()
                .map(|(listener, _)| listener.address()),
        }
    }

    /// Serves until `stop` is done, then lets what is in flight finish.
    ///
    /// # Errors
    ///
    /// [`ServerError::Died`] if a part of the server ended by itself.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<(), ServerError> {
        let limits = self.config.limits;
        let (close, closing) = watch::channel(false);
        let mut parts = JoinSet::new();

        let (listener, http) = self.http;
        let answer = service_fn(move |request: Request<Incoming>| {
            let http = Arc::clone(&http);
            async move { Ok::<_, Infallible>(http.answer(request).await) }
        });
        parts.spawn(listener.serve(answer, limits, closing.clone()));

        let (listener, routes, reporter) = self.grpc;
        let answer = TowerToHyperService::new(routes);
        parts.spawn(listener.serve(answer, limits, closing.clone()));

        if let Some((listener, metrics)) = self.metrics {
            let metrics = Arc::new(metrics);
            let answer = service_fn(move |request: Request<Incoming>| {
                let metrics = Arc::clone(&metrics);
                async move { Ok::<_, Infallible>(exposition::answer(&metrics, &request)) }
            });
            parts.spawn(listener.serve(answer, limits, closing));
        }

        tokio::select! {
            () = stop => {}
            died = parts.join_next() => return Err(died_of(died)),
        }
        drain(
            self.config.shutdown,
            &self.readiness,
            reporter,
            close,
            parts,
        )
        .await;
        Ok(())
    }
}

/// Readiness turns false first; then no more connections are taken, and those there are finish.
async fn drain(
    shutdown: Shutdown,
    readiness: &Readiness,
    mut reporter: HealthReporter,
    close: watch::Sender<bool>,
    mut parts: JoinSet<()>,
) {
    tracing::info!(delay = ?shutdown.delay, budget = ?shutdown.budget, "stopping");
    readiness.stop();
    grpc::stop(&reporter).await;
    tokio::time::sleep(shutdown.delay).await;

    let _ = close.send(true);
    grpc::end_watches(&mut reporter).await;
    let rest = shutdown.budget.saturating_sub(shutdown.delay);
    let all = async { while parts.join_next().await.is_some() {} };
    match tokio::time::timeout(rest.max(Duration::from_millis(1)), all).await {
        Ok(()) => tracing::info!("stopped"),
        Err(_) => tracing::warn!("stopped, and cut off what was still in flight"),
    }
}

/// The policies, and whoever counts for them.
fn policies(
    configs: &[PolicyConfig],
    metrics: Option<&Metrics>,
) -> Result<Vec<Policy>, ServerError> {
    let mut policies = Vec::with_capacity(configs.len());
    let mut limiters = Vec::with_capacity(configs.len());
    for (index, config) in configs.iter().enumerate() {
        let observer = metrics.map(|metrics| metrics.observer(&config.name));
        let (policy, limiter) =
            Policy::in_memory(index, config, observer).map_err(ServerError::Limiter)?;
        announce(config);
        policies.push(policy);
        limiters.push(limiter);
    }
    if let Some(metrics) = metrics {
        metrics.watch(limiters).map_err(surface)?;
    }
    Ok(policies)
}

fn announce(config: &PolicyConfig) {
    let policy = &*config.name;
    let [first, rest @ ..] = &*config.quotas else {
        tracing::warn!(policy, "disabled: allows everything");
        return;
    };
    let quotas = rest
        .iter()
        .fold(first.to_string(), |text, quota| format!("{text}, {quota}"));
    let (max_keys, algorithm) = (config.max_keys, first.algorithm().name());
    let on_full = format!("{:?}", config.on_full).to_lowercase();
    tracing::info!(policy, algorithm, quotas, max_keys, on_full, "limits");
}

fn surface(error: impl fmt::Display) -> ServerError {
    ServerError::Surface(error.to_string())
}

fn died_of(died: Option<Result<(), tokio::task::JoinError>>) -> ServerError {
    ServerError::Died(match died {
        Some(Err(error)) => error.to_string(),
        _ => "a listener ended by itself".to_owned(),
    })
}

/// One line for a machine: `http=127.0.0.1:8080 grpc=127.0.0.1:8081 metrics=127.0.0.1:9091`.
impl fmt::Display for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http={} grpc={}", self.http, self.grpc)?;
        match self.metrics {
            Some(metrics) => write!(f, " metrics={metrics}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limiter(error) => write!(f, "create rate limiter: {error}"),
            Self::Listen(error) => error.fmt(f),
            Self::Surface(error) => write!(f, "set up: {error}"),
            Self::Died(error) => write!(f, "a part of the server died: {error}"),
        }
    }
}

impl std::error::Error for ServerError {}
