//! Gradients of layer norm and RMS norm over rows.
//!
//! As their norms (`norm.rs`), `plain` reads a row of both operands two or three times; `fast1` to `fast8` keep both in
//! registers.

use crate::kernel;
use crate::kernel::KernelDecl;
use pumice_types::slots;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[NormGrad::DECL];

const _: () = crate::kernel::have_slots(DECLS, slots::PRODUCT);

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
