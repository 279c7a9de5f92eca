//! Numbers whose rounding shows whether it is right, and how they are rounded.

use pumice_cpu_ref::Array;
use pumice_types::{DType, Precision};

/// Values of every kind whose rounding to f16 or bf16 matters, before ordinary ones follow: ties, both sides of one,
/// subnormals of f16, what becomes zero in it, its largest.
const KINDS: [f32; 15] = [
    1.003_906_2,
    1.011_718_8,
    1.003_906_4,
    1.000_488_3,
    1.001_464_8,
    1.000_488_4,
    -0.333_333_34,
    6.103_515_6e-5,
    6.0e-5,
    8.940_697e-8,
    2.980_232_2e-8,
    2.980_233e-8,
    -0.0,
    65_519.0,
    -2049.0,
];

/// The i-th of numbers of every kind and of numbers with all 24 bits. All are finite once they are rounded.
pub(super) fn number(i: usize) -> f32 {
    match i.is_multiple_of(3) {
        true => KINDS[i / 3 % KINDS.len()],
        false => f32::from_bits(0x3c00_0000 | (i as u32).wrapping_mul(0x9e37_79b9) >> 6) - 0.5,
    }
}

/// To what a precision rounds.
pub(super) fn dtype(precision: Precision) -> DType {
    if precision == Precision::Bf16 { DType::BF16 } else { DType::F16 }
}

/// The numbers, each rounded.
pub(super) fn rounded(numbers: &[f32], dtype: DType) -> Vec<f64> {
    let exact = numbers.iter().map(|&number| f64::from(number)).collect();
    let array = Array::floats(DType::F32, &[numbers.len() as u64], exact);
    array.rounded_to(dtype).as_floats().to_vec()
}
