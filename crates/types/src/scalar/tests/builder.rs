//! The builder: folding, sharing, dead code, composition, text, files and mistakes.

use crate::scalar::{
    Arithmetic, Inst, Opcode, RegId, RegType, ScalarBuilder, ScalarError, ScalarExpr, ScalarValue,
};

#[test]
fn folds_shares_and_drops() {
    let expr = ScalarExpr::unary(RegType::F32, |b, x| {
        let two = b.add(b.f32(1.0), b.f32(1.0));
        let unused = b.exp(x);
        let _ = b.mul(unused, two);
        let (left, right) = (b.mul(x, two), b.mul(two, x));
        b.add(b.mul(left, b.f32(1.0)), right)
    });
    let expr = expr.expect("a well-typed body");
    assert_eq!(
        expr.to_string(),
        "(f32 %0) { %1 = const f32 2.0; %2 = fmul f32 %0 %1; %3 = fadd f32 %2 %2 } -> %3"
    );
}

#[test]
fn folding_leaves_what_devices_disagree_on() {
    let expr = ScalarExpr::build(&[], |b, _| vec![b.mul(b.f32(1e-30), b.f32(1e-10))]);
    assert_eq!(expr.expect("well typed").insts().len(), 3);
}

#[test]
fn composition_equals_nesting() {
    let gelu = ScalarExpr::unary(RegType::F32, |b, x| b.gelu(x)).expect("gelu");
    let add = ScalarExpr::binary([RegType::F32; 2], |b, x, y| b.add(x, y)).expect("add");
    let nested = ScalarExpr::binary([RegType::F32; 2], |b, x, y| b.gelu(b.add(x, y))).expect("nested");
    let b = ScalarBuilder::new(&[RegType::F32; 2]);
    let sum = b.compose(&add, b.inputs());
    let out = b.compose(&gelu, &sum);
    assert_eq!(b.finish(&out).expect("composed"), nested);
}

#[test]
fn composing_with_wrong_arguments_is_an_error() {
    let add = ScalarExpr::binary([RegType::F32; 2], |b, x, y| b.add(x, y)).expect("add");
    let b = ScalarBuilder::new(&[RegType::I32]);
    let out = b.compose(&add, b.inputs());
    let error = b.finish(&out).expect_err("an I32 given for two F32");
    assert_eq!(error, ScalarError::Arguments { expected: vec![RegType::F32; 2], found: vec![RegType::I32] });
}

#[test]
fn mistakes_are_reported_by_finish() {
    let mixed = ScalarExpr::binary([RegType::F32, RegType::I32], |b, x, y| b.add(x, y));
    assert_eq!(mixed, Err(ScalarError::Type { what: "fadd", found: vec![RegType::F32, RegType::I32] }));
    let missing = ScalarExpr::build(&[], |b, _| vec![b.input(3)]);
    assert_eq!(missing, Err(ScalarError::UnknownInput { index: 3, inputs: 0 }));
    let boolean = ScalarExpr::unary(RegType::Bool, |b, x| b.exp(x));
    assert!(boolean.is_err());
    let other = ScalarBuilder::new(&[RegType::F32; 9]);
    let foreign = ScalarExpr::unary(RegType::F32, |b, x| b.add(x, other.input(8)));
    assert_eq!(foreign, Err(ScalarError::UndefinedRegister { reg: RegId(8) }));
}

/// No method panics on any operand types; every one returns an expression or an error.
#[test]
fn no_method_panics_on_any_type() {
    type Two = fn(&ScalarBuilder, crate::scalar::Reg, crate::scalar::Reg) -> crate::scalar::Reg;
    let methods: [Two; 24] = [
        ScalarBuilder::add,
        ScalarBuilder::sub,
        ScalarBuilder::mul,
        ScalarBuilder::div,
        ScalarBuilder::rem,
        ScalarBuilder::modulo,
        ScalarBuilder::max,
        ScalarBuilder::min,
        ScalarBuilder::pow,
        ScalarBuilder::pow_int,
        ScalarBuilder::fmod,
        ScalarBuilder::floor_mod,
        ScalarBuilder::atan2,
        ScalarBuilder::shift_left,
        ScalarBuilder::shift_right,
        ScalarBuilder::and,
        ScalarBuilder::eq,
        ScalarBuilder::lt,
        ScalarBuilder::copysign,
        |b, x, y| b.select(x, y, y),
        |b, x, _| b.sign(x),
        |b, x, _| b.abs(x),
        |b, x, _| b.gelu(x),
        |b, x, _| b.round_f16(x),
    ];
    for a in RegType::ALL {
        for b in RegType::ALL {
            for method in methods {
                let _ = ScalarExpr::binary([a, b], method);
            }
            let expr = ScalarExpr::unary(a, |builder, x| builder.convert(x, b)).expect("every conversion");
            assert_eq!(expr.output_type(0), Some(b));
        }
        for from in crate::DType::ALL {
            for to in crate::DType::ALL {
                let _ = ScalarExpr::unary(a, |b, x| b.cast(x, from, to));
            }
        }
    }
}

#[test]
fn malformed_parts_are_refused() {
    let late = Inst { op: Opcode::FNeg, ty: RegType::F32, args: [RegId(1)].into_iter().collect() };
    let error = ScalarExpr::from_parts(vec![RegType::F32], vec![late], vec![RegId(1)]);
    assert_eq!(error, Err(ScalarError::UndefinedRegister { reg: RegId(1) }));
    let wide = Inst { op: Opcode::Const(1 << 40), ty: RegType::U32, args: Default::default() };
    assert!(ScalarExpr::from_parts(vec![], vec![wide], vec![RegId(0)]).is_err());
    assert!(ScalarExpr::from_parts(vec![], vec![], vec![RegId(0)]).is_err());
}

#[test]
fn evaluation_checks_its_arguments() {
    let expr = ScalarExpr::identity(RegType::F32);
    assert!(expr.eval(&[ScalarValue::I32(1)], Arithmetic::default()).is_err());
    assert_eq!(expr.eval(&[ScalarValue::F32(2.0)], Arithmetic::default()), Ok(vec![ScalarValue::F32(2.0)]));
}
