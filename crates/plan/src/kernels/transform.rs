//! Transforms: passes of a Fourier transform, and chirps.

use crate::kernel;
use crate::kernel::KernelDecl;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[FftPass::DECL, FftChirp::DECL];

/// Values that one group transforms, and the most of a pass.
pub const TILE: u64 = 4096;

/// The primes that passes make sums of products with: the first above those that have butterflies, and the last of
/// which half is a chain of at most 128.
pub const PRIMES: std::ops::RangeInclusive<u64> = 17..=251;

/// Values that a line of a pass takes of a group, beside others or alone: an odd number where lines lie side by side.
pub const fn pitch(radix: u64, at_once: u64, beside: bool) -> u64 {
    if beside && at_once > 1 { radix | 1 } else { radix }
}

/// Whether a group holds so many lines, and after them the roots of the largest of these primes (0: none).
pub const fn holds(radix: u64, at_once: u64, beside: bool, prime: u64) -> bool {
    let lines = at_once.saturating_mul(pitch(radix, at_once, beside));
    if prime == 0 { lines <= TILE } else { lines.saturating_add(15) / 16 * 16 + prime <= TILE }
}

/// Numbers of a chirp that one group makes.
pub const CHIRPS: u64 = 256;

kernel! {
    /// y[o, a * done * radix + k + s * done, i] = factor * the sum over r < radix of
    /// x[o, r * length / radix + j, i] * by[r * length / radix + j] * e^(-2 pi i r (k + s * done) / (done * radix)),
    /// s < radix, j < length / radix, a = j / done, k = j % done; what is at `kept` or beyond is not written.
    ///
    /// x is dense [lines / (length / radix * inner), given, inner, 1 + `complex`], 0 past `given`; y as dense
    /// [.., kept, inner, 1 + `pairs`]; by has as many values as x, of two parts; without `weighted` bind `x` again,
    /// then it is 1. `inverse` 1: the exponent is positive. `mirrored` 1: x[length - t] is the conjugate of x[t],
    /// x[0] and x[length / 2] are real.
    /// A group takes `at_once` lines, of 4096 values at most (see [`holds`]). `radices`: the factors of `radix` in the
    /// order they are taken, 4 bits each, the first in the lowest; 1 is the next of `primes`, 8 bits each. `across`:
    /// which threads load, `back` which store what; no more. The constants `fixed_..` are 0 or the arguments of these
    /// names: all but `fixed_inner`, or none.
    pub struct FftPass = "fft_pass" in "transform/pass.comp";
    grid "ceil(lines / at_once) groups of 256 threads, folded";
    args { lines: u32, length: u32, given: u32, kept: u32, inner: u32, done: u32, radix: u32, radices: u32,
        primes: u32, at_once: u32, factor: f32 }
    operands { x: read, by: read, y: write }
    slots 0;
    holes {}
    specs { inverse = 0: 0, mirrored = 1: 0, complex = 2: 1, pairs = 3: 1, weighted = 4: 0, across = 5: 0, back = 6: 0,
        fixed_length = 7: 0, fixed_given = 8: 0, fixed_kept = 9: 0, fixed_inner = 10: 0, fixed_done = 11: 0,
        fixed_radix = 12: 0, fixed_radices = 13: 0, fixed_primes = 14: 0, fixed_at_once = 15: 0 }
    trip_count |_| inside(each(7, 1), after(each(125, 1), each(9, 1)));
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
