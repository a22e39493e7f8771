//! The real run: the article's configuration, clients that we did not write, the eleventh call.

use crate::common::{
    ARTICLE, Grpc, Server, article_proto, curl_all, parse_metrics, promtool, published_proto,
};
use serde_json::{Value, json};

/// Says how many decisions the metrics know of: allowed, denied, errored.
fn decisions(server: &Server) -> [f64; 3] {
    let text = server.metrics();
    promtool(&text);
    let families = parse_metrics(&text);
    let samples = &families["ratelimiter_decisions"]["samples"];
    ["allowed", "denied", "errored"].map(|result| {
        samples[format!("ratelimiter_decisions_total{{result={result}}}")]
            .as_f64()
            .unwrap()
    })
}

#[test]
fn the_eleventh_http_call_is_refused_and_counted() {
    let server = Server::start(ARTICLE);
    assert_eq!(
        decisions(&server),
        [0.0, 0.0, 0.0],
        "all series are there from the start"
    );

    // One curl for all of them, so that no second passes between the first and the last.
    let url = server.url("/limit");
    let mut replies = curl_all(
        &["-X", "POST", "-H", "X-Client-Key: user-123"],
        &[&*url; 11],
    );
    let reply = replies.pop().unwrap();
    assert_eq!(replies.len(), 10);
    for reply in replies {
        assert_eq!((reply.status, &*reply.body), (200, ""));
        assert_eq!(reply.header("retry-after"), None);
    }
    assert_eq!((reply.status, &*reply.body), (429, "rate limit exceeded\n"));
    assert_eq!(reply.header("retry-after"), Some("10"));
    assert_eq!(
        reply.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));

    assert_eq!(decisions(&server), [10.0, 1.0, 0.0]);
}

#[test]
fn the_eleventh_grpc_call_is_refused_and_counted() {
    let server = Server::start(ARTICLE);
    let mut grpc = Grpc::connect(&published_proto(), &server.grpc);
    for left in (0..10).rev() {
        let answer = grpc.allow(json!({ "key": "user-123" }));
        assert_eq!(answer["allowed"], true);
        assert_eq!(answer["retryAfter"], "0s", "always present");
        assert_eq!(answer["policy"], "default");
        assert_eq!(
            (&answer["limit"], &answer["remaining"]),
            (&json!("10"), &json!(left.to_string()))
        );
    }
    let answer = grpc.allow(json!({ "key": "user-123" }));
    assert_eq!(
        (&answer["allowed"], &answer["never"]),
        (&json!(false), &json!(false))
    );
    let wait = seconds(&answer["retryAfter"]);
    assert!(wait > 5.0 && wait <= 10.0, "{wait}");

    assert_eq!(decisions(&server), [10.0, 1.0, 0.0]);
}

#[test]
fn a_client_that_knows_only_the_first_fields_sees_no_difference() {
    let server = Server::start(ARTICLE);
    let mut grpc = Grpc::connect(&article_proto(), &server.grpc);
    let answer = grpc.allow(json!({ "key": "user-123", "tokens": 10.0 }));
    assert_eq!(answer, json!({ "allowed": true, "retryAfter": "0s" }));
    let answer = grpc.allow(json!({ "key": "user-123" }));
    assert_eq!(answer["allowed"], false);
    assert_eq!(answer.as_object().unwrap().len(), 2);
}

#[test]
fn metrics_have_the_names_helps_and_buckets_that_dashboards_know() {
    let server = Server::start(ARTICLE);
    let families = parse_metrics(&server.metrics());
    let counter = &families["ratelimiter_decisions"];
    assert_eq!(counter["type"], "counter");
    assert_eq!(counter["help"], "Each decision count by its type.");
    let histogram = &families["ratelimiter_decision_duration_seconds"];
    assert_eq!(histogram["type"], "histogram");
    assert_eq!(
        histogram["help"],
        "Execution time of one decision in seconds."
    );
    for result in ["allowed", "denied", "errored"] {
        let buckets: Vec<f64> = histogram["samples"]
            .as_object()
            .unwrap()
            .keys()
            .filter_map(|name| {
                let labels =
                    name.strip_prefix("ratelimiter_decision_duration_seconds_bucket{le=")?;
                labels
                    .strip_suffix(&format!(",result={result}}}"))?
                    .parse()
                    .ok()
            })
            .collect();
        let known = [
            0.00005,
            0.0001,
            0.0005,
            0.001,
            0.1,
            0.5,
            1.0,
            2.0,
            f64::INFINITY,
        ];
        let mut buckets = buckets;
        buckets.sort_by(f64::total_cmp);
        assert_eq!(buckets, known, "{result}");
    }
}

fn seconds(duration: &Value) -> f64 {
    duration
        .as_str()
        .unwrap()
        .strip_suffix('s')
        .unwrap()
        .parse()
        .unwrap()
}
