//! Elements of one axis or two by tables of indices, as they are or weighted.

use crate::kernel;
use crate::kernel::KernelDecl;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[ResampleFloats::DECL, ResampleWords::DECL];

/// Lines of which a thread has a column.
pub const LINES: u64 = 4;

kernel! {
    /// y[o, i, q, j, c] = the sum over s, t < `taps` of first_weights[i, s] * last_weights[j, t] * x[o, first[i, s], q,
    /// last[j, t], c]; x is [outer, axis[0], mid, axis[1], inner], of y the axes are `made`. Indices outside are those
    /// of the border, an axis without elements gives 0. `axes` 1: there is one axis, the last; axis[0] and made[0] are
    /// 1, and `first` and its weights are those of the last bound again.
    pub struct ResampleFloats = "resample_floats" in "resample/floats.comp";
    grid "ceil(ceil(outer * made[0] * mid / 4) * made[1] * inner / 256) groups of 256 threads, folded";
    args { outer: u32, axis[2]: u32, mid: u32, inner: u32, made[2]: u32 }
    operands { x: read, last: read, first: read, last_weights: read, first_weights: read, y: write }
    slots 0;
    holes {}
    specs { axes = 0: 1, taps = 1: 1 }
    trip_count |c| {
        let line = inside(each(c.taps, 1), each(c.taps, 1));
        after(each(c.taps, 1), inside(each(4, 1), line))
    };
    variants { plain: zero }
}

kernel! {
    /// As `resample_floats` for 32-bit words of one index each, without weights; 64-bit elements are two words of
    /// `inner`.
    pub struct ResampleWords = "resample_words" in "resample/words.comp";
    grid "ceil(ceil(outer * made[0] * mid / 4) * made[1] * inner / 256) groups of 256 threads, folded";
    args { outer: u32, axis[2]: u32, mid: u32, inner: u32, made[2]: u32 }
    operands { x: read, last: read, first: read, y: write }
    slots 0;
    holes {}
    specs { axes = 0: 1 }
    trip_count |_| each(4, 1);
    variants { plain: zero }
}
