//! `POST /limit`: a question in three headers, an answer in a status.

use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderValue};
use tollgate::Cost;

use super::Http;
use super::reply::{self, Reply};
use crate::service::{Invalid, Refusal, Request};

/// Who is charged.
const KEY: &str = "x-client-key";
/// How much; 1 if absent or empty.
const COST: &str = "x-required-tokens";
/// By which policy; `default` if absent.
const POLICY: &str = "x-policy";

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
            let reason = format!("{}{invalid}\n", blame(&invalid));
            reply::text(StatusCode::BAD_REQUEST, reason)
        }
        Err(Refusal::Store(_)) => {
            reply::text(StatusCode::INTERNAL_SERVER_ERROR, "rate limiter error\n")
        }
    }
}

fn read(headers: &HeaderMap) -> Result<Request<'_>, String> {
    let Some(key) = single(headers, KEY, "X-Client-Key")? else {
        return Err("missing mandatory X-Client-Key header".to_owned());
    };
    let cost = match single(headers, COST, "X-Required-Tokens")? {
        None | Some("") => Cost::ONE,
        Some(text) => text
            .parse()
            .map_err(|error| format!("invalid X-Required-Tokens header: {error}"))?,
    };
    let policy = single(headers, POLICY, "X-Policy")?;
    Ok(Request { policy, key, cost })
}

/// The value of a header that may appear once.
fn single<'h>(
    headers: &'h HeaderMap,
    name: &'static str,
    shown: &str,
) -> Result<Option<&'h str>, String> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(format!("invalid {shown} header: it appears more than once"));
    }
    let text = |value: &'h HeaderValue| std::str::from_utf8(value.as_bytes()).ok();
    match text(value) {
        Some(text) => Ok(Some(text)),
        None => Err(format!("invalid {shown} header: it is not UTF-8")),
    }
}

/// Which header is to blame.
fn blame(invalid: &Invalid) -> &'static str {
    match invalid {
        Invalid::BlankKey | Invalid::LongKey { .. } | Invalid::NulInKey => {
            "invalid X-Client-Key header: "
        }
        Invalid::Cost(_) => "invalid X-Required-Tokens header: ",
        Invalid::UnknownPolicy(_) | Invalid::NoDefaultPolicy => "invalid X-Policy header: ",
    }
}
