//! Integer arithmetic (OPS 1.4).

use crate::scalar::{Arithmetic, Reg, RegType, ScalarBuilder, ScalarExpr, ScalarValue};

fn eval(
    types: [RegType; 2],
    f: impl FnOnce(&ScalarBuilder, Reg, Reg) -> Reg,
    args: [ScalarValue; 2],
) -> ScalarValue {
    let expr = ScalarExpr::binary(types, f).expect("a well-typed body");
    expr.eval(&args, Arithmetic::default()).expect("a value")[0]
}

fn i32s(f: impl FnOnce(&ScalarBuilder, Reg, Reg) -> Reg, x: i32, y: i32) -> i32 {
    match eval([RegType::I32; 2], f, [ScalarValue::I32(x), ScalarValue::I32(y)]) {
        ScalarValue::I32(v) => v,
        other => panic!("{other:?}"),
    }
}

#[test]
fn division_and_remainders_of_all_sign_pairs() {
    for (x, y) in
        [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3), (-6, 3), (0, -5), (i32::MIN, -1), (i32::MIN, 7)]
    {
        assert_eq!(i32s(ScalarBuilder::div, x, y), x.wrapping_div(y), "{x} / {y}");
        assert_eq!(i32s(ScalarBuilder::rem, x, y), x.wrapping_rem(y), "{x} rem {y}");
        let floor = x as i64 - (x as i64).div_euclid(y as i64) * y as i64;
        let want = if floor != 0 && y < 0 { floor + y as i64 } else { floor };
        assert_eq!(i32s(ScalarBuilder::modulo, x, y) as i64, want, "{x} mod {y}");
    }
    for f in [ScalarBuilder::div, ScalarBuilder::rem, ScalarBuilder::modulo] {
        assert_eq!(i32s(f, 7, 0), 0);
        assert_eq!(i32s(f, i32::MIN, 0), 0);
    }
    let big = [ScalarValue::U32(4_000_000_000), ScalarValue::U32(7)];
    assert_eq!(eval([RegType::U32; 2], ScalarBuilder::modulo, big), ScalarValue::U32(4_000_000_000 % 7));
    let wide = [ScalarValue::I64(-(1 << 40) - 1), ScalarValue::I64(1 << 20)];
    assert_eq!(eval([RegType::I64; 2], ScalarBuilder::modulo, wide), ScalarValue::I64((1 << 20) - 1));
}

#[test]
fn shifts_beyond_the_width() {
    assert_eq!(i32s(ScalarBuilder::shift_left, 1, 31), i32::MIN);
    assert_eq!(i32s(ScalarBuilder::shift_left, 1, 32), 0);
    assert_eq!(i32s(ScalarBuilder::shift_left, 1, -1), 0);
    assert_eq!(i32s(ScalarBuilder::shift_right, -8, 1), -4);
    assert_eq!(i32s(ScalarBuilder::shift_right, -8, 33), -1);
    assert_eq!(i32s(ScalarBuilder::shift_right, -8, -1), -1);
    assert_eq!(i32s(ScalarBuilder::shift_right, 8, 40), 0);
    let wide = [ScalarValue::U64(1 << 63), ScalarValue::U64(63)];
    assert_eq!(eval([RegType::U64; 2], ScalarBuilder::shift_right, wide), ScalarValue::U64(1));
    let far = [ScalarValue::U64(1), ScalarValue::U64(1 << 40)];
    assert_eq!(eval([RegType::U64; 2], ScalarBuilder::shift_left, far), ScalarValue::U64(0));
}

#[test]
fn integer_powers_wrap() {
    for (x, n) in [(3, 5), (-3, 5), (-2, 31), (7, 30), (0, 0), (10, 9), (2, 40), (i32::MAX, i32::MAX)] {
        assert_eq!(i32s(ScalarBuilder::pow_int, x, n), x.wrapping_pow(n as u32), "{x}^{n}");
    }
    for (x, n, want) in [(1, -3, 1), (-1, -3, -1), (-1, -4, 1), (2, -1, 0), (0, -1, 0)] {
        assert_eq!(i32s(ScalarBuilder::pow_int, x, n), want, "{x}^{n}");
    }
    let mixed = [ScalarValue::I64(3), ScalarValue::I32(39)];
    assert_eq!(
        eval([RegType::I64, RegType::I32], ScalarBuilder::pow_int, mixed),
        ScalarValue::I64(3i64.pow(39))
    );
}

#[test]
fn extrema_signs_and_magnitudes() {
    assert_eq!(i32s(ScalarBuilder::max, -5, 3), 3);
    assert_eq!(i32s(ScalarBuilder::min, -5, 3), -5);
    assert_eq!(i32s(|b, x, _| b.abs(x), i32::MIN, 0), i32::MIN);
    assert_eq!(i32s(|b, x, _| b.neg(x), i32::MIN, 0), i32::MIN);
    assert_eq!(i32s(|b, x, _| b.sign(x), -9, 0), -1);
    let unsigned = [ScalarValue::U32(u32::MAX), ScalarValue::U32(1)];
    assert_eq!(eval([RegType::U32; 2], ScalarBuilder::max, unsigned), ScalarValue::U32(u32::MAX));
    let close = [ScalarValue::I64(1 << 40), ScalarValue::I64((1 << 40) + 1)];
    assert_eq!(eval([RegType::I64; 2], ScalarBuilder::lt, close), ScalarValue::Bool(true));
}
