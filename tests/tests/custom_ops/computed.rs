//! What ops of users compute: the evaluator by their references, interpreter and devices by their functions.

use crate::ops::{eighths, load, ops};
use pumice_compile::Options;
use pumice_cpu_ref::{Array, EvalOptions, Interpreter, eval_graph_with};
use pumice_ir::{Graph, GraphBuilder, f32, sym, text};
use pumice_plan::{CheckedPlan, Plan, PlanForm};
use pumice_runtime::Executable;
use pumice_tests::{Fixture, on_every_device};
use pumice_types::{Bindings, DimExpr, TensorView};
use std::sync::Arc;

on_every_device!(
    first_middle_and_last_with_symbols,
    states_and_replays,
    params_alone_and_streams,
    a_plan_file_names_them,
);

/// x → op → device → op of two → device → op.
fn chain() -> Graph {
    let (ops, _) = ops();
    let g = GraphBuilder::new("chain");
    let x = g.input("x", f32([sym("n", 0..=9), 3.into()]));
    let first = ops.apply(&g, "test.affine", "2 0.5", &[x]).expect("known");
    let relu = g.relu(g.add(first[0], first[1]));
    let middle = ops.apply(&g, "test.affine", "-0.5 1", &[relu, x, first[1]]).expect("known");
    g.output("middle", middle[1]);
    let y = g.mul(middle[0], x);
    let last = ops.apply(&g, "test.affine", "0.25 0", &[y]).expect("known");
    g.output("y", last[0]);
    g.output("sum", last[1]);
    g.build().expect("sound")
}

fn first_middle_and_last_with_symbols(fixture: &Fixture) {
    let (ops, _) = ops();
    let graph = chain();
    let exe = load(fixture, &graph, &ops).expect("loads");
    assert_eq!(exe.plan().runs[0].program.steps.iter().filter(|s| s.is_host()).count(), 3);
    let mut session = exe.session().expect("a session");
    for n in [3u64, 0, 9, 1, 1] {
        let x = eighths(3 * n as usize, n as u32);
        let out = session.run(&[("x", TensorView::f32(&x, [n, 3]))]).expect("runs");
        let mut bindings = Bindings::new();
        bindings.bind(graph.symbols().find("n").expect("declared"), n);
        let array = Arc::new(Array::floats(
            pumice_types::DType::F32,
            &[n, 3],
            x.iter().map(|v| f64::from(*v)).collect(),
        ));
        let want = eval_graph_with(&graph, &|_| Some(array.clone()), &bindings, EvalOptions::default(), &ops);
        let want = want.expect("has a value");
        for (output, want) in graph.outputs().iter().zip(&want.outputs) {
            let got = out.get(&output.name).expect("there").bytes().to_vec();
            assert_eq!(got, want.to_bytes(), "{} for n = {n}", output.name);
        }
    }
}

/// A state that an op of a user writes, over several replays of one call, and in a fork.
fn states_and_replays(fixture: &Fixture) {
    let (ops, _) = ops();
    let g = GraphBuilder::new("states");
    let (x, s) = (g.input("x", f32([4])), g.state("s", f32([4])));
    let at = g.scalar_advancing("at", 0, 100, 0, DimExpr::constant(1));
    let made = ops.apply(&g, "test.affine", "1 1", &[g.add(g.state_read(s), x)]).expect("known");
    g.state_write(s, made[0]);
    g.output("sum", made[1]);
    g.output("at", at);
    let exe = load(fixture, &g.build().expect("sound"), &ops).expect("loads");
    let mut session = exe.session().expect("a session");
    let x = [0.5, -1.0, 2.0, 0.25];
    let given = [("x", TensorView::f32(&x, [4]))];
    let sum = |session: &mut pumice_runtime::Session, steps: u32| {
        let out = session.run_steps(&given, steps).expect("runs");
        out.get("sum").expect("there").to_vec::<f32>().expect("f32")[0]
    };
    // After k runs the state is k·(x + 1); the sum before the last 1 is added is k·Σx + 4·(k − 1).
    assert_eq!(sum(&mut session, 1), 1.75);
    assert_eq!(sum(&mut session, 4), 5.0 * 1.75 + 16.0);
    let mut fork = session.fork().expect("a fork");
    assert_eq!(sum(&mut fork, 1), 6.0 * 1.75 + 20.0);
    assert_eq!(sum(&mut session, 1), 6.0 * 1.75 + 20.0);
}

/// What follows from params alone is computed when these are set, also where params pass through.
fn params_alone_and_streams(fixture: &Fixture) {
    let (ops, _) = ops();
    let g = GraphBuilder::new("derived");
    let (x, w) = (g.input("x", f32([4])), g.param("w", f32([4])));
    let derived = ops.apply(&g, "test.affine", "2 1", &[g.neg(w)]).expect("known");
    g.output("y", g.add(g.mul(x, derived[0]), derived[1]));
    let graph = g.build().expect("sound");
    for options in [Options::default(), Options::default().stream_from(1)] {
        let plan = CheckedPlan::new(fixture.plan(&graph, &options)).expect("sound");
        let exe = Executable::new(fixture.device.clone(), plan, Arc::new(ops.clone())).expect("loads");
        for w in [[1.0f32, 2.0, -3.0, 0.5], [0.25; 4]] {
            exe.set_param("w", &w).expect("set");
            let x = [1.0, 2.0, 3.0, 4.0];
            let out = exe.session().expect("one").run(&[("x", TensorView::f32(&x, [4]))]).expect("runs");
            let sum: f32 = -w.iter().sum::<f32>();
            let want: Vec<f32> = x.iter().zip(w).map(|(x, w)| x * (1.0 - 2.0 * w) + sum).collect();
            assert_eq!(out.get("y").expect("there").to_vec::<f32>().expect("f32"), want);
        }
    }
}

/// A file has the name, and gives the same plan; on a device also in the form that has only what it runs by.
fn a_plan_file_names_them(fixture: &Fixture) {
    let (ops, _) = ops();
    let plan = fixture.plan(&chain(), &Options::default());
    let forms: &[PlanForm] =
        if fixture.is_vulkan() { &[PlanForm::Run, PlanForm::Explain] } else { &[PlanForm::Explain] };
    for form in forms {
        let bytes = plan.to_bytes(*form).expect("a file");
        assert!(bytes.windows(11).any(|part| part == b"test.affine"));
        let again = CheckedPlan::new(Plan::load(&bytes).expect("a plan")).expect("sound");
        let exe = Executable::new(fixture.device.clone(), again, Arc::new(ops.clone())).expect("loads");
        let x = eighths(6, 1);
        let run = |exe: &Executable| {
            let out = exe.session().expect("one").run(&[("x", TensorView::f32(&x, [2, 3]))]).expect("runs");
            out.get("y").expect("there").bytes().to_vec()
        };
        assert_eq!(run(&exe), run(&load(fixture, &chain(), &ops).expect("loads")));
    }
}

/// Whatever is in name and attributes comes back from text, and so from the meanings of plans.
#[test]
fn text_has_name_attributes_and_types() {
    let odd = "{\"a\": [1, \\\"two\\\"]}\n\t// no comment\u{0}\u{7f}\u{1F600} }";
    let g = GraphBuilder::new("odd");
    let x = g.input("x", f32([sym("n", 1..=4), 2.into()]));
    let n = g.dim_of(x, 0);
    let y = g.custom(
        "an odd \"name\"",
        odd,
        &[x],
        [f32([n.clone()]), f32([n * 2 + DimExpr::constant(1), 3.into()])],
    );
    g.output("y", y[1]);
    g.output("one", g.custom("plain", "", &[y[0]], [f32([7u64])])[0]);
    let graph = g.build().expect("sound");
    let printed = text::print(&graph);
    let again = text::read(&printed).unwrap_or_else(|e| panic!("{e}\n{printed}"));
    assert_eq!(again, graph);
    let most = "é".repeat(1 << 15);
    let g = GraphBuilder::new("long");
    g.output("y", g.custom(&"n".repeat(256), &most, &[], [f32([1u64])])[0]);
    let graph = g.build().expect("as much as is allowed");
    assert_eq!(text::read(&text::print(&graph)).expect("read"), graph);
}

/// The interpreter runs meanings, and a host step's is the op itself.
#[test]
fn the_meaning_of_the_step_is_the_op() {
    let fixture = Fixture { device: Arc::new(Interpreter::of_machine()), ..Fixture::interpreter() };
    let plan = fixture.plan(&chain(), &Options::default());
    let steps = plan.runs[0].program.steps.iter().filter(|s| s.is_host());
    for step in steps {
        assert!(step.meaning.graph.text.contains("custom("), "{}", step.meaning.graph.text);
        assert!(step.meaning.graph.text.contains("name = \"test.affine\""), "{}", step.meaning.graph.text);
        assert!(step.origin.starts_with("test.affine"), "{}", step.origin);
    }
}
