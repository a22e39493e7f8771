//! Wrong configurations, and what is said of them.

use std::fs;

use crate::common::{ARTICLE, file, run};

/// Checks that neither `serve` nor `check-config` takes `yaml`, and that both say this of it.
fn refused(yaml: &str, said: &str) {
    let path = file(yaml);
    let path = path.to_str().unwrap();
    for arguments in [
        ["check-config", path].as_slice(),
        &["serve", "--config", path],
    ] {
        let (code, stdout, stderr) = run(arguments, &[]);
        assert_eq!((code, &*stdout), (Some(1), ""), "{yaml}: {stderr}");
        let expected = format!(
            "tollgate: failed to read config: {}\n",
            said.replace("FILE", path)
        );
        assert_eq!(stderr, expected, "{yaml}");
    }
}

/// The article's file with one thing changed.
fn article(from: &str, to: &str) -> String {
    assert!(ARTICLE.contains(from), "{from}");
    ARTICLE.replace(from, to)
}

const WINDOW: &str = "store: in_memory
use_algo: fixed_window
algo_settings:
  window_size: 60
  max_requests: 5
";

/// W-42 to W-44, X3-03, S3-02, S3-03, S3-09 and S3-10.
#[test]
fn wrong_settings_of_the_article_are_refused_clearly() {
    let missing = "missing required configuration property";
    let positive = "should be strictly greater than 0, not";
    for (yaml, said) in [
        (article("\"in_memory\"", "etcd"), "FILE:1:8: store: unsupported store: \"etcd\"; use \"in_memory\"".to_owned()),
        (article("\"in_memory\"", "redis"), "FILE:1:8: store: the store \"redis\" is not built in yet; use \"in_memory\"".to_owned()),
        (article("\"token_bucket\"", "leaky"), "FILE:2:11: use_algo: unsupported rate limiting algorithm: leaky; use token_bucket, fixed_window or rolling_window".to_owned()),
        (article("  capacity: 10\n", ""), format!("FILE:7:3: algo_settings: {missing}: 'capacity'")),
        (article("  rate: 0.1\n", ""), format!("FILE:7:3: algo_settings: {missing}: 'rate'")),
        (article("capacity: 10", "capacity: 0"), format!("FILE:7:3: algo_settings.capacity: {positive} 0")),
        (article("capacity: 10", "capacity: -1"), format!("FILE:7:3: algo_settings.capacity: {positive} -1")),
        (article("capacity: 10", "capacity: nan"), format!("FILE:7:3: algo_settings.capacity: {positive} NaN")),
        (article("rate: 0.1", "rate: 0"), format!("FILE:7:3: algo_settings.rate: {positive} 0")),
        (article("rate: 0.1", "rate: inf"), format!("FILE:7:3: algo_settings.rate: {positive} inf")),
        (article("rate: 0.1", "rate: fast"), "FILE:8:9: algo_settings.rate: expected a number, found \"fast\"".to_owned()),
        ("store: in_memory\nuse_algo: rolling_window\n".to_owned(), format!("FILE:2:11: {missing}: 'max_requests'")),
        (WINDOW.replace("  window_size: 60\n", ""), format!("FILE:4:3: algo_settings: {missing}: 'window_size'")),
        (WINDOW.replace("  max_requests: 5\n", ""), format!("FILE:4:3: algo_settings: {missing}: 'max_requests'")),
        (WINDOW.replace("window_size: 60", "window_size: 0"), format!("FILE:4:3: algo_settings.window_size: {positive} 0")),
        (WINDOW.replace("fixed", "rolling").replace("window_size: 60", "window_size: -1"), format!("FILE:4:3: algo_settings.window_size: {positive} -1")),
        (WINDOW.replace("max_requests: 5", "max_requests: 0"), format!("FILE:4:3: algo_settings.max_requests: {positive} 0")),
        (WINDOW.replace("max_requests: 5", "max_request: 5"), "FILE:5:3: algo_settings: unknown key \"max_request\"; did you mean \"max_requests\"?".to_owned()),
        (article("shards_count: 256", "shards_count: 0"), "FILE:13:19: backends.in_memory.shards_count: must be a power of two, not 0".to_owned()),
        (article("shards_count: 256", "shards_count: 100"), "FILE:13:19: backends.in_memory.shards_count: must be a power of two, not 100".to_owned()),
        (article("shards_count", "shards"), "FILE:13:5: backends.in_memory: unknown key \"shards\"; did you mean \"shards_count\"?".to_owned()),
        (article("eviction_time: 120", "eviction_time: 0"), "FILE:12:20: backends.in_memory.eviction_time: must be between 1 and 4294967295, not 0".to_owned()),
        (article("default_ttl: 1000", "default_ttl: 0"), "FILE:18:18: backends.redis.default_ttl: must be between 1 and 4294967295, not 0".to_owned()),
        (article("port: 9091", "port: 0"), "FILE:5:9: metrics.port: must be between 1 and 65535, not 0".to_owned()),
        ("use_algo: token_bucket".to_owned(), "FILE:1:1: missing key \"store\"".to_owned()),
    ] {
        refused(&yaml, &said);
    }
}

#[test]
fn wrong_configurations_are_refused_with_line_and_suggestion() {
    let algorithms = "did you mean \"token_bucket\"?";
    for (yaml, said) in [
        ("", "FILE:1:1: missing key \"policies\": there is nothing to limit by".to_owned()),
        ("a: b: c", "FILE:1:5: not YAML: mapping values are not allowed in this context".to_owned()),
        ("[1, 2]", "FILE:1:1: expected a map, found a list".to_owned()),
        ("polices: {}", "FILE:1:1: unknown key \"polices\"; did you mean \"policies\"?".to_owned()),
        ("policies: {}\npolicies: {}", "FILE:2:1: key \"policies\" appears twice, first at FILE:1:1".to_owned()),
        ("policies:\n  a: { quota: 1/s }", "FILE:2:8: policies.a: unknown key \"quota\"; did you mean \"quotas\"?".to_owned()),
        ("policies:\n  a: { algorithm: tokenbucket }", format!("FILE:2:19: policies.a.algorithm: unknown value \"tokenbucket\"; {algorithms}")),
        ("policies:\n  a: { on_full: drop }", "FILE:2:17: policies.a.on_full: unknown value \"drop\"; use one of evict, allow, deny".to_owned()),
        ("policies:\n  a: {}", "FILE:2:6: policies.a: missing key \"quotas\"; to limit nothing, say disabled: true".to_owned()),
        ("policies:\n  a: { quotas: [] }", "FILE:2:16: policies.a.quotas: an empty list; to limit nothing, say disabled: true".to_owned()),
        ("policies:\n  a: { quotas: [1/s], max_keys: 0 }", "FILE:2:33: policies.a.max_keys: must be between 1 and 1000000000, not 0".to_owned()),
        ("policies:\n  a: { quotas: [1/s], debt: -1 }", "FILE:2:29: policies.a.debt: a cost must be greater than 0".to_owned()),
        ("policies:\n  a b: { quotas: 1/s }", "FILE:2:8: policies.a b: the name of a policy has 1 to 64 letters, digits, and single characters of \"_-.\"".to_owned()),
        ("listen:\n  http: 8080", "FILE:2:9: listen.http: \"8080\" is not an IP address and port, like 0.0.0.0:8080 or \"[::]:8080\"".to_owned()),
        ("limits:\n  max_header_bytes: 100", "FILE:2:21: limits.max_header_bytes: must be between 8192 and 1048576, not 100".to_owned()),
        ("limits:\n  max_body_bytes: lots", "FILE:2:19: limits.max_body_bytes: expected a whole number from 0, found \"lots\"".to_owned()),
        ("limits:\n  header_timeout: 5", "FILE:2:19: limits.header_timeout: \"5\" is not a length of time, like 5s or 250ms: time unit needed, for example 5sec or 5ms".to_owned()),
        ("metrics:\n  enabled: yes", "FILE:2:12: metrics.enabled: expected true or false, found \"yes\"".to_owned()),
        ("policies: { a: { quotas: 1/s } }\nlog:\n  level: inof", "FILE:3:10: log.level: unknown level \"inof\"; did you mean \"info\"?".to_owned()),
        ("policies: { a: { quotas: 1/s } }\nshutdown: { delay: 2s, budget: 1s }", "shutdown: the delay of 2s is longer than the whole budget of 1s".to_owned()),
        ("policies: { a: { quotas: 1/s } }\nuse_algo: token_bucket", "FILE:1:1: unknown key \"policies\"; use one of store, use_algo, algo_settings, metrics, backends, listen, limits, shutdown, log".to_owned()),
    ] {
        refused(yaml, &said);
    }
}

/// C72: the text of a rate.
#[test]
fn c72_rate_texts_have_one_meaning_or_none() {
    for text in [
        "10 perr day",
        "hoursss",
        "5/m",
        "5/M",
        "1/0s",
        "5/-1min",
        "-5/s",
        "NaN/s",
        "0/s",
        "5",
        "10/s burst 0",
    ] {
        let yaml = format!("policies:\n  a:\n    quotas:\n      - 1/h\n      - {text}");
        let path = file(&yaml);
        let (code, _, stderr) = run(&["check-config", path.to_str().unwrap()], &[]);
        assert_eq!(code, Some(1), "{text}");
        let place = format!(":5:9: policies.a.quotas: \"{text}\"");
        assert!(stderr.contains(&place), "{stderr}");
    }
    refused(
        "policies: { a: { quotas: 1/month } }",
        "FILE:1:26: policies.a.quotas: \"1/month\": months and years differ in length; only a fixed window can use them",
    );
    for text in [
        "1.5/s",
        "\" 5 / 1min \"",
        "4000/s burst 1",
        "10/250ms",
        "1000/day",
    ] {
        let path = file(&format!("policies: {{ a: {{ quotas: {text} }} }}"));
        assert_eq!(
            run(&["check-config", path.to_str().unwrap()], &[]).0,
            Some(0),
            "{text}"
        );
    }
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let (code, _, stderr) = run(&["serve", "--config", "/nowhere/tollgate.yaml"], &[]);
    assert_eq!(code, Some(1));
    assert!(
        stderr.contains("/nowhere/tollgate.yaml: cannot be read: No such file"),
        "{stderr}"
    );
    let path = file("");
    fs::write(&path, b"\xff").unwrap();
    assert_eq!(
        run(&["check-config", path.to_str().unwrap()], &[]).0,
        Some(1)
    );
}

/// Whatever is in the file: an answer, not a panic.
#[test]
fn hostile_files_are_refused() {
    let laughs = (1..12).fold("a0: &a0 [x]\n".to_owned(), |yaml, level| {
        let before = format!("*a{}, ", level - 1).repeat(10);
        format!("{yaml}a{level}: &a{level} [{before}]\n")
    });
    let deep = "[".repeat(100_000);
    for yaml in [
        &*laughs,
        &*deep,
        "a: *b",
        "? [a]\n: b",
        "a: &a [*a]",
        "--- a\n--- b",
        "\0",
        "%",
        "!!x",
    ] {
        let path = file(yaml);
        let (code, _, stderr) = run(&["check-config", path.to_str().unwrap()], &[]);
        assert_eq!(code, Some(1), "{stderr}");
        assert!(
            stderr.starts_with("tollgate: failed to read config: "),
            "{stderr}"
        );
    }
}
