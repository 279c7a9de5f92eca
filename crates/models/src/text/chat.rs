//! Conversations to the text that a model was trained on, by the model's own template.

use super::date::Date;
use super::error::TextError;
use super::jinja;
use super::marks::literals;
use minijinja::{Environment, Value, context};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One turn of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks: "system", "user", "assistant", or what else the template knows.
    pub role: String,
    /// What is said.
    pub content: String,
}

impl Message {
    /// A turn of this role.
    pub fn new(role: impl Into<String>, content: impl Into<String>) -> Message {
        Message { role: role.into(), content: content.into() }
    }
}

/// A template in Jinja, as `tokenizer.chat_template` holds it.
#[derive(Clone, Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    source: Arc<str>,
    /// Its string literals.
    literals: Arc<[String]>,
}

impl ChatTemplate {
    /// Reads the template, of 64 KiB at most: four times the longest in use.
    ///
    /// # Errors
    /// A source that is no template, with its line; one that is too long.
    pub fn new(source: &str) -> Result<ChatTemplate, TextError> {
        let environment = jinja::environment(source)?;
        Ok(ChatTemplate { environment, source: source.into(), literals: literals(source).into() })
    }

    pub(super) fn source(&self) -> &str {
        &self.source
    }

    pub(super) fn literals(&self) -> &[String] {
        &self.literals
    }

    /// Tells the template which day it is (month and day count from 1). Without, a template that can do without a date
    /// does, and one that cannot is refused when rendered.
    ///
    /// # Errors
    /// A day that no calendar has.
    pub fn on(mut self, year: u16, month: u8, day: u8) -> Result<ChatTemplate, TextError> {
        jinja::set_date(&mut self.environment, Date::new(year, month, day)?);
        Ok(self)
    }

    /// Writes a conversation. With `add_generation_prompt` the text ends where the assistant's answer begins. `bos`
    /// and `eos` are the texts of the tokens that begin and end a text, empty where the model has none.
    ///
    /// This is the text to look at. For the model use
    /// [`TextTokenizer::encode_chat`](super::TextTokenizer::encode_chat), which keeps apart what the template writes
    /// and what messages say: encoded with `parse_special`, the text of a control token in a message becomes that
    /// token.
    ///
    /// A template has steps for 512 KiB of text and half a million operations, and more for long conversations; each
    /// step pays for 64 bytes.
    ///
    /// # Errors
    /// What the template refuses, and where it fails or does not end, with the line.
    pub fn render(
        &self,
        messages: &[Message],
        add_generation_prompt: bool,
        bos: &str,
        eos: &str,
    ) -> Result<String, TextError> {
        let said: usize = messages.iter().map(|message| message.content.len()).sum();
        let fuel = jinja::fuel(messages.len(), said);
        let turn = |message: &Message| {
            Value::from_pairs([("role", message.role.as_str()), ("content", message.content.as_str())])
        };
        let context = || {
            context! {
                messages => messages.iter().map(turn).collect::<Vec<_>>(),
                add_generation_prompt,
                bos_token => bos,
                eos_token => eos,
                // transformers gives these two to every template, as None where there are none.
                tools => (),
                documents => (),
            }
        };
        jinja::render(&self.environment, fuel, context)
    }
}
