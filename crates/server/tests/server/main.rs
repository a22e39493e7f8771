//! The server, run as its users run it and asked by clients that are not ours.
//!
//! `scripts/test-setup.sh` installs those clients; a test that misses one fails and says so.

mod article;
mod bad_input;
mod common;
mod config;
mod grpc;
mod http;
mod metrics;
mod protection;
mod recorded;
mod stop;
mod wrong_config;
