//! The filters `int` and `float` as Jinja2 has them: what is no number becomes the default.

use super::strings::is_space;
use minijinja::value::Kwargs;
use minijinja::{Error, ErrorKind, Value};

/// A whole number: floats are cut, texts are read; what is none becomes the default, 0.
pub(super) fn int(
    value: &Value,
    default: Option<Value>,
    base: Option<u32>,
    named: Kwargs,
) -> Result<Value, Error> {
    let default = or(default.or(named.get("default")?), 0);
    let base = base.or(named.get("base")?).unwrap_or(10);
    named.assert_all_used()?;
    if !(2..=36).contains(&base) {
        return Err(Error::new(ErrorKind::InvalidOperation, "int: a base is 2 to 36"));
    }
    if value.is_undefined() {
        return Err(Error::from(ErrorKind::UndefinedError));
    }
    if value.is_integer() {
        return Ok(value.clone());
    }
    let whole = value.as_str().and_then(|text| whole(text, base));
    let cut = || number(value).filter(|number| number.abs() < 1e18).map(|number| number.trunc() as i64);
    Ok(whole.or_else(cut).map_or(default, Value::from))
}

/// A float; what is none becomes the default, 0.0.
pub(super) fn float(value: &Value, default: Option<Value>, named: Kwargs) -> Result<Value, Error> {
    let default = or(default.or(named.get("default")?), 0.0);
    named.assert_all_used()?;
    if value.is_undefined() {
        return Err(Error::from(ErrorKind::UndefinedError));
    }
    Ok(number(value).map_or(default, Value::from))
}

/// What the template gives for a text that is no number, else what Jinja2 does.
fn or(given: Option<Value>, usual: impl Into<Value>) -> Value {
    match given {
        Some(value) => value,
        None => usual.into(),
    }
}

fn number(value: &Value) -> Option<f64> {
    match value.as_str() {
        Some(text) => digits(text)?.parse().ok(),
        None if value.kind() == minijinja::value::ValueKind::Bool => {
            Some(f64::from(u8::from(value.is_true())))
        }
        None => f64::try_from(value.clone()).ok(),
    }
}

fn whole(text: &str, base: u32) -> Option<i64> {
    let digits = digits(text)?;
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits.strip_prefix('+').unwrap_or(&digits)),
    };
    let prefixes = match base {
        16 => ["0x", "0X"],
        8 => ["0o", "0O"],
        2 => ["0b", "0B"],
        _ => ["", ""],
    };
    let bare = prefixes.iter().find_map(|prefix| digits.strip_prefix(prefix)).unwrap_or(digits);
    let is_bare = bare.starts_with(|c: char| c.is_ascii_alphanumeric());
    is_bare.then(|| i64::from_str_radix(&format!("{sign}{bare}"), base).ok())?
}

/// Without the space around it and the underscores between digits.
fn digits(text: &str) -> Option<String> {
    let text = text.trim_matches(is_space);
    let is_wrong = text.starts_with('_') || text.ends_with('_') || text.contains("__");
    (!is_wrong).then(|| text.replace('_', ""))
}
