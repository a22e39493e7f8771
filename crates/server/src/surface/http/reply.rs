//! The answers that are the same everywhere.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};
use serde::Serialize;
use tollgate::Decision;

use super::fields::{self, seconds_up};
use crate::service::Answer;

/// What every handler returns.
pub(crate) type Reply = Response<Full<Bytes>>;

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// An answer without a body.
pub(crate) fn empty(status: StatusCode) -> Reply {
    let mut reply = Response::new(Full::default());
    *reply.status_mut() = status;
    reply
}

/// An answer with a body of a type of its own.
pub(crate) fn with_body(status: StatusCode, content_type: &'static str, body: Bytes) -> Reply {
    let mut reply = Response::new(Full::new(body));
    *reply.status_mut() = status;
    let content_type = HeaderValue::from_static(content_type);
    reply.headers_mut().insert(CONTENT_TYPE, content_type);
    reply
}

/// A plain text, which no browser takes for anything else.
pub(crate) fn text(status: StatusCode, text: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Full::new(text.into()));
    *reply.status_mut() = status;
    // Room for these, for those of a decision and for what the HTTP stack adds, in one allocation.
    reply.headers_mut().reserve(12);
    reply.headers_mut().insert(CONTENT_TYPE, TEXT);
    reply.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
    reply
}

/// The answer to a method that a path does not have.
pub(crate) fn method_not_allowed(allowed: &'static str) -> Reply {
    let mut reply = text(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n");
    reply
        .headers_mut()
        .insert(ALLOW, HeaderValue::from_static(allowed));
    reply
}

/// A JSON body.
pub(crate) fn json(status: StatusCode, body: &impl Serialize) -> Reply {
    serialized(status, "application/json", body)
}

/// An RFC 9457 problem that says no more than its status and `detail`.
pub(crate) fn problem(status: StatusCode, detail: &str) -> Reply {
    #[derive(Serialize)]
    struct Problem<'a> {
        r#type: &'static str,
        title: &'static str,
        status: u16,
        detail: &'a str,
    }
    let problem = Problem {
        r#type: "about:blank",
        title: status.canonical_reason().unwrap_or_default(),
        status: status.as_u16(),
        detail,
    };
    serialized(status, PROBLEM, &problem)
}

/// The media type of problems.
pub(crate) const PROBLEM: &str = "application/problem+json";

/// A body that serializes as JSON.
pub(crate) fn serialized(
    status: StatusCode,
    content_type: &'static str,
    body: &impl Serialize,
) -> Reply {
    match serde_json::to_vec(body) {
        Ok(body) => with_body(status, content_type, body.into()),
        Err(_) => empty(StatusCode::INTERNAL_SERVER_ERROR),
    }
}

/// Puts the fields of a decision on its answer.
pub(crate) fn add_fields(reply: &mut Reply, answer: &Answer<'_>, policy_field: &HeaderValue) {
    let decision: &Decision = &answer.decision;
    let headers = reply.headers_mut();
    headers.reserve(6);
    if !answer.policy.is_disabled() {
        headers.insert(&RATELIMIT_POLICY, policy_field.clone());
        if let Some(field) = fields::ratelimit(answer) {
            headers.insert(&RATELIMIT, field);
        }
    }
    if decision.is_denied() {
        // RFC 6585, section 4: a 429 must not be stored by a cache.
        headers.insert(CACHE_CONTROL, NO_STORE);
        if let Some(wait) = decision.retry_after() {
            headers.insert(RETRY_AFTER, seconds_up(wait).max(1).into());
        }
    }
}

static RATELIMIT: HeaderName = HeaderName::from_static("ratelimit");
static RATELIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
