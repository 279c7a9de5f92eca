//! Rounding to f16 and bf16 against the `half` crate, and `Cast` between all dtypes.

use super::{Arithmetic, Evaluator, at, check, same, unary};
use crate::DType;
use crate::scalar::{RegType, ScalarBuilder, ScalarExpr, ScalarValue};

/// Values around every f16 and bf16 value: itself, the midpoint to the next, and neighbours of both.
fn around(value: f32, next: f32) -> Vec<f32> {
    let middle = ((value as f64 + next as f64) / 2.0) as f32;
    [value, middle]
        .into_iter()
        .flat_map(|v| [-1, 0, 1].map(|d| f32::from_bits((v.to_bits() as i64 + d) as u32)))
        .collect()
}

#[test]
fn f16_is_rounded_as_half_does() {
    let expr = unary(ScalarBuilder::round_f16);
    for arithmetic in [Arithmetic::default(), Arithmetic { fused_fma: true, flush_subnormals: true }] {
        let mut e = Evaluator::new(&expr, arithmetic);
        for bits in 0..=0xffffu16 {
            let value = half::f16::from_bits(bits);
            let next = half::f16::from_bits(bits.wrapping_add(1));
            let points = if value.is_finite() && value.to_f32() != 0.0 {
                around(
                    value.to_f32(),
                    if next.is_finite() { next.to_f32() } else { 65536f32.copysign(value.to_f32()) },
                )
            } else {
                vec![value.to_f32()]
            };
            for x in points {
                let (got, want) = (at(&mut e, &[x]), half::f16::from_f32(x).to_f32());
                assert!(same(got, want), "{x:e}: {got:e}, not {want:e}");
            }
        }
    }
    check("round_f16", &expr, &[65519.0], 65504.0);
    check("round_f16", &expr, &[65520.0], f32::INFINITY);
    check("round_f16", &expr, &[2f32.powi(-25)], 0.0);
    check("round_f16", &expr, &[-2f32.powi(-25)], -0.0);
    check("round_f16", &expr, &[1e-30], 0.0);
    check("round_f16", &expr, &[f32::from_bits(1)], 0.0);
}

#[test]
fn bf16_is_rounded_as_half_does() {
    let expr = unary(ScalarBuilder::round_bf16);
    let mut e = Evaluator::new(&expr, Arithmetic { fused_fma: false, flush_subnormals: true });
    for i in 0..=0xffffu32 {
        for low in [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff] {
            let x = f32::from_bits(i << 16 | low);
            let (got, want) = (at(&mut e, &[x]), half::bf16::from_f32(x).to_f32());
            assert!(same(got, want), "{x:e}: {got:e}, not {want:e}");
        }
    }
}

fn cast(from: DType, to: DType, v: ScalarValue) -> ScalarValue {
    let expr = ScalarExpr::unary(from.into(), |b, x| b.cast(x, from, to)).expect("a cast");
    assert_eq!(expr.output_type(0), Some(RegType::from(to)));
    expr.eval(&[v], Arithmetic::default()).expect("a value")[0]
}

#[test]
fn floats_saturate_into_integers() {
    use ScalarValue::{Bool, F32, I32, I64, U32, U64};
    let rows = [
        (2.7, DType::I32, I32(2)),
        (-2.7, DType::I32, I32(-2)),
        (1e20, DType::I32, I32(i32::MAX)),
        (-1e20, DType::I32, I32(i32::MIN)),
        (f32::NAN, DType::I32, I32(0)),
        (-2147483648.0, DType::I32, I32(i32::MIN)),
        (2147483520.0, DType::I32, I32(2147483520)),
        (2147483648.0, DType::I32, I32(i32::MAX)),
        (-1.0, DType::U32, U32(0)),
        (4e9, DType::U32, U32(4_000_000_000)),
        (1e20, DType::U32, U32(u32::MAX)),
        (300.0, DType::U8, U32(255)),
        (-1.5, DType::U8, U32(0)),
        (-129.0, DType::I8, I32(-128)),
        (127.9, DType::I8, I32(127)),
        (f32::NAN, DType::I8, I32(0)),
        (f32::INFINITY, DType::U16, U32(65535)),
        (1e20, DType::I64, I64(i64::MAX)),
        (-3.5, DType::I64, I64(-3)),
        (f32::NEG_INFINITY, DType::I64, I64(i64::MIN)),
        (1e30, DType::U64, U64(u64::MAX)),
        (f32::NAN, DType::Bool, Bool(true)),
        (0.25, DType::Bool, Bool(true)),
        (-0.0, DType::Bool, Bool(false)),
    ];
    for (x, to, want) in rows {
        assert_eq!(cast(DType::F32, to, F32(x)), want, "{x} to {to}");
    }
}

#[test]
fn integers_keep_their_low_bits() {
    use ScalarValue::{Bool, F32, I32, I64, U32, U64};
    let rows = [
        (DType::I32, DType::I8, I32(-129), I32(127)),
        (DType::I32, DType::U8, I32(-1), U32(255)),
        (DType::U32, DType::I16, U32(0x1_8000), I32(-32768)),
        (DType::I32, DType::U64, I32(-1), U64(u64::MAX)),
        (DType::U32, DType::I64, U32(u32::MAX), I64(4_294_967_295)),
        (DType::I64, DType::I32, I64(0x1_0000_0005), I32(5)),
        (DType::I64, DType::Bool, I64(0x1_0000_0000), Bool(true)),
        (DType::Bool, DType::F32, Bool(true), F32(1.0)),
        (DType::Bool, DType::I64, Bool(true), I64(1)),
        (DType::I32, DType::F32, I32(16_777_217), F32(16_777_216.0)),
        (DType::U64, DType::F32, U64(u64::MAX), F32(18446744073709551616.0)),
        (DType::I32, DType::F16, I32(65520), F32(f32::INFINITY)),
        (DType::I8, DType::U16, I32(-1), U32(65535)),
    ];
    for (from, to, x, want) in rows {
        assert_eq!(cast(from, to, x), want, "{x:?} from {from} to {to}");
    }
}

/// Integers to bf16 round once: rounding to f32 on the way must not move a value onto a tie.
#[test]
fn wide_integers_round_once_to_bf16() {
    let want = exact_bf16;
    for shift in 17..62 {
        let tie = (0b1_0000_0001i64 << shift) >> 8 << 8 >> 1;
        for delta in [-3, -1, 0, 1, 3] {
            for sign in [1, -1] {
                let v = sign * (tie + delta);
                let got = cast(DType::I64, DType::BF16, ScalarValue::I64(v));
                assert_eq!(got, ScalarValue::F32(want(v as i128)), "{v}");
                if let Ok(v) = i32::try_from(v) {
                    let got = cast(DType::I32, DType::BF16, ScalarValue::I32(v));
                    assert_eq!(got, ScalarValue::F32(want(v as i128)), "{v}");
                }
            }
        }
    }
}

/// Round to 8 significant bits, ties to even, in integers.
fn exact_bf16(v: i128) -> f32 {
    let m = v.unsigned_abs();
    let drop = 128 - m.leading_zeros() - 8;
    let (kept, rest, half) = (m >> drop, m & ((1 << drop) - 1), 1u128 << (drop - 1));
    let up = rest > half || (rest == half && kept & 1 == 1);
    let r = ((kept + up as u128) << drop) as f64 as f32;
    if v < 0 { -r } else { r }
}
