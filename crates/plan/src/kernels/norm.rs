//! Layer norm and RMS norm over rows.
//!
//! `plain` reads a row three times (layer norm) or twice; `fast1` to `fast16` keep it in registers: `lanes * 4 * k`
//! elements at most, one read. [`best`] chooses.

use crate::kernel;
use crate::kernel::KernelDecl;
use pumice_types::slots;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[LayerNorm::DECL, RmsNorm::DECL];

const _: () = crate::kernel::have_slots(DECLS, slots::NORM);

kernel! {
    /// y[r, c] = epilogue((v - mean_r) / sqrt(var_r + eps) * gamma[c] + beta[c]), v = load(x[r, c]).
    ///
    /// Mean and biased variance of the row's v, the variance from differences to the mean. x lies at `r * x_row +
    /// c`, y at `r * n + c`. `gamma`, `beta`: 1 where the operand counts, else bind any. `vec` 1: n and x_row are
    /// multiples of four, and so are the offsets and row strides of the slots in slot_cols. `load` may store
    /// (residual sums): a stored slot must not be read by it. Slot s has element `slot_offset[s] + r * slot_row[s]
    /// + c * bit s of slot_cols`.
    pub struct LayerNorm = "layer_norm" in "norm/norm.comp";
    grid "ceil(rows * lanes / 256) groups of 256 threads, folded; lanes threads a row";
    args { rows: u32, n: u32, x { row: u32 }, eps: f32, slot(offset, row: i32; 8) }
    operands { x: read, g: read typed, b: read typed, y: write }
    slots 8;
    holes { load: vec4 [v] (row, col) stores, epilogue: vec4 [v] (row, col) stores }
    specs { lanes = 0: 256, vec = 1: 0, gamma = 2: 1, beta = 3: 1, slot_cols = 4: 255 }
    turns |c| {
        let passes = only(!c.defines("KEEP_ROW"), each(c.n, 4 * c.lanes).saturating_mul(3));
        after(passes, 2 * halving(c.lanes))
    };
    variants {
        plain: zero;
        fast1: zero { "KEEP_ROW": "1" };
        fast2: zero { "KEEP_ROW": "2" };
        fast4: zero { "KEEP_ROW": "4" };
        fast8: zero { "KEEP_ROW": "8" };
        fast16: zero { "KEEP_ROW": "16" }
    }
}

kernel! {
    /// y[r, c] = epilogue(v / sqrt(mean_r(v^2) + eps) * gamma[c] + beta[c]), v = load(x[r, c]).
    ///
    /// Everything else as in `layer_norm`. `one_plus` 1: the factor is 1 + gamma. Without gamma it is 1.
    pub struct RmsNorm = "rms_norm" in "norm/norm.comp";
    grid "ceil(rows * lanes / 256) groups of 256 threads, folded; lanes threads a row";
    args { rows: u32, n: u32, x { row: u32 }, eps: f32, slot(offset, row: i32; 8) }
    operands { x: read, g: read typed, b: read typed, y: write }
    slots 8;
    holes { load: vec4 [v] (row, col) stores, epilogue: vec4 [v] (row, col) stores }
    specs { lanes = 0: 256, vec = 1: 0, gamma = 2: 1, beta = 3: 0, slot_cols = 4: 255, one_plus = 5: 0 }
    turns |c| {
        let passes = only(!c.defines("KEEP_ROW"), each(c.n, 4 * c.lanes).saturating_mul(2));
        after(passes, halving(c.lanes))
    };
    variants {
        plain: zero { "RMS": "1" };
        fast1: zero { "RMS": "1", "KEEP_ROW": "1" };
        fast2: zero { "RMS": "1", "KEEP_ROW": "2" };
        fast4: zero { "RMS": "1", "KEEP_ROW": "4" };
        fast8: zero { "RMS": "1", "KEEP_ROW": "8" };
        fast16: zero { "RMS": "1", "KEEP_ROW": "16" }
    }
}

/// The variant and the `lanes` for rows of at most `n` elements (also of softmax rows).
///
/// Lanes cost barriers, registers do not, up to a point. H200, driver 580.159.04, 2026-11-21, layer norm / softmax:
/// 8192 rows of 8192, 256 lanes (fast8) 135 / 161 us, 128 lanes (fast16) 167 / 229 us, plain 212 / 202 us (PyTorch in a
/// graph 221 / 280 us); 65536 rows of 384, 128 lanes (fast1) 89 / 176 us, 64 lanes (fast2) 58 / 63 us, 32 lanes (fast4)
/// 52 / 52 us; 2^20 rows of 64, 8 lanes (fast2) 134 / 133 us; 128 rows of 384, 128 lanes 3.6 us, 64 lanes 3.8 / 3.4 us,
/// 32 lanes 3.9 / 3.6 us, 8 lanes 6.4 / 6.6 us (a barrier and an empty dispatch: 2.1 us).
pub fn best(n: u64) -> (&'static str, u32) {
    keeping(n, lanes(n))
}

/// As [`best`] for a driver that runs on a CPU: few lanes, because it runs them one vector after the other, and no row
/// in registers, because what would be one loop is then a copy of it for each quad, hole and all (layer norm of 384
/// with a sum in its hole: 5 s of LLVM for sixteen copies).
pub fn best_on_cpu(n: u64) -> (&'static str, u32) {
    let lanes = n.div_ceil(64).next_power_of_two().clamp(8, 256) as u32;
    if n <= 4 * u64::from(lanes) { keeping(n, lanes) } else { ("plain", lanes) }
}

fn keeping(n: u64, lanes: u32) -> (&'static str, u32) {
    let per_lane = n.div_ceil(4 * u64::from(lanes));
    let variant = match per_lane {
        0..=1 => "fast1",
        2 => "fast2",
        3..=4 => "fast4",
        5..=8 => "fast8",
        9..=16 => "fast16",
        _ => "plain",
    };
    (variant, lanes)
}

/// Threads for a row of at most `n` elements: a power of two, 8 to 256, with eight elements for each.
pub fn lanes(n: u64) -> u32 {
    n.div_ceil(8).next_power_of_two().clamp(8, 256) as u32
}
