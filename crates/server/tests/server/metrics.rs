//! What is counted, and what is not.

use crate::common::{ARTICLE, Server, parse_metrics, promtool, raw_http};

/// C76: keys make no series.
#[test]
fn c76_distinct_keys_do_not_change_the_series() {
    let yaml = "policies: { default: { quotas: 1/h, max_keys: 1000 } }";
    let server = Server::start(yaml);
    let names = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines
            .map(|line| line.rsplit_once(' ').unwrap().0.to_owned())
            .collect()
    };
    let before = server.metrics();
    let mut requests = String::new();
    for key in 0..100_000 {
        requests += &format!("POST /limit HTTP/1.1\r\nHost: a\r\nX-Client-Key: user-{key}\r\n\r\n");
    }
    // The last one closes, so that reading ends.
    requests +=
        "POST /limit HTTP/1.1\r\nHost: a\r\nX-Client-Key: last\r\nConnection: close\r\n\r\n";
    let answers = String::from_utf8(raw_http(&server.http, requests.as_bytes())).unwrap();
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 100_001);

    let after = server.metrics();
    assert_eq!(names(&before), names(&after));
    assert!(!after.contains("user-"));
    promtool(&after);
    let families = parse_metrics(&after);
    let sample = |family: &str, sample: &str| families[family]["samples"][sample].as_f64().unwrap();
    assert_eq!(
        sample("tollgate_keys", "tollgate_keys{policy=default}"),
        1_000.0
    );
    let evicted = sample(
        "tollgate_keys_evicted",
        "tollgate_keys_evicted_total{policy=default}",
    );
    assert_eq!(evicted, 99_001.0);
    let allowed = "tollgate_decisions_total{policy=default,result=allowed}";
    assert_eq!(sample("tollgate_decisions", allowed), 100_001.0);
    assert!(!server.stop().contains("user-"), "no key in the log");
}

#[test]
fn full_tables_are_counted_by_their_rule() {
    for (rule, status) in [("allow", 200), ("deny", 429)] {
        let yaml =
            format!("policies: {{ default: {{ quotas: 1/h, max_keys: 1, on_full: {rule} }} }}");
        let server = Server::start(&yaml);
        assert_eq!(server.limit(&["X-Client-Key: a"]).status, 200);
        assert_eq!(server.limit(&["X-Client-Key: b"]).status, status);
        let counted = format!("tollgate_overflow_total{{policy=\"default\",rule=\"{rule}\"}} 1\n");
        let metrics = server.metrics();
        assert!(metrics.contains(&counted), "{metrics}");
    }
}

#[test]
fn every_policy_has_its_series_from_the_start() {
    let server = Server::start("policies: { a: { quotas: 1/s }, b: { disabled: true } }");
    let metrics = server.metrics();
    promtool(&metrics);
    for policy in ["a", "b"] {
        for result in ["allowed", "denied", "errored"] {
            let series =
                format!("tollgate_decisions_total{{policy=\"{policy}\",result=\"{result}\"}} 0\n");
            assert!(metrics.contains(&series), "{series}");
        }
    }
    assert!(metrics.contains("tollgate_build_info{version=\""));
}

#[test]
fn without_metrics_there_is_no_port() {
    let server =
        Server::start("{ policies: { default: { quotas: 1/s } }, metrics: { enabled: false } }");
    assert_eq!(server.metrics, None);
    let server = Server::start(&ARTICLE.replace("use_prometheus: true", "use_prometheus: false"));
    assert_eq!(server.metrics, None);
    assert_eq!(server.limit(&["X-Client-Key: a"]).status, 200);
}
