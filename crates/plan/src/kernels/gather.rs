//! Gather along one axis (embedding), and by tuples of indices over several.

use crate::kernel;
use crate::kernel::KernelDecl;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[Gather::DECL, GatherCodes::DECL, GatherWords::DECL, GatherTuples::DECL];

kernel! {
    /// y[o, j, c] = table[o, idx[j], c]; o < outer, j < count, c < inner; idx in -axis..axis.
    ///
    /// An index outside gives a row of zeros (before the hole) and raises INDEX_OUT_OF_RANGE at position j for op
    /// `op`. `wide` 1: idx is 64-bit. Vectors of four along c where `vec` is 1 (inner, and the offsets and strides
    /// of the slots in slot_cols, multiples of four). Slot s of the hole has element `slot_offset[s] + o *
    /// slot_outer[s] + j * slot_row[s] + c * bit s of slot_cols`. Table positions o * axis * inner + ... stay below
    /// 2^31 elements.
    pub struct Gather = "gather" in "gather/gather.comp";
    grid "ceil(outer * count * ceil(inner / 4) / 256) groups of 256 threads, folded";
    args { outer: u32, axis: u32, inner: u32, count: u32, op: u32, slot(offset, outer, row: i32; 2) }
    operands { table: read typed blocks, idx: read, y: write, status: status }
    slots 2;
    holes { epilogue: vec4 [v] (outer, row, col) }
    specs { wide = 0: 0, vec = 1: 1, slot_cols = 2: 3 }
    trip_count |_| 0;
    variants { plain: zero { "BLOCKS": "1" } }
}

kernel! {
    /// As `gather` for a table of codes: its element i is (code i − zero j) · scale j, j as `dequantize_linear` says.
    /// There are `scales` of them.
    pub struct GatherCodes = "gather_codes" in "gather/gather.comp";
    grid "ceil(outer * count * ceil(inner / 4) / 256) groups of 256 threads, folded";
    args {
        outer: u32, axis: u32, inner: u32, count: u32, op: u32, slot(offset, outer, row: i32; 2),
        scales: u32, code_inner: u32, code_extent: u32, code_block: u32, code_outer: u32, code_axis: u32,
        code_along: u32
    }
    operands { table: read, idx: read, s: read, z: read, y: write, status: status }
    slots 2;
    holes { epilogue: vec4 [v] (outer, row, col) }
    specs {
        wide = 0: 0, vec = 1: 1, slot_cols = 2: 3, code_kind = 3: 1, scale_kind = 4: 11, zero_kind = 5: 15,
        code_round = 6: 0
    }
    trip_count |_| 0;
    variants { plain: zero { "CODES": "1" } }
}

kernel! {
    /// As `gather` for elements of 32-bit words that are moved as they are: integers, Bool; 64-bit elements with
    /// `inner` doubled. No hole.
    pub struct GatherWords = "gather_words" in "gather/words.comp";
    grid "ceil(outer * count * inner / 256) groups of 256 threads, folded";
    args { outer: u32, axis: u32, inner: u32, count: u32, op: u32 }
    operands { table: read, idx: read, y: write, status: status }
    slots 0;
    holes {}
    specs { wide = 0: 0 }
    trip_count |_| 0;
    variants { plain: zero }
}

kernel! {
    /// y[o, j, c] = table[o, p, c]; o < outer, j < count, c < inner; p is row-major over dims[0..parts], at the `parts`
    /// indices of the tuple idx[o, j], each in -dims[i]..dims[i]. Elements are moved as they are.
    ///
    /// `elements` 1: every element has an index of its own, idx[o, j, c], and `parts` is 1. A tuple with an index
    /// outside gives zeros and raises INDEX_OUT_OF_RANGE at the position of that index for op `op`. `wide` 1: idx is
    /// 64-bit; `pair` 1: elements are. Table positions stay below 2^31 elements. dims after the first `parts` are 0.
    pub struct GatherTuples = "gather_tuples" in "gather/tuples.comp";
    grid "ceil(outer * count * inner / 256) groups of 256 threads, folded";
    args { outer: u32, count: u32, inner: u32, parts: u32, dims[8]: u32, op: u32 }
    operands { table: read, idx: read, y: write, status: status }
    slots 0;
    holes {}
    specs { wide = 0: 0, elements = 1: 0, pair = 2: 0 }
    trip_count |c| each(c.parts, 1);
    variants { plain: zero }
}
