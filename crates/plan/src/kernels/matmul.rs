//! Matmul kernels. Which of them a product takes is the compiler's to say (`compile/src/select/matmul.rs`).

use super::matmul_codes::{MatmulCodes, MatmulCodesDot, MatmulCodesLanes};
use super::tiles::{tile_roles, tile_trip_count, tiles};
use crate::kernel;
use crate::kernel::KernelDecl;
use pumice_types::slots;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[
    MatmulF32::DECL,
    MatmulF32Lanes::DECL,
    MatmulF32DotLanes::DECL,
    MatmulF32Dot::DECL,
    MatmulF32Columns::DECL,
    MatmulCodes::DECL,
    MatmulCodesLanes::DECL,
    MatmulCodesDot::DECL,
];

const _: () = crate::kernel::have_slots(DECLS, slots::PRODUCT);
// Lowering writes results into states before it knows which of these a product takes.
const _: () = crate::kernel::have_slots_in_place(DECLS);

/// Declares a kernel that multiplies matrices: all of them take the same arguments, operands and slots.
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
            }
            operands { a: read typed factor, b: read typed blocks factor, y: write }
            slots 4 in_place;
            holes { epilogue: vec4 [v] (batch, row, col) stores }
            specs { a_mode = 0: 0, b_mode = 1: 0, vec_y = 2: 0, round = 5: 0 $(, $spec = $id: $default)* }
            trip_count |$c| $trip_count;
            roles |$r| $roles;
            variants { $($variants)* }
        }
    };
}

tiles! { stored product {
    /// y[b, m, n] = epilogue(sum over k of a[b, m, k] · b[b, k, n]), f32 sums.
    ///
    /// Batch b is (b / inner, b % inner); each has its stride (`_b0`, `_b1`), 0 broadcasts. `at` and strides count
    /// elements; y and the slots' hole coordinates have consecutive columns. Modes say how an operand is read: 0 along
    /// k, 2 along its rows (a) or columns (b), in any strides; 1 and 3 the same, four elements at once, where that
    /// stride is 1 and its extent, the other strides and `at` are multiples of 4. `vec_y` 1: n, y's strides and `at`
    /// are multiples of 4.
    ///
    /// `k_tail` 0: k is a multiple of BK·SK (of BK with `UNITS`); 2: k is at least BK; 1: any k. `edge` 0: m and n are
    /// multiples of BM and BN. A product whose k is cut is a product of more batches.
    ///
    /// Variants with `UNITS` multiply factors rounded to f16, or with `BF16` to bf16, by matrix units (T3): a subgroup
    /// of 32 threads has WM x WN results in fragments of 16 x 16. Modes 0 and 2 read quads there, too, one element at a
    /// time. Where every group has a compute unit to itself, a step waits for its operands: t32k4 has four in flight.
    pub struct MatmulF32 = "matmul_f32" in "matmul/tile.comp";
    grid "ceil(m / BM) * ceil(n / BN) * batches groups, folded; BM x BN is the variant's tile";
    specs { k_tail = 3: 1, edge = 4: 1 }
    trip_count |c| tile_trip_count(c.variant, c.k);
    roles |c| tile_roles(c.variant);
} }

product! {
    /// As `matmul_f32`, without shared memory, for CPUs.
    ///
    /// `shuffle…`: each of the eight threads reads two of sixteen neighbouring terms of `a`, and shuffles hand them
    /// on; what lies together is read 64 bits at a time.
    pub struct MatmulF32Lanes = "matmul_f32_lanes" in "matmul/lanes.comp";
    grid "ceil(m / MR) * ceil(n / (32 * NQ)) * batches groups, folded";
    specs {}
    trip_count |c| {
        let terms = if c.defines("SHUFFLE") { inside(each(c.k, 16), each(16, 1)) } else { each(c.k, 1) };
        let (chains, sums) = (each(c.k, 64), each(c.k, 64 * 32));
        let terms = after(terms, after(chains.saturating_mul(3), sums.saturating_mul(3)));
        after(terms, each(c.define("MR").saturating_mul(c.define("NQ")), 1))
    };
    roles |c| tile(c.define("MR"), 32 * c.define("NQ")).steps(1, 0);
    variants {
        plain: zero { "MR": "16", "NQ": "4" };
        plain_small: zero { "MR": "8", "NQ": "1", "BLOCKS": "1" };
        plain_row: zero { "MR": "1", "NQ": "1", "BLOCKS": "1" };
        shuffle: zero needs [Int64, SubgroupShuffle, SubgroupSize(8)] {
            "MR": "16", "NQ": "4", "SHUFFLE": "1", "WORDS64": "1"
        };
        shuffle_blocks: zero needs [Int64, SubgroupShuffle, SubgroupSize(8)] {
            "MR": "16", "NQ": "2", "BLOCKS": "1", "SHUFFLE": "1", "WORDS64": "1"
        };
        shuffle_small: zero needs [Int64, SubgroupShuffle, SubgroupSize(8)] {
            "MR": "8", "NQ": "1", "BLOCKS": "1", "SHUFFLE": "1", "WORDS64": "1"
        };
        shuffle_row: zero needs [Int64, SubgroupShuffle, SubgroupSize(8)] {
            "MR": "1", "NQ": "1", "BLOCKS": "1", "SHUFFLE": "1", "WORDS64": "1"
        }
    }
}

product! {
    /// As `matmul_f32_lanes`, for few rows and a `b` that lies along k.
    pub struct MatmulF32DotLanes = "matmul_f32_dot_lanes" in "matmul/dot_lanes.comp";
    grid "m * ceil(n / 32) * batches groups, folded";
    specs {}
    trip_count |c| {
        after(inside(each(c.k, 8 * 32), each(8, 1)), each(c.k, 32 * 8 * 32).saturating_mul(2))
    };
    roles |_c| tile(1, 32).steps(1, 0).only("b_along_k", 1, 1).only("k", 0, 1 << 19);
    variants {
        shuffle: zero needs [Int64, SubgroupShuffle, SubgroupSize(8)] { "BLOCKS": "1", "WORDS64": "1" }
    }
}

product! {
    /// As `matmul_f32`, for few rows and a `b` that lies along k.
    pub struct MatmulF32Dot = "matmul_f32_dot" in "matmul/dot.comp";
    grid "ceil(m / MM) * ceil(n / (4 * NQ)) * batches groups, folded";
    specs {}
    trip_count |c| {
        let quads = c.a_mode == 1 && c.b_mode == 1;
        // Steps of a chain: a quad is four terms of one output, or one of each of four chains.
        let chain = if quads && c.define("MM") == 1 { 64 * 4 * 128 } else { 64 * 128 };
        let chains = each(c.k, chain);
        // Of the loops over four and over eight elements at once one is not taken.
        let terms = each(c.k, if quads { 4 * 128 } else { 128 });
        let terms = after(terms, after(chains.saturating_mul(3), pairs(chains, 16)));
        let outputs = c.define("NQ").saturating_mul(c.define("MM")).saturating_mul(4);
        after(terms, each(quotient(128, outputs), 1).saturating_mul(4))
    };
    roles |c| tile(c.define("MM"), 4 * c.define("NQ")).steps(4, 0).only("b_along_k", 1, 1);
    variants {
        plain: zero { "MM": "1", "NQ": "1" };
        plain_m4: zero { "MM": "4", "NQ": "1" };
        plain_m8: zero { "MM": "8", "NQ": "1" };
        native: zero { "MM": "1", "NQ": "1", "NATIVE_HALF": "1", "BLOCKS": "1" };
        native_m4: zero { "MM": "4", "NQ": "1", "NATIVE_HALF": "1", "BLOCKS": "1" };
        native_m8: zero { "MM": "8", "NQ": "1", "NATIVE_HALF": "1", "BLOCKS": "1" }
    }
}

product! {
    /// As `matmul_f32`, for few rows and a `b` that lies along n. `quads`, a power of two up to 128, is how many quads
    /// of columns a group has: the fewer, the more groups and the shorter the pieces of memory it reads.
    pub struct MatmulF32Columns = "matmul_f32_columns" in "matmul/columns.comp";
    grid "ceil(m / MM) * ceil(n / (4 * quads)) * batches groups, folded";
    specs { quads = 3: 8 }
    trip_count |c| {
        let (rows, ahead, lanes) = (c.define("MM"), c.define("AHEAD"), quotient(128, c.quads));
        let chains = each(c.k, lanes.saturating_mul(64));
        let terms = after(each(c.k, ahead.saturating_mul(lanes)), each(ahead, 1));
        let terms = after(terms, after(chains.saturating_mul(2), pairs(chains, 16)));
        after(terms, inside(each(rows.saturating_mul(c.quads), 128), inside(each(lanes, 8), each(8, 1))))
    };
    roles |c| tile(c.define("MM"), 4 * c.quads).steps(4, 0).power("quads", "quads", 128);
    variants {
        plain: zero { "MM": "1", "AHEAD": "8" };
        plain_m4: zero { "MM": "4", "AHEAD": "4" };
        plain_m8: zero { "MM": "8", "AHEAD": "4" }
    }
}
