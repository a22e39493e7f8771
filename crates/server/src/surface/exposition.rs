//! `GET /metrics`, on a listener of its own.

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Method, Request, Response, StatusCode};

use super::http::reply;
use crate::metrics::Metrics;

/// The format that `Metrics::render` writes.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Answers a request for metrics.
pub(crate) fn answer<B>(metrics: &Metrics, request: &Request<B>) -> Response<Full<Bytes>> {
    match (request.method(), request.uri().path()) {
        (&Method::GET | &Method::HEAD, "/metrics") => match metrics.render() {
            Ok(text) => reply::with_body(StatusCode::OK, TEXT_FORMAT, text.into()),
            Err(error) => {
                tracing::error!(%error, "metrics cannot be rendered");
                reply::text(StatusCode::INTERNAL_SERVER_ERROR, "metrics error\n")
            }
        },
        (_, "/metrics") => reply::method_not_allowed("GET, HEAD"),
        _ => reply::text(StatusCode::NOT_FOUND, "not found\n"),
    }
}
