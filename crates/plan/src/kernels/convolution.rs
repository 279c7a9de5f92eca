//! Convolutions of one to three spatial axes, and what their kernels share with pooling: the window.
//!
//! Along each of three spatial axes (unused leading ones of one element, kernel 1) tap t of position o lies at
//! `(o * step + t * dilation - begin) / up` of the operand. A convolution has `up` 1; a transposed one steps by 1,
//! walks its taps backwards and has its stride as `up`: a tap that `up` does not divide takes no part. What lies
//! outside multiplies 0.

use super::matmul::{tile_roles, tile_turns};
use crate::kernel;
use crate::kernel::KernelDecl;
use pumice_types::slots;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[ConvDirect::DECL, ConvTile::DECL];

const _: () = crate::kernel::have_slots(DECLS, slots::PRODUCT);
const _: () = crate::kernel::have_slots_in_place(DECLS);

kernel! {
    /// y[n, g, o, p] = epilogue(sum over c < channels and taps t of w[g, o, c, t] · x[n, g, c, window(p, t)]), f32
    /// sums.
    ///
    /// p counts the positions `out`, t the taps `kernel`, both row by row. Strides count elements; y and the slots'
    /// hole coordinates (batch n · groups + g, row o, column p) have consecutive positions. `begin` and `dilation` are
    /// signed. `vec_y` 1: positions, y's strides and `at` are multiples of 4. `transposed` 0: `up` is 1 on every axis.
    pub struct ConvDirect = "conv_direct" in "convolution/direct.comp";
    grid "ceil(batches * groups * ceil(outputs / MR) * ceil(positions / 4) / 64) groups of 64 threads, folded";
    args {
        batches: u32, groups: u32, channels: u32, outputs: u32,
        extent[3]: u32, kernel[3]: u32, out[3]: u32, step[3]: u32, dilation[3]: i32, begin[3]: i32, up[3]: u32,
        x { at, n, g, c, d, h, w: u32 }, w { at, g, o, c, tap: u32 }, y { at, n, g, o: u32 },
        slot(at, b0, b1, row, col: u32; 4),
    }
    operands { x: read factor, w: read typed factor, y: write }
    slots 4 in_place;
    holes { epilogue: vec4 [v] (batch, row, col) stores }
    specs { vec_y = 0: 0, transposed = 1: 0, round = 2: 0 }
    turns |c| {
        let terms = c.channels.saturating_mul(c.kernel.iter().fold(1, |n, k| n.saturating_mul(*k)));
        let chains = each(terms, 128);
        after(after(each(terms, 1), after(chains.saturating_mul(2), pairs(chains, 12))), each(c.define("MR"), 1))
    };
    variants {
        plain: zero { "MR": "4" };
        plain_one: zero { "MR": "1" }
    }
}

kernel! {
    /// As `conv_direct` of convolutions that are not transposed, as a product: rows are outputs, columns the positions
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
    turns |c| {
        let taps = c.kd.saturating_mul(c.kh).saturating_mul(c.kw);
        tile_turns(c.channels.saturating_mul(taps), |name| c.define(name))
    };
    roles |c| tile_roles(c.defines("CHAINS_IN_REGISTERS"), |name| c.define(name));
    variants {
        plain: zero { "BM": "32", "BN": "32", "BK": "16", "TM": "4", "TN": "4", "SK": "1", "WX": "8", "UK": "4" };
        t32k4: zero needs [SharedMemory(36864)] {
            "BM": "32", "BN": "32", "BK": "16", "TM": "4", "TN": "4", "SK": "4", "WX": "8", "UK": "4"
        };
        t32x128: zero needs [SharedMemory(43008)] {
            "BM": "32", "BN": "128", "BK": "16", "TM": "4", "TN": "8", "SK": "2", "WX": "8", "UK": "16", "CHAINS_IN_REGISTERS": "1"
        };
        t64: zero { "BM": "64", "BN": "64", "BK": "16", "TM": "8", "TN": "4", "SK": "1", "WX": "8", "UK": "16", "CHAINS_IN_REGISTERS": "1" };
        t64x128: zero { "BM": "64", "BN": "128", "BK": "16", "TM": "8", "TN": "8", "SK": "1", "WX": "8", "UK": "16", "CHAINS_IN_REGISTERS": "1" };
        t128: zero needs [SharedMemory(33792)] {
            "BM": "128", "BN": "128", "BK": "16", "TM": "8", "TN": "8", "SK": "1", "WX": "8", "UK": "16", "CHAINS_IN_REGISTERS": "1"
        }
    }
}
