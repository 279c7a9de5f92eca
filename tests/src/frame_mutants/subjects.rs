//! Programs whose frames are changed: steps of all families whose numbers follow symbols and scalars.

use pumice::train::{AdamW, Recipe, Schedule, step_graphs};
use pumice_ir::ops::attention::{Attention, AttentionLayout};
use pumice_ir::ops::conv::Conv;
use pumice_ir::ops::kv_append::AppendMode;
use pumice_ir::ops::rotary::Rotary;
use pumice_ir::shape::DimSpec;
use pumice_ir::{Graph, GraphBuilder, Value, f32, i32, sym};
use pumice_types::{Bindings, DType, DimExpr, SymbolId};

/// Extents and scalars of a run.
#[derive(Clone, Debug)]
pub struct Binding {
    /// The symbols, in the order of the plan.
    pub symbols: Vec<u64>,
    /// The integer scalar that a call begins with.
    pub scalar: (&'static str, i64),
}

impl Binding {
    /// The symbols as expressions take them.
    pub fn symbols(&self) -> Bindings {
        let mut bindings = Bindings::new();
        (0..).map(SymbolId).zip(&self.symbols).for_each(|(id, &n)| bindings.bind(id, n));
        bindings
    }
}

/// A program with the bindings at which each of its mutants runs.
pub struct Subject {
    /// The program.
    pub graph: Graph,
    /// Where it runs.
    pub bindings: Vec<Binding>,
}

/// The programs.
///
/// # Panics
/// If this file is wrong.
pub fn subjects() -> [Subject; 8] {
    [rows(), decoder_step(), normed_attention(), convolution(), found_rows(), branches(), turns(), training()]
}

fn subject(g: GraphBuilder, bindings: impl IntoIterator<Item = Binding>) -> Subject {
    Subject { graph: g.build().unwrap_or_else(|e| panic!("{e}")), bindings: bindings.into_iter().collect() }
}

/// A softmax over a product and a sum of a transposed operand, over s rows; a scalar that advances, and a stop.
fn rows() -> Subject {
    const MOST: u64 = 44;
    let g = GraphBuilder::new("rows");
    let x = g.input("x", f32([sym("s", 1..=MOST), 8.into()]));
    let t = g.scalar_advancing("t", 0, 1000, 0, DimExpr::constant(2));
    let limit = g.scalar("limit", i32::<u64>([]), -1.0, 1e6, 999.0);
    let seen = g.state("seen", i32([1u64]));
    g.state_write(seen, g.reshape(t, &[1]));
    let turned = g.transpose(x, &[1, 0]);
    let square = g.matmul(x, turned);
    g.output("soft", g.softmax(square, -1));
    g.output("turned", g.add(turned, turned));
    g.output("enough", g.greater_or_equal(t, limit));
    g.stop("enough");
    subject(g, (1..=MOST).map(|s| Binding { symbols: vec![s], scalar: ("t", 0) }))
}

/// A step of training over s rows: dropout by a step that advances, clipping, an update in place.
fn training() -> Subject {
    const MOST: u64 = 11;
    let g = GraphBuilder::new("training");
    let x = g.input("x", f32([sym("s", 1..=MOST), 4.into()]));
    let h = g.relu(g.linear(x, g.param("fc1", f32([6u64, 4])), None));
    let (h, _) = g.dropout_training(h, 0.25);
    let y = g.linear(h, g.param("fc2", f32([3u64, 6])), None);
    let (loss, weight) = g.mse(y, g.input("y", f32([sym("s", 1..=MOST), 3.into()])), Default::default());
    g.output("loss", loss);
    g.output("weight", weight);
    let forward = g.build().unwrap_or_else(|e| panic!("{e}"));
    let recipe = Recipe::new(AdamW::default()).schedule(Schedule::constant(0.01)).clip_norm(1.0);
    let graph = step_graphs(&forward, &recipe).unwrap_or_else(|e| panic!("{e}")).step;
    let bindings = (1..=MOST).map(|s| Binding { symbols: vec![s], scalar: ("random_step", s as i64) });
    Subject { graph, bindings: bindings.collect() }
}

/// As many rows as a scalar says, which the run finds: a product, a softmax, views in another order, a sum.
fn found_rows() -> Subject {
    const MOST: i64 = 24;
    let g = GraphBuilder::new("found_rows");
    let (x, w) = (g.input("x", f32([MOST as u64, 8])), g.input("w", f32([8u64, 16])));
    let n = g.extent_of(g.scalar("count", i32::<u64>([]), 0.0, 1e3, 4.0), 0..=MOST as u64);
    let rows = g.narrow(x, 0, 0u64, n);
    let y = g.matmul(rows, w);
    g.output("soft", g.softmax(y, -1));
    let turned = g.transpose(y, &[1, 0]);
    g.output("turned", g.add(turned, turned));
    g.output("sum", g.reduce_sum(y, &[0], false));
    // One more than there may be is reported.
    let of = |n: i64| Binding { symbols: vec![n.min(MOST) as u64], scalar: ("count", n) };
    subject(g, (0..=MOST + 1).map(of))
}

/// Which of two branches is taken a scalar says by way of data, and in one of them stands a choice of its own.
fn branches() -> Subject {
    const MOST: u64 = 11;
    let g = GraphBuilder::new("branches");
    let (x, w) = (g.input("x", f32([sym("s", 1..=MOST), 8.into()])), g.input("w", f32([8u64, 16])));
    let count = g.cast(g.scalar("count", i32::<u64>([]), 0.0, 1e3, 4.0), DType::F32);
    let is_above = |g: &GraphBuilder, n: f64| g.greater(count, g.constant_scalar(DType::F32, n));
    let many = |g: &GraphBuilder| {
        let y = g.softmax(g.matmul(x, w), -1);
        g.if_(is_above(g, 8.0), |g| [g.add(y, y)], |_| [y])
    };
    let [y] = g.if_(is_above(&g, 4.0), many, |g| [g.neg(g.matmul(x, w))]);
    g.output("y", y);
    g.output("sum", g.reduce_sum(y, &[0], false));
    let of = |s: u64| [0, 5, 9].map(|n| Binding { symbols: vec![s], scalar: ("count", n) });
    subject(g, (1..=MOST).flat_map(of))
}

/// A loop of as many turns as there are rows, with a state that each writes, and one that ends when a number has grown.
fn turns() -> Subject {
    const MOST: u64 = 11;
    let g = GraphBuilder::new("turns");
    let x = g.input("x", f32([sym("s", 1..=MOST), 8.into()]));
    let rows = g.state("rows", f32([MOST, 8]));
    let [zero, one] = [0.0, 1.0].map(|n| g.constant_scalar(DType::I32, n));
    let start = g.reduce_sum(x, &[0], false);
    let turn = |g: &GraphBuilder, i: Value, [y, rows]: [Value; 2]| {
        let y = g.tanh(g.add(y, g.gather(x, i, 0)));
        [y, g.kv_append(rows, g.unsqueeze(y, &[0]), i, 0, AppendMode::Linear)]
    };
    let [y, rows] = g.loop_(g.dim_of(x, 0), [start, rows], turn);
    g.output("kept", g.neg(g.state_read(rows)));
    let count = g.scalar("count", i32::<u64>([]), 0.0, 1e3, 4.0);
    let [y, _] = g.while_(
        20,
        [y, zero],
        |g, [_, i]| g.less(i, count),
        |g, [y, i]| [g.sin(g.add(y, start)), g.add(i, one)],
    );
    g.output("y", y);
    // A loop that would go on is reported.
    let of = |s: u64| [0, 3, 20, 21].map(|n| Binding { symbols: vec![s], scalar: ("count", n) });
    subject(g, (1..=MOST).flat_map(of))
}

/// New tokens of a layer with a cache: rows are rotated and appended at a position that advances by their number.
fn decoder_step() -> Subject {
    const CAPACITY: u64 = 40;
    let g = GraphBuilder::new("decoder_step");
    let shape = [1.into(), sym("t", 1..=5), 2.into(), 8.into()];
    let [q, k, v] = ["q", "k", "v"].map(|name| g.input(name, f32(shape.clone())));
    let at = g.scalar_advancing("at", 0, CAPACITY as i32, 0, g.dim_of(q, 1));
    let end = g.add(at, g.extent(q, 1));
    let layout = AttentionLayout::Bshd;
    let turned = |x| g.rotary(x, at, Rotary { layout, ..Rotary::default() });
    let append = |name: &str, x| {
        let cache = g.cache(name, f32([1, CAPACITY, 2, 8]), 1);
        g.kv_append(cache, x, at, 1, AppendMode::Linear)
    };
    let (keys, values) = (append("keys", turned(k)), append("values", v));
    let op = Attention { layout, causal: true, ..Attention::default() };
    g.output("y", g.attention(turned(q), keys, values, None, Some(end), op));
    let places = [0, 7, 20, 25];
    let bindings = (1..=5).flat_map(|t| places.map(|at| Binding { symbols: vec![t], scalar: ("at", at) }));
    subject(g, bindings)
}

/// Attention between norms, over s rows of two heads, and how many keys count.
fn normed_attention() -> Subject {
    const MOST: u64 = 20;
    let g = GraphBuilder::new("normed_attention");
    let x = g.input("x", f32([sym("s", 1..=MOST), 16.into()]));
    let (gamma, beta) = (g.input("gamma", f32([16u64])), g.input("beta", f32([16u64])));
    let w = g.input("w", f32([16u64, 16]));
    let count = g.scalar("count", i32::<u64>([]), 0.0, 32.0, 4.0);
    let h = g.layer_norm(x, gamma, Some(beta), 1e-5);
    let heads = |x| g.transpose(g.reshape(x, &[1, -1, 2, 8]), &[0, 2, 1, 3]);
    let (q, k) = (heads(g.linear(h, w, None)), heads(h));
    let length = g.min(&[count, g.extent(x, 0)]);
    let y = g.attention(q, k, heads(x), None, Some(length), Attention::default());
    let back = g.reshape(g.transpose(y, &[0, 2, 1, 3]), &[-1, 16]);
    g.output("y", g.rms_norm(g.add(back, x), gamma, 1e-5));
    subject(g, (1..=MOST).map(|s| Binding { symbols: vec![s], scalar: ("count", s as i64 / 2) }))
}

/// A convolution, a pool of what it gave and a mean over its positions, of n images of any height.
fn convolution() -> Subject {
    let g = GraphBuilder::new("convolution");
    let shape: [DimSpec; 4] = [sym("n", 1..=3), 3.into(), sym("h", 3..=14), 6.into()];
    let x = g.input("x", f32(shape));
    let w = g.input("w", f32([4u64, 3, 3, 3]));
    let shift = g.scalar("shift", i32::<u64>([]), 0.0, 8.0, 1.0);
    let op = Conv { pads: vec![1; 4], strides: vec![2, 1], ..Conv::default() };
    let y = g.relu(g.conv(x, w, None, op));
    g.output("mean", g.reduce_mean(y, &[2, 3], false));
    g.output("y", g.add(y, g.cast(shift, pumice_types::DType::F32)));
    let extents = (1..=3).flat_map(|n| (3..=14).step_by(2).map(move |h| [n, h]));
    subject(g, extents.map(|all| Binding { symbols: all.into(), scalar: ("shift", 2) }))
}
