//! The template filter `tojson` as Python's `json.dumps` writes it: a space after commas and colons, no escapes for
//! HTML. Templates put tools and arguments into prompts with it, and a model has learned those spaces.

use minijinja::value::Kwargs;
use minijinja::{Error, ErrorKind, State, Value};
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};
use std::io::{Result, Write};

/// More than a template can want, and it bounds what a hostile one gets.
const WIDEST_INDENT: usize = 16;
/// Bytes of JSON that one step of fuel pays for; writing it costs more than copying.
const BYTES_PER_STEP: usize = 16;

/// Lists and objects nest no deeper in JSON.
const DEEPEST: usize = 128;

/// One line.
#[derive(Default)]
struct Spaced {
    depth: usize,
}

/// Counts one more level.
fn deeper(depth: &mut usize) -> Result<()> {
    *depth += 1;
    if *depth <= DEEPEST {
        return Ok(());
    }
    Err(std::io::Error::other(format!("lists and objects nest deeper than {DEEPEST}")))
}

impl Formatter for Spaced {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        deeper(&mut self.depth)?;
        CompactFormatter.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.depth -= 1;
        CompactFormatter.end_array(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        deeper(&mut self.depth)?;
        CompactFormatter.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.depth -= 1;
        CompactFormatter.end_object(writer)
    }

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

/// Text that ends where the fuel does that is left: a list that holds one long string many times is short, its JSON is
/// not.
struct Bounded {
    text: Vec<u8>,
    most: usize,
    /// Whether something did not fit.
    full: bool,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        if bytes.len() > self.most - self.text.len() {
            self.full = true;
            return Err(std::io::Error::other("no fuel is left for it"));
        }
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// On one line, or with an indent. The formatter with an indent does not count levels, so the value is written on one
/// line first.
fn write(value: &Value, indent: Option<usize>, json: &mut Bounded) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(&mut *json, Spaced::default()))?;
    let Some(width) = indent else { return Ok(()) };
    json.text.clear();
    let indent = [b' '; WIDEST_INDENT];
    let formatter = PrettyFormatter::with_indent(&indent[..width.min(WIDEST_INDENT)]);
    value.serialize(&mut Serializer::with_formatter(json, formatter))
}

/// Writes a value as JSON, on one line or with an indent.
pub(super) fn tojson(
    state: &State<'_, '_>,
    value: &Value,
    options: Kwargs,
) -> std::result::Result<Value, Error> {
    let indent: Option<usize> = options.get("indent")?;
    if options.get::<Option<bool>>("ensure_ascii")? == Some(true) {
        let problem = "tojson writes characters beyond ASCII as they are; ensure_ascii=true is not supported";
        return Err(Error::new(ErrorKind::InvalidOperation, problem));
    }
    options.assert_all_used()?;
    let most =
        state.fuel_levels().map_or(usize::MAX, |(_, left)| (left as usize).saturating_mul(BYTES_PER_STEP));
    let mut json = Bounded { text: Vec::new(), most, full: false };
    let written = write(value, indent, &mut json);
    let wrong = |e: &dyn std::fmt::Display| Error::new(ErrorKind::BadSerialization, e.to_string());
    if json.full {
        return Err(ErrorKind::OutOfFuel.into());
    }
    written.map_err(|e| wrong(&e))?;
    Ok(Value::from(String::from_utf8(json.text).map_err(|e| wrong(&e))?))
}
