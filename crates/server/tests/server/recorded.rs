//! The documents: the run that they record is run again, and no key is missing from them.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::common::{ARTICLE, Server, repository, run};

fn document(name: &str) -> String {
    fs::read_to_string(repository().join("docs").join(name)).unwrap()
}

/// The commands of docs/server.md that are followed by what they print, with that.
fn recorded() -> Vec<(String, String)> {
    let text = document("server.md");
    let mut blocks = text.split("\n```").skip(1);
    let mut pairs = Vec::new();
    let mut command = None;
    while let (Some(block), Some(_)) = (blocks.next(), blocks.next()) {
        let (language, body) = block.split_once('\n').unwrap();
        match (language, command.take()) {
            ("sh", _) => command = Some(body.to_owned()),
            ("text", Some(command)) => pairs.push((command, format!("{body}\n"))),
            _ => {}
        }
    }
    pairs
}

#[test]
fn the_recorded_run_happens_again() {
    let server = Server::start(ARTICLE);
    let metrics = server.metrics.as_ref().unwrap();
    let pairs = recorded();
    assert_eq!(pairs.len(), 5);
    for (command, printed) in pairs {
        let command = command
            .replace("localhost:8080", &server.http)
            .replace("localhost:8081", &server.grpc)
            .replace("localhost:9091", metrics);
        let output = Command::new("bash")
            .args(["-euo", "pipefail", "-c", &command])
            .current_dir(repository())
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{command}: {error}; run scripts/test-setup.sh"
        );
        let said = String::from_utf8(output.stdout).unwrap().replace('\r', "");
        assert_eq!(said.trim_end(), printed.trim_end(), "{command}");
    }
}

#[test]
fn the_example_is_the_configuration_of_the_article() {
    let example = fs::read_to_string(repository().join("examples/config/article.yaml")).unwrap();
    let lines = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines
            .filter(|line| !line.contains("password"))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(lines(&example), lines(ARTICLE));
}

#[test]
fn every_key_is_documented() {
    fn keys(schema: &Value, found: &mut Vec<String>) {
        match schema {
            Value::Object(members) => {
                if let Some(Value::Object(properties)) = members.get("properties") {
                    found.extend(properties.keys().cloned());
                }
                members.values().for_each(|member| keys(member, found));
            }
            Value::Array(items) => items.iter().for_each(|item| keys(item, found)),
            _ => {}
        }
    }
    let (_, schema, _) = run(&["config-schema"], &[]);
    let mut found = Vec::new();
    keys(&serde_json::from_str(&schema).unwrap(), &mut found);
    assert!(found.len() > 30);
    let text = document("configuration.md");
    for key in found {
        let named = [format!("`{key}`"), format!(".{key}`")];
        assert!(
            named.iter().any(|name| text.contains(name)),
            "{key} is not documented"
        );
    }
}
