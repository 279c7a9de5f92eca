//! Values as Python's `str` and `repr` write them: templates put numbers, lists and objects into prompts as they are.

use minijinja::Value;
use minijinja::value::ValueKind;
use std::fmt::{self, Display, Formatter, Write as _};

/// Lists and objects nest no deeper in text; Python gives up as well, deeper.
pub(super) const DEEPEST: usize = 500;

/// A value as `str` writes it.
pub(super) struct Str<'v>(pub &'v Value);

impl Display for Str<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0.as_str() {
            Some(text) => f.write_str(text),
            None => repr(self.0, DEEPEST, f),
        }
    }
}

/// A value as `repr` writes it, so many levels deep at most.
fn repr(value: &Value, levels: usize, f: &mut Formatter<'_>) -> fmt::Result {
    if let Some(text) = value.as_str() {
        return quoted(text, f);
    }
    match value.kind() {
        ValueKind::Number if !value.is_integer() => match f64::try_from(value.clone()) {
            Ok(number) => f.write_str(&float(number)),
            Err(_) => write!(f, "{value}"),
        },
        ValueKind::Seq => sequence(value, levels.checked_sub(1).ok_or(fmt::Error)?, f),
        ValueKind::Map => mapping(value, levels.checked_sub(1).ok_or(fmt::Error)?, f),
        ValueKind::Undefined if levels < DEEPEST => f.write_str("Undefined"),
        _ => write!(f, "{value}"),
    }
}

fn sequence(value: &Value, levels: usize, f: &mut Formatter<'_>) -> fmt::Result {
    let (open, close) = if value.is_tuple() { ('(', ')') } else { ('[', ']') };
    f.write_char(open)?;
    let mut items = 0;
    for item in value.try_iter().map_err(|_| fmt::Error)? {
        if items > 0 {
            f.write_str(", ")?;
        }
        repr(&item, levels, f)?;
        items += 1;
    }
    // `(1,)` is a tuple, `(1)` a number.
    if value.is_tuple() && items == 1 {
        f.write_char(',')?;
    }
    f.write_char(close)
}

fn mapping(value: &Value, levels: usize, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_char('{')?;
    for (at, name) in value.try_iter().map_err(|_| fmt::Error)?.enumerate() {
        if at > 0 {
            f.write_str(", ")?;
        }
        repr(&name, levels, f)?;
        f.write_str(": ")?;
        repr(&value.get_item(&name).map_err(|_| fmt::Error)?, levels, f)?;
    }
    f.write_char('}')
}

/// A text between quotes: double ones only where it has single ones and none of the others.
fn quoted(text: &str, f: &mut Formatter<'_>) -> fmt::Result {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    f.write_char(quote)?;
    for c in text.chars() {
        match c {
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            '\\' => f.write_str("\\\\")?,
            c if c == quote => write!(f, "\\{c}")?,
            c if is_printable(c) => f.write_char(c)?,
            c => match u32::from(c) {
                code @ 0..=0xFF => write!(f, "\\x{code:02x}")?,
                code @ 0..=0xFFFF => write!(f, "\\u{code:04x}")?,
                code => write!(f, "\\U{code:08x}")?,
            },
        }
    }
    f.write_char(quote)
}

/// What Python writes as it is: what Rust's debug form does, whose rule has the same categories of characters, marks
/// that combine, and, other than in Python, the private plane that marks of messages come from.
fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    let after_a_letter: String = ['a', c].iter().collect();
    c >= '\u{100000}' || after_a_letter.escape_debug().nth(1) == Some(c)
}

/// A float as `repr` writes it: the shortest digits that give it back, an exponent from 1e16 and below 1e-4.
pub(super) fn float(number: f64) -> String {
    if !number.is_finite() {
        return if number.is_nan() { "nan".to_owned() } else { format!("{number}") };
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..16).contains(&exponent) {
        let plain = number.to_string();
        return if plain.contains('.') { plain } else { plain + ".0" };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_and_texts_are_written_as_python_writes_them() {
        for (number, text) in [
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e-7, "1e-07"),
            (0.0001, "0.0001"),
            (1.5e16, "1.5e+16"),
            (9_007_199_254_740_992.0, "9007199254740992.0"),
            (1e300, "1e+300"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(float(number), text);
        }
        let texts = [
            "a'b",
            "a'\"b",
            "\n\t\\\r",
            "\u{1}\u{7f}\u{85}\u{a0}é",
            "e\u{301}\u{200b}\u{2028}\u{e000}",
            "🙂\u{e0001}",
        ];
        let list: Value = texts.into_iter().collect();
        let expected =
            r#"["a'b", 'a\'"b', '\n\t\\\r', '\x01\x7f\x85\xa0é', 'E\u200b\u2028\ue000', '🙂\U000e0001']"#;
        assert_eq!(Str(&list).to_string(), expected.replace('E', "e\u{301}"));
    }
}
