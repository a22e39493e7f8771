//! What HTTP clients may not send, and what they are told then.

use crate::common::{Reply, Server, raw_http, reply_of};

const FIVE: &str = "policies: { default: { quotas: 5/s } }";
/// Refills too slowly for a test to notice.
const SLOW: &str = "policies: { default: { quotas: 1/h burst 10 } }";

/// C32 and the bad costs of REST.
#[test]
fn bad_costs_are_refused_with_a_reason_and_charge_nothing() {
    let server = Server::start(SLOW);
    for (cost, reason) in [
        ("NaN", "a cost must be finite"),
        ("Inf", "a cost must be finite"),
        ("-inf", "a cost must be finite"),
        ("1e400", "a cost must be finite"),
        ("-1", "a cost must be greater than 0"),
        ("0", "a cost must be greater than 0"),
        ("abc", "a cost must be a number of tokens"),
        ("0x10", "a cost must be a number of tokens"),
        ("1 2", "a cost must be a number of tokens"),
        ("\u{fe}", "a cost must be a number of tokens"),
    ] {
        let reply = server.limit(&["X-Client-Key: a", &format!("X-Required-Tokens: {cost}")]);
        let said = format!("invalid X-Required-Tokens header: {reason}\n");
        assert_eq!((reply.status, reply.body), (400, said), "{cost}");
    }
    let two = [
        "X-Client-Key: a",
        "X-Required-Tokens: 1",
        "X-Required-Tokens: 1",
    ];
    bad_request(
        &server.limit(&two),
        "invalid X-Required-Tokens header: it appears more than once",
    );

    for (cost, reason) in [
        ("-5", "a cost must be greater than 0"),
        ("0", "a cost must be greater than 0"),
        ("1e400", "number out of range"),
        ("NaN", "expected value"),
        ("\"1\"", "invalid type"),
    ] {
        let reply = server.check(&format!("{{\"key\":\"a\",\"cost\":{cost}}}"));
        bad_problem(&reply, reason);
    }
    assert_eq!(
        server.check(r#"{"key":"a","cost":null}"#).json()["remaining"],
        9,
        "C32: unchanged"
    );
    let empty = server.limit(&["X-Client-Key: a", "X-Required-Tokens;"]);
    let field = empty.header("ratelimit").unwrap();
    assert!(
        field.starts_with("\"default\";r=8;"),
        "an empty cost is 1: {field}"
    );
}

/// C28 and the other keys that are none.
#[test]
fn c28_keys_that_are_missing_or_blank_are_refused() {
    let server = Server::start(FIVE);
    bad_request(&server.limit(&[]), "missing mandatory X-Client-Key header");
    for header in ["X-Client-Key;", "X-Client-Key:    "] {
        let reply = server.limit(&[header, "X-Policy: default"]);
        assert_eq!(reply.status, 400, "{header:?}: {reply:?}");
    }
    bad_request(
        &server.limit(&["X-Client-Key;"]),
        "invalid X-Client-Key header: a key must not be empty",
    );
    let two = ["X-Client-Key: a", "X-Client-Key: b"];
    bad_request(
        &server.limit(&two),
        "invalid X-Client-Key header: it appears more than once",
    );

    for key in ["", "   ", "\\t\\n"] {
        bad_problem(
            &server.check(&format!("{{\"key\":\"{key}\"}}")),
            "a key must not be empty",
        );
    }
    bad_problem(
        &server.check(r#"{"key":"a\u0000b"}"#),
        "a key must not contain NUL",
    );
    bad_problem(&server.check("{}"), "missing field `key`");
    bad_problem(&server.check(r#"{"key":null}"#), "invalid type: null");
    bad_problem(
        &server.check(r#"{"key":"a","kost":1}"#),
        "unknown field `kost`",
    );
    bad_problem(&server.check(r#"{"key":"a"} x"#), "trailing characters");
    bad_problem(&server.check("{\"key\":\"\u{d7}"), "EOF");
}

#[test]
fn keys_that_are_not_text_are_refused() {
    let server = Server::start(FIVE);
    let with = |key: &[u8]| {
        let mut request =
            b"POST /limit HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Client-Key: ".to_vec();
        request.extend_from_slice(key);
        request.extend_from_slice(b"\r\n\r\n");
        reply_of(&raw_http(&server.http, &request))
    };
    bad_request(
        &with(b"a\xff"),
        "invalid X-Client-Key header: a key must be UTF-8",
    );
    assert_eq!(with(b"a\0b").status, 400, "NUL is no part of a header");
    assert_eq!(with("é".as_bytes()).status, 200);
    let body = b"POST /v1/check HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 11\r\n\r\n{\"key\":\"\xff\"}";
    bad_problem(
        &reply_of(&raw_http(&server.http, body)),
        "invalid unicode code point",
    );
}

/// C30: long keys are told apart to the last byte, up to a bound that the error names.
#[test]
fn c30_long_keys_are_bounded_and_told_apart() {
    let server = Server::start("policies: { default: { quotas: 1/h burst 1 } }");
    let long = "k".repeat(1_023);
    for key in [
        &*format!("{long}a"),
        &*format!("{long}b"),
        "\u{e9}",
        "e\u{301}",
    ] {
        assert_eq!(server.limit(&[&format!("X-Client-Key: {key}")]).status, 200);
        assert_eq!(server.limit(&[&format!("X-Client-Key: {key}")]).status, 429);
    }
    let reason = "a key has at most 1024 bytes, and this one has 1025";
    let reply = server.limit(&[&format!("X-Client-Key: {long}ab")]);
    bad_request(&reply, &format!("invalid X-Client-Key header: {reason}"));
    bad_problem(&server.check(&format!("{{\"key\":\"{long}ab\"}}")), reason);

    let yaml = "{ policies: { default: { quotas: 1/h } }, limits: { max_key_bytes: 3 } }";
    let server = Server::start(yaml);
    assert_eq!(server.limit(&["X-Client-Key: abc"]).status, 200);
    assert_eq!(server.limit(&["X-Client-Key: abcd"]).status, 400);
}

#[test]
fn policies_are_named_or_default() {
    let server = Server::start("policies: { other: { quotas: 1/h burst 1 } }");
    assert_eq!(
        server.limit(&["X-Client-Key: a", "X-Policy: other"]).status,
        200
    );
    assert_eq!(server.check(r#"{"key":"a","policy":"other"}"#).status, 429);
    let unknown = server.limit(&["X-Client-Key: a", "X-Policy: othr"]);
    bad_request(
        &unknown,
        "invalid X-Policy header: there is no policy named \"othr\"",
    );
    bad_problem(&server.check(r#"{"key":"a"}"#), "none named \"default\"");
}

fn bad_request(reply: &Reply, reason: &str) {
    assert_eq!((reply.status, &*reply.body), (400, &*format!("{reason}\n")));
    assert_eq!(
        reply.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
}

fn bad_problem(reply: &Reply, reason: &str) {
    assert_eq!(reply.status, 400, "{reply:?}");
    assert_eq!(
        reply.header("content-type"),
        Some("application/problem+json")
    );
    let detail = reply.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains(reason), "{detail}");
}
