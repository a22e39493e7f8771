//! What gRPC clients may send, and what they are told.

use serde_json::{Value, json};

use crate::common::{Grpc, Server, published_proto};

const SLOW: &str = "policies:
  default: { quotas: 1/h burst 10 }
  off: { disabled: true }";

fn connect(server: &Server) -> Grpc {
    Grpc::connect(&published_proto(), &server.grpc)
}

#[test]
fn bad_requests_are_invalid_arguments_and_charge_nothing() {
    let server = Server::start(SLOW);
    let mut grpc = connect(&server);
    let mut refuse = |question: Value, reason: &str| {
        let answer = grpc.ask(&question);
        assert_eq!(answer["code"], "INVALID_ARGUMENT", "{question}: {answer}");
        assert_eq!(answer["details"], reason, "{question}");
    };
    let allow = |fields: Value| json!({ "allow": fields });
    refuse(allow(json!({})), "a key must not be empty");
    refuse(allow(json!({ "key": " " })), "a key must not be empty");
    refuse(
        allow(json!({ "key": "a\0b" })),
        "a key must not contain NUL",
    );
    let long = "a key has at most 1024 bytes, and this one has 1025";
    refuse(allow(json!({ "key": "k".repeat(1_025) })), long);
    let positive = "a cost must be greater than 0";
    refuse(allow(json!({ "key": "a", "tokens": -1.0 })), positive);
    let unknown = "there is no policy named \"othr\"";
    refuse(allow(json!({ "key": "a", "policy": "othr" })), unknown);

    // The key "a", and a cost in eight bytes.
    let with_cost = |cost: f64| {
        let bytes: String = cost
            .to_le_bytes()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        json!({ "raw": format!("0a016111{bytes}") })
    };
    for cost in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        refuse(with_cost(cost), "a cost must be finite");
    }
    refuse(json!({ "raw": "0a02ff61" }), "a key must be UTF-8");
    refuse(
        json!({ "raw": "0a01611a01ff" }),
        "the name of a policy must be UTF-8",
    );

    let answer = connect(&server).allow(json!({ "key": "a" }));
    assert_eq!(answer["remaining"], "9");
}

#[test]
fn no_tokens_are_one_and_fractions_count() {
    let server = Server::start(SLOW);
    let mut grpc = connect(&server);
    assert_eq!(
        grpc.allow(json!({ "key": "a", "tokens": 0.0 }))["remaining"],
        "9"
    );
    assert_eq!(
        grpc.allow(json!({ "key": "a", "tokens": 0.25 }))["remaining"],
        "8"
    );
    let answer = grpc.allow(json!({ "key": "a", "tokens": 9.0 }));
    assert_eq!(
        (&answer["allowed"], &answer["never"]),
        (&false.into(), &false.into())
    );
}

#[test]
fn c34_a_cost_above_capacity_says_never_and_no_wait() {
    let server = Server::start(SLOW);
    let mut grpc = connect(&server);
    let answer = grpc.allow(json!({ "key": "a", "tokens": 11.0 }));
    assert_eq!(
        (&answer["allowed"], &answer["never"]),
        (&false.into(), &true.into())
    );
    assert_eq!(
        (&answer["retryAfter"], &answer["remaining"]),
        (&"0s".into(), &"10".into())
    );
}

#[test]
fn disabled_policies_have_no_numbers() {
    let server = Server::start(SLOW);
    let answer = connect(&server).allow(json!({ "key": "a", "policy": "off" }));
    let expected = json!({
        "allowed": true, "retryAfter": "0s", "policy": "off", "never": false,
    });
    assert_eq!(answer, expected);
}

#[test]
fn both_surfaces_share_their_keys() {
    let server = Server::start("policies: { default: { quotas: 1/h burst 1 } }");
    assert_eq!(
        connect(&server).allow(json!({ "key": "a" }))["allowed"],
        true
    );
    assert_eq!(server.limit(&["X-Client-Key: a"]).status, 429);
    assert_eq!(server.check(r#"{"key":"a"}"#).status, 429);
}

#[test]
fn c61_health_is_served_and_uses_nothing_up() {
    let server = Server::start("policies: { default: { quotas: 1/h burst 1 } }");
    let mut grpc = connect(&server);
    grpc.allow(json!({ "key": "a" }));
    for _ in 0..500 {
        for service in ["", "ratelimiter.v1.RateLimiter"] {
            assert_eq!(grpc.ask(&json!({ "health": service }))["status"], "SERVING");
        }
    }
    assert_eq!(grpc.ask(&json!({ "health": "other" }))["code"], "NOT_FOUND");
    assert!(
        server
            .metrics()
            .contains("ratelimiter_decisions_total{result=\"allowed\"} 1\n")
    );
}

#[test]
fn services_are_reflected_in_both_versions() {
    let server = Server::start(SLOW);
    let mut grpc = connect(&server);
    for version in ["v1", "v1alpha"] {
        let answer = grpc.ask(&json!({ "reflect": version }));
        let services = answer["services"].as_array().unwrap();
        for service in ["ratelimiter.v1.RateLimiter", "grpc.health.v1.Health"] {
            assert!(services.contains(&service.into()), "{version}: {answer}");
        }
    }
}

#[test]
fn oversized_messages_are_refused() {
    let server = Server::start(SLOW);
    let answer = connect(&server).allow(json!({ "key": "k".repeat(100_000) }));
    assert_eq!(answer["code"], "OUT_OF_RANGE", "{answer}");
}
