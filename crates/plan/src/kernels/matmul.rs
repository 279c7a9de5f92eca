//! Matmul kernels. Which of them a product takes is the compiler's to say (`compile/src/select/matmul.rs`).

use super::tiles::{tile_roles, tile_turns, tiles};
use crate::kernel;
use crate::kernel::KernelDecl;
use pumice_types::slots;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] =
    &[MatmulF32::DECL, MatmulF32Lanes::DECL, MatmulF32Dot::DECL, MatmulF32Columns::DECL];

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
        turns |$c:ident| $turns:expr;
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
            operands { a: read factor, b: read typed blocks factor, y: write }
            slots 4 in_place;
            holes { epilogue: vec4 [v] (batch, row, col) stores }
            specs { a_mode = 0: 0, b_mode = 1: 0, vec_y = 2: 0, round = 5: 0 $(, $spec = $id: $default)* }
            turns |$c| $turns;
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
    /// NVIDIA H200, driver 580.159.04, 2026-11-21, medians of 9 after 0.25 s of load, barrier between products, in
    /// TFLOPS (cuBLAS f32, b along n: 50.4 / 51.6 unaligned / 37.4 at 1024):
    /// t128: 4096 b along n 45.2, b along k 43.2, both with modes 0 and 2 (40.2 and 38.9 with 1 and 3: the quads that
    /// are fetched along k are copied before the products begin, and the copy waits for memory), 4095 x 4097 x 4093
    /// 42.8 and 43.3, 8192 40; with bias, gelu and residual in the hole 2.2 % less. t64x128: 1024 38.2 (128 tiles, one
    /// a multiprocessor; 27 at 4096, where two share one). t64 at 1024 33.3. 128 x 1152 x 384: plain 11.4 us (cuBLAS
    /// 9.9), 128 x 384 x 1536: t64 or plain split in 8 13.3 us with the reduction (cuBLAS 12.8). Level zero and full
    /// differ by less than 1 %.
    ///
    /// Variants with `UNITS` multiply factors rounded to f16 by matrix units (T3): a subgroup of 32 threads has WM x WN
    /// results in fragments of 16 x 16. Modes 0 and 2 read quads there, too, one element at a time.
    ///
    /// Where every group has a compute unit to itself and weights come from memory, not from the cache, a step waits
    /// 0.63 us for its operands: t32k4 has four in flight. In MiniLM at 128 tokens, the same device and day, us: 128 x
    /// 1152 x 384 14.1 (plain 20.2), 128 x 384 x 384 10.5 (20.4), 128 x 1536 x 384 15.1 (21.7), 128 x 384 x 1536 24.6
    /// (65.3).
    pub struct MatmulF32 = "matmul_f32" in "matmul/tile.comp";
    grid "ceil(m / BM) * ceil(n / BN) * batches groups, folded; BM x BN is the variant's tile";
    specs { k_tail = 3: 1, edge = 4: 1 }
    turns |c| tile_turns(c.variant, c.k);
    roles |c| tile_roles(c.variant);
} }

product! {
    /// As `matmul_f32`, without shared memory, for CPUs.
    ///
    /// lavapipe (Mesa 22.3, 8 lanes, 2 threads, processor time halved, 2026-11-21): `plain` 1.3 ms at 256, 83 ms at
    /// 1024 (26 GFLOPS; the 32 x 32 tile 5.3 ms and 320 ms); 32 rows a thread would give 33 GFLOPS for twice the
    /// compile time (0.6 s).
    ///
    /// `shuffle…`: each of the eight threads reads every eighth term of `a`, and shuffles hand them on. SmolLM2 (Q4_1),
    /// the same lavapipe on another two CPUs, old and new in turns, 2026-11-23: 8.7 tokens a second, 12.2 with
    /// shuffles; prompts 20 and 46.
    pub struct MatmulF32Lanes = "matmul_f32_lanes" in "matmul/lanes.comp";
    grid "ceil(m / MR) * ceil(n / (32 * NQ)) * batches groups, folded";
    specs {}
    turns |c| {
        let terms = if c.defines("SHUFFLE") { inside(each(c.k, 8), each(8, 1)) } else { each(c.k, 1) };
        let (chains, sums) = (each(c.k, 64), each(c.k, 64 * 32));
        let terms = after(terms, after(chains.saturating_mul(3), sums.saturating_mul(3)));
        after(terms, each(c.define("MR").saturating_mul(c.define("NQ")), 1))
    };
    roles |c| tile(c.define("MR"), 32 * c.define("NQ")).steps(1, 0);
    variants {
        plain: zero { "MR": "16", "NQ": "4", "BLOCKS": "1" };
        plain_small: zero { "MR": "8", "NQ": "1", "BLOCKS": "1" };
        plain_row: zero { "MR": "1", "NQ": "1", "BLOCKS": "1" };
        shuffle: zero needs [SubgroupShuffle, SubgroupSize(8)] { "MR": "16", "NQ": "4", "BLOCKS": "1", "SHUFFLE": "1" };
        shuffle_small: zero needs [SubgroupShuffle, SubgroupSize(8)] { "MR": "8", "NQ": "1", "BLOCKS": "1", "SHUFFLE": "1" };
        shuffle_row: zero needs [SubgroupShuffle, SubgroupSize(8)] { "MR": "1", "NQ": "1", "BLOCKS": "1", "SHUFFLE": "1" }
    }
}

product! {
    /// As `matmul_f32`, for few rows and a `b` that lies along k.
    ///
    /// H200, 2026-11-21, [1 x 14336] x [14336 x 4096]: f32 58.5 us (4.0 TB/s), bf16 31.8 (3.7), f16 54.9 with `plain`,
    /// 30.7 (3.8) with `native`. 4096 x 4096 f32: 4 rows 22.3 us, 8 rows 26.3, 16 rows 52.
    pub struct MatmulF32Dot = "matmul_f32_dot" in "matmul/dot.comp";
    grid "ceil(m / MM) * ceil(n / (4 * NQ)) * batches groups, folded";
    specs {}
    turns |c| {
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
    ///
    /// H200, 2026-11-21, [1 x 14336] x [14336 x 4096] f32: 60.5 us (3.9 TB/s) with 8 quads and k in 8 parts, their
    /// sum included; in one 139 us with 4 quads, 234 with 8.
    pub struct MatmulF32Columns = "matmul_f32_columns" in "matmul/columns.comp";
    grid "ceil(m / MM) * ceil(n / (4 * quads)) * batches groups, folded";
    specs { quads = 3: 8 }
    turns |c| {
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
