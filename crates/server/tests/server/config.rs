//! Where a configuration comes from, and what describes it.

use std::fs;
use std::path::PathBuf;

use crate::common::{ARTICLE, Server, check_schema, file, repository, run, tollgate};

#[test]
fn every_key_can_be_set_by_a_variable() {
    let yaml = "policies: { log-in: { quotas: 1/h, description: d } }";
    let set = [
        (
            "TOLLGATE_POLICIES__LOG_IN__QUOTAS",
            "[2/h burst 2, 100/day]",
        ),
        ("TOLLGATE_POLICIES__LOG_IN__ALGORITHM", "token_bucket"),
        ("TOLLGATE_POLICIES__DEFAULT__QUOTAS", "3/h"),
        ("TOLLGATE_LIMITS__MAX_KEY_BYTES", "4"),
        ("TOLLGATE_SHUTDOWN__DELAY", "0s"),
        ("TOLLGATE_LOG__FORMAT", "json"),
        ("TOLLGATE_LOG__LEVEL", "info"),
        // What an orchestrator adds for a service named tollgate.
        ("TOLLGATE_PORT", "tcp://10.0.0.1:8080"),
        ("TOLLGATE_SERVICE_HOST", "10.0.0.1"),
    ];
    let server = Server::start_with(yaml, &set);
    let reply = server.limit(&["X-Client-Key: a", "X-Policy: log-in"]);
    let fields = "\"log-in#1\";q=2;w=3600, \"log-in#2\";q=100;w=86400";
    assert_eq!(reply.header("ratelimit-policy"), Some(fields));
    assert_eq!(
        server.limit(&["X-Client-Key: a"]).header("ratelimit"),
        Some("\"default\";r=2;t=1200")
    );
    assert_eq!(server.limit(&["X-Client-Key: abcde"]).status, 400);
    for line in server.stop().lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }

    let path = file(ARTICLE);
    let arguments = ["check-config", path.to_str().unwrap()];
    for (name, value, said) in [
        (
            "TOLLGATE_STORE",
            "etcd",
            "store: unsupported store: \"etcd\"",
        ),
        (
            "TOLLGATE_ALGO_SETTINGS__RATE",
            "x",
            "algo_settings.rate: expected a number, found \"x\"",
        ),
        (
            "TOLLGATE_LISTN__HTTP",
            "x",
            "unknown key \"listn\"; did you mean \"listen\"?",
        ),
        (
            "TOLLGATE_LISTEN__",
            "x",
            "a key is missing between underscores",
        ),
        ("TOLLGATE_STORE__X", "x", "there are no keys in "),
    ] {
        let (code, _, stderr) = run(&arguments, &[(name, value)]);
        assert_eq!(code, Some(1), "{name}");
        let said = format!("environment variable {name}: {said}");
        assert!(stderr.contains(&said), "{stderr}");
    }
}

#[test]
fn without_a_file_there_is_a_built_in_configuration() {
    let mut command = tollgate();
    command.arg("serve");
    let server = Server::spawn(command, &[]);
    let reply = server.limit(&["X-Client-Key: a"]);
    assert_eq!(
        reply.header("ratelimit-policy"),
        Some("\"default\";q=20;w=2")
    );
    let log = server.stop();
    assert!(
        log.contains("quotas=\"10/s burst 20\""),
        "what it limits: {log}"
    );
    assert!(
        log.contains("listening http=127.0.0.1:"),
        "and where it listens: {log}"
    );
}

#[test]
fn the_schema_describes_every_example() {
    let (code, schema, _) = run(&["config-schema"], &[]);
    assert_eq!(code, Some(0));
    let examples = fs::read_dir(repository().join("examples/config")).unwrap();
    let good: Vec<PathBuf> = examples.map(|entry| entry.unwrap().path()).collect();
    assert!(!good.is_empty());
    for path in &good {
        let (code, _, stderr) = run(&["check-config", path.to_str().unwrap()], &[]);
        assert_eq!(code, Some(0), "{stderr}");
    }
    let bad = [
        file("polices: {}"),
        file("limits: { max_key_bytes: 0 }"),
        file("store: in_memory"),
    ];
    check_schema(&schema, &good, &bad);
}

#[test]
fn the_command_line_says_what_it_can_do() {
    let (code, stdout, _) = run(&["--version"], &[]);
    assert_eq!(
        (code, &*stdout),
        (
            Some(0),
            &*format!("tollgate {}\n", env!("CARGO_PKG_VERSION"))
        )
    );
    assert_eq!(run(&["--help"], &[]).0, Some(0));
    for arguments in [
        [].as_slice(),
        &["srve"],
        &["serve", "--port", "1"],
        &["check-config"],
    ] {
        assert_eq!(run(arguments, &[]).0, Some(2), "{arguments:?}");
    }
}
