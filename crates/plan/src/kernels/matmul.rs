//! Matmul kernels, and which of them a product takes.
//!
//! In come extents, layout and target; out goes a [`Choice`]. Operands, strides and holes are lowering's.

use crate::kernel;
use crate::kernel::KernelDecl;
use pumice_types::{ProductExtents, Target, slots};

/// The declarations of this family.
pub const DECLS: &[KernelDecl] =
    &[MatmulF32::DECL, MatmulF32Lanes::DECL, MatmulF32Dot::DECL, MatmulF32Columns::DECL];

const _: () = crate::kernel::have_slots(DECLS, slots::PRODUCT);

/// Declares a kernel that multiplies matrices: all of them take the same arguments, operands and slots.
macro_rules! product {
    (
        $(#[doc = $doc:literal])+
        pub struct $Call:ident = $name:literal in $file:literal;
        grid $grid:literal;
        specs { $($spec:ident = $id:literal : $default:literal),* }
        turns |$c:ident| $turns:expr;
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
            operands { a: read, b: read typed blocks, y: write }
            slots 4;
            holes { epilogue: vec4 [v] (batch, row, col) stores }
            specs { a_mode = 0: 0, b_mode = 1: 0, vec_y = 2: 0 $(, $spec = $id: $default)* }
            turns |$c| $turns;
            variants { $($variants)* }
        }
    };
}

product! {
    /// y[b, m, n] = epilogue(sum over k of a[b, m, k] · b[b, k, n]), f32 sums.
    ///
    /// Batch b is (b / inner, b % inner); each has its stride (`_b0`, `_b1`), 0 broadcasts. `at` and strides count
    /// elements; y and the slots' hole coordinates have consecutive columns. Modes say how an operand is read: 0 along
    /// k, 2 along its rows (a) or columns (b), in any strides; 1 and 3 the same, four elements at once, where that
    /// stride is 1 and its extent, the other strides and `at` are multiples of 4. `vec_y` 1: n, y's strides and `at`
    /// are multiples of 4.
    ///
    /// `k_tail` 0: k is a multiple of BK·SK; 2: k is at least BK; 1: any k. `edge` 0: m and n are multiples of BM and BN.
    /// A product whose k is cut is a product of more batches (see [`parts`]).
    ///
    /// NVIDIA H200, driver 580.159.04, 2026-11-21, medians of 9 behind 0.25 s of load, barrier between products, in
    /// TFLOPS (cuBLAS f32, b along n: 50.4 / 51.6 unaligned / 37.4 at 1024):
    /// t128: 4096 b along n 45.2, b along k 43.2, both with modes 0 and 2 (40.2 and 38.9 with 1 and 3: the quads that
    /// are fetched along k are copied before the products begin, and the copy waits for memory), 4095 x 4097 x 4093
    /// 42.8 and 43.3, 8192 40; with bias, gelu and residual in the hole 2.2 % less. t64x128: 1024 38.2 (128 tiles, one a
    /// multiprocessor; 27 at 4096, where two share one). t64 at 1024 33.3. 128 x 1152 x 384: plain 11.4 us (cuBLAS 9.9),
    /// 128 x 384 x 1536: t64 or plain split in 8 13.3 us with the reduction (cuBLAS 12.8).
    /// Level zero and full differ by less than 1 %.
    ///
    /// Where every group has a compute unit to itself and weights come from memory, not from the cache, a step waits
    /// 0.63 us for its operands: t32k4 has four in flight. In MiniLM at 128 tokens, the same device and day, us: 128 x 1152
    /// x 384 14.1 (plain 20.2), 128 x 384 x 384 10.5 (20.4), 128 x 1536 x 384 15.1 (21.7), 128 x 384 x 1536 24.6 (65.3).
    pub struct MatmulF32 = "matmul_f32" in "matmul/tile.comp";
    grid "ceil(m / BM) * ceil(n / BN) * batches groups, folded; BM x BN is the variant's tile";
    specs { k_tail = 3: 1, edge = 4: 1 }
    turns |c| {
        let (bm, bn, tm, tn) = (c.define("BM"), c.define("BN"), c.define("TM"), c.define("TN"));
        let (bk, slices) = (c.define("BK"), c.define("SK"));
        let steps = inside(each(c.k, bk.saturating_mul(slices)), each(bk, c.define("UK")));
        let pieces = quotient(tm, 4).saturating_mul(quotient(tn, 4));
        let threads = quotient(bn, tn).saturating_mul(quotient(bm, tm));
        after(steps, inside(each(pieces, 1), each(threads.saturating_mul(4), threads.saturating_mul(slices))))
    };
    variants {
        plain: zero { "BM": "32", "BN": "32", "BK": "16", "TM": "4", "TN": "4", "SK": "1", "WX": "8", "UK": "4", "BLOCKS": "1" };
        t16: zero { "BM": "16", "BN": "64", "BK": "16", "TM": "4", "TN": "4", "SK": "2", "WX": "8", "UK": "4", "BLOCKS": "1" };
        t32k4: zero needs [SharedMemory(36864)] {
            "BM": "32", "BN": "32", "BK": "16", "TM": "4", "TN": "4", "SK": "4", "WX": "8", "UK": "4", "BLOCKS": "1"
        };
        t64: zero { "BM": "64", "BN": "64", "BK": "16", "TM": "8", "TN": "4", "SK": "1", "WX": "8", "UK": "16" };
        t64x128: zero { "BM": "64", "BN": "128", "BK": "16", "TM": "8", "TN": "8", "SK": "1", "WX": "8", "UK": "16" };
        t128: zero needs [SharedMemory(33792)] {
            "BM": "128", "BN": "128", "BK": "16", "TM": "8", "TN": "8", "SK": "1", "WX": "8", "UK": "16"
        }
    }
}

product! {
    /// As `matmul_f32`, without shared memory, for CPUs.
    ///
    /// lavapipe (Mesa 22.3, 8 lanes, 2 threads, processor time halved, 2026-11-21): `plain` 1.3 ms at 256, 83 ms at 1024
    /// (26 GFLOPS; the 32 x 32 tile 5.3 ms and 320 ms); 32 rows a thread would give 33 GFLOPS for twice the compile
    /// time (0.6 s).
    pub struct MatmulF32Lanes = "matmul_f32_lanes" in "matmul/lanes.comp";
    grid "ceil(m / MR) * ceil(n / (32 * NQ)) * batches groups, folded";
    specs {}
    turns |c| after(each(c.k, 1), each(c.define("MR").saturating_mul(c.define("NQ")), 1));
    variants {
        plain: zero { "MR": "16", "NQ": "4", "BLOCKS": "1" };
        plain_small: zero { "MR": "8", "NQ": "1", "BLOCKS": "1" };
        plain_row: zero { "MR": "1", "NQ": "1", "BLOCKS": "1" }
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
        // Of the loops over four and over eight elements at once one is not taken.
        let terms = if quads { after(each(c.k, 4 * 128), 1) } else { each(c.k, 128) };
        let outputs = c.define("NQ").saturating_mul(c.define("MM")).saturating_mul(4);
        after(terms, each(quotient(128, outputs), 1).saturating_mul(4))
    };
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
    /// As `matmul_f32`, for few rows and a `b` that lies along n. `quads`, a power of two up to 128, is how many quads of
    /// columns a group has: the fewer, the more groups and the shorter the pieces of memory it reads.
    ///
    /// H200, 2026-11-21, [1 x 14336] x [14336 x 4096] f32: 60.5 us (3.9 TB/s) with 8 quads and k in 8 parts, their
    /// sum included; in one 139 us with 4 quads, 234 with 8.
    pub struct MatmulF32Columns = "matmul_f32_columns" in "matmul/columns.comp";
    grid "ceil(m / MM) * ceil(n / (4 * quads)) * batches groups, folded";
    specs { quads = 3: 8 }
    turns |c| {
        let (rows, ahead, lanes) = (c.define("MM"), c.define("AHEAD"), quotient(128, c.quads));
        let terms = after(each(c.k, ahead.saturating_mul(lanes)), each(ahead, 1));
        after(terms, inside(each(rows.saturating_mul(c.quads), 128), each(lanes, 1)))
    };
    variants {
        plain: zero { "MM": "1", "AHEAD": "8" };
        plain_m4: zero { "MM": "4", "AHEAD": "4" };
        plain_m8: zero { "MM": "8", "AHEAD": "4" }
    }
}

/// Which kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// [`MatmulF32`].
    Tile,
    /// [`MatmulF32Lanes`].
    Lanes,
    /// [`MatmulF32Dot`].
    Dot,
    /// [`MatmulF32Columns`] with this many quads.
    Columns(u32),
}

/// The kernel form a product takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Which kernel.
    pub class: Class,
    /// Which variant of it.
    pub variant: &'static str,
    /// Rows of the result a group makes.
    pub rows: u64,
    /// Columns of the result a group makes.
    pub columns: u64,
    /// Terms of k that one step takes; `k_tail` is 0 where k is a multiple of it.
    pub step: u64,
    /// Least k for `k_tail` 2.
    pub least_k: u64,
    /// Modes 1 and 3 lose to 0 and 2.
    pub scalar: bool,
}

/// One tile size: time of a step of 16 k for one group that has a compute unit to itself, and for each of many, in
/// microseconds on the H200 (2026-11-21). `alone` of the 64 x 64 tile is measured with warm caches and raised by a quarter.
struct Tile {
    variant: &'static str,
    rows: u64,
    columns: u64,
    alone: f64,
    crowded: f64,
    shared: u64,
    /// Terms of k that one step of all slices takes.
    step: u64,
    scalar: bool,
    /// Whether its operands may be in blocks.
    blocks: bool,
}

const TILES: [Tile; 5] = [
    Tile {
        variant: MatmulF32::plain,
        rows: 32,
        columns: 32,
        alone: 0.63,
        crowded: 0.18,
        shared: 0,
        step: 16,
        scalar: false,
        blocks: true,
    },
    Tile {
        variant: MatmulF32::t32k4,
        rows: 32,
        columns: 32,
        alone: 0.2,
        crowded: 0.2,
        shared: 36864,
        step: 64,
        scalar: false,
        blocks: true,
    },
    Tile {
        variant: MatmulF32::t64,
        rows: 64,
        columns: 64,
        alone: 0.7,
        crowded: 0.55,
        shared: 0,
        step: 16,
        scalar: false,
        blocks: false,
    },
    Tile {
        variant: MatmulF32::t64x128,
        rows: 64,
        columns: 128,
        alone: 0.84,
        crowded: 1.24,
        shared: 0,
        step: 16,
        scalar: false,
        blocks: false,
    },
    Tile {
        variant: MatmulF32::t128,
        rows: 128,
        columns: 128,
        alone: 1.53,
        crowded: 1.53,
        shared: 33792,
        step: 16,
        scalar: true,
        blocks: false,
    },
];

/// Rows up to which a product is made of dot products or column sums.
const FEW_ROWS: u64 = 8;

/// The form for a product on a target: the fastest, or one whose loops end by themselves where those of the fastest would
/// be ended by the driver.
pub fn choose(product: &ProductExtents, target: &Target) -> Choice {
    let p = ProductExtents {
        m: product.m.max(1),
        n: product.n.max(1),
        batches: product.batches.max(1),
        ..*product
    };
    let best = fastest(&p, target);
    let ends = |c: &Choice| target.limits.lets_turn(turns(c, p.k));
    if ends(&best) {
        return best;
    }
    shared_k(&p).into_iter().find(ends).unwrap_or(best)
}

/// Turns of a chosen kernel over k terms.
fn turns(choice: &Choice, k: u64) -> u64 {
    let of = |decl: KernelDecl, quads: &[(&str, u64)]| {
        let numbers: Vec<(&str, u64)> = std::iter::once(("k", k)).chain(quads.iter().copied()).collect();
        decl.turns_of(choice.variant, &numbers)
    };
    match choice.class {
        Class::Tile => of(MatmulF32::DECL, &[]),
        Class::Lanes => of(MatmulF32Lanes::DECL, &[]),
        Class::Dot => of(MatmulF32Dot::DECL, &[]),
        Class::Columns(quads) => of(MatmulF32Columns::DECL, &[("quads", quads.into())]),
    }
}

/// Forms that share k among the threads of a group, from those that share it least.
fn shared_k(p: &ProductExtents) -> Vec<Choice> {
    let (at, rows) = row_class(p.m);
    let words = [MatmulF32Dot::plain, MatmulF32Dot::plain_m4, MatmulF32Dot::plain_m8];
    let native = [MatmulF32Dot::native, MatmulF32Dot::native_m4, MatmulF32Dot::native_m8];
    let dot = if p.b_blocks { native } else { words }[at];
    let columns = [MatmulF32Columns::plain, MatmulF32Columns::plain_m4, MatmulF32Columns::plain_m8][at];
    let choice = |class, variant, columns| Choice {
        class,
        variant,
        rows,
        columns,
        step: 4,
        least_k: 0,
        scalar: false,
    };
    let along_k = p.b_along_k.then(|| choice(Class::Dot, dot, 4));
    // What lies in blocks lies along k, and column sums do not read it.
    let quads = if p.b_blocks { [].as_slice() } else { &[8, 4, 2, 1] };
    let quads = quads.iter().map(|&q| choice(Class::Columns(q), columns, 4 * u64::from(q)));
    along_k.into_iter().chain(quads).collect()
}

fn fastest(p: &ProductExtents, target: &Target) -> Choice {
    if target.features.cpu {
        return lanes(p);
    }
    let units = u64::from(target.tuning.compute_units.max(1));
    if p.m <= FEW_ROWS {
        return few_rows(p, units);
    }
    if p.m <= 2 * FEW_ROWS {
        return sixteen_rows(p, units);
    }
    tiles(p, target, units).1
}

/// Large tiles only for products of many rows: LLVM takes ten times as long for one, several seconds for a sentence's. None
/// for a `b` that is decoded: a tile has a copy of the decoding for each of its columns.
fn lanes(p: &ProductExtents) -> Choice {
    let (variant, rows, columns) = if p.m <= 2 {
        (MatmulF32Lanes::plain_row, 1, 32)
    } else if !p.b_words || p.m <= 32 || p.n < 64 || p.m * p.n * p.batches * p.k.max(1) < 1 << 21 {
        (MatmulF32Lanes::plain_small, 8, 32)
    } else {
        (MatmulF32Lanes::plain, 16, 128)
    };
    Choice { class: Class::Lanes, variant, rows, columns, step: 1, least_k: 0, scalar: false }
}

/// Which of the variants for few rows, and how many rows it makes.
fn row_class(m: u64) -> (usize, u64) {
    match m {
        1 => (0, 1),
        2..=4 => (1, 4),
        _ => (2, 8),
    }
}

fn few_rows(p: &ProductExtents, units: u64) -> Choice {
    let (at, rows) = row_class(p.m);
    if p.b_along_k {
        let words = [MatmulF32Dot::plain, MatmulF32Dot::plain_m4, MatmulF32Dot::plain_m8];
        let halves = [MatmulF32Dot::native, MatmulF32Dot::native_m4, MatmulF32Dot::native_m8];
        let variant = if p.b_words { words } else { halves }[at];
        return Choice { class: Class::Dot, variant, rows, columns: 4, step: 4, least_k: 0, scalar: false };
    }
    let variant = [MatmulF32Columns::plain, MatmulF32Columns::plain_m4, MatmulF32Columns::plain_m8][at];
    let quads = if few_row_groups(p) < 2 * units { 4 } else { 8 };
    let (class, columns) = (Class::Columns(quads), 4 * u64::from(quads));
    Choice { class, variant, rows, columns, step: 4, least_k: 0, scalar: false }
}

/// Groups of a product of few rows, with eight quads of columns each where they are summed.
fn few_row_groups(p: &ProductExtents) -> u64 {
    let columns = if p.b_along_k { 4 } else { 32 };
    p.m.div_ceil(row_class(p.m).1) * p.batches * p.n.div_ceil(columns)
}

fn sixteen_rows(p: &ProductExtents, units: u64) -> Choice {
    let groups = p.n.div_ceil(64) * p.batches;
    if groups < units && p.k >= 512 {
        return few_rows(p, units);
    }
    let (variant, rows, columns) = (MatmulF32::t16, 16, 64);
    Choice { class: Class::Tile, variant, rows, columns, step: 32, least_k: 16, scalar: false }
}

/// The fastest tile, with its time in microseconds besides what every product takes.
fn tiles(p: &ProductExtents, target: &Target, units: u64) -> (f64, Choice) {
    let mut best = (f64::INFINITY, of_tile(&TILES[0], p.b_words));
    let reads = |t: &&Tile| t.blocks || !p.b_blocks;
    let fits =
        |t: &&Tile| t.shared <= target.limits.max_shared_memory.0 && (t.step == 16 || p.k >= 2 * t.step);
    for tile in TILES.iter().filter(fits).filter(reads) {
        let groups = p.m.div_ceil(tile.rows) * p.n.div_ceil(tile.columns) * p.batches;
        let waves = groups.div_ceil(units) as f64;
        let step = if waves > 1.0 { tile.alone.max(waves * tile.crowded) } else { tile.alone };
        let time = p.k.div_ceil(16) as f64 * step;
        if time < best.0 {
            best = (time, of_tile(tile, p.b_words));
        }
    }
    best
}

fn of_tile(tile: &Tile, b_words: bool) -> Choice {
    Choice {
        class: Class::Tile,
        variant: tile.variant,
        rows: tile.rows,
        columns: tile.columns,
        step: tile.step,
        least_k: 16,
        scalar: tile.scalar && b_words,
    }
}

/// Into which of these numbers of parts the k of a product is best cut (split-K): the parts are as many products side by
/// side, added where they are read (`merged`) or by a step of its own. `allowed` ascends, begins with 1 and divides k.
pub fn parts(product: &ProductExtents, allowed: &[u64], merged: bool, target: &Target) -> u64 {
    let units = u64::from(target.tuning.compute_units.max(1));
    let p = ProductExtents {
        m: product.m.max(1),
        n: product.n.max(1),
        batches: product.batches.max(1),
        ..*product
    };
    // On a CPU two or four groups are enough, and a part costs a pass over memory.
    if target.features.cpu {
        return 1;
    }
    if p.m <= 2 * FEW_ROWS {
        return few_row_parts(&p, allowed, merged, units);
    }
    let time = |s: u64| {
        let part = ProductExtents { k: p.k / s, batches: p.batches * s, ..p };
        let bytes = 4.0 * (p.m * p.n * p.batches * 2 * (s - 1)) as f64 / target.tuning.bytes_per_us;
        let merge = if merged || s == 1 { 0.0 } else { target.tuning.level_us + 1.0 };
        tiles(&part, target, units).0 + bytes + merge
    };
    // More parts must save a twentieth, a step more three tenths: the model is not better than that.
    let (terms, saving) = if merged { (128, 0.95) } else { (512, 0.7) };
    let fewer = |best: u64, s: u64| if time(s) < saving * time(best) { s } else { best };
    allowed.iter().copied().filter(|s| p.k >= terms * s).fold(1, fewer)
}

/// The fewest parts that keep the compute units busy, each with enough terms to be worth a group.
fn few_row_parts(p: &ProductExtents, allowed: &[u64], merged: bool, units: u64) -> u64 {
    let (groups, wanted, terms) = match (p.m <= FEW_ROWS, p.b_along_k) {
        (true, true) => (few_row_groups(p), units, 2048),
        (true, false) => (few_row_groups(p), 4 * units, 256),
        (false, _) => (p.n.div_ceil(64) * p.batches, 2 * units, 256),
    };
    // Below this a step more costs what it saves (H200: 10 ns a term of one column sum).
    if !merged && p.k < 1024 {
        return 1;
    }
    let enough = |s: &u64| *s == 1 || p.k >= terms * s;
    let mut worth = allowed.iter().copied().filter(enough);
    worth.clone().find(|s| groups * s >= wanted).or(worth.next_back()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(m: u64, n: u64, k: u64) -> ProductExtents {
        ProductExtents { m, n, k, batches: 1, b_along_k: true, b_words: true, b_blocks: false }
    }

    fn pick(m: u64, n: u64, k: u64) -> &'static str {
        choose(&product(m, n, k), &Target::h200()).variant
    }

    fn cut(m: u64, n: u64, k: u64, merged: bool) -> u64 {
        parts(&product(m, n, k), &[1, 2, 3, 4, 6, 8], merged, &Target::h200())
    }

    /// The measured winners.
    #[test]
    fn h200_takes_what_was_fastest() {
        assert_eq!(pick(4096, 4096, 4096), "t128");
        assert_eq!(pick(1024, 1024, 1024), "t64x128");
        assert_eq!(pick(128, 1152, 384), "t32k4");
        assert_eq!(pick(128, 1536, 384), "t32k4");
        assert_eq!(pick(128, 384, 1536), "t32k4");
        assert_eq!(pick(128, 384, 100), "plain");
        assert_eq!(pick(4096, 1152, 384), "t128");
        assert_eq!(pick(4096, 384, 1536), "t128");
        assert_eq!(pick(4096, 1536, 384), "t128");
        assert_eq!(pick(16, 4096, 4096), "plain_m8");
        assert_eq!(pick(1, 4096, 14336), "plain");
    }

    /// k is cut where the result alone keeps too little of the device busy, and where the merge is worth its time.
    #[test]
    fn k_is_cut_where_the_grid_is_small() {
        assert!(cut(128, 384, 1536, true) > 1);
        assert_eq!(cut(128, 384, 384, false), 1);
        assert_eq!(cut(4096, 384, 1536, true), 4);
        assert_eq!(cut(4096, 384, 1536, false), 1);
        assert_eq!(cut(4096, 4096, 4096, true), 1);
        assert_eq!(cut(16, 4096, 4096, true), 6);
        assert_eq!(cut(1, 4096, 14336, true), 1);
        assert_eq!(parts(&product(128, 384, 1536), &[1, 2, 4], true, &Target::lavapipe()), 1);
        let columns = ProductExtents { b_along_k: false, ..product(1, 4096, 14336) };
        assert_eq!(parts(&columns, &[1, 2, 4, 8], false, &Target::h200()), 8);
    }

    /// Where a thread of its own would walk k too long for the driver, the threads of a group share it.
    #[test]
    fn long_k_is_shared() {
        let cpu = Target::lavapipe();
        let class = |m, k, b_along_k| {
            let p = ProductExtents { b_along_k, ..product(m, 40, k) };
            let c = choose(&p, &cpu);
            assert!(turns(&c, k) <= 65_535 || k > 1 << 26, "{c:?}");
            c.class
        };
        assert_eq!((class(4, 65_525, true), class(4, 65_526, true)), (Class::Lanes, Class::Dot));
        assert_eq!((class(4, 65_525, false), class(4, 65_526, false)), (Class::Lanes, Class::Columns(8)));
        assert_eq!(
            (class(100, 3_000_000, true), class(100, 3_000_000, false)),
            (Class::Dot, Class::Columns(8))
        );
        assert_eq!(
            (class(1, 1 << 24, true), class(1, 1 << 24, false)),
            (Class::Columns(2), Class::Columns(2))
        );
        // More than a tensor can have: what no kernel can is refused by name.
        assert_eq!(class(1, 1 << 40, false), Class::Lanes);
        // A GPU's own choice on a driver with such a limit, and without.
        let mut limited = Target::h200();
        limited.limits.loop_turns = cpu.limits.loop_turns;
        let long = product(4096, 4096, 1 << 20);
        assert_eq!(choose(&long, &limited).class, Class::Dot);
        assert_eq!(choose(&long, &Target::h200()).class, Class::Tile);
    }

    /// Where a tile needs more shared memory than there is, the others serve.
    #[test]
    fn shared_memory_is_respected() {
        let mut target = Target::h200();
        target.limits.max_shared_memory = pumice_types::Bytes(32 << 10);
        assert_ne!(choose(&product(4096, 4096, 4096), &target).variant, "t128");
    }

    /// Every chosen variant exists and makes the tile that the choice states.
    #[test]
    fn choices_agree_with_declarations() {
        for target in [Target::h200(), Target::lavapipe()] {
            for m in [1, 2, 3, 5, 8, 9, 16, 17, 40, 128, 500, 4096] {
                for n in [1, 7, 64, 384, 4096] {
                    for (k, b_along_k, b_words) in [(0, true, true), (5, false, true), (4096, true, false)] {
                        let p =
                            ProductExtents { m, n, k, batches: 1, b_along_k, b_words, b_blocks: !b_words };
                        agrees(&choose(&p, &target), &p);
                    }
                }
            }
        }
    }

    fn agrees(c: &Choice, p: &ProductExtents) {
        let (decl, rows, columns) = match c.class {
            Class::Tile => (MatmulF32::DECL, "BM", "BN"),
            Class::Lanes => (MatmulF32Lanes::DECL, "MR", "NQ"),
            Class::Dot => (MatmulF32Dot::DECL, "MM", "NQ"),
            Class::Columns(_) => (MatmulF32Columns::DECL, "MM", "MM"),
        };
        let variant = decl.variants.iter().find(|v| v.name == c.variant).expect("declared");
        assert!(!p.b_blocks || variant.reads_blocks(), "{p:?} by {}", c.variant);
        let define = |name: &str| -> u64 {
            variant.defines.iter().find(|d| d.0 == name).and_then(|d| d.1.parse().ok()).expect("a number")
        };
        assert_eq!(c.rows, define(rows), "{p:?}");
        match c.class {
            Class::Tile => {
                assert_eq!(c.columns, define(columns));
                assert_eq!(c.step, define("BK") * define("SK"));
            }
            Class::Lanes => assert_eq!(c.columns, 32 * define(columns)),
            Class::Dot => assert_eq!(c.columns, 4 * define(columns)),
            Class::Columns(quads) => assert_eq!(c.columns, 4 * u64::from(quads)),
        }
    }
}
