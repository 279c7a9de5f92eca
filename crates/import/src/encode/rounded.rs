//! Blocks of one scale and codes beside it: a code is the nearest multiple of the scale (OPS 3.4.2).

use half::f16;

/// d = max |x| / 127; q = x / d, halves away from zero.
pub(super) fn q8_0(block: &[f32], out: &mut Vec<u8>) {
    let d = block.iter().fold(0f32, |most, x| most.max(x.abs())) / 127.0;
    let inverse = inverse(d);
    out.extend_from_slice(&f16::from_f32(d).to_le_bytes());
    out.extend(block.iter().map(|x| (x * inverse).round() as i8 as u8));
}

/// d = x / −16 of the x with the largest |x|; q = ⌊x / d + 16.5⌋, 31 at most.
pub(super) fn q5_0(block: &[f32], out: &mut Vec<u8>) {
    let (d, codes) = codes(block, 16);
    let fifths = codes.iter().enumerate().fold(0u32, |bits, (i, q)| bits | u32::from(q >> 4) << i);
    out.extend_from_slice(&f16::from_f32(d).to_le_bytes());
    out.extend_from_slice(&fifths.to_le_bytes());
    nibbles(&codes, out);
}

/// d = x / −8 of the x with the largest |x|; q = ⌊x / d + 8.5⌋, 15 at most.
pub(super) fn q4_0(block: &[f32], out: &mut Vec<u8>) {
    let (d, codes) = codes(block, 8);
    out.extend_from_slice(&f16::from_f32(d).to_le_bytes());
    nibbles(&codes, out);
}

/// The scale, and codes around `middle`: the extreme value is code 0, so the one of the other sign may be cut.
fn codes(block: &[f32], middle: u8) -> (f32, Vec<u8>) {
    let extreme = block.iter().fold(0f32, |most, &x| if x.abs() > most.abs() { x } else { most });
    let d = extreme / -f32::from(middle);
    let (inverse, most) = (inverse(d), 2 * middle - 1);
    // The sum is positive, so the conversion cuts downward. Product and sum are rounded one after the other.
    let code = |&x: &f32| ((x * inverse + (f32::from(middle) + 0.5)) as u8).min(most);
    (d, block.iter().map(code).collect())
}

/// 1 / d; 0 where all is 0.
fn inverse(d: f32) -> f32 {
    if d == 0.0 { 0.0 } else { 1.0 / d }
}

/// Low four bits of 32 codes: the first sixteen in low nibbles, the others in high ones.
fn nibbles(codes: &[u8], out: &mut Vec<u8>) {
    let (low, high) = codes.split_at(16);
    out.extend(low.iter().zip(high).map(|(l, h)| l & 15 | h << 4));
}
