//! Blocks of 256 whose sixteen sub-blocks have a signed byte for a scale: x ≈ d · sc · q, q from −32 to 31.
//!
//! As in `k_affine`: scales of sub-blocks alone, the bytes near them, and d fitted to all codes.

use super::fit::{code, inverse, signed, signed_error};
use half::f16;

/// Elements of a sub-block.
const SUB: usize = 16;
/// Sub-blocks.
const COUNT: usize = 16;
/// The least and the largest code.
const LOW: f32 = -32.0;
const HIGH: f32 = 31.0;
/// Times that d is fitted.
const ROUNDS: usize = 3;

/// Of each half of 128 elements: low nibbles of 64 bytes, high pairs of bits of 32; then the scales, and d.
pub(super) fn q6_k(block: &[f32], out: &mut Vec<u8>) {
    let (d, scales) = fitted(block);
    let codes = codes(block, d, &scales);
    for half in codes.chunks_exact(128) {
        out.extend((0..64).map(|l| half[l] & 15 | half[64 + l] << 4));
    }
    for half in codes.chunks_exact(128) {
        let high = |l: usize| (0..4).fold(0, |bits, j| bits | (half[32 * j + l] >> 4) << (2 * j));
        out.extend((0..32).map(high));
    }
    out.extend(scales.iter().map(|&scale| scale as u8));
    out.extend_from_slice(&d.to_le_bytes());
}

fn fitted(block: &[f32]) -> (f16, [i8; COUNT]) {
    let mut wanted = [0f32; COUNT];
    wanted.iter_mut().zip(block.chunks_exact(SUB)).for_each(|(w, values)| *w = signed(values, LOW, HIGH));
    let extreme = wanted.iter().fold(0f32, |most, &s| if s.abs() > most.abs() { s } else { most });
    let mut d = f16::from_f32(extreme / -128.0);
    let (mut best, mut least) = on_grid(block, d, &wanted);
    for _ in 0..ROUNDS {
        let next = f16::from_f32(refitted(block, d, &best));
        let (scales, error) = on_grid(block, next, &wanted);
        if error >= least {
            break;
        }
        (d, best, least) = (next, scales, error);
    }
    (d, best)
}

/// The bytes near the scales wanted, with the least squared error, which is returned too.
fn on_grid(block: &[f32], d: f16, wanted: &[f32; COUNT]) -> ([i8; COUNT], f32) {
    let (mut scales, mut sum) = ([0; COUNT], 0.0);
    for ((values, &wanted), chosen) in block.chunks_exact(SUB).zip(wanted).zip(&mut scales) {
        let nearest = (wanted * inverse(d.to_f32())).round();
        let mut least = f32::INFINITY;
        for step in [-1.0, 0.0, 1.0] {
            let scale = (nearest + step).clamp(-128.0, 127.0);
            let error = signed_error(values, d.to_f32() * scale, LOW, HIGH);
            if error < least {
                (*chosen, least) = (scale as i8, error);
            }
        }
        sum += least;
    }
    (scales, sum)
}

/// The d with the least squared error for these scales and their codes: Σ x sc q / Σ (sc q)².
fn refitted(block: &[f32], d: f16, scales: &[i8; COUNT]) -> f32 {
    let (mut xa, mut aa) = (0f64, 0f64);
    for (values, &scale) in block.chunks_exact(SUB).zip(scales) {
        let inverse = inverse(d.to_f32() * f32::from(scale));
        for &x in values {
            let a = f64::from(scale) * f64::from(code(x * inverse, LOW, HIGH));
            (xa, aa) = (xa + f64::from(x) * a, aa + a * a);
        }
    }
    if aa > 0.0 { (xa / aa) as f32 } else { d.to_f32() }
}

/// Codes of six bits, 32 being 0.
fn codes(block: &[f32], d: f16, scales: &[i8; COUNT]) -> Vec<u8> {
    let of_sub = |(values, &scale): (&[f32], &i8)| {
        let inverse = inverse(d.to_f32() * f32::from(scale));
        values.iter().map(|x| (code(x * inverse, LOW, HIGH) - LOW) as u8).collect::<Vec<_>>()
    };
    block.chunks_exact(SUB).zip(scales).flat_map(of_sub).collect()
}
