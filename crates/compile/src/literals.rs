//! Calls that differ in literals alone share one kernel: where many do, their literals become words of the call.
//!
//! A driver compiles a kernel for each body it is given; two thousand outputs `x + c` with as many `c` were two
//! thousand kernels. In: the steps of a finished plan. Out: the same steps, the literals that differ within a group of
//! calls of one shape passed as words beside the slots' addresses. What few calls differ in stays in their bodies,
//! where a compiler can fold it. Never here: which literals a body has, or why.

use indexmap::IndexMap;
use pumice_plan::kernel::{HoleFill, HoleInput, KernelCall, KernelName};
use pumice_plan::{Plan, Step, StepKind};
use pumice_types::scalar::{Inst, Opcode, RegId, RegType, ScalarExpr};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// From so many different bodies of one shape on they share one.
const MANY: usize = 5;

/// An instruction in the holes of a call: which hole, which one there.
type InstAt = (usize, usize);

/// A hole's name, body without literals, inputs, result and stores.
type Body = (Cow<'static, str>, ScalarExpr, Vec<HoleInput>, Option<u16>, Vec<(u8, u16)>);

/// What calls of one group have in common.
#[derive(PartialEq, Eq, Hash)]
struct Shape {
    kernel: KernelName,
    variant: Cow<'static, str>,
    spec: Vec<(u32, u32)>,
    slots: usize,
    holes: Vec<Body>,
}

/// Makes the calls of a plan share kernels.
pub fn share(plan: &mut Plan) {
    let mut groups: IndexMap<Shape, Vec<&mut KernelCall>> = IndexMap::new();
    for call in plan.programs_mut().flat_map(|p| &mut p.steps).filter_map(call_of) {
        if let Some(shape) = shape(call) {
            groups.entry(shape).or_default().push(call);
        }
    }
    for calls in groups.into_values() {
        let different: BTreeSet<Vec<u64>> =
            calls.iter().map(|c| literals(c).map(|(_, bits)| bits).collect()).collect();
        if different.len() < MANY {
            continue;
        }
        let first: Vec<(InstAt, u64)> = literals(calls[0]).collect();
        let varies = |i: usize| different.iter().any(|bits| bits[i] != first[i].1);
        let varying: Vec<InstAt> = (0..first.len()).filter(|&i| varies(i)).map(|i| first[i].0).collect();
        for call in calls {
            lift(call, &varying);
        }
    }
}

fn call_of(step: &mut Step) -> Option<&mut KernelCall> {
    match &mut step.kind {
        StepKind::Dispatch { call, .. } => Some(call),
        _ => None,
    }
}

/// The literals of a call's bodies that are words, in order.
fn literals(call: &KernelCall) -> impl Iterator<Item = (InstAt, u64)> {
    call.holes.iter().enumerate().flat_map(|(h, fill)| {
        fill.expr.insts().iter().enumerate().filter_map(move |(i, inst)| match inst.op {
            Opcode::Const(bits) if is_word(inst) => Some(((h, i), bits)),
            _ => None,
        })
    })
}

fn is_word(inst: &Inst) -> bool {
    matches!(inst.ty, RegType::F32 | RegType::I32 | RegType::U32)
}

/// The call without its literals; none for a call that has none, or has no slot to spare for one.
fn shape(call: &KernelCall) -> Option<Shape> {
    literals(call).next()?;
    let decl = call.check().ok()?;
    if decl.layout().block || call.slots.len() >= decl.slots as usize {
        return None;
    }
    let bare = |fill: &HoleFill| {
        let insts = fill.expr.insts().iter().map(|inst| match inst.op {
            Opcode::Const(_) if is_word(inst) => Inst { op: Opcode::Const(0), ..inst.clone() },
            _ => inst.clone(),
        });
        let e = &fill.expr;
        ScalarExpr::from_parts(e.inputs().to_vec(), insts.collect(), e.outputs().to_vec()).ok()
    };
    let holes = call
        .holes
        .iter()
        .map(|f| Some((f.hole.clone(), bare(f)?, f.inputs.to_vec(), f.result, f.stores.to_vec())));
    let (kernel, variant, spec) = (call.kernel.clone(), call.variant.clone(), call.spec.clone());
    Some(Shape { kernel, variant, spec, slots: call.slots.len(), holes: holes.collect::<Option<_>>()? })
}

/// Passes these literals as words, as many as there is room for.
fn lift(call: &mut KernelCall, varying: &[InstAt]) {
    let capacity = call.check().map_or(0, |decl| call.literal_capacity(decl));
    for (hole, fill) in call.holes.iter_mut().enumerate() {
        let here = varying.iter().take(capacity).filter(|p| p.0 == hole).map(|p| p.1);
        let here: Vec<usize> = here.collect();
        let first = call.literals.len();
        if let Some((expr, words)) = lifted(&fill.expr, &here) {
            fill.expr = expr;
            fill.inputs.extend((first..first + words.len()).map(|k| HoleInput::Literal(k as u8)));
            call.literals.extend(words);
        }
    }
}

/// The expression with the literals at these instructions as further inputs, and their bits.
fn lifted(expr: &ScalarExpr, consts: &[usize]) -> Option<(ScalarExpr, Vec<u32>)> {
    let mut inputs = expr.inputs().to_vec();
    let old = inputs.len();
    let mut words = Vec::new();
    for &i in consts {
        let inst = expr.insts().get(i)?;
        let Opcode::Const(bits) = inst.op else { return None };
        inputs.push(inst.ty);
        words.push(bits as u32);
    }
    // Old registers by their new numbers; what is lifted is dropped from the instructions.
    let mut now: Vec<RegId> = (0..old as u32).map(RegId).collect();
    let mut insts = Vec::new();
    for (i, inst) in expr.insts().iter().enumerate() {
        if let Some(k) = consts.iter().position(|&c| c == i) {
            now.push(RegId((old + k) as u32));
            continue;
        }
        let args = inst.args.iter().map(|r| now[r.0 as usize]).collect();
        now.push(RegId((inputs.len() + insts.len()) as u32));
        insts.push(Inst { args, ..inst.clone() });
    }
    let outputs = expr.outputs().iter().map(|r| now[r.0 as usize]).collect();
    Some((ScalarExpr::from_parts(inputs, insts, outputs).ok()?, words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifted_literals_are_inputs_after_the_others() {
        let expr =
            ScalarExpr::build(&[RegType::F32], |b, x| vec![b.add(b.mul(x[0], b.f32(2.0)), b.f32(3.0))]);
        let expr = expr.expect("sound");
        let consts: Vec<usize> =
            (0..expr.insts().len()).filter(|&i| matches!(expr.insts()[i].op, Opcode::Const(_))).collect();
        let (two, words) = lifted(&expr, &consts).expect("sound");
        assert_eq!(two.inputs(), [RegType::F32; 3]);
        assert!(two.insts().iter().all(|i| !matches!(i.op, Opcode::Const(_))));
        assert_eq!((words, two.outputs().len()), (vec![2.0f32.to_bits(), 3.0f32.to_bits()], 1));
    }
}
