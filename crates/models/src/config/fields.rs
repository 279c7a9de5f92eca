//! Typed access to one JSON object: every complaint names the file, the field and the remedy.

use crate::error::ModelError;
use serde_json::{Map, Value};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// What to do about a field that is missing or damaged.
const GET_AGAIN: &str = "get the file again from where the model comes from";

/// An object of a configuration file.
#[derive(Clone, Debug)]
pub struct Fields {
    file: PathBuf,
    /// Path of the object inside the file: empty, or ending in a dot.
    prefix: String,
    map: Map<String, Value>,
}

impl Fields {
    /// The object that a file's text is.
    pub fn parse(file: &Path, text: &str) -> Result<Fields, ModelError> {
        let value = parse_json(file, text)?;
        Fields::of(file, "", value)
    }

    /// The object that a value is; `at` is its place in the file, empty for the root.
    pub fn of(file: &Path, at: &str, value: Value) -> Result<Fields, ModelError> {
        match value {
            Value::Object(map) => {
                let prefix = if at.is_empty() { String::new() } else { format!("{at}.") };
                Ok(Fields { file: file.to_owned(), prefix, map })
            }
            other => Err(ModelError::Field {
                file: file.to_owned(),
                field: if at.is_empty() { "the whole file".to_owned() } else { at.to_owned() },
                problem: format!("is {}, not an object", kind(&other)),
                remedy: GET_AGAIN.to_owned(),
            }),
        }
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The value of a field; null counts as absent.
    pub fn get(&self, field: &str) -> Option<&Value> {
        self.map.get(field).filter(|v| !v.is_null())
    }

    /// An error about a field.
    pub fn wrong(&self, field: &str, problem: impl Into<String>, remedy: impl Into<String>) -> ModelError {
        ModelError::Field {
            file: self.file.clone(),
            field: format!("{}{field}", self.prefix),
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }

    fn kind_error(&self, field: &str, expected: &str, value: &Value) -> ModelError {
        self.wrong(field, format!("is {}, not {expected}", kind(value)), GET_AGAIN)
    }

    fn required<T>(&self, field: &str, value: Option<T>) -> Result<T, ModelError> {
        value.ok_or_else(|| self.wrong(field, "is missing", GET_AGAIN))
    }

    /// A whole number within a range, if the field is there.
    pub fn integer(&self, field: &str, range: RangeInclusive<u64>) -> Result<Option<u64>, ModelError> {
        let Some(value) = self.get(field) else { return Ok(None) };
        let Some(n) = value.as_u64() else {
            return Err(self.kind_error(field, "a whole number of 0 or more", value));
        };
        if range.contains(&n) {
            return Ok(Some(n));
        }
        let problem = format!("is {n}, outside {}..={}", range.start(), range.end());
        Err(self.wrong(field, problem, GET_AGAIN))
    }

    /// A whole number within a range that must be there.
    pub fn extent(&self, field: &str, range: RangeInclusive<u64>) -> Result<u64, ModelError> {
        let value = self.integer(field, range)?;
        self.required(field, value)
    }

    /// A number that is finite and not negative, if the field is there.
    pub fn number(&self, field: &str) -> Result<Option<f64>, ModelError> {
        let Some(value) = self.get(field) else { return Ok(None) };
        match value.as_f64() {
            // Graphs hold it as f32.
            Some(x) if (x as f32).is_finite() && x >= 0.0 => Ok(Some(x)),
            Some(x) => Err(self.wrong(field, format!("is {x}"), GET_AGAIN)),
            None => Err(self.kind_error(field, "a number", value)),
        }
    }

    /// A text, if the field is there.
    pub fn text(&self, field: &str) -> Result<Option<&str>, ModelError> {
        let Some(value) = self.get(field) else { return Ok(None) };
        value.as_str().map(Some).ok_or_else(|| self.kind_error(field, "a text", value))
    }

    /// A text that must be there.
    pub fn required_text(&self, field: &str) -> Result<&str, ModelError> {
        let value = self.text(field)?;
        self.required(field, value)
    }

    /// A truth value; false where the field is absent.
    pub fn flag(&self, field: &str) -> Result<bool, ModelError> {
        let Some(value) = self.get(field) else { return Ok(false) };
        value.as_bool().ok_or_else(|| self.kind_error(field, "true or false", value))
    }
}

/// Any JSON value, or an error that names the file. Nesting is bounded by the parser.
pub fn parse_json(file: &Path, text: &str) -> Result<Value, ModelError> {
    serde_json::from_str(text).map_err(|source| {
        ModelError::Import(pumice_import::ImportError::Json { path: file.to_owned(), source })
    })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
