//! Element types as the format names them: their width, and which of them pumice computes with.

use pumice_types::{Code, DType, Encoding};
use serde::de::{Deserialize, Deserializer, Error};
use std::borrow::Cow;

/// An element type of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileType {
    /// Its name in the header.
    pub name: &'static str,
    /// Bits of an element.
    pub bits: u64,
    /// The same type in pumice, where pumice has it.
    pub encoding: Option<Encoding>,
}

const fn known(name: &'static str, bits: u64, dtype: DType) -> FileType {
    FileType { name, bits, encoding: Some(Encoding::Plain(dtype)) }
}

const fn codes(name: &'static str, bits: u64, code: Code) -> FileType {
    FileType { name, bits, encoding: Some(Encoding::Codes(code)) }
}

const fn foreign(name: &'static str, bits: u64) -> FileType {
    FileType { name, bits, encoding: None }
}

/// Every type that the format has, version 0.8 of its reference implementation.
const TYPES: [FileType; 22] = [
    known("BOOL", 8, DType::Bool),
    known("U8", 8, DType::U8),
    known("I8", 8, DType::I8),
    known("U16", 16, DType::U16),
    known("I16", 16, DType::I16),
    known("U32", 32, DType::U32),
    known("I32", 32, DType::I32),
    known("U64", 64, DType::U64),
    known("I64", 64, DType::I64),
    known("F16", 16, DType::F16),
    known("BF16", 16, DType::BF16),
    known("F32", 32, DType::F32),
    foreign("F64", 64),
    foreign("C64", 64),
    codes("F4", 4, Code::F4E2M1),
    foreign("F6_E2M3", 6),
    foreign("F6_E3M2", 6),
    codes("F8_E4M3", 8, Code::F8E4M3Fn),
    codes("F8_E5M2", 8, Code::F8E5M2),
    codes("F8_E8M0", 8, Code::F8E8M0),
    foreign("F8_E4M3FNUZ", 8),
    foreign("F8_E5M2FNUZ", 8),
];

impl FileType {
    /// The type of that name.
    pub fn find(name: &str) -> Option<FileType> {
        TYPES.into_iter().find(|t| t.name == name)
    }
}

impl<'de> Deserialize<'de> for FileType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FileType, D::Error> {
        let name = Cow::<'de, str>::deserialize(deserializer)?;
        FileType::find(&name).ok_or_else(|| D::Error::custom(format!("no element type `{name}`")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_the_dtypes() {
        for t in TYPES {
            assert_eq!(FileType::find(t.name), Some(t), "each name once");
            let bits = t.encoding.map(Encoding::block).map(|(elements, bytes)| bytes * 8 / elements);
            assert!(bits.is_none_or(|bits| bits == t.bits), "{}", t.name);
        }
        assert_eq!(TYPES.iter().filter(|t| t.encoding.is_some()).count(), 16);
        assert_eq!(FileType::find("f32"), None);
    }
}
