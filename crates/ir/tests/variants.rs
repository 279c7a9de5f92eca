//! Graphs that are made of a graph by what they are for: outputs, given states, inference.

use pumice_ir::ops::attention_operands::AttentionOperands;
use pumice_ir::ops::batch_norm_training::BatchNormTraining;
use pumice_ir::ops::source::RandomSource;
use pumice_ir::ops::{Attention, Dropout};
use pumice_ir::{Form, Graph, GraphBuilder, Value, bf16, f16, f32, i32, sym, text, verify};
use pumice_types::DimExpr;

fn graph(build: impl FnOnce(&GraphBuilder)) -> Graph {
    let g = GraphBuilder::new("g");
    build(&g);
    g.build().expect("a graph")
}

/// The graph keeps the rules, and is what its text says.
fn sound(graph: &Graph) -> String {
    verify(graph, Form::Source).unwrap_or_else(|errors| panic!("{errors:?}"));
    let printed = text::print(graph);
    assert_eq!(text::print(&text::read(&printed).expect("its own text")), printed);
    printed
}

#[test]
fn outputs_keep_what_they_need() {
    let whole = graph(|g| {
        let (x, y) = (g.input("x", f32([sym("n", 2..=8)])), g.input("y", f32([sym("m", 2..=8)])));
        let unused = g.scalar("unused", i32([0u64; 0]), 0.0, 9.0, 0.0);
        let at = g.scalar("at", i32([0u64; 0]), 0.0, 9.0, 0.0);
        let step = g.scalar_advancing("step", 0, 99, 0, g.scalar_expr(at) + DimExpr::constant(1));
        let z = g.add(g.cast(step, pumice_types::DType::F32), x);
        let kept = g.state("kept", f32([3]));
        g.state_write(kept, g.neg(g.state_read(kept)));
        g.output("sum", g.add(x, y));
        g.output("z", z);
        g.output("unused", unused);
    });
    let z = whole.with_outputs(&["z", "nothing"]);
    let text = sound(&z);
    let names = |leaves: Vec<pumice_ir::ValueId>| {
        leaves.into_iter().map(|v| z.value(v).name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!((names(z.inputs()), names(z.scalars())), (vec!["x".into()], vec!["at".into(), "step".into()]));
    assert_eq!(names(z.states()), ["kept"], "what it writes stays: {text}");
    assert_eq!((whole.constraints().len(), z.constraints().len()), (1, 0), "n is m: of the sum alone");
    assert_eq!(whole.with_outputs(&["sum", "z", "unused"]), whole);
}

#[test]
fn params_become_given_states() {
    let whole = graph(|g| {
        let [a, b] = [g.param("a", f32([3])), g.param("b", bf16([3]))];
        g.output("y", g.mul(g.cast(b, pumice_types::DType::F32), a));
        g.output("a.now", a);
        g.output("n", g.neg(g.param("n", i32([2]))));
    });
    let made = whole.with_given_states(&["a", "b", "n", "z"]);
    let text = sound(&made);
    assert_eq!((made.params().len(), made.states().len()), (1, 2), "{text}");
    assert_eq!(text.matches("given = true").count(), 2, "{text}");
    assert!(
        made.find("b.rounded").is_some_and(|v| made.ty(v).dtype() == pumice_types::DType::BF16),
        "{text}"
    );
    assert_eq!(whole.with_given_states(&[]), whole);
}

/// Attention that drops probabilities is attention in inference.
#[test]
fn attention_drops_nothing_in_inference() {
    let build = |dropout: f32| {
        graph(|g| {
            let qkv = ["q", "k", "v"].map(|name| g.input(name, f32([1, 2, 3, 4])));
            let op = Attention { causal: true, dropout, ..Attention::default() };
            let (y, lse) = g.attention_with(qkv, AttentionOperands::default(), op);
            g.output("y", y);
            g.output("lse", lse);
        })
    };
    let (training, inference) = (build(0.5), build(0.0));
    let text = sound(&training);
    assert!(text.contains("dropout = 0.5, stream = "), "{text}");
    let made = training.for_inference().expect("it has its form").with_outputs(&["y", "lse"]);
    assert_eq!(sound(&made), text::print(&inference));
}

/// A gradient drops the probabilities again that the forward pass dropped; nobody else takes the stream.
#[test]
fn attention_and_its_gradient_draw_one_stream() {
    let build = |more: &dyn Fn(&GraphBuilder, Value)| {
        let g = GraphBuilder::new("g");
        let [q, k, v] = ["q", "k", "v"].map(|name| g.input(name, f32([1, 2, 3, 4])));
        let op = Attention { dropout: 0.5, stream: 9, ..Attention::default() };
        let y = g.attention(q, k, v, None, None, op);
        let loss = g.reduce_sum(y, &[], false);
        g.grad(loss, &[q, v]).into_iter().enumerate().for_each(|(i, d)| g.output(&format!("d{i}"), d));
        more(&g, v);
        g.build()
    };
    sound(&build(&|_, _| {}).expect("it repeats its own draws"));
    let other = |g: &GraphBuilder, v: Value| {
        let RandomSource { seed_low, seed_high, step } = g.random_source();
        let op = Dropout { ratio: 0.5, training: true, stream: 9 };
        let scores = g.matmul(v, g.transpose(v, &[0, 1, 3, 2]));
        g.output("other", g.named("other").apply(op, &[scores, seed_low, seed_high, step]));
    };
    let errors = build(&other).expect_err("the same numbers for something else").to_string();
    assert!(errors.contains("other: it takes stream 9"), "{errors}");
}

/// Dropout draws nothing, batch norm reads its running statistics, and nothing is written.
#[test]
fn inference() {
    let whole = graph(|g| {
        let x = g.input("x", f16([2, 4]));
        let [gamma, beta] = ["gamma", "beta"].map(|name| g.param(name, f16([4])));
        let (mean, variance) = (g.state("mean", f32([4])), g.state("variance", f16([4])));
        let y = g.batch_norm_training(x, gamma, beta, mean, variance, BatchNormTraining::default());
        let (y, mask) = g.dropout_training(y, 0.5);
        g.output("y", y);
        g.output("mask", mask);
        g.output("mean", g.state_read(mean));
    });
    let made = whole.for_inference().expect("every op has its form");
    let text = sound(&made);
    assert!(
        made.nodes().all(|(_, node)| node.op.state_operand().is_none() && node.op.stream().is_none()),
        "{text}"
    );
    let alone = made.with_outputs(&["y", "mask", "mean"]);
    sound(&alone);
    assert!(alone.scalars().is_empty() && alone.states().len() == 2);
    let again = made.for_inference().expect("again");
    assert_eq!(text::print(&again), text, "nothing more to do");
}

#[test]
fn states_that_are_not_written() {
    let whole = graph(|g| {
        let (s, x) = (g.state("s", f32([3])), g.input("x", f32([3])));
        let next = g.state_write(s, x);
        g.output("y", g.state_read(g.state_write(next, g.neg(x))));
    });
    let made = whole.without_state_writes().expect("a graph");
    let text = sound(&made);
    assert!(made.nodes().all(|(_, node)| node.op.state_operand().is_none()), "{text}");
}

/// A symbol takes part of its range under another name; nothing else of a graph changes.
#[test]
fn a_narrower_symbol() {
    let whole = graph(|g| {
        let [x, y] = ["n", "m"].map(|n| g.input(n, f32([sym(n, 2..=64), 3.into()])));
        g.output("x", g.neg(x));
        g.output("y", g.neg(y));
    });
    let n = whole.symbols().find("n").expect("it has one");
    let part = whole.with_symbol_within(n, "n/part", 2..=8).expect("within 2 to 64");
    sound(&part);
    let symbols: Vec<String> = part.symbols().iter().map(|(_, s)| s.to_string()).collect();
    assert_eq!(symbols, ["n/part=2..=8", "m=2..=64"]);
    assert!(whole.with_symbol_within(n, "n", 2..=64).is_some_and(|same| same == whole));
    for (name, range) in [("m", 2..=8), ("part", 1..=8), ("part", 2..=65)] {
        assert!(whole.with_symbol_within(n, name, range).is_none(), "{name}");
    }
}
