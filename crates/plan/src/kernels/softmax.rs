//! Softmax and log-softmax.

use crate::kernel;
use crate::kernel::KernelDecl;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[SoftmaxRows::DECL, SoftmaxColumns::DECL];

kernel! {
    /// y[r, c] = epilogue(e^(v - m) / sum e^(v - m)), v = load(x[r, c]), m the row's maximum; `log` 1: epilogue(v -
    /// m - ln sum).
    ///
    /// x lies at `r * x_row + c`, y at `r * n + c`. `vec` 1: n and x_row are multiples of four, and so are the
    /// offsets and row strides of the slots in slot_cols. A row of -Inf, or one with +Inf or NaN, gives NaN.
    /// `plain` reads a row twice (running maximum and sum, then the result); `fast1` to `fast16` once (at most
    /// `lanes * 4 * k` elements). `wide`, `wide4` and `wide8` are the same with groups of 1024 threads and up to 1024
    /// lanes, for rows that are too few or too long for 256. Slot s has element `slot_offset[s] + r * slot_row[s] + c *
    /// bit s of slot_cols`.
    pub struct SoftmaxRows = "softmax_rows" in "softmax/rows.comp";
    grid "ceil(rows * lanes / threads) groups of 256 threads (wide: 1024), folded; lanes threads a row";
    args { rows: u32, n: u32, x { row: u32 }, slot(offset, row: i32; 4) }
    operands { x: read first, y: write }
    slots 4;
    holes { load: vec4 [v] (row, col), epilogue: vec4 [v] (row, col) stores }
    specs { lanes = 0: 256, vec = 1: 0, log = 2: 0, slot_cols = 3: 15 }
    trip_count |c| match c.defines("KEEP_ROW") {
        true => 2 * halving(c.lanes),
        false => {
            let chains = each(c.n, 64 * 4 * c.lanes);
            let sum = after(each(c.n, 4 * c.lanes), after(chains.saturating_mul(2), pairs(chains, 20)));
            after(after(sum, each(c.n, 4 * c.lanes)), halving(c.lanes))
        }
    };
    roles |c| group(c.define_or("THREADS", 256)).keeps(c.define_or("KEEP_ROW", 0), c.lanes);
    variants {
        plain: zero;
        fast1: zero { "KEEP_ROW": "1" };
        fast2: zero { "KEEP_ROW": "2" };
        fast4: zero { "KEEP_ROW": "4" };
        fast8: zero { "KEEP_ROW": "8" };
        fast16: zero { "KEEP_ROW": "16" };
        wide: zero needs [Threads(1024)] { "THREADS": "1024", "AHEAD": "4" };
        wide4: zero needs [Threads(1024)] { "THREADS": "1024", "KEEP_ROW": "4" };
        wide8: zero needs [Threads(1024)] { "THREADS": "1024", "KEEP_ROW": "8" }
    }
}

kernel! {
    /// Softmax over the middle axis of dense [outer, n, inner], inner > 1. A group takes `columns` (a power of two up
    /// to 256) neighbouring columns of all outer * inner, 256 / columns threads share one. Slot s has element
    /// `slot_offset[s] + o * slot_outer[s] + r * slot_row[s] + c * slot_col[s]`.
    pub struct SoftmaxColumns = "softmax_columns" in "softmax/columns.comp";
    grid "ceil(outer * inner / columns) groups of 256 threads, folded";
    args { outer: u32, n: u32, inner: u32, slot(offset, outer, row, col: i32; 2) }
    operands { x: read, y: write }
    slots 2;
    holes { load: float [v] (outer, row, col), epilogue: float [v] (outer, row, col) stores }
    specs { log = 0: 0, columns = 1: 256 }
    trip_count |c| {
        let lanes = quotient(256, c.columns);
        let chains = each(c.n, lanes.saturating_mul(64 * 4));
        let pass = each(c.n, lanes.saturating_mul(4));
        let sum = after(pass, after(chains.saturating_mul(2), pairs(chains, 20)));
        after(after(sum, pass), halving(lanes))
    };
    roles |_| group(256);
    variants { plain: zero }
}
