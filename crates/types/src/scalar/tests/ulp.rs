//! Every function against f64, over samples of all bit patterns and of its interesting range, under every freedom
//! a device has.

use super::reference as r;
use super::{Arithmetic, Evaluator, at, binary, unary};
use crate::scalar::{Reg, ScalarBuilder, ScalarExpr};

/// The error of `got` in ulps of f32 at `want`; what may be flushed is not counted.
fn ulps(got: f32, want: f64, flush: bool) -> f64 {
    if want.is_nan() || got.is_nan() {
        return if want.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    // 2¹²⁸·(1 − 2⁻²⁵) is where rounding to f32 begins to give infinity; one ulp below is leeway for both.
    let top = 3.402_823_4e38f64;
    if want.abs() >= top {
        return if got.abs() as f64 >= top * (1.0 - 1e-6) { 0.0 } else { f64::INFINITY };
    }
    if got.is_infinite() {
        return if want.abs() > top * (1.0 - 1e-6) { 0.0 } else { f64::INFINITY };
    }
    let floor = if flush { f32::MIN_POSITIVE as f64 } else { 0.0 };
    let error = (got as f64 - want).abs();
    if error <= floor {
        return 0.0;
    }
    let exponent = want.abs().log2().floor().max(-126.0);
    error / (exponent - 23.0).exp2()
}

/// Sample points: a stride over all bit patterns, a fine grid of lo..hi, and neighbours of round numbers.
fn samples(lo: f32, hi: f32) -> Vec<f32> {
    let all = (0u64..1 << 32).step_by(81_919).map(|bits| f32::from_bits(bits as u32));
    let count = 25_000;
    let grid = (0..=count).map(|i| lo + (hi - lo) * (i as f32 / count as f32));
    let mut v: Vec<f32> = all.chain(grid).collect();
    for i in -300..=300 {
        let x = i as f32 * 0.5;
        let bits = x.to_bits();
        v.extend([x, f32::from_bits(bits.wrapping_add(1)), f32::from_bits(bits.wrapping_sub(1))]);
    }
    v.retain(|x| !x.is_nan());
    v
}

struct Case {
    name: &'static str,
    build: fn(&ScalarBuilder, Reg) -> Reg,
    exact: fn(f64) -> f64,
    range: (f32, f32),
    limit: f64,
    /// Absolute error that is always allowed.
    absolute: f64,
}

fn worst(case: &Case, expr: &ScalarExpr, arithmetic: Arithmetic) -> (f64, f32) {
    let mut e = Evaluator::new(expr, arithmetic);
    let flush = arithmetic.flush_subnormals;
    let mut worst = (0.0, 0.0);
    for x in samples(case.range.0, case.range.1) {
        if flush && x.is_subnormal() {
            continue;
        }
        let (got, want) = (at(&mut e, &[x]), (case.exact)(x as f64));
        if (got as f64 - want).abs() <= case.absolute {
            continue;
        }
        let u = ulps(got, want, flush);
        if u > worst.0 {
            worst = (u, x);
        }
    }
    worst
}

fn check_all(cases: &[Case]) {
    let mut failures = Vec::new();
    for case in cases {
        let expr = unary(case.build);
        for arithmetic in Arithmetic::ALL {
            let (u, x) = worst(case, &expr, arithmetic);
            let n = expr.insts().len();
            println!("{:12} {n:4} instructions, {u:.2} ulp at {x:e} ({arithmetic:?})", case.name);
            if u > case.limit {
                failures.push(format!("{}: {u} ulp at {x:e} with {arithmetic:?}", case.name));
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

const fn case(
    name: &'static str,
    build: fn(&ScalarBuilder, Reg) -> Reg,
    exact: fn(f64) -> f64,
    range: (f32, f32),
    limit: f64,
) -> Case {
    Case { name, build, exact, range, limit, absolute: 0.0 }
}

/// Products with a factor that may be subnormal: what that loses is below 1e-36.
const fn tiny(case: Case) -> Case {
    Case { absolute: 1e-36, ..case }
}

#[test]
fn exponentials_and_logarithms() {
    check_all(&[
        case("exp", ScalarBuilder::exp, f64::exp, (-105.0, 90.0), 2.0),
        case("exp2", ScalarBuilder::exp2, f64::exp2, (-150.0, 129.0), 2.0),
        case("expm1", ScalarBuilder::expm1, f64::exp_m1, (-20.0, 20.0), 2.5),
        case("log", ScalarBuilder::log, f64::ln, (0.0, 3.0), 2.0),
        case("log2", ScalarBuilder::log2, f64::log2, (0.0, 3.0), 3.0),
        case("log1p", ScalarBuilder::log1p, f64::ln_1p, (-1.0, 3.0), 2.5),
    ]);
}

#[test]
fn trigonometry() {
    check_all(&[
        case("sin", ScalarBuilder::sin, f64::sin, (-70_000.0, 70_000.0), 3.0),
        case("cos", ScalarBuilder::cos, f64::cos, (-70_000.0, 70_000.0), 3.0),
        case("tan", ScalarBuilder::tan, f64::tan, (-200.0, 200.0), 5.0),
        case("asin", ScalarBuilder::asin, f64::asin, (-1.0, 1.0), 3.0),
        case("acos", ScalarBuilder::acos, f64::acos, (-1.0, 1.0), 3.0),
        case("atan", ScalarBuilder::atan, f64::atan, (-3.0, 3.0), 3.0),
    ]);
}

#[test]
fn hyperbolic() {
    check_all(&[
        case("sinh", ScalarBuilder::sinh, f64::sinh, (-5.0, 5.0), 3.0),
        case("cosh", ScalarBuilder::cosh, f64::cosh, (-5.0, 5.0), 3.0),
        case("tanh", ScalarBuilder::tanh, f64::tanh, (-12.0, 12.0), 3.0),
        case("asinh", ScalarBuilder::asinh, r::asinh, (-5.0, 5.0), 4.0),
        case("acosh", ScalarBuilder::acosh, r::acosh, (1.0, 5.0), 4.0),
        case("atanh", ScalarBuilder::atanh, r::atanh, (-1.0, 1.0), 4.0),
    ]);
}

#[test]
fn activations() {
    check_all(&[
        case("erf", ScalarBuilder::erf, r::erf, (-5.0, 5.0), 3.0),
        case("sigmoid", ScalarBuilder::sigmoid, r::sigmoid, (-20.0, 20.0), 4.0),
        case("softplus", ScalarBuilder::softplus, r::softplus, (-20.0, 20.0), 4.0),
        case("log_sigmoid", ScalarBuilder::log_sigmoid, |x| -r::softplus(-x), (-20.0, 20.0), 4.0),
        tiny(case("silu", ScalarBuilder::silu, |x| x * r::sigmoid(x), (-20.0, 20.0), 5.0)),
        tiny(case(
            "swish",
            |b, x| b.swish(x, 1.702),
            |x| x * r::sigmoid(1.702f32 as f64 * x),
            (-62.0, 9.0),
            8.0,
        )),
        // A factor of up to 300 on what may be flushed.
        Case {
            absolute: 1e-35,
            ..case(
                "swish, falling",
                |b, x| b.swish(x, -0.3),
                |x| x * r::sigmoid(-0.3f32 as f64 * x),
                (-9.0, 300.0),
                8.0,
            )
        },
        tiny(case("mish", ScalarBuilder::mish, r::mish, (-20.0, 20.0), 8.0)),
        tiny(case("gelu", ScalarBuilder::gelu, r::gelu, (-15.0, 8.0), 8.0)),
        tiny(case("gelu_tanh", ScalarBuilder::gelu_tanh, r::gelu_tanh, (-12.5, 8.0), 8.0)),
    ]);
}

#[test]
fn roots() {
    check_all(&[
        case("sqrt", ScalarBuilder::sqrt, f64::sqrt, (0.0, 4.0), 0.5),
        case("rsqrt", ScalarBuilder::rsqrt, |x| 1.0 / x.sqrt(), (0.0, 4.0), 2.0),
    ]);
}

/// A small deterministic generator (xorshift).
fn random(state: &mut u32) -> u32 {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    *state
}

#[test]
fn power() {
    let expr = binary(ScalarBuilder::pow);
    let mut state = 7;
    for arithmetic in Arithmetic::ALL {
        let mut e = Evaluator::new(&expr, arithmetic);
        let mut worst = (0.0, 0.0, 0.0);
        for i in 0..150_000 {
            let bits = random(&mut state);
            let exponent = 1.0 + (bits % 2000) as f32 / 1000.0 - 1.0;
            let x = match i % 3 {
                0 => f32::from_bits(bits & 0x7fff_ffff),
                1 => 0.5 + exponent,
                _ => 1.0 + (bits as f32 / 4e9 - 0.5) * 0.01,
            };
            // y so that the result spreads over the whole range of f32.
            let target = (random(&mut state) as f32 / 4.294_967_3e9 - 0.5) * 300.0;
            let y = if i % 2 == 0 { target / x.log2() } else { (target / 10.0).trunc() };
            if x.is_nan()
                || y.is_nan()
                || (arithmetic.flush_subnormals && (x.is_subnormal() || y.is_subnormal()))
            {
                continue;
            }
            let u = ulps(at(&mut e, &[x, y]), (x as f64).powf(y as f64), arithmetic.flush_subnormals);
            if u > worst.0 {
                worst = (u, x, y);
            }
        }
        println!("pow {worst:?} {} instructions", expr.insts().len());
        assert!(worst.0 < 4.0, "pow({}, {}): {} ulp with {arithmetic:?}", worst.1, worst.2, worst.0);
    }
}

#[test]
fn two_argument_arctangent() {
    let expr = binary(ScalarBuilder::atan2);
    let mut state = 99;
    for arithmetic in Arithmetic::ALL {
        let mut e = Evaluator::new(&expr, arithmetic);
        for _ in 0..100_000 {
            let [y, x] = [0; 2].map(|_| f32::from_bits(random(&mut state)));
            if x.is_nan()
                || y.is_nan()
                || (arithmetic.flush_subnormals && (x.is_subnormal() || y.is_subnormal()))
            {
                continue;
            }
            let u = ulps(at(&mut e, &[y, x]), (y as f64).atan2(x as f64), arithmetic.flush_subnormals);
            assert!(u < 4.0, "atan2({y}, {x}): {u} ulp with {arithmetic:?}");
        }
    }
}

/// Division over all magnitudes, on a device that loses quotients by divisors beyond 2¹²⁶.
#[test]
fn division() {
    let expr = binary(ScalarBuilder::div);
    let mut state = 5;
    for arithmetic in Arithmetic::ALL {
        let mut e = Evaluator::new(&expr, arithmetic);
        for _ in 0..100_000 {
            let [x, y] = [0; 2].map(|_| f32::from_bits(random(&mut state)));
            if arithmetic.flush_subnormals && (x.is_subnormal() || y.is_subnormal()) {
                continue;
            }
            let u = ulps(at(&mut e, &[x, y]), x as f64 / y as f64, arithmetic.flush_subnormals);
            assert!(u <= 1.0, "{x} / {y}: {u} ulp with {arithmetic:?}");
        }
    }
}

/// f32 remainders are exact, so they equal the f64 ones.
#[test]
fn remainders_are_exact() {
    let fmod = binary(ScalarBuilder::fmod);
    let floor_mod = binary(ScalarBuilder::floor_mod);
    println!("fmod {} instructions", fmod.insts().len());
    let mut state = 3;
    for arithmetic in Arithmetic::ALL {
        let (mut e, mut g) = (Evaluator::new(&fmod, arithmetic), Evaluator::new(&floor_mod, arithmetic));
        for i in 0..40_000 {
            let bits = [0; 2].map(|_| random(&mut state));
            let [x, y] = match i % 3 {
                0 => bits.map(f32::from_bits),
                1 => bits.map(|v| (v as i32 >> 8) as f32 * 0.125),
                _ => [f32::from_bits(bits[0]), (bits[1] >> 20) as f32],
            };
            let want = x % y;
            if y.is_subnormal() || (arithmetic.flush_subnormals && (x.is_subnormal() || want.is_subnormal()))
            {
                continue;
            }
            let got = at(&mut e, &[x, y]);
            assert!(super::same(got, want), "fmod({x:e}, {y:e}) = {got:e}, not {want:e}");
            let got = at(&mut g, &[x, y]);
            let moved = want != 0.0 && (want < 0.0) != (y < 0.0);
            let want = if moved { want + y } else { want };
            if arithmetic.flush_subnormals && want.is_subnormal() {
                continue;
            }
            assert!(
                got == want || (got.is_nan() && want.is_nan()),
                "mod({x:e}, {y:e}) = {got:e}, not {want:e}"
            );
        }
    }
}
