//! Blocks of 256 whose eight sub-blocks have scale and minimum as integers of six bits: x ≈ d · sc · q − dmin · mn.
//!
//! Scales and minimums are found for each sub-block alone, then put on the grids of d and dmin. Integers beside the
//! nearest are tried, since the codes follow; then d and dmin are fitted to all codes, and the integers chosen again.

use super::fit::{Affine, affine};
use half::f16;

/// Elements of a sub-block.
const SUB: usize = 32;
/// The largest integer of six bits.
const MOST: f32 = 63.0;
/// Times that d and dmin are fitted.
const ROUNDS: usize = 3;

/// Codes of four bits.
pub(super) fn q4_k(block: &[f32], out: &mut Vec<u8>) {
    let fitted = Fitted::of(block, 15.0);
    fitted.header(out);
    nibbles(&fitted.codes(block), out);
}

/// Codes of five bits; bit s of byte l of the fifth bits is that of element 32 s + l.
pub(super) fn q5_k(block: &[f32], out: &mut Vec<u8>) {
    let fitted = Fitted::of(block, 31.0);
    let codes = fitted.codes(block);
    fitted.header(out);
    let fifths = |l: usize| (0..8).fold(0, |bits, s| bits | (codes[SUB * s + l] >> 4) << s);
    out.extend((0..SUB).map(fifths));
    nibbles(&codes, out);
}

/// Low nibbles of 32 bytes are a sub-block, high ones the next.
fn nibbles(codes: &[u8], out: &mut Vec<u8>) {
    for pair in codes.chunks_exact(2 * SUB) {
        out.extend((0..SUB).map(|l| pair[l] & 15 | pair[SUB + l] << 4));
    }
}

/// What stands before the codes of a block.
#[derive(Clone, Copy)]
struct Fitted {
    d: f16,
    dmin: f16,
    /// Scale and minimum of each sub-block: 0 to 63.
    integers: [[u8; 2]; 8],
    /// The largest code.
    top: f32,
}

impl Fitted {
    fn of(block: &[f32], top: f32) -> Fitted {
        let mut wanted = [Affine::default(); 8];
        wanted.iter_mut().zip(block.chunks_exact(SUB)).for_each(|(w, values)| *w = affine(values, top));
        let most = |of: fn(&Affine) -> f32| wanted.iter().map(of).fold(0f32, f32::max) / MOST;
        let (d, dmin) = (most(|w| w.scale), most(|w| w.minimum));
        let (mut best, mut least) = Fitted::on_grid(block, top, &wanted, d, dmin);
        for _ in 0..ROUNDS {
            let (d, dmin) = best.refitted(block);
            let (next, error) = Fitted::on_grid(block, top, &wanted, d, dmin);
            if error >= least {
                break;
            }
            (best, least) = (next, error);
        }
        best
    }

    /// Integers for these d and dmin, with the squared error.
    fn on_grid(block: &[f32], top: f32, wanted: &[Affine; 8], d: f32, dmin: f32) -> (Fitted, f32) {
        let (d, dmin) = (f16::from_f32(d), f16::from_f32(dmin));
        let mut fitted = Fitted { d, dmin, integers: [[0; 2]; 8], top };
        let mut sum = 0.0;
        for (sub, values) in block.chunks_exact(SUB).enumerate() {
            let error = fitted.choose(sub, values, wanted[sub]);
            sum += error;
        }
        (fitted, sum)
    }

    /// The integers of a sub-block near those wanted, with the least squared error, which is returned.
    fn choose(&mut self, sub: usize, values: &[f32], wanted: Affine) -> f32 {
        let (scales, minimums) = (near(wanted.scale, self.d), near(wanted.minimum, self.dmin));
        let mut least = f32::INFINITY;
        for integers in scales.into_iter().flat_map(|s| minimums.map(|m| [s, m])) {
            let error = self.affine(integers).error(values, self.top);
            if error < least {
                (self.integers[sub], least) = (integers, error);
            }
        }
        least
    }

    fn affine(&self, [scale, minimum]: [u8; 2]) -> Affine {
        Affine { scale: self.d.to_f32() * f32::from(scale), minimum: self.dmin.to_f32() * f32::from(minimum) }
    }

    /// d and dmin with the least squared error for these integers and codes: the normal equations of d · a − dmin · b
    /// with a = sc · q and b = mn.
    fn refitted(&self, block: &[f32]) -> (f32, f32) {
        let (mut aa, mut ab, mut bb, mut ax, mut bx) = (0f64, 0f64, 0f64, 0f64, 0f64);
        for (values, integers) in block.chunks_exact(SUB).zip(self.integers) {
            let (affine, [sc, b]) = (self.affine(integers), integers.map(f64::from));
            for &x in values {
                let (a, x) = (sc * f64::from(affine.code(x, self.top)), f64::from(x));
                (aa, ab, bb) = (aa + a * a, ab + a * b, bb + b * b);
                (ax, bx) = (ax + a * x, bx + b * x);
            }
        }
        let determinant = aa * bb - ab * ab;
        let (d, dmin) = ((ax * bb - bx * ab) / determinant, (ax * ab - bx * aa) / determinant);
        // No minimum, or none that differs from the scales: d alone.
        match determinant > 1e-9 * aa * bb && dmin >= 0.0 {
            true => (d as f32, dmin as f32),
            false if aa > 0.0 => {
                (((ax + f64::from(self.dmin.to_f32()) * ab) / aa) as f32, self.dmin.to_f32())
            }
            false => (self.d.to_f32(), self.dmin.to_f32()),
        }
    }

    fn codes(&self, block: &[f32]) -> Vec<u8> {
        let of_sub = |(values, integers): (&[f32], [u8; 2])| {
            let affine = self.affine(integers);
            values.iter().map(|&x| affine.code(x, self.top) as u8).collect::<Vec<_>>()
        };
        block.chunks_exact(SUB).zip(self.integers).flat_map(of_sub).collect()
    }

    /// d, dmin, and twelve bytes: low six bits of the first eight are those of sub-blocks 0 to 3, their high two the
    /// high bits of sub-blocks 4 to 7, whose low nibbles are the last four.
    fn header(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.d.to_le_bytes());
        out.extend_from_slice(&self.dmin.to_le_bytes());
        let (first, last) = self.integers.split_at(4);
        for which in [0, 1] {
            out.extend(first.iter().zip(last).map(|(f, l)| f[which] | l[which] >> 4 << 6));
        }
        out.extend(last.iter().map(|[scale, minimum]| scale & 15 | minimum << 4));
    }
}

/// The integers around wanted / unit, 0 to 63.
fn near(wanted: f32, unit: f16) -> [u8; 3] {
    let nearest = (wanted * super::fit::inverse(unit.to_f32())).round().clamp(0.0, MOST);
    [-1.0, 0.0, 1.0].map(|step| (nearest + step).clamp(0.0, MOST) as u8)
}
