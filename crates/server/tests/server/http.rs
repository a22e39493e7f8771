//! What HTTP clients may send, and what they are told.

use crate::common::{Server, curl, raw_http};

const FIVE: &str = "policies: { default: { quotas: 5/s } }";
/// Refills too slowly for a test to notice.
const SLOW: &str = "policies: { default: { quotas: 1/h burst 10 } }";

#[test]
fn answers_carry_policy_limit_remaining_and_reset() {
    let server = Server::start(
        "policies:
           default: { quotas: 1/h burst 10 }
           two: { algorithm: fixed_window, quotas: [100/year, 3/year] }
           brief: { quotas: 10/s burst 1 }",
    );
    let reply = server.limit(&["X-Client-Key: a", "X-Required-Tokens: 2.5"]);
    assert_eq!(
        reply.header("ratelimit-policy"),
        Some("\"default\";q=10;w=36000")
    );
    assert_eq!(reply.header("ratelimit"), Some("\"default\";r=7;t=9000"));

    let reply = server.limit(&["X-Client-Key: a", "X-Policy: two"]);
    let year = 366 * 86_400;
    let fields = format!("\"two#1\";q=100;w={year}, \"two#2\";q=3;w={year}");
    assert_eq!(reply.header("ratelimit-policy"), Some(&*fields));
    let field = reply.header("ratelimit").unwrap();
    assert!(
        field.starts_with("\"two#2\";r=2;t="),
        "the quota that governs: {field}"
    );

    let reply = server.limit(&["X-Client-Key: a", "X-Policy: brief"]);
    assert_eq!(
        reply.header("ratelimit-policy"),
        Some("\"brief\";q=1"),
        "too short for w"
    );
}

/// C57: a wait is never 0, is rounded up, and is long enough.
#[test]
fn c57_retry_after_is_at_least_one_second_and_long_enough() {
    let server = Server::start(
        "policies:
           default: { quotas: 5/s }
           slower: { quotas: 2/3s burst 1 }",
    );
    let denied = (0..20)
        .map(|_| server.limit(&["X-Client-Key: a", "X-Required-Tokens: 5"]))
        .find(|reply| reply.status == 429)
        .unwrap();
    assert_eq!(denied.header("retry-after"), Some("1"));
    server.limit(&["X-Client-Key: a", "X-Policy: slower"]);
    let denied = server.limit(&["X-Client-Key: a", "X-Policy: slower"]);
    let wait = denied.header("retry-after").unwrap();
    assert!(
        ["1", "2"].contains(&wait),
        "1.5 seconds, less what has passed: {wait}"
    );
    let field = format!("\"slower\";r=0;t={wait}");
    assert_eq!(denied.header("ratelimit"), Some(&*field), "the same wait");
    assert_eq!(denied.header("cache-control"), Some("no-store"));
}

/// C34: what can never pass carries no promise, and takes nothing.
#[test]
fn c34_a_cost_above_capacity_is_refused_without_a_time_to_retry() {
    let server = Server::start(SLOW);
    let reply = server.limit(&["X-Client-Key: a", "X-Required-Tokens: 10.001"]);
    assert_eq!((reply.status, &*reply.body), (429, "rate limit exceeded\n"));
    assert_eq!(reply.header("retry-after"), None);
    assert_eq!(reply.header("ratelimit"), Some("\"default\";r=10"));

    let reply = server.check(r#"{"key":"a","cost":1e300}"#);
    assert_eq!(reply.status, 429);
    assert_eq!(reply.header("retry-after"), None);
    let body = reply.json();
    assert_eq!(
        (&body["never"], &body["remaining"]),
        (&true.into(), &10.into())
    );
    assert!(body["retry_after"].is_null());
    assert_eq!(
        server
            .limit(&["X-Client-Key: a", "X-Required-Tokens: 10"])
            .status,
        200
    );
}

#[test]
fn json_answers_and_their_problems_say_the_same() {
    let server = Server::start("policies: { default: { quotas: 1/h burst 2 } }");
    let reply = server.check(r#"{"key":"a","policy":"default","cost":1.5}"#);
    assert_eq!(
        (reply.status, reply.header("content-type")),
        (200, Some("application/json"))
    );
    let body = reply.json();
    let expected = serde_json::json!({
        "allowed": true, "never": false, "policy": "default", "limit": 2, "remaining": 0,
        "retry_after": null, "reset_after": 5400.0,
    });
    assert_eq!(body, expected);

    let reply = server.check(r#"{"key":"a"}"#);
    assert_eq!(reply.status, 429);
    assert_eq!(
        reply.header("content-type"),
        Some("application/problem+json")
    );
    let body = reply.json();
    assert_eq!(
        body["type"],
        "https://iana.org/assignments/http-problem-types#quota-exceeded"
    );
    assert_eq!(
        (&body["status"], &body["title"]),
        (&429.into(), &"Quota Exceeded".into())
    );
    assert_eq!(body["violated-policies"], serde_json::json!(["default"]));
    assert_eq!(body["allowed"], false);
    let wait = body["retry_after"].as_f64().unwrap();
    let header: f64 = reply.header("retry-after").unwrap().parse().unwrap();
    assert_eq!(wait.ceil(), header);
}

#[test]
fn disabled_policies_allow_everything_and_promise_nothing() {
    let server = Server::start("policies: { default: { disabled: true }, zero: { quotas: 0 } }");
    for policy in ["default", "zero"] {
        let cost = "X-Required-Tokens: 1e300";
        let reply = server.limit(&["X-Client-Key: a", cost, &format!("X-Policy: {policy}")]);
        assert_eq!((reply.status, reply.header("ratelimit")), (200, None));
    }
    let body = server.check(r#"{"key":"a"}"#).json();
    assert_eq!(
        (&body["allowed"], &body["limit"]),
        (&true.into(), &().into())
    );
    let log = server.stop();
    assert_eq!(
        log.matches("disabled: allows everything").count(),
        2,
        "{log}"
    );
}

/// C61: probes are answered whatever the limits, and use nothing up.
#[test]
fn c61_health_probes_are_never_limited() {
    let server = Server::start("policies: { default: { quotas: 1/h burst 1 } }");
    server.limit(&["X-Client-Key: a"]);
    assert_eq!(server.limit(&["X-Client-Key: a"]).status, 429);
    for path in ["/health", "/livez", "/readyz"] {
        let reply = curl(&[&server.url(path)]);
        assert_eq!((reply.status, &*reply.body), (200, "ok"), "{path}");
    }
    let probes = "GET /health HTTP/1.1\r\nHost: a\r\n\r\n".repeat(999)
        + "GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let answers = raw_http(&server.http, probes.as_bytes());
    let answers = String::from_utf8(answers).unwrap();
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 1_000);
    assert!(
        server
            .metrics()
            .contains("ratelimiter_decisions_total{result=\"allowed\"} 1\n")
    );
}

#[test]
fn unknown_paths_and_methods_are_told_apart() {
    let server = Server::start(FIVE);
    for (method, path, status, allow) in [
        ("GET", "/limit", 405, Some("POST")),
        ("PUT", "/v1/check", 405, Some("POST")),
        ("POST", "/health", 405, Some("GET, HEAD")),
        ("GET", "/", 404, None),
        ("POST", "/limit/", 404, None),
        ("GET", "/metrics", 404, None),
    ] {
        let reply = curl(&["-X", method, &server.url(path)]);
        assert_eq!(
            (reply.status, reply.header("allow")),
            (status, allow),
            "{method} {path}"
        );
    }
    assert_eq!(curl(&["--head", &server.url("/health")]).status, 200);
    let metrics = format!("http://{}", server.metrics.as_ref().unwrap());
    assert_eq!(curl(&[&format!("{metrics}/")]).status, 404);
    assert_eq!(
        curl(&["-X", "POST", &format!("{metrics}/metrics")]).status,
        405
    );
}

#[test]
fn http_2_is_spoken_to_those_who_know() {
    let server = Server::start(FIVE);
    let url = server.url("/limit");
    let reply = curl(&[
        "--http2-prior-knowledge",
        "-X",
        "POST",
        "-H",
        "X-Client-Key: a",
        &url,
    ]);
    assert_eq!(
        (reply.status, reply.header("ratelimit")),
        (200, Some("\"default\";r=4;t=1"))
    );
}

/// Promise 8: whatever the level, no key is logged.
#[test]
fn keys_are_not_logged() {
    let trace = [("TOLLGATE_LOG__LEVEL", "trace")];
    let server = Server::start_with("policies: { default: { quotas: 1/h } }", &trace);
    let url = server.url("/limit");
    for _ in 0..2 {
        let key = ["-H", "X-Client-Key: secret-key", "-X", "POST"];
        curl(&[["--http2-prior-knowledge"].as_slice(), &key, &[&url]].concat());
        server.limit(&["X-Client-Key: secret-key"]);
        server.check(r#"{"key":"secret-key"}"#);
        server.check(r#"{"key":"secret-key","kost":"secret-key"}"#);
    }
    let log = server.stop();
    assert!(log.contains("denied"), "{log}");
    assert!(!log.contains("secret"), "{log}");
}
