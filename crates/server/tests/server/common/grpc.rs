//! A gRPC client in Python.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::tools::{python, repository};

/// A client that runs until it is dropped.
pub(crate) struct Grpc {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Grpc {
    /// A client of the server at `address`, generated from the `.proto` under `root`.
    pub(crate) fn connect(root: &PathBuf, address: &str) -> Self {
        let mut child = python("grpc_client.py")
            .arg(root)
            .arg(address)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            questions: child.stdin.take().unwrap(),
            answers: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    /// Asks, and waits for the answer.
    pub(crate) fn ask(&mut self, question: &Value) -> Value {
        writeln!(self.questions, "{question}").unwrap();
        self.answer()
    }

    /// Waits for an answer.
    pub(crate) fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }

    /// `Allow` with these fields.
    #[expect(clippy::needless_pass_by_value, reason = "made where it is asked")]
    pub(crate) fn allow(&mut self, fields: Value) -> Value {
        self.ask(&json!({ "allow": fields }))
    }
}

impl Drop for Grpc {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where the published `.proto` lies.
pub(crate) fn published_proto() -> PathBuf {
    repository().join("proto")
}

/// Where a `.proto` lies that knows the first two fields of each message only.
pub(crate) fn article_proto() -> PathBuf {
    repository().join("crates/server/tests/clients/article")
}
