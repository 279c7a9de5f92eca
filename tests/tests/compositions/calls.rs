//! `call`: functions in other graphs, against the evaluator, and against the same nodes written there.

use super::{all_near, all_pass};
use pumice_cpu_ref::Reference;
use pumice_ir::ops::random_uniform::RandomUniform;
use pumice_ir::sample::Fill;
use pumice_ir::{Graph, GraphBuilder, Sample, Value, f32, i32, sym};
use pumice_tests::op_suite::Runner;
use pumice_types::{DType, DimExpr};

pub fn calls(runner: &Runner) {
    let mut samples = vec![with_scalars(), around_branches()];
    samples.extend([0, 1, 9].map(of_symbols));
    samples.extend([0, 2, 300].map(of_loops));
    all_pass(runner, "call", samples);
    let products = [twice(), of_a_function()].into_iter().chain([0, 4, 9].map(of_found_rows));
    all_near(runner, "call", 1e-5, products.collect());
}

fn built(g: GraphBuilder) -> Graph {
    g.build().expect("a function")
}

/// A layer with weights over so many rows.
fn layer() -> Graph {
    let f = GraphBuilder::new("layer");
    let (x, w) = (f.input("x", f32([sym("rows", 0..=64), 8.into()])), f.param("w", f32([8, 8])));
    let b = f.param("b", f32([8]));
    let y = f.relu(f.add(f.matmul(x, w), b));
    f.output("y", y);
    f.output("sum", f.reduce_sum(y, &[0], false));
    built(f)
}

/// Two calls share their weights.
fn twice() -> Sample {
    Sample::graph("twice", |g| {
        let layer = layer();
        let first = g.call(&layer, &[g.input("x", f32([5, 8]))]);
        let second = g.named("second").call(&layer, &first[..1]);
        g.output("y", second[0]);
        g.output("sum", g.add(first[1], second[1]));
    })
}

/// A function that calls one, with the order of its inputs.
fn of_a_function() -> Sample {
    Sample::graph("a function that calls one", |g| {
        let outer = GraphBuilder::new("outer");
        let (a, b) = (outer.input("a", f32([sym("n", 1..=9), 8.into()])), outer.input("c", f32([8])));
        let [y, sum] = <[Value; 2]>::try_from(outer.call(&layer(), &[a])).expect("two outputs");
        outer.output("y", outer.sub(outer.add(y, b), sum));
        outer.output("a", a);
        let outer = built(outer);
        let (x, z) = (g.input("x", f32([4, 8])), g.input("z", f32([8])));
        let y = g.call(&outer, &[x, z]);
        g.output("y", g.mul(y[0], y[1]));
    })
}

/// Scalars, which two calls share and extents name, and a constant.
fn with_scalars() -> Sample {
    Sample::graph("scalars", |g| {
        let f = GraphBuilder::new("shifted");
        let x = f.input("x", i32([sym("n", 1..=16)]));
        let pos = f.scalar_advancing("pos", 0, 100, 0, DimExpr::constant(2));
        let by = f.scalar("by", i32::<u64>([]), -5.0, 5.0, 3.0);
        f.output("y", f.add(f.mul(x, by), f.add(pos, f.constant_scalar(DType::I32, 7.0))));
        let f = built(f);
        let first = g.scalar("first", f32::<u64>([]), 0.0, 1.0, 0.5);
        let x = g.input("x", i32([5]));
        let y = g.call(&f, &g.call(&f, &[x]));
        g.output("y", y[0]);
        g.output("first", first);
    })
    .runs(3)
}

fn of_symbols(n: u64) -> Sample {
    let sample = Sample::graph(&format!("symbols, {n} of 9"), |g| {
        let f = GraphBuilder::new("pairs");
        let (a, b) =
            (f.input("a", f32([sym("n", 0..=40), sym("m", 1..=9)])), f.input("b", f32([sym("m", 1..=9)])));
        let (n, m) = (f.dim_of(a, 0), f.dim_of(a, 1));
        f.output("flat", f.reshape_to(f.mul(a, b), vec![n.clone() * m]));
        f.output("rows", f.range(0u64, n, 1, DType::I32));
        let f = built(f);
        let (x, w) = (g.input("x", f32([sym("k", 0..=9), 3.into()])), g.input("w", f32([3])));
        let y = g.call(&f, &[g.concat(&[x, x], 0), w]);
        g.output("flat", y[0]);
        g.output("rows", y[1]);
    });
    sample.bind("k", n)
}

/// Loops of a function, beside one of the caller.
fn of_loops(limit: i64) -> Sample {
    let sample = Sample::graph(&format!("loops, below {limit}"), |g| {
        let f = GraphBuilder::new("doubled");
        let (x, limit) = (f.input("x", i32([sym("n", 1..=9)])), f.input("limit", i32::<u64>([])));
        let less = |g: &GraphBuilder, [x]: [Value; 1]| g.less(g.reduce_max(x, &[0], false), limit);
        let ([y], [all]) = f.while_collecting(20, [x], less, |g, [x]| ([g.add(x, x)], [x]));
        f.output("y", y);
        f.output("all", all);
        let f = built(f);
        let (x, limit) = (g.input("x", i32([3])), g.input("limit", i32::<u64>([])));
        let once = g.call(&f, &[x, limit]);
        let one = g.constant_scalar(DType::I32, 1.0);
        let [own] = g.while_(
            9,
            [x],
            |g, [x]| g.less(g.reduce_max(x, &[0], false), limit),
            |g, [x]| [g.add(g.mul(x, x), one)],
        );
        let again = g.call(&f, &[once[0], g.add(limit, limit)]);
        let all = [("y", again[0]), ("all", again[1]), ("first", once[1]), ("own", own)];
        all.into_iter().for_each(|(name, v)| g.output(name, v));
    });
    sample.fill("x", Fill::Ints(vec![2, 1, 3])).fill("limit", Fill::Ints(vec![limit]))
}

/// As many rows as the run finds.
fn of_found_rows(n: i64) -> Sample {
    let sample = Sample::graph(&format!("{n} rows that are found"), |g| {
        let rows = g.extent_of(g.input("count", i32::<u64>([])), 0..=9);
        let x = g.narrow(g.input("x", f32([9, 8])), 0, 0u64, rows);
        let y = g.call(&layer(), &[x]);
        g.output("y", y[0]);
        g.output("sum", y[1]);
    });
    sample.fill("count", Fill::Ints(vec![n]))
}

/// In a branch, with branches of its own.
fn around_branches() -> Sample {
    Sample::graph("branches", |g| {
        let f = GraphBuilder::new("larger");
        let x = f.input("x", f32([sym("n", 1..=9)]));
        let zero = f.constant_scalar(DType::F32, 0.0);
        let positive = f.greater(f.reduce_sum(x, &[0], false), zero);
        let [y] = f.if_(positive, |g| [g.add(x, x)], |g| [g.neg(x)]);
        f.output("y", y);
        let f = built(f);
        let x = g.input("x", f32([6]));
        let below = g.less(g.reduce_max(x, &[0], false), g.constant_scalar(DType::F32, 5.0));
        let [y] = g.if_(below, |g| [g.call(&f, &[x])[0]], |_| [x]);
        g.output("y", y);
    })
    .fill("x", Fill::Range(-8, 9))
}

/// Every call draws numbers of its own, and the graph goes on with the source that the function declared.
#[test]
fn calls_draw_numbers_of_their_own() {
    let f = GraphBuilder::new("noise");
    let x = f.input("x", f32([sym("n", 1..=9)]));
    let n = f.dim_of(x, 0);
    f.output("y", f.add(x, f.random_uniform([n], None, RandomUniform::default())));
    let f = built(f);
    let sample = Sample::graph("noise", |g| {
        let x = g.input("x", f32([8]));
        g.output("first", g.call(&f, &[x])[0]);
        g.output("second", g.call(&f, &[x])[0]);
        g.output("own", g.add(x, g.random_uniform([8u64], None, RandomUniform::default())));
    });
    let graph = sample.graph.clone().expect("three streams of one source");
    assert_eq!(graph.scalars().len(), 3);
    let reference = Reference::new(&sample, &graph).expect("it has a value");
    let drawn: Vec<Vec<f64>> =
        reference.run(0).expect("one run").outputs.iter().map(|a| a.to_f64()).collect();
    assert!(drawn[0] != drawn[1] && drawn[1] != drawn[2] && drawn[0] != drawn[2]);
}

/// Nodes are named within the function, params by their own names.
#[test]
fn names_of_a_call() {
    let g = GraphBuilder::new("g");
    let x = g.input("x", f32([5, 8]));
    let y = g.scoped("block", |g| g.call(&layer(), &[x]))[0];
    g.output("y", g.named("second").call(&layer(), &[y])[0]);
    let graph = g.build().expect("a graph");
    let there = ["block.layer.matmul", "block.layer.relu", "second.matmul", "w", "b"];
    assert!(there.iter().all(|name| graph.find(name).is_some()), "{graph:?}");
    assert_eq!(graph.params().len(), 2);
}
