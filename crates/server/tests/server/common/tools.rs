//! Programs of others: curl, promtool, and Python's packages. Installed by scripts/test-setup.sh.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// An HTTP answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    /// The value of the one header of that name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(header, _)| header == name);
        let value = values.next();
        assert!(values.next().is_none(), "{name} appears twice");
        value.map(|(_, value)| &**value)
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{}: {error}", self.body))
    }
}

/// What curl gets.
pub(crate) fn curl(arguments: &[&str]) -> Reply {
    curl_all(arguments, &[]).pop().expect("an answer")
}

/// What curl gets of several addresses, one after the other on one connection.
pub(crate) fn curl_all(arguments: &[&str], urls: &[&str]) -> Vec<Reply> {
    let mut command = Command::new("curl");
    command.args(["-s", "-S", "-i", "-m", "20"]);
    let output = installed(command.args(arguments).args(urls));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "curl: {stderr}");
    let text = String::from_utf8_lossy(&output.stdout);
    let mut replies: Vec<&str> = text.split("HTTP/").skip(1).collect();
    // What the server says before it reads a large body.
    replies.retain(|reply| !reply.starts_with("1.1 100 "));
    replies
        .into_iter()
        .map(|reply| reply_of(reply.as_bytes()))
        .collect()
}

/// Reads an answer as curl prints it.
pub(crate) fn reply_of(text: &[u8]) -> Reply {
    let text = String::from_utf8_lossy(text);
    let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
    let mut lines = head.lines();
    let status = lines
        .next()
        .unwrap()
        .split(' ')
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    let header = |line: &str| {
        let (name, value) = line.split_once(':').unwrap();
        (name.to_lowercase(), value.trim().to_owned())
    };
    Reply {
        status,
        headers: lines.map(header).collect(),
        body: body.to_owned(),
    }
}

/// Sends bytes that no client would send, and reads until the server closes the connection.
pub(crate) fn raw_http(address: &str, request: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let mut writer = stream.try_clone().unwrap();
    let mut answer = Vec::new();
    thread::scope(|scope| {
        // The server may have had enough before it has read all.
        scope.spawn(move || writer.write_all(request));
        if let Err(error) = stream.read_to_end(&mut answer) {
            // A reset closes the connection too.
            assert_ne!(
                error.kind(),
                ErrorKind::WouldBlock,
                "the server does not close"
            );
        }
    });
    answer
}

/// Checks metrics with promtool.
pub(crate) fn promtool(metrics: &str) {
    let output = piped(Command::new("promtool").args(["check", "metrics"]), metrics);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success() && said.is_empty(),
        "promtool: {said}"
    );
}

/// Reads metrics with the parser of prometheus_client.
pub(crate) fn parse_metrics(metrics: &str) -> Value {
    let output = piped(&mut python("parse_metrics.py"), metrics);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Checks a schema, files that it describes, and files that it does not.
pub(crate) fn check_schema(schema: &str, good: &[PathBuf], bad: &[PathBuf]) {
    let mut command = python("check_schema.py");
    let output = piped(command.args(good).arg("--bad").args(bad), schema);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// One of the scripts beside these tests, to be run by the Python of the tests.
pub(crate) fn python(script: &str) -> Command {
    let python = repository().join(".venv/bin/python");
    assert!(python.exists(), "{MISSING}");
    let mut command = Command::new(python);
    command.arg(
        repository()
            .join("crates/server/tests/clients")
            .join(script),
    );
    command
}

/// The root of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

const MISSING: &str = "a tool of the tests is missing: run scripts/test-setup.sh";

fn installed(command: &mut Command) -> std::process::Output {
    command
        .output()
        .unwrap_or_else(|error| panic!("{MISSING} ({command:?}: {error})"))
}

fn piped(command: &mut Command, input: &str) -> std::process::Output {
    let command = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let spawned = command.spawn();
    let mut child = spawned.unwrap_or_else(|error| panic!("{MISSING} ({command:?}: {error})"));
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap()
}
