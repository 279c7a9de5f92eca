//! Matmul kernels.

use crate::kernel;
use crate::kernel::KernelDecl;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[MatmulF32::DECL];

kernel! {
    /// y[b, m, n] = epilogue(sum over k of a[b, m, k] · b[b, k, n]), f32 sums.
    pub struct MatmulF32 = "matmul_f32" in "matmul/tile.comp";
    grid "ceil(m / BM) * ceil(n / BN) * batches * splits groups, folded; BM x BN is the variant's tile"
    ;
    args {
        m: u32, n: u32, k: u32, batches: u32, inner: u32, splits: u32, k_chunk: u32,
        a_at: u32, a_b0: u32, a_b1: u32, a_row: u32, a_col: u32,
        b_at: u32, b_b0: u32, b_b1: u32, b_row: u32, b_col: u32,
        y_at: u32, y_split: u32, y_b0: u32, y_b1: u32, y_row: u32,
        slot_at[4]: u32, slot_b0[4]: u32, slot_b1[4]: u32, slot_row[4]: u32, slot_col[4]: u32,
    }
    operands { a: read, b: read typed, y: write }
    slots 4;
    holes { epilogue: vec4 [v] (batch, row, col) stores }
    specs { a_mode = 0: 0, b_mode = 1: 0, k_tail = 2: 1, edge = 3: 1, vec_y = 4: 0 }
    variants {
        plain: zero { "BM": "32", "BN": "32", "BK": "16", "TM": "4", "TN": "4", "SK": "1", "WX": "8" };
        t32k4: zero { "BM": "32", "BN": "32", "BK": "16", "TM": "4", "TN": "4", "SK": "4", "WX": "8" };
        t64: zero { "BM": "64", "BN": "64", "BK": "16", "TM": "4", "TN": "4", "SK": "1", "WX": "8" };
        t128: zero { "BM": "128", "BN": "128", "BK": "16", "TM": "8", "TN": "8", "SK": "1", "WX": "8" }
    }
}
