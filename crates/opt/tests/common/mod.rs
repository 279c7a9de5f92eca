//! What the tests of the passes share: finding a pass, and comparing two graphs by their values.

#![allow(dead_code)]

use pumice_cpu_ref::array::Data;
use pumice_cpu_ref::{Array, EvalOptions, Evaluation, RefEval, sample};
use pumice_ir::{Form, Graph, NodeId, Op, Sample, ValueId, verify};
use pumice_opt::rewrite::Facts;
use pumice_opt::rewrite::fuse::operands;
use pumice_opt::{
    Anchor, CostModel, Group, OptOptions, PASSES, Pass, PassCx, Room, Side, optimize, run_pass, unfused,
};
use pumice_types::{
    AttentionExtents, Precision, ProductExtents, ReductionExtents, RowExtents, Target, slots,
};
use std::collections::BTreeMap;

/// The same numbers of parts whatever the extents: of a product, the largest allowed up to `products`.
#[derive(Clone, Copy, Debug)]
pub struct FixedParts {
    pub products: u64,
    pub reductions: u64,
    /// Into how many parts reductions must be cut; above 1, no kernel takes a row in one step either.
    pub least: u64,
}

impl CostModel for FixedParts {
    fn product_parts(&self, _: &ProductExtents, parts: &[u64], _: bool) -> u64 {
        parts.iter().copied().filter(|p| *p <= self.products).max().unwrap_or(1)
    }

    fn reduction_parts(&self, _: &ReductionExtents) -> u64 {
        self.reductions
    }

    fn varying_reduction_parts(&self, _: &ReductionExtents) -> u64 {
        self.reductions
    }

    fn least_reduction_parts(&self, _: &ReductionExtents) -> u64 {
        self.least
    }

    fn reduces_apart(&self, _: u64, _: u64) -> bool {
        self.reductions > 1
    }

    fn attention_parts(&self, _: &AttentionExtents) -> u64 {
        self.products
    }

    fn by_keys_for_each_head(&self, _: &AttentionExtents) -> bool {
        self.products > 1
    }

    fn row_in_one(&self, _: &RowExtents) -> bool {
        self.least == 1
    }

    fn rows_apart(&self, row: &RowExtents) -> bool {
        self.reductions > 1 && row.inner == 1
    }

    fn anchor(&self, graph: &Graph, id: NodeId) -> Option<Anchor> {
        match graph.node(id).op {
            Op::MatMul(_) => Some(Anchor { kind: "matmul", side: Side::After }),
            Op::LayerNorm(_) | Op::RmsNorm(_) => Some(Anchor { kind: "norm", side: Side::Before }),
            _ => None,
        }
    }

    fn takes(&self, group: &Group<'_>, id: NodeId) -> bool {
        let (graph, node) = (group.graph, group.graph.node(id));
        let anchor = graph.node(group.anchor);
        let Some(&result) = node.outputs.first() else { return false };
        if matches!(anchor.op, Op::MatMul(_)) {
            let product = graph.ty(anchor.output());
            let (shape, dtype) = (&graph.ty(result).shape, graph.ty(result).dtype());
            return product.rank() >= 2
                && node.op.is_elementwise()
                && *shape == product.shape
                && dtype.is_float();
        }
        let read_elsewhere = |v: ValueId| {
            group.facts.is_output(v) || !group.facts.users(v).iter().all(|n| group.nodes.contains(n))
        };
        let first = anchor.input(0) == Some(result);
        is_sum(graph, id, anchor.input(0)) && (first || !read_elsewhere(result))
    }

    fn accepts(&self, group: &Group<'_>) -> bool {
        let read = operands(group.graph, group.nodes).len();
        let product = matches!(group.graph.node(group.anchor).op, Op::MatMul(_));
        read <= if product { 2 + slots::PRODUCT } else { slots::NORM }
    }

    fn addends(&self, graph: &Graph, facts: &Facts, v: ValueId) -> Option<usize> {
        let (mut at, mut others) = (v, 0);
        let loads = |user: &NodeId, at| {
            graph.node(*user).input(0) == Some(at)
                && matches!(self.anchor(graph, *user), Some(Anchor { side: Side::Before, .. }))
        };
        while !facts.users(at).iter().any(|user| loads(user, at)) {
            let user = facts.only_user(at).filter(|&user| is_sum(graph, user, Some(v)))?;
            others += 1;
            at = graph.node(user).output();
        }
        (slots::NORM + 1).checked_sub(others + usize::from(facts.only_user(at).is_none()))
    }
}

/// Whether a node adds, to values of the type of `sum`, others of its type or a row for all.
fn is_sum(graph: &Graph, id: NodeId, sum: Option<ValueId>) -> bool {
    let (Some(sum), node) = (sum.map(|v| graph.ty(v)), graph.node(id)) else { return false };
    let walks = |v: ValueId| {
        let shape = &graph.ty(v).shape;
        *shape == sum.shape || shape.len() == 1 && shape.last() == sum.shape.last()
    };
    matches!(node.op, Op::Add(_)) && graph.ty(node.output()) == sum && node.operands().all(walks)
}

/// Nothing is cut, and products take nodes in.
pub const WHOLE: FixedParts = FixedParts { products: 1, reductions: 1, least: 1 };

/// The graph after the passes of these names, in that order, verified.
pub fn after(graph: &Graph, names: &[&str]) -> Graph {
    after_asking(graph, names, &WHOLE)
}

/// As [`after`], asking `cost_model`.
pub fn after_asking(graph: &Graph, names: &[&str], cost_model: &dyn CostModel) -> Graph {
    names.iter().fold(graph.clone(), |g, name| after_one(&g, name, cost_model, None))
}

/// The graph after a pass, in so many bytes if they are few, every node taking as long as another.
pub fn after_one(graph: &Graph, name: &str, cost_model: &dyn CostModel, bytes: Option<u64>) -> Graph {
    after_pass(graph, passes(name).next(), cost_model, bytes)
}

/// As [`after_one`], the pass being the last of its name.
pub fn after_last(graph: &Graph, name: &str, cost_model: &dyn CostModel, bytes: Option<u64>) -> Graph {
    after_pass(graph, passes(name).last(), cost_model, bytes)
}

fn after_pass(
    graph: &Graph,
    pass: Option<&'static Pass>,
    cost_model: &dyn CostModel,
    bytes: Option<u64>,
) -> Graph {
    let pass = pass.expect("a pass of that name");
    let names = graph.nodes().map(|(id, _)| graph.node_name(id).to_owned());
    let times: BTreeMap<String, f64> = names.map(|name| (name, 1.0)).collect();
    let (target, room) = (Target::lavapipe(), bytes.map(|bytes| Room { bytes, times: &times }));
    let cx = PassCx {
        target: &target,
        precision: Precision::Exact,
        fold: &RefEval,
        cost_model,
        range: None,
        room: room.as_ref(),
    };
    run_pass(graph.clone(), pass, &cx).unwrap_or_else(|e| panic!("{e}"))
}

fn passes(name: &str) -> impl Iterator<Item = &'static Pass> {
    PASSES.iter().filter(move |p| p.name == name)
}

/// The graph after all passes but those of `options`.
pub fn optimized(graph: &Graph, options: &OptOptions) -> Graph {
    let cx = PassCx {
        target: &Target::lavapipe(),
        precision: Precision::Exact,
        fold: &RefEval,
        cost_model: &WHOLE,
        range: None,
        room: None,
    };
    optimize(graph, options, &cx).unwrap_or_else(|e| panic!("{e}"))
}

/// The graph without its fusions, verified.
pub fn without_fusions(graph: &Graph) -> Graph {
    let graph = unfused(graph).unwrap_or_else(|e| panic!("{e}"));
    verify(&graph, Form::Source).unwrap_or_else(|e| panic!("unfused: {e:?}"));
    graph
}

/// A sample of a graph with fills as they come.
pub fn sample_of(graph: &Graph) -> Sample {
    let mut sample = Sample::graph("graph", |_| {});
    sample.graph = Ok(graph.clone());
    sample
}

/// Every output and state of every run.
pub fn values(sample: &Sample, graph: &Graph) -> Vec<Evaluation> {
    sample::evaluate(sample, graph, EvalOptions::default())
        .unwrap_or_else(|e| panic!("{}: {e}", sample.label))
}

/// Panics unless both graphs give the same bits, all NaNs being one.
pub fn assert_same(sample: &Sample, before: &Graph, after: &Graph, what: &str) {
    assert_close(sample, before, after, 0.0, what);
}

/// Panics unless both graphs give the same within a share of the value (or of 1, if that is more): one composite op
/// rounds once, the ops that define it round each.
pub fn assert_close(sample: &Sample, before: &Graph, after: &Graph, tolerance: f64, what: &str) {
    let same = |x: &Array, y: &Array| same(x, y, tolerance);
    let difference = |x: &Array, y: &Array| difference(x, y, tolerance);
    let (a, b) = (values(sample, before), values(sample, after));
    for (run, (a, b)) in a.iter().zip(&b).enumerate() {
        for (i, (x, y)) in a.outputs.iter().zip(&b.outputs).enumerate() {
            let name = &before.outputs()[i].name;
            assert!(
                same(x, y),
                "{what}: {}: output {name} of run {run} differs: {}",
                sample.label,
                difference(x, y)
            );
        }
        for (i, (x, y)) in a.states.iter().zip(&b.states).enumerate() {
            assert!(
                same(x, y),
                "{what}: {}: state {i} of run {run} differs: {}",
                sample.label,
                difference(x, y)
            );
        }
    }
}

fn same(a: &Array, b: &Array, tolerance: f64) -> bool {
    let data = match (&a.data, &b.data) {
        (Data::Float(x), Data::Float(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same_float(*x, *y, tolerance))
        }
        (x, y) => x == y,
    };
    a.dtype == b.dtype && a.shape == b.shape && data
}

fn same_float(x: f64, y: f64, tolerance: f64) -> bool {
    let close = tolerance > 0.0 && (x - y).abs() <= tolerance * x.abs().max(1.0);
    x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan() || close
}

fn difference(a: &Array, b: &Array, tolerance: f64) -> String {
    match (&a.data, &b.data) {
        (Data::Float(x), Data::Float(y)) => {
            let at = x.iter().zip(y).position(|(x, y)| !same_float(*x, *y, tolerance));
            at.map_or_else(
                || format!("{}{:?} and {}{:?}", a.dtype, a.shape, b.dtype, b.shape),
                |i| format!("element {i} is {} and {}", x[i], y[i]),
            )
        }
        _ => format!("{}{:?} and {}{:?}", a.dtype, a.shape, b.dtype, b.shape),
    }
}
