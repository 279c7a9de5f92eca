//! Bytes of a few blocks by hand, errors against those of the public quantizers, ends of ranges.

use super::*;
use pumice_types::Encoding;

/// Numbers of a normal distribution: Box and Muller's of pairs of SplitMix64's, as
/// tests/reference/quantizer_errors.py makes them.
fn normal(count: usize) -> Vec<f32> {
    let uniform = |i: u64| {
        let mut z = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (((z ^ (z >> 31)) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    };
    let pair = |i: u64| {
        let (radius, angle) = ((-2.0 * uniform(i).ln()).sqrt(), std::f64::consts::TAU * uniform(i + 1));
        [(radius * angle.cos()) as f32, (radius * angle.sin()) as f32]
    };
    (0..count as u64).step_by(2).flat_map(pair).collect()
}

fn decoded(encoding: Encoding, values: &[f32]) -> Vec<f32> {
    encoding.decode(&encode(encoding, values).expect("encoded")).expect("f32 holds it")
}

fn error(encoding: Encoding, values: &[f32]) -> f64 {
    let squares = values.iter().zip(decoded(encoding, values)).map(|(a, b)| f64::from(a - b).powi(2));
    squares.sum::<f64>() / values.len() as f64
}

/// Figures of tests/reference/quantizer_errors.py: gguf 0.19.0 for q8_0, q5_0 and q4_0, which are the same bytes;
/// `ggml_quantize_chunk` of xllamacpp 2026.10.11549 for the others, which may not be 2 % better.
#[test]
fn errors_are_those_of_the_public_quantizers() {
    let values = normal(64 * 256);
    for (scheme, reference) in
        [(Scheme::Q8_0, 2.864503e-05), (Scheme::Q5_0, 1.853910e-03), (Scheme::Q4_0, 7.404616e-03)]
    {
        let ratio = error(scheme.into(), &values) / reference;
        assert!((ratio - 1.0).abs() < 1e-5, "{scheme}: {ratio}");
    }
    for (scheme, reference) in
        [(Scheme::Q6_K, 3.172769e-04), (Scheme::Q5_K, 1.334811e-03), (Scheme::Q4_K, 5.182782e-03)]
    {
        let ratio = error(scheme.into(), &values) / reference;
        assert!(ratio < 1.02, "{scheme}: {ratio}");
    }
}

/// Scales of rows far from 1, rows of one sign, and rows with one large value keep their relative error.
#[test]
fn errors_are_bounded_whatever_the_values() {
    let plain = normal(4 * 256);
    let makes: [fn(usize, f32) -> f32; 6] = [
        |_, x| x,
        |_, x| x * 1e-3,
        |_, x| x * 1e4,
        |_, x| x.abs() + 3.0,
        |_, x| -x.abs() - 3.0,
        |i, x| if i % 97 == 5 { 40.0 * x } else { x },
    ];
    for encoding in WRITTEN {
        for (which, make) in makes.iter().enumerate() {
            let values: Vec<f32> = plain.iter().enumerate().map(|(i, &x)| make(i, x)).collect();
            for (row, back) in values.chunks(256).zip(decoded(encoding, &values).chunks(256)) {
                let most = row.iter().fold(0f32, |m, x| m.max(x.abs()));
                let worst = row.iter().zip(back).map(|(a, b)| (a - b).abs()).fold(0f32, f32::max);
                let bound = match encoding.name() {
                    "f32" => 0.0,
                    "f16" => 1.0 / 2048.0,
                    "bf16" => 1.0 / 256.0,
                    "q8_0" => 1.0 / 200.0,
                    "q6_k" => 1.0 / 32.0,
                    "q5_k" | "q5_0" => 1.0 / 15.0,
                    _ => 1.0 / 7.0,
                };
                assert!(worst <= bound * most, "{encoding}, rows {which}: {worst} of {most}");
            }
        }
    }
}

/// Zeros stay zeros, in every place of a block.
#[test]
fn zeros_are_exact() {
    for encoding in WRITTEN {
        assert_eq!(decoded(encoding, &[0.0; 512]), [0.0; 512], "{encoding}");
        let mut one = [0.0; 512];
        one[300] = 1.5;
        let back = decoded(encoding, &one);
        assert!((back[300] - 1.5).abs() < 0.01, "{encoding}: {}", back[300]);
        assert!(back[..256].iter().all(|&x| x == 0.0), "{encoding}");
    }
}

/// What f16 and blocks do not hold is an error that names the value; f32 and bf16 hold it.
#[test]
fn what_does_not_fit_is_refused() {
    for encoding in WRITTEN {
        for wrong in [f32::NAN, f32::INFINITY, 1e6] {
            let mut values = [1.0; 256];
            values[77] = wrong;
            match encode(encoding, &values) {
                Ok(_) => assert!(matches!(encoding.name(), "f32" | "bf16"), "{encoding} {wrong}"),
                Err(EncodeError::OutOfRange { index: 77, .. }) => {}
                Err(other) => panic!("{encoding}: {other}"),
            }
        }
    }
    let largest = [f32::MAX; 256];
    assert!(
        encode(DType::BF16.into(), &largest).is_err_and(|e| e.to_string().contains("bf16 does not hold"))
    );
    let cut = encode(Scheme::Q4_K.into(), &[0.0; 32]);
    assert_eq!(cut, Err(EncodeError::CutBlock { encoding: Scheme::Q4_K.into(), count: 32 }));
    let other = encode(Scheme::IQ4_NL.into(), &[0.0; 32]).expect_err("not written").to_string();
    assert!(other.contains("iq4_nl") && other.contains("q4_k"), "{other}");
}

/// The fields of a block that has one value a sub-block, decoded by hand.
#[test]
fn nibbles_lie_as_the_format_has_them() {
    let values: Vec<f32> = (0..32).map(|i| (i % 16) as f32 - 8.0).collect();
    let bytes = encode(Scheme::Q4_0.into(), &values).expect("encoded");
    let codes: Vec<u8> = (0..16).map(|i| i | i << 4).collect();
    assert_eq!((&bytes[..2], &bytes[2..]), (&[0x00, 0x3c][..], &codes[..]));
}
