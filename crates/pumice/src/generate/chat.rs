//! What chat templates get besides the turns: the same for all conversations of a model.

use pumice_models::{Date, JsonValue, TemplateArguments};

/// Choices for chat templates.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ChatSettings {
    /// The source of a template in place of the model's own.
    pub template: Option<String>,
    /// Tools that the model may call, each a description as
    /// `{"type": "function", "function": {"name": ..., "description": ..., "parameters": ...}}`.
    pub tools: Vec<JsonValue>,
    /// What else the template asks for, such as Qwen 3's `enable_thinking`.
    pub arguments: TemplateArguments,
    /// Today, for templates that say it. Templates that can do without a date do so where there is none; others are
    /// refused.
    pub date: Option<Date>,
}

impl ChatSettings {
    /// The source of a template in place of the model's own.
    #[must_use]
    pub fn template(mut self, source: impl Into<Option<String>>) -> Self {
        self.template = source.into();
        self
    }

    /// Tools that the model may call.
    #[must_use]
    pub fn tools(mut self, tools: Vec<JsonValue>) -> Self {
        self.tools = tools;
        self
    }

    /// Today, for templates that say it.
    #[must_use]
    pub fn date(mut self, date: Date) -> Self {
        self.date = Some(date);
        self
    }

    /// What else the template asks for.
    #[must_use]
    pub fn arguments(mut self, arguments: TemplateArguments) -> Self {
        self.arguments = arguments;
        self
    }
}
