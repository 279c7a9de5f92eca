//! The template filter `tojson` as Python's `json.dumps` writes it: a space after commas and colons, no escapes for
//! HTML. Templates put tools and arguments into prompts with it, and a model has learned those spaces.

use minijinja::value::Kwargs;
use minijinja::{Error, ErrorKind, Value};
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};
use std::io::{Result, Write};

/// More than a template can want, and it bounds what a hostile one gets.
const WIDEST_INDENT: usize = 16;

/// One line.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        CompactFormatter.begin_object_value(writer)?;
        writer.write_all(b" ")
    }
}

/// Writes a value as JSON, on one line or with an indent.
pub(super) fn tojson(value: &Value, options: Kwargs) -> std::result::Result<Value, Error> {
    let indent: Option<usize> = options.get("indent")?;
    if options.get::<Option<bool>>("ensure_ascii")? == Some(true) {
        let problem = "tojson writes characters beyond ASCII as they are; ensure_ascii=true is not supported";
        return Err(Error::new(ErrorKind::InvalidOperation, problem));
    }
    options.assert_all_used()?;
    let mut json = Vec::new();
    let written = match indent {
        None => value.serialize(&mut Serializer::with_formatter(&mut json, Spaced)),
        Some(width) => {
            let indent = [b' '; WIDEST_INDENT];
            let formatter = PrettyFormatter::with_indent(&indent[..width.min(WIDEST_INDENT)]);
            value.serialize(&mut Serializer::with_formatter(&mut json, formatter))
        }
    };
    let wrong = |e: &dyn std::fmt::Display| Error::new(ErrorKind::BadSerialization, e.to_string());
    written.map_err(|e| wrong(&e))?;
    Ok(Value::from(String::from_utf8(json).map_err(|e| wrong(&e))?))
}
