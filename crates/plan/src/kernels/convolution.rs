//! Convolutions of one to three spatial axes.
//!
//! Along each of three spatial axes (unused leading ones of one element, kernel 1) tap t of position o lies at
//! `o * step + t * dilation - begin` of the operand; what lies outside multiplies 0. A transposed convolution falls
//! into phases: the positions that have the same remainder by the stride `up`. Of each phase every `gap`-th tap takes
//! part, from a first one on, and from tap to tap of these the operand is `hop` elements on: with s what `up` and
//! dilation have in common, `gap` is up / s, `hop` is -dilation / s, and `inverse` · dilation / s is 1 modulo `gap`.

use super::tiles::{tile_roles, tile_trip_count, tiles};
use crate::kernel;
use crate::kernel::KernelDecl;
use crate::kernel::trip_count::{after, each, pairs};
use pumice_types::slots;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[
    ConvDirect::DECL,
    ConvLines::DECL,
    ConvShared::DECL,
    ConvTile::DECL,
    ConvSpread::DECL,
    ConvSpreadTile::DECL,
];

/// The largest stride of a transposed convolution: products of two numbers below it fit 31 bits.
pub const LARGEST_UP: u64 = 1 << 15;

const _: () = crate::kernel::have_slots(DECLS, slots::PRODUCT);
const _: () = crate::kernel::have_slots_in_place(DECLS);

/// Trips of a thread (`shaders/convolution/sums.glsl`) that adds so many terms for each of `rows` outputs, `unrolled`
/// of them in a trip.
fn direct_trip_count(terms: u64, rows: u64, unrolled: u64) -> u64 {
    let chains = each(terms, 128);
    let trip_count = after(each(terms, unrolled), chains.saturating_mul(2));
    after(after(trip_count, pairs(chains, 12)), each(rows, 1))
}

/// Of a phase, the most taps.
fn taps_of_a_phase(kernel: [u64; 3], gap: [u64; 3]) -> u64 {
    kernel.iter().zip(gap).fold(1, |n, (k, gap)| n.saturating_mul(k.div_ceil(gap.max(1))))
}

/// Declares a kernel that makes convolutions directly: all of them take the same arguments, operands and slots.
macro_rules! direct {
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
                batches: u32, groups: u32, channels: u32, outputs: u32,
                extent[3]: u32, kernel[3]: u32, out[3]: u32, step[3]: u32, dilation[3]: i32, begin[3]: i32,
                x { at, n, g, c, d, h, w: u32 }, w { at, g, o, c, tap: u32 }, y { at, n, g, o: u32 },
                slot(at, b0, b1, row, col: u32; 4),
            }
            operands { x: read factor, w: read typed factor, y: write }
            slots 4 in_place;
            holes { epilogue: vec4 [v] (batch, row, col) stores }
            specs { vec_y = 0: 0, round = 5: 0 $(, $spec = $id: $default)* }
            trip_count |$c| $trip_count;
            roles |$r| $roles;
            variants { $($variants)* }
        }
    };
}

direct! {
    /// y[n, g, o, p] = epilogue(sum over c < channels and taps t of w[g, o, c, t] · x[n, g, c, window(p, t)]), f32
    /// sums.
    ///
    /// p counts the positions `out`, t the taps `kernel`, both row by row. Strides count elements; y and the slots'
    /// hole coordinates (batch n · groups + g, row o, column p) have consecutive positions. `begin` and `dilation` are
    /// signed. `vec_y` 1: positions, y's strides and `at` are multiples of 4.
    pub struct ConvDirect = "conv_direct" in "convolution/direct.comp";
    grid "ceil(batches * groups * ceil(outputs / MR) * ceil(positions / 4) / 64) groups of 64 threads, folded";
    specs {}
    trip_count |c| {
        let terms = c.channels.saturating_mul(c.kernel.iter().fold(1, |n, k| n.saturating_mul(*k)));
        direct_trip_count(terms, c.define("MR"), c.define("UK"))
    };
    roles |c| tile(c.define("MR"), 4);
    variants {
        plain: zero { "MR": "4", "UK": "1" };
        plain_one: zero { "MR": "1", "UK": "4" }
    }
}

direct! {
    /// As `conv_direct`, for groups of few channels: of each line under the window a thread keeps the elements that its
    /// four positions need, SQ quads at most.
    ///
    /// The last axis has dilation 1; `taps_w` and `step_w` are its taps and its step. `vec_x` 1: x is read by quads:
    /// along that axis its elements lie side by side and are a multiple of 4, as are `at` and the other strides;
    /// `shift` is then what `begin` lacks of a multiple of 4, else 0. `vec_y` 1: that axis of the result, y's strides
    /// and `at` are multiples of 4.
    pub struct ConvLines = "conv_lines" in "convolution/lines.comp";
    grid "ceil(batches * groups * ceil(outputs / MR) * out0 * out1 * ceil(out2 / 4) / 64) groups of 64 threads, folded";
    specs { vec_x = 1: 0, taps_w = 2: 1, step_w = 3: 1, shift = 4: 0 }
    trip_count |c| {
        let lines = c.channels.saturating_mul(c.kernel[0]).saturating_mul(c.kernel[1]);
        // Whether a driver unrolls what it is told to is its own.
        let of_line = after(each(4 * c.define("SQ"), 1).saturating_mul(c.define("MR") + 1), c.define("SQ") * 6);
        let trip_count = inside(each(lines, 1), of_line);
        after(after(trip_count, pairs(lines, 12)), each(c.define("MR"), 1))
    };
    roles |c| tile(c.define("MR"), 4).by_lines().only("dilation_w", 0, 1).only("line", 0, 4 * c.define("SQ") - 3);
    variants {
        plain: zero { "MR": "4", "SQ": "10" };
        plain_two: zero { "MR": "2", "SQ": "10" };
        plain_one: zero { "MR": "1", "SQ": "10" }
    }
}

direct! {
    /// As `conv_direct`, for few results with many terms: a group of threads shares the terms of four positions of an
    /// output.
    pub struct ConvShared = "conv_shared" in "convolution/shared.comp";
    grid "batches * groups * outputs * ceil(positions / 4) groups of 256 threads, folded";
    specs {}
    trip_count |c| {
        let terms = c.channels.saturating_mul(c.kernel.iter().fold(1, |n, k| n.saturating_mul(*k))).div_ceil(256);
        let chains = each(terms, 128);
        let own = after(after(each(terms, 1), chains.saturating_mul(2)), pairs(chains, 12));
        after(own, halving(256))
    };
    roles |_c| tile(1, 4).shared_by(256);
    variants { plain: zero }
}

tiles! { sliced kernel {
    /// As `conv_direct`, as a product: rows are outputs, columns the positions
    /// of all batches, k channels and taps.
    ///
    /// a\[g, o, k\] is the weights: k is channel · taps + tap, or with `tap_major` tap · channels + channel, where
    /// channels are a multiple of BK. Hole coordinates are (group, output, column). `quads` 1: positions are a multiple
    /// of 4; `vec_y`: y's strides and `at`, too. `a_mode`, `k_tail` and `edge` are those of `matmul_f32`. Every extent
    /// is 1 at least.
    pub struct ConvTile = "conv_tile" in "convolution/tile.comp";
    grid "ceil(outputs / BM) * ceil(batches * positions / BN) * groups groups, folded; BM x BN is the variant's tile";
    args {
        batches: u32, groups: u32, channels: u32, outputs: u32,
        extent[3]: u32, out[3]: u32, step[3]: u32, dilation[3]: i32, begin[3]: i32,
        a { at, g, row, col: u32 }, b { at, n, g, c, d, h, w: u32 }, y { at, n, g, o: u32 },
        slot(at, b0, b1, row, col: u32; 4),
    }
    operands { a: read typed factor, b: read factor, y: write }
    slots 4 in_place;
    holes { epilogue: vec4 [v] (batch, row, col) stores }
    specs { a_mode = 0: 0, vec_y = 1: 0, quads = 2: 0, k_tail = 3: 1, edge = 4: 1, tap_major = 5: 0, kd = 6: 1, kh = 7: 1, kw = 8: 1, round = 9: 0 }
    trip_count |c| {
        let taps = c.kd.saturating_mul(c.kh).saturating_mul(c.kw);
        tile_trip_count(c.variant, c.channels.saturating_mul(taps))
    };
    roles |c| tile_roles(c.variant);
} }

/// Declares a kernel of transposed convolutions: all of them take the same arguments, operands and slots.
macro_rules! spread {
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
                batches: u32, groups: u32, channels: u32, outputs: u32,
                extent[3]: u32, kernel[3]: u32, out[3]: u32, begin[3]: u32,
                up[3]: u32, gap[3]: u32, hop[3]: i32, inverse[3]: u32,
                x { at, n, g, c, d, h, w: u32 }, w { at, g, o, c, tap: u32 }, y { at, n, g, o: u32 },
                slot(at, b0, b1, row, col: u32; 4),
            }
            operands { x: read factor, w: read typed factor, y: write }
            slots 4 in_place;
            holes { epilogue: vec4 [v] (batch, row, col) stores }
            specs { round = 5: 0 $(, $spec = $id: $default)* }
            trip_count |$c| $trip_count;
            roles |$r| $roles;
            variants { $($variants)* }
        }
    };
}

spread! {
    /// y[n, g, o, p] = epilogue(sum over c < channels and the taps t of p's phase of w[g, o, c, t] · x[n, g, c, i]),
    /// f32 sums: a transposed convolution. Where a phase has no tap, the sum is 0.
    ///
    /// p counts the positions `out`, t the taps `kernel`, both row by row; `begin` is what is cut off before p = 0.
    /// Strides count elements; y has consecutive positions. Hole coordinates are (group, output, number in the phase).
    /// There are min(up, out) phases along an axis, of at most ceil(out / up) positions.
    pub struct ConvSpread = "conv_spread" in "convolution/spread.comp";
    grid "ceil(batches * groups * ceil(outputs / MR) * phases * ceil(positions of the largest phase / 4) / 64) groups of 64 threads, folded";
    specs {}
    trip_count |c| {
        let terms = c.channels.saturating_mul(taps_of_a_phase(c.kernel, c.gap));
        direct_trip_count(terms, c.define("MR"), c.define("UK"))
    };
    roles |c| tile(c.define("MR"), 4);
    variants {
        plain: zero { "MR": "4", "UK": "1" };
        plain_one: zero { "MR": "1", "UK": "4" }
    }
}

tiles! { whole spread {
    /// As `conv_spread`, as a product for each phase: rows are outputs, columns the positions of the phase in all
    /// batches, k its taps and of each all channels, up to a multiple of BK.
    ///
    /// `a_mode` and `edge` are those of `matmul_f32`, of w whose k counts channels; so is `k_tail`: 0 channels are a
    /// multiple of BK, 2 they are BK at least, 1 they are any number. Every extent is 1 at least.
    pub struct ConvSpreadTile = "conv_spread_tile" in "convolution/spread_tile.comp";
    grid "ceil(outputs / BM) * ceil(batches * positions of the largest phase / BN) * groups * phases groups, folded";
    specs { a_mode = 0: 0, k_tail = 1: 1, edge = 2: 1 }
    trip_count |c| {
        let channels = c.channels.div_ceil(c.define("BK")).saturating_mul(c.define("BK"));
        tile_trip_count(c.variant, channels.saturating_mul(taps_of_a_phase(c.kernel, c.gap)))
    };
    roles |c| tile_roles(c.variant);
} }
