//! Filters that Jinja2 has otherwise than the engine: in their arguments, or in what they do at the end of a text.

use super::fuel::{pay, pay_text};
use super::python::Str;
use super::strings::is_space;
use minijinja::value::{Kwargs, Rest, from_args};
use minijinja::{Environment, Error, ErrorKind, State, Value};

/// Puts them in place of the engine's.
pub(super) fn add(environment: &mut Environment<'static>) {
    for name in ["default", "d"] {
        environment.add_filter(name, default);
    }
    for name in ["e", "escape"] {
        environment.add_filter(name, escape);
    }
    environment.add_filter("indent", indent);
    environment.add_filter("center", center);
    environment.add_filter("wordcount", word_count);
}

/// Another value for what is undefined; with `boolean` for all that is false.
fn default(
    value: &Value,
    other: Option<Value>,
    boolean: Option<bool>,
    named: Kwargs,
) -> Result<Value, Error> {
    let other = other.or(named.get("default_value")?);
    let boolean = boolean.or(named.get("boolean")?).unwrap_or(false);
    named.assert_all_used()?;
    let is_there = if boolean { value.is_true() } else { !value.is_undefined() };
    Ok(match (is_there, other) {
        (true, _) => value.clone(),
        (false, Some(other)) => other,
        (false, None) => Value::from(""),
    })
}

/// Signs of HTML as their names.
fn escape(state: &State<'_, '_>, value: &Value) -> Result<Value, Error> {
    pay_text(state, value)?;
    let text = Str(value).to_string().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    Ok(Value::from_safe_string(text.replace('\'', "&#39;").replace('"', "&#34;")))
}

/// Space before each line, the first and empty ones aside.
fn indent(state: &State<'_, '_>, value: &Value, places: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let (width, first, blank): (Option<Value>, Option<bool>, Option<bool>) = from_args(&places)?;
    let width = width.or(named.get("width")?).unwrap_or_else(|| Value::from(4));
    let first = first.or(named.get("first")?).unwrap_or(false);
    let blank = blank.or(named.get("blank")?).unwrap_or(false);
    named.assert_all_used()?;
    pay_text(state, value)?;
    let text = Str(value).to_string();
    let lines = text.matches('\n').count() + 1;
    let space = match width.as_str() {
        Some(space) => space.to_owned(),
        None => {
            let width = usize::try_from(width).map_err(|_| wrong("indent: the width is no number"))?;
            state.consume_fuel((width / 64) as u64)?;
            " ".repeat(width)
        }
    };
    state.consume_fuel((space.len().saturating_mul(lines) / 64) as u64)?;
    let indented = text.split('\n').enumerate().map(|(at, line)| {
        let is_bare = if at == 0 { !first } else { line.is_empty() && !blank };
        if is_bare { line.to_owned() } else { format!("{space}{line}") }
    });
    Ok(indented.collect::<Vec<_>>().join("\n").into())
}

/// In the middle of so many characters, 80 where nothing is said.
fn center(state: &State<'_, '_>, value: &Value, width: Option<usize>) -> Result<Value, Error> {
    pay(state, value)?;
    let text = Str(value).to_string();
    let missing = width.unwrap_or(80).saturating_sub(text.chars().count());
    state.consume_fuel((missing / 64) as u64)?;
    let before = missing / 2;
    Ok(format!("{}{text}{}", " ".repeat(before), " ".repeat(missing - before)).into())
}

/// Runs of letters, digits and underscores.
fn word_count(state: &State<'_, '_>, value: &Value) -> Result<Value, Error> {
    pay_text(state, value)?;
    let text = Str(value).to_string();
    let words = text.split(|c: char| is_space(c) || (!c.is_alphanumeric() && c != '_'));
    Ok(Value::from(words.filter(|word| !word.is_empty()).count()))
}

fn wrong(problem: &'static str) -> Error {
    Error::new(ErrorKind::InvalidOperation, problem)
}
