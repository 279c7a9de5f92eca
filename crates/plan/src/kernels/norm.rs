//! Layer norm and RMS norm over rows.
//!
//! `plain` reads a row three times (layer norm) or twice; `fast1` to `fast16` keep it in registers: `lanes * 4 * k`
//! elements at most, one read. The compiler says which (`compile/src/select/lanes.rs`).

use crate::kernel;
use crate::kernel::KernelDecl;
use pumice_types::slots;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[LayerNorm::DECL, RmsNorm::DECL];

const _: () = crate::kernel::have_slots(DECLS, slots::NORM);

/// Declares a norm: both take the same arguments, operands and slots. `$define` is what the variants of one
/// have, `$sums` how many sums a row takes.
macro_rules! norm {
    (
        $(#[doc = $doc:literal])+
        pub struct $Call:ident = $name:literal;
        beta $beta:literal;
        specs { $($spec:ident = $id:literal : $default:literal),* }
        sums $sums:literal;
        defines { $($define:literal : $value:literal)? }
    ) => {
        kernel! {
            $(#[doc = $doc])+
            pub struct $Call = $name in "norm/norm.comp";
            grid "ceil(rows * lanes / 256) groups of 256 threads, folded; lanes threads a row";
            args { rows: u32, n: u32, x { row: u32 }, eps: f32, slot(offset, row: i32; 8) }
            operands { x: read, g: read typed, b: read typed, y: write }
            slots 8;
            holes { load: vec4 [v] (row, col) stores, epilogue: vec4 [v] (row, col) stores }
            specs { lanes = 0: 256, vec = 1: 0, gamma = 2: 1, beta = 3: $beta, slot_cols = 4: 255 $(, $spec = $id: $default)* }
            trip_count |c| {
                let chains = each(c.n, 64 * 4 * c.lanes);
                let sum = after(each(c.n, 4 * c.lanes), after(chains.saturating_mul(2), pairs(chains, 20)));
                let passes = after(sum.saturating_mul($sums), each(c.n, 4 * c.lanes));
                after(only(!c.defines("KEEP_ROW"), passes), halving(c.lanes).saturating_mul($sums))
            };
            roles |c| group(256).keeps(c.define_or("KEEP_ROW", 0), c.lanes);
            variants {
                plain: zero { $($define: $value)? };
                fast1: zero { $($define: $value,)? "KEEP_ROW": "1" };
                fast2: zero { $($define: $value,)? "KEEP_ROW": "2" };
                fast4: zero { $($define: $value,)? "KEEP_ROW": "4" };
                fast8: zero { $($define: $value,)? "KEEP_ROW": "8" };
                fast16: zero { $($define: $value,)? "KEEP_ROW": "16" }
            }
        }
    };
}

norm! {
    /// y[r, c] = epilogue((v - mean_r) / sqrt(var_r + eps) * gamma[c] + beta[c]), v = load(x[r, c]).
    ///
    /// Mean and biased variance of the row's v, the variance from differences to the mean. x lies at `r * x_row +
    /// c`, y at `r * n + c`. `gamma`, `beta`: 1 where the operand counts, else bind any. `vec` 1: n and x_row are
    /// multiples of four, and so are the offsets and row strides of the slots in slot_cols. `load` may store
    /// (residual sums): a stored slot must not be read by it. Slot s has element `slot_offset[s] + r * slot_row[s]
    /// + c * bit s of slot_cols`.
    pub struct LayerNorm = "layer_norm";
    beta 1;
    specs {}
    sums 2;
    defines {}
}

norm! {
    /// y[r, c] = epilogue(v / sqrt(mean_r(v^2) + eps) * gamma[c] + beta[c]), v = load(x[r, c]).
    ///
    /// Everything else as in `layer_norm`. `one_plus` 1: the factor is 1 + gamma. Without gamma it is 1.
    pub struct RmsNorm = "rms_norm";
    beta 0;
    specs { one_plus = 5: 0 }
    sums 1;
    defines { "RMS": "1" }
}
