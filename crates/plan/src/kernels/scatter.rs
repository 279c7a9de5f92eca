//! Scatter: elements replaced, or reduced with, where indices say.
//!
//! Every element of the result finds its updates, so that no two threads write one word and sums have an order. Few
//! updates are all looked at by each element, more by each group of places (`scatter_listed_floats`); very many are
//! sorted by their places first (`scatter_places`, the family `sort`), and an element finds its own by bisection.

use crate::kernel;
use crate::kernel::KernelDecl;
use crate::kernel::trip_count::{after, each, pairs};

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[
    ScatterFloats::DECL,
    ScatterListedFloats::DECL,
    ScatterWords::DECL,
    ScatterPlaces::DECL,
    ScatterPartialFloats::DECL,
    ScatterPartialWords::DECL,
    ScatterSortedFloats::DECL,
    ScatterSortedWords::DECL,
];

/// Rows that a partial reduction makes one.
pub const CHUNK: u64 = 128;

/// Updates that a group of `scatter_listed_floats` looks at together.
pub const WINDOW: u64 = 4096;

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
    operands { data: read first, idx: read, updates: read, y: write, status: status }
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
    /// As `scatter_floats` for rows (`elements` 0). A group makes `rows` places of `columns` columns, powers of two
    /// whose product is at most 256: it lists the updates of its places, [`WINDOW`] at a time, and the threads of an
    /// element share what is listed.
    pub struct ScatterListedFloats = "scatter_listed_floats" in "scatter/listed_floats.comp";
    grid "ceil(n / inner / rows) * ceil(inner / columns) groups of 256 threads, folded; columns fastest";
    args { n: u32, count: u32, inner: u32, parts: u32, dims[8]: u32, op: u32 }
    operands { data: read first, idx: read, updates: read, y: write, status: status }
    slots 0;
    holes { epilogue: float [v] (e) }
    specs { mode = 0: 1, wide = 1: 0, rows = 2: 1, columns = 3: 8 }
    trip_count |c| {
        let (lanes, all) = (quotient(256, c.rows.saturating_mul(c.columns)), quotient(256, c.columns));
        let windows = each(c.count, WINDOW);
        let listing = after(each(16, 1).saturating_mul(6), inside(16, each(c.parts, 1)));
        let heavy = inside(c.rows, after(each(WINDOW, all.saturating_mul(4)), halving(all)));
        let window = after(after(listing, each(WINDOW, lanes.saturating_mul(4))), after(each(c.rows, 1), heavy));
        let chains = inside(windows, each(WINDOW, lanes.saturating_mul(128)));
        after(inside(windows, window), after(chains.saturating_mul(2), after(pairs(chains, 20), halving(lanes))))
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

kernel! {
    /// y[j] = the place of update j < count, 2^31 - 1 where an index of it is outside, which raises
    /// INDEX_OUT_OF_RANGE at the index's position for op `op` if `raises` > 0, elements that there are. Indices as in
    /// `scatter_floats`: tuples of `parts` into extent[0..parts], or with `elements` 1 those along `index_axis` of
    /// taken[0..8], whose places are elements of extent[0..8]. No operand has these extents: they are numbers.
    pub struct ScatterPlaces = "scatter_places" in "scatter/places.comp";
    grid "ceil(count / 256) groups of 256 threads, folded";
    args { raises: u32, count: u32, parts: u32, index_axis: u32, extent[8]: u32, taken[8]: u32, op: u32 }
    operands { idx: read, y: write, status: status }
    slots 0;
    holes {}
    specs { wide = 1: 0, elements = 2: 0 }
    trip_count |c| after(each(c.parts, 1), each(8, 1));
    variants { plain: zero }
}

kernel! {
    /// y[r, c] = the reduction of rows[j, c], 128 r <= j < min(128 r + 128, count), if the places of all of them, each
    /// `span` of places[0..n], are one, else 0. With `given` 1 row j is rows[order[j]], left out where there is none;
    /// else bind `rows` again. `mode` as in `scatter_floats`.
    pub struct ScatterPartialFloats = "scatter_partial_floats" in "scatter/partial_floats.comp";
    grid "ceil(ceil(count / 128) * inner / 256) groups of 256 threads, folded";
    args { n: u32, count: u32, inner: u32, span: u32 }
    operands { places: read, rows: read, order: read, y: write }
    slots 0;
    holes {}
    specs { mode = 0: 1, given = 1: 0 }
    trip_count |_| each(128, 1);
    variants { plain: zero }
}

kernel! {
    /// As `scatter_partial_floats` for integers: `pair`, `signed` and `bits` as in `scatter_words`.
    pub struct ScatterPartialWords = "scatter_partial_words" in "scatter/partial_words.comp";
    grid "ceil(ceil(count / 128) * inner / 256) groups of 256 threads, folded";
    args { n: u32, count: u32, inner: u32, span: u32 }
    operands { places: read, rows: read, order: read, y: write }
    slots 0;
    holes {}
    specs { mode = 0: 1, given = 1: 0, pair = 3: 0, signed = 4: 0, bits = 5: 32 }
    trip_count |_| each(128, 1);
    variants { plain: zero }
}

kernel! {
    /// y[p, c] = epilogue(data[p, c] and updates[order[i], c] of each i < count with places[i] = p, reduced by `mode`),
    /// p < n / inner. places are in order. `partials` 1: `first` has the reductions of 128 neighbouring ones of one
    /// place, 2: `second` those of 128 of `first`; what is not there is `updates` bound again.
    pub struct ScatterSortedFloats = "scatter_sorted_floats" in "scatter/sorted_floats.comp";
    grid "ceil(n / 256) groups of 256 threads, folded";
    args { n: u32, count: u32, inner: u32 }
    operands { data: read first, places: read, order: read, updates: read, first: read, second: read, y: write }
    slots 0;
    holes { epilogue: float [v] (e) }
    specs { mode = 0: 1, partials = 1: 0 }
    trip_count |c| sorted(c.count, c.partials);
    variants { plain: zero }
}

kernel! {
    /// As `scatter_sorted_floats` for words that are moved as they are (`mode` 0: the last update takes the element's
    /// place), and for integers: `pair`, `signed` and `bits` as in `scatter_words`.
    pub struct ScatterSortedWords = "scatter_sorted_words" in "scatter/sorted_words.comp";
    grid "ceil(n / 256) groups of 256 threads, folded";
    args { n: u32, count: u32, inner: u32 }
    operands { data: read, places: read, order: read, updates: read, first: read, second: read, y: write }
    slots 0;
    holes {}
    specs { mode = 0: 1, partials = 1: 0, pair = 3: 0, signed = 4: 0, bits = 5: 32 }
    trip_count |c| sorted(if c.mode == u64::from(mode::SET) { 1 } else { c.count }, c.partials);
    variants { plain: zero }
}

/// Loops of an element that finds its updates among `count`: three bisections; the rows that no partial reduction has
/// taken, the first partial reductions that no second one has, and the second ones, in chains of 128.
const fn sorted(count: u64, partials: u64) -> u64 {
    let (first, second) = (count / CHUNK, count / (CHUNK * CHUNK));
    let few = 2 * CHUNK;
    let rows = match partials {
        0 => chained(count),
        1 => after(chained(few), chained(first)),
        _ => after(after(chained(few), chained(few)), chained(second)),
    };
    after(each(32, 1).saturating_mul(4), after(rows, pairs(1, 20)))
}

/// The loops over so many rows in chains of 128, with what chains are added to.
const fn chained(rows: u64) -> u64 {
    let chains = each(rows, CHUNK);
    after(after(rows, chains.saturating_mul(2)), pairs(chains, 20))
}
