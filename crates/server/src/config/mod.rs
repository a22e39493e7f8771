//! What the server is told: read from YAML and the environment, checked as a whole.
//!
//! | file | what it holds |
//! |---|---|
//! | `node` | the text as a tree, in which every value knows its line |
//! | `env` | environment variables laid over the tree |
//! | `decode` | the tree as types, by serde |
//! | `located` | values that remember their line |
//! | `value` | scalars that check themselves |
//! | `file` | the shape of Tollgate's own file |
//! | `article` | the shape of a file with one policy and a named store |
//! | `check` | from either shape to a [`Config`] |

mod article;
mod check;
mod decode;
mod env;
mod error;
mod file;
mod located;
mod node;
mod schema;
mod value;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use std::{fs, io};

use tollgate::{Cost, OnFull, Quota};

pub use self::error::ConfigError;
pub(crate) use self::file::LogFormat;
pub use self::schema::schema;

/// The policy that applies when a request names none.
pub(crate) const DEFAULT_POLICY: &str = "default";

/// A configuration that was found to be right.
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) listen: Listen,
    pub(crate) policies: Vec<PolicyConfig>,
    pub(crate) limits: Limits,
    pub(crate) shutdown: Shutdown,
    pub(crate) log: Log,
}

/// Where to listen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listen {
    pub(crate) http: SocketAddr,
    pub(crate) grpc: SocketAddr,
    /// `None` if nothing is to be counted.
    pub(crate) metrics: Option<SocketAddr>,
}

/// A named rule.
#[derive(Clone, Debug)]
pub(crate) struct PolicyConfig {
    pub(crate) name: String,
    /// None if the policy is disabled.
    pub(crate) quotas: Vec<Quota>,
    pub(crate) on_full: OnFull,
    pub(crate) max_keys: usize,
    pub(crate) debt: Option<Cost>,
}

/// What a client may ask of the server itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) max_key_bytes: usize,
    pub(crate) max_body_bytes: usize,
    pub(crate) max_header_bytes: u32,
    pub(crate) header_timeout: Duration,
    pub(crate) body_timeout: Duration,
    pub(crate) max_connections: usize,
    pub(crate) max_streams: u32,
}

/// How to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shutdown {
    pub(crate) delay: Duration,
    pub(crate) budget: Duration,
}

/// How to log.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    pub(crate) level: tracing_subscriber::filter::Targets,
    pub(crate) format: LogFormat,
}

/// Whether to count, and on which port to say so if nothing else is configured.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Metering {
    Off,
    On { port: Option<u16> },
}

impl Config {
    /// Reads the file at `path`, with `variables` of the environment over it.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with its file and line.
    pub fn from_file(
        path: &Path,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let name = path.display().to_string();
        let error =
            |error: io::Error| ConfigError::new(format!("cannot be read: {error}")).at(&name);
        let text = fs::read_to_string(path).map_err(error)?;
        Self::from_yaml(&text, &name, variables)
    }

    /// The configuration of a server that is given no file.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with `variables`.
    pub fn built_in(
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        Self::from_yaml(
            include_str!("built_in.yaml"),
            "built-in configuration",
            variables,
        )
    }

    /// Reads `text`, which errors call `name`, with `variables` of the environment over it.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with its line.
    pub fn from_yaml(
        text: &str,
        name: &str,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let mut root = node::parse(text, |line, column| format!("{name}:{line}:{column}"))?;
        env::overlay(&mut root, variables)?;
        check::config(&root)
    }
}
