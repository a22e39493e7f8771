//! What clients speak: one wire format each, and no decisions.

pub(crate) mod exposition;
pub(crate) mod grpc;
pub(crate) mod http;
