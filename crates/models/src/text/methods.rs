//! Methods of Python's values that templates call, as `strip` and `split`, paid for before they make long strings.
//!
//! The engine bounds what its own operators and filters make; the methods of the second crate are outside of that.

use super::fuel::{BYTES_PER_STEP, by_engine, pay, pay_text, payable, written};
use super::python::Str;
use super::strings;
use minijinja::value::{Rest, ValueKind, ValueOrKwargs};
use minijinja::{Error, ErrorKind, State, Value};
use minijinja_contrib::pycompat;

/// What a filter is called with after its value, by place and by name.
pub(super) type Arguments = Rest<ValueOrKwargs>;

/// What a look at an item costs, in bytes, as in the engine.
const ITEM: usize = 32;
/// Bytes of a part that a string is split into: its value and its place in a list that grows.
const PART: usize = 64;

/// Calls a method that the value itself does not have.
pub(super) fn call(
    state: &mut State<'_, '_>,
    value: &Value,
    method: &str,
    args: &[Value],
) -> Result<Value, Error> {
    let bytes = match (value.as_str(), method) {
        (Some(text), "format") => formatted(state, text, args),
        (Some(text), "replace") => replaced(text, args),
        (Some(text), "join") => joined(text, args)?,
        (Some(text), "split" | "rsplit" | "splitlines") => {
            text.len().saturating_add(PART * parts(text, args))
        }
        (Some(text), "startswith" | "endswith") => {
            let sought = args.first().map_or(0, |arg| written(arg, payable(state)));
            text.len().saturating_add(sought)
        }
        // A width.
        (Some(text), "zfill" | "ljust" | "rjust" | "center") => {
            let width = args.first().and_then(|width| usize::try_from(width.clone()).ok()).unwrap_or(0);
            text.len().saturating_add(width.saturating_mul(4))
        }
        (Some(text), _) => text.len(),
        (None, _) => {
            pay_lookup(state, value, method, args)?;
            0
        }
    };
    state.consume_fuel((bytes / BYTES_PER_STEP) as u64)?;
    match (value.kind(), method, args) {
        (ValueKind::Seq | ValueKind::Map, "copy", []) => return Ok(value.clone()),
        (ValueKind::Seq, "index", [sought]) => return index(value, sought),
        _ => {}
    }
    let of_text = value.as_str().and_then(|text| strings::call(text, method, args));
    of_text.unwrap_or_else(|| pycompat::unknown_method_callback(state, value, method, args))
}

/// Takes the fuel for what a method of a list or an object compares: all items, or what is sought.
fn pay_lookup(state: &State<'_, '_>, value: &Value, method: &str, args: &[Value]) -> Result<(), Error> {
    if matches!(method, "count" | "index") {
        pay(state, value)?;
    }
    args.iter().try_for_each(|arg| pay(state, arg))
}

/// The place of an item in a list.
fn index(list: &Value, sought: &Value) -> Result<Value, Error> {
    let at = list.try_iter()?.position(|item| item == *sought);
    at.map(Value::from)
        .ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "index: the list has no such item"))
}

/// The filter `trim`, with Python's idea of space.
pub(super) fn trim(state: &State<'_, '_>, value: &Value, chars: Option<&str>) -> Result<Value, Error> {
    pay_text(state, value)?;
    let text = Str(value).to_string();
    Ok(strings::stripped(&text, chars, (true, true)).into())
}

/// The format string, its widths, and for each of its fields all arguments.
fn formatted(state: &State<'_, '_>, format: &str, args: &[Value]) -> usize {
    let most = payable(state);
    let arguments = args.iter().map(|arg| written(arg, most)).fold(0, usize::saturating_add);
    format.matches(['{', '%']).count().saturating_mul(arguments).saturating_add(widths(format))
}

/// The filter `format`, paid for before.
pub(super) fn format_filter(state: &State<'_, '_>, value: &Value, args: Arguments) -> Result<Value, Error> {
    let args = args.into_values();
    let bytes = formatted(state, value.as_str().unwrap_or_default(), &args);
    state.consume_fuel((bytes / BYTES_PER_STEP) as u64)?;
    by_engine(state, |engine| engine.apply_filter("format", &all(value, args)))
}

/// The filter `string`, paid for before: a list that holds one long string many times is short, its text is not.
pub(super) fn string(state: &State<'_, '_>, value: &Value) -> Result<Value, Error> {
    if value.as_str().is_some() {
        return Ok(value.clone());
    }
    pay(state, value)?;
    Ok(Value::from(Str(value).to_string()))
}

/// Calls a filter of the engine whose value is paid for; its arguments are before it is called.
pub(super) fn paid_filter(
    state: &State<'_, '_>,
    name: &str,
    value: &Value,
    args: Arguments,
) -> Result<Value, Error> {
    let args = args.into_values();
    for arg in &args {
        pay_text(state, arg)?;
    }
    by_engine(state, |engine| engine.apply_filter(name, &all(value, args)))
}

/// As [`paid_filter`], a test.
pub(super) fn paid_test(
    state: &State<'_, '_>,
    name: &str,
    value: &Value,
    Rest(args): Rest<Value>,
) -> Result<bool, Error> {
    let all = all(value, args);
    for value in &all {
        pay(state, value)?;
    }
    by_engine(state, |engine| engine.perform_test(name, &all))
}

/// A value and its arguments, as filters and tests take them.
fn all(value: &Value, args: Vec<Value>) -> Vec<Value> {
    std::iter::once(value.clone()).chain(args).collect()
}

/// How many parts a text has.
fn parts(text: &str, args: &[Value]) -> usize {
    match args.first().and_then(Value::as_str) {
        Some(separator) => text.matches(separator).count() + 1,
        None => text.split_whitespace().count().max(text.lines().count()),
    }
}

/// All numbers in a format string together: widths and precisions are among them.
fn widths(format: &str) -> usize {
    let numbers = format.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let width = |digits: &str| digits.parse().unwrap_or(usize::MAX);
    numbers.map(width).fold(format.len(), usize::saturating_add)
}

fn replaced(text: &str, args: &[Value]) -> usize {
    let [from, to] = [0, 1].map(|i| args.get(i).and_then(Value::as_str).unwrap_or_default());
    text.matches(from).count().saturating_mul(to.len()).saturating_add(text.len())
}

/// Only strings can be joined, as in Python.
fn joined(separator: &str, args: &[Value]) -> Result<usize, Error> {
    let mut bytes = 0usize;
    for item in args.first().into_iter().flat_map(Value::try_iter).flatten() {
        let text = item.as_str().ok_or_else(|| {
            let problem = format!("join takes strings, not {}", item.kind());
            Error::new(ErrorKind::InvalidOperation, problem)
        })?;
        bytes = bytes.saturating_add(text.len()).saturating_add(separator.len()).saturating_add(ITEM);
    }
    Ok(bytes)
}
