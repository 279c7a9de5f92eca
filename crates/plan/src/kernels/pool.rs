//! Pooling: a reduction of the elements under a window that moves, and its gradient. See [`super::convolution`] for the
//! window.

use super::reduce::op;
use crate::kernel;
use crate::kernel::KernelDecl;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] =
    &[Pool::DECL, PoolInt::DECL, PoolPlaces::DECL, PoolSpread::DECL, PoolSpreadCells::DECL];

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

kernel! {
    /// places[n, c, p] = the first place of x[n, c] under the taps of window p whose element is the largest, with
    /// `smallest` the smallest; the first NaN wins. Places are counted over the spatial axes; -1 where all taps are
    /// outside.
    pub struct PoolPlaces = "pool_places" in "pool/places.comp";
    grid "ceil(batches * channels * ceil(positions / 4) / 64) groups of 64 threads, folded";
    args {
        batches: u32, channels: u32,
        extent[3]: u32, kernel[3]: u32, out[3]: u32, step[3]: u32, dilation[3]: i32, begin[3]: i32, end[3]: u32,
        x { at, n, c, d, h, w: u32 },
    }
    operands { x: read, places: write }
    slots 0;
    holes {}
    specs { smallest = 0: 0, vec_y = 1: 0 }
    trip_count |c| each(c.kernel.iter().fold(1u64, |n, k| n.saturating_mul(*k)), 1);
    variants { plain: zero }
}

/// Which values of windows a `pool_spread` adds up, and how many.
pub mod spread {
    use crate::kernel::trip_count::{after, each, inside, pairs};

    /// Of all windows over an element.
    pub const SUM: u32 = 0;
    /// Each over the elements under its window.
    pub const MEAN: u32 = 1;
    /// Each over the taps of its window before `end`.
    pub const PADDED_MEAN: u32 = 2;
    /// Of windows with the element's place.
    pub const PLACES: u32 = 3;

    /// How many of so many windows of an axis are over one element, at most.
    pub const fn covering(kernel: u64, dilation: u64, step: u64, out: u64) -> u64 {
        let reach = kernel.saturating_sub(1).saturating_mul(dilation).saturating_add(1);
        let most = if step == 0 { out } else { reach.div_ceil(step) };
        if most < out { most } else { out }
    }

    /// Windows of an axis that a cell looks for: those that reach over an element of it, whether with a tap or between
    /// two.
    pub const fn ending_under(kernel: u64, dilation: u64, step: u64) -> u64 {
        covering(kernel, dilation, step, u64::MAX)
    }

    /// Elements of a cell at most, for each of which a thread has a register.
    pub const LARGEST_CELL: u64 = 16;
    /// Pairs of a cell's elements and windows at most, which are written out.
    pub const MOST_PAIRS: u64 = 256;
    /// Windows over an element at most that are one chain of sums.
    pub const ONE_CHAIN: u64 = 128;

    /// The trip count of an element that has so many windows along each axis.
    pub const fn trip_count([d, h, w]: [u64; 3]) -> u64 {
        let chains = d.saturating_mul(h).saturating_mul(w).div_ceil(128);
        let loops = inside(each(d, 1), inside(each(h, 1), each(w, 1)));
        after(loops, pairs(chains, 12))
    }
}

kernel! {
    /// x[n, c, i] = the sum of v[n, c, p] over the windows p a tap of which is at i: `mode` is one of `spread`. What is
    /// not by places has `v` again for them.
    pub struct PoolSpread = "pool_spread" in "pool/spread.comp";
    grid "ceil(batches * channels * elements / 64) groups of 64 threads, folded";
    args {
        batches: u32, channels: u32,
        extent[3]: u32, kernel[3]: u32, out[3]: u32, step[3]: u32, dilation[3]: i32, begin[3]: i32, end[3]: u32,
        v { at, n, c, d, h, w: u32 },
    }
    operands { v: read, places: read, x: write }
    slots 0;
    holes {}
    specs { mode = 0: 0 }
    trip_count |c| {
        let axis = |i: usize| spread::covering(c.kernel[i], c.dilation[i], c.step[i], c.out[i]);
        spread::trip_count([axis(0), axis(1), axis(2)])
    };
    variants { plain: zero }
}

kernel! {
    /// As `pool_spread`, where steps are few: a thread has the `step_h` by `step_w` elements under which the same
    /// windows end. The specialization constants are the window's numbers along the last two axes.
    pub struct PoolSpreadCells = "pool_spread_cells" in "pool/cells.comp";
    grid "ceil(batches * channels * cells / 64) groups of 64 threads, folded";
    args {
        batches: u32, channels: u32,
        extent[3]: u32, kernel[3]: u32, out[3]: u32, step[3]: u32, dilation[3]: i32, begin[3]: i32, end[3]: u32,
        v { at, n, c, d, h, w: u32 },
    }
    operands { v: read, places: read, x: write }
    slots 0;
    holes {}
    specs {
        mode = 0: 0, kernel_h = 1: 1, kernel_w = 2: 1, step_h = 3: 1, step_w = 4: 1,
        dilation_h = 5: 1, dilation_w = 6: 1
    }
    trip_count |c| {
        let axis = |i: usize| each(spread::ending_under(c.kernel[i], c.dilation[i], c.step[i]), 1);
        let of_d = spread::covering(c.kernel[0], c.dilation[0], c.step[0], c.out[0]);
        inside(each(of_d, 1), inside(axis(1), axis(2)))
    };
    variants { plain: zero }
}
