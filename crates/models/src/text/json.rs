//! The template filter `tojson` as Python's `json.dumps` writes it: a space after commas and colons, no escapes for
//! HTML. Templates put tools and arguments into prompts with it, and a model has learned those spaces.

use super::python;
use minijinja::value::{Kwargs, Rest, ValueKind};
use minijinja::{Error, ErrorKind, State, Value};
use std::fmt::Display;

/// Bytes of JSON that one step of fuel pays for; writing it costs more than copying.
const BYTES_PER_STEP: usize = 16;

/// Lists and objects nest no deeper in JSON.
const DEEPEST: usize = 128;

/// What `json.dumps` can be asked for.
struct Options {
    ensure_ascii: bool,
    /// What a level is indented by; without, all is on one line.
    indent: Option<String>,
    /// Between items, and between a name and its value.
    separators: (String, String),
    sort_keys: bool,
}

fn wrong(problem: impl Display) -> Error {
    Error::new(ErrorKind::BadSerialization, problem.to_string())
}

impl Options {
    /// By place or by name, as the filter of transformers takes them.
    fn new(state: &State<'_, '_>, places: &[Value], names: &Kwargs) -> Result<Options, Error> {
        let value = |place: usize, name: &str| -> Result<Option<Value>, Error> {
            let named: Option<Value> = names.get(name)?;
            if places.get(place).is_some() && named.is_some() {
                return Err(Error::new(
                    ErrorKind::TooManyArguments,
                    format!("tojson: `{name}` is there twice"),
                ));
            }
            Ok(places.get(place).cloned().or(named).filter(|value| !value.is_none()))
        };
        let is_true = |value: Option<Value>| value.is_some_and(|value| value.is_true());
        let indent = value(1, "indent")?.map(|indent| indent_of(state, &indent)).transpose()?;
        let between = if indent.is_some() { "," } else { ", " };
        let separators = match value(2, "separators")? {
            None => (between.to_owned(), ": ".to_owned()),
            Some(pair) => pair_of(&pair).ok_or_else(|| wrong("tojson: separators are two texts"))?,
        };
        let (ensure_ascii, sort_keys) = (is_true(value(0, "ensure_ascii")?), is_true(value(3, "sort_keys")?));
        names.assert_all_used()?;
        if places.len() > 4 {
            return Err(Error::from(ErrorKind::TooManyArguments));
        }
        Ok(Options { ensure_ascii, indent, separators, sort_keys })
    }
}

fn pair_of(pair: &Value) -> Option<(String, String)> {
    let texts: Option<Vec<String>> =
        pair.try_iter().ok()?.map(|text| text.as_str().map(str::to_owned)).collect();
    <[String; 2]>::try_from(texts?).ok().map(|[items, names]| (items, names))
}

/// A text, or so many spaces, which are paid for.
fn indent_of(state: &State<'_, '_>, indent: &Value) -> Result<String, Error> {
    if let Some(text) = indent.as_str() {
        return Ok(text.to_owned());
    }
    let width =
        i64::try_from(indent.clone()).map_err(|_| wrong("tojson: an indent is a number or a text"))?;
    let width = usize::try_from(width).unwrap_or(0);
    state.consume_fuel((width / BYTES_PER_STEP) as u64)?;
    Ok(" ".repeat(width))
}

/// Text that ends where the fuel does that is left: a list that holds one long string many times is short, its JSON is
/// not.
struct Writer<'o> {
    text: String,
    most: usize,
    options: &'o Options,
}

impl Writer<'_> {
    fn write(&mut self, text: &str) -> Result<(), Error> {
        if text.len() > self.most - self.text.len() {
            return Err(ErrorKind::OutOfFuel.into());
        }
        self.text.push_str(text);
        Ok(())
    }

    fn value(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        if let Some(text) = value.as_str() {
            return self.string(text);
        }
        if depth > DEEPEST {
            return Err(wrong(format!("lists and objects nest deeper than {DEEPEST}")));
        }
        match value.kind() {
            ValueKind::None => self.write("null"),
            ValueKind::Bool => self.write(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => self.write(&number(value)),
            ValueKind::Seq => self.list(value, depth),
            ValueKind::Map => self.object(value, depth),
            other => Err(wrong(format!("tojson: {other} is no JSON"))),
        }
    }

    /// Begins an item of a list or an object, or ends them.
    fn line(&mut self, depth: usize) -> Result<(), Error> {
        let Some(indent) = &self.options.indent else { return Ok(()) };
        self.write("\n")?;
        (0..depth).try_for_each(|_| self.write(indent))
    }

    fn list(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        let mut is_empty = true;
        self.write("[")?;
        for item in value.try_iter()? {
            if !std::mem::take(&mut is_empty) {
                self.write(&self.options.separators.0)?;
            }
            self.line(depth)?;
            self.value(&item, depth + 1)?;
        }
        if !is_empty {
            self.line(depth - 1)?;
        }
        self.write("]")
    }

    fn object(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        let mut names: Vec<Value> = value.try_iter()?.collect();
        let is_empty = names.is_empty();
        if self.options.sort_keys {
            names.sort();
        }
        self.write("{")?;
        for (at, name) in names.iter().enumerate() {
            if at > 0 {
                self.write(&self.options.separators.0)?;
            }
            self.line(depth)?;
            self.string(&name_of(name)?)?;
            self.write(&self.options.separators.1)?;
            self.value(&value.get_item(name)?, depth + 1)?;
        }
        if !is_empty {
            self.line(depth - 1)?;
        }
        self.write("}")
    }

    fn string(&mut self, text: &str) -> Result<(), Error> {
        self.write("\"")?;
        let mut rest = text;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| self.is_escaped(*c)) {
            self.write(&rest[..at])?;
            self.escaped(c)?;
            rest = &rest[at + c.len_utf8()..];
        }
        self.write(rest)?;
        self.write("\"")
    }

    /// The private plane that marks of messages come from stays as it is.
    fn is_escaped(&self, c: char) -> bool {
        let beyond = self.options.ensure_ascii && c > '~' && c < '\u{100000}';
        c < ' ' || c == '"' || c == '\\' || beyond
    }

    fn escaped(&mut self, c: char) -> Result<(), Error> {
        match c {
            '"' => self.write("\\\""),
            '\\' => self.write("\\\\"),
            '\n' => self.write("\\n"),
            '\r' => self.write("\\r"),
            '\t' => self.write("\\t"),
            '\u{8}' => self.write("\\b"),
            '\u{c}' => self.write("\\f"),
            other => other
                .encode_utf16(&mut [0; 2])
                .iter()
                .try_for_each(|unit| self.write(&format!("\\u{unit:04x}"))),
        }
    }
}

fn number(value: &Value) -> String {
    match f64::try_from(value.clone()) {
        Ok(float) if !value.is_integer() => match python::float(float).as_str() {
            "nan" => "NaN".to_owned(),
            "inf" => "Infinity".to_owned(),
            "-inf" => "-Infinity".to_owned(),
            finite => finite.to_owned(),
        },
        _ => value.to_string(),
    }
}

/// Names that are no texts become texts.
fn name_of(name: &Value) -> Result<String, Error> {
    match name.kind() {
        ValueKind::String => Ok(name.as_str().unwrap_or_default().to_owned()),
        ValueKind::Number => Ok(number(name)),
        ValueKind::Bool => Ok(if name.is_true() { "true" } else { "false" }.to_owned()),
        ValueKind::None => Ok("null".to_owned()),
        other => Err(wrong(format!("tojson: {other} is no name"))),
    }
}

/// Writes a value as JSON, on one line or with an indent.
pub(super) fn tojson(
    state: &State<'_, '_>,
    value: &Value,
    places: Rest<Value>,
    names: Kwargs,
) -> Result<Value, Error> {
    let options = Options::new(state, &places, &names)?;
    let left = state.fuel_levels().map_or(usize::MAX, |(_, left)| left as usize);
    let most = left.saturating_mul(BYTES_PER_STEP);
    let mut writer = Writer { text: String::new(), most, options: &options };
    writer.value(value, 1)?;
    state.consume_fuel((writer.text.len() / BYTES_PER_STEP) as u64)?;
    Ok(Value::from(writer.text))
}
