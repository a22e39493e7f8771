//! Values that remember where they were written.

use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeSeed, Deserializer, SeqAccess, Visitor};

use super::error::ConfigError;
use super::node::Node;

/// A value that remembers where it was written, to be checked after it was read.
#[derive(Clone, Debug)]
pub(crate) struct Located<T> {
    pub(crate) origin: String,
    pub(crate) value: T,
}

impl<T> Located<T> {
    /// What `check` makes of the value; its error gets the place of the value.
    pub(crate) fn check<U, E: fmt::Display>(
        &self,
        check: impl FnOnce(&T) -> Result<U, E>,
    ) -> Result<U, ConfigError> {
        check(&self.value).map_err(|error| ConfigError::new(error.to_string()).at(&self.origin))
    }
}

/// The name by which [`Located`] asks the deserializer for the place.
pub(super) const LOCATED: &str = "$located";

impl<'de, T: de::Deserialize<'de>> de::Deserialize<'de> for Located<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pair<T>(PhantomData<T>);
        impl<'de, T: de::Deserialize<'de>> Visitor<'de> for Pair<T> {
            type Value = Located<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut pair: A) -> Result<Located<T>, A::Error> {
                let missing = || de::Error::custom("not read from a configuration");
                Ok(Located {
                    origin: pair.next_element()?.ok_or_else(missing)?,
                    value: pair.next_element()?.ok_or_else(missing)?,
                })
            }
        }
        deserializer.deserialize_tuple_struct(LOCATED, 2, Pair(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for Located<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// What [`Located`] reads: the place, then the value.
pub(super) enum Pair<'de> {
    Origin(&'de Node),
    Value(&'de Node),
    End,
}

impl<'de> SeqAccess<'de> for Pair<'de> {
    type Error = ConfigError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ConfigError> {
        match *self {
            Self::Origin(node) => {
                *self = Self::Value(node);
                seed.deserialize(StrDeserializer::new(&node.origin))
                    .map(Some)
            }
            Self::Value(node) => {
                *self = Self::End;
                seed.deserialize(node).map(Some)
            }
            Self::End => Ok(None),
        }
    }
}
