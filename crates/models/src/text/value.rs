//! A JSON value that keeps the order of its keys. Templates write tools and arguments as they come, and a model has
//! learned that order; the map of `serde_json` sorts it.

use indexmap::IndexMap;
use minijinja::Value;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::Number;
use std::fmt;

/// What a message, a tool or an argument of a template holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum JsonValue {
    /// `null`, and what is not there.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number. Whole ones beyond 64 bits become floats.
    Number(Number),
    /// A text.
    Text(String),
    /// Values in their order.
    List(Vec<JsonValue>),
    /// Values by name, in the order they were given.
    Object(IndexMap<String, JsonValue>),
}

impl JsonValue {
    /// Whether it is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        *self == JsonValue::Null
    }

    /// The text, if it is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        if let JsonValue::Text(text) = self { Some(text) } else { None }
    }

    /// The value of that name, if this is an object that has it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&JsonValue> {
        if let JsonValue::Object(fields) = self { fields.get(name) } else { None }
    }

    /// As templates see it.
    pub(super) fn value(&self) -> Value {
        match self {
            JsonValue::Null => Value::from(()),
            JsonValue::Bool(value) => Value::from(*value),
            JsonValue::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(whole), _) => Value::from(whole),
                (None, Some(whole)) => Value::from(whole),
                (None, None) => Value::from(number.as_f64()),
            },
            JsonValue::Text(text) => Value::from(text.as_str()),
            JsonValue::List(items) => items.iter().map(JsonValue::value).collect(),
            JsonValue::Object(fields) => {
                Value::from_pairs(fields.iter().map(|(name, value)| (name.as_str(), value.value())))
            }
        }
    }

    /// All texts in it: names of fields, too.
    pub(super) fn texts<'v>(&'v self, show: &mut dyn FnMut(&'v str)) {
        match self {
            JsonValue::Text(text) => show(text),
            JsonValue::List(items) => items.iter().for_each(|item| item.texts(show)),
            JsonValue::Object(fields) => fields.iter().for_each(|(name, value)| {
                show(name);
                value.texts(show);
            }),
            JsonValue::Null | JsonValue::Bool(_) | JsonValue::Number(_) => {}
        }
    }

    /// The same with other texts and other names of fields.
    pub(super) fn map(&self, text: &dyn Fn(&str) -> String, name: &dyn Fn(&str) -> String) -> JsonValue {
        match self {
            JsonValue::Text(said) => JsonValue::Text(text(said)),
            JsonValue::List(items) => {
                JsonValue::List(items.iter().map(|item| item.map(text, name)).collect())
            }
            JsonValue::Object(fields) => {
                let fields = fields.iter().map(|(key, value)| (name(key), value.map(text, name)));
                JsonValue::Object(fields.collect())
            }
            JsonValue::Null | JsonValue::Bool(_) | JsonValue::Number(_) => self.clone(),
        }
    }
}

impl From<&str> for JsonValue {
    fn from(text: &str) -> JsonValue {
        JsonValue::Text(text.to_owned())
    }
}

impl From<&String> for JsonValue {
    fn from(text: &String) -> JsonValue {
        JsonValue::Text(text.clone())
    }
}

impl From<String> for JsonValue {
    fn from(text: String) -> JsonValue {
        JsonValue::Text(text)
    }
}

impl From<bool> for JsonValue {
    fn from(value: bool) -> JsonValue {
        JsonValue::Bool(value)
    }
}

impl From<Vec<JsonValue>> for JsonValue {
    fn from(items: Vec<JsonValue>) -> JsonValue {
        JsonValue::List(items)
    }
}

impl From<serde_json::Value> for JsonValue {
    fn from(value: serde_json::Value) -> JsonValue {
        match value {
            serde_json::Value::Null => JsonValue::Null,
            serde_json::Value::Bool(value) => JsonValue::Bool(value),
            serde_json::Value::Number(number) => JsonValue::Number(number),
            serde_json::Value::String(text) => JsonValue::Text(text),
            serde_json::Value::Array(items) => JsonValue::List(items.into_iter().map(Into::into).collect()),
            serde_json::Value::Object(fields) => {
                JsonValue::Object(fields.into_iter().map(|(name, value)| (name, value.into())).collect())
            }
        }
    }
}

impl Serialize for JsonValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            JsonValue::Null => serializer.serialize_unit(),
            JsonValue::Bool(value) => serializer.serialize_bool(*value),
            JsonValue::Number(number) => number.serialize(serializer),
            JsonValue::Text(text) => serializer.serialize_str(text),
            JsonValue::List(items) => items.serialize(serializer),
            JsonValue::Object(fields) => fields.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for JsonValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JsonValue, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = JsonValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<JsonValue, E> {
        Ok(JsonValue::Null)
    }

    fn visit_none<E>(self) -> Result<JsonValue, E> {
        Ok(JsonValue::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<JsonValue, D::Error> {
        JsonValue::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<JsonValue, E> {
        Ok(JsonValue::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<JsonValue, E> {
        Ok(JsonValue::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<JsonValue, E> {
        Ok(JsonValue::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<JsonValue, E> {
        let number =
            Number::from_f64(value).ok_or_else(|| E::custom(format!("{value} is no JSON number")))?;
        Ok(JsonValue::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<JsonValue, E> {
        Ok(JsonValue::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<JsonValue, E> {
        Ok(JsonValue::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<JsonValue, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(JsonValue::List(items))
    }

    /// A name that is there twice is refused: which of the two is meant cannot be known.
    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<JsonValue, A::Error> {
        let mut fields = IndexMap::new();
        while let Some((name, value)) = access.next_entry::<String, JsonValue>()? {
            if fields.contains_key(&name) {
                return Err(A::Error::custom(format!("the name `{name}` is there twice")));
            }
            fields.insert(name, value);
        }
        Ok(JsonValue::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_the_order_of_their_names_and_come_back() {
        let text = r#"{"z":[1,-2,1.5,1e30,null,true],"a":{"é":"<\n>","b":{}},"m":[]}"#;
        let value: JsonValue = serde_json::from_str(text).expect("JSON");
        assert_eq!(serde_json::to_string(&value).expect("written"), text.replace("1e30", "1e+30"));
        let mut texts = Vec::new();
        value.texts(&mut |text| texts.push(text));
        assert_eq!(texts, ["z", "a", "é", "<\n>", "b", "m"]);
        let upper = value.map(&|text| format!("{text}!"), &str::to_uppercase);
        assert_eq!(upper.get("A").and_then(|a| a.get("É")).and_then(JsonValue::as_text), Some("<\n>!"));
    }

    #[test]
    fn a_name_twice_and_endless_nesting_are_refused() {
        let twice = serde_json::from_str::<JsonValue>(r#"{"a":1,"a":2}"#).expect_err("twice");
        assert!(twice.to_string().contains("`a` is there twice"), "{twice}");
        assert!(serde_json::from_str::<JsonValue>(&"[".repeat(100_000)).is_err());
    }
}
