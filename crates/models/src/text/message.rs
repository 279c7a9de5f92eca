//! One turn of a conversation, as chat templates see it.

use super::value::JsonValue;
use indexmap::IndexMap;
use minijinja::Value;
use serde::{Deserialize, Serialize};

/// One turn of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks: "system", "user", "assistant", "tool", or what else the template knows.
    pub role: String,
    /// What is said: a text, or a list of parts as `{"type": "text", "text": ...}`. Null where a turn has none, as one
    /// that only calls tools.
    #[serde(default, skip_serializing_if = "JsonValue::is_null")]
    pub content: JsonValue,
    /// What else the turn has: `tool_calls`, `tool_call_id`, `name`, `reasoning_content`, or what else the template
    /// knows. Null is the same as not there.
    #[serde(flatten)]
    pub fields: IndexMap<String, JsonValue>,
}

/// Names under which what the model thought is given, the first that is there counts.
const REASONING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

impl Message {
    /// A turn of this role that says this.
    pub fn new(role: impl Into<String>, content: impl Into<JsonValue>) -> Message {
        Message { role: role.into(), content: content.into(), fields: IndexMap::new() }
    }

    /// The turn with one more field.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<JsonValue>) -> Message {
        self.fields.insert(name.into(), value.into());
        self
    }

    /// Shows all that is said: texts and names of fields, the role aside.
    pub(super) fn texts<'m>(&'m self, show: &mut dyn FnMut(&'m str)) {
        self.content.texts(show);
        for (name, value) in &self.fields {
            show(name);
            value.texts(show);
        }
    }

    /// The same turn with other texts and other names of fields.
    pub(super) fn map(&self, text: &dyn Fn(&str) -> String, name: &dyn Fn(&str) -> String) -> Message {
        let fields = self.fields.iter().map(|(key, value)| (name(key), value.map(text, name)));
        Message { role: self.role.clone(), content: self.content.map(text, name), fields: fields.collect() }
    }

    /// As transformers gives it to a template: without nulls, and what the model thought under the names that templates
    /// ask for, `reasoning_content` and `thinking`.
    pub(super) fn value(&self) -> Value {
        let mut fields: IndexMap<&str, Value> = IndexMap::new();
        let thought =
            REASONING.iter().filter_map(|name| self.fields.get(*name)).find(|thought| !thought.is_null());
        if let Some(thought) = thought {
            fields.insert("thinking", thought.value());
        }
        fields.insert("role", Value::from(self.role.as_str()));
        let rest = self.fields.iter().map(|(name, value)| (name.as_str(), value));
        for (name, value) in std::iter::once(("content", &self.content)).chain(rest) {
            if !value.is_null() {
                fields.insert(name, value.value());
            }
        }
        if let Some(thought) = thought {
            fields.insert("reasoning_content", thought.value());
        }
        Value::from_pairs(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_simple_form_and_further_fields_are_read_and_written() {
        let check = |text: &str, message: Message| {
            assert_eq!(serde_json::from_str::<Message>(text).expect("a message"), message);
            assert_eq!(serde_json::to_string(&message).expect("written"), text);
        };
        check(r#"{"role":"user","content":"hi"}"#, Message::new("user", "hi"));
        let id = Message::new("tool", "7").with("tool_call_id", "c1");
        check(r#"{"role":"tool","content":"7","tool_call_id":"c1"}"#, id);
        let calls: JsonValue = serde_json::from_str(r#"[{"b":1,"a":{"z":2,"y":[]}}]"#).expect("JSON");
        let call = Message::new("assistant", JsonValue::Null).with("tool_calls", calls);
        check(r#"{"role":"assistant","tool_calls":[{"b":1,"a":{"z":2,"y":[]}}]}"#, call);
        assert!(serde_json::from_str::<Message>(r#"{"content":"x"}"#).is_err());
    }

    #[test]
    fn thoughts_have_both_names_and_nulls_are_left_out() {
        let message = Message::new("assistant", "a").with("reasoning", "r").with("name", JsonValue::Null);
        let expected = "{'thinking': 'r', 'role': 'assistant', 'content': 'a', 'reasoning': 'r', 'reasoning_content': 'r'}";
        assert_eq!(message.value().to_string(), expected);
        assert_eq!(Message::new("user", JsonValue::Null).value().to_string(), "{'role': 'user'}");
    }
}
