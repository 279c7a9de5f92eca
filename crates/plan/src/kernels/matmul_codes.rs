//! Matmul kernels whose right operand is codes beside scales: those of `matmul.rs` with another loader
//! (`shaders/include/codes.glsl`).

use super::tiles::{tile_roles, tile_trip_count};
use crate::kernel;

/// Declares a product over codes: `product!` of `matmul.rs` with scales and zero points, and what the codes are.
macro_rules! product {
    (
        $(#[doc = $doc:literal])+
        pub struct $Call:ident = $name:literal in $file:literal;
        grid $grid:literal;
        specs { $($spec:ident = $id:literal : $default:literal),* }
        trip_count |$c:ident| $trip_count:expr;
        roles |$r:ident| $roles:expr;
        variants { $($variants:tt)* }
    ) => {
        kernel! {
            $(#[doc = $doc])+
            pub struct $Call = $name in $file;
            grid $grid;
            args {
                m: u32, n: u32, k: u32, batches: u32, inner: u32,
                a { at, b0, b1, row, col: u32 }, b { at, b0, b1, row, col: u32 }, y { at, b0, b1, row: u32 },
                slot(at, b0, b1, row, col: u32; 4),
                scales: u32,
            }
            operands { a: read factor, b: read factor, s: read, z: read, y: write }
            slots 4 in_place;
            holes { epilogue: vec4 [v] (batch, row, col) stores }
            specs {
                a_mode = 0: 0, b_mode = 1: 0, vec_y = 2: 0, round = 5: 0 $(, $spec = $id: $default)*,
                code_kind = 6: 1, scale_kind = 7: 11, zero_kind = 8: 15, code_round = 9: 0, code_shared = 10: 0,
                code_inner = 11: 1, code_extent = 12: 0, code_block = 13: 1, code_outer = 14: 0, code_axis = 15: 0,
                code_along = 16: 0
            }
            trip_count |$c| $trip_count;
            roles |$r| $roles;
            variants { $($variants)* }
        }
    };
}

product! {
    /// As `matmul_f32`, where element i of b is (code i − zero j) · scale j: with i = (o · `code_extent` + p) ·
    /// `code_inner` + c, j is o · `code_outer` + p / `code_block` · `code_axis` + c · `code_along`; an extent of 0 is
    /// one without end. Kinds are those of `kernel::codes`; `code_shared` 1: four neighbours from a multiple of four
    /// on have one scale. `scales` are there.
    pub struct MatmulCodes = "matmul_codes" in "matmul/tile.comp";
    grid "ceil(m / BM) * ceil(n / BN) * batches groups, folded; BM x BN is the variant's tile";
    specs { k_tail = 3: 1, edge = 4: 1 }
    trip_count |c| tile_trip_count(c.variant, c.k);
    roles |c| tile_roles(c.variant);
    variants {
        plain: zero { "BM": "32", "BN": "32", "BK": "16", "TM": "4", "TN": "4", "SK": "1", "WX": "8", "UK": "4", "CODES": "1" };
        t64: zero { "BM": "64", "BN": "64", "BK": "16", "TM": "8", "TN": "4", "SK": "1", "WX": "8", "UK": "16", "CHAINS_IN_REGISTERS": "1", "CODES": "1" }
    }
}

product! {
    /// As `matmul_f32_lanes`, over codes.
    pub struct MatmulCodesLanes = "matmul_codes_lanes" in "matmul/lanes.comp";
    grid "ceil(m / MR) * ceil(n / (32 * NQ)) * batches groups, folded";
    specs {}
    trip_count |c| {
        let (chains, sums) = (each(c.k, 64), each(c.k, 64 * 32));
        let terms = after(each(c.k, 1), after(chains.saturating_mul(3), sums.saturating_mul(3)));
        after(terms, each(c.define("MR").saturating_mul(c.define("NQ")), 1))
    };
    roles |c| tile(c.define("MR"), 32 * c.define("NQ")).steps(1, 0);
    variants {
        plain_small: zero { "MR": "8", "NQ": "1", "CODES": "1" };
        plain_row: zero { "MR": "1", "NQ": "1", "CODES": "1" }
    }
}

product! {
    /// As `matmul_f32_dot`, over codes.
    pub struct MatmulCodesDot = "matmul_codes_dot" in "matmul/dot.comp";
    grid "ceil(m / MM) * ceil(n / (4 * NQ)) * batches groups, folded";
    specs {}
    trip_count |c| {
        let quads = c.a_mode == 1 && c.b_mode == 1;
        let chain = if quads && c.define("MM") == 1 { 64 * 4 * 128 } else { 64 * 128 };
        let chains = each(c.k, chain);
        let terms = each(c.k, if quads { 4 * 128 } else { 128 });
        let terms = after(terms, after(chains.saturating_mul(3), pairs(chains, 16)));
        let outputs = c.define("NQ").saturating_mul(c.define("MM")).saturating_mul(4);
        after(terms, each(quotient(128, outputs), 1).saturating_mul(4))
    };
    roles |c| tile(c.define("MM"), 4 * c.define("NQ")).steps(4, 0).only("b_along_k", 1, 1);
    variants {
        plain: zero { "MM": "1", "NQ": "1", "CODES": "1" };
        plain_m4: zero { "MM": "4", "NQ": "1", "CODES": "1" };
        plain_m8: zero { "MM": "8", "NQ": "1", "CODES": "1" }
    }
}
