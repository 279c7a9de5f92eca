//! Methods of Python's values that templates call, as `strip` and `split`, paid for before they make long strings.
//!
//! The engine bounds what its own operators and filters make; the methods of the second crate are outside of that.

use super::python::{self, Str};
use super::strings;
use minijinja::value::{Rest, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State, Value};
use minijinja_contrib::pycompat;
use std::fmt::{self, Write};

/// What a filter is called with after its value, by place and by name.
pub(super) type Arguments = Rest<ValueOrKwargs>;

/// Bytes that one step of fuel pays for, as in the engine.
const BYTES_PER_STEP: usize = 64;
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
        // Each item is compared.
        (None, "count") => written(value, payable(state)),
        (None, _) => 0,
    };
    state.consume_fuel((bytes / BYTES_PER_STEP) as u64)?;
    match (value.kind(), method, args) {
        (ValueKind::Seq | ValueKind::Map, "copy", []) => return Ok(value.clone()),
        (ValueKind::Seq, "index", [sought]) => return index(state, value, sought),
        _ => {}
    }
    let of_text = value.as_str().and_then(|text| strings::call(text, method, args));
    of_text.unwrap_or_else(|| pycompat::unknown_method_callback(state, value, method, args))
}

/// The place of an item in a list.
fn index(state: &State<'_, '_>, list: &Value, sought: &Value) -> Result<Value, Error> {
    state.consume_fuel((written(list, payable(state)) / BYTES_PER_STEP) as u64)?;
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
        pay_text(state, value)?;
    }
    by_engine(state, |engine| engine.perform_test(name, &all))
}

/// Lets the engine's own filters and tests work, which take the fuel for each item that they see. The engine publishes
/// some without that (`dictsort`, `groupby`, `indent`), so they are called in an environment of its own making.
fn by_engine<T>(
    state: &State<'_, '_>,
    work: impl FnOnce(&mut State<'_, '_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut environment = Environment::new();
    environment.set_fuel(state.fuel_levels().map(|(_, left)| left));
    let mut engine = environment.empty_state();
    let result = work(&mut engine);
    state.consume_fuel(engine.fuel_levels().map_or(0, |(taken, _)| taken))?;
    result
}

/// A value and its arguments, as filters and tests take them.
fn all(value: &Value, args: Vec<Value>) -> Vec<Value> {
    std::iter::once(value.clone()).chain(args).collect()
}

/// Takes the fuel for putting the items of a value in order: each is compared as often as their number has digits, byte
/// by byte where they are alike, by each of the attributes; what stands for one that is missing is among the arguments.
/// An iterable need not say how many items it has, so the engine counts them first.
pub(super) fn pay_order(state: &State<'_, '_>, value: &Value, args: &[ValueOrKwargs]) -> Result<(), Error> {
    if value.kind() == ValueKind::Iterable {
        let items = by_engine(state, |engine| engine.apply_filter("list", std::slice::from_ref(value)))?;
        return pay_order(state, &items, args);
    }
    let items = value.len().unwrap_or(0);
    let comparisons = (usize::BITS - items.leading_zeros()) as usize;
    let most = payable(state);
    let arguments = args.iter().map(|arg| written(arg, most)).fold(1, usize::saturating_add);
    let bytes = written(value, most).saturating_add(items.saturating_mul(arguments));
    let bytes = bytes.saturating_mul(comparisons).saturating_mul(attributes(args));
    state.consume_fuel((bytes / BYTES_PER_STEP) as u64)
}

/// How many attributes the argument of that name has: those of a list, and all on the way to each.
fn attributes(args: &[ValueOrKwargs]) -> usize {
    let given = args.iter().filter_map(|arg| arg.get_attr("attribute").ok());
    given.filter_map(|names| Some(names.as_str()?.matches([',', '.']).count())).fold(1, usize::saturating_add)
}

/// Takes the fuel for a value that becomes text; a string is text already.
pub(super) fn pay_text(state: &State<'_, '_>, value: &Value) -> Result<(), Error> {
    if value.as_str().is_some() { Ok(()) } else { pay(state, value) }
}

/// Takes the fuel for a value as text.
pub(super) fn pay(state: &State<'_, '_>, value: &Value) -> Result<(), Error> {
    let (bytes, is_whole) = counted(value, payable(state));
    state.consume_fuel((bytes / BYTES_PER_STEP) as u64)?;
    if is_whole {
        return Ok(());
    }
    let problem = format!("lists and objects nest deeper than {}", python::DEEPEST);
    Err(Error::new(ErrorKind::InvalidOperation, problem))
}

/// Bytes that the fuel that is left pays for.
fn payable(state: &State<'_, '_>) -> usize {
    state.fuel_levels().map_or(usize::MAX, |(_, left)| left as usize * BYTES_PER_STEP)
}

/// The length of a value as text; of a longer one than `most`, something above that.
pub(super) fn written(value: &Value, most: usize) -> usize {
    counted(value, most).0
}

/// The length of a value as text and whether all of it was counted: no further than `most`, no deeper than is written.
fn counted(value: &Value, most: usize) -> (usize, bool) {
    struct Counter(usize, usize);
    impl fmt::Write for Counter {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 = self.0.saturating_add(text.len());
            if self.0 > self.1 { Err(fmt::Error) } else { Ok(()) }
        }
    }
    if let Some(text) = value.as_str() {
        return (text.len(), true);
    }
    let mut counter = Counter(0, most);
    let is_whole = write!(counter, "{}", Str(value)).is_ok();
    (counter.0, is_whole)
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
