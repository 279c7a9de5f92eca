//! Methods of Python's values that templates call, as `strip` and `split`, paid for before they make long strings.
//!
//! The engine bounds what its own operators and filters make; the methods of the second crate are outside of that.

use minijinja::{Error, ErrorKind, State, Value};
use minijinja_contrib::pycompat;

/// Bytes that one step of fuel pays for, as in the engine.
const BYTES_PER_STEP: usize = 64;

/// Calls a method that the value itself does not have.
pub(super) fn call(
    state: &mut State<'_, '_>,
    value: &Value,
    method: &str,
    args: &[Value],
) -> Result<Value, Error> {
    if let Some(text) = value.as_str() {
        let bytes = match method {
            "format" => widths(text),
            "replace" => replaced(text, args),
            "join" => joined(text, args)?,
            _ => text.len(),
        };
        state.consume_fuel((bytes / BYTES_PER_STEP) as u64)?;
    }
    pycompat::unknown_method_callback(state, value, method, args)
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
        bytes = bytes.saturating_add(text.len()).saturating_add(separator.len());
    }
    Ok(bytes)
}
