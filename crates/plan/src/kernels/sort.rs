//! Sorts: places of an axis in the order of the elements there; and what is looked for among elements in order.

use crate::kernel;
use crate::kernel::KernelDecl;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[SortRuns::DECL, SortSelect::DECL, SortMerge::DECL, SearchSorted::DECL];

/// Places that one group puts in order, or writes of a merge.
pub const TILE: u64 = 1024;

kernel! {
    /// Runs of 2^`levels` places put in order: y\[o, r * keep + j, c\], j < keep, is the j-th of run r < runs of row
    /// (o, c), -1 where it has fewer; what is at `len` or beyond is not written.
    /// Where all of a run stay, `keep` is its length, or the axis's if that is less.
    ///
    /// x is dense \[rows / inner, n, inner\]; the places of a row are 0..m, m = n, or with `given` 1 those of order
    /// \[rows / inner, m, inner\], i32, of which one outside 0..n is none. They are ordered by (x there, place); `down`
    /// 1: the largest first. `kind` 0 f32, NaN above infinity and -0 as 0, 1 i32, 2 u32, 3 i64, 4 u64. `wide` 1: y is
    /// I64, else I32. Without places given bind `x` again.
    pub struct SortRuns = "sort_runs" in "sort/runs.comp";
    grid "ceil(rows * runs * 2^levels / 1024) groups of 256 threads, folded";
    args { rows: u32, n: u32, m: u32, inner: u32, runs: u32, keep: u32, len: u32 }
    operands { x: read, order: read, y: write }
    slots 0;
    holes {}
    specs { kind = 0: 0, down = 1: 0, wide = 2: 0, given = 3: 0, levels = 4: 10 }
    trip_count |c| inside(each(c.levels, 1), each(c.levels, 1));
    variants { plain: zero }
}

kernel! {
    /// The first `keep` <= 2^`levels` of runs of `run` places, as in `sort_runs`, and as many at most as one group puts
    /// in order. A group counts digits of what it has until it knows the last one that it keeps.
    pub struct SortSelect = "sort_select" in "sort/select.comp";
    grid "rows * runs groups of 256 threads (fast: 1024), folded";
    args { rows: u32, n: u32, m: u32, inner: u32, runs: u32, keep: u32, len: u32, run: u32 }
    operands { x: read, order: read, y: write }
    slots 0;
    holes {}
    specs { kind = 0: 0, down = 1: 0, wide = 2: 0, given = 3: 0, levels = 4: 10 }
    trip_count |c| {
        let walk = each(c.run, 1024);
        let digits = inside(each(12, 1), after(walk, each(8, 1)));
        let sorts = inside(inside(each(c.levels, 1), each(c.levels, 1)), each(2, 1));
        after(after(digits, sorts), after(walk, each(8, 1)))
    };
    variants { plain: zero; fast: zero needs [Threads(1024)] { "THREADS": "1024" } }
}

kernel! {
    /// Two runs of `sorted` places of order that are in order, merged: y as in `sort_runs`, of runs of 2 * sorted.
    ///
    /// Each group writes 1024 places of a run, of which it finds the parts of both runs by bisection (merge path:
    /// Odeh et al., 2012).
    pub struct SortMerge = "sort_merge" in "sort/merge.comp";
    grid "rows * runs * ceil(keep / 1024) groups of 256 threads, folded";
    args { rows: u32, n: u32, m: u32, inner: u32, runs: u32, keep: u32, len: u32, sorted: u32 }
    operands { x: read, order: read, y: write }
    slots 0;
    holes {}
    specs { kind = 0: 0, down = 1: 0, wide = 2: 0 }
    trip_count |_| after(each(5, 1), each(12, 1).saturating_mul(4));
    variants { plain: zero }
}

kernel! {
    /// y\[i\], i < n: how many of sorted\[0..m\] are less than values\[i\], or with `right` 1 not above it. They are
    /// in ascending order; where they are not, it is some number of 0..=m. Both are dense, of one dtype, whose `kind`
    /// is as in `sort_runs`; `wide` 1: y is I64, else I32.
    pub struct SearchSorted = "search_sorted" in "sort/search.comp";
    grid "ceil(n / 256) groups of 256 threads, folded";
    args { m: u32, n: u32 }
    operands { sorted: read, values: read, y: write }
    slots 0;
    holes {}
    specs { kind = 0: 0, right = 1: 0, wide = 2: 0 }
    trip_count |_| each(32, 1);
    variants { plain: zero }
}
