//! The bytes of a made-up tensor: (key, name, shape, encoding, place) in, bytes out. No tensor is ever whole here.

use crate::source::WeightInfo;
use pumice_types::encoding::FieldKind;
use pumice_types::{DType, Encoding, Scheme};

/// Fills `out` with the tensor's bytes from byte `first` on; both ends may lie inside an element or a block.
pub(super) fn fill(seed: u64, name: &str, info: &WeightInfo, first: u64, out: &mut [u8]) {
    let (offset, scale) = law(name, &info.shape);
    let key = mix(seed ^ fnv(name));
    let value = |i: u64| offset + scale * uniform(key, i);
    let unit = info.encoding.block().1;
    match info.encoding {
        Encoding::Plain(DType::F32) => {
            units(unit, first, out, |i, b| b.copy_from_slice(&value(i).to_le_bytes()))
        }
        Encoding::Plain(DType::F16) => {
            units(unit, first, out, |i, b| b.copy_from_slice(&half::f16::from_f32(value(i)).to_le_bytes()));
        }
        Encoding::Plain(DType::BF16) => {
            units(unit, first, out, |i, b| b.copy_from_slice(&half::bf16::from_f32(value(i)).to_le_bytes()));
        }
        Encoding::Plain(_) | Encoding::Codes(_) => out.fill(0),
        Encoding::Blocks(scheme) => units(unit, first, out, |i, b| block(scheme, key, i, b)),
    }
}

/// Calls `make(index, bytes)` for each unit (an element, a block) that `out` holds a part of.
fn units(unit: u64, first: u64, out: &mut [u8], make: impl Fn(u64, &mut [u8])) {
    let size = unit as usize;
    let (mut index, mut skip) = (first / unit, (first % unit) as usize);
    let mut whole = vec![0; size];
    let mut rest = out;
    while !rest.is_empty() {
        let taken = (size - skip).min(rest.len());
        let (part, after) = rest.split_at_mut(taken);
        if taken == size {
            make(index, part);
        } else {
            make(index, &mut whole);
            part.copy_from_slice(&whole[skip..skip + taken]);
        }
        (index, skip, rest) = (index + 1, 0, after);
    }
}

/// A block of random codes under scales that are positive and normal. No element passes 1/2: see [`exponent`].
fn block(scheme: Scheme, key: u64, index: u64, out: &mut [u8]) {
    // 64 words hold the largest block, so no two blocks share one.
    for (word, bytes) in out.chunks_mut(8).enumerate() {
        let random = random(key, index.wrapping_mul(64).wrapping_add(word as u64)).to_le_bytes();
        bytes.copy_from_slice(&random[..bytes.len()]);
    }
    let exponent = exponent(scheme);
    for field in scheme.info().fields {
        let bytes = &mut out[field.at as usize..][..field.bytes as usize];
        match field.kind {
            FieldKind::Bits => {}
            // The low byte of the mantissa stays as drawn, of the high one two bits.
            FieldKind::F16 => {
                bytes.iter_mut().skip(1).step_by(2).for_each(|high| *high = (*high & 0b11) | exponent << 2)
            }
            // The same power of two: its bias is 127, that of f16 15.
            FieldKind::E8M0 => bytes.fill(exponent + (127 - 15)),
            // Its bias is 7, so 2⁻⁶ is the least of a normal number. The mantissa stays as drawn.
            FieldKind::UE4M3 => {
                bytes.iter_mut().for_each(|e| *e = *e & 7 | exponent.saturating_sub(15 - 7).max(1) << 3);
            }
        }
    }
}

/// The exponent field, as f16 has it, of a block's scales d: 2ᵉ ≤ d < 2ᵉ⁺¹ with e = −2 − b for codes of b bits, so 2⁻⁶
/// of Q4_0, and 6 less where sub-blocks have scales of their own.
fn exponent(scheme: Scheme) -> u8 {
    let bytes = |name| scheme.field(name).map_or(0, |f| f.bytes);
    let bits = (bytes("qs") + bytes("qh")) * 8 / scheme.elements();
    let of_sub_blocks = if bytes("sc") > 0 { 6 } else { 0 };
    // The field is the exponent plus 15; 1 is the least of a normal number.
    15u64.saturating_sub(2 + bits + of_sub_blocks).max(1) as u8
}

/// Offset and scale of the uniform number, by what the tensor is.
fn law(name: &str, shape: &[u64]) -> (f32, f32) {
    match shape {
        [.., _, n] => (0.0, (3.0 / (*n).max(1) as f64).sqrt() as f32),
        _ if name.ends_with("weight") => (1.0, 0.1),
        _ => (0.0, 0.1),
    }
}

/// In [−1, 1), a multiple of 2⁻²³.
fn uniform(key: u64, index: u64) -> f32 {
    let bits = random(key, index) >> 40;
    (bits as f32) * (1.0 / 8_388_608.0) - 1.0
}

/// 64 random bits, a function of key and index alone.
fn random(key: u64, index: u64) -> u64 {
    mix(key.wrapping_add(index.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014).
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// FNV-1a of a name.
fn fnv(name: &str) -> u64 {
    name.bytes().fold(0xCBF2_9CE4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01B3))
}
