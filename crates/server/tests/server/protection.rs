//! What clients may take of the server itself.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::common::{Server, curl, raw_http, reply_of};

const YAML: &str = "policies: { default: { quotas: 1/h burst 100 } }";
const BRIEF: [(&str, &str); 2] = [
    ("TOLLGATE_LIMITS__HEADER_TIMEOUT", "300ms"),
    ("TOLLGATE_LIMITS__BODY_TIMEOUT", "300ms"),
];

#[test]
fn oversized_bodies_are_refused() {
    let server = Server::start(YAML);
    let body = format!("{{\"key\":\"{}\"}}", "k".repeat(70_000));
    let url = server.url("/v1/check");
    let announced = server.check(&body);
    let chunked = curl(&[
        "-H",
        "Transfer-Encoding: chunked",
        "-H",
        "Expect:",
        "--data-raw",
        &body,
        &url,
    ]);
    for reply in [announced, chunked] {
        assert_eq!(reply.status, 413);
        assert_eq!(
            reply.header("content-type"),
            Some("application/problem+json")
        );
        assert_eq!(reply.json()["detail"], "a body has at most 65536 bytes");
    }
    let url = server.url("/limit");
    assert_eq!(
        curl(&["-H", "X-Client-Key: a", "--data-raw", &body, &url]).status,
        413
    );
    assert_eq!(
        curl(&["-H", "X-Client-Key: a", "--data-raw", "small", &url]).status,
        200
    );
}

#[test]
fn oversized_headers_are_refused() {
    let server = Server::start(YAML);
    let filler = format!("X-Filler: {}", "x".repeat(20_000));
    assert_eq!(server.limit(&["X-Client-Key: a", &filler]).status, 431);
    let many: Vec<String> = (0..200).map(|n| format!("X-{n}: x")).collect();
    let many: Vec<&str> = many.iter().map(|header| &**header).collect();
    assert_eq!(server.limit(&many).status, 431);
    assert_eq!(server.limit(&["X-Client-Key: a"]).status, 200);
}

#[test]
fn connections_that_say_nothing_or_too_slowly_are_closed() {
    let server = Server::start_with(YAML, &BRIEF);
    let metrics = server.metrics.clone().unwrap();
    for address in [&server.http, &server.grpc, &metrics] {
        for beginning in [
            "",
            "P",
            "POST /limit HTTP/1.1\r\nX-Client",
            "PRI * HTTP/2.0\r\n",
        ] {
            // Returns once the server has closed the connection.
            let answer = raw_http(address, beginning.as_bytes());
            let answer = String::from_utf8_lossy(&answer).into_owned();
            assert!(!answer.contains(" 200 "), "{beginning:?}: {answer}");
        }
    }
}

#[test]
fn idle_connections_are_closed() {
    let server = Server::start_with(YAML, &BRIEF);
    let answer = raw_http(&server.http, b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(reply_of(&answer).status, 200);
}

#[test]
fn bodies_that_do_not_arrive_are_not_waited_for() {
    let server = Server::start_with(YAML, &BRIEF);
    let head = b"POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{";
    let reply = reply_of(&raw_http(&server.http, head));
    assert_eq!(reply.status, 408);
    assert!(reply.body.contains("the body did not arrive in time"));
}

#[test]
fn connections_beyond_the_bound_wait_for_their_turn() {
    let server = Server::start_with(YAML, &[("TOLLGATE_LIMITS__MAX_CONNECTIONS", "1")]);
    let request = b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut first = TcpStream::connect(&server.http).unwrap();
    first.write_all(request).unwrap();
    first.read_exact(&mut [0; 15]).unwrap();

    let mut second = TcpStream::connect(&server.http).unwrap();
    second.write_all(request).unwrap();
    second
        .set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    assert!(
        second.read(&mut [0; 1]).is_err(),
        "not answered while the first is there"
    );

    drop(first);
    second
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let mut answer = [0; 15];
    second.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200 OK");
}

#[test]
fn what_is_not_http_is_refused() {
    let server = Server::start(YAML);
    for request in [
        b"\x16\x03\x01\x02\x00\x01".as_slice(),
        b"GET\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
        b"* / HTTP/9\r\n\r\n",
    ] {
        let answer = String::from_utf8_lossy(&raw_http(&server.http, request)).into_owned();
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 400"),
            "{answer}"
        );
    }
    assert_eq!(server.limit(&["X-Client-Key: a"]).status, 200);
}
