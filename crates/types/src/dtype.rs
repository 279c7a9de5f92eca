//! Element types, their widths in the two storages, and their names.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The type of a tensor's elements (OPS 1.2).
///
/// A dtype has two storages. *Natural* is the width users and files see (params, states, inputs, outputs);
/// *arena* is the width of an intermediate value on the device: floats are 32-bit words, bool and integers of
/// 8 and 16 bits are one 32-bit word each, 64-bit integers are two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DType {
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary16.
    F16,
    /// The upper half of a binary32.
    BF16,
    /// 8-bit two's complement.
    I8,
    /// 8-bit unsigned.
    U8,
    /// 16-bit two's complement.
    I16,
    /// 16-bit unsigned.
    U16,
    /// 32-bit two's complement.
    I32,
    /// 32-bit unsigned.
    U32,
    /// 64-bit two's complement.
    I64,
    /// 64-bit unsigned.
    U64,
    /// 0 or 1; one byte at the boundary, any non-zero byte is read as true.
    Bool,
}

impl DType {
    /// Every dtype, in declaration order.
    pub const ALL: [DType; 12] = [
        DType::F32,
        DType::F16,
        DType::BF16,
        DType::I8,
        DType::U8,
        DType::I16,
        DType::U16,
        DType::I32,
        DType::U32,
        DType::I64,
        DType::U64,
        DType::Bool,
    ];

    /// Bytes of one element at the boundary, in params and in states.
    pub const fn natural_bytes(self) -> u64 {
        match self {
            DType::I8 | DType::U8 | DType::Bool => 1,
            DType::F16 | DType::BF16 | DType::I16 | DType::U16 => 2,
            DType::F32 | DType::I32 | DType::U32 => 4,
            DType::I64 | DType::U64 => 8,
        }
    }

    /// Bytes of one element in the arena: 8 for 64-bit integers, 4 for everything else.
    pub const fn arena_bytes(self) -> u64 {
        match self {
            DType::I64 | DType::U64 => 8,
            _ => 4,
        }
    }

    /// Whether natural and arena storage are the same bytes.
    pub const fn same_in_arena(self) -> bool {
        matches!(self, DType::F32 | DType::I32 | DType::U32 | DType::I64 | DType::U64)
    }

    /// F32, F16 or BF16.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::F16 | DType::BF16)
    }

    /// Any integer type; Bool is not one.
    pub const fn is_int(self) -> bool {
        !self.is_float() && !matches!(self, DType::Bool)
    }

    /// Signed integers and floats.
    pub const fn is_signed(self) -> bool {
        self.is_float() || matches!(self, DType::I8 | DType::I16 | DType::I32 | DType::I64)
    }

    /// Bits of an integer type's value; 32, 16 for floats; 1 for Bool.
    pub const fn bits(self) -> u32 {
        match self {
            DType::Bool => 1,
            _ => self.natural_bytes() as u32 * 8,
        }
    }

    /// The name used in `.ir` text and in messages.
    pub const fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::I8 => "i8",
            DType::U8 => "u8",
            DType::I16 => "i16",
            DType::U16 => "u16",
            DType::I32 => "i32",
            DType::U32 => "u32",
            DType::I64 => "i64",
            DType::U64 => "u64",
            DType::Bool => "bool",
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A dtype name that pumice does not know.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown dtype `{0}`; known are f32 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64 bool")]
pub struct UnknownDType(pub String);

crate::debug_as_display!(UnknownDType);

impl FromStr for DType {
    type Err = UnknownDType;
    fn from_str(s: &str) -> Result<Self, UnknownDType> {
        DType::ALL.into_iter().find(|d| d.name() == s).ok_or_else(|| UnknownDType(s.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for d in DType::ALL {
            assert_eq!(d.name().parse::<DType>(), Ok(d));
        }
        assert!("f64".parse::<DType>().is_err());
    }
}
