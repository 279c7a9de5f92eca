//! The metadata: values by key, in the order of the file, and getters that say what they expected.

use super::cursor::{Cursor, Fault};
use super::strings::GgufStrings;
use super::value::{GgufArray, GgufValue};
use crate::error::{GgufPlace, GgufProblem, ImportError};
use indexmap::IndexMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The key of the alignment of tensors.
pub(super) const ALIGNMENT: &str = "general.alignment";
/// The alignment where the file gives none.
const DEFAULT_ALIGNMENT: u64 = 32;

/// Values by key.
///
/// Each getter has two forms: `u64(key)` needs the key, `u64_if_any(key)` gives `None` where it is absent. Both fail
/// where the value is of another type.
#[derive(Clone, Debug, PartialEq)]
pub struct GgufMetadata {
    /// The file, for messages.
    path: PathBuf,
    values: IndexMap<String, GgufValue>,
}

/// Declares both forms of each getter: names, result, what is expected in words, how a value is seen as it.
macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident $if_any:ident $t:ty, $expected:literal, $view:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// [`ImportError::MissingKey`], and [`ImportError::WrongValue`] for another type.
        pub fn $name(&self, key: &str) -> Result<$t, ImportError> {
            self.$if_any(key)?.ok_or_else(|| self.missing(key, $expected))
        }

        #[doc = concat!("The same; `None` where the key is absent. See [`", stringify!($name), "`](Self::", stringify!($name), ").")]
        ///
        /// # Errors
        /// [`ImportError::WrongValue`] for another type.
        pub fn $if_any(&self, key: &str) -> Result<Option<$t>, ImportError> {
            let view: fn(&GgufValue) -> Option<$t> = $view;
            self.seen_as(key, $expected, view)
        }
    )*};
}

impl GgufMetadata {
    /// No values; `path` names their file in messages.
    pub(super) fn new(path: &Path) -> GgufMetadata {
        GgufMetadata { path: path.to_owned(), values: IndexMap::new() }
    }

    /// Reads `count` keys and values.
    pub(super) fn read<R: Read>(
        path: &Path,
        cursor: &mut Cursor<R>,
        count: u64,
    ) -> Result<GgufMetadata, Fault> {
        let mut metadata = GgufMetadata::new(path);
        // The caller has compared the count with what the file holds.
        metadata.values.reserve_exact(count as usize);
        for index in 0..count {
            cursor.place = GgufPlace::Key(index);
            let key = cursor.name()?;
            cursor.place = GgufPlace::Value(key.clone());
            let value = GgufValue::read(cursor, &key)?;
            metadata.insert(key, value)?;
        }
        Ok(metadata)
    }

    /// Adds a value; its key must be new.
    pub(super) fn insert(&mut self, key: String, value: GgufValue) -> Result<(), GgufProblem> {
        if self.values.contains_key(&key) {
            return Err(GgufProblem::DuplicateKey(key));
        }
        self.values.insert(key, value);
        Ok(())
    }

    /// The alignment of tensors in bytes: a power of two.
    pub(super) fn alignment(&self) -> Result<u64, GgufProblem> {
        match self.values.get(ALIGNMENT) {
            None => Ok(DEFAULT_ALIGNMENT),
            Some(value) => alignment_of(value),
        }
    }

    /// Keys and values in the order of the file.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &GgufValue)> {
        self.values.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The value of a key, of whatever type.
    pub fn get(&self, key: &str) -> Option<&GgufValue> {
        self.values.get(key)
    }

    getters! {
        /// An integer of any width that is not negative.
        u64 u64_if_any u64, "an integer that is not negative", as_u64;
        /// A float of 32 bits.
        f32 f32_if_any f32, "an f32", |v| match v { GgufValue::F32(x) => Some(*x), _ => None };
        /// A boolean.
        bool bool_if_any bool, "a bool", |v| match v { GgufValue::Bool(b) => Some(*b), _ => None };
        /// A string.
        str str_if_any &str, "a string", |v| match v { GgufValue::String(s) => Some(s), _ => None };
        /// Strings.
        strings strings_if_any &GgufStrings, "an array of string",
            |v| match v { GgufValue::Array(GgufArray::Strings(s)) => Some(s), _ => None };
        /// Integers of 32 bits.
        i32s i32s_if_any &[i32], "an array of i32",
            |v| match v { GgufValue::Array(GgufArray::I32(n)) => Some(n), _ => None };
        /// Floats of 32 bits.
        f32s f32s_if_any &[f32], "an array of f32",
            |v| match v { GgufValue::Array(GgufArray::F32(x)) => Some(x), _ => None };
    }

    fn seen_as<'a, T>(
        &'a self,
        key: &str,
        expected: &'static str,
        view: fn(&'a GgufValue) -> Option<T>,
    ) -> Result<Option<T>, ImportError> {
        let Some(value) = self.values.get(key) else { return Ok(None) };
        match view(value) {
            Some(seen) => Ok(Some(seen)),
            None => Err(ImportError::WrongValue {
                path: self.path.clone(),
                key: key.to_owned(),
                expected,
                found: value.to_string(),
            }),
        }
    }

    fn missing(&self, key: &str, expected: &'static str) -> ImportError {
        ImportError::MissingKey { path: self.path.clone(), key: key.to_owned(), expected }
    }
}

/// The value of [`ALIGNMENT`]: a u32 and a power of two.
pub(super) fn alignment_of(value: &GgufValue) -> Result<u64, GgufProblem> {
    match value {
        GgufValue::U32(n) if n.is_power_of_two() => Ok(u64::from(*n)),
        other => Err(GgufProblem::Alignment(other.to_string())),
    }
}

fn as_u64(value: &GgufValue) -> Option<u64> {
    match *value {
        GgufValue::U8(n) => Some(n.into()),
        GgufValue::U16(n) => Some(n.into()),
        GgufValue::U32(n) => Some(n.into()),
        GgufValue::U64(n) => Some(n),
        GgufValue::I8(n) => n.try_into().ok(),
        GgufValue::I16(n) => n.try_into().ok(),
        GgufValue::I32(n) => n.try_into().ok(),
        GgufValue::I64(n) => n.try_into().ok(),
        _ => None,
    }
}
