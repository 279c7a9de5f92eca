//! Plans that give out or read bytes which nobody wrote: spans are sized for the largest extents, so every shape that
//! says how much of one is there is held against what is written. Each was taken by the checker of 2026-11-27.

use crate::plans::{chain, chain_of, everything};
use crate::{assert_fault, faults};
use pumice_plan::check::Fault;
use pumice_plan::*;
use pumice_types::{Bindings, DType, DimExpr, SymbolId};
use std::sync::Arc;

fn symbol() -> DimExpr {
    DimExpr::symbol(SymbolId(0))
}

fn assert_slot(plan: &Plan, wanted: &str, said: &str) {
    assert_fault(plan, |f| matches!(f, Fault::Slot { what, why, .. } if what == wanted && *why == said));
}

#[test]
fn an_output_is_no_longer_than_its_value() {
    for longer in [symbol() + 12u64, DimExpr::constant(16), symbol() * 2u64 + 6u64] {
        let mut plan = chain(3);
        plan.outputs[0].shape = [longer].into();
        assert_slot(&plan, "output y", "it has more bytes than its value");
    }
    let mut wider = chain(3);
    (wider.outputs[0].shape, wider.outputs[0].dtype) = ([symbol() * 2u64 + 4u64].into(), DType::I64);
    assert_slot(&wider, "output y", "it has more bytes than its value");
    for other in [vec![symbol(), 4u64.into()], vec![symbol() * 3u64], vec![]] {
        let mut plan = chain(3);
        plan.outputs[0].shape = other.into();
        assert_eq!(faults(&plan), []);
    }
}

/// 4 n elements are written; at n = 37, which is none of the samples, one more is given out.
#[test]
fn an_output_that_is_longer_between_samples_is_refused_where_it_would_run() {
    let mut plan = chain_of(3, 64);
    let square = &symbol() * &symbol() - symbol() * 74u64 + 1369u64;
    let bump = (DimExpr::constant(1) - square).max_with(&DimExpr::constant(0));
    plan.outputs[0].shape = [(symbol() * 4u64 + bump).min_with(&DimExpr::constant(256))].into();
    let plan = CheckedPlan::new(plan).expect("right at every sample");
    for n in 1..=64 {
        let mut bindings = Bindings::new();
        bindings.bind(SymbolId(0), n);
        let words = plan.runs[0].frame.evaluate(&bindings, &|_| 0).expect("every word has a value");
        let mut allowance = plan.begin_replays(0, 1).expect("one replay");
        assert_eq!(plan.check_replay(0, &bindings, &words, &mut allowance).is_err(), n == 37, "{n}");
    }
}

/// The host writes as many bytes as its shape says.
#[test]
fn what_the_host_writes_fills_its_slot() {
    let mut plan = everything();
    plan.states[0].shape = vec![15];
    assert_slot(&plan, "state s", "it has fewer bytes than its slot");
    let mut plan = everything();
    plan.states[0].dtype = DType::F16;
    assert_slot(&plan, "state s", "it has fewer bytes than its slot");
    let mut plan = everything();
    plan.params[0].shape = vec![4];
    assert_slot(&plan, "param w", "it has fewer bytes than its slot");
}

#[test]
fn steps_read_what_is_there_of_an_input() {
    for shape in [vec![symbol() * 3u64], vec![4u64.into()], vec![symbol()], vec![]] {
        let mut plan = everything();
        plan.inputs[0].shape = shape.into();
        assert_fault(&plan, |f| matches!(f, Fault::Unwritten { value, .. } if value.starts_with("x ")));
    }
    let mut fixed = everything();
    fixed.inputs[1].shape = [DimExpr::constant(15)].into();
    assert_fault(&fixed, |f| matches!(f, Fault::Unwritten { end: 64, written: 60, .. }));
}

/// Argument, grid and view agree; at n = 1 there are 4 elements of 16.
#[test]
fn steps_read_what_is_there_of_a_value() {
    let mut plan = chain(3);
    let steps = &mut plan.runs[0].program.steps;
    let whole = [DimExpr::constant(16)];
    let last = steps.len() - 1;
    for u in &mut steps[last].uses {
        if u.span.region != RegionKind::Frame {
            u.view = Arc::new(View::dense(DType::F32, u.view.storage, &whole));
        }
    }
    let StepKind::Dispatch { call, grid } = &mut steps[last].kind else { panic!("a dispatch") };
    (call.args[0], *grid) = (ArgValue::U32(16), Grid::Static([1, 1, 1]));
    let written = steps[last].uses.iter().find(|u| u.access.writes()).expect("a write").content;
    plan.runs[0].program.values[written.0 as usize].shape = whole.clone().into();
    plan.outputs[0].shape = whole.into();
    assert_fault(&plan, |f| matches!(f, Fault::Unwritten { end: 64, written: 16, .. }));
}

#[test]
fn what_is_derived_fills_its_span() {
    let mut plan = everything();
    let value = plan.load.values.iter_mut().find(|v| v.origin == VersionOrigin::Derived).expect("one");
    value.span.len.0 += 64;
    let span = value.span;
    for u in &mut plan.load.steps[0].uses {
        if u.access.writes() {
            u.span = span;
        }
    }
    assert_slot(&plan, "derived weight wd", "it has fewer bytes than its slot");
}

/// A body whose hole takes what it does not compute was taken, and blamed on pumice when its kernel was made.
#[test]
fn holes_take_what_their_bodies_compute() {
    let mut plan = everything();
    let StepKind::Dispatch { call, .. } = &mut plan.load.steps[0].kind else { panic!("a dispatch") };
    call.holes[0].stores[0].1 = 86;
    assert!(faults(&plan).iter().any(|f| f.to_string().contains("no such output")), "{:?}", faults(&plan));
}
