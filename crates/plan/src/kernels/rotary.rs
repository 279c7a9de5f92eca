//! Rotary position embedding.

use crate::kernel;
use crate::kernel::KernelDecl;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[Rotary::DECL];

/// `source` of [`Rotary`].
pub mod source {
    /// Row `positions[b, s]` of cos and sin, which have `table` rows; outside: zeros and INDEX_OUT_OF_RANGE.
    pub const TABLE_BY_POSITION: u32 = 0;
    /// Row `b * table + s` of cos and sin.
    pub const TABLE_BY_ROW: u32 = 1;
    /// Computed: the angle of pair i at integer position p is the fraction of `p * turns[i]`, turns as 64-bit fixed
    /// point.
    pub const COMPUTED: u32 = 2;
    /// The same, of turns over the factor of the pair, which is divided by when running.
    pub const COMPUTED_OVER_FACTORS: u32 = 3;
}

/// `position` of [`Rotary`]: where positions come from.
pub mod position {
    /// `base + s`.
    pub const BASE: u32 = 0;
    /// `positions[b * pos_batch + s]`, i32; with `per_row` 0, `s + positions[b * pos_batch]`.
    pub const I32: u32 = 1;
}

kernel! {
    /// y of [batch, seq, heads, dim], its first `n_rot` elements rotated by pairs, the rest copied.
    ///
    /// y1 = c x1 - s x2, y2 = s x1 + c x2; pair i is (i, i + n_rot/2), or (2i, 2i + 1) where `interleaved` is 1. x
    /// lies at `x_offset + b * x_batch + s * x_seq + h * x_head + d`, y at `b * y_batch + s * y_seq + h * y_head +
    /// d`. `source` and `position`: see the modules of those names. cos and sin have n_rot/2 columns; where computed,
    /// `cos` is the table of turns (two words each, low first: round(2^64 * theta^(-2i/n_rot) * scale / 2pi) mod
    /// 2^64) and `sin` x again, or the factors that they are over already; over factors when running `cos` has four
    /// words a pair (64 bits with the highest set, low word first, an exponent of two, 1 where negative) and `sin`
    /// the factors. `attn` is a factor of cos and sin. Without positions bind `x` again. Results go through
    /// `epilogue`, one element each.
    pub struct Rotary = "rotary" in "rotary/rotary.comp";
    grid "ceil(batch * seq * heads * (dim - n_rot / 2) / 256) groups of 256 threads, folded";
    args { batch: u32, seq: u32, heads: u32, x { offset, batch, seq, head: u32 }, y { batch, seq, head: u32 },
        base: i32, pos_batch: u32, table: u32, attn: f32, op: u32 }
    operands { x: read, cos: read, sin: read, positions: read, y: write, status: status }
    slots 0;
    holes { epilogue: float [v] (batch, row, head, col) }
    specs { interleaved = 0: 0, source = 1: 0, position = 2: 0, dim = 3: 64, n_rot = 4: 64, per_row = 5: 1 }
    trip_count |_| 0;
    variants { plain: zero }
}
