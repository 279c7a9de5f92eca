//! A value of the metadata: its types, read from and written to bytes. What a key means is not known here.

use super::cursor::{Cursor, Fault};
use super::strings::GgufStrings;
use crate::error::GgufProblem;
use std::fmt;
use std::io::Read;

/// The number of the type of booleans.
const BOOL: u32 = 7;
/// The number of the type of strings.
const STRING: u32 = 8;
/// The number of the type of arrays.
const ARRAY: u32 = 9;

/// Declares the numeric types: variant, type, number in the file.
macro_rules! numbers {
    ($($Name:ident $t:ident = $number:literal;)*) => {
        /// A value of the metadata.
        #[derive(Clone, Debug, PartialEq)]
        pub enum GgufValue {
            $(#[doc = concat!("One ", stringify!($t), ".")] $Name($t),)*
            /// A boolean.
            Bool(bool),
            /// A string.
            String(String),
            /// Values of one type.
            Array(GgufArray),
        }

        /// Values of one type, packed.
        #[derive(Clone, Debug, PartialEq)]
        pub enum GgufArray {
            $(#[doc = concat!("Some ", stringify!($t), ".")] $Name(Vec<$t>),)*
            /// Booleans.
            Bool(Vec<bool>),
            /// Strings.
            Strings(GgufStrings),
        }

        $(impl From<$t> for GgufValue {
            fn from(value: $t) -> GgufValue {
                GgufValue::$Name(value)
            }
        }

        impl From<Vec<$t>> for GgufValue {
            fn from(values: Vec<$t>) -> GgufValue {
                GgufValue::Array(GgufArray::$Name(values))
            }
        })*

        impl GgufValue {
            /// Reads the type and the value.
            pub(super) fn read<R: Read>(cursor: &mut Cursor<R>, key: &str) -> Result<GgufValue, Fault> {
                Ok(match cursor.u32()? {
                    $($number => GgufValue::$Name($t::from_le_bytes(cursor.take()?)),)*
                    BOOL => GgufValue::Bool(read_bool(cursor, key)?),
                    STRING => GgufValue::String(cursor.string()?),
                    ARRAY => GgufValue::Array(GgufArray::read(cursor, key)?),
                    number => return Err(GgufProblem::ValueType { key: key.to_owned(), number }.into()),
                })
            }

            /// A number of any type; none of what is no number.
            pub fn number(&self) -> Option<f64> {
                Some(match self {
                    $(GgufValue::$Name(n) => *n as f64,)*
                    GgufValue::Bool(_) | GgufValue::String(_) | GgufValue::Array(_) => return None,
                })
            }

            /// Appends the type and the value.
            pub(super) fn write(&self, out: &mut Vec<u8>) {
                match self {
                    $(GgufValue::$Name(value) => {
                        out.extend_from_slice(&u32::to_le_bytes($number));
                        out.extend_from_slice(&value.to_le_bytes());
                    })*
                    GgufValue::Bool(value) => {
                        out.extend_from_slice(&BOOL.to_le_bytes());
                        out.push(u8::from(*value));
                    }
                    GgufValue::String(value) => {
                        out.extend_from_slice(&STRING.to_le_bytes());
                        write_string(out, value);
                    }
                    GgufValue::Array(values) => {
                        out.extend_from_slice(&ARRAY.to_le_bytes());
                        values.write(out);
                    }
                }
            }
        }

        impl GgufArray {
            /// The number of values.
            pub fn len(&self) -> usize {
                match self {
                    $(GgufArray::$Name(values) => values.len(),)*
                    GgufArray::Bool(values) => values.len(),
                    GgufArray::Strings(values) => values.len(),
                }
            }

            /// The type of the values, as messages name it.
            fn of(&self) -> &'static str {
                match self {
                    $(GgufArray::$Name(_) => stringify!($t),)*
                    GgufArray::Bool(_) => "bool",
                    GgufArray::Strings(_) => "string",
                }
            }

            /// Reads the type of the elements, their number, and them.
            fn read<R: Read>(cursor: &mut Cursor<R>, key: &str) -> Result<GgufArray, Fault> {
                let (number, count) = (cursor.u32()?, cursor.u64()?);
                Ok(match number {
                    $($number => GgufArray::$Name(read_all(cursor, count, $t::from_le_bytes)?),)*
                    BOOL => GgufArray::Bool(read_bools(cursor, key, count)?),
                    STRING => GgufArray::Strings(GgufStrings::read(cursor, count)?),
                    ARRAY => return Err(GgufProblem::NestedArray(key.to_owned()).into()),
                    _ => return Err(GgufProblem::ValueType { key: key.to_owned(), number }.into()),
                })
            }

            /// Appends the type of the elements, their number, and them.
            fn write(&self, out: &mut Vec<u8>) {
                let mut begin = |number: u32| {
                    out.extend_from_slice(&number.to_le_bytes());
                    out.extend_from_slice(&(self.len() as u64).to_le_bytes());
                };
                match self {
                    $(GgufArray::$Name(values) => {
                        begin($number);
                        values.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
                    })*
                    GgufArray::Bool(values) => {
                        begin(BOOL);
                        out.extend(values.iter().map(|v| u8::from(*v)));
                    }
                    GgufArray::Strings(values) => {
                        begin(STRING);
                        values.iter().for_each(|v| write_string(out, v));
                    }
                }
            }
        }

        impl fmt::Display for GgufValue {
            /// Short: the type and the value; of an array how many, of a long string the beginning.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(GgufValue::$Name(value) => write!(f, "{} {value}", stringify!($t)),)*
                    GgufValue::Bool(value) => write!(f, "bool {value}"),
                    GgufValue::String(value) => write_short(f, value),
                    GgufValue::Array(values) => write!(f, "array of {} {}", values.len(), values.of()),
                }
            }
        }
    };
}

// The value types of ggml/docs/gguf.md.
numbers! {
    U8 u8 = 0;
    I8 i8 = 1;
    U16 u16 = 2;
    I16 i16 = 3;
    U32 u32 = 4;
    I32 i32 = 5;
    F32 f32 = 6;
    U64 u64 = 10;
    I64 i64 = 11;
    F64 f64 = 12;
}

impl GgufArray {
    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl From<bool> for GgufValue {
    fn from(value: bool) -> GgufValue {
        GgufValue::Bool(value)
    }
}

impl From<Vec<bool>> for GgufValue {
    fn from(values: Vec<bool>) -> GgufValue {
        GgufValue::Array(GgufArray::Bool(values))
    }
}

impl From<&str> for GgufValue {
    fn from(value: &str) -> GgufValue {
        GgufValue::String(value.to_owned())
    }
}

impl From<GgufStrings> for GgufValue {
    fn from(values: GgufStrings) -> GgufValue {
        GgufValue::Array(GgufArray::Strings(values))
    }
}

fn read_bool<R: Read>(cursor: &mut Cursor<R>, key: &str) -> Result<bool, Fault> {
    match cursor.take()? {
        [0] => Ok(false),
        [1] => Ok(true),
        [byte] => Err(GgufProblem::Bool { key: key.to_owned(), byte }.into()),
    }
}

fn read_bools<R: Read>(cursor: &mut Cursor<R>, key: &str, count: u64) -> Result<Vec<bool>, Fault> {
    let mut values = Vec::with_capacity(cursor.claim(count, 1)?);
    for _ in 0..count {
        values.push(read_bool(cursor, key)?);
    }
    Ok(values)
}

/// `count` elements of `N` bytes.
fn read_all<const N: usize, T, R: Read>(
    cursor: &mut Cursor<R>,
    count: u64,
    element: impl Fn([u8; N]) -> T,
) -> Result<Vec<T>, Fault> {
    let mut values = Vec::with_capacity(cursor.claim(count, N as u64)?);
    for _ in 0..count {
        values.push(element(cursor.take()?));
    }
    Ok(values)
}

/// Appends a string as the format has it: the number of bytes in 64 bits, then them.
pub(super) fn write_string(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(&(text.len() as u64).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

/// The beginning of a string, quoted.
fn write_short(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    const SHOWN: usize = 60;
    match text.char_indices().nth(SHOWN) {
        None => write!(f, "string {text:?}"),
        Some((end, _)) => write!(f, "string {:?}... of {} bytes", &text[..end], text.len()),
    }
}
