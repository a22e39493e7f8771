//! The scalars of a configuration: read and checked in one step, so that errors know their place.

use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};

use super::located::Located;

/// A whole number between `MIN` and `MAX`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Within<const MIN: u32, const MAX: u32>(pub(crate) u32);

/// An IP address and a port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address(pub(crate) SocketAddr);

/// A length of time, as in `5s`, `250ms` or `1min 30s`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Time(pub(crate) Duration);

/// One text, or a list of them.
#[derive(Clone, Debug)]
pub(crate) struct OneOrMany(pub(crate) Vec<Located<String>>);

impl<const MIN: u32, const MAX: u32> Within<MIN, MAX> {
    /// The number, as a size.
    pub(crate) const fn size(self) -> usize {
        self.0 as usize
    }
}

impl Time {
    pub(crate) const fn from_secs(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }
}

impl<'de, const MIN: u32, const MAX: u32> Deserialize<'de> for Within<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u64::deserialize(deserializer)? {
            number if (u64::from(MIN)..=u64::from(MAX)).contains(&number) => {
                u32::try_from(number).map(Self).map_err(de::Error::custom)
            }
            number => Err(de::Error::custom(format!(
                "must be between {MIN} and {MAX}, not {number}"
            ))),
        }
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(|_| {
            de::Error::custom(format!(
                "{text:?} is not an IP address and port, like 0.0.0.0:8080 or \"[::]:8080\""
            ))
        })
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Longer waits than a day are mistakes, and timers need not know them.
        const MAX: Duration = Duration::from_secs(86_400);
        let text = String::deserialize(deserializer)?;
        match humantime::parse_duration(&text) {
            Ok(time) if time <= MAX => Ok(Self(time)),
            Ok(_) => Err(de::Error::custom(format!("{text:?} is longer than a day"))),
            Err(error) => Err(de::Error::custom(format!(
                "{text:?} is not a length of time, like 5s or 250ms: {error}"
            ))),
        }
    }
}

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Texts;
        impl<'de> Visitor<'de> for Texts {
            type Value = Vec<Located<String>>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of them")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(vec![Located {
                    origin: String::new(),
                    value: text.to_owned(),
                }])
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = items.next_element()? {
                    texts.push(text);
                }
                Ok(texts)
            }
        }
        deserializer.deserialize_any(Texts).map(Self)
    }
}

impl<const MIN: u32, const MAX: u32> JsonSchema for Within<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("From{MIN}To{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

impl JsonSchema for Address {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Address".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": r"^.+:[0-9]{1,5}$" })
    }
}

impl JsonSchema for Time {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": r"^([0-9]+ *[a-z]+ *)+$" })
    }
}

impl JsonSchema for OneOrMany {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "OneOrMany".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": ["string", "integer"] },
                { "type": "array", "items": { "type": ["string", "integer"] }, "minItems": 1 },
            ]
        })
    }
}
