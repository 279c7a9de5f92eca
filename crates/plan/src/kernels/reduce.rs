//! Reductions: sum, mean, maximum, minimum, product; first or last extremum.
//!
//! Any axis set collapses to one of: rows ([rows, n], the reduced axis innermost), columns ([outer, red, inner]), or
//! the strided form (up to four kept and four reduced axes, rank 8 in all). Few long rows are two reductions of the
//! graph. A group combines in a tree whose shape follows from the arguments alone. Threads and parts are the compiler's
//! to say (`compile/src/select/reduce.rs`).

use crate::kernel;
use crate::kernel::KernelDecl;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] =
    &[ReduceRows::DECL, ReduceColumns::DECL, ReduceStrided::DECL, ReduceInt::DECL, ArgReduce::DECL];

/// `op` of the reductions.
pub mod op {
    /// Sum; empty 0.
    pub const SUM: u32 = 0;
    /// Sum divided by the argument `count`; empty NaN.
    pub const MEAN: u32 = 1;
    /// Maximum, NaN wins; empty -Inf or the lowest integer.
    pub const MAX: u32 = 2;
    /// Minimum, NaN wins; empty +Inf or the highest integer.
    pub const MIN: u32 = 3;
    /// Product; empty 1.
    pub const PROD: u32 = 4;
}

kernel! {
    /// y[r] = epilogue(reduce over c < n of load(x[r, c])).
    ///
    /// x lies at `r * x_row + c`. `count`: divisor of the mean. `vec` 1: n, x_row, and the offsets and row strides of
    /// the slots in slot_cols are multiples of four. Slot s has element `slot_offset[s] + r * slot_row[s] + c * bit s
    /// of slot_cols` in `load`; in the epilogue c is 0.
    pub struct ReduceRows = "reduce_rows" in "reduce/rows.comp";
    grid "ceil(rows * lanes / 256) groups of 256 threads, folded; lanes threads a row";
    args { rows: u32, n: u32, x { row: u32 }, count: u32, slot(offset, row: i32; 4) }
    operands { x: read, y: write }
    slots 4;
    holes { load: vec4 [v] (row, col), epilogue: float [v] (row) stores }
    specs { op = 0: 0, lanes = 1: 256, vec = 2: 0, slot_cols = 3: 15 }
    trip_count |c| {
        let chains = each(c.n, 128 * 16 * c.lanes);
        let terms = after(each(c.n, 16 * c.lanes), after(chains.saturating_mul(2), pairs(chains, 18)));
        after(terms, halving(c.lanes))
    };
    roles |_| group(256).lanes("lanes", 8, 256);
    variants { plain: zero }
}

kernel! {
    /// y[o, c] = epilogue(reduce over r < red of load(x[o, r, c])), c < inner.
    ///
    /// x lies at `o * x_outer + r * x_red + c`, y at `o * inner + c`. `columns` (power of two up to
    /// 64) threads side by side take four columns each, 256 / columns rows at a time. `vec` 1: inner, x_outer,
    /// x_red and the offsets and strides of the slots in slot_cols are multiples of four. Slot s has element
    /// `slot_offset[s] + o * slot_outer[s] + r * slot_row[s] + c * bit s of slot_cols`, with r = 0 in the
    /// epilogue.
    pub struct ReduceColumns = "reduce_columns" in "reduce/columns.comp";
    grid "outer * ceil(inner / (4 * columns)) groups of 256 threads, folded; column blocks fastest";
    args { outer: u32, red: u32, inner: u32, x { outer, red: u32 }, count: u32, slot(offset, outer, row: i32; 2) }
    operands { x: read, y: write }
    slots 2;
    holes { load: vec4 [v] (outer, row, col), epilogue: vec4 [v] (outer, col) stores }
    specs { op = 0: 0, columns = 1: 32, vec = 2: 0, slot_cols = 3: 3 }
    trip_count |c| {
        let lanes = quotient(256, c.columns);
        let chains = each(c.red, lanes.saturating_mul(128));
        let terms = after(each(c.red, lanes.saturating_mul(4)), after(chains.saturating_mul(2), pairs(chains, 20)));
        after(terms, halving(lanes))
    };
    roles |_| group(256).lanes("columns", 1, 64);
    variants { plain: zero }
}

kernel! {
    /// y[i] = epilogue(reduce over j of load(x[i, j])), i < outputs over `kept[0..4]`, j < n over `red[0..4]`, both
    /// row-major, innermost last; unused leading axes have extent 1.
    ///
    /// x lies at `x_offset + sum kept coordinates * kept_stride + sum red coordinates * red_stride`. Slots in the
    /// epilogue alone: element `slot_offset[s] + i * slot_row[s]`.
    pub struct ReduceStrided = "reduce_strided" in "reduce/strided.comp";
    grid "ceil(outputs * lanes / 256) groups of 256 threads, folded; lanes (1 to 256, a power of two) threads an output";
    args { outputs: u32, n: u32, count: u32, x { offset: i32 }, kept[4]: u32, kept_stride[4]: i32, red[4]: u32,
        red_stride[4]: i32, slot(offset, row: i32; 4) }
    operands { x: read, y: write }
    slots 4;
    holes { load: float [v] (row, col), epilogue: float [v] (row) stores }
    specs { op = 0: 0, lanes = 1: 256 }
    trip_count |c| {
        let chains = each(c.n, 128 * c.lanes);
        let terms = after(each(c.n, 4 * c.lanes), after(chains.saturating_mul(2), pairs(chains, 20)));
        after(terms, halving(c.lanes))
    };
    roles |_| group(256).lanes("lanes", 1, 256);
    variants { plain: zero }
}

kernel! {
    /// As `reduce_strided` for integers that wrap in their own width. `kind` 0 i32, 1 u32 (Bool too), 2 i64, 3 u64;
    /// 8- and 16-bit integers as i32 or u32 with `bits` their width, wrapped at the end. The mean truncates.
    pub struct ReduceInt = "reduce_int" in "reduce/int.comp";
    grid "ceil(outputs * lanes / 256) groups of 256 threads, folded; lanes (1 to 256, a power of two) threads an output";
    args { outputs: u32, n: u32, count: u32, x { offset: i32 }, kept[4]: u32, kept_stride[4]: i32, red[4]: u32,
        red_stride[4]: i32 }
    operands { x: read, y: write }
    slots 0;
    holes {}
    specs { op = 0: 0, lanes = 1: 256, kind = 2: 0, bits = 3: 32 }
    trip_count |c| {
        // The quotient of a mean is found bit by bit.
        let divided = only(c.op == u64::from(op::MEAN), each(64, 1));
        after(after(each(c.n, c.lanes), halving(c.lanes)), divided)
    };
    variants { plain: zero }
}

kernel! {
    /// y[o, c] = the index r of the first (`last` 1: last) extremum of x[o, r, c], dense [outer, n, inner], n > 0.
    ///
    /// The first NaN wins over everything, with `last` too. `kind` 0 f32, 1 i32, 2 u32, 3 i64, 4 u64; `min` 1 for
    /// the minimum. `wide` 1: y is I64, else I32. `vec` 1: inner is 1, n a multiple of four, the kind a 32-bit one.
    /// `fast` has groups of 1024 threads and up to 1024 lanes.
    pub struct ArgReduce = "arg_reduce" in "reduce/arg.comp";
    grid "ceil(outer * inner * lanes / threads) groups of 256 threads (fast: 1024), folded; lanes (a power of two up to threads) an output";
    args { outputs: u32, n: u32, inner: u32 }
    operands { x: read, y: write }
    slots 0;
    holes {}
    specs { kind = 0: 0, min = 1: 0, last = 2: 0, wide = 3: 1, lanes = 4: 256, vec = 5: 0 }
    trip_count |c| after(each(c.n, if c.vec == 1 { 16 * c.lanes } else { 4 * c.lanes }), halving(c.lanes));
    roles |c| {
        let threads = c.define_or("THREADS", 256);
        group(threads).lanes("lanes", 1, threads)
    };
    variants { plain: zero; fast: zero needs [Threads(1024)] { "THREADS": "1024" } }
}
