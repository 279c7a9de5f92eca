//! Values at NaN, infinities and signed zeros (OPS 3.1).

use super::{Arithmetic, Evaluator, at, binary, check, unary};
use crate::scalar::{Reg, ScalarBuilder};

use std::f32::consts::{FRAC_PI_2, LN_2};

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;

type Unary = fn(&ScalarBuilder, Reg) -> Reg;

/// Name, function, and its values at −∞, −0, +0, +∞.
const ROWS: &[(&str, Unary, [f32; 4])] = &[
    ("exp", ScalarBuilder::exp, [0.0, 1.0, 1.0, INF]),
    ("exp2", ScalarBuilder::exp2, [0.0, 1.0, 1.0, INF]),
    ("expm1", ScalarBuilder::expm1, [-1.0, -0.0, 0.0, INF]),
    ("log", ScalarBuilder::log, [NAN, -INF, -INF, INF]),
    ("log2", ScalarBuilder::log2, [NAN, -INF, -INF, INF]),
    ("log1p", ScalarBuilder::log1p, [NAN, -0.0, 0.0, INF]),
    ("sin", ScalarBuilder::sin, [NAN, -0.0, 0.0, NAN]),
    ("cos", ScalarBuilder::cos, [NAN, 1.0, 1.0, NAN]),
    ("tan", ScalarBuilder::tan, [NAN, -0.0, 0.0, NAN]),
    ("asin", ScalarBuilder::asin, [NAN, -0.0, 0.0, NAN]),
    ("acos", ScalarBuilder::acos, [NAN, FRAC_PI_2, FRAC_PI_2, NAN]),
    ("atan", ScalarBuilder::atan, [-FRAC_PI_2, -0.0, 0.0, FRAC_PI_2]),
    ("sinh", ScalarBuilder::sinh, [-INF, -0.0, 0.0, INF]),
    ("cosh", ScalarBuilder::cosh, [INF, 1.0, 1.0, INF]),
    ("tanh", ScalarBuilder::tanh, [-1.0, -0.0, 0.0, 1.0]),
    ("asinh", ScalarBuilder::asinh, [-INF, -0.0, 0.0, INF]),
    ("acosh", ScalarBuilder::acosh, [NAN, NAN, NAN, INF]),
    ("atanh", ScalarBuilder::atanh, [NAN, -0.0, 0.0, NAN]),
    ("erf", ScalarBuilder::erf, [-1.0, -0.0, 0.0, 1.0]),
    ("sigmoid", ScalarBuilder::sigmoid, [0.0, 0.5, 0.5, 1.0]),
    ("softplus", ScalarBuilder::softplus, [0.0, LN_2, LN_2, INF]),
    ("log_sigmoid", ScalarBuilder::log_sigmoid, [-INF, -LN_2, -LN_2, -0.0]),
    ("gelu", ScalarBuilder::gelu, [NAN, -0.0, 0.0, INF]),
    ("gelu_tanh", ScalarBuilder::gelu_tanh, [NAN, -0.0, 0.0, INF]),
    ("silu", ScalarBuilder::silu, [NAN, -0.0, 0.0, INF]),
    ("mish", ScalarBuilder::mish, [NAN, -0.0, 0.0, INF]),
    ("sqrt", ScalarBuilder::sqrt, [NAN, -0.0, 0.0, INF]),
    ("rsqrt", ScalarBuilder::rsqrt, [NAN, -INF, INF, 0.0]),
    ("abs", ScalarBuilder::abs, [INF, 0.0, 0.0, INF]),
    ("neg", ScalarBuilder::neg, [INF, 0.0, -0.0, -INF]),
    ("sign", ScalarBuilder::sign, [-1.0, 0.0, 0.0, 1.0]),
    ("floor", ScalarBuilder::floor, [-INF, -0.0, 0.0, INF]),
    ("round_even", ScalarBuilder::round_even, [-INF, -0.0, 0.0, INF]),
    ("round_f16", ScalarBuilder::round_f16, [-INF, -0.0, 0.0, INF]),
    ("round_bf16", ScalarBuilder::round_bf16, [-INF, -0.0, 0.0, INF]),
];

#[test]
fn unary_functions() {
    for (name, build, values) in ROWS {
        let expr = unary(build);
        for (x, want) in [-INF, -0.0, 0.0, INF].into_iter().zip(values) {
            check(name, &expr, &[x], *want);
        }
        check(name, &expr, &[NAN], NAN);
        check(name, &expr, &[-NAN], NAN);
    }
}

#[test]
fn poles_and_domain_ends() {
    check("log1p", &unary(ScalarBuilder::log1p), &[-1.0], -INF);
    check("log1p", &unary(ScalarBuilder::log1p), &[-1.5], NAN);
    check("atanh", &unary(ScalarBuilder::atanh), &[1.0], INF);
    check("atanh", &unary(ScalarBuilder::atanh), &[-1.0], -INF);
    check("atanh", &unary(ScalarBuilder::atanh), &[1.5], NAN);
    check("asin", &unary(ScalarBuilder::asin), &[1.000_001], NAN);
    check("acos", &unary(ScalarBuilder::acos), &[1.0], 0.0);
    check("acosh", &unary(ScalarBuilder::acosh), &[1.0], 0.0);
    check("log", &unary(ScalarBuilder::log), &[1.0], 0.0);
    check("log2", &unary(ScalarBuilder::log2), &[8.0], 3.0);
    check("exp2", &unary(ScalarBuilder::exp2), &[-3.0], 0.125);
    check("exp", &unary(ScalarBuilder::exp), &[1000.0], INF);
    check("exp", &unary(ScalarBuilder::exp), &[-1000.0], 0.0);
}

#[test]
fn power() {
    let rows = [
        (0.0, 0.0, 1.0),
        (NAN, 0.0, 1.0),
        (1.0, NAN, 1.0),
        (NAN, 1.0, NAN),
        (2.0, NAN, NAN),
        (-2.0, 3.0, -8.0),
        (-2.0, 4.0, 16.0),
        (-2.0, 0.5, NAN),
        (-8.0, -1.0, -0.125),
        (0.0, -1.0, INF),
        (-0.0, -1.0, -INF),
        (-0.0, -2.0, INF),
        (-0.0, 3.0, -0.0),
        (0.0, 2.5, 0.0),
        (0.0, INF, 0.0),
        (0.0, -INF, INF),
        (0.5, INF, 0.0),
        (0.5, -INF, INF),
        (2.0, INF, INF),
        (2.0, -INF, 0.0),
        (-1.0, INF, 1.0),
        (1.0, -INF, 1.0),
        (INF, 2.0, INF),
        (INF, -2.0, 0.0),
        (-INF, 3.0, -INF),
        (-INF, 2.0, INF),
        (-INF, -3.0, -0.0),
        (3.0, 1.0, 3.0),
        (10.0, 2.0, 100.0),
        (2.0, 127.0, 1.701_411_8e38),
        (2.0, 128.0, INF),
        (2.0, 1e30, INF),
        (-1.0, 1e30, 1.0),
        (-1.0, 16_777_215.0, -1.0),
    ];
    let expr = binary(ScalarBuilder::pow);
    for (x, y, want) in rows {
        check("pow", &expr, &[x, y], want);
    }
}

#[test]
fn extrema_and_division() {
    let max = binary(ScalarBuilder::max);
    let min = binary(ScalarBuilder::min);
    for (name, expr) in [("max", &max), ("min", &min)] {
        check(name, expr, &[NAN, 1.0], NAN);
        check(name, expr, &[1.0, NAN], NAN);
        check(name, expr, &[-INF, NAN], NAN);
    }
    check("max", &max, &[-INF, 2.0], 2.0);
    check("min", &min, &[INF, 2.0], 2.0);
    let div = binary(ScalarBuilder::div);
    let rows = [(1.0, 0.0, INF), (-1.0, 0.0, -INF), (1.0, -0.0, -INF), (0.0, 0.0, NAN), (INF, INF, NAN)];
    for (x, y, want) in rows {
        check("div", &div, &[x, y], want);
    }
    check("div", &div, &[3e38, 2e38], 1.5);
    check("div", &div, &[1.0, INF], 0.0);
    check("div", &div, &[INF, 3e38], INF);
    let clamp = unary(|b, x| b.clamp(x, b.f32(2.0), b.f32(1.0)));
    check("clamp", &clamp, &[1.5], 1.0);
    check("clamp", &clamp, &[NAN], NAN);
}

#[test]
fn arctangent_of_axes() {
    let pi = std::f32::consts::PI;
    let expr = binary(ScalarBuilder::atan2);
    let rows = [
        (0.0, 0.0, 0.0),
        (-0.0, 0.0, -0.0),
        (0.0, -0.0, pi),
        (-0.0, -0.0, -pi),
        (1.0, 0.0, pi / 2.0),
        (-1.0, -0.0, -pi / 2.0),
        (1.0, INF, 0.0),
        (1.0, -INF, pi),
        (NAN, 1.0, NAN),
        (1.0, NAN, NAN),
    ];
    for (y, x, want) in rows {
        check("atan2", &expr, &[y, x], want);
    }
    for (y, x, want) in [(INF, INF, pi / 4.0), (INF, -INF, 3.0 * pi / 4.0), (-INF, INF, -pi / 4.0)] {
        let got = at(&mut Evaluator::new(&expr, Arithmetic::default()), &[y, x]);
        assert!((got - want).abs() < 1e-6, "atan2({y}, {x}) = {got}");
    }
}

#[test]
fn remainders() {
    let fmod = binary(ScalarBuilder::fmod);
    let floor = binary(ScalarBuilder::floor_mod);
    for expr in [&fmod, &floor] {
        for (x, y) in [(INF, 2.0), (1.0, 0.0), (NAN, 1.0), (1.0, NAN), (INF, INF)] {
            check("mod", expr, &[x, y], NAN);
        }
    }
    check("fmod", &fmod, &[-7.0, INF], -7.0);
    check("mod", &floor, &[7.0, INF], 7.0);
    check("mod", &floor, &[-7.0, INF], INF);
    check("mod", &floor, &[7.0, -INF], -INF);
    check("fmod", &fmod, &[-7.5, 2.0], -1.5);
    check("mod", &floor, &[-7.5, 2.0], 0.5);
    check("mod", &floor, &[7.5, -2.0], -0.5);
    check("fmod", &fmod, &[-8.0, 2.0], -0.0);
}

/// The two gelus must stay two: they differ by up to 4.7e-4 near |x| = 2.7.
#[test]
fn gelus_differ() {
    let (exact, tanh) = (unary(ScalarBuilder::gelu), unary(ScalarBuilder::gelu_tanh));
    let arithmetic = Arithmetic::default();
    let x = [2.25];
    let a = at(&mut Evaluator::new(&exact, arithmetic), &x);
    let b = at(&mut Evaluator::new(&tanh, arithmetic), &x);
    assert!((a - b).abs() > 2e-4, "{a} {b}");
}
