//! Gradients of layer norm and RMS norm over rows.
//!
//! As their norms (`norm.rs`), `plain` reads a row of both operands two or three times; `fast1` to `fast8` keep both in
//! registers. What the gradients of factor and shift are summed of, in runs along one axis: sums of columns, and along
//! rows.

use crate::kernel;
use crate::kernel::KernelDecl;
use pumice_types::slots;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[NormGrad::DECL, NormSumsColumns::DECL, NormSumsRows::DECL];

const _: () = crate::kernel::have_slots(&[NormGrad::DECL], slots::PRODUCT);

kernel! {
    /// y[r, c] = epilogue(s (u - mean_r(u) - h mean_r(u h))), u = dy[r, c] * g[c], s = 1 / sqrt(var_r + eps), h =
    /// (x[r, c] - mean_r) * s, mean and biased variance of the row of x; `centred` 0: var_r the mean of x^2, and no
    /// mean is taken off.
    ///
    /// x lies at `r * x_row + c`, dy and y at `r * n + c`. `scaled` 0: g is 1, bind any. `statistics` 1: mean, where
    /// centred, and inverse get mean_r and s at r; else bind y. `vec` 1: n and x_row are multiples of four, and so are
    /// the offsets and row strides of the slots in slot_cols. Slot s has element `slot_offset[s] + r * slot_row[s] + c
    /// * bit s of slot_cols`.
    pub struct NormGrad = "norm_grad" in "norm_grad/rows.comp";
    grid "ceil(rows * lanes / 256) groups of 256 threads, folded; lanes threads a row";
    args { rows: u32, n: u32, x { row: u32 }, eps: f32, slot(offset, row: i32; 4) }
    operands { x: read, dy: read, g: read, y: write, mean: write, inverse: write }
    slots 4;
    holes { epilogue: vec4 [v] (row, col) stores }
    specs { lanes = 0: 256, vec = 1: 0, scaled = 2: 1, slot_cols = 3: 15, centred = 4: 1, statistics = 5: 0 }
    trip_count |c| {
        let chains = each(c.n, 64 * 4 * c.lanes);
        let sum = after(each(c.n, 4 * c.lanes), after(chains.saturating_mul(2), pairs(chains, 20)));
        let sums = 1 + c.centred;
        let passes = after(sum.saturating_mul(sums), each(c.n, 4 * c.lanes));
        after(only(!c.defines("KEEP_ROW"), passes), halving(c.lanes).saturating_mul(sums))
    };
    roles |c| group(256).keeps(c.define_or("KEEP_ROW", 0), c.lanes);
    variants {
        plain: zero;
        fast1: zero { "KEEP_ROW": "1" };
        fast2: zero { "KEEP_ROW": "2" };
        fast4: zero { "KEEP_ROW": "4" };
        fast8: zero { "KEEP_ROW": "8" }
    }
}

kernel! {
    /// t[o, p, c] = sum of dy (x - mean[s]) inverse[s], d[o, p, c] = sum of dy, over the p-th `of_run` of r < red; c <
    /// inner, o < outer, x and dy [outer, red, inner], all dense.
    ///
    /// s = i / after % places, i is o (`along` 0), r (1) or c (2). `columns` (power of two up to 64) threads side by
    /// side take four columns each, 256 / columns rows at a time. of_run: 512 at most. `vec` 1: inner is a multiple of
    /// four. `centred` 0: mean is 0, bind x.
    pub struct NormSumsColumns = "norm_sums_columns" in "norm_grad/sums_columns.comp";
    grid "outer * ceil(red / of_run) * ceil(inner / (4 * columns)) groups of 256 threads, folded; column blocks fastest";
    args { outer: u32, red: u32, inner: u32, of_run: u32, after: u32, places: u32 }
    operands { x: read, dy: read, inverse: read, mean: read, t: write, d: write }
    slots 0;
    holes {}
    specs { columns = 0: 32, vec = 1: 0, along = 2: 1, centred = 3: 1 }
    trip_count |c| after(each(c.of_run, quotient(1024, c.columns)), halving(quotient(256, c.columns)));
    roles |_| group(256).lanes("columns", 1, 64);
    variants { plain: zero }
}

kernel! {
    /// t[r, p] = sum of dy (x - mean[s]) inverse[s], d[r, p] = sum of dy, over the p-th `of_run` of c < n; r < rows, x
    /// and dy [rows, n], all dense.
    ///
    /// s = i / after % places, i is r (`along` 0) or c (1). of_run: 512 at most. `vec` 1: n and of_run are multiples of
    /// four. `centred` 0: mean is 0, bind x.
    pub struct NormSumsRows = "norm_sums_rows" in "norm_grad/sums_rows.comp";
    grid "ceil(rows * ceil(n / of_run) * lanes / 256) groups of 256 threads, folded; lanes threads a run";
    args { rows: u32, n: u32, of_run: u32, after: u32, places: u32 }
    operands { x: read, dy: read, inverse: read, mean: read, t: write, d: write }
    slots 0;
    holes {}
    specs { lanes = 0: 32, vec = 1: 0, along = 2: 0, centred = 3: 1 }
    trip_count |c| after(each(c.of_run, 16 * c.lanes), halving(c.lanes));
    roles |_| group(256).lanes("lanes", 1, 256);
    variants { plain: zero }
}
