//! Attention kernels.

use crate::kernel;
use crate::kernel::KernelDecl;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[Attention::DECL, AttentionLanes::DECL];

/// How a mask is read.
pub mod mask {
    /// There is none.
    pub const NONE: u32 = 0;
    /// A word a key: 0 where it is not allowed.
    pub const BOOL: u32 = 1;
    /// An f32 a key, added to the score; -Inf where it is not allowed.
    pub const FLOAT: u32 = 2;
}

/// Where the number of keys comes from.
pub mod length {
    /// All keys count; the offset is 0.
    pub const NONE: u32 = 0;
    /// The argument `kv_len`; the offset is `kv_len - sq`.
    pub const ARG: u32 = 1;
    /// Word `b * len_b` of the operand `lens`.
    pub const OPERAND: u32 = 2;
}

/// `left` and `right` without a window.
pub const UNBOUNDED: i32 = 1 << 30;

/// Declares a kernel that computes attention: all of them take the same arguments and operands.
macro_rules! attention {
    (
        $(#[doc = $doc:literal])+
        pub struct $Call:ident = $name:literal in $file:literal;
        grid $grid:literal;
        variants { $($variants:tt)* }
    ) => {
        kernel! {
            $(#[doc = $doc])+
            pub struct $Call = $name in $file;
            grid $grid;
            args {
                batches: u32, hq: u32, group: u32, sq: u32, sk: u32, d: u32, dv: u32,
                q_at: u32, q_b: u32, q_h: u32, q_row: u32,
                k_at: u32, k_b: u32, k_h: u32, k_row: u32,
                v_at: u32, v_b: u32, v_h: u32, v_row: u32,
                y_b: u32, y_h: u32, y_row: u32,
                mask_at: u32, mask_b: u32, mask_h: u32, mask_row: u32, mask_col: u32, mask_len: u32,
                scale: f32, softcap: f32, left: i32, right: i32, kv_len: i32, len_b: u32,
            }
            operands { q: read, k: read typed, v: read typed, mask: read, lens: read, y: write }
            slots 0;
            holes { epilogue: vec4 [v] () }
            specs { vec = 0: 0, mask_kind = 1: 0, length = 2: 0, capped = 3: 0 }
            variants { $($variants)* }
        }
    };
}

attention! {
    /// y[b, h, i] = sum over keys j of softmax(s)[j] · v[b, h / group, j], s[j] = scale · ⟨q[b, h, i], k[b, h / group, j]⟩.
    ///
    /// Element d of row i lies at `at + b * _b + h * _h + i * _row + d`; y has no `at`. Query i sees key j where
    /// j < total, i + offset - left <= j <= i + offset + right, and the mask allows it; total and offset follow from
    /// `length` (see there) and sk. With `capped` 1, s = softcap · tanh(s / softcap) before the mask is added. The mask
    /// has `mask_len` keys, those behind are not allowed. A query that sees nothing gives zeros; keys and values that
    /// nobody sees are not read as values. Bits 0 to 3 of `vec`: q, k, v, y have all offsets, strides and widths
    /// divisible by four; bits 4 and 5: d, dv are multiples of the tile's columns. Without a mask or lengths bind q.
    pub struct Attention = "attention" in "attention/tile.comp";
    grid "ceil(sq / BQ) * ceil(dv / DP) * hq * batches groups, folded";
    variants {
        plain: zero { "BQ": "16", "BK": "64", "TX": "16", "TY": "4", "DP": "256", "CH": "32", "CV": "16" }
    }
}

attention! {
    /// As `attention`, without shared memory, for CPUs; keys at most W wide.
    pub struct AttentionLanes = "attention_lanes" in "attention/lanes.comp";
    grid "ceil(sq / (8 * ROWS)) * ceil(dv / W) * hq * batches groups, folded";
    variants {
        w32: zero needs [Int64] { "W": "32", "ROWS": "8", "KEYS": "4", "WORDS64": "1" };
        w64: zero needs [Int64] { "W": "64", "ROWS": "4", "KEYS": "4", "WORDS64": "1" };
        w128: zero needs [Int64] { "W": "128", "ROWS": "2", "KEYS": "4", "WORDS64": "1" }
    }
}

/// Which kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// [`Attention`].
    Tile,
    /// [`AttentionLanes`].
    Lanes,
}

/// A chosen kernel and the tile of the result one workgroup makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The kernel.
    pub form: Form,
    /// Its variant.
    pub variant: &'static str,
    /// Queries of a tile.
    pub rows: u64,
    /// Columns of a tile.
    pub columns: u64,
}

/// The form for keys of width `d` and values of width `dv` on a target.
pub fn choose(target: &pumice_types::Target, d: u64, dv: u64) -> Choice {
    let f = &target.features;
    if f.cpu && f.int64 && d <= 128 {
        let (variant, rows, columns) = match d.max(dv.min(128)) {
            0..=32 => (AttentionLanes::w32, 64, 32),
            33..=64 => (AttentionLanes::w64, 32, 64),
            _ => (AttentionLanes::w128, 16, 128),
        };
        return Choice { form: Form::Lanes, variant, rows, columns };
    }
    Choice { form: Form::Tile, variant: Attention::plain, rows: 16, columns: 256 }
}
