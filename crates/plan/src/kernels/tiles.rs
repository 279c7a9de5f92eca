//! The tiles of products: which variants the kernels have that make results tile by tile in shared memory
//! (`shaders/include/product.glsl`), whatever they load.
//!
//! Out: variants. A group makes BM x BN results of steps of BK terms, SK of them side by side where k is cut into
//! slices. A thread of `tile.glsl` has TM x TN results; with `UNITS` a subgroup has WM x WN. Never here: arguments,
//! operands.

use crate::kernel::roles::{Roles, tile};
use crate::kernel::trip_count::{Upper, after, each, inside, pairs, quotient};
use pumice_types::Precision;

/// Trips of a tile over `k` terms (`shaders/include/tile.glsl`, `units.glsl`), by the macros of its variant.
pub(super) fn tile_trip_count(c: &Upper<'_>, k: u64) -> u64 {
    if c.defines("UNITS") {
        return units_trip_count(c, k);
    }
    let [bm, bn, bk, tm, tn] = ["BM", "BN", "BK", "TM", "TN"].map(|name| c.define(name));
    let slices = c.define("SK");
    let steps = inside(each(k, bk.saturating_mul(slices)), each(bk, c.define("UK")));
    let chains = each(k, slices.saturating_mul(128));
    let steps = after(steps, after(chains.saturating_mul(2), pairs(chains, 8)));
    let pieces = quotient(tm, 4).saturating_mul(quotient(tn, 4));
    let threads = quotient(bn, tn).saturating_mul(quotient(bm, tm));
    after(steps, inside(each(pieces, 1), each(threads.saturating_mul(4), threads.saturating_mul(slices))))
}

fn units_trip_count(c: &Upper<'_>, k: u64) -> u64 {
    let [bk, wm, wn, slices] = ["BK", "WM", "WN", "SK"].map(|name| c.define(name));
    let fragments = quotient(wm, 16).saturating_mul(quotient(wn, 16));
    after(each(k, bk), inside(each(fragments, 1), each(64, slices.saturating_mul(32))))
}

/// Roles of a tile, by the macros of its variant. Chains of chains in registers are 128 at most; matrix units
/// multiply factors that were rounded, and nothing else; their slices share a step.
pub(super) fn tile_roles(c: &Upper<'_>) -> Roles {
    let (bk, slices) = (c.define("BK"), c.define("SK"));
    let tile = tile(c.define("BM"), c.define("BN"));
    if c.defines("UNITS") {
        return tile.steps(bk, bk).multiplies(units_precision(c));
    }
    let most = if c.defines("CHAINS_IN_REGISTERS") { 128 * 128 * slices } else { u64::MAX };
    tile.steps(bk * slices, bk).only("k", 0, most)
}

/// In what a variant of matrix units multiplies.
pub(super) fn units_precision(c: &Upper<'_>) -> Precision {
    if c.defines("BF16") { Precision::Bf16 } else { Precision::F16 }
}

/// Declares a kernel by the tiles of products: `$by!` takes what is written, and its variants.
///
/// `whole`: tiles whose steps are one range of k, and those of matrix units. `sliced`: besides, those that cut k among
/// their threads. `stored`: besides, those of a product whose right operand may be stored in blocks; of its tiles the
/// small ones read blocks, because the code costs large ones more than they gain.
macro_rules! tiles {
    (whole $by:ident $head:tt) => {
        tiles! { @list $by $head [] {} {} }
    };
    (sliced $by:ident $head:tt) => {
        tiles! { @sliced $by $head [] {} {} }
    };
    (stored $by:ident $head:tt) => {
        tiles! { @sliced $by $head [, "BLOCKS": "1"] {
            t16: zero { "BM": "16", "BN": "64", "BK": "16", "TM": "4", "TN": "4", "SK": "2", "WX": "8", "UK": "4", "BLOCKS": "1" };
        } {
            ;
            f16_blocks_t64: full needs [CooperativeMatrix, Float16, SubgroupSize(32)] {
                "UNITS": "1", "BM": "64", "BN": "64", "BK": "32", "WM": "32", "WN": "32", "SK": "1", "BLOCKS": "1"
            };
            f16_blocks_t128: full needs [CooperativeMatrix, Float16, SubgroupSize(32)] {
                "UNITS": "1", "BM": "128", "BN": "128", "BK": "32", "WM": "64", "WN": "32", "SK": "1", "BLOCKS": "1"
            }
        } }
    };
    (@sliced $by:ident $head:tt [$($small:tt)*] { $($first:tt)* } $last:tt) => {
        tiles! { @list $by $head [$($small)*] {
            $($first)*
            t32k4: zero needs [SharedMemory(36864)] {
                "BM": "32", "BN": "32", "BK": "16", "TM": "4", "TN": "4", "SK": "4", "WX": "8", "UK": "4" $($small)*
            };
            t32x128: zero needs [SharedMemory(43008)] {
                "BM": "32", "BN": "128", "BK": "16", "TM": "4", "TN": "8", "SK": "2", "WX": "8", "UK": "16", "CHAINS_IN_REGISTERS": "1"
            };
        } $last }
    };
    (@list $by:ident { $($head:tt)* } [$($small:tt)*] { $($sliced:tt)* } { $($last:tt)* }) => {
        $by! {
            $($head)*
            variants {
                plain: zero { "BM": "32", "BN": "32", "BK": "16", "TM": "4", "TN": "4", "SK": "1", "WX": "8", "UK": "4" $($small)* };
                $($sliced)*
                t64: zero { "BM": "64", "BN": "64", "BK": "16", "TM": "8", "TN": "4", "SK": "1", "WX": "8", "UK": "16", "CHAINS_IN_REGISTERS": "1" };
                t64x128: zero { "BM": "64", "BN": "128", "BK": "16", "TM": "8", "TN": "8", "SK": "1", "WX": "8", "UK": "16", "CHAINS_IN_REGISTERS": "1" };
                t128: zero needs [SharedMemory(33792)] {
                    "BM": "128", "BN": "128", "BK": "16", "TM": "8", "TN": "8", "SK": "1", "WX": "8", "UK": "16", "CHAINS_IN_REGISTERS": "1"
                };
                f16_t32: full needs [CooperativeMatrix, Float16, SubgroupSize(32)] {
                    "UNITS": "1", "BM": "32", "BN": "32", "BK": "128", "WM": "32", "WN": "32", "SK": "4" $($small)*
                };
                f16_t64: full needs [CooperativeMatrix, Float16, SubgroupSize(32)] {
                    "UNITS": "1", "BM": "64", "BN": "64", "BK": "32", "WM": "32", "WN": "32", "SK": "1"
                };
                f16_t128: full needs [CooperativeMatrix, Float16, SubgroupSize(32)] {
                    "UNITS": "1", "BM": "128", "BN": "128", "BK": "32", "WM": "64", "WN": "32", "SK": "1"
                };
                f16_t128x256: full needs [CooperativeMatrix, Float16, SubgroupSize(32)] {
                    "UNITS": "1", "BM": "128", "BN": "256", "BK": "32", "WM": "64", "WN": "64", "SK": "1"
                };
                bf16_t32: full needs [CooperativeMatrixBf16, SubgroupSize(32)] {
                    "UNITS": "1", "BF16": "1", "BM": "32", "BN": "32", "BK": "128", "WM": "32", "WN": "32", "SK": "4" $($small)*
                };
                bf16_t64: full needs [CooperativeMatrixBf16, SubgroupSize(32)] {
                    "UNITS": "1", "BF16": "1", "BM": "64", "BN": "64", "BK": "32", "WM": "32", "WN": "32", "SK": "1"
                };
                bf16_t128: full needs [CooperativeMatrixBf16, SubgroupSize(32)] {
                    "UNITS": "1", "BF16": "1", "BM": "128", "BN": "128", "BK": "32", "WM": "64", "WN": "32", "SK": "1"
                };
                bf16_t128x256: full needs [CooperativeMatrixBf16, SubgroupSize(32)] {
                    "UNITS": "1", "BF16": "1", "BM": "128", "BN": "256", "BK": "32", "WM": "64", "WN": "64", "SK": "1"
                }
                $($last)*
            }
        }
    };
}

pub(super) use tiles;
