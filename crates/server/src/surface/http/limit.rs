//! `POST /limit`: a question in three headers, an answer in a status.

use std::fmt;

use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderName};
use tollgate::{Cost, CostError};

use super::Http;
use super::reply::{self, Reply};
use crate::service::{Invalid, Refusal, Request};

/// Who is charged.
static KEY: HeaderName = HeaderName::from_static("x-client-key");
/// How much; 1 if absent or empty.
static COST: HeaderName = HeaderName::from_static("x-required-tokens");
/// By which policy; `default` if absent.
static POLICY: HeaderName = HeaderName::from_static("x-policy");

/// Answers a question.
pub(crate) async fn answer(http: &Http, headers: &HeaderMap) -> Reply {
    let request = match read(headers) {
        Ok(request) => request,
        Err(reason) => return reply::text(StatusCode::BAD_REQUEST, reason + "\n"),
    };
    match http.service.check(request).await {
        Ok(answer) => {
            let mut reply = match answer.decision.is_allowed() {
                true => reply::empty(StatusCode::OK),
                false => reply::text(StatusCode::TOO_MANY_REQUESTS, "rate limit exceeded\n"),
            };
            reply::add_fields(&mut reply, &answer, http.policy_field(answer.policy));
            reply
        }
        Err(Refusal::Invalid(invalid)) => {
            let reason = explain(blame(&invalid), &invalid);
            reply::text(StatusCode::BAD_REQUEST, reason + "\n")
        }
        Err(Refusal::Store(_)) => {
            reply::text(StatusCode::INTERNAL_SERVER_ERROR, "rate limiter error\n")
        }
    }
}

fn read(headers: &HeaderMap) -> Result<Request<'_>, String> {
    let Some(key) = single(headers, &KEY, "X-Client-Key", &Invalid::KeyNotText)? else {
        return Err("missing mandatory X-Client-Key header".to_owned());
    };
    let not_a_number = Invalid::Cost(CostError::NotANumber);
    let cost = match single(headers, &COST, "X-Required-Tokens", &not_a_number)? {
        None | Some("") => Cost::ONE,
        Some(text) => text
            .parse()
            .map_err(|error| explain("X-Required-Tokens", &error))?,
    };
    let policy = single(headers, &POLICY, "X-Policy", &Invalid::PolicyNotText)?;
    Ok(Request { policy, key, cost })
}

/// The value of a header that may appear once; `not_text` says what is wrong if it is not UTF-8.
fn single<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
    shown: &str,
    not_text: &Invalid,
) -> Result<Option<&'h str>, String> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(explain(shown, &"it appears more than once"));
    }
    match std::str::from_utf8(value.as_bytes()) {
        Ok(text) => Ok(Some(text)),
        Err(_) => Err(explain(shown, not_text)),
    }
}

fn explain(header: &str, reason: &dyn fmt::Display) -> String {
    format!("invalid {header} header: {reason}")
}

/// Which header is to blame.
fn blame(invalid: &Invalid) -> &'static str {
    match invalid {
        Invalid::BlankKey | Invalid::LongKey { .. } | Invalid::NulInKey | Invalid::KeyNotText => {
            "X-Client-Key"
        }
        Invalid::Cost(_) => "X-Required-Tokens",
        Invalid::UnknownPolicy(_) | Invalid::NoDefaultPolicy | Invalid::PolicyNotText => "X-Policy",
    }
}
