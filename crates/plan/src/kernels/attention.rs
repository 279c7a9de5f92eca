//! Attention kernels. Which of them an attention takes is the compiler's to say (`compile/src/select/attention.rs`).

use crate::kernel;
use crate::kernel::KernelDecl;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[Attention::DECL, AttentionLanes::DECL, AttentionSplit::DECL];

/// How a mask is read.
pub mod mask {
    /// There is none.
    pub const NONE: u32 = 0;
    /// A word a key: 0 where it is not allowed.
    pub const BOOL: u32 = 1;
    /// An f32 a key, added to the score; -Inf where it is not allowed.
    pub const FLOAT: u32 = 2;
}

/// Where the number of keys comes from.
pub mod length {
    /// All keys count; the offset is 0.
    pub const NONE: u32 = 0;
    /// The argument `kv_len`; the offset is `kv_len - sq`.
    pub const ARG: u32 = 1;
    /// Word `b * len_b` of the operand `lens`.
    pub const OPERAND: u32 = 2;
}

/// `left` and `right` without a window; any negative number is none.
pub const UNBOUNDED: i32 = -1;

/// Declares a kernel that computes attention: all of them take the same arguments and operands.
macro_rules! attention {
    (
        $(#[doc = $doc:literal])+
        pub struct $Call:ident = $name:literal in $file:literal;
        grid $grid:literal;
        turns |$c:ident| $turns:expr;
        variants { $($variants:tt)* }
    ) => {
        kernel! {
            $(#[doc = $doc])+
            pub struct $Call = $name in $file;
            grid $grid;
            args {
                batches: u32, hq: u32, group: u32, sq: u32, sk: u32, d: u32, dv: u32,
                q { at, b, h, row: u32 }, k { at, b, h, row: u32 }, v { at, b, h, row: u32 }, y { b, h, row: u32 },
                mask { at, b, h, row, col: u32 }, mask_len: u32,
                scale: f32, softcap: f32, left: i32, right: i32, kv_len: i32, len_b: u32,
            }
            operands { q: read, k: read typed, v: read typed, mask: read, lens: read, y: write }
            slots 0;
            holes { epilogue: vec4 [v] () }
            specs { vec = 0: 0, mask_kind = 1: 0, length = 2: 0, capped = 3: 0 }
            turns |$c| $turns;
            variants { $($variants)* }
        }
    };
}

attention! {
    /// y[b, h, i] = sum over keys j of softmax(s)[j] · v[b, h / group, j], s[j] = scale · ⟨q[b, h, i], k[b, h / group, j]⟩.
    ///
    /// Element d of row i lies at `at + b * _b + h * _h + i * _row + d`; y has no `at`. Query i sees key j where
    /// j < total, i + offset - left <= j <= i + offset + right (each only where it is not negative), and the mask allows
    /// it; total and offset follow from `length` (see there) and sk. With `capped` 1, s = softcap · tanh(s / softcap) before the mask is added. The mask
    /// has `mask_len` keys, those behind are not allowed. A query that sees nothing gives zeros; keys and values that
    /// nobody sees are not read as values. Bits 0 to 3 of `vec`: q, k, v, y have all offsets, strides and widths
    /// divisible by four; bits 4 and 5: d, dv are multiples of the tile's columns. Without a mask or lengths bind q.
    ///
    /// H200, 2026-11-21, a step of a chain, barrier included: 12 heads, 128 queries and keys of width 32 38 us, 32 such
    /// batches 244; 12 heads, 512 queries, causal, width 64 158; 32 heads over 8, the same, width 128 320 (`plain`; it
    /// adds up all 256 columns).
    pub struct Attention = "attention" in "attention/tile.comp";
    grid "ceil(sq / BQ) * ceil(dv / DP) * hq * batches groups, folded";
    turns |c| {
        let (bq, bk, ch, cv) = (c.define("BQ"), c.define("BK"), c.define("CH"), c.define("CV"));
        let threads = c.define("TX").saturating_mul(c.define("TY"));
        let staged = |rows: u64, width: u64| each(quotient(rows.saturating_mul(width), 4), threads);
        let scores = after(after(staged(bq, ch), staged(bk, ch)), each(ch, 4));
        let values = after(staged(cv, c.define("DP")), each(cv, 1));
        let step = after(inside(each(c.d, ch), scores), inside(each(bk, cv), values));
        let searched = only(c.mask_kind != 0, quotient(bq, c.define("TY")).saturating_mul(each(c.sk, 1)));
        after(inside(each(c.sk, bk), step), searched)
    };
    variants {
        plain: zero { "BQ": "16", "BK": "64", "TX": "16", "TY": "4", "DP": "256", "CH": "32", "CV": "16" };
        plain_w64: zero { "BQ": "16", "BK": "64", "TX": "16", "TY": "4", "DP": "64", "CH": "32", "CV": "16" };
        plain_w128: zero { "BQ": "16", "BK": "64", "TX": "16", "TY": "4", "DP": "128", "CH": "32", "CV": "16" }
    }
}

attention! {
    /// As `attention`, without shared memory, for CPUs; keys at most W wide.
    pub struct AttentionLanes = "attention_lanes" in "attention/lanes.comp";
    grid "ceil(sq / (8 * ROWS)) * ceil(dv / W) * hq * batches groups, folded";
    turns |c| {
        let searched = only(c.mask_kind != 0, c.define("ROWS").saturating_mul(each(c.sk, 1)));
        after(each(c.sk, c.define("KEYS")), searched)
    };
    variants {
        w32: zero needs [Int64] { "W": "32", "ROWS": "8", "KEYS": "4", "WORDS64": "1" };
        w64: zero needs [Int64] { "W": "64", "ROWS": "4", "KEYS": "4", "WORDS64": "1" };
        w128: zero needs [Int64] { "W": "128", "ROWS": "2", "KEYS": "4", "WORDS64": "1" }
    }
}

attention! {
    /// As `attention`; keys and values at most W wide. The threads of a query are neighbours in one subgroup.
    ///
    /// H200, driver 580.159.04, 2026-11-21, a step of a chain, barrier included, strided views of one product, lengths
    /// from memory: 12 heads, 128 queries and keys of width 32: `plain` 9.1 us, `w32` 7.1; 32 such batches: `plain`
    /// 54.8 us, `w32` 70.2. 12 heads, 512 queries, causal, width 64: `w64` 89 us or less. `w32` and `w64` had their
    /// queries in registers then, which cost `plain` 2.9 us in 32 batches and 22 registers. A pipeline takes 0.2 s.
    pub struct AttentionSplit = "attention_split" in "attention/split.comp";
    grid "ceil(sq / BQ) * hq * batches groups, folded; BQ = 32 / LANES * ROWS";
    turns |c| {
        let (bk, teams, keys) = (c.define("BK"), c.define("TEAMS"), c.define("KEYS"));
        let (lanes, rows) = (c.define("LANES"), c.define("ROWS"));
        // Doubling is not unrolled everywhere.
        let added = only(lanes > 1, rows.saturating_mul(keys).saturating_mul(halving(lanes)));
        let groups = inside(each(bk, teams.saturating_mul(keys)), added);
        let keys = inside(each(c.sk, bk), groups);
        let queries = quotient(32, lanes).saturating_mul(rows);
        let quads = queries.saturating_mul(quotient(c.define("W"), 4));
        let merged = quads.div_ceil(teams.saturating_mul(32).max(1));
        after(keys, only(c.mask_kind != 0, merged.saturating_mul(each(c.sk, 1))))
    };
    variants {
        plain: zero {
            "W": "32", "LANES": "1", "ROWS": "1", "TEAMS": "4", "KEYS": "8", "BK": "64", "NATIVE_EXP": "1"
        };
        w32: zero needs [SubgroupShuffle, SubgroupSize(2)] {
            "W": "32", "LANES": "2", "ROWS": "1", "TEAMS": "8", "KEYS": "8", "BK": "64", "NATIVE_EXP": "1"
        };
        w64: zero needs [SubgroupShuffle, SubgroupSize(2)] {
            "W": "64", "LANES": "2", "ROWS": "1", "TEAMS": "4", "KEYS": "8", "BK": "32", "NATIVE_EXP": "1"
        }
    }
}
