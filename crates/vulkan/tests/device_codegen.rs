//! Filled holes compute on a device what scalar expressions evaluate to: every opcode at width 4 and width 1, every
//! function, 64-bit integers, Bools, and the special values of floats.
//!
//! One plan holds one step per case; all read the same inputs, each writes its own output.

mod common;

use common::{Host, open, pick};
use pumice_plan::CheckedPlan;
use pumice_plan::kernel::{Bound, SlotKind};
use pumice_plan::kernels::elementwise::{ElementwiseFlat, ElementwiseStrided, kinds};
use pumice_plan::{
    Access, ArgValue, Cost, Grid, HoleFill, HoleInput, KernelCall, Level, Meaning, Plan, Program, Region,
    RegionKind, Segment, Span, Step, StepKind, Storage, Use, UseIndex, VersionId, View,
};
use pumice_runtime::device::Device;
use pumice_types::scalar::{Arithmetic, Evaluator, Reg, RegType, ScalarBuilder, ScalarExpr};
use pumice_types::{Bindings, Bytes, DType};
use pumice_vulkan::DeviceOptions;
use std::sync::Arc;

/// Elements of a case: odd, so that the last group of four is cut.
const N: usize = 4093;
/// Bytes of a slot, for 64-bit elements.
const SLOT: u64 = 8 * 4096;

type Unary = fn(&ScalarBuilder, Reg) -> Reg;
type Binary = fn(&ScalarBuilder, Reg, Reg) -> Reg;
/// Of two values and a literal.
type WithLiteral = fn(&ScalarBuilder, Reg, Reg, Reg) -> Reg;

/// Functions of one float.
const UNARY: &[(&str, Unary)] = &[
    ("exp", ScalarBuilder::exp),
    ("exp2", ScalarBuilder::exp2),
    ("expm1", ScalarBuilder::expm1),
    ("log", ScalarBuilder::log),
    ("log2", ScalarBuilder::log2),
    ("log1p", ScalarBuilder::log1p),
    ("sin", ScalarBuilder::sin),
    ("cos", ScalarBuilder::cos),
    ("tan", ScalarBuilder::tan),
    ("asin", ScalarBuilder::asin),
    ("acos", ScalarBuilder::acos),
    ("atan", ScalarBuilder::atan),
    ("sinh", ScalarBuilder::sinh),
    ("cosh", ScalarBuilder::cosh),
    ("tanh", ScalarBuilder::tanh),
    ("asinh", ScalarBuilder::asinh),
    ("acosh", ScalarBuilder::acosh),
    ("atanh", ScalarBuilder::atanh),
    ("erf", ScalarBuilder::erf),
    ("gelu", ScalarBuilder::gelu),
    ("gelu_tanh", ScalarBuilder::gelu_tanh),
    ("silu", ScalarBuilder::silu),
    ("mish", ScalarBuilder::mish),
    ("sigmoid", ScalarBuilder::sigmoid),
    ("softplus", ScalarBuilder::softplus),
    ("sqrt", ScalarBuilder::sqrt),
    ("rsqrt", ScalarBuilder::rsqrt),
    ("sign", ScalarBuilder::sign),
    ("abs", ScalarBuilder::abs),
    ("neg", ScalarBuilder::neg),
    ("round", ScalarBuilder::round_even),
    ("floor", ScalarBuilder::floor),
    ("ceil", ScalarBuilder::ceil),
    ("trunc", ScalarBuilder::trunc),
    ("round_f16", ScalarBuilder::round_f16),
    ("round_bf16", ScalarBuilder::round_bf16),
    ("to_i32", |b, x| b.convert(x, RegType::I32)),
    ("to_u32", |b, x| b.convert(x, RegType::U32)),
    ("to_bool", |b, x| b.convert(x, RegType::Bool)),
];

/// Functions of two values of a type of at most 32 bits.
const BINARY: &[(&str, RegType, Binary)] = &[
    ("fadd", RegType::F32, ScalarBuilder::add),
    ("fsub", RegType::F32, ScalarBuilder::sub),
    ("fmul", RegType::F32, ScalarBuilder::mul),
    ("fdiv", RegType::F32, ScalarBuilder::div),
    ("fma", RegType::F32, |b, x, y| b.fma(x, y, b.f32(0.5))),
    ("precise", RegType::F32, |b, x, y| b.mul_precise(b.sub_precise(x, y), b.add_precise(x, y))),
    ("pow", RegType::F32, ScalarBuilder::pow),
    ("atan2", RegType::F32, ScalarBuilder::atan2),
    ("fmod", RegType::F32, ScalarBuilder::fmod),
    ("floor_mod", RegType::F32, ScalarBuilder::floor_mod),
    ("fmax", RegType::F32, ScalarBuilder::max),
    ("fmin", RegType::F32, ScalarBuilder::min),
    ("feq", RegType::F32, ScalarBuilder::eq),
    ("fne", RegType::F32, ScalarBuilder::ne),
    ("flt", RegType::F32, ScalarBuilder::lt),
    ("fge", RegType::F32, ScalarBuilder::ge),
    ("land", RegType::Bool, ScalarBuilder::and),
    ("lor", RegType::Bool, |b, x, y| b.or(b.not(x), y)),
    ("lxor", RegType::Bool, ScalarBuilder::xor),
    ("leq", RegType::Bool, ScalarBuilder::eq),
    ("iadd", RegType::I32, ScalarBuilder::add),
    ("idiv", RegType::I32, ScalarBuilder::div),
    ("irem", RegType::I32, ScalarBuilder::rem),
    ("imod", RegType::I32, ScalarBuilder::modulo),
    ("ishl", RegType::I32, ScalarBuilder::shift_left),
    ("ishr", RegType::I32, ScalarBuilder::shift_right),
    ("ipow", RegType::I32, ScalarBuilder::pow_int),
    ("imax", RegType::I32, ScalarBuilder::max),
    ("iabs", RegType::I32, |b, x, _| b.abs(x)),
    ("inot", RegType::I32, |b, x, y| b.xor(b.not(x), y)),
    ("i2f", RegType::I32, |b, x, _| b.convert(x, RegType::F32)),
    ("i2bf16", RegType::I32, |b, x, _| b.cast(x, DType::I32, DType::BF16)),
    ("udiv", RegType::U32, ScalarBuilder::div),
    ("umod", RegType::U32, ScalarBuilder::modulo),
    ("ushr", RegType::U32, ScalarBuilder::shift_right),
    ("umin", RegType::U32, ScalarBuilder::min),
    ("umul_hi", RegType::U32, ScalarBuilder::mul_hi),
    ("u2f", RegType::U32, |b, x, _| b.convert(x, RegType::F32)),
];

/// Arithmetic with a literal operand, or with one operand twice: what a driver may be tempted to fold for numbers and
/// must not fold for NaN, infinities and zeros of both signs.
const LITERAL: &[(&str, WithLiteral)] = &[
    ("x * c", |b, x, _, c| b.mul(x, c)),
    ("x * c, precise", |b, x, _, c| b.mul_precise(x, c)),
    ("x + c", |b, x, _, c| b.add(x, c)),
    ("x + c, precise", |b, x, _, c| b.add_precise(x, c)),
    ("x - c", |b, x, _, c| b.sub(x, c)),
    ("c - x", |b, x, _, c| b.sub(c, x)),
    ("c - x, precise", |b, x, _, c| b.sub_precise(c, x)),
    ("x / c", |b, x, _, c| b.div(x, c)),
    ("c / x", |b, x, _, c| b.div(c, x)),
    ("c / (1 + x^2)", |b, x, _, c| b.div_raw(c, b.add(b.mul(x, x), b.f32(1.0)))),
    ("fma(x, c, y)", |b, x, y, c| b.fma(x, c, y)),
    ("fma(x, y, c)", |b, x, y, c| b.fma(x, y, c)),
    ("fma(x, c, c)", |b, x, _, c| b.fma(x, c, c)),
    ("fma(c, c, x)", |b, x, _, c| b.fma(c, c, x)),
    ("max(x, c)", |b, x, _, c| b.max(x, c)),
    ("max(c, x)", |b, x, _, c| b.max(c, x)),
    ("min(x, c)", |b, x, _, c| b.min(x, c)),
    ("min(c, x)", |b, x, _, c| b.min(c, x)),
    ("x < c", |b, x, _, c| b.lt(x, c)),
    ("x >= c", |b, x, _, c| b.ge(x, c)),
    ("x != c", |b, x, _, c| b.ne(x, c)),
    ("c * (x + y)", |b, x, y, c| b.mul(c, b.add(x, y))),
    ("c * x + c * y", |b, x, y, c| b.add(b.mul(c, x), b.mul(c, y))),
    ("c * exp(x)", |b, x, _, c| b.mul(c, b.exp(x))),
    ("(x - y) - (x - y) + c", |b, x, y, c| b.add(b.sub(b.sub(x, y), b.sub(x, y)), c)),
    ("x > 0 ? x : c * x", |b, x, _, c| b.select(b.gt(x, b.f32(0.0)), x, b.mul(c, x))),
];

/// The same with an operand twice.
const TWICE: &[(&str, Binary)] = &[
    ("x - x", |b, x, _| b.sub(x, x)),
    ("x - x, precise", |b, x, _| b.sub_precise(x, x)),
    ("x + -x", |b, x, _| b.add(x, b.neg(x))),
    ("-x + x", |b, x, _| b.add(b.neg(x), x)),
    ("x / x", |b, x, _| b.div(x, x)),
    ("x / x, raw", |b, x, _| {
        b.select(b.lt(b.abs(b.sub(b.abs(x), b.f32(8.0))), b.f32(7.9)), b.div_raw(x, x), x)
    }),
    ("x == x", |b, x, _| b.eq(x, x)),
    ("x != x", |b, x, _| b.ne(x, x)),
    ("x >= x", |b, x, _| b.ge(x, x)),
    ("x < x", |b, x, _| b.lt(x, x)),
    ("max(x, x)", |b, x, _| b.max(x, x)),
    ("x == y ? y : x", |b, x, y| b.select(b.eq(x, y), y, x)),
];

/// The literals that [`LITERAL`] is tried with.
const LITERALS: [f32; 3] = [0.0, -0.0, f32::INFINITY];

/// Functions with a 64-bit integer in or out; width 1 only.
const WIDE: &[(&str, RegType, Binary)] = &[
    ("ladd", RegType::I64, ScalarBuilder::add),
    ("lmul", RegType::I64, ScalarBuilder::mul),
    ("ldiv", RegType::I64, ScalarBuilder::div),
    ("lmod", RegType::I64, ScalarBuilder::modulo),
    ("llt", RegType::I64, ScalarBuilder::lt),
    ("lshr", RegType::I64, ScalarBuilder::shift_right),
    ("lconst", RegType::I64, |b, x, y| b.xor(b.add(x, y), b.i64(0x1234_5678_9abc_def0))),
    ("l2f", RegType::I64, |b, x, _| b.convert(x, RegType::F32)),
    ("l2bf16", RegType::I64, |b, x, _| b.cast(x, DType::I64, DType::BF16)),
    ("l2i", RegType::I64, |b, x, _| b.convert(x, RegType::I32)),
    ("l2u", RegType::I64, |b, x, _| b.convert(x, RegType::U32)),
    ("l2b", RegType::I64, |b, x, _| b.convert(x, RegType::Bool)),
    ("uldiv", RegType::U64, ScalarBuilder::div),
    ("ullt", RegType::U64, ScalarBuilder::lt),
    ("ul2f", RegType::U64, |b, x, _| b.convert(x, RegType::F32)),
    ("ul2i", RegType::U64, |b, x, _| b.convert(x, RegType::I32)),
    ("f2l", RegType::F32, |b, x, _| b.convert(x, RegType::I64)),
    ("f2ul", RegType::F32, |b, x, _| b.convert(x, RegType::U64)),
    ("i2l", RegType::I32, |b, x, _| b.convert(x, RegType::I64)),
    ("i2ul", RegType::I32, |b, x, _| b.convert(x, RegType::U64)),
    ("u2l", RegType::U32, |b, x, _| b.convert(x, RegType::I64)),
    ("b2l", RegType::Bool, |b, x, _| b.convert(x, RegType::I64)),
];

struct Case {
    name: String,
    expr: ScalarExpr,
    strided: bool,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for strided in [false, true] {
        let form = if strided { "strided" } else { "flat" };
        let mut push = |name: &str, expr: ScalarExpr| {
            cases.push(Case { name: format!("{name} {form}"), expr, strided });
        };
        for (name, f) in UNARY {
            push(name, ScalarExpr::unary(RegType::F32, f).expect("well typed"));
        }
        for (name, ty, f) in BINARY {
            push(name, ScalarExpr::binary([*ty; 2], f).expect("well typed"));
        }
        for (name, ty, f) in WIDE.iter().filter(|_| strided) {
            push(name, ScalarExpr::binary([*ty; 2], f).expect("well typed"));
        }
    }
    cases
}

fn literal_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut push = |name: &str, expr: Result<ScalarExpr, _>| {
        cases.push(Case { name: name.to_owned(), expr: expr.expect("well typed"), strided: false });
    };
    for ((name, f), c) in LITERAL.iter().flat_map(|f| LITERALS.map(|c| (f, c))) {
        let expr = ScalarExpr::binary([RegType::F32; 2], |b, x, y| f(b, x, y, b.f32(c)));
        push(&format!("{name} with c = {c:?}"), expr);
    }
    for (name, f) in TWICE {
        push(name, ScalarExpr::binary([RegType::F32; 2], f));
    }
    cases
}

/// Values of both operands, one list per register type (in the order of `RegType::ALL`): special ones in every
/// combination, then random ones.
fn operands() -> Vec<[Vec<u64>; 2]> {
    let mut state = 0x9e37_79b9u32;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    let mut value = |ty: RegType, i: usize| {
        let floats = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1.0, -1.0, 0.5, f32::MAX, 3.0];
        let ints = [0u64, 1, 2, u64::MAX, 1 << 63 | 1 << 31, 31, 63, 7, 1 << 24 | 1, 100];
        let (r, special) = (random(), (0, i % 10));
        match (ty, i < 100) {
            (RegType::F32, true) => floats[special.1].to_bits() as u64,
            (RegType::F32, _) if i.is_multiple_of(4) => r as u64,
            (RegType::F32, _) => {
                (r as i32 as f32 / 2.147_483_6e9 * [1.0, 10.0, 100.0, 3e4][i % 4]).to_bits() as u64
            }
            (RegType::Bool, _) => (r & 1) as u64,
            (RegType::I64 | RegType::U64, true) => ints[special.1],
            (RegType::I64 | RegType::U64, _) => ((r as u64) << 32 | random() as u64) >> (i % 64),
            (_, true) => ints[special.1] & 0xffff_ffff,
            _ => (r >> (i % 32)) as u64,
        }
    };
    let mut list = |ty, tens: bool| {
        (0..N).map(|i| value(ty, if tens && i < 100 { i / 10 } else { i })).collect::<Vec<_>>()
    };
    RegType::ALL.into_iter().map(|ty| [list(ty, true), list(ty, false)]).collect()
}

fn type_index(ty: RegType) -> usize {
    RegType::ALL.into_iter().position(|t| t == ty).unwrap_or(0)
}

fn words(ty: RegType, values: &[u64]) -> Vec<u8> {
    let width = if ty.bits() == 64 { 8 } else { 4 };
    values.iter().flat_map(|v| v.to_le_bytes()[..width].to_vec()).collect()
}

fn slot(region: RegionKind, index: usize) -> Span {
    Span::new(region, Bytes(SLOT * index as u64), Bytes(SLOT))
}

/// Where operand `k` of type `ty` lies.
fn input(ty: RegType, k: usize) -> Span {
    slot(RegionKind::IoIn, 2 * type_index(ty) + k)
}

fn call(case: &Case) -> KernelCall {
    let types: Vec<RegType> = case.expr.inputs().iter().copied().chain(case.expr.output_type(0)).collect();
    let inputs = types.len() - 1;
    let holes = vec![HoleFill {
        hole: "body".into(),
        expr: case.expr.clone(),
        inputs: (0..inputs as u8).map(HoleInput::Slot).collect(),
        result: None,
        stores: [(inputs as u8, 0)].into_iter().collect(),
    }];
    let slots: Vec<Bound> = (0..types.len() as u16).map(|at| UseIndex(at).into()).collect();
    let (n, status_op) = ((N as u32).into(), ArgValue::ZERO);
    if !case.strided {
        let call = ElementwiseFlat {
            variant: ElementwiseFlat::plain,
            kinds0: 0,
            kinds1: 0,
            scalars: 0,
            per: 1,
            tail: 1,
            n,
            status_op,
            slots,
            holes,
        };
        return call.into_call().fixed().unwrap();
    }
    let kind = |ty: &RegType| if ty.bits() == 64 { SlotKind::Wide } else { SlotKind::Word };
    let (kinds0, kinds1) = kinds(&types.iter().map(kind).collect::<Vec<_>>());
    let mut stride = [ArgValue::ZERO; 96];
    (0..types.len()).for_each(|s| stride[8 * s] = ArgValue::i32(1));
    let mut size = [ArgValue::ZERO; 8];
    size[0] = n;
    let call = ElementwiseStrided {
        variant: ElementwiseStrided::plain,
        kinds0,
        kinds1,
        rank: 1,
        n,
        status_op,
        size,
        offset: [ArgValue::ZERO; 12],
        stride,
        slots,
        holes,
    };
    call.into_call().fixed().unwrap()
}

fn plan(cases: &[Case]) -> Plan {
    let view = || View::dense(DType::F32, Storage::Arena, &[(N as u64).into()]);
    let used = |span, access| Use { span, access, content: VersionId(0), view: view().into() };
    let step = |(i, case): (usize, &Case)| {
        let ins = case.expr.inputs().iter().enumerate();
        let mut uses: Vec<Use> = ins.map(|(k, &ty)| used(input(ty, k), Access::ShaderRead)).collect();
        uses.push(used(slot(RegionKind::IoOut, i), Access::ShaderWrite));
        let per_group = if case.strided { 256 } else { 1024 };
        let grid = Grid::Static([N.div_ceil(per_group) as u32, 1, 1]);
        let kind = StepKind::Dispatch { call: call(case), grid };
        Step {
            kind,
            uses,
            origin: case.name.as_str().into(),
            reason: String::new(),
            meaning: Meaning::none(),
            cost: Cost::default(),
            when: pumice_types::When::ALWAYS,
        }
    };
    let steps: Vec<Step> = cases.iter().enumerate().map(step).collect();
    let levels = vec![Level { steps: 0..steps.len() as u32, barrier: None, reason: None }];
    let program =
        Program { steps, levels, segments: vec![Segment::Gpu { levels: 0..1 }], ..Program::default() };
    let mut plan = common::plan();
    let size = |kind| match kind {
        RegionKind::IoIn => SLOT * 12,
        RegionKind::IoOut => SLOT * cases.len() as u64,
        _ => 256,
    };
    plan.regions =
        RegionKind::ALL.into_iter().map(|k| Region { kind: k, chunks: vec![Bytes(size(k))] }).collect();
    plan.load = Program::default();
    plan.runs.truncate(1);
    plan.runs[0].frame = Default::default();
    plan.runs[0].program = program;
    plan
}

/// Steps between two floats along the line of floats; 0 for two NaN.
fn distance(ty: RegType, got: u64, want: u64) -> f64 {
    if ty != RegType::F32 {
        return if got == want { 0.0 } else { f64::INFINITY };
    }
    let [a, b] = [got, want].map(|v| f32::from_bits(v as u32));
    match (a.is_nan(), b.is_nan()) {
        (true, true) => return 0.0,
        (false, false) => {}
        _ => return f64::INFINITY,
    }
    let place = |v: f32| {
        let magnitude = (v.to_bits() & 0x7fff_ffff) as i64;
        if v.is_sign_negative() { -magnitude } else { magnitude }
    };
    // Zeros of different sign are a mistake.
    let signs = if a == 0.0 && b == 0.0 && got != want { f64::INFINITY } else { 0.0 };
    (place(a) - place(b)).abs() as f64 + signs
}

/// The worst distance of a case from the nearest evaluation a device is free to make, and where.
fn worst(case: &Case, operands: &[[Vec<u64>; 2]], out: &[u8]) -> (f64, usize) {
    let Some(ty) = case.expr.output_type(0) else { return (f64::INFINITY, 0) };
    let mut evaluators: Vec<Evaluator<'_>> =
        Arithmetic::ALL.iter().map(|&a| Evaluator::new(&case.expr, a)).collect();
    let width = if ty.bits() == 64 { 8 } else { 4 };
    let mut worst = (0.0, 0);
    for (i, chunk) in out.chunks_exact(width).take(N).enumerate() {
        let mut bits = [0u8; 8];
        bits[..width].copy_from_slice(chunk);
        let got = u64::from_le_bytes(bits);
        let inputs = case.expr.inputs().iter().enumerate();
        let args: Vec<u64> = inputs.map(|(k, &ty)| operands[type_index(ty)][k][i]).collect();
        let nearest = evaluators.iter_mut().map(|e| {
            e.run(&args);
            distance(ty, got, e.output(0))
        });
        let d = nearest.fold(f64::INFINITY, f64::min);
        if d > worst.0 {
            worst = (d, i);
        }
    }
    worst
}

/// Runs the cases on the device and compares.
fn check(cases: Vec<Case>) {
    let operands = operands();
    let device = open(&DeviceOptions::default());
    let loaded = device.load(CheckedPlan::unsound(plan(&cases)), Arc::new(Host)).expect("pipelines");
    let mut session = loaded.session().expect("a session");
    for ty in RegType::ALL {
        for (k, values) in operands[type_index(ty)].iter().enumerate() {
            let mut bytes = words(ty, values);
            bytes.resize(SLOT as usize, 0);
            session.write(input(ty, k), &bytes).expect("inputs");
        }
    }
    session.run(0, &Bindings::new(), 1).expect("a run");
    let mut failures = Vec::new();
    for (i, case) in cases.iter().enumerate() {
        let mut out = vec![0u8; SLOT as usize];
        session.read(slot(RegionKind::IoOut, i), &mut out).expect("outputs");
        let (d, at) = worst(case, &operands, &out);
        // Two ulps: what another order of exact constants may cost; everything that is not a float is exact.
        if d > 2.0 {
            failures.push(format!("{}: {d} ulp at element {at}", case.name));
        }
    }
    assert!(failures.is_empty(), "{} of {} on {:?}: {failures:#?}", failures.len(), cases.len(), pick());
}

#[test]
fn filled_holes_compute_what_expressions_evaluate_to() {
    check(cases());
}

/// lavapipe once gave 0 for NaN · 0 and −0 for −0 + 0, wherever the zero was a literal: through affine, leaky_relu 0,
/// swish 0, hard_sigmoid 0, selu.
#[test]
fn literals_are_not_folded_as_if_all_were_numbers() {
    check(literal_cases());
}
