//! The chat templates that a model brings, by name, and which of them is taken.
//!
//! Names and sources come in; no file is read here. Where they stand:
//! - GGUF: `tokenizer.chat_template` and `tokenizer.chat_template.NAME`;
//! - a folder: `chat_template` in `tokenizer_config.json`, a text or a list of `{"name": ..., "template": ...}`, and
//!   the files `chat_template.jinja` and `additional_chat_templates/NAME.jinja`, which stand in place of the former.

use super::chat::ChatTemplate;
use super::error::TextError;
use super::value::JsonValue;
use indexmap::IndexMap;

/// The template that is taken where nothing else is.
const DEFAULT: &str = "default";
/// The template that is taken where tools are given, if there is one.
const TOOL_USE: &str = "tool_use";

/// Sources of templates by name, in the order they were given.
///
/// ```
/// use pumice_models::ChatTemplates;
///
/// let mut templates = ChatTemplates::default();
/// templates.add("default", "{{ messages[0].content }}");
/// templates.add("tool_use", "{{ tools | tojson }}");
/// assert_eq!(templates.choose(true)?.map(|(name, _)| name), Some("tool_use"));
/// # Ok::<(), pumice_models::TextError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChatTemplates {
    sources: IndexMap<String, String>,
}

impl ChatTemplates {
    /// Adds one; a later source of the same name stands in place of an earlier one.
    pub fn add(&mut self, name: impl Into<String>, source: impl Into<String>) {
        self.sources.insert(name.into(), source.into());
    }

    /// Adds what stands under a key of a GGUF file; whether the key is one of a template.
    pub fn add_key(&mut self, key: &str, source: &str) -> bool {
        let name = key.strip_prefix("tokenizer.chat_template");
        let name = name.and_then(|rest| if rest.is_empty() { Some(DEFAULT) } else { rest.strip_prefix('.') });
        self.add_if(name, source)
    }

    /// The templates under the keys of a GGUF file, in their order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = (String, &str)> {
        let key = |name: &str| match name {
            DEFAULT => "tokenizer.chat_template".to_owned(),
            name => format!("tokenizer.chat_template.{name}"),
        };
        self.sources.iter().map(move |(name, source)| (key(name), source.as_str()))
    }

    /// Adds a file of a folder by its path in it, parts set apart by `/`; whether it is one of a template.
    pub fn add_file(&mut self, path: &str, source: &str) -> bool {
        let additional = || path.strip_prefix("additional_chat_templates/")?.strip_suffix(".jinja");
        let name = if path == "chat_template.jinja" { Some(DEFAULT) } else { additional() };
        self.add_if(name.filter(|name| !name.contains('/')), source)
    }

    fn add_if(&mut self, name: Option<&str>, source: &str) -> bool {
        let Some(name) = name.filter(|name| !name.is_empty()) else { return false };
        self.add(name, source);
        true
    }

    /// Adds the `chat_template` of a `tokenizer_config.json`; null has none.
    ///
    /// # Errors
    /// What is neither a text nor a list of names and templates; a name that is there twice.
    pub fn add_config(&mut self, chat_template: &JsonValue) -> Result<(), TextError> {
        let entries = match chat_template {
            JsonValue::Null => return Ok(()),
            JsonValue::Text(source) => {
                self.add(DEFAULT, source);
                return Ok(());
            }
            JsonValue::List(entries) => entries,
            _ => return Err(TextError::Templates { problem: "is no text and no list".to_owned() }),
        };
        let mut named = IndexMap::new();
        for (at, entry) in entries.iter().enumerate() {
            let text = |key| entry.get(key).and_then(JsonValue::as_text);
            let (Some(name), Some(source)) = (text("name"), text("template")) else {
                let problem = format!("has entry {at} without `name` and `template`, both texts");
                return Err(TextError::Templates { problem });
            };
            if named.insert(name.to_owned(), source.to_owned()).is_some() {
                return Err(TextError::Templates { problem: format!("has `{name}` twice") });
            }
        }
        self.sources.extend(named);
        Ok(())
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// The names, in the order they were given.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.sources.keys().map(String::as_str)
    }

    /// The source of that name.
    #[must_use]
    pub fn source(&self, name: &str) -> Option<&str> {
        self.sources.get(name).map(String::as_str)
    }

    /// The template for a conversation, with its name: `tool_use` where tools are given and there is one, else
    /// `default`; `None` where the model has no template at all.
    ///
    /// # Errors
    /// Templates of which none is `default`: [`TextError::TemplateName`] with their names; those of
    /// [`ChatTemplate::new`].
    pub fn choose(&self, tools: bool) -> Result<Option<(&str, ChatTemplate)>, TextError> {
        if self.is_empty() {
            return Ok(None);
        }
        let with_tools = self.sources.contains_key(TOOL_USE) && tools;
        self.named(if with_tools { TOOL_USE } else { DEFAULT }).map(Some)
    }

    /// The template of that name, as the caller asks for it.
    ///
    /// # Errors
    /// [`TextError::TemplateName`] with the names there are; those of [`ChatTemplate::new`].
    pub fn named(&self, name: &str) -> Result<(&str, ChatTemplate), TextError> {
        let Some((name, source)) = self.sources.get_key_value(name) else {
            let known = self.names().map(str::to_owned).collect();
            return Err(TextError::TemplateName { name: name.to_owned(), known });
        };
        Ok((name, ChatTemplate::new(source)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(templates: &ChatTemplates, tools: bool) -> Result<Option<(String, String)>, TextError> {
        let chosen = templates.choose(tools)?;
        Ok(chosen.map(|(name, template)| (name.to_owned(), template.source().to_owned())))
    }

    fn pair(name: &str, source: &str) -> Result<Option<(String, String)>, TextError> {
        Ok(Some((name.to_owned(), source.to_owned())))
    }

    #[test]
    fn the_template_for_tools_is_taken_where_there_are_tools() {
        let mut templates = ChatTemplates::default();
        assert_eq!(chosen(&templates, true), Ok(None));
        assert!(
            templates.add_key("tokenizer.chat_template", "d")
                && templates.add_key("tokenizer.chat_template.rag", "r")
        );
        assert_eq!(chosen(&templates, true), pair("default", "d"));
        assert!(templates.add_key("tokenizer.chat_template.tool_use", "t"));
        assert_eq!(
            (chosen(&templates, true), chosen(&templates, false)),
            (pair("tool_use", "t"), pair("default", "d"))
        );
        assert_eq!(templates.named("rag").map(|(name, _)| name), Ok("rag"));
        for other in ["tokenizer.chat_templates", "tokenizer.chat_template.", "tokenizer.ggml.model"] {
            assert!(!templates.add_key(other, "x"), "{other}");
        }
    }

    #[test]
    fn files_stand_in_place_of_the_configuration() {
        let mut templates = ChatTemplates::default();
        let list = r#"[{"name": "default", "template": "a"}, {"name": "tool_use", "template": "b"}]"#;
        templates.add_config(&serde_json::from_str(list).expect("JSON")).expect("templates");
        assert!(templates.add_file("chat_template.jinja", "c"));
        assert!(templates.add_file("additional_chat_templates/rag.jinja", "d"));
        assert!(templates.names().eq(["default", "tool_use", "rag"]));
        assert_eq!(
            (chosen(&templates, true), chosen(&templates, false)),
            (pair("tool_use", "b"), pair("default", "c"))
        );
        for other in [
            "chat_template.json",
            "additional_chat_templates/a/b.jinja",
            "additional_chat_templates/.jinja",
            "x.jinja",
        ] {
            assert!(!templates.add_file(other, "x"), "{other}");
        }
        assert_eq!(templates.add_config(&JsonValue::Null), Ok(()));
        assert_eq!(templates.add_config(&JsonValue::from("e")), Ok(()));
        assert_eq!(chosen(&templates, false), pair("default", "e"));
    }

    #[test]
    fn configurations_and_names_that_cannot_be_are_refused() {
        let refused = |text: &str, part: &str| {
            let config = serde_json::from_str(text).expect("JSON");
            let error = ChatTemplates::default().add_config(&config).expect_err(text).to_string();
            assert!(error.contains(part), "{error}");
        };
        refused("7", "is no text and no list");
        refused(r#"[{"name": "a"}]"#, "entry 0");
        refused(r#"[{"name": "a", "template": "x"}, {"name": "a", "template": "y"}]"#, "`a` twice");
        let mut templates = ChatTemplates::default();
        templates.add("rag", "x");
        let error = templates.choose(true).expect_err("no default").to_string();
        assert!(error.contains("`default`") && error.contains("rag"), "{error}");
        templates.add("default", "{% if %}");
        assert!(matches!(templates.choose(false), Err(TextError::TemplateSyntax { .. })));
    }
}
