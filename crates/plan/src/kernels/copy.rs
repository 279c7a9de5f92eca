//! Movement of whole words: tiled transpose, fill, iota. Other copies are strided elementwise calls.

use crate::kernel;
use crate::kernel::KernelDecl;

/// Edge of a tile of `transpose`.
pub const TILE: u64 = 32;

/// Elements of a group of `fill`.
pub const FILLED: u64 = 256;

/// Lines of which a thread of `borders` has a column.
pub const LINES: u64 = 4;

/// `mode` of [`Borders`]: which element stands outside of an axis.
pub mod border {
    /// The one as far inside of the border, which is not repeated.
    pub const REFLECT: u32 = 0;
    /// That of the border.
    pub const EDGE: u32 = 1;
    /// The axis as a ring.
    pub const WRAP: u32 = 2;
}

/// `kind` of [`Fill`]: what is counted.
pub mod filled {
    /// 32-bit integers.
    pub const WORDS: u32 = 0;
    /// 64-bit integers.
    pub const WIDE: u32 = 1;
    /// f32.
    pub const FLOATS: u32 = 2;
}

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[
    Dequantize::DECL,
    DequantizeLinear::DECL,
    Transpose::DECL,
    Borders::DECL,
    Fill::DECL,
    StatusBegin::DECL,
];

kernel! {
    /// y[b, c, r] = x[b, r, c] for 32-bit words, through a 32 x 32 tile.
    ///
    /// x lies at `x_offset + b * x_batch + r * x_row + c`, y at `b * y_batch + c * y_row + r`, in words.
    pub struct Transpose = "transpose" in "copy/transpose.comp";
    grid "ceil(cols / 32) * ceil(rows / 32) * batch groups of 256 threads, folded; columns fastest, then rows";
    args { batch: u32, rows: u32, cols: u32, x { offset, batch, row: u32 }, y { batch, row: u32 } }
    operands { x: read, y: write }
    slots 0;
    holes {}
    specs {}
    trip_count |_| 0;
    roles |_| tile(TILE, TILE);
    variants { plain: zero }
}

kernel! {
    /// y[o, i, q, j, c] = x[o, s(i - before[0]), q, s(j - before[1]), c] for 32-bit words; x is [outer, axis[0], mid,
    /// axis[1], inner], of y the axes are `made`. `mode` is of [`border`]: s(v) for v outside of its axis is the
    /// element reflected once, that of the border, or that of a ring. 64-bit elements are two words of `inner`.
    pub struct Borders = "borders" in "copy/borders.comp";
    grid "ceil(ceil(outer * made[0] * mid / 4) * made[1] * inner / 256) groups of 256 threads, folded";
    args { outer: u32, axis[2]: u32, mid: u32, inner: u32, made[2]: u32, before[2]: u32 }
    operands { x: read, y: write }
    slots 0;
    holes {}
    specs { mode = 0: 0 }
    trip_count |_| each(4, 1);
    variants { plain: zero }
}

kernel! {
    /// Fills `n` elements: element i is `start + i * delta`. A constant has delta 0.
    ///
    /// `kind` is of [`filled`]: integers of 32 bits (`start_lo`, `delta_lo`) or of 64, or f32, where `start_lo` and
    /// `delta_lo` are bits and the element is start + f32(i) * delta.
    pub struct Fill = "fill" in "copy/fill.comp";
    grid "ceil(n / 256) groups of 256 threads, folded";
    args { n: u32, start_lo: u32, start_hi: u32, delta_lo: u32, delta_hi: u32 }
    operands { y: write }
    slots 0;
    holes {}
    specs { kind = 0: 0 }
    trip_count |_| 0;
    variants { plain: zero }
}

kernel! {
    /// A replay begins in the status block of `ops` ops, which the host reset before the submission: what an op
    /// reported in an earlier replay is kept, once, with the replay. See [`crate::kernel::status`].
    pub struct StatusBegin = "status_begin" in "status/begin.comp";
    grid "ceil(ops / 256) groups of 256 threads, folded";
    args { ops: u32 }
    operands { block: readwrite }
    slots 0;
    holes {}
    specs {}
    trip_count |_| 0;
    variants { plain: zero }
}

kernel! {
    /// y[i] = the value of element i of x; i < n. n is a multiple of four, as blocks are.
    pub struct Dequantize = "dequantize" in "copy/dequantize.comp";
    grid "ceil(n / 1024) groups of 256 threads, folded";
    args { n: u32 }
    operands { x: read typed blocks, y: write }
    slots 0;
    holes {}
    specs {}
    trip_count |_| 0;
    variants { plain: zero { "BLOCKS": "1" } }
}

kernel! {
    /// y[i] = (q[i] − z[j]) · s[j] for i < n: with i = (o · `code_extent` + p) · `code_inner` + c, j is o ·
    /// `code_outer` + p / `code_block` · `code_axis` + c · `code_along`. There are `scales` of them.
    ///
    /// Kinds are those of [`crate::kernel::codes`]; without zero points z is bound to the codes. `code_round`: 1 the
    /// values are f16, 2 bf16.
    pub struct DequantizeLinear = "dequantize_linear" in "copy/dequantize_linear.comp";
    grid "ceil(n / 1024) groups of 256 threads, folded";
    args {
        n: u32, scales: u32, code_inner: u32, code_extent: u32, code_block: u32, code_outer: u32, code_axis: u32,
        code_along: u32
    }
    operands { q: read, s: read, z: read, y: write }
    slots 0;
    holes {}
    specs { code_kind = 0: 1, scale_kind = 1: 11, zero_kind = 2: 15, code_round = 3: 0 }
    trip_count |_| 0;
    variants { plain: zero }
}
