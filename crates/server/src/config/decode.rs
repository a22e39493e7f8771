//! From the tree to types: serde reads a [`Node`], and every error says where.

use std::slice;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

use super::error::ConfigError;
use super::located::{LOCATED, Pair};
use super::node::{Node, Value};

/// Reads `node` as a `T`.
pub(crate) fn decode<T: DeserializeOwned>(node: &Node) -> Result<T, ConfigError> {
    T::deserialize(node)
}

impl Node {
    fn scalar<T>(&self, wanted: &str, read: impl Fn(&str) -> Option<T>) -> Result<T, ConfigError> {
        let found = match &self.value {
            Value::Scalar { text, plain: true } => match read(text) {
                Some(value) => return Ok(value),
                None if self.is_null() => "nothing".to_owned(),
                None => format!("{text:?}"),
            },
            Value::Scalar { text, plain: false } => format!("the text {text:?}"),
            Value::List(_) => "a list".to_owned(),
            Value::Map(_) => "a map".to_owned(),
        };
        Err(ConfigError::new(format!(
            "expected {wanted}, found {found}"
        )))
    }

    fn number<T: std::str::FromStr>(&self, wanted: &str) -> Result<T, ConfigError> {
        self.scalar(wanted, |text| text.parse().ok())
    }
}

fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

macro_rules! scalars {
    ($($method:ident $visit:ident $wanted:literal;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConfigError> {
            self.number($wanted)
                .and_then(|number| visitor.$visit(number))
                .map_err(|error| error.at(&self.origin))
        }
    )*};
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = ConfigError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConfigError> {
        match &self.value {
            Value::Scalar { .. } if self.is_null() => visitor.visit_unit(),
            Value::Scalar { text, .. } => visitor.visit_str(text),
            Value::List(items) => visitor.visit_seq(Items(items.iter())),
            Value::Map(entries) => visitor.visit_map(Entries::new(entries)),
        }
        .map_err(|error| error.at(&self.origin))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConfigError> {
        self.scalar("true or false", boolean)
            .and_then(|value| visitor.visit_bool(value))
            .map_err(|error| error.at(&self.origin))
    }

    scalars! {
        deserialize_u8 visit_u8 "a whole number from 0 to 255";
        deserialize_u16 visit_u16 "a whole number from 0 to 65535";
        deserialize_u32 visit_u32 "a whole number from 0 to 4294967295";
        deserialize_u64 visit_u64 "a whole number from 0";
        deserialize_i8 visit_i8 "a whole number from -128 to 127";
        deserialize_i16 visit_i16 "a whole number from -32768 to 32767";
        deserialize_i32 visit_i32 "a whole number from -2147483648 to 2147483647";
        deserialize_i64 visit_i64 "a whole number";
        deserialize_f32 visit_f32 "a number";
        deserialize_f64 visit_f64 "a number";
    }

    /// Any scalar is a text: `10` needs no quotes where a text is wanted.
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConfigError> {
        match &self.value {
            Value::Scalar { text, .. } if !self.is_null() => visitor.visit_str(text),
            _ => self.scalar("a text", |_| None),
        }
        .map_err(|error| error.at(&self.origin))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConfigError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConfigError> {
        if self.is_null() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ConfigError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, ConfigError> {
        match name {
            LOCATED => visitor.visit_seq(Pair::Origin(self)),
            _ => self.deserialize_seq(visitor),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConfigError> {
        match &self.value {
            Value::List(items) => visitor.visit_seq(Items(items.iter())),
            _ => self.scalar("a list", |_| None),
        }
        .map_err(|error| error.at(&self.origin))
    }

    /// Nothing is an empty map: a section whose keys are all commented out is no mistake.
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConfigError> {
        match &self.value {
            Value::Map(entries) => visitor.visit_map(Entries::new(entries)),
            _ if self.is_null() => visitor.visit_map(Entries::new(&[])),
            _ => self.scalar("a map", |_| None),
        }
        .map_err(|error| error.at(&self.origin))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ConfigError> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ConfigError> {
        match &self.value {
            Value::Scalar { text, .. } if !self.is_null() => visitor.visit_enum(Word(text)),
            _ => self.scalar("a word", |_| None),
        }
        .map_err(|error| error.at(&self.origin))
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, v: V) -> Result<V::Value, ConfigError> {
        self.deserialize_str(v)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, v: V) -> Result<V::Value, ConfigError> {
        v.visit_unit()
    }

    serde::forward_to_deserialize_any! { char bytes byte_buf unit unit_struct tuple i128 u128 }
}

struct Items<'de>(slice::Iter<'de, Node>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = ConfigError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ConfigError> {
        let Some(item) = self.0.next() else {
            return Ok(None);
        };
        let place = |error: ConfigError| error.at(&item.origin);
        seed.deserialize(item).map(Some).map_err(place)
    }
}

struct Entries<'de> {
    entries: slice::Iter<'de, (Node, Node)>,
    value: Option<&'de (Node, Node)>,
}

impl<'de> Entries<'de> {
    fn new(entries: &'de [(Node, Node)]) -> Self {
        let entries = entries.iter();
        Self {
            entries,
            value: None,
        }
    }
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = ConfigError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ConfigError> {
        self.value = self.entries.next();
        self.value.map(|(key, _)| seed.deserialize(key)).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, ConfigError> {
        let Some((key, value)) = self.value.take() else {
            return Err(ConfigError::new("a value without a key"));
        };
        let place = |error: ConfigError| {
            let key = key.text().unwrap_or_default();
            error.at(&value.origin).within(key)
        };
        seed.deserialize(value).map_err(place)
    }
}

/// A word that names a variant.
struct Word<'de>(&'de str);

impl<'de> EnumAccess<'de> for Word<'de> {
    type Error = ConfigError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self), ConfigError> {
        Ok((seed.deserialize(StrDeserializer::new(self.0))?, self))
    }
}

impl<'de> VariantAccess<'de> for Word<'de> {
    type Error = ConfigError;

    fn unit_variant(self) -> Result<(), ConfigError> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value, ConfigError> {
        Err(de::Error::custom("expected a word"))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, ConfigError> {
        Err(de::Error::custom("expected a word"))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, ConfigError> {
        Err(de::Error::custom("expected a word"))
    }
}
