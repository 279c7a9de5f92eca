//! What a `config.json` says of a language model, key by key. Every key that is asked for counts as read; those that
//! nobody asked for are refused by name in the end, since passed over they would change every value without a word.

use crate::config::Activation;
use crate::error::ModelError;
use pumice_ir::FloatRange;
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;

const GET_AGAIN: &str = "get the file again from where the model comes from";
/// Larger numbers are in no model, and products of these stay countable.
const MOST: u64 = 1 << 24;

/// Settings in the words of a `config.json`, with the names that the file itself has for some of them.
pub(crate) struct Configuration {
    pub map: Map<String, Value>,
    /// By path there, the file's own name.
    pub own: Vec<(String, String)>,
    /// Whether a key that nobody asks for is refused whatever its value: it is one of the architecture.
    pub is_strict: bool,
}

/// The keys of a configuration, or of an object inside it.
pub(crate) struct Keys<'k> {
    file: &'k Path,
    /// Names that the file has for some of them.
    own: &'k [(String, String)],
    is_strict: bool,
    /// Names, as the file has them, that are passed over because somebody says so.
    ignored: &'k [String],
    /// Path of the object inside the file: empty, or ending in a dot.
    prefix: String,
    map: &'k Map<String, Value>,
    /// What was asked for, in the file and all objects inside it, as the file calls it.
    read: Rc<RefCell<BTreeSet<String>>>,
}

impl<'k> Keys<'k> {
    /// Of a file; `ignored` are names, as it has them, that are not refused although nobody knows them.
    pub fn new(file: &'k Path, configuration: &'k Configuration, ignored: &'k [String]) -> Keys<'k> {
        let Configuration { map, own, is_strict } = configuration;
        let (prefix, read) = (String::new(), Rc::default());
        Keys { file, own, is_strict: *is_strict, ignored, prefix, map, read }
    }

    /// An error about a key.
    pub fn wrong(&self, key: &str, problem: impl Into<String>, remedy: &str) -> ModelError {
        ModelError::Field {
            file: self.file.to_owned(),
            field: self.shown(key),
            problem: problem.into(),
            remedy: remedy.to_owned(),
        }
    }

    /// What the file calls a key.
    fn shown(&self, key: &str) -> String {
        let path = format!("{}{key}", self.prefix);
        let own = self.own.iter().find(|(name, _)| *name == path);
        own.map_or(path, |(_, own)| own.clone())
    }

    /// The value of a key, which counts as read; null stands for none.
    pub fn get(&self, key: &str) -> Option<&'k Value> {
        let value = self.map.get(key)?;
        self.read.borrow_mut().insert(self.shown(key));
        Some(value).filter(|value| !value.is_null())
    }

    /// The object under a key, whose keys are to be read one by one.
    pub fn object(&self, key: &str) -> Result<Option<Keys<'k>>, ModelError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Object(map)) => {
                let prefix = format!("{}{key}.", self.prefix);
                let read = Rc::clone(&self.read);
                Ok(Some(Keys { prefix, map, read, ..*self }))
            }
            Some(other) => Err(self.wrong(key, format!("is {other}, not an object"), GET_AGAIN)),
        }
    }

    /// A whole number from 1 on that must be there.
    pub fn count(&self, key: &str) -> Result<u64, ModelError> {
        self.count_of(MOST, key)
    }

    /// A whole number from 1 on, if it is there.
    pub fn count_if_any(&self, key: &str) -> Result<Option<u64>, ModelError> {
        self.count_up_to(MOST, key)
    }

    /// A whole number from 1 to one that no model passes, if it is there.
    pub fn count_up_to(&self, most: u64, key: &str) -> Result<Option<u64>, ModelError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.as_u64().filter(|n| (1..=most).contains(n)) {
            Some(n) => Ok(Some(n)),
            None => Err(self.wrong(key, format!("is {value}, not a number from 1 to {most}"), GET_AGAIN)),
        }
    }

    /// As [`Keys::count_up_to`], of a number that must be there.
    pub fn count_of(&self, most: u64, key: &str) -> Result<u64, ModelError> {
        self.count_up_to(most, key)?.ok_or_else(|| self.wrong(key, "is missing", GET_AGAIN))
    }

    /// A whole number from 0 on, if it is there.
    pub fn place_if_any(&self, key: &str) -> Result<Option<u64>, ModelError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.as_u64().filter(|n| *n <= MOST) {
            Some(n) => Ok(Some(n)),
            None => Err(self.wrong(key, format!("is {value}, not a number from 0 to {MOST}"), GET_AGAIN)),
        }
    }

    /// A number in a range, if it is there.
    pub fn number(&self, key: &str, range: FloatRange) -> Result<Option<f64>, ModelError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.as_f64() {
            // Graphs hold it as f32.
            Some(x) if range.holds(x) && range.holds(f64::from(x as f32)) => Ok(Some(x)),
            _ => Err(self.wrong(key, format!("is {value}, and must be {}", range.words), GET_AGAIN)),
        }
    }

    /// Numbers in a range, if they are there.
    pub fn numbers(&self, key: &str, range: FloatRange) -> Result<Option<Vec<f64>>, ModelError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let numbers =
            value.as_array().and_then(|list| list.iter().map(Value::as_f64).collect::<Option<Vec<_>>>());
        match numbers {
            Some(all) if all.iter().all(|&x| range.holds(x) && range.holds(f64::from(x as f32))) => {
                Ok(Some(all))
            }
            _ => Err(self.wrong(key, format!("must be a list of numbers, each {}", range.words), GET_AGAIN)),
        }
    }

    /// true or false; where it is absent, what the family takes then.
    pub fn flag(&self, key: &str, otherwise: bool) -> Result<bool, ModelError> {
        let Some(value) = self.get(key) else { return Ok(otherwise) };
        value.as_bool().ok_or_else(|| self.wrong(key, format!("is {value}, not true or false"), GET_AGAIN))
    }

    /// A text, if it is there.
    pub fn text(&self, key: &str) -> Result<Option<&'k str>, ModelError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        value.as_str().map(Some).ok_or_else(|| self.wrong(key, format!("is {value}, not a text"), GET_AGAIN))
    }

    /// Texts, if they are there.
    pub fn texts(&self, key: &str) -> Result<Option<Vec<&'k str>>, ModelError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let texts = value.as_array().and_then(|list| list.iter().map(Value::as_str).collect());
        texts.map(Some).ok_or_else(|| self.wrong(key, "must be a list of texts", GET_AGAIN))
    }

    /// An activation by its name there; what the family takes where it is absent.
    pub fn activation(&self, key: &str, otherwise: Activation) -> Result<Activation, ModelError> {
        let Some(name) = self.text(key)? else { return Ok(otherwise) };
        Activation::named(name).ok_or_else(|| {
            let remedy = "gelu, gelu_new, quick_gelu, relu, silu, tanh and mish are supported";
            self.wrong(key, format!("is \"{name}\""), remedy)
        })
    }

    /// Refuses a key that has another value than the one that is done here.
    pub fn expect_flag(&self, key: &str, wanted: bool) -> Result<(), ModelError> {
        if self.flag(key, wanted)? == wanted {
            return Ok(());
        }
        Err(self.wrong(key, format!("is {}, which is not supported", !wanted), "use a model without it"))
    }

    /// As [`Keys::expect_flag`], of a text.
    pub fn expect_text(&self, key: &str, wanted: &str) -> Result<(), ModelError> {
        match self.text(key)? {
            Some(text) if text != wanted => Err(self.wrong(
                key,
                format!("is \"{text}\", which is not supported"),
                "use a model without it",
            )),
            _ => Ok(()),
        }
    }

    /// As [`Keys::expect_flag`], of a number that does nothing where it is 1.
    pub fn expect_one(&self, key: &str) -> Result<(), ModelError> {
        match self.number(key, FloatRange::FINITE)? {
            Some(number) if number != 1.0 => {
                Err(self.wrong(key, format!("is {number}, which is not supported"), "use a model without it"))
            }
            _ => Ok(()),
        }
    }

    /// Refuses every key that was not read: those whose value switches something on, or all of an architecture's own.
    /// `harmless` are names with the reason why they say nothing about values. What is left and does nothing comes
    /// back.
    pub fn refuse_others(&self, harmless: &[(&str, &str)]) -> Result<Vec<&'k str>, ModelError> {
        let read = self.read.borrow();
        let is_asked_for = |name: &String| read.contains(name) || self.ignored.contains(name);
        let is_known =
            |key: &str| is_asked_for(&self.shown(key)) || harmless.iter().any(|(name, _)| *name == key);
        let others = self.map.iter().filter(|(key, _)| !is_known(key));
        let (on, off): (Vec<_>, Vec<_>) =
            others.partition(|(_, value)| self.is_strict || says_something(value));
        match on.first() {
            None => Ok(off.into_iter().map(|(key, _)| key.as_str()).collect()),
            Some((key, value)) => {
                let problem = format!("is {value}, which is not known here and may change every value");
                let remedy = format!(
                    "take a model without it, or pass it over with `--ignore-key {}` (`LanguageOptions::ignored_keys`): \
                     values may be wrong then",
                    self.shown(key)
                );
                Err(self.wrong(key, problem, &remedy))
            }
        }
    }

    /// Names and values of what is passed over because somebody says so.
    ///
    /// # Errors
    /// A name that the file does not have, or whose value counts: that cannot be passed over.
    pub fn ignored(&self) -> Result<Vec<(&'k str, &'k Value)>, ModelError> {
        let one = |name: &'k String| {
            let wrong = |why: &str| {
                let problem = format!("`{name}` {why}");
                ModelError::Option { option: "ignore-key", problem }
            };
            if self.read.borrow().contains(name) {
                return Err(wrong("is read: only what is not known here can be passed over"));
            }
            let inside = || {
                let (first, rest) = name.split_once('.')?;
                rest.split('.').try_fold(self.map.get(first)?, |object, part| object.get(part))
            };
            let of_file = self.map.iter().find(|(key, _)| self.shown(key) == *name).map(|(_, value)| value);
            let value = of_file.or_else(inside).ok_or_else(|| wrong("is no key of the model"))?;
            Ok((name.as_str(), value))
        };
        self.ignored.iter().map(one).collect()
    }
}

/// Whether a value may switch something on: it is not null, false, 0, 1 or empty.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Bool(true) => true,
        Value::Number(n) => n.as_f64().is_none_or(|x| x != 0.0 && x != 1.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}
