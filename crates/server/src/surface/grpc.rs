//! gRPC: `ratelimiter.v1.RateLimiter/Allow`, with health and reflection.

use std::sync::Arc;
use std::time::Duration;

use tollgate::Cost;
use tonic::service::Routes;
use tonic::{Request, Response, Status};
use tonic_health::server::HealthReporter;

use self::proto::rate_limiter_server::{RateLimiter, RateLimiterServer};
use self::proto::{AllowRequest, AllowResponse};
use crate::config::Limits;
use crate::service::{self, Invalid, Refusal, Service};

#[allow(
    clippy::all,
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    reason = "generated"
)]
mod proto {
    tonic::include_proto!("ratelimiter.v1");

    /// What the published `.proto` describes, for reflection.
    pub(super) const DESCRIPTORS: &[u8] =
        include_bytes!(concat!(env!("OUT_DIR"), "/ratelimiter.v1.bin"));
}

/// All services of the gRPC surface, and who tells of their health.
pub(crate) async fn routes(
    service: Arc<Service>,
    limits: &Limits,
) -> Result<(Routes, HealthReporter), tonic_reflection::server::Error> {
    let limiter =
        RateLimiterServer::new(Grpc(service)).max_decoding_message_size(limits.max_body_bytes);
    let (reporter, health) = tonic_health::server::health_reporter();
    reporter.set_serving::<RateLimiterServer<Grpc>>().await;
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(proto::DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let routes = Routes::new(limiter)
        .add_service(health)
        .add_service(reflection().build_v1()?)
        .add_service(reflection().build_v1alpha()?)
        .prepare();
    Ok((routes, reporter))
}

/// Says in health that nothing more is wanted.
pub(crate) async fn stop(reporter: &HealthReporter) {
    reporter.set_not_serving::<RateLimiterServer<Grpc>>().await;
    reporter
        .set_service_status("", tonic_health::ServingStatus::NotServing)
        .await;
}

/// Ends the streams of those who watch the health, which would otherwise never end.
pub(crate) async fn end_watches(reporter: &mut HealthReporter) {
    for name in ["", "ratelimiter.v1.RateLimiter"] {
        reporter.clear_service_status(name).await;
    }
}

struct Grpc(Arc<Service>);

#[tonic::async_trait]
impl RateLimiter for Grpc {
    async fn allow(
        &self,
        request: Request<AllowRequest>,
    ) -> Result<Response<AllowResponse>, Status> {
        let AllowRequest {
            key,
            tokens,
            policy,
        } = request.into_inner();
        let cost = match tokens {
            // What a client sends that does not set the field.
            0.0 => Ok(Cost::ONE),
            tokens => Cost::try_from(tokens),
        };
        let text = |bytes, reason| std::str::from_utf8(bytes).map_err(|_| invalid(&reason));
        let policy = text(&policy, Invalid::PolicyNotText)?;
        let request = service::Request {
            policy: Some(policy).filter(|policy| !policy.is_empty()),
            key: text(&key, Invalid::KeyNotText)?,
            cost: cost.map_err(|error| invalid(&error.into()))?,
        };
        match self.0.check(request).await {
            Ok(answer) => Ok(Response::new(respond(&answer))),
            Err(Refusal::Invalid(reason)) => Err(invalid(&reason)),
            Err(Refusal::Store(_)) => Err(Status::unavailable("rate limiter error")),
        }
    }
}

fn respond(answer: &service::Answer<'_>) -> AllowResponse {
    let decision = &answer.decision;
    let limited = !answer.policy.is_disabled();
    AllowResponse {
        allowed: decision.is_allowed(),
        retry_after: Some(duration(decision.retry_after().unwrap_or_default())),
        policy: answer.policy.name.to_string(),
        limit: limited.then_some(decision.limit()),
        remaining: limited.then_some(decision.remaining()),
        reset_after: limited.then(|| duration(decision.reset_after())),
        never: decision.is_never(),
    }
}

fn invalid(reason: &Invalid) -> Status {
    Status::invalid_argument(reason.to_string())
}

fn duration(duration: Duration) -> prost_types::Duration {
    prost_types::Duration {
        // At most 584 years, and below a billion nanoseconds.
        seconds: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        nanos: i32::try_from(duration.subsec_nanos()).unwrap_or(i32::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::tests::failing;

    /// S3-73: no detail, and no denial.
    #[tokio::test]
    async fn a_store_failure_is_unavailable_without_detail() {
        let request = AllowRequest {
            key: "a".into(),
            ..AllowRequest::default()
        };
        let status = Grpc(Arc::new(failing())).allow(Request::new(request)).await;
        let status = status.unwrap_err();
        assert_eq!(status.code(), tonic::Code::Unavailable);
        assert_eq!(status.message(), "rate limiter error");
    }
}
