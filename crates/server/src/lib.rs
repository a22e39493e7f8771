//! Tollgate as a server: the limits of a [`Config`], over HTTP and gRPC, with metrics.
//!
//! | module | what it holds |
//! |---|---|
//! | `config` | what the server is told |
//! | `service` | which policy, is the request in order, what is decided |
//! | `surface` | one wire format each, and no decisions |
//! | `metrics` | what is counted |
//! | `net` | connections: how many, how long, how they end |
//! | `server` | all of it: bound, run, stopped |
//! | `cli` | the command line |
//!
//! Dependencies run one way: surfaces to service to the library.

#![forbid(unsafe_code)]

pub mod cli;
mod config;
mod health;
mod metrics;
mod net;
mod server;
mod service;
mod signals;
mod surface;

pub use crate::config::{Config, ConfigError, schema as config_schema};
pub use crate::server::{Addresses, Server, ServerError};
