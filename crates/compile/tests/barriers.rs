//! Barriers in plans: their readers wait for what they are ordered after, and what is computed from the two sides of
//! one is computed twice.

use pumice_compile::{Options, compile};
use pumice_cpu_ref::RefEval;
use pumice_ir::{Graph, GraphBuilder, Value, f32};
use pumice_plan::check::check;
use pumice_plan::{Plan, Program, StepKind};
use pumice_types::Target;

fn graph(make: impl FnOnce(&GraphBuilder)) -> Graph {
    let g = GraphBuilder::new("barriers");
    make(&g);
    g.build().expect("a program")
}

fn plan(graph: &Graph) -> Plan {
    let target = Target::profile("h200").expect("a profile");
    let plan = compile(graph, &target, &Options::default(), &RefEval).expect("a plan");
    check(&plan).expect("a checked plan");
    plan
}

/// The levels of the dispatches whose meaning has an op of that name, or whose label holds it.
fn levels(program: &Program, name: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for (i, level) in program.levels.iter().enumerate() {
        let steps = &program.steps[level.steps.start as usize..level.steps.end as usize];
        let of_name = |s: &&pumice_plan::Step| {
            let is_it = s.origin.contains(name) || s.meaning.graph.text.contains(&format!("= {name}("));
            matches!(s.kind, StepKind::Dispatch { .. }) && is_it
        };
        found.extend(steps.iter().filter(of_name).map(|_| i));
    }
    found
}

/// The level of the only one.
fn level(program: &Program, name: &str) -> usize {
    let found = levels(program, name);
    assert_eq!(found.len(), 1, "{name}: {found:?} of {}", program.levels.len());
    found[0]
}

/// Three sums of rows one after the other, each of the one before.
fn chain(g: &GraphBuilder, x: Value) -> Value {
    (0..3).fold(x, |x, i| {
        let sum = g.named(&format!("chain{i}")).reduce_sum(x, &[1], true);
        g.add(g.expand(sum, &[64, 64]), x)
    })
}

/// What a barrier with this ordering operand makes of a product beside a chain.
fn product_beside_a_chain(ordered: bool) -> Plan {
    plan(&graph(|g| {
        let (x, w) = (g.input("x", f32([64, 64])), g.input("w", f32([64, 64])));
        let end = chain(g, x);
        let late = g.barrier(&[w], ordered.then_some(end))[0];
        let turned = g.transpose(late, &[1, 0]);
        g.output("y", g.named("product").matmul(turned, turned));
        g.output("end", end);
    }))
}

#[test]
fn a_step_behind_a_barrier_waits() {
    let free = product_beside_a_chain(false);
    assert_eq!(level(&free.runs[0].program, "product"), 0, "nothing holds it");
    let ordered = product_beside_a_chain(true);
    let program = &ordered.runs[0].program;
    let (product, sum) = (level(program, "product"), level(program, "chain2"));
    assert!(product > sum, "{product} after {sum}, through a view of what is ordered");
    // It is an alias: no step more.
    assert_eq!(free.runs[0].program.steps.len(), program.steps.len());
}

/// What depends on the result of an ordered step follows from it; what follows from a weight alone would otherwise be
/// done once, when weights are loaded.
#[test]
fn nothing_ordered_is_done_when_weights_are_loaded() {
    let made = |ordered: bool| {
        plan(&graph(|g| {
            let (x, w) = (g.input("x", f32([64, 64])), g.param("w", f32([64, 64])));
            let end = chain(g, x);
            let w = g.barrier(&[w], ordered.then_some(end))[0];
            g.output("y", g.mul(end, g.matmul(w, w)));
        }))
    };
    let (free, ordered) = (made(false), made(true));
    assert_eq!(levels(&free.runs[0].program, "matmul"), [0; 0]);
    let program = &ordered.runs[0].program;
    assert!(level(program, "matmul") > level(program, "chain2"));
}

#[test]
fn equal_nodes_stay_apart_across_a_barrier() {
    let products = |barrier: bool| {
        let plan = plan(&graph(|g| {
            let x = g.input("x", f32([64, 64]));
            let first = g.matmul(x, x);
            let x = if barrier { g.barrier(&[x], Some(first))[0] } else { x };
            g.output("first", first);
            g.output("again", g.matmul(x, x));
        }));
        levels(&plan.runs[0].program, "matmul")
    };
    assert_eq!(products(false), [0], "one serves both");
    assert_eq!(products(true), [0, 1]);
}

/// Constants are not folded through one, a scalar is no expression of the frame behind it, nothing is fused across it.
#[test]
fn nothing_is_folded_or_fused_across_a_barrier() {
    let plan = plan(&graph(|g| {
        let x = g.input("x", f32([8, 64]));
        let three = g.barrier(&[g.constant_scalar(pumice_types::DType::F32, 3.0)], None)[0];
        let y = g.named("before").mul(g.named("squared").square(three), x);
        g.output("y", g.named("behind").exp(g.barrier(&[y], None)[0]));
    }));
    let program = &plan.runs[0].program;
    assert!(level(program, "behind") > level(program, "before"), "two steps");
}
