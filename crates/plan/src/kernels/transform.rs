//! Transforms: passes of a Fourier transform, and chirps.

use crate::kernel;
use crate::kernel::KernelDecl;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[FftPass::DECL, FftChirp::DECL];

/// Values that one group transforms, and the most of a pass.
pub const TILE: u64 = 2048;

/// Numbers of a chirp that one group makes.
pub const CHIRPS: u64 = 256;

kernel! {
    /// y[o, a * done * radix + k + s * done, i] = factor * the sum over r < radix of
    /// x[o, r * length / radix + j, i] * by[r * length / radix + j] * e^(-2 pi i r (k + s * done) / (done * radix)),
    /// s < radix, j < length / radix, a = j / done, k = j % done; what is at `kept` or beyond is not written.
    ///
    /// x is dense [lines / (length / radix * inner), given, inner, 1 + `complex`], 0 past `given`; y as dense
    /// [.., kept, inner, 1 + `pairs`]; by [length, 2], without `weighted` bind `x` again, then it is 1. `inverse` 1:
    /// the exponent is positive. `mirrored` 1: x[length - t] is the conjugate of x[t], x[0] and x[length / 2] are real.
    /// A group takes `at_once` lines, of 2048 values at most. `radices`: the factors of `radix` in the order they are
    /// taken, 4 bits each, the first in the lowest. `across`: which threads load, `back` which store what; no more.
    pub struct FftPass = "fft_pass" in "transform/pass.comp";
    grid "ceil(lines / at_once) groups of 256 threads, folded";
    args { lines: u32, length: u32, given: u32, kept: u32, inner: u32, done: u32, radix: u32, radices: u32,
        at_once: u32, factor: f32 }
    operands { x: read, by: read, y: write }
    slots 0;
    holes {}
    specs { inverse = 0: 0, mirrored = 1: 0, complex = 2: 1, pairs = 3: 1, weighted = 4: 0, across = 5: 0, back = 6: 0 }
    trip_count |_| inside(each(7, 1), each(14, 1).saturating_mul(8));
    variants { plain: zero }
}

kernel! {
    /// y[j] = e^(-pi i j^2 / period), j < n; `inverse` 1: the exponent is positive. `wrapped` 1: of d = min(j, n - j),
    /// 0 where d >= period. y is dense [n, 2].
    pub struct FftChirp = "fft_chirp" in "transform/chirp.comp";
    grid "ceil(n / 256) groups of 256 threads, folded";
    args { n: u32, period: u32 }
    operands { y: write }
    slots 0;
    holes {}
    specs { inverse = 0: 0, wrapped = 1: 0 }
    trip_count |_| 0;
    variants { plain: zero }
}
