//! Graphs over one set of leaves.

use pumice_ir::entries::over_one_interface;
use pumice_ir::{Form, Graph, GraphBuilder, Op, f32, i32, sym, verify};
use pumice_types::{DType, Tensor};

/// A graph that counts up a state by a product with a param, over a symbolic batch.
fn step() -> Graph {
    let g = GraphBuilder::new("step");
    let position = g.scalar_advancing("position", 0, 100, 0, 1.into());
    let x = g.input("x", f32([sym("batch", 1..=8), 4.into()]));
    let w = g.param("w", f32([4]));
    let s = g.state("count", f32([4]));
    let sum = g.reduce_sum(g.mul(x, w), &[0], false);
    g.state_write(s, g.add(g.state_read(s), sum));
    g.output("at", g.add(position, position));
    g.output("sum", sum);
    g.build().expect("sound")
}

/// Another one, whose symbols and leaves come in another order, with a value that is named as a param of the first.
fn eval() -> Graph {
    let g = GraphBuilder::new("eval");
    let rows = g.input("rows", f32([sym("rows", 1..=3), sym("batch", 1..=8)]));
    let b = g.param("b", f32([3]));
    let s = g.state("count", f32([4]));
    let w = g.named("w").reduce_sum(rows, &[0, 1], true);
    let begins = g.state_from("begins", g.constant(Tensor::new(&[2.0f32, 3.0], &[2]).expect("two")));
    g.output("count", g.state_read(s));
    g.output("begins", g.state_read(begins));
    g.output("b", g.reduce_sum(b, &[0], false));
    g.output("all", w);
    g.build().expect("sound")
}

fn names(graph: &Graph, values: Vec<pumice_ir::ValueId>) -> Vec<String> {
    values.into_iter().map(|v| graph.value(v).name.to_string()).collect()
}

#[test]
fn leaves_and_symbols_have_one_number_each() {
    let (a, b) = (step(), eval().clone());
    let graphs = over_one_interface(&[("step", &a), ("eval", &b)]).map_err(|e| e.len());
    let graphs = graphs.expect("one interface");
    assert_eq!(graphs.iter().map(|g| g.symbols.len()).collect::<Vec<_>>(), [1, 2]);
    let graphs: Vec<Graph> = graphs.into_iter().map(|entry| entry.graph).collect();
    for graph in &graphs {
        verify(graph, Form::Source).expect("sound");
        assert_eq!(names(graph, graph.states()), ["count", "begins"]);
        assert_eq!(names(graph, graph.scalars()), ["position"]);
        let symbols: Vec<_> = graph.symbols().iter().map(|(_, s)| s.name.as_str()).collect();
        assert_eq!(symbols, ["batch", "rows"]);
    }
    assert_eq!(names(&graphs[0], graphs[0].inputs()), ["x"]);
    assert_eq!(names(&graphs[1], graphs[1].inputs()), ["rows"]);
    let outputs: Vec<_> = graphs[1].outputs().iter().map(|o| o.name.as_str()).collect();
    assert_eq!(outputs, ["count", "begins", "b", "all"]);
    let rows = graphs[1].find("rows").expect("an input");
    assert_eq!(graphs[1].ty(rows).display(graphs[1].symbols()), "f32[rows, batch]");
    let advances = |graph: &Graph| match &graph.def(graph.scalars()[0]).op {
        Op::Scalar(scalar) => scalar.advance.is_some(),
        _ => false,
    };
    assert_eq!((advances(&graphs[0]), advances(&graphs[1])), (true, false));
    assert_eq!(names(&graphs[0], graphs[0].params()), names(&graphs[1], graphs[1].params()));
}

/// The advance of a scalar names others by their numbers, which are not those of its own graph.
#[test]
fn advances_name_scalars_of_all_entries() {
    let counting = |names: &[&str], by: &str| {
        let g = GraphBuilder::new("g");
        let mut made = Vec::new();
        for name in names {
            made.push((*name, g.scalar(name, i32([0u64; 0]), 0.0, 9.0, 1.0)));
        }
        let of = made.iter().find(|(name, _)| *name == by).expect("one of them").1;
        let at = g.scalar_advancing("at", 0, 100, 0, g.scalar_expr(of));
        g.output("at", g.add(at, at));
        g.build().expect("sound")
    };
    let (a, b) = (counting(&["k", "n"], "n"), counting(&["n"], "n"));
    let same = over_one_interface(&[("a", &a), ("b", &b)]).expect("both advance by n");
    for entry in &same {
        let graph = &entry.graph;
        assert_eq!(names(graph, graph.scalars()), ["k", "n", "at"]);
        let Op::Scalar(at) = &graph.def(graph.scalars()[2]).op else { unreachable!("it is a scalar") };
        assert_eq!(at.advance, Some(pumice_types::DimExpr::scalar(pumice_types::ScalarId(1))));
        verify(graph, Form::Source).expect("sound");
    }
    let other = counting(&["n", "k"], "k");
    let wrong = over_one_interface(&[("b", &b), ("other", &other)]).expect_err("they advance by n and by k");
    assert!(wrong[0].to_string().contains("scalar `at` is declared otherwise"), "{}", wrong[0]);
}

/// A symbol that a graph declares and names nowhere is none of the entry's.
#[test]
fn entries_have_the_symbols_that_they_name() {
    let g = GraphBuilder::new("g");
    let x = g.input("x", f32([sym("n", 1..=4)]));
    g.output("loss", g.reduce_sum(g.input("target", f32([sym("m", 1..=4)])), &[0], false));
    g.output("y", g.neg(x));
    let whole = g.build().expect("sound");
    let part = whole.with_outputs(&["y"]);
    let entries = over_one_interface(&[("eval", &whole), ("predict", &part)]).expect("one interface");
    let own: Vec<Vec<&str>> = entries
        .iter()
        .map(|e| e.symbols.iter().filter_map(|id| Some(e.graph.symbols().get(*id)?.name.as_str())).collect())
        .collect();
    assert_eq!(own, [vec!["n", "m"], vec!["n"]]);
}

#[test]
fn one_graph_stays_as_it_is() {
    let graph = step();
    let one = over_one_interface(&[("main", &graph)]).expect("one graph");
    assert_eq!(one.into_iter().map(|e| e.graph).collect::<Vec<_>>(), [graph]);
}

#[test]
fn every_contradiction_is_named() {
    let declare = |dtype, of: &dyn Fn(&GraphBuilder)| {
        let g = GraphBuilder::new("g");
        let x = g.input("x", pumice_ir::tensor(dtype, [sym("n", 1..=4)]));
        g.output("y", x);
        of(&g);
        g.build().expect("sound")
    };
    let a = declare(DType::F32, &|g| {
        g.output("w", g.param("w", f32([2])));
        g.output("v", g.param("v", f32([2])));
        g.output("s", g.state_read(g.state("s", f32([2]))));
    });
    let b = declare(DType::F32, &|g| {
        g.output("w", g.state_read(g.state("w", f32([2]))));
        g.output("v", g.param("v", i32([2])));
        g.output("s", g.state_read(g.state("s", f32([3]))));
        g.output("z", g.input("z", f32([sym("m", 1..=2)])));
    });
    let c = {
        let g = GraphBuilder::new("g");
        g.output("x", g.param("x", f32([2])));
        g.output("m", g.input("m_rows", f32([sym("m", 1..=9)])));
        g.build().expect("sound")
    };
    let wrong = over_one_interface(&[("step", &a), ("eval", &b), ("other", &c)]).expect_err("four names");
    let said: Vec<String> = wrong.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "symbol `m` is declared otherwise in entry `other` than in entry `eval`: `m=1..=9`, not `m=1..=2`",
            "`w` is a param in entry `step` and a state in entry `eval`",
            "param `v` is declared otherwise in entry `eval` than in entry `step`: \
             `v: i32[2] = param()`, not `v: f32[2] = param()`",
            "state `s` is declared otherwise in entry `eval` than in entry `step`: \
             `s: f32[3] = state()`, not `s: f32[2] = state()`",
            "`x` is an input in entry `step` and a param in entry `other`",
        ]
    );
    assert_eq!(
        over_one_interface(&[]).map_err(|e| e[0].to_string()).err(),
        Some("a program needs an entry at least".into())
    );
    let twice = over_one_interface(&[("a", &a), ("a", &a)]).map_err(|e| e[0].to_string());
    assert_eq!(twice.err(), Some("the entry name `a` is empty or used twice".into()));
}
