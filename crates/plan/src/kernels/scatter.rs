//! Scatter: elements replaced, or reduced with, where indices say.
//!
//! Every element of the result looks at the updates that may go to it, so that no two threads write one word and sums
//! have an order: its cost is elements times updates that may meet one.

use crate::kernel;
use crate::kernel::KernelDecl;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[ScatterFloats::DECL, ScatterWords::DECL];

/// `mode` of the kernels: what becomes of an element and its updates.
pub mod mode {
    /// The last update.
    pub const SET: u32 = 0;
    /// The sum.
    pub const ADD: u32 = 1;
    /// The product.
    pub const MUL: u32 = 2;
    /// The maximum, NaN wins.
    pub const MAX: u32 = 3;
    /// The minimum, NaN wins.
    pub const MIN: u32 = 4;
}

kernel! {
    /// y[e] = epilogue(data[e] and its updates, reduced by `mode`: 1 sum, 2 product, 3 maximum, 4 minimum), e < n.
    ///
    /// `elements` 0: data are [dims[0..parts], inner]; update j of `count` is a row of `inner` at the place that the
    /// `parts` indices of tuple j mean, row-major over dims; dims after the first `parts` and taken are 0, and so is
    /// `along`. `elements` 1: data are dims[0..8], unused leading ones 1; indices and updates are taken[0..8], not more
    /// than dims but along axis `along`, where `count` = taken[along] indices of a line say the place; parts and inner
    /// are 1. An index outside -extent..extent is dropped and raises INDEX_OUT_OF_RANGE at its position for op `op`;
    /// there are `indices`. `wide` 1: idx is 64-bit.
    pub struct ScatterFloats = "scatter_floats" in "scatter/floats.comp";
    grid "ceil(max(n, indices) / 256) groups of 256 threads, folded";
    args { n: u32, indices: u32, count: u32, inner: u32, parts: u32, along: u32, dims[8]: u32, taken[8]: u32, op: u32 }
    operands { data: read, idx: read, updates: read, y: write, status: status }
    slots 0;
    holes { epilogue: float [v] (e) }
    specs { mode = 0: 1, wide = 1: 0, elements = 2: 0 }
    trip_count |c| {
        let chains = each(c.count, 128);
        let hits = inside(after(c.count, chains), each(c.parts, 1));
        after(after(hits, chains.saturating_mul(2)), after(pairs(chains, 20), each(8, 1)))
    };
    variants { plain: zero }
}

kernel! {
    /// As `scatter_floats` for words that are moved as they are (`mode` 0: the last update takes the element's place),
    /// and for integers, which wrap at `bits`: 32-bit words, of which `signed` 1 says that they have a sign, or with
    /// `pair` 1 64-bit ones.
    pub struct ScatterWords = "scatter_words" in "scatter/words.comp";
    grid "ceil(max(n, indices) / 256) groups of 256 threads, folded";
    args { n: u32, indices: u32, count: u32, inner: u32, parts: u32, along: u32, dims[8]: u32, taken[8]: u32, op: u32 }
    operands { data: read, idx: read, updates: read, y: write, status: status }
    slots 0;
    holes {}
    specs { mode = 0: 0, wide = 1: 0, elements = 2: 0, pair = 3: 0, signed = 4: 0, bits = 5: 32 }
    trip_count |c| after(inside(each(c.count, 1), each(c.parts, 1)), each(8, 1));
    variants { plain: zero }
}
