//! HTTP: `POST /limit` in headers, `POST /v1/check` in JSON, and health.

mod check;
mod fields;
mod limit;
pub(crate) mod reply;

use std::error::Error;
use std::sync::Arc;

use bytes::Bytes;
use hyper::body::Body;
use hyper::header::HeaderValue;
use hyper::{Method, Request, StatusCode};

use self::reply::Reply;
use crate::config::Limits;
use crate::health::Readiness;
use crate::service::{Policy, Service};

/// The HTTP surface.
#[derive(Debug)]
pub(crate) struct Http {
    service: Arc<Service>,
    readiness: Readiness,
    limits: Limits,
    /// `RateLimit-Policy` of each policy, by its index.
    policy_fields: Vec<HeaderValue>,
}

impl Http {
    pub(crate) fn new(service: Arc<Service>, readiness: Readiness, limits: Limits) -> Self {
        Self {
            policy_fields: service.policies().iter().map(fields::policy).collect(),
            service,
            readiness,
            limits,
        }
    }

    /// Answers a request.
    pub(crate) async fn answer<B>(&self, request: Request<B>) -> Reply
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let announced = request.body().size_hint().lower();
        if announced > self.limits.max_body_bytes as u64 {
            return too_large(self.limits.max_body_bytes);
        }
        match (request.method(), request.uri().path()) {
            (&Method::POST, "/limit") => limit::answer(self, request.headers()).await,
            (&Method::POST, "/v1/check") => check::answer(self, request.into_body()).await,
            (&Method::GET | &Method::HEAD, "/health" | "/readyz") => self.ready(),
            (&Method::GET | &Method::HEAD, "/livez") => reply::text(StatusCode::OK, "ok"),
            (_, "/limit" | "/v1/check") => reply::method_not_allowed("POST"),
            (_, "/health" | "/readyz" | "/livez") => reply::method_not_allowed("GET, HEAD"),
            _ => reply::text(StatusCode::NOT_FOUND, "not found\n"),
        }
    }

    fn ready(&self) -> Reply {
        match self.readiness.is_ready() {
            true => reply::text(StatusCode::OK, "ok"),
            false => reply::text(StatusCode::SERVICE_UNAVAILABLE, "stopping"),
        }
    }

    fn policy_field(&self, policy: &Policy) -> &HeaderValue {
        &self.policy_fields[policy.index]
    }
}

fn too_large(max: usize) -> Reply {
    let detail = format!("a body has at most {max} bytes");
    reply::problem(StatusCode::PAYLOAD_TOO_LARGE, &detail)
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt, Full};

    use super::*;
    use crate::config::Config;
    use crate::service::tests::failing;

    /// S3-65: no detail, and no 429.
    #[tokio::test]
    async fn a_store_failure_is_500_without_detail() {
        let limits = Config::built_in([]).unwrap().limits;
        let http = Http::new(Arc::new(failing()), Readiness::default(), limits);
        for (path, body) in [("/limit", ""), ("/v1/check", r#"{"key":"a"}"#)] {
            let request = Request::post(path)
                .header("X-Client-Key", "a")
                .body(Full::new(Bytes::from_static(body.as_bytes())));
            let reply = http.answer(request.unwrap()).await;
            assert_eq!(reply.status(), StatusCode::INTERNAL_SERVER_ERROR);
            let body = reply.into_body().collect().await.unwrap().to_bytes();
            let body = String::from_utf8(body.to_vec()).unwrap();
            assert!(body.contains("rate limiter error"), "{body}");
            assert!(!body.contains("secret"), "{body}");
        }
    }
}
