//! Jinja as chat templates expect it: the settings, functions and filters that `apply_chat_template` of the Python
//! library transformers gives them.

use super::date::Date;
use super::error::TextError;
use super::filters;
use super::fuel::{pay, pay_items, pay_order, pay_sought, pay_text};
use super::json::tojson;
use super::marks::longest_tag;
use super::methods::{self, Arguments};
use super::numbers;
use super::operators;
use super::python::Str;
use super::stack::with_stack;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Rest, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, State, Value};

/// The longest source that is read. The longest in use have 17,000 bytes (2026).
const LONGEST: usize = 64 << 10;
/// The most bytes of one tag, string literals aside: an expression of n operations is read in n^2 steps.
const LONGEST_TAG: usize = 4 << 10;
/// Stack for reading a source: chains and signs take up to 2 KB of calls for each of its bytes (debug builds,
/// 2026-11-24), and a `~` is read as two.
const READING: usize = LONGEST * (8 << 10);
/// Stack for rendering, and so much more for each step of fuel: a value that is put into another takes some six steps
/// and 512 bytes of calls when it is written or dropped.
const RENDERING: (usize, usize) = (32 << 20, 256);
const NAME: &str = "chat";
/// Tests that compare values or write them.
const PAID_TESTS: [&str; 19] = [
    "startingwith",
    "endingwith",
    "lower",
    "upper",
    "eq",
    "equalto",
    "==",
    "ne",
    "!=",
    "lt",
    "lessthan",
    "<",
    "le",
    "<=",
    "gt",
    "greaterthan",
    ">",
    "ge",
    ">=",
];

/// What `raise_exception` was called with.
#[derive(thiserror::Error)]
#[error("{0}")]
struct Raised(String);

pumice_types::debug_as_display!(Raised);

/// Steps of one rendering; each also pays for 64 bytes. The longest conversations in use need a tenth.
pub(super) fn fuel(texts: usize, bytes: usize) -> u64 {
    const ANY: u64 = 1 << 19;
    const MOST: u64 = 1 << 22;
    let for_these = (texts as u64).saturating_mul(1 << 9).saturating_add(bytes as u64 / 4);
    ANY.saturating_add(for_these).min(MOST)
}

/// An environment with one template in it.
pub(super) fn environment(source: &str) -> Result<Environment<'static>, TextError> {
    if source.len() > LONGEST {
        return Err(TextError::TemplateLength { bytes: source.len(), limit: LONGEST });
    }
    if let Some(bytes) = longest_tag(source).filter(|&bytes| bytes > LONGEST_TAG) {
        return Err(TextError::TemplateTag { bytes, limit: LONGEST_TAG });
    }
    with_stack(READING, || read(source))?
}

fn read(source: &str) -> Result<Environment<'static>, TextError> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.map_err(|e| syntax_error(&e))?);
    // Nothing is escaped: whatever this is called, the formatter below writes values as they are. But it is not called
    // `None`, because the engine then writes the operands of `~` itself, and takes fuel for them afterwards.
    environment.set_auto_escape_callback(|_| AutoEscape::Custom("plain".into()));
    environment.set_unknown_method_callback(methods::call);
    environment.add_filter("tojson", tojson);
    environment.add_filter("string", methods::string);
    environment.add_filter("trim", methods::trim);
    environment.add_filter("int", numbers::int);
    environment.add_filter("float", numbers::float);
    environment.add_filter("format", methods::format_filter);
    environment.set_formatter(|out, state, value| {
        pay_text(state, value)?;
        write!(out, "{}", Str(value)).map_err(Error::from)
    });
    paid(&mut environment);
    paid_operators(&mut environment);
    filters::add(&mut environment);
    // No conversation needs them, and they write values that the engine does not charge before.
    for name in ["pprint", "urlencode"] {
        environment.remove_filter(name);
    }
    // Jinja2 does not have them, and the engine takes nothing for what they give: a chain of a chain with itself, made
    // again and again, has items without bound.
    for name in ["chain", "zip"] {
        environment.remove_filter(name);
    }
    environment.remove_global("debug");
    environment.add_test("sequence", is_sequence);
    let raise = |state: &State<'_, '_>, message: &Value| -> Result<String, Error> {
        pay_text(state, message)?;
        let error = Error::new(ErrorKind::InvalidOperation, "raise_exception was called");
        Err(error.with_source(Raised(message.to_string())))
    };
    environment.add_function("raise_exception", raise);
    // Whatever ends a line is one sign in Jinja2.
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let source = operators::paid(&plain_generation(&source));
    environment.add_template_owned(NAME, source).map_err(|e| syntax_error(&e))?;
    Ok(environment)
}

/// Puts what writes lists as text or puts them in order, filters and tests, after what takes the fuel for that.
fn paid(environment: &mut Environment<'static>) {
    environment.add_filter("dictsort", |state: &State<'_, '_>, value: &Value, args: Arguments| {
        pay_order(state, value, &args)?;
        methods::paid_filter(state, "dictsort", value, named(args, &["case_sensitive", "by", "reverse"])?)
    });
    for name in ["sort", "unique", "groupby", "min", "max"] {
        environment.add_filter(name, move |state: &State<'_, '_>, value: &Value, args: Arguments| {
            pay_order(state, value, &args)?;
            methods::paid_filter(state, name, value, args)
        });
    }
    for name in ["lower", "upper", "title", "capitalize", "join", "split", "lines", "replace"] {
        environment.add_filter(name, move |state: &State<'_, '_>, value: &Value, args: Arguments| {
            pay_text(state, value)?;
            methods::paid_filter(state, name, value, args)
        });
    }
    environment.add_filter("sum", |state: &State<'_, '_>, value: &Value, args: Arguments| {
        // With a list to begin with, the items are lists that are joined.
        pay(state, value)?;
        methods::paid_filter(state, "sum", value, args)
    });
    environment.add_test("in", |state: &State<'_, '_>, value: &Value, args: Rest<Value>| {
        pay_sought(state, value)?;
        methods::paid_test(state, "in", value, args)
    });
    for name in PAID_TESTS {
        environment.add_test(name, move |state: &State<'_, '_>, value: &Value, args: Rest<Value>| {
            methods::paid_test(state, name, value, args)
        });
    }
}

/// The filters that stand behind operands.
fn paid_operators(environment: &mut Environment<'static>) {
    for (name, pay) in [
        (operators::COMPARED, pay as fn(&State<'_, '_>, &Value) -> Result<(), Error>),
        (operators::SOUGHT, pay_sought),
        (operators::JOINED, pay_items),
    ] {
        environment.add_filter(name, move |state: &State<'_, '_>, value: &Value| {
            pay(state, value)?;
            Ok::<Value, Error>(value.clone())
        });
    }
}

/// Arguments by place as arguments by name: the engine takes some by name alone.
fn named(Rest(args): Arguments, names: &[&'static str]) -> Result<Arguments, Error> {
    let (mut all, mut places) = (Vec::new(), names.iter());
    for arg in args.into_iter().map(Value::from) {
        if let (true, Ok(by_name)) = (arg.is_kwargs(), Kwargs::try_from(arg.clone())) {
            for name in by_name.args() {
                all.push((name.to_owned(), by_name.get::<Value>(name)?));
            }
        } else {
            let name = places.next().ok_or_else(|| Error::from(ErrorKind::TooManyArguments))?;
            all.push(((*name).to_owned(), arg));
        }
    }
    Ok(Rest(vec![Value::from(Kwargs::from_iter(all)).into()]))
}

/// What has a length and can be indexed, as Python sees it: strings, mappings and what is undefined, too.
fn is_sequence(value: &Value) -> bool {
    use ValueKind::{Bytes, Map, Seq, String, Undefined};
    matches!(value.kind(), Seq | Map | String | Bytes | Undefined)
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

/// Renders the template with so much fuel. Its values are made and dropped on the stack that is known.
pub(super) fn render(
    environment: &Environment<'static>,
    fuel: u64,
    context: impl FnOnce() -> Value + Send,
) -> Result<String, TextError> {
    let mut environment = environment.clone();
    environment.set_fuel(Some(fuel));
    let (ground, each) = RENDERING;
    with_stack(ground + each * fuel as usize, || {
        let template = environment.get_template(NAME).map_err(|e| syntax_error(&e))?;
        template.render(context()).map_err(|e| render_error(&e, fuel))
    })?
}

/// transformers marks the assistant's own text with a tag of its own, which changes nothing in the result; a block with
/// names of its own does the same, its whitespace too.
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
            "generation" => "with",
            "endgeneration" => "endwith",
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

fn render_error(error: &Error, fuel: u64) -> TextError {
    let line = error.line();
    if error.kind() == ErrorKind::OutOfFuel {
        return TextError::TemplateEndless { line, fuel };
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

#[cfg(test)]
mod tests {
    use super::*;

    /// `groupby` collected such an iterable without taking fuel.
    #[test]
    fn iterables_of_unknown_length_run_out_of_fuel() {
        for filter in ["sort", "unique", "groupby('a')", "min", "max", "list", "join", "sum", "reverse"] {
            let environment = environment(&format!("{{{{ endless | {filter} }}}}")).expect("a template");
            let endless = || Value::make_iterable(|| (0_u64..).map(Value::from));
            let result = render(&environment, 1 << 12, || minijinja::context! { endless => endless() });
            assert!(matches!(result, Err(TextError::TemplateEndless { .. })), "{filter}: {result:?}");
        }
    }
}
