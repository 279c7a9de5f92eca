//! Gradients of small networks through compiler and kernels: close to the evaluator's, each by its size as a whole.

use pumice_cpu_ref::{Array, EvalOptions, sample as data};
use pumice_ir::ops::{Attention, BatchNormTraining, Conv, MaxPool};
use pumice_ir::{Fill, GraphBuilder, Sample, Value, f32, i32, sym};
use pumice_tests::op_suite::{Case, Runner};
use pumice_types::{DType, Tensor};
use std::sync::Arc;

/// Gradients by params become outputs beside the loss.
fn finish(g: &GraphBuilder, loss: Value, params: &[(&str, Value)]) {
    g.output("loss", loss);
    let values: Vec<Value> = params.iter().map(|(_, v)| *v).collect();
    for ((name, _), gradient) in params.iter().zip(g.grad(loss, &values)) {
        g.output(&format!("d{name}"), gradient);
    }
}

fn perceptron(rows: u64) -> Sample {
    let sample = Sample::graph(&format!("a perceptron of {rows} rows"), |g| {
        let n = || sym("n", 1..=33);
        let (x, class) = (g.input("x", f32([n(), 12.into()])), g.input("class", i32([n()])));
        let (w, b) = (g.param("w", f32([16, 12])), g.param("b", f32([16])));
        let v = g.param("v", f32([10, 16]));
        let h = g.gelu(g.linear(x, w, Some(b)));
        let (loss, _) = g.softmax_cross_entropy(g.linear(h, v, None), class, None, Default::default());
        finish(g, loss, &[("w", w), ("b", b), ("v", v)]);
    });
    sample.fill("class", Fill::Range(0, 10)).bind("n", rows)
}

fn convolutions() -> Sample {
    Sample::graph("convolution, batch norm, pooling", |g| {
        let (x, w) = (g.input("x", f32([3, 2, 8, 8])), g.param("w", f32([4, 2, 3, 3])));
        let [scale, shift] = ["scale", "shift"].map(|name| g.param(name, f32([4])));
        let y = g.conv(x, w, None, Conv { pads: vec![1; 4], ..Conv::default() });
        let [mean, var] = ["mean", "var"].map(|name| g.state(name, f32([4])));
        let y = g.batch_norm_training(y, scale, shift, mean, var, BatchNormTraining::default());
        let pool = MaxPool { kernel: vec![2, 2], strides: vec![2, 2], ..MaxPool::default() };
        let y = g.max_pool(g.relu(y), pool);
        let loss = g.reduce_mean(g.square(y), &[], false);
        finish(g, loss, &[("w", w), ("scale", scale), ("shift", shift)]);
    })
}

fn block() -> Sample {
    let sample = Sample::graph("embedding, norm, attention by products, residual", |g| {
        let (ids, table) = (g.input("ids", i32([6])), g.param("table", f32([11, 8])));
        let (scale, w) = (g.param("scale", f32([8])), g.param("w", f32([8, 8])));
        let x = g.embedding(table, ids);
        let h = g.rms_norm(x, scale, 1e-5);
        let scores = g.softmax(g.matmul(h, g.transpose(h, &[1, 0])), -1);
        let y = g.add(x, g.matmul(g.matmul(scores, h), w));
        let logits = g.matmul(y, g.transpose(table, &[1, 0]));
        let loss = g.neg(g.reduce_mean(g.log_softmax(logits, -1), &[], false));
        finish(g, loss, &[("table", table), ("scale", scale), ("w", w)]);
    });
    sample.fill("ids", Fill::Range(0, 11))
}

/// A loss of a gradient.
fn forces() -> Sample {
    Sample::graph("forces of an energy, and a loss of them", |g| {
        let (position, w) = (g.input("position", f32([5, 3])), g.param("w", f32([3, 7])));
        let energy = g.reduce_sum(g.tanh(g.matmul(position, w)), &[], false);
        let force = g.neg(g.grad(energy, &[position])[0]);
        let missed = g.sub(force, g.input("measured", f32([5, 3])));
        finish(g, g.reduce_mean(g.square(missed), &[], false), &[("w", w)]);
    })
}

/// Attention that drops probabilities, its table tied to the product after it: another mask in the gradient would be
/// another gradient.
fn attending() -> Sample {
    let sample = Sample::graph("attention that drops probabilities", |g| {
        let (ids, table) = (g.input("ids", i32([2, 9])), g.param("table", f32([40, 24])));
        let [wq, wk, wv] = ["wq", "wk", "wv"].map(|name| g.param(name, f32([24, 24])));
        let x = g.embedding(table, ids);
        let heads = |w| g.transpose(g.reshape(g.linear(x, w, None), &[2, 9, 3, 8]), &[0, 2, 1, 3]);
        let op = Attention { causal: true, dropout: 0.3, ..Attention::default() };
        let y = g.attention(heads(wq), heads(wk), heads(wv), None, None, op);
        let y = g.reshape(g.transpose(y, &[0, 2, 1, 3]), &[2, 9, 24]);
        let loss = g.reduce_mean(g.square(g.linear(y, table, None)), &[], false);
        finish(g, loss, &[("table", table), ("wq", wq), ("wk", wk), ("wv", wv)]);
    });
    // Large scores are no closer than their exponents are.
    let small = |sample: Sample, name: &&str| sample.fill(name, Fill::Uniform(-0.3, 0.3));
    ["wq", "wk", "wv"].iter().fold(sample, small).fill("ids", Fill::Range(0, 40)).scalar("seed_high", 5.0)
}

/// Of the size of a gradient as a whole: its parts may cancel to any size.
const CLOSE: f64 = 1e-5;

/// How far the outputs of a sample are from the evaluator's, each by its size.
fn distances(runner: &Runner, case: &Case) -> Vec<(String, f64)> {
    let graph = case.sample.graph.as_ref().unwrap_or_else(|e| panic!("{}: {e}", case.name()));
    let wanted = data::evaluate(&case.sample, graph, EvalOptions::default()).expect("has values");
    let plan = runner.plan(graph).unwrap_or_else(|e| panic!("{}: {e}", case.name()));
    let found = runner.outputs(case, plan).unwrap_or_else(|e| panic!("{}: {e}", case.name()));
    let distance = |(found, wanted): (&Tensor, &Arc<Array>)| {
        let (found, wanted) = (Array::from_tensor(found).to_f64(), wanted.to_f64());
        assert_eq!(found.len(), wanted.len());
        let size = |v: &mut dyn Iterator<Item = f64>| v.map(|x| x * x).sum::<f64>().sqrt();
        size(&mut found.iter().zip(&wanted).map(|(a, b)| a - b)) / size(&mut wanted.iter().copied())
    };
    let names = graph.outputs().iter().map(|o| o.name.clone());
    names.zip(found.iter().zip(&wanted[0].outputs).map(distance)).collect()
}

fn all_close(runner: &Runner) {
    let samples = [perceptron(1), perceptron(33), convolutions(), block(), forces(), attending()];
    for sample in samples {
        let case = Case::new("gradients", sample);
        let distances = distances(runner, &case);
        println!("{}: {distances:?}", case.name());
        // Not a number is not close.
        assert!(distances.iter().all(|(_, d)| *d <= CLOSE), "{}: {distances:?}", case.name());
    }
}

/// Two layers with dropout after each, and one whose gradient shows its mask: beside y = dropout(x) the gradient of
/// Σ y·x by y's operand, which is dropout(x) again.
fn dropping() -> Sample {
    let sample = Sample::graph("dropout", |g| {
        let (x, class) = (g.input("x", f32([32, 12])), g.input("class", i32([32])));
        let (w, v) = (g.param("w", f32([16, 12])), g.param("v", f32([10, 16])));
        let seen = g.mul(x, g.constant_scalar(DType::F32, 1.0));
        let (y, mask) = g.named("shown").dropout_training(seen, 0.25);
        let h = g.relu(g.linear(y, w, None));
        let (h, _) = g.named("hidden").dropout_training(h, 0.5);
        let (loss, _) = g.softmax_cross_entropy(g.linear(h, v, None), class, None, Default::default());
        let shown = g.reduce_sum(g.mul(y, g.stop_gradient(x)), &[], false);
        g.output("y", y);
        g.output("mask", mask);
        g.output("again", g.grad(shown, &[seen])[0]);
        finish(g, loss, &[("w", w), ("v", v)]);
    });
    sample.fill("class", Fill::Range(0, 10)).scalar("seed_low", 77.0).runs(2)
}

/// The repeated draw is the first one to the bit, in every run.
fn masks_repeat(runner: &Runner) {
    let case = Case::new("gradients", dropping());
    let graph = case.sample.graph.as_ref().unwrap_or_else(|e| panic!("{e}"));
    let wanted = data::evaluate(&case.sample, graph, EvalOptions::default()).expect("has values");
    let of = |name: &str| graph.outputs().iter().position(|o| &*o.name == name).expect("an output");
    let [y, again, mask] = ["y", "again", "mask"].map(of);
    let plan = runner.plan(graph).unwrap_or_else(|e| panic!("{e}"));
    let found = runner.outputs(&case, plan).unwrap_or_else(|e| panic!("{e}"));
    for (wanted, found) in wanted.iter().zip(found.chunks(graph.outputs().len())) {
        assert_eq!(wanted.outputs[y].to_f64(), wanted.outputs[again].to_f64());
        assert_eq!(found[y].bytes(), found[again].bytes());
        let drawn = Array::from_tensor(&found[mask]).to_f64();
        assert_eq!(drawn, wanted.outputs[mask].to_f64());
        assert!(drawn.contains(&0.0) && drawn.contains(&1.0));
    }
}

#[test]
fn no_mask_is_kept() {
    let sample = Sample::graph("a perceptron with dropout", |g| {
        let (x, class) = (g.input("x", f32([32, 12])), g.input("class", i32([32])));
        let params = ["a", "b", "c"].map(|name| g.param(name, f32([12, 12])));
        let h = params[..2]
            .iter()
            .fold(x, |h, w| g.named("drop").dropout_training(g.relu(g.linear(h, *w, None)), 0.5).0);
        let y = g.linear(h, params[2], None);
        let (loss, _) = g.softmax_cross_entropy(y, class, None, Default::default());
        finish(g, loss, &[("a", params[0]), ("b", params[1]), ("c", params[2])]);
    });
    draws_end_before_the_loss(&sample, 4);
}

/// Of an attention, one draw for its result and two for its gradient, by probabilities and by what they are for.
#[test]
fn no_mask_of_an_attention_is_kept() {
    let sample = Sample::graph("an attention with dropout", |g| {
        let (x, class) = (g.input("x", f32([1, 2, 16, 12])), g.input("class", i32([16])));
        let w = g.param("w", f32([12, 12]));
        let op = Attention { dropout: 0.5, ..Attention::default() };
        let h = g.matmul(x, w);
        let y = g.reshape(g.attention(h, h, h, None, None, op), &[16, 24]);
        let (loss, _) = g.softmax_cross_entropy(y, class, None, Default::default());
        finish(g, loss, &[("w", w)]);
    });
    draws_end_before_the_loss(&sample, 3);
}

/// No draw and no mask is alive between forward and backward; so many are drawn.
fn draws_end_before_the_loss(sample: &Sample, expected: usize) {
    let graph = sample.graph.as_ref().unwrap_or_else(|e| panic!("{e}"));
    let plan = Runner::interpreter(1 << 18).plan(graph).unwrap_or_else(|e| panic!("{e}"));
    let program = &plan.runs[0].program;
    let draws = program.steps.iter().filter(|s| s.meaning.graph.text.contains("random_numbers")).count();
    assert_eq!(draws, expected);
    let of_draws: Vec<_> =
        program.values.iter().filter(|v| v.name.contains(".numbers") || v.name.contains(".mask")).collect();
    let of_loss = |level: &pumice_plan::Level| {
        let steps = &program.steps[level.steps.start as usize..level.steps.end as usize];
        steps.iter().any(|step| step.meaning.graph.text.contains("log_softmax"))
    };
    let loss = program.levels.iter().position(of_loss).expect("a loss") as u32;
    assert!(of_draws.len() >= expected, "{}", of_draws.len());
    for value in of_draws {
        let (first, last) = value.live.expect("a value of the run");
        assert!(last < loss || first > loss, "{}: {first} to {last}, the loss {loss}", value.name);
    }
}

/// The node of the forward pass gives the gradient by the scores: nothing of their size lives from before the loss
/// until after it, and one value does that was not given.
#[test]
fn one_softmax_is_kept() {
    let sample = Sample::graph("a classifier", |g| {
        let (x, class) = (g.input("x", f32([40, 12])), g.input("class", i32([40])));
        let w = g.param("w", f32([100, 12]));
        let (loss, _) = g.softmax_cross_entropy(g.linear(x, w, None), class, None, Default::default());
        finish(g, loss, &[("w", w)]);
    });
    let graph = sample.graph.as_ref().unwrap_or_else(|e| panic!("{e}"));
    let losses = graph.nodes().filter(|(_, node)| node.op.name() == "softmax_cross_entropy");
    assert_eq!(losses.map(|(_, node)| node.outputs.len()).collect::<Vec<_>>(), [3], "the same node");
    let plan = Runner::interpreter(1 << 18).plan(graph).unwrap_or_else(|e| panic!("{e}"));
    let values = &plan.runs[0].program.values;
    let of_scores = values.iter().filter(|v| v.live.is_some() && v.shape.len() == 2 && v.shape[1].is(100));
    let names: Vec<_> = of_scores.filter(|v| v.shape[0].is(40)).map(|v| (&v.name, v.live)).collect();
    assert!(names.len() <= 3, "scores, logarithms, gradient: {names:?}");
}

mod on_interpreter {
    #[test]
    fn small_networks() {
        super::all_close(&super::Runner::interpreter(1 << 18));
    }

    #[test]
    fn masks_are_drawn_again() {
        super::masks_repeat(&super::Runner::interpreter(1 << 18));
    }
}

mod on_device {
    #[test]
    fn small_networks() {
        let device = pumice_tests::device::open(&pumice_vulkan::DeviceOptions::default());
        super::all_close(&super::Runner::new(device, 1 << 22));
    }

    #[test]
    fn masks_are_drawn_again() {
        let device = pumice_tests::device::open(&pumice_vulkan::DeviceOptions::default());
        super::masks_repeat(&super::Runner::new(device, 1 << 22));
    }
}
