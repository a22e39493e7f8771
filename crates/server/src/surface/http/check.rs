//! `POST /v1/check`: a question and an answer in JSON.

use std::borrow::Cow;
use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::StatusCode;
use hyper::body::Body;
use serde::{Deserialize, Serialize};
use tollgate::{Cost, Decision};

use super::Http;
use super::reply::{self, PROBLEM, Reply};
use crate::service::{Answer, Refusal, Request};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question<'b> {
    #[serde(borrow)]
    policy: Option<Cow<'b, str>>,
    #[serde(borrow)]
    key: Cow<'b, str>,
    cost: Option<f64>,
}

/// What was decided. A denial carries the same members in its problem.
#[derive(Debug, Serialize)]
struct Verdict<'a> {
    allowed: bool,
    /// Whether the cost is larger than the limit, so that it can never pass.
    never: bool,
    policy: &'a str,
    /// `null` if the policy is disabled, as are `remaining` and `reset_after`.
    limit: Option<u64>,
    remaining: Option<u64>,
    /// Seconds until the same request passes; `null` if it was allowed or can never pass.
    retry_after: Option<f64>,
    /// Seconds until the quota is whole again.
    reset_after: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Denial<'a> {
    r#type: &'static str,
    title: &'static str,
    status: u16,
    detail: String,
    #[serde(rename = "violated-policies")]
    violated_policies: [&'a str; 1],
    #[serde(flatten)]
    verdict: Verdict<'a>,
}

/// Answers a question.
pub(crate) async fn answer<B>(http: &Http, body: B) -> Reply
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let body = match read(http, body).await {
        Ok(body) => body,
        Err(problem) => return problem,
    };
    let question: Question<'_> = match serde_json::from_slice(&body) {
        Ok(question) => question,
        Err(error) => {
            return reply::problem(StatusCode::BAD_REQUEST, &format!("the body: {error}"));
        }
    };
    let cost = match question.cost.map_or(Ok(Cost::ONE), Cost::try_from) {
        Ok(cost) => cost,
        Err(error) => return reply::problem(StatusCode::BAD_REQUEST, &error.to_string()),
    };
    let request = Request {
        policy: question.policy.as_deref(),
        key: &question.key,
        cost,
    };
    match http.service.check(request).await {
        Ok(answer) => {
            let mut reply = match answer.decision.is_allowed() {
                true => reply::json(StatusCode::OK, &Verdict::new(&answer)),
                false => denial(&answer, cost),
            };
            reply::add_fields(&mut reply, &answer, http.policy_field(answer.policy));
            reply
        }
        Err(Refusal::Invalid(invalid)) => {
            reply::problem(StatusCode::BAD_REQUEST, &invalid.to_string())
        }
        Err(Refusal::Store(_)) => {
            reply::problem(StatusCode::INTERNAL_SERVER_ERROR, "rate limiter error")
        }
    }
}

async fn read<B>(http: &Http, body: B) -> Result<Bytes, Reply>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let max = http.limits.max_body_bytes;
    let collected = Limited::new(body, max).collect();
    match tokio::time::timeout(http.limits.body_timeout, collected).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(super::too_large(max)),
        Ok(Err(_)) => Err(reply::problem(
            StatusCode::BAD_REQUEST,
            "the body is incomplete",
        )),
        Err(_) => Err(reply::problem(
            StatusCode::REQUEST_TIMEOUT,
            "the body did not arrive in time",
        )),
    }
}

fn denial(answer: &Answer<'_>, cost: Cost) -> Reply {
    let decision = &answer.decision;
    let detail = match decision.retry_after() {
        Some(wait) => format!(
            "the limit is {}; retry in {} s",
            decision.limit(),
            seconds(wait)
        ),
        None => format!(
            "a cost of {cost} is more than the limit of {} and can never pass",
            decision.limit()
        ),
    };
    let status = StatusCode::TOO_MANY_REQUESTS;
    let denial = Denial {
        r#type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
        title: "Quota Exceeded",
        status: status.as_u16(),
        detail,
        violated_policies: [&answer.policy.name],
        verdict: Verdict::new(answer),
    };
    reply::serialized(status, PROBLEM, &denial)
}

impl<'a> Verdict<'a> {
    fn new(answer: &Answer<'a>) -> Self {
        let decision: Decision = answer.decision;
        let limited = !answer.policy.is_disabled();
        Self {
            allowed: decision.is_allowed(),
            never: decision.is_never(),
            policy: &answer.policy.name,
            limit: limited.then_some(decision.limit()),
            remaining: limited.then_some(decision.remaining()),
            retry_after: decision.retry_after().map(seconds),
            reset_after: limited.then(|| seconds(decision.reset_after())),
        }
    }
}

/// Seconds with milliseconds, rounded up: a client that waits them waits long enough.
fn seconds(duration: Duration) -> f64 {
    let millis = duration.as_nanos().div_ceil(1_000_000);
    // Durations of decisions are below 2^64 nanoseconds, so that the milliseconds fit exactly.
    millis as f64 / 1_000.0
}
