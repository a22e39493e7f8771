//! The real binary on free ports, and clients that are not ours to ask it.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "shared by test binaries"
)]

mod grpc;
mod tools;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

pub(crate) use self::grpc::{Grpc, article_proto, published_proto};
pub(crate) use self::tools::{
    Reply, check_schema, curl, curl_all, parse_metrics, promtool, raw_http, reply_of, repository,
};

/// The configuration that everyone starts from: capacity 10, a token in ten seconds.
pub(crate) const ARTICLE: &str = r#"store: "in_memory"
use_algo: "token_bucket"
metrics:
  use_prometheus: true
  port: 9091
algo_settings:
  capacity: 10
  rate: 0.1
backends:
  in_memory:
    default_ttl: 30 # seconds
    eviction_time: 120 # seconds
    shards_count: 256
  redis:
    addr: "redis:6379"
    password: "m1re1di77sss"
    db: 0
    default_ttl: 1000
"#;

/// A running server.
pub(crate) struct Server {
    child: Child,
    pub(crate) http: String,
    pub(crate) grpc: String,
    pub(crate) metrics: Option<String>,
}

impl Server {
    /// Starts a server with the configuration `yaml`.
    pub(crate) fn start(yaml: &str) -> Self {
        Self::start_with(yaml, &[])
    }

    /// Starts a server with the configuration `yaml` and variables of its environment.
    pub(crate) fn start_with(yaml: &str, variables: &[(&str, &str)]) -> Self {
        let mut command = tollgate();
        command.args(["serve", "--config"]).arg(file(yaml));
        Self::spawn(command, variables)
    }

    /// Starts `command`, which runs a server, on free ports, and waits until it listens.
    pub(crate) fn spawn(mut command: Command, variables: &[(&str, &str)]) -> Self {
        for listener in ["HTTP", "GRPC", "METRICS"] {
            command.env(format!("TOLLGATE_LISTEN__{listener}"), "127.0.0.1:0");
        }
        command.envs(variables.iter().copied());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the server starts");
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let Some(addresses) = line.strip_prefix("listening ") else {
            let mut error = String::new();
            let _ = child.stderr.take().unwrap().read_to_string(&mut error);
            panic!("the server does not listen: {error}");
        };
        let address = |name: &str| {
            let mut words = addresses.split_whitespace();
            words
                .find_map(|word| word.strip_prefix(name))
                .map(str::to_owned)
        };
        Self {
            http: address("http=").expect("an http address"),
            grpc: address("grpc=").expect("a grpc address"),
            metrics: address("metrics="),
            child,
        }
    }

    /// `http://ADDRESS/path` of the HTTP listener.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.http)
    }

    /// `POST /limit` with these headers, by curl.
    pub(crate) fn limit(&self, headers: &[&str]) -> Reply {
        let url = self.url("/limit");
        let mut arguments = vec!["-X", "POST", &url];
        for header in headers {
            arguments.extend(["-H", header]);
        }
        curl(&arguments)
    }

    /// `POST /v1/check` with this body, by curl.
    pub(crate) fn check(&self, body: &str) -> Reply {
        curl(&[
            "-H",
            "Content-Type: application/json",
            "--data-raw",
            body,
            &self.url("/v1/check"),
        ])
    }

    /// The text of the metrics.
    pub(crate) fn metrics(&self) -> String {
        let address = self.metrics.as_ref().expect("metrics are on");
        let reply = curl(&[&format!("http://{address}/metrics")]);
        assert_eq!(reply.status, 200);
        assert_eq!(
            reply.header("content-type"),
            Some("text/plain; version=0.0.4; charset=utf-8")
        );
        reply.body
    }

    /// Sends a signal, by its name.
    pub(crate) fn signal(&self, name: &str) {
        let command = format!("kill -{name} {}", self.child.id());
        let status = Command::new("sh").args(["-c", &command]).status().unwrap();
        assert!(status.success(), "{command}");
    }

    /// Waits until the process has ended, for at most 20 seconds.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        for _ in 0..2_000 {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("the server does not end");
    }

    /// Whether the process has not ended.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// What the server logs from here on.
    pub(crate) fn log(&mut self) -> BufReader<ChildStderr> {
        BufReader::new(self.child.stderr.take().expect("the log is read once"))
    }

    /// Stops the server, and returns all that it has logged.
    pub(crate) fn stop(mut self) -> String {
        let mut log = self.log();
        self.signal("TERM");
        let mut text = String::new();
        log.read_to_string(&mut text).unwrap();
        assert_eq!(self.wait().code(), Some(0), "{text}");
        text
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The binary, with nothing of the environment that could configure it.
pub(crate) fn tollgate() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    for (name, _) in std::env::vars() {
        if name.starts_with("TOLLGATE_") {
            command.env_remove(name);
        }
    }
    command
}

/// A file with `text` in it, of its own.
pub(crate) fn file(text: &str) -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("{}-{count}.yaml", std::process::id());
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, text).unwrap();
    path
}

/// Runs a command, and returns its exit status and what it wrote to standard error.
pub(crate) fn run(arguments: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = tollgate()
        .args(arguments)
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}
