//! How the elements of a tensor lie in bytes: plain, one dtype after the other; in blocks that share scales; or as
//! codes whose scales are another tensor.
//!
//! In: a dtype or a scheme, and extents. Out: bytes. [`Encoding::bytes`] is the one place where extents become bytes as
//! files and users see them. [`Encoding::decode`] says what bytes stand for: what kernels are compared with.

mod code;
mod decode;
mod scheme;

pub use code::Code;
pub use scheme::{Field, FieldKind, Scheme, SchemeInfo};

use crate::bytes::Bytes;
use crate::dtype::DType;
use crate::tensor::{TensorError, element_count};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How a tensor's elements lie in bytes, row-major, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Encoding {
    /// One element of a dtype after the other.
    Plain(DType),
    /// Rows of whole blocks. What the elements stand for is f32.
    Blocks(Scheme),
    /// Codes, one after the other, whose scales are another tensor. What a code stands for f32 holds exactly.
    Codes(Code),
}

impl Encoding {
    /// Every encoding.
    pub fn all() -> impl Iterator<Item = Encoding> {
        let blocks = Scheme::ALL.into_iter().map(Encoding::Blocks);
        DType::ALL
            .into_iter()
            .map(Encoding::Plain)
            .chain(blocks)
            .chain(Code::ALL.into_iter().map(Encoding::Codes))
    }

    /// The dtype of the elements; of blocks and codes, that of the values that they stand for: f32.
    pub const fn dtype(self) -> DType {
        match self {
            Encoding::Plain(dtype) => dtype,
            Encoding::Blocks(_) | Encoding::Codes(_) => DType::F32,
        }
    }

    /// The dtype, where elements are neither in blocks nor codes.
    pub const fn plain(self) -> Option<DType> {
        match self {
            Encoding::Plain(dtype) => Some(dtype),
            Encoding::Blocks(_) | Encoding::Codes(_) => None,
        }
    }

    /// The scheme, where elements are in blocks.
    pub const fn scheme(self) -> Option<Scheme> {
        match self {
            Encoding::Plain(_) | Encoding::Codes(_) => None,
            Encoding::Blocks(scheme) => Some(scheme),
        }
    }

    /// The type of the codes, where elements are codes.
    pub const fn codes(self) -> Option<Code> {
        match self {
            Encoding::Codes(code) => Some(code),
            Encoding::Plain(_) | Encoding::Blocks(_) => None,
        }
    }

    /// The op that takes the values of what is not plain.
    pub const fn decoder(self) -> &'static str {
        match self {
            Encoding::Codes(_) => "dequantize_linear",
            Encoding::Plain(_) | Encoding::Blocks(_) => "dequantize",
        }
    }

    /// Neighbouring elements that share bytes, and how many bytes those are: (1, 4) of f32, (32, 18) of Q4_0, (2, 1) of
    /// codes of four bits. Those of blocks lie along the last axis, a row being whole blocks; those of codes go on from
    /// row to row.
    pub const fn block(self) -> (u64, u64) {
        match self {
            Encoding::Plain(dtype) => (1, dtype.natural_bytes()),
            Encoding::Blocks(scheme) => (scheme.elements(), scheme.bytes()),
            Encoding::Codes(code) => (8 / code.bits() as u64, 1),
        }
    }

    /// The name used in `.ir` text and in messages: `f32`, `q4_0`.
    pub const fn name(self) -> &'static str {
        match self {
            Encoding::Plain(dtype) => dtype.name(),
            Encoding::Blocks(scheme) => scheme.info().name,
            Encoding::Codes(code) => code.name(),
        }
    }

    /// Elements that so many bytes hold; of a part of a block, none.
    pub const fn elements(self, bytes: u64) -> u64 {
        let (elements, unit) = self.block();
        bytes / unit * elements
    }

    /// Bytes of a tensor of these extents.
    ///
    /// # Errors
    /// [`TensorError::TooLarge`] where 64 bits do not hold the number, [`TensorError::CutBlock`] where a row is no
    /// whole number of blocks.
    pub fn bytes(self, shape: &[u64]) -> Result<Bytes, TensorError> {
        let (elements, bytes) = self.block();
        if let Encoding::Codes(_) = self {
            return Ok(Bytes(element_count(shape)?.div_ceil(elements) * bytes));
        }
        // Of blocks the last axis says whether rows are whole; a tensor without axes has no row.
        let row = shape.last().copied().unwrap_or(1);
        if !row.is_multiple_of(elements) {
            return Err(TensorError::CutBlock { encoding: self, shape: shape.to_vec() });
        }
        let blocks = element_count(shape)? / elements;
        blocks.checked_mul(bytes).map(Bytes).ok_or_else(|| TensorError::TooLarge { shape: shape.to_vec() })
    }
}

impl From<DType> for Encoding {
    fn from(dtype: DType) -> Encoding {
        Encoding::Plain(dtype)
    }
}

impl From<Scheme> for Encoding {
    fn from(scheme: Scheme) -> Encoding {
        Encoding::Blocks(scheme)
    }
}

impl From<Code> for Encoding {
    fn from(code: Code) -> Encoding {
        Encoding::Codes(code)
    }
}

/// Equal to a dtype where elements are plain and of that dtype.
impl PartialEq<DType> for Encoding {
    fn eq(&self, dtype: &DType) -> bool {
        self.plain() == Some(*dtype)
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The name of an encoding that pumice does not know.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown encoding `{given}`; known are {}", Encoding::all().map(Encoding::name).collect::<Vec<_>>().join(" "))]
pub struct UnknownEncoding {
    /// The name given.
    pub given: String,
}

crate::debug_as_display!(UnknownEncoding);

impl FromStr for Encoding {
    type Err = UnknownEncoding;
    fn from_str(s: &str) -> Result<Self, UnknownEncoding> {
        Encoding::all().find(|e| e.name() == s).ok_or_else(|| UnknownEncoding { given: s.to_owned() })
    }
}

impl From<Encoding> for String {
    fn from(encoding: Encoding) -> String {
        encoding.name().to_owned()
    }
}

impl TryFrom<String> for Encoding {
    type Error = UnknownEncoding;
    fn try_from(name: String) -> Result<Encoding, UnknownEncoding> {
        name.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for e in Encoding::all() {
            assert_eq!(e.name().parse(), Ok(e));
            assert_eq!(
                serde_json::from_str::<Encoding>(&serde_json::to_string(&e).expect("text")).ok(),
                Some(e)
            );
        }
        let unknown = "q9_9".parse::<Encoding>().expect_err("unknown").to_string();
        assert!(unknown.contains("`q9_9`") && unknown.contains("q4_0"), "{unknown}");
    }

    #[test]
    fn rows_are_whole_blocks() {
        let q4 = Encoding::Blocks(Scheme::Q4_0);
        assert_eq!(q4.bytes(&[3, 64]), Ok(Bytes(3 * 36)));
        assert_eq!(q4.bytes(&[0, 64]), Ok(Bytes(0)));
        assert!(matches!(q4.bytes(&[64, 3]), Err(TensorError::CutBlock { .. })));
        assert!(matches!(q4.bytes(&[]), Err(TensorError::CutBlock { .. })));
        assert_eq!(Encoding::Plain(DType::F16).bytes(&[3, 5]), Ok(Bytes(30)));
        assert_eq!(Encoding::Codes(Code::I4).bytes(&[3, 5]), Ok(Bytes(8)));
        assert_eq!(Encoding::Codes(Code::F8E5M2).bytes(&[3, 5]), Ok(Bytes(15)));
        assert!(matches!(q4.bytes(&[u64::MAX, 64]), Err(TensorError::TooLarge { .. })));
    }
}
