//! Plans of strangers: right at every binding that the checker samples, and wrong between; programs of the frame that
//! read words they do not use. Each was taken by the checker of 2026-11-24 and ended in memory that is not the plan's,
//! or in an error that called itself a defect of pumice while it ran.

use crate::plans::{chain, chain_of, everything};
use crate::{assert_fault, faults};
use pumice_plan::check::{Fault, MOST_EVALUATIONS, REMEMBERED};
use pumice_plan::*;
use pumice_types::{Bindings, DType, DimExpr, ScalarId, SymbolId};
use std::sync::Arc;

/// 1 at 37, which is none of the samples of 1..=64, and 0 elsewhere.
fn bump() -> DimExpr {
    let n = DimExpr::symbol(SymbolId(0));
    let square = &n * &n - &n * 74u64 + 1369u64;
    (DimExpr::constant(1) - square).max_with(&DimExpr::constant(0))
}

/// Asks a plan whether its only run may run for n.
fn admit(plan: &CheckedPlan, n: u64) -> Result<(), BindingError> {
    let mut bindings = Bindings::new();
    bindings.bind(SymbolId(0), n);
    let words = plan.runs[0].frame.evaluate(&bindings, &|_| 0).expect("every word has a value");
    let mut allowance = plan.begin_replays(0, 1).expect("one replay");
    plan.check_replay(0, &bindings, &words, &mut allowance)
}

fn only_37_is_refused(plan: Plan) {
    let plan = CheckedPlan::new(plan).expect("right at every sample");
    for n in 1..=64 {
        let admitted = admit(&plan, n);
        assert_eq!(admitted.is_err(), n == 37, "{n}: {admitted:?}");
    }
}

#[test]
fn a_frame_word_that_is_wrong_between_samples_is_refused_where_it_would_run() {
    let mut plan = chain_of(3, 64);
    let count = DimExpr::symbol(SymbolId(0)) * 4u64 + bump() * 1000u64;
    plan.runs[0].frame.words[0] = FrameSlot::Expr(count);
    only_37_is_refused(plan);
}

/// Argument and view agree; both leave the span.
#[test]
fn a_view_that_leaves_its_span_between_samples_is_refused_where_it_would_run() {
    let mut plan = chain_of(3, 64);
    let count = DimExpr::symbol(SymbolId(0)) * 4u64 + bump() * 1000u64;
    plan.runs[0].frame.words[0] = FrameSlot::Expr(count.clone());
    for used in plan.runs[0].program.steps.iter_mut().flat_map(|s| &mut s.uses) {
        if used.view.shape.len() == 1 {
            used.view = Arc::new(View::dense(DType::F32, used.view.storage, std::slice::from_ref(&count)));
        }
    }
    only_37_is_refused(plan);
}

/// A word without a value at any sample hid every other word from the rules.
#[test]
fn a_word_without_a_value_at_the_samples_hides_nothing() {
    let mut plan = chain_of(3, 64);
    plan.runs[0].frame.words[0] = FrameSlot::Expr(DimExpr::constant(1 << 20));
    plan.runs[0].frame.words.push(FrameSlot::Expr(DimExpr::constant(1).ceil_div(&bump())));
    if let Ok(plan) = CheckedPlan::new(plan) {
        assert!(admit(&plan, 37).is_err());
    }
}

#[test]
fn rules_are_evaluated_once_for_each_new_binding() {
    let mut plan = chain_of(40, 2000);
    for step in &mut plan.runs[0].program.steps {
        if let StepKind::Dispatch { grid: Grid::Frame { upper, .. }, .. } = &mut step.kind {
            upper[0] = 8;
        }
    }
    let compiled = CheckedPlan::compiled(plan.clone()).expect("sound");
    admit(&compiled, 5).expect("sound");
    assert_eq!(compiled.rule_evaluations(), 0);
    let plan = CheckedPlan::new(plan).expect("sound");
    assert_eq!(plan.rule_evaluations(), 0);
    admit(&plan, 1).expect("sound");
    let each = plan.rule_evaluations();
    // From the input, from scratch to scratch, to the output: the steps between are alike.
    assert!((1..=3).contains(&each), "{each}");
    admit(&plan, 1).expect("sound");
    assert_eq!(plan.rule_evaluations(), each);
    let many = REMEMBERED as u64;
    (2..=many).for_each(|n| admit(&plan, n).expect("sound"));
    admit(&plan, 1).expect("sound");
    assert_eq!(plan.rule_evaluations(), each * many);
    // One more binding, and the first is forgotten.
    admit(&plan, many + 1).expect("sound");
    admit(&plan, 1).expect("sound");
    assert_eq!(plan.rule_evaluations(), each * (many + 2));
    assert!(MOST_EVALUATIONS == 1 << 24 && plan.begin_replays(0, u32::MAX).is_ok());
}

fn advance_of(plan: &mut Plan) -> &mut Vec<AdvanceOp> {
    &mut plan.runs[0].frame.advance
}

/// The kernel loads operand b of every opcode, also where it does nothing with it: a copy with b = 2^31 - 1 read 8 GiB
/// beyond the frame.
#[test]
fn instructions_name_words_that_are_there_even_where_they_are_not_used() {
    for (op, b) in [(AdvanceKind::Copy, u32::MAX >> 1), (AdvanceKind::Copy, 1 << 31), (AdvanceKind::Const, 7)]
    {
        let mut plan = everything();
        advance_of(&mut plan)[0] = AdvanceOp { b, op, ..advance_of(&mut plan)[0] };
        assert_fault(&plan, |f| matches!(f, Fault::Frame(what) if what.contains("names a word past")));
    }
    let mut counted = everything();
    advance_of(&mut counted)[0].op = AdvanceKind::Count;
    assert!(!faults(&counted).is_empty());
}

/// pos' = pos + 1 where the scalar is 0, its default, and pos * pos + 1 everywhere.
#[test]
fn the_advance_is_right_for_every_value_of_a_scalar() {
    let mut plan = everything();
    let (one, pos) = (advance_of(&mut plan)[0].dst, advance_of(&mut plan)[1].dst);
    advance_of(&mut plan).insert(1, AdvanceOp { op: AdvanceKind::Mul, dst: pos, a: pos.0, b: pos.0 });
    assert!(one != pos);
    assert_fault(&plan, |f| matches!(f, Fault::Frame(_)));
}

/// What the device alone says of a replay, the host asks at 0: no argument is read from there.
#[test]
fn arguments_are_no_words_of_the_devices_own() {
    for slot in [FrameSlot::Temporary, FrameSlot::Stopped, FrameSlot::Replays] {
        let mut plan = everything();
        let frame = &mut plan.runs[0].frame;
        let own = frame.words.len() as u32;
        frame.words.push(slot);
        let calls = plan.runs[0].program.steps.iter_mut().filter_map(|step| match &mut step.kind {
            StepKind::Dispatch { call, .. } => Some(call),
            _ => None,
        });
        let mut args = calls.flat_map(|call| &mut call.args);
        let arg = args.find(|arg| matches!(arg, ArgValue::Frame(_))).expect("an argument of the frame");
        *arg = ArgValue::Frame(own);
        let is_told = |f: &Fault| matches!(f, Fault::Frame(what) if what.contains("the device's own"));
        assert_fault(&plan, is_told);
    }
}

/// A quotient or an extremum of a word from 2^31 on is another on the device, which takes words as signed.
#[test]
fn extrema_and_quotients_are_of_signed_words_over_the_whole_range() {
    let plan = |max: f64, by: i64| {
        let mut plan = everything();
        (plan.scalars[0].dtype, plan.scalars[0].max) = (DType::U32, max);
        let pos = DimExpr::scalar(ScalarId(0));
        let nine = FrameWord(plan.runs[0].frame.words.len() as u32);
        let least = FrameWord(nine.0 + 1);
        plan.runs[0].frame.words.push(FrameSlot::Temporary);
        plan.runs[0].frame.words.push(FrameSlot::Expr(pos.min_with(&DimExpr::constant(9))));
        let at = advance_of(&mut plan)[1].dst;
        advance_of(&mut plan).extend([
            AdvanceOp { op: AdvanceKind::Const, dst: nine, a: by as u32, b: 0 },
            AdvanceOp { op: AdvanceKind::Min, dst: least, a: at.0, b: nine.0 },
        ]);
        faults(&plan)
            .into_iter()
            .filter(|f| matches!(&f.fault, Fault::Frame(w) if w.contains("Min") || w.contains("advances to")))
            .count()
    };
    assert_eq!(plan(100.0, 9), 0);
    assert_eq!(plan(100.0, 8), 1);
    assert_eq!(plan(f64::from(u32::MAX), 9), 1);
}

/// The kernel that advances the frame has no access rule, so it runs nowhere else; what advances the frame is no other
/// kernel and begins at the frame's first byte.
#[test]
fn the_frame_is_advanced_by_its_own_kernel_from_its_first_word_on() {
    let advance = |plan: &Plan| plan.runs[0].program.steps.last().expect("the advance").clone();
    let last = |plan: &mut Plan, step: Step| *plan.runs[0].program.steps.last_mut().expect("it") = step;

    let mut dispatched = everything();
    let StepKind::Advance { call } = advance(&dispatched).kind else { panic!("no advance") };
    dispatched.load.steps[0].kind = StepKind::Dispatch { call: call.clone(), grid: Grid::Static([1, 1, 1]) };
    assert_fault(&dispatched, |f| matches!(f, Fault::Argument { what } if what.contains("for the advance")));

    let mut other = everything();
    let mut step = advance(&other);
    let decl = kernels::find("elementwise_flat").expect("a kernel of two words");
    assert_eq!(decl.arg_words(), 2);
    let (kernel, variant) = (kernel::KernelName(decl.name.into()), decl.variants[0].name.into());
    let operands = Default::default();
    step.kind = StepKind::Advance { call: KernelCall { kernel, variant, operands, ..call } };
    last(&mut other, step);
    assert_fault(&other, |f| matches!(f, Fault::Frame(what) if what.contains("does not advance")));

    let mut later = everything();
    let mut step = advance(&later);
    let mut after = step.uses[0].clone();
    (after.span.offset.0, after.span.len.0) = (16, 4);
    step.uses.push(after);
    let StepKind::Advance { call } = &mut step.kind else { panic!("no advance") };
    call.operands[0] = UseIndex(1);
    last(&mut later, step);
    assert_fault(&later, |f| matches!(f, Fault::Frame(what) if what.contains("whole frame")));
}

/// A grid that is larger than it says between the samples.
#[test]
fn grids_keep_within_their_bound_for_every_binding() {
    let mut plan = chain_of(3, 64);
    let groups = DimExpr::constant(1) + bump();
    plan.runs[0].frame.words[1] = FrameSlot::Expr(groups);
    assert_fault(&plan, |f| matches!(f, Fault::Grid { dimension: 0, limit: 1, .. }));
}

#[test]
fn scalars_and_variables_are_those_of_the_plan() {
    let mut plan = everything();
    plan.scalars[0].default = 1000.0;
    assert_fault(&plan, |f| matches!(f, Fault::Frame(what) if what.contains("default")));
    let mut plan = everything();
    plan.scalars[0].advance = Some(DimExpr::symbol(SymbolId(9)));
    assert_fault(&plan, |f| matches!(f, Fault::Expression { .. }));
    let mut plan = chain(3);
    plan.inputs[0].shape = [DimExpr::symbol(SymbolId(4))].into();
    assert_fault(&plan, |f| matches!(f, Fault::Expression { .. }));
    // Thirty axes of which each is a sum: their product has 2^30 terms.
    let mut plan = chain(3);
    plan.outputs[0].shape = vec![DimExpr::symbol(SymbolId(0)) + 1u64; 30].into();
    assert_fault(&plan, |f| matches!(f, Fault::Expression { why, .. } if why.contains("too many terms")));
}
