//! Layer norm and RMS norm over rows.
//!
//! `plain` reads a row three times (layer norm) or twice; `fast1` to `fast16` keep it in registers: `lanes * 4 * k`
//! elements at most, one read. [`best`] chooses.

use crate::kernel;
use crate::kernel::KernelDecl;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[LayerNorm::DECL, RmsNorm::DECL];

kernel! {
    /// y[r, c] = epilogue((v - mean_r) / sqrt(var_r + eps) * gamma[c] + beta[c]), v = load(x[r, c]).
    ///
    /// Mean and biased variance of the row's v, the variance from differences to the mean. x lies at
    /// `r * x_row + c`, y at `r * n + c`. `gamma`, `beta`: 1 where the operand counts, else bind any. `vec` 1: n and
    /// x_row are multiples of four. `load` may store (residual sums): a stored slot must not be read by it. Slot s has
    /// element `slot_offset[s] + r * slot_row[s] + c * slot_col[s]`, `slot_col` 0 or 1.
    pub struct LayerNorm = "layer_norm" in "norm/norm.comp";
    grid "ceil(rows * lanes / 256) groups of 256 threads, folded; lanes threads a row";
    args { rows: u32, n: u32, x_row: u32, eps: f32, slot_offset[4]: i32, slot_row[4]: i32, slot_col[4]: i32 }
    operands { x: read, g: read typed, b: read typed, y: write }
    slots 4;
    holes { load: vec4 [v] (row, col) stores, epilogue: vec4 [v] (row, col) stores }
    specs { lanes = 0: 256, vec = 1: 0, gamma = 2: 1, beta = 3: 1 }
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
    /// y[r, c] = epilogue(v / sqrt(mean_r(v^2) + eps) * (weight_offset + gamma[c]) + beta[c]), v = load(x[r, c]).
    ///
    /// Everything else as in `layer_norm`. Without gamma the factor is 1.
    pub struct RmsNorm = "rms_norm" in "norm/norm.comp";
    grid "ceil(rows * lanes / 256) groups of 256 threads, folded; lanes threads a row";
    args { rows: u32, n: u32, x_row: u32, eps: f32, weight_offset: f32,
        slot_offset[4]: i32, slot_row[4]: i32, slot_col[4]: i32 }
    operands { x: read, g: read typed, b: read typed, y: write }
    slots 4;
    holes { load: vec4 [v] (row, col) stores, epilogue: vec4 [v] (row, col) stores }
    specs { lanes = 0: 256, vec = 1: 0, gamma = 2: 1, beta = 3: 0 }
    variants {
        plain: zero { "RMS": "1" };
        fast1: zero { "RMS": "1", "KEEP_ROW": "1" };
        fast2: zero { "RMS": "1", "KEEP_ROW": "2" };
        fast4: zero { "RMS": "1", "KEEP_ROW": "4" };
        fast8: zero { "RMS": "1", "KEEP_ROW": "8" };
        fast16: zero { "RMS": "1", "KEEP_ROW": "16" }
    }
}

/// The variant and the `lanes` for rows of at most `n` elements (also of softmax rows): enough lanes that a lane has
/// four elements, at most 256, then as many registers as the row needs.
pub fn best(n: u64) -> (&'static str, u32) {
    let lanes = lanes(n);
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

/// Threads for a row of at most `n` elements: a power of two, 8 to 256.
pub fn lanes(n: u64) -> u32 {
    n.div_ceil(4).next_power_of_two().clamp(8, 256) as u32
}
