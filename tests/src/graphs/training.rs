//! Programs that train, small enough to be mutated by the thousand: every optimizer, clips, groups, penalties, dropout,
//! batch norm, accumulation, scaled losses, symbols.
//!
//! In: nothing. Out: the entries of each program, and its step alone as a sample. Never here: what is done with them.

use crate::op_suite::Case;
use pumice::Precision;
use pumice::ops::{BatchNormTraining, Conv};
use pumice::train::{
    Adagrad, Adam, AdamW, Group, Lion, Optimizer, Recipe, RmsProp, Schedule, Sgd, StepGraphs, names,
    step_graphs,
};
use pumice_ir::shape::DimSpec;
use pumice_ir::{Fill, Graph, GraphBuilder, Sample, Value, f32, i32, sym};

/// A program that trains.
pub struct Training {
    /// What is special about it.
    pub name: &'static str,
    /// Its entries.
    pub graphs: StepGraphs,
    /// In which products are computed.
    pub precision: Precision,
}

/// What is trained.
#[derive(Clone, Copy)]
enum Model {
    /// 4-6-3 over three rows, or over up to 4.
    Perceptron { symbolic: bool, dropout: bool, penalty: bool },
    /// A convolution with batch norm over two images.
    Convolution,
    /// A table whose rows are embedded and, transposed, give logits.
    Tied,
}

const PLAIN: Model = Model::Perceptron { symbolic: false, dropout: false, penalty: false };
const SYMBOLIC: Model = Model::Perceptron { symbolic: true, dropout: false, penalty: false };
const DROPPING: Model = Model::Perceptron { symbolic: false, dropout: true, penalty: false };
const PENALIZED: Model = Model::Perceptron { symbolic: false, dropout: false, penalty: true };

/// The 30 programs.
///
/// # Panics
/// If this file is wrong.
pub fn trainings() -> Vec<Training> {
    let adam = || AdamW { weight_decay: 0.01, ..AdamW::default() };
    let momentum = || Sgd { momentum: 0.9, ..Sgd::default() };
    let (exact, half) = (Precision::Exact, Precision::F16);
    let no_decay = || Group::matching(["*.bias"]).weight_decay(0.0).rate(2.0);
    vec![
        made("sgd", PLAIN, with(Sgd::default()), exact),
        made("momentum", PLAIN, with(momentum()), exact),
        made("dampened", PLAIN, with(Sgd { dampening: 0.5, weight_decay: 0.1, ..momentum() }), exact),
        made("nesterov", PLAIN, with(Sgd { nesterov: true, ..momentum() }), exact),
        made("adam", PLAIN, with(Adam { weight_decay: 0.1, ..Adam::default() }), exact),
        made("adamw", PLAIN, with(adam()), exact),
        made("adagrad", PLAIN, with(Adagrad::default()), exact),
        made("rms_prop", PLAIN, with(RmsProp::default()), exact),
        made("centred", PLAIN, with(RmsProp { centred: true, momentum: 0.8, ..RmsProp::default() }), exact),
        made("lion", PLAIN, with(Lion::default()), exact),
        made("clipped", PLAIN, with(adam()).clip_norm(1.0), exact),
        made("groups", PLAIN, with(adam()).group(no_decay()).clip_norm(1.0), exact),
        made("frozen", PLAIN, with(momentum()).group(Group::matching(["fc1.*"]).frozen()), exact),
        made("unguarded sgd", PLAIN, with(Sgd::default()).unguarded(), exact),
        made("unguarded adam", PLAIN, with(Adam::default()).unguarded(), exact),
        made("penalty", PENALIZED, with(adam()), exact),
        made("accumulated penalty", PENALIZED, with(momentum()).accumulate(2), exact),
        made("symbolic", SYMBOLIC, with(adam()).clip_norm(1.0), exact),
        made("accumulated symbolic", SYMBOLIC, with(Lion::default()).accumulate(3), exact),
        made("accumulated sgd", PLAIN, with(Sgd::default()).accumulate(2), exact),
        made("accumulated adamw", PLAIN, with(adam()).accumulate(4).clip_norm(1.0), exact),
        made("dropout", DROPPING, with(adam()), exact),
        made("accumulated dropout", DROPPING, with(momentum()).accumulate(2), exact),
        made("batch norm", Model::Convolution, with(momentum()), exact),
        made("accumulated batch norm", Model::Convolution, with(adam()).accumulate(2), exact),
        made("tied", Model::Tied, with(adam()).clip_norm(1.0), exact),
        made("accumulated tied", Model::Tied, with(Adagrad::default()).accumulate(2), exact),
        made("scaled", PLAIN, with(adam()).loss_scale(), half),
        made("scaled dropout", DROPPING, with(momentum()).loss_scale().accumulate(2), half),
        made("bf16", PLAIN, with(adam()).clip_norm(1.0), Precision::Bf16),
    ]
}

/// Runs of each program as cases of a suite.
pub fn training_cases() -> Vec<Case> {
    let case = |t: &Training| Case::new("training", t.sample()).in_precision(t.precision);
    trainings().iter().map(case).collect()
}

fn with(optimizer: impl Optimizer + 'static) -> Recipe {
    Recipe::new(optimizer).schedule(Schedule::constant(0.05))
}

fn made(name: &'static str, model: Model, recipe: Recipe, precision: Precision) -> Training {
    let graphs = step_graphs(&model.graph(name), &recipe).unwrap_or_else(|e| panic!("{name}: {e}"));
    Training { name, graphs, precision }
}

impl Training {
    /// One run of its step, or of its last accumulation, as a sample: weights between -1 and 1, classes below 3.
    pub fn sample(&self) -> Sample {
        let graph = self.graphs.accumulate.as_ref().unwrap_or(&self.graphs.step).clone();
        let mut sample = Sample::graph(self.name, |_| {});
        sample.graph = Ok(graph);
        let moments = self.graphs.trained.iter().map(|t| (t.name.clone(), Fill::Uniform(-1.0, 1.0)));
        sample.fills = moments.collect();
        sample
            .fill("class", Fill::Range(0, 3))
            .fill(names::BASE, Fill::Constant(0.0))
            .fill(names::NUMBERS, Fill::Uniform(0.01, 0.02))
            .bind("batch", 3)
            .runs(2)
    }
}

impl Model {
    fn graph(self, name: &str) -> Graph {
        let g = GraphBuilder::new(name);
        let logits = match self {
            Model::Perceptron { symbolic, dropout, penalty } => {
                let rows = || -> DimSpec { if symbolic { sym("batch", 1..=4) } else { 3u64.into() } };
                perceptron(&g, &rows, dropout, penalty)
            }
            Model::Convolution => convolution(&g),
            Model::Tied => tied(&g),
        };
        let (logits, class) = logits;
        let (loss, weight) = g.softmax_cross_entropy(logits, class, None, Default::default());
        g.output("loss", loss);
        g.output("weight", weight);
        g.output("logits", logits);
        g.build().unwrap_or_else(|e| panic!("{name}: {e}"))
    }
}

fn linear(g: &GraphBuilder, name: &str, x: Value, out: u64, of: u64) -> Value {
    let (w, b) =
        (g.param(&format!("{name}.weight"), f32([out, of])), g.param(&format!("{name}.bias"), f32([out])));
    g.linear(x, w, Some(b))
}

fn perceptron(g: &GraphBuilder, rows: &dyn Fn() -> DimSpec, dropout: bool, penalty: bool) -> (Value, Value) {
    let (x, class) = (g.input("x", f32([rows(), 4u64.into()])), g.input("class", i32([rows()])));
    let h = g.relu(linear(g, "fc1", x, 6, 4));
    let h = if dropout { g.dropout_training(h, 0.25).0 } else { h };
    let y = linear(g, "fc2", h, 3, 6);
    if penalty {
        let w = g.find("fc2.weight").unwrap_or(y);
        g.output(names::PENALTY, g.reduce_sum(g.square(w), &[], false));
    }
    (y, class)
}

fn convolution(g: &GraphBuilder) -> (Value, Value) {
    let (x, class) = (g.input("x", f32([2, 1, 4, 4])), g.input("class", i32([2u64])));
    let op = Conv { pads: vec![1; 4], ..Conv::default() };
    let y = g.conv(x, g.param("conv.weight", f32([2, 1, 3, 3])), None, op);
    let [scale, shift] = ["norm.weight", "norm.bias"].map(|name| g.param(name, f32([2u64])));
    let [mean, var] = ["norm.mean", "norm.var"].map(|name| g.state(name, f32([2u64])));
    let y = g.relu(g.batch_norm_training(y, scale, shift, mean, var, BatchNormTraining::default()));
    (linear(g, "fc", g.reshape(y, &[-1, 32]), 3, 32), class)
}

fn tied(g: &GraphBuilder) -> (Value, Value) {
    let (ids, class) = (g.input("ids", i32([4u64])), g.input("class", i32([4u64])));
    let table = g.param("table", f32([5, 4]));
    let x = g.rms_norm(g.embedding(table, ids), g.param("norm", f32([4u64])), 1e-5);
    (g.linear(x, table, None), class)
}
