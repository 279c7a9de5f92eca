//! Conversations to the text that a model was trained on, by the model's own template.

use super::date::Date;
use super::error::TextError;
use super::input::ChatInput;
use super::jinja;
use super::marks::{literals, names};
use minijinja::Environment;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A template in Jinja, as `tokenizer.chat_template` holds it.
#[derive(Clone, Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    source: Arc<str>,
    /// Its string literals.
    literals: Arc<[String]>,
    /// Names that stand in its tags, and its string literals.
    names: Arc<BTreeSet<String>>,
}

impl ChatTemplate {
    /// Reads the template, of 64 KiB at most: four times the longest in use.
    ///
    /// # Errors
    /// A source that is no template, with its line; one that is too long.
    pub fn new(source: &str) -> Result<ChatTemplate, TextError> {
        let environment = jinja::environment(source)?;
        let (literals, names) = (literals(source).into(), names(source).into());
        Ok(ChatTemplate { environment, source: source.into(), literals, names })
    }

    pub(super) fn source(&self) -> &str {
        &self.source
    }

    pub(super) fn literals(&self) -> &[String] {
        &self.literals
    }

    /// Whether the template itself names this, as a field or as a text.
    pub(super) fn names(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Tells the template which day it is. Without, a template that can do without a date does, and one that cannot is
    /// refused when rendered.
    #[must_use]
    pub fn on(mut self, date: Date) -> ChatTemplate {
        jinja::set_date(&mut self.environment, date);
        self
    }

    /// Writes a conversation.
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
    pub fn render(&self, input: &ChatInput<'_>) -> Result<String, TextError> {
        let (mut texts, mut bytes) = (input.messages.len(), 0);
        input.texts(&mut |text| {
            texts += 1;
            bytes += text.len();
        });
        jinja::render(&self.environment, jinja::fuel(texts, bytes), || input.value())
    }
}
