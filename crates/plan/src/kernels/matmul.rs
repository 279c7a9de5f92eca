//! Matmul kernels.

use crate::kernel;
use crate::kernel::KernelDecl;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[
    MatmulF32::DECL,
    MatmulF32Lanes::DECL,
    MatmulF32Dot::DECL,
    MatmulF32Columns::DECL,
    MatmulF32Reduce::DECL,
];

/// Declares a kernel that multiplies matrices: all of them take the same arguments, operands and slots.
macro_rules! product {
    (
        $(#[doc = $doc:literal])+
        pub struct $Call:ident = $name:literal in $file:literal;
        grid $grid:literal;
        specs { $($spec:ident = $id:literal : $default:literal),* }
        variants { $($variants:tt)* }
    ) => {
        kernel! {
            $(#[doc = $doc])+
            pub struct $Call = $name in $file;
            grid $grid;
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
            specs { a_mode = 0: 0, b_mode = 1: 0, vec_y = 2: 0 $(, $spec = $id: $default)* }
            variants { $($variants)* }
        }
    };
}

product! {
    /// y[b, m, n] = epilogue(sum over k of a[b, m, k] · b[b, k, n]), f32 sums.
    pub struct MatmulF32 = "matmul_f32" in "matmul/tile.comp";
    grid "ceil(m / BM) * ceil(n / BN) * batches * splits groups, folded; BM x BN is the variant's tile";
    specs { k_tail = 3: 1, edge = 4: 1 }
    variants {
        plain: zero { "BM": "32", "BN": "32", "BK": "16", "TM": "4", "TN": "4", "SK": "1", "WX": "8", "UK": "4" };
        t32k4: zero { "BM": "32", "BN": "32", "BK": "16", "TM": "4", "TN": "4", "SK": "4", "WX": "8", "UK": "4" };
        t64: zero { "BM": "64", "BN": "64", "BK": "16", "TM": "4", "TN": "4", "SK": "1", "WX": "8", "UK": "4" };
        t128: zero { "BM": "128", "BN": "128", "BK": "16", "TM": "8", "TN": "8", "SK": "1", "WX": "8", "UK": "4" }
    }
}

product! {
    /// As `matmul_f32`, without shared memory.
    pub struct MatmulF32Lanes = "matmul_f32_lanes" in "matmul/lanes.comp";
    grid "ceil(m / MR) * ceil(n / (32 * NQ)) * batches groups, folded";
    specs {}
    variants {
        plain: zero { "MR": "16", "NQ": "4" };
        plain_small: zero { "MR": "8", "NQ": "1" };
        plain_row: zero { "MR": "1", "NQ": "1" }
    }
}

product! {
    /// As `matmul_f32`, for few rows and a `b` that lies along k.
    pub struct MatmulF32Dot = "matmul_f32_dot" in "matmul/dot.comp";
    grid "ceil(m / MM) * ceil(n / (4 * NQ)) * batches * splits groups, folded";
    specs {}
    variants {
        plain: zero { "MM": "1", "NQ": "1" };
        plain_m4: zero { "MM": "4", "NQ": "1" };
        plain_m8: zero { "MM": "8", "NQ": "2" }
    }
}

product! {
    /// As `matmul_f32`, for few rows and a `b` that lies along n.
    pub struct MatmulF32Columns = "matmul_f32_columns" in "matmul/columns.comp";
    grid "ceil(m / MM) * ceil(n / (4 * quads)) * batches * splits groups, folded";
    specs { quads = 3: 8 }
    variants {
        plain: zero { "MM": "1", "AHEAD": "8" };
        plain_m4: zero { "MM": "4", "AHEAD": "4" };
        plain_m8: zero { "MM": "8", "AHEAD": "4" }
    }
}

kernel! {
    /// y[b, m, n] = epilogue(sum over s, in order, of part[s, b, m, n]).
    pub struct MatmulF32Reduce = "matmul_f32_reduce" in "matmul/reduce.comp";
    grid "ceil(batches * m * ceil(n / 4) / 128) groups, folded";
    args {
        m: u32, n: u32, batches: u32, inner: u32, splits: u32, y_at: u32, y_b0: u32, y_b1: u32, y_row: u32,
        slot_at[4]: u32, slot_b0[4]: u32, slot_b1[4]: u32, slot_row[4]: u32, slot_col[4]: u32,
    }
    operands { part: read, y: write }
    slots 4;
    holes { epilogue: vec4 [v] (batch, row, col) stores }
    specs { vec_y = 2: 0 }
    variants { plain: zero }
}
