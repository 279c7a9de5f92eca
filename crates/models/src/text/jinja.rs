//! Jinja as chat templates expect it: the settings, functions and filters that `apply_chat_template` of the Python
//! library transformers gives them.

use super::date::Date;
use super::error::TextError;
use super::json::tojson;
use super::methods;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::ValueKind;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Value};

/// Steps of one rendering; each also pays for 64 bytes. The longest conversations in use need a hundredth.
const FUEL: u64 = 1 << 23;
const NAME: &str = "chat";

/// What `raise_exception` was called with.
#[derive(thiserror::Error)]
#[error("{0}")]
struct Raised(String);

pumice_types::debug_as_display!(Raised);

/// An environment with one template in it.
pub(super) fn environment(source: &str) -> Result<Environment<'static>, TextError> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.map_err(|e| syntax_error(&e))?);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_unknown_method_callback(methods::call);
    environment.set_fuel(Some(FUEL));
    environment.add_filter("tojson", tojson);
    environment.add_test("sequence", is_sequence);
    environment.add_function("raise_exception", |message: String| -> Result<String, Error> {
        let error = Error::new(ErrorKind::InvalidOperation, "raise_exception was called");
        Err(error.with_source(Raised(message)))
    });
    environment.add_template_owned(NAME, plain_generation(source)).map_err(|e| syntax_error(&e))?;
    Ok(environment)
}

/// What has a length and can be indexed, as Python sees it: strings and mappings too.
fn is_sequence(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Map | ValueKind::String | ValueKind::Bytes)
}

/// Gives the template the function `strftime_now`. Without a date there is none: templates that ask whether it is
/// defined take a date of their own then, as the day of their release.
pub(super) fn set_date(environment: &mut Environment<'static>, date: Date) {
    environment.add_function("strftime_now", move |format: &str| {
        date.format(format).map_err(|directive| {
            let problem = format!("strftime_now: `{directive}` does not ask for a date");
            Error::new(ErrorKind::InvalidOperation, problem)
        })
    });
}

/// Renders the template.
pub(super) fn render(
    environment: &Environment<'static>,
    context: minijinja::Value,
) -> Result<String, TextError> {
    let template = environment.get_template(NAME).map_err(|e| syntax_error(&e))?;
    template.render(context).map_err(|e| render_error(&e))
}

/// transformers marks the assistant's own text with a tag of its own, which changes nothing in the result; a condition
/// that holds does the same, its whitespace too.
fn plain_generation(source: &str) -> String {
    let mut plain = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find("{%") {
        let (before, tag) = rest.split_at(at + 2);
        plain.push_str(before);
        let body = tag.trim_start_matches(['-', '+']).trim_start();
        let marks = &tag[..tag.len() - body.len()];
        let word = body.find(|c: char| !c.is_alphanumeric() && c != '_').map_or(body, |end| &body[..end]);
        let instead = match word {
            "generation" => "if true",
            "endgeneration" => "endif",
            other => other,
        };
        plain.extend([marks, instead]);
        rest = &body[word.len()..];
    }
    plain + rest
}

fn syntax_error(error: &Error) -> TextError {
    TextError::TemplateSyntax { line: error.line(), problem: problem(error) }
}

fn render_error(error: &Error) -> TextError {
    let line = error.line();
    if error.kind() == ErrorKind::OutOfFuel {
        return TextError::TemplateEndless { line, fuel: FUEL };
    }
    if let Some(Raised(message)) = raised(error) {
        return TextError::TemplateRefused { line, message: message.clone() };
    }
    if error.kind() == ErrorKind::UnknownFunction
        && error.detail().is_some_and(|d| d.contains("strftime_now"))
    {
        return TextError::TemplateDate { line };
    }
    TextError::TemplateRender { line, problem: problem(error) }
}

fn raised(error: &Error) -> Option<&Raised> {
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        if let Some(raised) = inner.downcast_ref::<Raised>() {
            return Some(raised);
        }
        source = inner.source();
    }
    None
}

fn problem(error: &Error) -> String {
    let detail = error.detail().map(|detail| format!(": {detail}")).unwrap_or_default();
    format!("{}{detail}", error.kind()).chars().take(400).collect()
}
