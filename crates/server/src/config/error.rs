//! What is wrong with a configuration, and where.

use std::fmt;

use serde::de;

/// What is wrong with a configuration: where, which key, why, and what may have been meant.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConfigError {
    origin: Option<String>,
    /// The keys that lead to the value, outermost first.
    path: Vec<String>,
    message: String,
}

impl ConfigError {
    /// An error whose place is added as it travels up.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            origin: None,
            path: Vec::new(),
            message: message.into(),
        }
    }

    /// The same error, in the place `origin` unless it has one.
    #[must_use]
    pub(crate) fn at(mut self, origin: &str) -> Self {
        if self.origin.is_none() && !origin.is_empty() {
            self.origin = Some(origin.to_owned());
        }
        self
    }

    /// The same error, inside the value of `key`.
    #[must_use]
    pub(crate) fn within(mut self, key: &str) -> Self {
        self.path.insert(0, key.to_owned());
        self
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(origin) = &self.origin {
            write!(f, "{origin}: ")?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path.join("."))?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConfigError {}

/// The words of serde, in ours.
impl de::Error for ConfigError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }

    fn invalid_type(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::new(format!("expected {expected}, found {found}"))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format!("unknown key {field:?}{}", one_of(field, expected)))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format!(
            "unknown value {variant:?}{}",
            one_of(variant, expected)
        ))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(format!("missing key {field:?}"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(format!("key {field:?} appears twice"))
    }
}

/// What may have been meant by `word`, to be put behind a message.
pub(crate) fn one_of(word: &str, known: &[&str]) -> String {
    /// Below this likeness, words are rather different words than misspelt.
    const ALIKE: f64 = 0.75;
    let likeness = |known: &str| strsim::jaro_winkler(&word.to_lowercase(), known);
    let nearest = known
        .iter()
        .max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match nearest {
        Some(nearest) if likeness(nearest) >= ALIKE => format!("; did you mean {nearest:?}?"),
        Some(_) => format!("; use one of {}", known.join(", ")),
        None => String::new(),
    }
}
