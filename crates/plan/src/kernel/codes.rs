//! How codes, scales and zero points are stored, by numbers that kernels know (`shaders/include/codes.glsl`).

use crate::view::{Storage, View};
use pumice_types::{Code, DType, Encoding};

/// 32-bit words that hold f32.
pub const FLOAT_WORDS: u32 = 11;
/// There is no such operand.
pub const NONE: u32 = 15;

/// What elements are, and its number.
const KINDS: [(Encoding, u32); 13] = [
    (Encoding::Plain(DType::I32), 0),
    (Encoding::Plain(DType::I8), 1),
    (Encoding::Plain(DType::U8), 2),
    (Encoding::Plain(DType::I16), 3),
    (Encoding::Codes(Code::I4), 5),
    (Encoding::Codes(Code::U4), 6),
    (Encoding::Codes(Code::F8E4M3Fn), 7),
    (Encoding::Codes(Code::F8E5M2), 8),
    (Encoding::Codes(Code::F8E8M0), 9),
    (Encoding::Codes(Code::F4E2M1), 10),
    (Encoding::Plain(DType::F32), FLOAT_WORDS),
    (Encoding::Plain(DType::F16), 12),
    (Encoding::Plain(DType::BF16), 13),
];

/// The number of how a view's elements are stored; `None` where kernels that read codes do not read them.
pub fn kind(view: &View) -> Option<u32> {
    let stored = match view.storage {
        Storage::Encoded(encoding) => encoding,
        Storage::Natural => Encoding::Plain(view.dtype),
        Storage::Arena if view.dtype.is_float() => Encoding::Plain(DType::F32),
        Storage::Arena if view.dtype.arena_bytes() == 4 => Encoding::Plain(DType::I32),
        Storage::Arena => return None,
    };
    KINDS.into_iter().find(|(encoding, _)| *encoding == stored).map(|(_, kind)| kind)
}
