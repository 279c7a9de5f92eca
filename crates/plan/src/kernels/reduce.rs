//! Reductions: sum, mean, maximum, minimum, product; first or last extremum.
//!
//! Any axis set collapses to one of: rows ([rows, n], the reduced axis innermost), columns ([outer, red, inner]), or
//! the strided form (up to four kept and four reduced axes, rank 8 in all). Few long rows are two reductions of the
//! graph, into as many parts as [`parts`] says. A group combines in a tree whose shape follows from the arguments alone.

use crate::kernel;
use crate::kernel::KernelDecl;
use pumice_types::{ReductionExtents, Target};

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
    /// the slots in slot_cols are multiples of four. Slot s has element `slot_offset[s] + r * slot_row[s] + c * bit s of
    /// slot_cols` in `load`; in the epilogue c is 0.
    /// H200, 2026-11-21: 8192 rows of 8192 in 62 us (4.3 TB/s), one row of 64 Mi in two passes 65 us.
    pub struct ReduceRows = "reduce_rows" in "reduce/rows.comp";
    grid "ceil(rows * lanes / 256) groups of 256 threads, folded; lanes threads a row";
    args { rows: u32, n: u32, x { row: u32 }, count: u32, slot(offset, row: i32; 4) }
    operands { x: read, y: write }
    slots 4;
    holes { load: vec4 [v] (row, col), epilogue: float [v] (row) stores }
    specs { op = 0: 0, lanes = 1: 256, vec = 2: 0, slot_cols = 3: 15 }
    turns |c| after(each(c.n, 16 * c.lanes), halving(c.lanes));
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
    /// H200, 2026-11-21: sum over the rows of 8192 x 8192 in two steps of 8 parts 65 us (PyTorch 76 us), in one 146 us.
    pub struct ReduceColumns = "reduce_columns" in "reduce/columns.comp";
    grid "outer * ceil(inner / (4 * columns)) groups of 256 threads, folded; column blocks fastest";
    args { outer: u32, red: u32, inner: u32, x { outer, red: u32 }, count: u32, slot(offset, outer, row: i32; 2) }
    operands { x: read, y: write }
    slots 2;
    holes { load: vec4 [v] (outer, row, col), epilogue: vec4 [v] (outer, col) stores }
    specs { op = 0: 0, columns = 1: 32, vec = 2: 0, slot_cols = 3: 3 }
    turns |c| {
        let lanes = quotient(256, c.columns);
        after(each(c.red, lanes.saturating_mul(4)), halving(lanes))
    };
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
    turns |c| after(each(c.n, c.lanes), halving(c.lanes));
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
    turns |c| {
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
    /// `fast` has groups of 1024 threads and up to 1024 lanes. `arg_threads` chooses.
    pub struct ArgReduce = "arg_reduce" in "reduce/arg.comp";
    grid "ceil(outer * inner * lanes / threads) groups of 256 threads (fast: 1024), folded; lanes (a power of two up to threads) an output";
    args { outputs: u32, n: u32, inner: u32 }
    operands { x: read, y: write }
    slots 0;
    holes {}
    specs { kind = 0: 0, min = 1: 0, last = 2: 0, wide = 3: 1, lanes = 4: 256, vec = 5: 0 }
    turns |c| after(each(c.n, if c.vec == 1 { 16 * c.lanes } else { 4 * c.lanes }), halving(c.lanes));
    variants { plain: zero; fast: zero needs [Threads(1024)] { "THREADS": "1024" } }
}

/// Variant and `lanes` of `arg_reduce` for `outputs` outputs over `n` elements each, at their upper bounds: `fast` on
/// GPUs where groups of 256 threads would keep less than a quarter of the compute units' threads busy, and a thread of
/// 1024 has a load of four words at least; and wherever 256 threads would turn too often. `vec` as in the kernel.
pub fn arg_threads(outputs: u64, n: u64, vec: bool, target: &Target) -> (&'static str, u32) {
    let limits = &target.limits;
    let large_groups = limits.max_workgroup_invocations >= 1024;
    let few = !target.features.cpu && n >= 4096 && outputs <= u64::from(target.tuning.compute_units);
    let plain = (ArgReduce::plain, lanes(n));
    let numbers = [("n", n), ("lanes", plain.1.into()), ("vec", vec.into())];
    let ends = limits.lets_turn(ArgReduce::DECL.turns_of(plain.0, &numbers));
    if large_groups && (few || !ends) { (ArgReduce::fast, 1024) } else { plain }
}

/// `columns` of `reduce_columns` for `red` rows of `inner` columns, at their upper bounds: as many as there are quads, and
/// fewer, with more threads for each, where they would turn too often.
pub fn columns(red: u64, inner: u64, target: &Target) -> u32 {
    let widest = inner.div_ceil(4).next_power_of_two().clamp(1, 64) as u32;
    let ends = |columns: &u32| {
        let numbers = [("red", red), ("columns", (*columns).into())];
        target.limits.lets_turn(ReduceColumns::DECL.turns_of(ReduceColumns::plain, &numbers))
    };
    let mut narrower = std::iter::successors(Some(widest), |c| (*c > 1).then_some(c / 2));
    narrower.find(ends).unwrap_or(1)
}

/// Turns that a reduction makes besides those over elements, at most: halving its threads, the quotient of a mean.
const OTHER_TURNS: u64 = 80;

/// Into at least how many parts a reduction must be cut so that the loops of a part end by themselves; 1 where it need not
/// be cut. Half as many are enough, so that a number may be taken that divides the elements.
pub fn least_parts(reduction: &ReductionExtents, target: &Target) -> u64 {
    let Some(limit) = target.limits.loop_turns else { return 1 };
    // What one turn of all threads of a group takes: see the declarations.
    let step = match (reduction.one_by_one, reduction.inner <= 1) {
        (true, _) => 256,
        (false, true) => 16 * 256,
        (false, false) => 4 * 256,
    };
    let most = limit.saturating_sub(OTHER_TURNS).max(1).saturating_mul(step);
    if reduction.reduced <= most { 1 } else { reduction.reduced.div_ceil(most).saturating_mul(2) }
}

/// Threads for an output over `n` elements that are read one by one: a power of two, 1 to 256.
pub fn lanes(n: u64) -> u32 {
    n.div_ceil(4).next_power_of_two().clamp(1, 256) as u32
}

/// `lanes` of `reduce_rows` for rows of `n` elements: a power of two, 8 to 256, with 16 elements for each. H200,
/// 2026-11-21: 65536 rows of 384, 32 lanes 28 us, 128 lanes 63 us; 2^20 rows of 64, 8 lanes 78 us, 16 lanes 188 us.
pub fn row_lanes(n: u64) -> u32 {
    n.div_ceil(16).next_power_of_two().clamp(8, 256) as u32
}

/// Into about how many parts a reduction is best cut, each part reduced by
/// groups of its own and the results in a second step; 1 where one step is better. Four groups for every compute unit,
/// each with 4096 elements of a row or 64 rows of columns at least; on a CPU two groups for every core, each with 2^17
/// elements. Lavapipe, two cores, 2026-11-22: a row of 2^20 in 5.3 ms, in four parts 2.8 ms; 4096 rows of 128 columns
/// 2.7 and 1.5 ms; a row of 2^17 in 0.67 ms, in four parts 0.75 ms.
pub fn parts(reduction: &ReductionExtents, target: &Target) -> u64 {
    let ReductionExtents { outer, reduced, inner, .. } = *reduction;
    let cpu = target.features.cpu;
    let units = u64::from(target.tuning.compute_units.max(1)) * if cpu { 2 } else { 4 };
    let (blocks, least) = match (inner <= 1, cpu) {
        (true, false) => (1, 4096),
        (true, true) => (1, 1 << 17),
        (false, false) => (inner.div_ceil(128), 64),
        (false, true) => (inner.div_ceil(128), (1 << 17) / inner.min(128)),
    };
    let groups = outer.max(1).saturating_mul(blocks);
    let wanted = units.div_ceil(groups).min(reduced / least);
    if wanted < 2 { 1 } else { wanted }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(outer: u64, reduced: u64, inner: u64) -> u64 {
        parts(&ReductionExtents { outer, reduced, inner, one_by_one: false }, &Target::h200())
    }

    #[test]
    fn few_long_rows_are_cut() {
        assert_eq!(cut(1, 64 << 20, 1), 528);
        assert_eq!(cut(1, 1 << 20, 1), 256);
        assert_eq!(cut(3, 262_147, 1), 64);
        assert_eq!(cut(100, 1 << 20, 1), 6);
        // One part of 4096 elements is the row; as many rows as groups are wanted, or none, are enough.
        assert_eq!(cut(1, 8191, 1), 1);
        assert_eq!(cut(528, 1 << 20, 1), 1);
        assert_eq!(cut(8192, 8192, 1), 1);
        assert_eq!(cut(0, 8192, 0), 2);
    }

    #[test]
    fn few_long_columns_are_cut() {
        assert_eq!(cut(1, 8192, 8192), 9);
        assert_eq!(cut(2, 200_000, 2), 264);
        assert_eq!(cut(1, 512, 128), 8);
        assert_eq!(cut(1, 127, 2), 1);
        assert_eq!(cut(u64::MAX, u64::MAX, 1000), 1);
    }

    #[test]
    fn a_cpu_gets_few_large_parts() {
        let cut = |outer, reduced, inner| {
            parts(&ReductionExtents { outer, reduced, inner, one_by_one: false }, &Target::lavapipe())
        };
        assert_eq!((cut(1, 1 << 20, 1), cut(1, 1 << 17, 1), cut(2, 1 << 20, 1)), (4, 1, 2));
        assert_eq!((cut(4, 1 << 20, 1), cut(1, 4096, 128), cut(1, 4096, 1024)), (1, 4, 1));
    }

    /// The longest reduction that is not cut, and a part of one that is, turn no more often than the driver lets them.
    #[test]
    fn parts_are_short_enough_for_a_driver_that_ends_loops() {
        let target = Target::lavapipe();
        let limit = target.limits.loop_turns.expect("lavapipe has a limit");
        for (one_by_one, inner, decl, length, threads) in [
            (false, 1, ReduceRows::DECL, "n", ("lanes", 256)),
            (false, 3, ReduceColumns::DECL, "red", ("columns", 1)),
            (true, 1, ReduceStrided::DECL, "n", ("lanes", 256)),
            (true, 9, ReduceInt::DECL, "n", ("lanes", 256)),
        ] {
            let least =
                |reduced| least_parts(&ReductionExtents { outer: 1, reduced, inner, one_by_one }, &target);
            let turns = |n| decl.turns_of("plain", &[(length, n), threads, ("op", op::MEAN.into())]);
            let longest =
                (1u64..1 << 40).step_by(1 << 16).take_while(|n| least(*n) == 1).last().expect("some");
            assert!(
                turns(longest) <= limit && turns(longest + (1 << 16)) > limit - 400,
                "{} {longest}",
                decl.name
            );
            for n in [longest + (1 << 20), 1 << 30, 1 << 33] {
                let parts = least(n);
                assert!(parts >= 4 && turns(n.div_ceil(parts / 2)) <= limit, "{} {n}", decl.name);
            }
            assert_eq!(
                least_parts(
                    &ReductionExtents { outer: 1, reduced: 1 << 40, inner, one_by_one },
                    &Target::h200()
                ),
                1
            );
        }
    }

    #[test]
    fn columns_become_narrow_and_groups_large_where_threads_would_turn_too_often() {
        let (cpu, gpu) = (Target::lavapipe(), Target::h200());
        assert_eq!(
            (columns(1 << 19, 256, &cpu), columns(1 << 20, 256, &cpu), columns(1 << 20, 256, &gpu)),
            (64, 32, 64)
        );
        assert_eq!((columns(1 << 25, 3, &cpu), columns(1 << 30, 300, &cpu)), (1, 1));
        assert_eq!(arg_threads(1, 1 << 25, false, &cpu), (ArgReduce::plain, 256));
        assert_eq!(arg_threads(1, 100_000_000, false, &cpu), (ArgReduce::fast, 1024));
        assert_eq!(arg_threads(1, 100_000_000, true, &cpu), (ArgReduce::plain, 256));
    }
}
