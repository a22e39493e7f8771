//! The command line.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fmt};

use clap::{Parser, Subcommand};

use crate::config::{self, Config, ConfigError, Log, LogFormat};
use crate::server::{Server, ServerError};
use crate::signals::Signals;

#[derive(Debug, Parser)]
#[command(
    name = "tollgate",
    version,
    about = "A rate limiter, over HTTP and gRPC."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the server.
    Serve {
        /// The configuration file. Without one: 10 requests a second for each key, 20 at once.
        #[arg(long, value_name = "FILE", env = "TOLLGATE_CONFIG")]
        config: Option<PathBuf>,
    },
    /// Say what is wrong with a configuration file, without starting anything.
    CheckConfig {
        /// The configuration file.
        file: PathBuf,
    },
    /// Print the JSON Schema of configuration files.
    ConfigSchema,
}

/// Why a command failed.
#[derive(Debug)]
enum Failure {
    Config(ConfigError),
    Server(ServerError),
    Io(io::Error),
}

/// Runs the command that the process was given.
#[must_use]
pub fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Serve { config } => serve(config.as_deref()),
        Command::CheckConfig { file } => check_config(&file),
        Command::ConfigSchema => config_schema(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // If not even standard error can be written to, the exit status has to do.
            let _ = writeln!(io::stderr(), "tollgate: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn serve(file: Option<&Path>) -> Result<(), Failure> {
    let config = read(file).map_err(Failure::Config)?;
    start_log(&config.log);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::Io)?;
    runtime.block_on(async {
        // Before the addresses are told: who reads them may stop the server at once.
        let signals = Signals::listen().map_err(Failure::Io)?;
        let server = Server::bind(config).await.map_err(Failure::Server)?;
        let addresses = server.addresses();
        let metrics = addresses.metrics.map(tracing::field::display);
        tracing::info!(http = %addresses.http, grpc = %addresses.grpc, metrics, "listening");
        writeln!(io::stdout(), "listening {addresses}").map_err(Failure::Io)?;
        server.run(signals.first()).await.map_err(Failure::Server)
    })
}

fn check_config(file: &Path) -> Result<(), Failure> {
    let config = read(Some(file)).map_err(Failure::Config)?;
    let (file, policies) = (file.display(), config.policies.len());
    writeln!(io::stdout(), "{file}: ok, {policies} policies").map_err(Failure::Io)
}

fn config_schema() -> Result<(), Failure> {
    writeln!(io::stdout(), "{:#}", config::schema()).map_err(Failure::Io)
}

fn read(file: Option<&Path>) -> Result<Config, ConfigError> {
    // A variable that is not a text cannot be one of ours.
    let variables = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    match file {
        Some(file) => Config::from_file(file, variables),
        None => Config::built_in(variables),
    }
}

fn start_log(log: &Log) {
    use tracing_subscriber::prelude::*;
    let registry = tracing_subscriber::registry();
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal());
    let format = match log.format {
        LogFormat::Human => lines.with_target(false).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    // Fails only if there is a log already, which is then as good.
    let _ = registry
        .with(format.with_filter(log.level.clone()))
        .try_init();
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => write!(f, "failed to read config: {error}"),
            Self::Server(error) => error.fmt(f),
            Self::Io(error) => error.fmt(f),
        }
    }
}
