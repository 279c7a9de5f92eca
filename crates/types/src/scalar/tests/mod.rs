//! Tests of scalar expressions: functions against f64, special values, conversions, the builder itself.

mod arith;
mod builder;
mod casts;
mod reference;
mod specials;
mod tangents;
mod ulp;

use super::{Arithmetic, Evaluator, Reg, RegType, ScalarBuilder, ScalarExpr};

/// The f32 function of one argument that `f` builds.
fn unary(f: impl FnOnce(&ScalarBuilder, Reg) -> Reg) -> ScalarExpr {
    ScalarExpr::unary(RegType::F32, f).expect("a well-typed body")
}

/// The f32 function of two arguments that `f` builds.
fn binary(f: impl FnOnce(&ScalarBuilder, Reg, Reg) -> Reg) -> ScalarExpr {
    ScalarExpr::binary([RegType::F32; 2], f).expect("a well-typed body")
}

/// Output 0 as f32, at f32 arguments.
fn at(e: &mut Evaluator<'_>, args: &[f32]) -> f32 {
    let bits: Vec<u64> = args.iter().map(|v| v.to_bits() as u64).collect();
    e.run(&bits);
    f32::from_bits(e.output(0) as u32)
}

/// Whether two floats are the same: both NaN, or the same bits.
fn same(a: f32, b: f32) -> bool {
    (a.is_nan() && b.is_nan()) || a.to_bits() == b.to_bits()
}

/// `expr` gives exactly `expected` under every arithmetic.
fn check(name: &str, expr: &ScalarExpr, args: &[f32], expected: f32) {
    for arithmetic in Arithmetic::ALL {
        let got = at(&mut Evaluator::new(expr, arithmetic), args);
        assert!(same(got, expected), "{name}{args:?} = {got:?}, not {expected:?}, with {arithmetic:?}");
    }
}
