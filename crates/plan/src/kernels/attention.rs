//! Attention kernels. Which of them an attention takes is the compiler's to say (`compile/src/select/attention.rs`).

use super::tiles::units_precision;
use crate::kernel;
use crate::kernel::KernelDecl;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[
    Attention::DECL,
    AttentionUnits::DECL,
    AttentionLanes::DECL,
    AttentionSplit::DECL,
    AttentionParts::DECL,
    AttentionMerge::DECL,
    AttentionExtended::DECL,
    AttentionMergeExtended::DECL,
];

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

/// Where the place of the first query comes from.
pub mod place {
    /// It follows from the length, or is 0.
    pub const NONE: u32 = 0;
    /// The argument `first_place`.
    pub const ARG: u32 = 1;
    /// Word `b * first_place_b` of the operand `offsets`.
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
        $(more { args { $($args:tt)* } operands { $($operands:tt)* } })?
        holes { $($holes:tt)* }
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
                batches: u32, hq: u32, group: u32, sq: u32, sk: u32, d: u32, dv: u32,
                q { at, b, h, row: u32 }, k { at, b, h, row: u32 }, v { at, b, h, row: u32 }, y { b, h, row: u32 },
                mask { at, b, h, row, col: u32 }, mask_len: u32,
                scale: f32, softcap: f32, left: i32, right: i32, kv_len: i32, len_b: u32, $($($args)*)?
            }
            operands { q: read factor, k: read typed factor, v: read typed factor, mask: read, lens: read, y: write $(, $($operands)*)? }
            slots 0;
            holes { $($holes)* }
            specs { vec = 0: 0, mask_kind = 1: 0, length = 2: 0, capped = 3: 0, round = 5: 0 $(, $spec = $id: $default)* }
            trip_count |$c| $trip_count;
            roles |$r| $roles;
            variants { $($variants)* }
        }
    };
}

attention! {
    /// y[b, h, i] = sum over keys j of softmax(s)[j] · v[b, h / group, j], s[j] = scale · ⟨q[b, h, i], k[b, h / group,
    /// j]⟩.
    ///
    /// Element d of row i lies at `at + b * _b + h * _h + i * _row + d`; y has no `at`. Query i sees key j where j <
    /// total, i + offset - left <= j <= i + offset + right (each only where it is not negative), and the mask allows
    /// it; total and offset follow from `length` (see there) and sk. With `capped` 1, s = softcap · tanh(s / softcap)
    /// before the mask is added. The mask has `mask_len` keys, those after are not allowed. A query that sees nothing
    /// gives zeros; keys and values that nobody sees are not read as values. Bits 0 to 3 of `vec`: q, k, v, y have
    /// all offsets, strides and widths divisible by four; bits 4 and 5: d, dv are multiples of the tile's columns.
    /// Without a mask or lengths bind q.
    pub struct Attention = "attention" in "attention/tile.comp";
    grid "ceil(sq / BQ) * ceil(dv / DP) * hq * batches groups, folded";
    holes { epilogue: vec4 [v] () }
    specs {}
    trip_count |c| {
        let (bq, bk, ch, cv) = (c.define("BQ"), c.define("BK"), c.define("CH"), c.define("CV"));
        let threads = c.define("TX").saturating_mul(c.define("TY"));
        let staged = |rows: u64, width: u64| each(quotient(rows.saturating_mul(width), 4), threads);
        let scores = after(after(staged(bq, ch), staged(bk, ch)), each(ch, 4));
        let values = after(staged(cv, c.define("DP")), each(cv, 4));
        let width = after(inside(each(c.d, ch), scores), each(c.d, 128).saturating_mul(2));
        let step = after(width, inside(each(bk, cv), values));
        let searched = only(c.mask_kind != 0, quotient(bq, c.define("TY")).saturating_mul(each(c.sk, 1)));
        let chains = each(c.sk, 128);
        let steps = after(inside(each(c.sk, bk), step), after(chains.saturating_mul(2), pairs(chains, 8)));
        after(steps, searched)
    };
    roles |c| tile(c.define("BQ"), c.define("DP"));
    variants {
        plain: zero { "BQ": "16", "BK": "64", "TX": "16", "TY": "4", "DP": "256", "CH": "32", "CV": "16", "AHEAD": "0" };
        plain_w64: zero { "BQ": "16", "BK": "64", "TX": "16", "TY": "4", "DP": "64", "CH": "32", "CV": "16", "AHEAD": "0" };
        plain_w128: zero { "BQ": "16", "BK": "64", "TX": "16", "TY": "4", "DP": "128", "CH": "32", "CV": "16", "AHEAD": "0" };
        q64_w64: zero needs [SharedMemory(37380)] {
            "BQ": "64", "BK": "64", "TX": "8", "TY": "16", "DP": "64", "CH": "32", "CV": "32", "AHEAD": "1", "NATIVE_EXP": "1", "NATIVE_HALF": "1"
        };
        q32_w128: zero {
            "BQ": "32", "BK": "64", "TX": "16", "TY": "8", "DP": "128", "CH": "32", "CV": "32", "AHEAD": "1", "NATIVE_EXP": "1", "NATIVE_HALF": "1"
        };
        q64_w128: zero needs [SharedMemory(37380)] {
            "BQ": "64", "BK": "64", "TX": "8", "TY": "16", "DP": "128", "CH": "32", "CV": "32", "AHEAD": "1", "NATIVE_EXP": "1", "NATIVE_HALF": "1"
        }
    }
}

attention! {
    /// As `attention`, with what few attentions have besides. A variant has the tile of that of `attention` of its
    /// name.
    ///
    /// The offset is what `place` says (see there). With `with_alibi` 1, alibi[h] · (j - i - offset) is added to the
    /// score, after the softcap. With `with_sinks` 1, sinks[h] is one more score of each query of head h, which
    /// weighs nothing: a query that sees nothing gives zeros then, too. With `with_lse` 1, lse of [b, h, i] gets m +
    /// ln of the sum of e^(s - m), the sink among them: -Inf where there is neither key nor sink. Operands that
    /// nothing reads are q, a result that nothing writes is y.
    pub struct AttentionExtended = "attention_extended" in "attention/tile.comp";
    grid "ceil(sq / BQ) * max(ceil(dv / DP), 1) * hq * batches groups, folded";
    more {
        args { first_place: i32, first_place_b: u32 }
        operands { offsets: read, sinks: read, alibi: read, lse: write }
    }
    holes { epilogue: vec4 [v] () }
    specs { place = 6: 0, with_sinks = 7: 0, with_alibi = 8: 0, with_lse = 9: 0 }
    trip_count |c| {
        let (bq, bk, ch, cv) = (c.define("BQ"), c.define("BK"), c.define("CH"), c.define("CV"));
        let threads = c.define("TX").saturating_mul(c.define("TY"));
        let staged = |rows: u64, width: u64| each(quotient(rows.saturating_mul(width), 4), threads);
        let scores = after(after(staged(bq, ch), staged(bk, ch)), each(ch, 4));
        let values = after(staged(cv, c.define("DP")), each(cv, 4));
        let width = after(inside(each(c.d, ch), scores), each(c.d, 128).saturating_mul(2));
        let step = after(width, inside(each(bk, cv), values));
        let searched = only(c.mask_kind != 0, quotient(bq, c.define("TY")).saturating_mul(each(c.sk, 1)));
        let chains = each(c.sk, 128);
        let steps = after(inside(each(c.sk, bk), step), after(chains.saturating_mul(2), pairs(chains, 8)));
        after(steps, searched)
    };
    roles |c| tile(c.define("BQ"), c.define("DP"));
    variants {
        plain: zero {
            "EXTENDED": "1", "BQ": "16", "BK": "64", "TX": "16", "TY": "4", "DP": "256", "CH": "32", "CV": "16", "AHEAD": "0"
        };
        plain_w64: zero {
            "EXTENDED": "1", "BQ": "16", "BK": "64", "TX": "16", "TY": "4", "DP": "64", "CH": "32", "CV": "16", "AHEAD": "0"
        };
        plain_w128: zero {
            "EXTENDED": "1", "BQ": "16", "BK": "64", "TX": "16", "TY": "4", "DP": "128", "CH": "32", "CV": "16", "AHEAD": "0"
        };
        q64_w64: zero needs [SharedMemory(37380)] {
            "EXTENDED": "1", "BQ": "64", "BK": "64", "TX": "8", "TY": "16", "DP": "64", "CH": "32", "CV": "32", "AHEAD": "1", "NATIVE_EXP": "1", "NATIVE_HALF": "1"
        };
        q32_w128: zero {
            "EXTENDED": "1", "BQ": "32", "BK": "64", "TX": "16", "TY": "8", "DP": "128", "CH": "32", "CV": "32", "AHEAD": "1", "NATIVE_EXP": "1", "NATIVE_HALF": "1"
        };
        q64_w128: zero needs [SharedMemory(37380)] {
            "EXTENDED": "1", "BQ": "64", "BK": "64", "TX": "8", "TY": "16", "DP": "128", "CH": "32", "CV": "32", "AHEAD": "1", "NATIVE_EXP": "1", "NATIVE_HALF": "1"
        }
    }
}

attention! {
    /// As `attention`, by matrix units: factors and weights rounded to f16, or with `BF16` to bf16 (T3); keys and
    /// values at most W wide.
    pub struct AttentionUnits = "attention_units" in "attention/units.comp";
    grid "ceil(sq / 64) * hq * batches groups, folded";
    holes { epilogue: vec4 [v] () }
    specs {}
    trip_count |c| {
        let fragments = quotient(c.define("W"), 16);
        let odd = inside(fragments, each(64, 1));
        let step = after(inside(each(c.sk, 64), odd), each(c.sk, 64).saturating_mul(fragments.saturating_mul(4)));
        after(after(step, fragments), only(c.mask_kind != 0, each(c.sk, 1)))
    };
    roles |c| {
        tile(64, c.define("W")).only("width", 0, c.define("W")).multiplies(units_precision(c.variant))
    };
    variants {
        f16_w32: full needs [CooperativeMatrix, Float16, SubgroupShuffle, SubgroupSize(32)] { "W": "32", "NATIVE_EXP": "1", "NATIVE_HALF": "1" };
        f16_w64: full needs [CooperativeMatrix, Float16, SubgroupShuffle, SubgroupSize(32)] { "W": "64", "NATIVE_EXP": "1", "NATIVE_HALF": "1" };
        f16_w128: full needs [CooperativeMatrix, Float16, SubgroupShuffle, SubgroupSize(32), SharedMemory(39940)] {
            "W": "128", "NATIVE_EXP": "1", "NATIVE_HALF": "1"
        };
        bf16_w32: full needs [CooperativeMatrixBf16, SubgroupShuffle, SubgroupSize(32)] {
            "BF16": "1", "W": "32", "NATIVE_EXP": "1", "NATIVE_HALF": "1"
        };
        bf16_w64: full needs [CooperativeMatrixBf16, SubgroupShuffle, SubgroupSize(32)] {
            "BF16": "1", "W": "64", "NATIVE_EXP": "1", "NATIVE_HALF": "1"
        };
        bf16_w128: full needs [CooperativeMatrixBf16, SubgroupShuffle, SubgroupSize(32), SharedMemory(39940)] {
            "BF16": "1", "W": "128", "NATIVE_EXP": "1", "NATIVE_HALF": "1"
        }
    }
}

attention! {
    /// As `attention`, without shared memory, for CPUs; keys at most W wide.
    ///
    /// `shuffle…`: each of the eight threads reads every eighth quad of a key and of a value, and shuffles hand them
    /// on; `…_row` for at most eight queries.
    pub struct AttentionLanes = "attention_lanes" in "attention/lanes.comp";
    grid "ceil(sq / (8 * ROWS)) * ceil(dv / W) * hq * batches groups, folded";
    holes { epilogue: vec4 [v] () }
    specs {}
    trip_count |c| {
        let searched = only(c.mask_kind != 0, c.define("ROWS").saturating_mul(each(c.sk, 1)));
        let chains = after(each(c.sk, 64).saturating_mul(3), each(c.sk, 64 * 64).saturating_mul(3));
        after(after(each(c.sk, c.define("KEYS")), chains), searched)
    };
    roles |c| tile(8 * c.define("ROWS"), c.define("W")).only("d", 0, c.define("W"));
    variants {
        w32: zero needs [Int64] { "W": "32", "ROWS": "8", "KEYS": "4", "WORDS64": "1" };
        w64: zero needs [Int64] { "W": "64", "ROWS": "4", "KEYS": "4", "WORDS64": "1" };
        w128: zero needs [Int64] { "W": "128", "ROWS": "2", "KEYS": "4", "WORDS64": "1" };
        shuffle_w32: zero needs [Int64, SubgroupShuffle, SubgroupSize(8)] {
            "W": "32", "ROWS": "8", "KEYS": "4", "WORDS64": "1", "SHUFFLE": "1"
        };
        shuffle_w64: zero needs [Int64, SubgroupShuffle, SubgroupSize(8)] {
            "W": "64", "ROWS": "4", "KEYS": "4", "WORDS64": "1", "SHUFFLE": "1"
        };
        shuffle_w128: zero needs [Int64, SubgroupShuffle, SubgroupSize(8)] {
            "W": "128", "ROWS": "2", "KEYS": "4", "WORDS64": "1", "SHUFFLE": "1"
        };
        shuffle_w32_row: zero needs [Int64, SubgroupShuffle, SubgroupSize(8)] {
            "W": "32", "ROWS": "1", "KEYS": "4", "WORDS64": "1", "SHUFFLE": "1"
        };
        shuffle_w64_row: zero needs [Int64, SubgroupShuffle, SubgroupSize(8)] {
            "W": "64", "ROWS": "1", "KEYS": "4", "WORDS64": "1", "SHUFFLE": "1"
        };
        shuffle_w128_row: zero needs [Int64, SubgroupShuffle, SubgroupSize(8)] {
            "W": "128", "ROWS": "1", "KEYS": "4", "WORDS64": "1", "SHUFFLE": "1"
        }
    }
}

attention! {
    /// As `attention`; keys and values at most W wide. The threads of a query are neighbours in one subgroup.
    pub struct AttentionSplit = "attention_split" in "attention/split.comp";
    grid "ceil(sq / BQ) * hq * batches groups, folded; BQ = 32 / LANES * ROWS";
    holes { epilogue: vec4 [v] () }
    specs {}
    trip_count |c| {
        let (bk, teams, keys) = (c.define("BK"), c.define("TEAMS"), c.define("KEYS"));
        let (lanes, rows) = (c.define("LANES"), c.define("ROWS"));
        // Doubling is not unrolled everywhere.
        let added = only(lanes > 1, rows.saturating_mul(keys).saturating_mul(halving(lanes)));
        let groups = inside(each(bk, teams.saturating_mul(keys)), added);
        let chains = each(c.sk, teams.saturating_mul(64));
        let keys = after(inside(each(c.sk, bk), groups), after(chains.saturating_mul(2), pairs(chains, 10)));
        let queries = quotient(32, lanes).saturating_mul(rows);
        let quads = queries.saturating_mul(quotient(c.define("W"), 4));
        let merged = quads.div_ceil(teams.saturating_mul(32).max(1));
        after(keys, only(c.mask_kind != 0, merged.saturating_mul(each(c.sk, 1))))
    };
    roles |c| {
        let queries = quotient(32, c.define("LANES"));
        tile(queries * c.define("ROWS"), c.define("W")).only("width", 0, c.define("W"))
    };
    variants {
        plain: zero {
            "W": "32", "LANES": "1", "ROWS": "1", "TEAMS": "4", "KEYS": "8", "BK": "64", "NATIVE_EXP": "1"
        };
        w32: zero needs [SubgroupShuffle, SubgroupSize(2)] {
            "W": "32", "LANES": "2", "ROWS": "1", "TEAMS": "8", "KEYS": "8", "BK": "64", "NATIVE_EXP": "1", "NATIVE_HALF": "1"
        };
        w64: zero needs [SubgroupShuffle, SubgroupSize(2)] {
            "W": "64", "LANES": "2", "ROWS": "1", "TEAMS": "4", "KEYS": "8", "BK": "32", "NATIVE_EXP": "1", "NATIVE_HALF": "1"
        }
    }
}

attention! {
    /// y[b, h, i, p] = (sum over the keys j of part p of e^(s[j] - m) · v[b, h / group, j], m, the sum without v, 0,
    /// 0), m the largest s[j] of the part; see `attention` for s and for which keys are allowed.
    ///
    /// Key j belongs to part (j / 64) % parts. A row of y has `dv + 4` elements, `parts` rows follow one another;
    /// `y_row` leads from query to query. A part without an allowed key has m = -Inf and the sum 0, one whose keys
    /// all score -Inf has the sum NaN. Up to ROWS of the group * sq rows that share a key head are made by one group;
    /// LANES neighbours in a subgroup share a key.
    pub struct AttentionParts = "attention_parts" in "attention/parts.comp";
    grid "parts * ceil(group * sq / ROWS) * hq / group * batches groups, folded; parts fastest";
    holes {}
    specs { parts = 4: 1 }
    trip_count |c| {
        let blocks = each(c.sk, 64u64.saturating_mul(c.parts));
        let teams = quotient(c.define("THREADS"), c.define("LANES"));
        let of_block = each(64, teams.saturating_mul(c.define("KEYS")));
        let chains = each(c.sk, teams.saturating_mul(64).saturating_mul(c.parts));
        let keys = after(inside(blocks, of_block), after(chains.saturating_mul(2), pairs(chains, 10)));
        after(keys, c.define("ROWS").saturating_mul(each(teams, 1)))
    };
    roles |c| tile(c.define("ROWS"), c.define("W")).only("width", 0, c.define("W"));
    variants {
        plain: zero {
            "W": "128", "LANES": "1", "THREADS": "32", "ROWS": "1", "KEYS": "1", "NATIVE_EXP": "1"
        };
        w64: zero needs [SubgroupShuffle, SubgroupSize(8)] {
            "W": "64", "LANES": "8", "THREADS": "128", "ROWS": "1", "KEYS": "4", "NATIVE_EXP": "1", "NATIVE_HALF": "1"
        };
        w64_r4: zero needs [SubgroupShuffle, SubgroupSize(8)] {
            "W": "64", "LANES": "8", "THREADS": "128", "ROWS": "4", "KEYS": "4", "NATIVE_EXP": "1", "NATIVE_HALF": "1"
        };
        w128: zero needs [SubgroupShuffle, SubgroupSize(8)] {
            "W": "128", "LANES": "8", "THREADS": "128", "ROWS": "1", "KEYS": "4", "NATIVE_EXP": "1", "NATIVE_HALF": "1"
        };
        w128_r4: zero needs [SubgroupShuffle, SubgroupSize(8)] {
            "W": "128", "LANES": "8", "THREADS": "128", "ROWS": "4", "KEYS": "2", "NATIVE_EXP": "1", "NATIVE_HALF": "1"
        };
        w256: zero needs [SubgroupShuffle, SubgroupSize(16)] {
            "W": "256", "LANES": "16", "THREADS": "128", "ROWS": "1", "KEYS": "4", "NATIVE_EXP": "1", "NATIVE_HALF": "1"
        };
        w256_r4: zero needs [SubgroupShuffle, SubgroupSize(16)] {
            "W": "256", "LANES": "16", "THREADS": "128", "ROWS": "4", "KEYS": "2", "NATIVE_EXP": "1", "NATIVE_HALF": "1"
        }
    }
}

/// Declares a kernel that makes one row of the parts of an attention.
macro_rules! merge {
    (
        $(#[doc = $doc:literal])+
        pub struct $Call:ident = $name:literal;
        operands { $($operands:tt)* }
        specs { $($spec:ident = $id:literal : $default:literal),* }
        variants { $($variants:tt)* }
    ) => {
        kernel! {
            $(#[doc = $doc])+
            pub struct $Call = $name in "attention/merge.comp";
            grid "batches * hq * sq groups of 256 threads, folded";
            args { batches: u32, hq: u32, sq: u32, parts: u32, dv: u32, y { b, h, row: u32 } }
            operands { x: read, y: write $($operands)* }
            slots 0;
            holes {}
            specs { quads = 0: 16 $(, $spec = $id: $default)* }
            trip_count |c| {
                let slices = quotient(256, c.quads);
                after(each(c.parts, slices.saturating_mul(4)), halving(slices))
            };
            variants { $($variants)* }
        }
    };
}

merge! {
    /// y[b, h, i] = the `parts` rows x[b, h, i, p] of `attention_parts` as one, dv a multiple of four.
    ///
    /// x is dense; element d of a row of y lies at `b * y_b + h * y_h + i * y_row + d`. `quads`, a power of two up to
    /// 64, is how many threads share the width, with a quad each; 256 / quads share the parts.
    pub struct AttentionMerge = "attention_merge";
    operands {}
    specs {}
    variants { plain: zero }
}

merge! {
    /// As `attention_merge`, with a sink and the logarithm of the sum as `attention_extended` has them.
    ///
    /// With `with_sinks` 1, a part whose keys all score -Inf, or NaN, gives its values as they are to a row that has
    /// no other.
    pub struct AttentionMergeExtended = "attention_merge_extended";
    operands { , sinks: read, lse: write }
    specs { with_sinks = 7: 0, with_lse = 9: 0 }
    variants { plain: zero { "EXTENDED": "1" } }
}
