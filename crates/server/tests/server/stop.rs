//! How the server starts and stops.

use std::io::{BufRead, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::common::{Grpc, Server, curl, file, published_proto, tollgate};

const YAML: &str = "policies: { default: { quotas: 1/h burst 100 } }";

/// A request that is in flight until [`InFlight::finish`].
struct InFlight(TcpStream);

impl InFlight {
    const BODY: &str = r#"{"key":"a"}"#;

    fn start(server: &Server) -> Self {
        let mut stream = TcpStream::connect(&server.http).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        let length = Self::BODY.len();
        // The server asks for the body once it has begun to answer the request.
        let head = format!(
            "POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\nExpect: 100-continue\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut interim = [0; 25];
        stream.read_exact(&mut interim).unwrap();
        assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
        Self(stream)
    }

    /// Sends the rest, and reads to the end of the connection.
    fn finish(mut self) -> String {
        self.0.write_all(Self::BODY.as_bytes()).unwrap();
        let mut answer = String::new();
        self.0.read_to_string(&mut answer).unwrap();
        answer
    }
}

/// Waits until the log says that the server is stopping.
fn wait_until_stopping(log: &mut impl BufRead) {
    let mut line = String::new();
    while !line.contains("stopping") {
        line.clear();
        assert_ne!(log.read_line(&mut line).unwrap(), 0, "the log ends");
    }
}

/// C74, W-61 and S3-76 to S3-82.
#[test]
fn c74_readiness_fails_first_and_requests_in_flight_finish() {
    let patient = [
        ("TOLLGATE_SHUTDOWN__DELAY", "3s"),
        ("TOLLGATE_LIMITS__BODY_TIMEOUT", "1min"),
    ];
    let mut server = Server::start_with(YAML, &patient);
    let mut log = server.log();
    let in_flight = InFlight::start(&server);
    let mut grpc = Grpc::connect(&published_proto(), &server.grpc);
    assert_eq!(grpc.allow(json!({ "key": "a" }))["allowed"], true);

    server.signal("TERM");
    wait_until_stopping(&mut log);
    for path in ["/readyz", "/health"] {
        assert_eq!(curl(&[&server.url(path)]).status, 503, "{path}");
    }
    assert_eq!(curl(&[&server.url("/livez")]).status, 200);
    assert_eq!(
        server.limit(&["X-Client-Key: a"]).status,
        200,
        "and requests are still served"
    );
    assert_eq!(grpc.ask(&json!({ "health": "" }))["status"], "NOT_SERVING");
    assert_eq!(grpc.allow(json!({ "key": "a" }))["allowed"], true);

    while TcpStream::connect(&server.http).is_ok() {
        assert!(server.is_running());
    }
    assert!(server.is_running(), "it waits for the request in flight");
    let answer = in_flight.finish();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn a_second_signal_ends_at_once() {
    for (first, second, code) in [("TERM", "TERM", 143), ("TERM", "INT", 130)] {
        let mut server = Server::start_with(YAML, &[("TOLLGATE_SHUTDOWN__BUDGET", "1h")]);
        let mut log = server.log();
        let _in_flight = InFlight::start(&server);
        server.signal(first);
        wait_until_stopping(&mut log);
        server.signal(second);
        assert_eq!(server.wait().code(), Some(code));
    }
}

#[test]
fn the_budget_bounds_a_normal_stop() {
    let budget = [
        ("TOLLGATE_SHUTDOWN__DELAY", "0s"),
        ("TOLLGATE_SHUTDOWN__BUDGET", "500ms"),
    ];
    let mut server = Server::start_with(YAML, &budget);
    let mut log = server.log();
    let _in_flight = InFlight::start(&server);
    server.signal("INT");
    assert_eq!(server.wait().code(), Some(0));
    let mut text = String::new();
    log.read_to_string(&mut text).unwrap();
    assert!(text.contains("cut off what was still in flight"), "{text}");
}

#[test]
fn idle_connections_and_watchers_do_not_hold_a_stop_up() {
    let mut server = Server::start_with(YAML, &[("TOLLGATE_SHUTDOWN__BUDGET", "1h")]);
    let mut log = server.log();
    let _silent = TcpStream::connect(&server.http).unwrap();
    let mut idle = TcpStream::connect(&server.http).unwrap();
    idle.write_all(b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    let mut byte = [0];
    idle.read_exact(&mut byte).unwrap();
    let mut grpc = Grpc::connect(&published_proto(), &server.grpc);
    assert_eq!(grpc.ask(&json!({ "watch": "" }))["status"], "SERVING");

    server.signal("TERM");
    wait_until_stopping(&mut log);
    assert_eq!(grpc.answer()["then"][0], "NOT_SERVING");
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn an_address_in_use_is_named() {
    let server = Server::start(YAML);
    let metrics = server.metrics.as_ref().unwrap();
    for (listener, name, address) in [
        ("HTTP", "http", &server.http),
        ("GRPC", "grpc", &server.grpc),
        ("METRICS", "metrics", metrics),
    ] {
        let mut command = tollgate();
        for listener in ["HTTP", "GRPC", "METRICS"] {
            command.env(format!("TOLLGATE_LISTEN__{listener}"), "127.0.0.1:0");
        }
        command.env(format!("TOLLGATE_LISTEN__{listener}"), address);
        let output = command
            .args(["serve", "--config"])
            .arg(file(YAML))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(output.stdout, b"", "it does not say that it listens");
        let said = String::from_utf8(output.stderr).unwrap();
        let expected = format!("tollgate: listen {name} on {address}: Address already in use");
        assert!(said.contains(&expected), "{said}");
    }
}
