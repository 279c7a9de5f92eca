//! Pooling: a reduction of the elements under a window that moves. See [`super::convolution`] for the window.

use super::reduce::op;
use crate::kernel;
use crate::kernel::KernelDecl;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[Pool::DECL, PoolInt::DECL];

const _: () = assert!(op::SUM == 0 && op::MEAN == 1 && op::MAX == 2 && op::MIN == 3 && op::PROD == 4);

kernel! {
    /// y[n, c, p] = epilogue(reduce over taps t of x[n, c, window(p, t)]); elements outside x take no part.
    ///
    /// `op` is one of `reduce::op`. A mean divides by the elements that take part; with `padded` 1 by
    /// the taps that lie before `end`, counted from x's first element (x and what pads it). Hole coordinates are (n, c,
    /// p).
    pub struct Pool = "pool" in "pool/pool.comp";
    grid "ceil(batches * channels * ceil(positions / 4) / 64) groups of 64 threads, folded";
    args {
        batches: u32, channels: u32,
        extent[3]: u32, kernel[3]: u32, out[3]: u32, step[3]: u32, dilation[3]: i32, begin[3]: i32, end[3]: u32,
        x { at, n, c, d, h, w: u32 }, y { at, n, c: u32 }, slot(at, b0, row, col: u32; 4),
    }
    operands { x: read, y: write }
    slots 4 in_place;
    holes { epilogue: vec4 [v] (batch, row, col) stores }
    specs { op = 0: 2, padded = 1: 0, vec_y = 2: 0 }
    trip_count |c| {
        let taps = c.kernel.iter().fold(1u64, |n, k| n.saturating_mul(*k));
        let chains = each(taps, 128);
        after(each(taps, 1), after(chains.saturating_mul(2), pairs(chains, 12)))
    };
    variants { plain: zero }
}

kernel! {
    /// As `pool` for maxima and minima of integers in words. `signed` 0: unsigned.
    pub struct PoolInt = "pool_int" in "pool/int.comp";
    grid "ceil(batches * channels * positions / 64) groups of 64 threads, folded";
    args {
        batches: u32, channels: u32,
        extent[3]: u32, kernel[3]: u32, out[3]: u32, step[3]: u32, dilation[3]: i32, begin[3]: i32, end[3]: u32,
        x { at, n, c, d, h, w: u32 }, y { at, n, c: u32 },
    }
    operands { x: read, y: write }
    slots 0;
    holes {}
    specs { op = 0: 2, signed = 1: 1, bits = 2: 32 }
    trip_count |c| each(c.kernel.iter().fold(1u64, |n, k| n.saturating_mul(*k)), 1);
    variants { plain: zero }
}
