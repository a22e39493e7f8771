//! Settings from environment variables: `TOLLGATE_LIMITS__MAX_KEY_BYTES` is `limits.max_key_bytes`.
//!
//! Two underscores go one level down. A variable without them is a setting only if it is named for
//! a key that is not a section: an orchestrator may well put a `TOLLGATE_PORT` of its own into the
//! environment of a service of that name.

use super::error::ConfigError;
use super::node::{self, Node, Value};

const PREFIX: &str = "TOLLGATE_";

/// The settings among the keys of the top level that are not sections.
const SCALARS: [&str; 2] = ["store", "use_algo"];

/// Puts the settings among `variables` into `root`, over what is there.
pub(crate) fn overlay(
    root: &mut Node,
    variables: impl IntoIterator<Item = (String, String)>,
) -> Result<(), ConfigError> {
    let mut settings: Vec<(String, String)> = variables
        .into_iter()
        .filter(|(name, _)| is_setting(name))
        .collect();
    // Alphabetical, so that a whole list comes before a change inside it.
    settings.sort();
    for (name, text) in settings {
        let origin = format!("environment variable {name}");
        let path: Vec<&str> = name[PREFIX.len()..].split("__").collect();
        if path.iter().any(|key| key.is_empty()) {
            return Err(ConfigError::new("a key is missing between underscores").at(&origin));
        }
        *entry(root, &path, &origin)? = value(&text, &origin);
    }
    Ok(())
}

fn is_setting(name: &str) -> bool {
    name.strip_prefix(PREFIX)
        .is_some_and(|path| path.contains("__") || SCALARS.contains(&&*path.to_lowercase()))
}

/// The place of `path` under `node`, made if it is not there.
fn entry<'n>(node: &'n mut Node, path: &[&str], origin: &str) -> Result<&'n mut Node, ConfigError> {
    let Some((key, rest)) = path.split_first() else {
        return Ok(node);
    };
    if node.is_null() {
        *node = Node::empty_map(origin);
    }
    let Value::Map(entries) = &mut node.value else {
        return Err(ConfigError::new(format!("there are no keys in {}", node.origin)).at(origin));
    };
    let index = match entries.iter().position(|(name, _)| is_named(name, key)) {
        Some(index) => index,
        None => {
            let name = Node {
                origin: origin.to_owned(),
                value: Value::Scalar {
                    text: key.to_lowercase(),
                    plain: true,
                },
            };
            entries.push((name, Node::empty_map(origin)));
            entries.len() - 1
        }
    };
    entry(&mut entries[index].1, rest, origin)
}

/// Whether the variable's `key` means this one: variables have neither case nor `-` and `.`.
fn is_named(name: &Node, key: &str) -> bool {
    let fold = |c: char| match c {
        '-' | '.' => '_',
        c => c.to_ascii_lowercase(),
    };
    name.text()
        .is_some_and(|name| name.chars().map(fold).eq(key.chars().map(fold)))
}

/// A list or a map in brackets, or else a scalar, whatever its characters.
fn value(text: &str, origin: &str) -> Node {
    let bracketed = text.starts_with(['[', '{']);
    let parsed = bracketed.then(|| node::parse(text, |_, _| origin.to_owned()).ok());
    parsed.flatten().unwrap_or_else(|| Node {
        origin: origin.to_owned(),
        value: Value::Scalar {
            text: text.to_owned(),
            plain: true,
        },
    })
}
