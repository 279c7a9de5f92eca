//! Plans of files whose extents the run finds: wide ones are shown to be right for all that may be found, and run;
//! planted faults, those that are wrong at one value alone, are refused.

use pumice_compile::{Options, compile};
use pumice_cpu_ref::RefEval;
use pumice_ir::ops::non_max_suppression::NonMaxSuppression;
use pumice_ir::{Graph, GraphBuilder, Value, f32, i32};
use pumice_plan::check::{CheckError, Fault};
use pumice_plan::{BindingError, CheckedPlan, FrameSlot, Plan, PlanForm, RunCheck};
use pumice_types::{Bindings, DType, DimExpr, SymbolId, Target};
use std::time::Instant;

fn plan_of(graph: &Graph) -> Plan {
    compile(graph, &Target::lavapipe(), &Options::default(), &RefEval).expect("it compiles")
}

fn loaded(plan: &Plan) -> Plan {
    Plan::load(&plan.to_bytes(PlanForm::Run).expect("saved")).expect("as it was saved")
}

/// Asks a plan of a file whether its run may run where the caller binds everything to the largest; evaluations.
fn admit(plan: Plan) -> Result<u64, BindingError> {
    let plan = CheckedPlan::new(plan).unwrap_or_else(|e| panic!("right at every sample: {e}"));
    let (run, mut bindings) = (plan.runs.len() - 1, Bindings::new());
    for ((id, _), (_, high)) in plan.symbols.iter().zip(&plan.runs[run].ranges) {
        bindings.bind(id, *high);
    }
    let words = plan.runs[run].frame.evaluate(&bindings, &|_| 0).expect("every word has a value");
    let begin = Instant::now();
    let mut allowance = plan.begin_replays(run, 1)?;
    let admitted = plan.check_replay(run, &bindings, &words, &mut allowance);
    println!("{}: {} evaluations in {:?}", plan.name, plan.rule_evaluations(), begin.elapsed());
    admitted.map(|()| plan.rule_evaluations())
}

fn count(g: &GraphBuilder, name: &str) -> Value {
    g.input(name, i32::<u64>([]))
}

/// As many rows of x as are counted, through a few kernels.
fn rows(most: u64, width: u64) -> Graph {
    let g = GraphBuilder::new("rows");
    let x = g.input("x", f32([most, width]));
    let n = g.extent_of(count(&g, "n"), 0..=most);
    let x = g.narrow(x, 0, 0u64, n);
    g.output("y", g.neg(g.add(x, g.reduce_sum(x, &[1], true))));
    g.output("z", g.reduce_sum(x, &[0], false));
    g.build().expect("sound")
}

/// Rows that a mask keeps.
fn compressed(most: u64) -> Graph {
    let g = GraphBuilder::new("compressed");
    let (x, mask) = (g.input("x", f32([most, 4])), g.input("mask", f32([most])));
    let kept = g.compress(x, g.greater(mask, g.constant_scalar(DType::F32, 0.0)), Some(0));
    g.output("y", g.exp(kept));
    g.build().expect("sound")
}

/// Rows of four inputs behind each other, as many of each as are counted.
fn four(most: u64) -> Graph {
    let g = GraphBuilder::new("four");
    let parts = ["a", "b", "c", "d"].map(|name| {
        let x = g.input(name, f32([most, 3]));
        let n = g.extent_of(count(&g, &format!("n_{name}")), 0..=most);
        g.exp(g.narrow(x, 0, 0u64, n))
    });
    let all = g.concat(&parts, 0);
    g.output("y", g.neg(all));
    g.build().expect("sound")
}

fn suppressed(boxes: u64) -> Graph {
    let g = GraphBuilder::new("suppressed");
    let (b, s) = (g.input("boxes", f32([2, boxes, 4])), g.input("scores", f32([2, 3, boxes])));
    let op = NonMaxSuppression { max_out: 50, iou_threshold: 0.5, ..NonMaxSuppression::default() };
    g.output("y", g.non_max_suppression(b, s, op));
    g.build().expect("sound")
}

#[test]
fn a_million_rows_are_admitted() {
    for plan in [rows(1_000_000, 8), rows(1_000_000, 7), rows(100_000, 64), compressed(1_000_000)] {
        let evaluations = admit(loaded(&plan_of(&plan))).expect("sound");
        assert!(evaluations < 1 << 18, "{evaluations}");
    }
}

#[test]
fn four_found_extents_of_a_thousand_are_admitted() {
    let evaluations = admit(loaded(&plan_of(&four(1000)))).expect("sound");
    assert!(evaluations < 1 << 22, "{evaluations}");
}

#[test]
fn suppressed_boxes_are_admitted() {
    admit(loaded(&plan_of(&suppressed(1000)))).expect("sound");
}

/// 1 where a symbol is this, and 0 elsewhere.
fn bump(symbol: SymbolId, at: i64) -> DimExpr {
    let n = DimExpr::symbol(symbol);
    let square = &n * &n - &n * DimExpr::constant(2 * at) + DimExpr::constant(at * at);
    (DimExpr::constant(1) - square).max_with(&DimExpr::constant(0))
}

/// Asks where every law holds but at what the plan was changed in: whether only a replay finds it out.
fn refused(plan: Plan, what: &str) -> bool {
    let Ok(checked) = CheckedPlan::new(plan.clone()) else { return false };
    drop(checked);
    match admit(plan) {
        Err(BindingError::Unsound(_)) => true,
        other => panic!("{what}: {other:?}"),
    }
}

fn names(e: &DimExpr, symbol: SymbolId) -> bool {
    e.find_var(|v| v.symbol() == Some(symbol)).is_some()
}

/// Every extent of a view, one after the other, is one larger at one count in a million: at an end, beside it, between.
#[test]
fn views_that_are_wrong_for_one_count_are_refused() {
    let plan = loaded(&plan_of(&rows(1_000_000, 8)));
    let symbol = plan.symbols.found().next().expect("one");
    let (mut late, mut all) = (0, 0);
    let steps = plan.runs[0].program.steps.len();
    for step in 0..steps {
        for index in 0..plan.runs[0].program.steps[step].uses.len() {
            let view = plan.runs[0].program.steps[step].uses[index].view.clone();
            if !view.shape.iter().any(|e| names(e, symbol)) {
                continue;
            }
            for at in [0, 1, 2, 271_828, 999_998, 1_000_000] {
                let mut changed = plan.clone();
                let mut view = (*view).clone();
                let wrong = |e: &mut DimExpr| *e = &*e + bump(symbol, at);
                view.shape.iter_mut().filter(|e| names(e, symbol)).for_each(wrong);
                changed.runs[0].program.steps[step].uses[index].view = view.into();
                all += 1;
                late += u32::from(refused(changed, &format!("s{step} use {index} at {at}")));
            }
        }
    }
    assert!(all >= 24 && late >= all / 2, "{late} of {all}");
}

/// As many rows as a kernel does not touch, from some count on or in steps: the ends alone do not say it.
#[test]
fn views_that_step_are_refused() {
    let plan = loaded(&plan_of(&rows(1_000_000, 8)));
    let symbol = plan.symbols.found().next().expect("one");
    let (n, number) = (DimExpr::symbol(symbol), DimExpr::constant);
    let hole = (&n - &number(700_000)).max_with(&number(0)).min_with(&number(1));
    let closed = (&n - &number(700_001)).max_with(&number(0)).min_with(&number(1));
    let stepped = n.floor_div(&number(1000)) * number(1000);
    let ends = (n.ceil_div(&number(250_000)) * number(250_000)).min_with(&n.max_with(&number(250_000)));
    for wrong in [&n + hole - closed, n.min_with(&number(999_999)), stepped, ends] {
        let mut changed = plan.clone();
        let uses = changed.runs[0].program.steps.iter_mut().flat_map(|s| &mut s.uses);
        let used = uses.into_iter().find(|u| u.view.shape.contains(&n)).expect("a view of all rows");
        let mut view = (*used.view).clone();
        view.shape.iter_mut().filter(|e| **e == n).for_each(|e| *e = wrong.clone());
        used.view = view.into();
        refused(changed, &format!("{wrong}"));
    }
}

/// An output that is longer than its slot, and a value in parts of which one row is written twice, at one count.
#[test]
fn outputs_and_parts_that_are_wrong_for_one_count_are_refused() {
    let plan = loaded(&plan_of(&rows(1_000_000, 8)));
    let symbol = plan.symbols.found().next().expect("one");
    let mut changed = plan;
    let shape = changed.outputs[0].shape.iter().cloned();
    let far = DimExpr::constant(1 << 20);
    changed.outputs[0].shape =
        shape.map(|e| if names(&e, symbol) { e + bump(symbol, 31_416) * &far } else { e }).collect();
    // The interval of its bytes passes the slot, which is seen before any run.
    assert!(!refused(changed, "an output"));

    let plan = loaded(&plan_of(&four(1000)));
    let symbol = plan.symbols.found().next().expect("four");
    let uses =
        plan.runs[0].program.steps.iter().enumerate().flat_map(|(i, s)| s.uses.iter().map(move |u| (i, u)));
    let mut after = uses.filter(|(_, u)| u.access.writes() && names(&u.view.offset, symbol));
    let (step, _) = after.next().unwrap_or_else(|| panic!("no part begins after others: {plan}"));
    let mut changed = plan.clone();
    let uses = &mut changed.runs[0].program.steps[step].uses;
    let used = uses.iter_mut().find(|u| u.access.writes()).expect("a part");
    let mut view = (*used.view).clone();
    view.offset = view.offset - bump(symbol, 618) * DimExpr::constant(3);
    used.view = view.into();
    assert!(refused(changed, "a part"));
}

/// A view of all rows whose number is written so that it does not look like theirs.
fn written_otherwise(most: u64) -> Result<u64, BindingError> {
    let mut plan = loaded(&plan_of(&rows(most, 1)));
    let n = DimExpr::symbol(plan.symbols.found().next().expect("one"));
    let same = (&n * DimExpr::constant(7) + DimExpr::constant(6)).floor_div(&DimExpr::constant(7));
    let uses = plan.runs[0].program.steps.iter_mut().flat_map(|s| &mut s.uses);
    let used = uses.into_iter().find(|u| u.view.shape.contains(&n)).expect("a view of all rows");
    let mut view = (*used.view).clone();
    view.shape.iter_mut().filter(|e| **e == n).for_each(|e| *e = same.clone());
    used.view = view.into();
    admit(plan)
}

/// What is equal at every value and does not look so is asked at each of them, and counted; of too many the plan is
/// refused, with what and which symbols.
#[test]
fn what_takes_every_value_is_counted() {
    assert!(written_otherwise(5000).expect("sound") > 5000);
}

#[test]
#[ignore = "long: half a million questions before the answer"]
fn what_takes_too_many_values_is_refused_by_name() {
    let refused = written_otherwise(2_000_000).expect_err("too many");
    let text = refused.to_string();
    assert!(matches!(refused, BindingError::Found { most: 16_777_216, .. }), "{text}");
    assert!(text.contains("the access of s") && text.contains("found of"), "{text}");
}

/// What the host writes does not name what is found, and a row holds what its program makes: the words themselves were
/// followed by the checker.
#[test]
fn words_of_rows_are_those_of_their_programs() {
    let plan = loaded(&plan_of(&rows(20_000, 8)));
    let symbol = plan.symbols.found().next().expect("one");
    let words = plan.runs[0].frame.base() as usize;
    for at in 0..words {
        let FrameSlot::Expr(e) = &plan.runs[0].frame.words[at] else { continue };
        let mut changed = plan.clone();
        changed.runs[0].frame.words[at] = FrameSlot::Expr(e + bump(symbol, 12_345));
        let faults = CheckedPlan::new(changed).expect_err("no program makes it").faults;
        assert!(faults.iter().any(|f: &CheckError| matches!(f.fault, Fault::Frame(_))), "{at}");
    }
}

/// A condition on what the run finds: nobody looks at it when the run begins, and yet the checker left out the bindings
/// that it excludes.
#[test]
fn a_condition_on_what_is_found_is_refused() {
    let plan = loaded(&plan_of(&rows(20_000, 8)));
    let symbol = DimExpr::symbol(plan.symbols.find("extent_of").expect("found"));
    let extent = DimExpr::constant(20_000);
    for (value, sides) in
        [(&extent - &symbol, None), (DimExpr::constant(0), Some(Box::new([symbol.clone(), symbol.clone()])))]
    {
        let mut changed = plan.clone();
        changed.runs[0].checks.push(RunCheck { value, min: 0, max: 0, what: "planted".into(), sides });
        let faults = CheckedPlan::new(changed).expect_err("nobody looks at it").faults;
        let is_told = |e: &CheckError| matches!(&e.fault, Fault::Expression { what, .. } if what == "the condition `planted`");
        assert!(faults.iter().any(is_told), "{faults:?}");
    }
}
