//! Tangents of functions against derivatives in f64: every f16 value, f32 values drawn by their bits, special values.

use super::reference as r;
use super::{Arithmetic, Evaluator, at, binary, unary};
use crate::scalar::{Reg, RegType, ScalarBuilder, ScalarError, ScalarExpr};

/// Drawn f32 values, or pairs of them.
const DRAWN: u64 = 1_000_000;
const ULPS: f64 = 32.0;
const ABSOLUTE: f64 = 1e-7;

/// The derivative of a function of one operand as an expression of its own.
fn derivative(f: impl Fn(&ScalarBuilder, Reg) -> Reg) -> ScalarExpr {
    unary(|b, x| b.tangent(&[x], (0, b.f32(1.0)), |b, x| Some(f(b, x[0]))).expect("a result"))
}

/// That of a function of two, by one of them.
fn partial(of: usize, f: impl Fn(&ScalarBuilder, Reg, Reg) -> Reg) -> ScalarExpr {
    binary(|b, x, y| b.tangent(&[x, y], (of, b.f32(1.0)), |b, x| Some(f(b, x[0], x[1]))).expect("a result"))
}

/// Whether a derivative is close; beyond the largest f32 any large one is, NaN where there is none is not asked.
fn is_close(got: f32, want: f64) -> bool {
    if want.is_nan() {
        return true;
    }
    if got.is_nan() {
        return false;
    }
    let (size, top) = (want.abs(), f64::from(f32::MAX) * (1.0 - 1e-5));
    if size >= top {
        return f64::from(got.abs()) >= top && f64::from(got).signum() == want.signum();
    }
    let unit = (size.log2().floor().max(-126.0) - 23.0).exp2();
    (f64::from(got) - want).abs() <= (ULPS * unit).max(ABSOLUTE)
}

/// Numbers below 2^64, one after the other.
fn drawn(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

fn points() -> impl Iterator<Item = f32> {
    let halves = (0..=u16::MAX).map(|bits| half::f16::from_bits(bits).to_f32());
    let special = [0.0, -0.0, f32::INFINITY, -f32::INFINITY, f32::NAN, f32::MIN_POSITIVE, 1e-42, -1e-42];
    let floats = drawn(7).take(DRAWN as usize).map(|bits| f32::from_bits(bits as u32));
    halves.chain(special).chain(floats)
}

type Case = (&'static str, fn(&ScalarBuilder, Reg) -> Reg, fn(f64) -> f64);

fn check(cases: &[Case]) {
    let mut wrong = Vec::new();
    for (name, build, exact) in cases {
        let expr = derivative(build);
        let mut evaluator = Evaluator::new(&expr, Arithmetic::ALL[0]);
        let bad: Vec<f32> =
            points().filter(|&x| !is_close(at(&mut evaluator, &[x]), exact(f64::from(x)))).collect();
        println!("{name:12} {:4} instructions, {} wrong", expr.insts().len(), bad.len());
        if let Some(&x) = bad.first() {
            let (got, want) = (at(&mut evaluator, &[x]), exact(f64::from(x)));
            wrong.push(format!("{name}: {got:e} instead of {want:e} at {x:e}, and {} more", bad.len() - 1));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn exponentials_and_logarithms() {
    check(&[
        ("exp", ScalarBuilder::exp, f64::exp),
        (
            "exp2",
            ScalarBuilder::exp2,
            |x| if x >= 128.0 { f64::NAN } else { x.exp2() * std::f64::consts::LN_2 },
        ),
        ("expm1", ScalarBuilder::expm1, f64::exp),
        ("log", ScalarBuilder::log, |x| if x < 0.0 { f64::NAN } else { 1.0 / x }),
        ("log2", ScalarBuilder::log2, |x| if x < 0.0 { f64::NAN } else { 1.0 / x / std::f64::consts::LN_2 }),
        ("log1p", ScalarBuilder::log1p, |x| if x < -1.0 { f64::NAN } else { 1.0 / (1.0 + x) }),
    ]);
}

#[test]
fn angles() {
    check(&[
        ("sin", ScalarBuilder::sin, f64::cos),
        ("cos", ScalarBuilder::cos, |x| -x.sin()),
        ("tan", ScalarBuilder::tan, |x| 1.0 + x.tan() * x.tan()),
        ("asin", ScalarBuilder::asin, |x| 1.0 / ((1.0 - x) * (1.0 + x)).sqrt()),
        ("acos", ScalarBuilder::acos, |x| -1.0 / ((1.0 - x) * (1.0 + x)).sqrt()),
        ("atan", ScalarBuilder::atan, |x| 1.0 / (1.0 + x * x)),
    ]);
}

#[test]
fn hyperbolics() {
    check(&[
        ("sinh", ScalarBuilder::sinh, f64::cosh),
        ("cosh", ScalarBuilder::cosh, f64::sinh),
        ("tanh", ScalarBuilder::tanh, |x| 1.0 / x.cosh() / x.cosh()),
        ("asinh", ScalarBuilder::asinh, |x| 1.0 / x.hypot(1.0)),
        ("acosh", ScalarBuilder::acosh, |x| {
            if x < 1.0 { f64::NAN } else { 1.0 / ((x - 1.0).sqrt() * (x + 1.0).sqrt()) }
        }),
        (
            "atanh",
            ScalarBuilder::atanh,
            |x| {
                if x.abs() > 1.0 { f64::NAN } else { 1.0 / ((1.0 - x) * (1.0 + x)) }
            },
        ),
    ]);
}

/// σ′ = e^(−|x|)/(1 + e^(−|x|))².
fn bell(x: f64) -> f64 {
    let t = (-x.abs()).exp();
    t / (1.0 + t) / (1.0 + t)
}

/// Left at a limit that is 0 where x is infinite.
fn times(x: f64, y: f64) -> f64 {
    if y == 0.0 { 0.0 } else { x * y }
}

#[test]
fn activations() {
    check(&[
        ("sigmoid", ScalarBuilder::sigmoid, bell),
        ("softplus", ScalarBuilder::softplus, r::sigmoid),
        ("log_sigmoid", ScalarBuilder::log_sigmoid, |x| r::sigmoid(-x)),
        ("silu", ScalarBuilder::silu, |x| r::sigmoid(x) + times(x, bell(x))),
        ("swish 1.7", |b, x| b.swish(x, 1.75), |x| r::sigmoid(1.75 * x) + times(1.75 * x, bell(1.75 * x))),
        ("mish", ScalarBuilder::mish, |x| {
            let t = r::softplus(x).tanh();
            let bend = 1.0 / r::softplus(x).cosh() / r::softplus(x).cosh();
            t + times(x, r::sigmoid(x) * bend)
        }),
        ("erf", ScalarBuilder::erf, |x| std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp()),
        ("gelu", ScalarBuilder::gelu, |x| {
            let density = (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
            0.5 * r::erfc(-x * std::f64::consts::FRAC_1_SQRT_2) + times(x, density)
        }),
        ("gelu_tanh", ScalarBuilder::gelu_tanh, |x| {
            let x = x.clamp(-30.0, 30.0);
            let slope = (2.0 / std::f64::consts::PI).sqrt();
            let u = slope * (x + 0.044715 * x * x * x);
            let inner = slope * (1.0 + 3.0 * 0.044715 * x * x);
            r::sigmoid(2.0 * u) + times(x, 2.0 * inner * bell(2.0 * u))
        }),
    ]);
}

/// Not asked at a place, and of no number.
fn kink(x: f64, at: f64, value: f64) -> f64 {
    if x == at || x.is_nan() { f64::NAN } else { value }
}

#[test]
fn arithmetic_of_one_operand() {
    check(&[
        ("sqrt", ScalarBuilder::sqrt, |x| if x < 0.0 { f64::NAN } else { 0.5 / x.sqrt() }),
        ("rsqrt", ScalarBuilder::rsqrt, |x| if x <= 0.0 { f64::NAN } else { -0.5 / x / x.sqrt() }),
        ("neg", ScalarBuilder::neg, |_| -1.0),
        ("abs", ScalarBuilder::abs, |x| if x == 0.0 { 0.0 } else { x.signum() }),
        ("square", |b, x| b.mul(x, x), |x| 2.0 * x),
        ("reciprocal", |b, x| b.div(b.f32(1.0), x), |x| -1.0 / x / x),
        ("relu", |b, x| b.max(x, b.f32(0.0)), |x| kink(x, 0.0, f64::from(x > 0.0))),
        ("floor", ScalarBuilder::floor, |_| 0.0),
        ("sign", ScalarBuilder::sign, |_| 0.0),
        ("f16", ScalarBuilder::round_f16, |_| 1.0),
        ("bf16", ScalarBuilder::round_bf16, |_| 1.0),
        (
            "clamped",
            |b, x| b.clamp(x, b.f32(-2.0), b.f32(3.0)),
            |x| kink(x, f64::NAN, f64::from((-2.0..=3.0).contains(&x))),
        ),
        ("chain", |b, x| b.exp(b.sin(x)), |x| x.sin().exp() * x.cos()),
    ]);
}

/// Operand numbers, a name, the function, and what the partial derivative is.
type Two = (usize, &'static str, fn(&ScalarBuilder, Reg, Reg) -> Reg, fn(f64, f64) -> f64);

fn check_two(cases: &[Two]) {
    let mut wrong = Vec::new();
    for (of, name, build, exact) in cases {
        let expr = partial(*of, build);
        let mut evaluator = Evaluator::new(&expr, Arithmetic::ALL[0]);
        let mut bad = 0;
        for (i, bits) in drawn(11).take(DRAWN as usize).enumerate() {
            let mut pair = [f32::from_bits(bits as u32), f32::from_bits((bits >> 32) as u32)];
            if i % 2 == 0 {
                // Of common sizes.
                pair = pair.map(|v| f32::from_bits(v.to_bits() & 0x83ff_ffff | 0x3c00_0000));
            }
            // What a device may take for 0 has quotients of any size.
            if pair.iter().any(|v| v.is_nan() || v.is_subnormal()) {
                continue;
            }
            let (got, want) = (at(&mut evaluator, &pair), exact(f64::from(pair[0]), f64::from(pair[1])));
            if !is_close(got, want) {
                bad += 1;
                if bad == 1 {
                    wrong.push(format!("{name} by {of}: {got:e} instead of {want:e} at {pair:?}"));
                }
            }
        }
        println!("{name} by {of}: {bad} wrong");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn arithmetic_of_two_operands() {
    check_two(&[
        (0, "add", ScalarBuilder::add, |_, _| 1.0),
        (1, "sub", ScalarBuilder::sub, |_, _| -1.0),
        (0, "mul", ScalarBuilder::mul, |_, y| y),
        (1, "mul", ScalarBuilder::mul, |x, _| x),
        (0, "div", ScalarBuilder::div, |_, y| 1.0 / y),
        (0, "max", ScalarBuilder::max, |x, y| f64::from(x >= y)),
        (1, "min", ScalarBuilder::min, |x, y| f64::from(x > y)),
        (0, "fmod", ScalarBuilder::fmod, |x, y| if x.is_finite() && y != 0.0 { 1.0 } else { f64::NAN }),
    ]);
}

/// Where the result and its parts are within f32: products of extremes overflow on the way.
fn usual(parts: &[f64], value: f64) -> f64 {
    let inside = |v: &f64| v.is_finite() && (1e-30..1e30).contains(&v.abs());
    if parts.iter().all(inside) { value } else { f64::NAN }
}

#[test]
fn quotients_powers_and_angles_of_two_operands() {
    check_two(&[
        (1, "div", ScalarBuilder::div, |x, y| usual(&[x, y, x / y, x / y / y], -x / y / y)),
        (0, "atan2", ScalarBuilder::atan2, |y, x| usual(&[x, y], x / (x * x + y * y))),
        (1, "atan2", ScalarBuilder::atan2, |y, x| usual(&[x, y], -y / (x * x + y * y))),
        (0, "pow", ScalarBuilder::pow, |x, y| {
            let power = x.powf(y - 1.0);
            usual(&[x, y, x.powf(y), power], y * power)
        }),
        (1, "pow", ScalarBuilder::pow, |x, y| usual(&[x, y, x.powf(y)], x.powf(y) * x.ln())),
    ]);
}

/// What a select does not choose has no influence, NaN and infinity included; 0 is +0.
#[test]
fn what_is_not_chosen_has_no_influence() {
    let below = |b: &ScalarBuilder, x: Reg| b.select(b.gt(x, b.f32(0.0)), x, b.mul(b.log(x), b.f32(3.0)));
    let mut expr = derivative(below);
    assert_eq!(at(&mut Evaluator::new(&expr, Arithmetic::ALL[0]), &[5.0]), 1.0);
    expr = derivative(|b, x| b.select(b.lt(x, b.f32(0.0)), b.neg(x), b.f32(1.0)));
    assert_eq!(at(&mut Evaluator::new(&expr, Arithmetic::ALL[0]), &[5.0]).to_bits(), 0);
    expr = derivative(|b, x| b.select(b.le(x, b.f32(0.0)), b.expm1(x), x));
    assert_eq!(at(&mut Evaluator::new(&expr, Arithmetic::ALL[0]), &[100.0]), 1.0);
}

/// One register in two places is two operands.
#[test]
fn operands_that_are_one_register_are_still_two() {
    let by_first = unary(|b, x| {
        b.tangent(&[x, x], (0, b.f32(1.0)), |b, v| Some(b.sub(b.mul(v[0], v[1]), v[1]))).expect("a result")
    });
    assert_eq!(at(&mut Evaluator::new(&by_first, Arithmetic::ALL[0]), &[7.0]), 7.0);
}

/// Tangents of tangents are made the same way.
#[test]
fn second_derivatives() {
    let cases: [Case; 6] = [
        ("exp", ScalarBuilder::exp, f64::exp),
        ("sin", ScalarBuilder::sin, |x| -x.sin()),
        ("tanh", ScalarBuilder::tanh, |x| -2.0 * x.tanh() / x.cosh() / x.cosh()),
        ("log", ScalarBuilder::log, |x| -1.0 / x / x),
        ("cube", |b, x| b.mul(b.mul(x, x), x), |x| 6.0 * x),
        ("sqrt", ScalarBuilder::sqrt, |x| -0.25 / x / x.sqrt()),
    ];
    for (name, build, exact) in cases {
        let second = derivative(|b, x| {
            b.tangent(&[x], (0, b.f32(1.0)), |b, x| Some(build(b, x[0]))).expect("a result")
        });
        let mut evaluator = Evaluator::new(&second, Arithmetic::ALL[0]);
        for i in 1..200 {
            let x = i as f32 * 0.04;
            let (got, want) = (f64::from(at(&mut evaluator, &[x])), exact(f64::from(x)));
            assert!(
                (got - want).abs() <= 1e-5 * want.abs().max(1.0),
                "{name}: {got} instead of {want} at {x}"
            );
        }
    }
}

/// Bits have no derivative: a tangent that would enter them is a mistake, not 0.
#[test]
fn what_has_no_rule_is_refused() {
    let bits =
        |b: &ScalarBuilder, x: Reg| b.bitcast(b.and(b.bitcast(x, RegType::U32), b.u32(!1)), RegType::F32);
    let made = ScalarExpr::unary(RegType::F32, |b, x| {
        b.tangent(&[x], (0, b.f32(1.0)), |b, x| Some(b.add(bits(b, x[0]), x[0]))).expect("a result")
    });
    assert!(matches!(made, Err(ScalarError::NoTangent { .. })), "{made:?}");
    let ends = derivative(|b, x| b.convert(b.convert(x, RegType::I32), RegType::F32));
    assert_eq!(at(&mut Evaluator::new(&ends, Arithmetic::ALL[0]), &[3.5]), 0.0, "an integer ends the way");
}
