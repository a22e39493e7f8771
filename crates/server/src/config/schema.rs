//! The shape of a configuration file, for editors.

use schemars::{JsonSchema, schema_for};

use super::article::Article;
use super::file::File;

/// A configuration file of either shape.
#[derive(JsonSchema)]
#[schemars(untagged, title = "Tollgate configuration")]
#[expect(dead_code, reason = "only its schema is used")]
enum Either {
    Tollgate(Box<File>),
    Article(Box<Article>),
}

/// The JSON Schema of configuration files, draft 2020-12.
#[must_use]
pub fn schema() -> serde_json::Value {
    schema_for!(Either).to_value()
}
