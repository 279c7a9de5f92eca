//! What a chat template gets: a conversation, tools, and what the caller sets.

use super::error::TextError;
use super::message::Message;
use super::value::JsonValue;
use indexmap::IndexMap;
use minijinja::Value;

/// Names that are not set as arguments, because they have a place of their own.
const TAKEN: [&str; 3] = ["messages", "tools", "add_generation_prompt"];
/// What names of special tokens end with: their values are the caller's tokens, not text.
const TOKEN: &str = "_token";

/// What a conversation is written from. Made by [`ChatInput::new`], then what else there is.
///
/// ```
/// use pumice_models::{ChatInput, ChatTemplate, Message, TemplateArguments};
///
/// let source = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{{ style }}";
/// let template = ChatTemplate::new(source)?;
/// let mut arguments = TemplateArguments::default();
/// arguments.parse("style=brief")?;
/// let messages = [Message::new("user", "hi")];
/// let input = ChatInput::new(&messages).arguments(&arguments);
/// assert_eq!(template.render(&input)?, "user: hi\nbrief");
/// # Ok::<(), pumice_models::TextError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ChatInput<'i> {
    pub(super) messages: &'i [Message],
    pub(super) tools: Option<&'i [JsonValue]>,
    pub(super) add_generation_prompt: bool,
    pub(super) arguments: Option<&'i TemplateArguments>,
    pub(super) bos_token: &'i str,
    pub(super) eos_token: &'i str,
}

impl<'i> ChatInput<'i> {
    /// The conversation alone.
    #[must_use]
    pub fn new(messages: &'i [Message]) -> ChatInput<'i> {
        ChatInput {
            messages,
            tools: None,
            add_generation_prompt: false,
            arguments: None,
            bos_token: "",
            eos_token: "",
        }
    }

    /// Tools that the model may call, each a description as
    /// `{"type": "function", "function": {"name": ..., "description": ..., "parameters": ...}}`.
    #[must_use]
    pub fn tools(mut self, tools: &'i [JsonValue]) -> ChatInput<'i> {
        self.tools = Some(tools);
        self
    }

    /// Whether the text ends where the assistant's answer begins.
    #[must_use]
    pub fn add_generation_prompt(mut self, add: bool) -> ChatInput<'i> {
        self.add_generation_prompt = add;
        self
    }

    /// What the caller sets.
    #[must_use]
    pub fn arguments(mut self, arguments: &'i TemplateArguments) -> ChatInput<'i> {
        self.arguments = Some(arguments);
        self
    }

    /// The texts of the tokens that begin and end a text, empty where the model has none.
    #[must_use]
    pub fn special_tokens(mut self, bos: &'i str, eos: &'i str) -> ChatInput<'i> {
        (self.bos_token, self.eos_token) = (bos, eos);
        self
    }

    /// Shows all texts: roles, what messages, tools and arguments say, and names of fields.
    pub(super) fn texts(&self, show: &mut dyn FnMut(&'i str)) {
        for message in self.messages {
            show(&message.role);
            message.texts(show);
        }
        self.tools.into_iter().flatten().for_each(|tool| tool.texts(show));
        self.arguments.into_iter().flat_map(|a| &a.values).for_each(|(_, value)| value.texts(show));
    }

    /// As templates see it. transformers gives `tools` and `documents` to every template, as None where there are none.
    pub(super) fn value(&self) -> Value {
        let mut context: IndexMap<&str, Value> = IndexMap::new();
        context.insert("bos_token", self.bos_token.into());
        context.insert("eos_token", self.eos_token.into());
        context.insert("documents", ().into());
        for (name, value) in self.arguments.into_iter().flat_map(|arguments| &arguments.values) {
            context.insert(name, value.value());
        }
        context.insert("messages", self.messages.iter().map(Message::value).collect());
        context.insert(
            "tools",
            self.tools.map(|tools| tools.iter().map(JsonValue::value).collect::<Value>()).into(),
        );
        context.insert("add_generation_prompt", self.add_generation_prompt.into());
        Value::from_pairs(context)
    }
}

/// An input with texts of its own.
pub(super) struct OwnedInput {
    pub messages: Vec<Message>,
    pub tools: Option<Vec<JsonValue>>,
    pub arguments: TemplateArguments,
}

impl OwnedInput {
    /// The input with other texts and other names of fields, roles aside.
    pub fn map(
        input: &ChatInput<'_>,
        text: &dyn Fn(&str) -> String,
        name: &dyn Fn(&str) -> String,
    ) -> OwnedInput {
        let other = |value: &JsonValue| value.map(text, name);
        let argument = |(key, value): (&String, &JsonValue)| {
            let value = if key.ends_with(TOKEN) { value.clone() } else { other(value) };
            (key.clone(), value)
        };
        OwnedInput {
            messages: input.messages.iter().map(|message| message.map(text, name)).collect(),
            tools: input.tools.map(|tools| tools.iter().map(other).collect()),
            arguments: TemplateArguments {
                values: input.arguments.into_iter().flat_map(|a| &a.values).map(argument).collect(),
            },
        }
    }

    /// In place of what it was made from.
    pub fn instead<'i>(&'i self, of: &ChatInput<'i>) -> ChatInput<'i> {
        let (messages, tools) = (self.messages.as_slice(), self.tools.as_deref());
        ChatInput { messages, tools, arguments: Some(&self.arguments), ..*of }
    }
}

/// What the caller sets for a template, by name: Qwen3's `enable_thinking`, `documents`, `reasoning_effort`.
///
/// Texts in them are text, as those of messages are, but for names that end with `_token`: these are texts of special
/// tokens, as `bos_token`, and stand in place of the tokenizer's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateArguments {
    values: IndexMap<String, JsonValue>,
}

impl TemplateArguments {
    /// Sets one; a later value of the same name stands in place of an earlier one.
    ///
    /// # Errors
    /// A name that no template can ask for, or that has a place of its own in [`ChatInput`].
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<JsonValue>) -> Result<(), TextError> {
        let name = name.into();
        let begins = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if !begins || name.contains(|c: char| !c.is_alphanumeric() && c != '_') {
            let problem = "is no name: letters, digits and `_`, as `enable_thinking=false`";
            return Err(TextError::TemplateArgument { name, problem });
        }
        if TAKEN.contains(&name.as_str()) {
            return Err(TextError::TemplateArgument { name, problem: "is given by the conversation itself" });
        }
        self.values.insert(name, value.into());
        Ok(())
    }

    /// Sets one from the form `NAME=VALUE`. A value that is JSON is that, `false` no text but a truth value; any other
    /// is text.
    ///
    /// # Errors
    /// Those of [`TemplateArguments::set`], and a text without `=`.
    pub fn parse(&mut self, argument: &str) -> Result<(), TextError> {
        let Some((name, value)) = argument.split_once('=') else {
            let name = argument.to_owned();
            return Err(TextError::TemplateArgument { name, problem: "has no value: NAME=VALUE" });
        };
        let json = serde_json::from_str(value);
        self.set(name, json.unwrap_or_else(|_| JsonValue::from(value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_json_where_they_can_be() {
        let mut arguments = TemplateArguments::default();
        for text in ["a=false", "b=maybe", "c=[1, \"x\"]", "d=\"7\"", "e=7", "f=", "g=a=b", "a=null"] {
            arguments.parse(text).expect("an argument");
        }
        let values: Vec<_> =
            arguments.values.values().map(|v| serde_json::to_string(v).expect("JSON")).collect();
        assert_eq!(values, ["null", "\"maybe\"", "[1,\"x\"]", "\"7\"", "7", "\"\"", "\"a=b\""]);
        for wrong in
            ["a", "=1", "a b=1", "1a=2", "messages=[]", "tools=[]", "add_generation_prompt=true", "a.b=1"]
        {
            assert!(matches!(arguments.parse(wrong), Err(TextError::TemplateArgument { .. })), "{wrong}");
        }
    }
}
