//! What entries do on the evaluator: they learn, accumulate exactly, guard, and infer.

mod rig;

use pumice_ir::ops::batch_norm_training::BatchNormTraining;
use pumice_ir::ops::softmax_cross_entropy::SoftmaxCrossEntropy;
use pumice_ir::{Form, Graph, GraphBuilder, f32, i32, sym, text, verify};
use pumice_train::{AdamW, Group, Init, OnNonfinite, Recipe, Schedule, Sgd, StepGraphs, names, step_graphs};
use rig::{Rig, Values, distance, floats, ints, number};
use std::sync::Arc;

/// Sets all trained params by PyTorch's rules.
fn begin(rig: &mut Rig, made: &StepGraphs) {
    let params: Vec<(&str, &[u64])> = made.trained.iter().map(|p| (p.name.as_str(), &p.shape[..])).collect();
    let tensors = Init::torch().tensors(&params, 42).expect("every param has a rule");
    for ((name, _), tensor) in params.iter().zip(tensors) {
        rig.set(name, Arc::new(pumice_cpu_ref::Array::from_tensor(&tensor)));
    }
}

/// Every entry keeps the rules, and is what its own text says.
fn sound(made: &StepGraphs) {
    for (name, graph) in made.entries() {
        verify(graph, Form::Source).unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
        let read = text::read(&text::print(graph)).expect("its own text");
        assert_eq!(text::print(&read), text::print(graph), "{name}");
    }
}

/// Two layers with dropout, and classes.
fn perceptron() -> Graph {
    let g = GraphBuilder::new("mlp");
    let (x, class) =
        (g.input("x", f32([sym("n", 1..=64), 6.into()])), g.input("class", i32([sym("n", 1..=64)])));
    let h = g.linear(x, g.param("fc1.weight", f32([16, 6])), Some(g.param("fc1.bias", f32([16]))));
    let (h, _) = g.dropout_training(g.relu(h), 0.1);
    let y = g.linear(h, g.param("fc2.weight", f32([3, 16])), Some(g.param("fc2.bias", f32([3]))));
    let (loss, weight) = g.softmax_cross_entropy(y, class, None, SoftmaxCrossEntropy::default());
    g.output("loss", loss);
    g.output("weight", weight);
    g.output("logits", y);
    g.build().expect("a graph")
}

/// A batch of rows whose class a line through them decides.
fn rows(seed: u64, count: u64) -> Values {
    let at = |i: u64| ((seed * 977 + i * 131) as f64 * 0.7).sin();
    let x: Vec<f64> = (0..count * 6).map(at).collect();
    let class = x.chunks(6).map(|row| if row[0] + row[1] > 0.3 { 2 } else { i64::from(row[2] > 0.0) });
    let class = ints(&[count], class.collect());
    Values::from([("x".into(), floats(&[count, 6], x)), ("class".into(), class)])
}

#[test]
fn a_perceptron_learns() {
    let recipe = Recipe::new(AdamW::default())
        .schedule(Schedule::cosine(2e-2).warmup(5).total(50))
        .group(Group::matching(["*.bias"]).weight_decay(0.0))
        .clip_norm(1.0);
    let made = step_graphs(&perceptron(), &recipe).expect("a recipe");
    sound(&made);
    let mut rig = Rig::new(true);
    begin(&mut rig, &made);
    let mut losses = Vec::new();
    for step in 0..50 {
        rig.set(
            "random_step",
            Arc::new(pumice_cpu_ref::Array::ints(pumice_types::DType::U32, &[], vec![step])),
        );
        let mut inputs = rows(step as u64 % 8, 32);
        rig.numbers(&made.numbers, &mut inputs);
        let outputs = rig.run(&made.step, &inputs);
        assert_eq!((number(&outputs, names::FLAG), number(&outputs, names::WEIGHT)), (1.0, 32.0));
        losses.push(number(&outputs, names::LOSS));
    }
    let (first, last) = (losses[..8].iter().sum::<f64>() / 8.0, losses[42..].iter().sum::<f64>() / 8.0);
    assert!(first > 0.8 && last < 0.35 * first, "{losses:?}");
    assert_eq!([rig.count(names::UPDATES), rig.count(names::GOOD), rig.count(names::SKIPS)], [50, 50, 0]);

    let inputs = rows(99, 16);
    let eval = rig.run(&made.eval, &inputs);
    assert_eq!(eval.keys().map(String::as_str).collect::<Vec<_>>(), ["logits", "loss", "weight"]);
    assert!(number(&eval, names::LOSS) < 0.6, "{}", number(&eval, names::LOSS));
    let predict = made.predict.as_ref().expect("logits");
    assert!(predict.scalars().is_empty(), "no dropout");
    let x = Values::from([("x".into(), inputs["x"].clone())]);
    assert_eq!(rig.run(predict, &x)["logits"], eval["logits"]);
}

/// A line, and a weight for the number of its rows.
fn line(penalty: bool) -> Graph {
    let g = GraphBuilder::new("line");
    let n = || sym("n", 0..=64);
    let (x, y) = (g.input("x", f32([n(), 3.into()])), g.input("y", f32([n(), 1.into()])));
    let w = g.param("weight", f32([1, 3]));
    let (loss, weight) = g.mse(g.linear(x, w, Some(g.param("bias", f32([1])))), y, Default::default());
    g.output("loss", loss);
    g.output("weight", weight);
    if penalty {
        g.output("penalty", g.reduce_sum(g.abs(w), &[], false));
    }
    g.build().expect("a graph")
}

fn points(first: u64, count: u64) -> Values {
    let of = |k: u64, i: u64| ((k * 31 + i) as f64 * 1.3).sin();
    let x = (first * 3..(first + count) * 3).map(|i| of(1, i)).collect();
    let y = (first..first + count).map(|i| of(2, i)).collect();
    Values::from([("x".into(), floats(&[count, 3], x)), ("y".into(), floats(&[count, 1], y))])
}

/// Four batches of 1, 7, 2 and 10 rows, and one without rows, whose loss is NaN, make the update of one batch of 20.
#[test]
fn accumulation_is_exact() {
    for penalty in [false, true] {
        let recipe =
            Recipe::new(AdamW::default()).schedule(Schedule::constant(0.1)).clip_norm(0.5).accumulate(5);
        let made = step_graphs(&line(penalty), &recipe).expect("a recipe");
        sound(&made);
        let (mut apart, mut whole) = (Rig::new(false), Rig::new(false));
        for rig in [&mut apart, &mut whole] {
            begin(rig, &made);
        }
        let (accumulate, update) =
            (made.accumulate.as_ref().expect("asked"), made.update.as_ref().expect("asked"));
        for round in 0..3 {
            let mut first = round * 20;
            for count in [1, 7, 0, 2, 10] {
                let outputs = apart.run(accumulate, &points(first, count));
                assert_eq!(number(&outputs, names::LOSS).is_nan(), count == 0);
                first += count;
            }
            let mut numbers = Values::new();
            apart.numbers(&made.numbers, &mut numbers);
            let of_parts = apart.run(update, &numbers);
            let mut inputs = points(round * 20, 20);
            whole.numbers(&made.numbers, &mut inputs);
            let of_whole = whole.run(&made.step, &inputs);
            for output in [names::LOSS, names::WEIGHT, names::NORM, names::FLAG] {
                assert!((number(&of_parts, output) - number(&of_whole, output)).abs() < 1e-12, "{output}");
            }
            for param in &made.trained {
                let [a, b] = [&apart, &whole].map(|rig| rig.floats(&param.name));
                assert!(distance(&a, &b) < 1e-12, "{}: {a:?} {b:?}", param.name);
            }
        }
        assert_eq!(apart.count(names::UPDATES), 3);
    }
}

/// One infinite batch of several: nothing moves, what was accumulated is gone, the next update is sound.
#[test]
fn an_infinite_batch_of_several_changes_nothing() {
    let recipe = Recipe::new(AdamW::default()).accumulate(2).on_nonfinite(OnNonfinite::Skip);
    let made = step_graphs(&line(false), &recipe).expect("a recipe");
    let (accumulate, update) =
        (made.accumulate.as_ref().expect("asked"), made.update.as_ref().expect("asked"));
    let mut rig = Rig::new(false);
    begin(&mut rig, &made);
    let mut numbers = Values::new();
    rig.numbers(&made.numbers, &mut numbers);
    rig.run(accumulate, &points(0, 4));
    rig.run(update, &numbers);
    let before = rig.kept.clone();
    rig.run(accumulate, &points(4, 4));
    let mut infinite = points(8, 4);
    infinite.insert("y".into(), floats(&[4, 1], vec![f64::INFINITY, 0.0, 0.0, 0.0]));
    rig.run(accumulate, &infinite);
    let outputs = rig.run(update, &numbers);
    assert_eq!(number(&outputs, names::FLAG), 0.0);
    assert!(!outputs.contains_key(names::STOP), "it goes on");
    for (name, value) in &before {
        if name != names::GOOD && name != names::SKIPS {
            assert_eq!(rig.kept[name], *value, "{name}");
        }
    }
    assert_eq!([rig.count(names::GOOD), rig.count(names::SKIPS), rig.count(names::UPDATES)], [0, 1, 1]);
    rig.run(accumulate, &points(4, 4));
    assert_eq!(number(&rig.run(update, &numbers), names::FLAG), 1.0);
}

/// A batch without rows is a skip and no reason to stop; NaN is one.
#[test]
fn what_stops() {
    let made = step_graphs(&line(false), &Recipe::new(Sgd::default())).expect("a recipe");
    assert!(made.step.stop().is_some());
    let mut rig = Rig::new(false);
    begin(&mut rig, &made);
    let mut nan = points(0, 2);
    nan.insert("y".into(), floats(&[2, 1], vec![f64::NAN, 1.0]));
    for (mut inputs, stops) in [(points(0, 2), 0.0), (points(0, 0), 0.0), (nan, 1.0)] {
        rig.numbers(&made.numbers, &mut inputs);
        assert_eq!(number(&rig.run(&made.step, &inputs), names::STOP), stops);
    }
    assert_eq!([rig.count(names::UPDATES), rig.count(names::SKIPS)], [1, 2]);
}

/// Batch norm: `step` moves its running statistics where the loss is finite; `eval` reads them and writes nothing.
#[test]
fn running_statistics() {
    let g = GraphBuilder::new("norm");
    let x = g.input("x", f32([4, 2, 3]));
    let [gamma, beta] = ["bn.weight", "bn.bias"].map(|name| g.param(name, f32([2])));
    let [mean, variance] = ["bn.mean", "bn.variance"].map(|name| g.state(name, f32([2])));
    let op = BatchNormTraining { momentum: 0.5, ..BatchNormTraining::default() };
    let y = g.batch_norm_training(x, gamma, beta, mean, variance, op);
    g.output("loss", g.reduce_mean(g.square(g.sub(y, x)), &[], false));
    g.output("y", y);
    g.output("penalty", g.reduce_sum(g.square(gamma), &[], false));
    let recipe = Recipe::new(Sgd::default()).accumulate(2);
    let made = step_graphs(&g.build().expect("a graph"), &recipe).expect("a recipe");
    let update = made.update.as_ref().expect("asked");
    assert!(update.inputs().len() == 2 && update.find("bn.mean").is_none(), "an update moves no statistics");
    sound(&made);
    let mut rig = Rig::new(false);
    begin(&mut rig, &made);
    let batch = |of: f64| (0..24).map(|i| of * (f64::from(i) * 0.7).cos()).collect::<Vec<_>>();
    let mut moved = Vec::new();
    for of in [1.0, 2.0, f64::NAN] {
        let mut inputs = Values::from([("x".into(), floats(&[4, 2, 3], batch(of)))]);
        rig.numbers(&made.numbers, &mut inputs);
        rig.run(&made.step, &inputs);
        moved.push(rig.floats("bn.mean"));
    }
    let channel = |values: &[f64], c: usize| {
        let of = values.chunks(6).flat_map(|row| &row[c * 3..c * 3 + 3]);
        of.sum::<f64>() / 12.0
    };
    let expected: Vec<f64> = (0..2).map(|c| 0.5 * channel(&batch(1.0), c)).collect();
    assert!(distance(&moved[0], &expected) < 1e-12);
    assert_ne!(moved[1], moved[0]);
    assert_eq!(moved[2], moved[1], "a loss that is not finite moves nothing");
    let before = rig.kept.clone();
    let inputs = Values::from([("x".into(), floats(&[4, 2, 3], batch(3.0)))]);
    let outputs = rig.run(&made.eval, &inputs);
    assert_eq!(rig.kept, before);
    let of = |name: &str| rig.floats(name)[0];
    let by_hand = (3.0 - of("bn.mean")) / (of("bn.variance") + f64::from(1e-5f32)).sqrt() * of("bn.weight")
        + of("bn.bias");
    assert!((outputs["y"].as_floats()[0] - by_hand).abs() < 1e-12);
    assert!(made.predict.is_some_and(|graph| graph.outputs()[0].name == "y"));
}

/// What is unguarded chooses nothing and says neither norm nor flag.
#[test]
fn unguarded() {
    let made = step_graphs(&line(false), &Recipe::new(Sgd::default()).unguarded()).expect("a recipe");
    let outputs: Vec<&str> = made.step.outputs().iter().map(|o| o.name.as_str()).collect();
    assert_eq!(outputs, ["loss", "weight"]);
    let text = text::print(&made.step);
    assert_eq!(text.matches("where(").count(), 1, "the row of numbers alone is chosen: {text}");
    let mut rig = Rig::new(true);
    begin(&mut rig, &made);
    let mut inputs = points(0, 8);
    rig.numbers(&made.numbers, &mut inputs);
    rig.run(&made.step, &inputs);
    assert_eq!(rig.count(names::UPDATES), 1);
}

/// Params of 16 bits are trained in f32 and rounded where they are read.
#[test]
fn params_of_16_bits_are_states_of_f32() {
    let g = GraphBuilder::new("half");
    let (x, w) = (g.input("x", pumice_ir::f16([4])), g.param("w", pumice_ir::f16([4])));
    g.output("loss", g.reduce_mean(g.square(g.sub(g.mul(w, x), x)), &[], false));
    let made = step_graphs(&g.build().expect("a graph"), &Recipe::new(Sgd::default())).expect("a recipe");
    sound(&made);
    let mut rig = Rig::new(true);
    rig.set("w", floats(&[4], vec![0.5, 0.25, 2.0, -1.0]));
    let x = pumice_cpu_ref::Array::floats(pumice_types::DType::F16, &[4], vec![1.0, 2.0, 0.5, 1.0]);
    let mut inputs = Values::from([("x".into(), Arc::new(x))]);
    rig.numbers(&made.numbers, &mut inputs);
    let outputs = rig.run(&made.step, &inputs);
    assert_eq!(number(&outputs, names::FLAG), 1.0);
    assert_eq!(rig.kept["w"].dtype, pumice_types::DType::F32);
    assert_ne!(rig.floats("w")[0], 0.5);
}

/// A statistic that is written twice in a run moves as far as both writes say, or not at all.
#[test]
fn a_state_that_is_written_twice() {
    let g = GraphBuilder::new("twice");
    let (x, w) = (g.input("x", f32([2])), g.param("weight", f32([2, 1])));
    g.output("loss", g.reduce_mean(g.mul(x, g.reshape(w, &[2])), &[], false));
    let count = g.state("count", f32([2]));
    let next = g.state_write(count, g.add(g.state_read(count), x));
    g.state_write(next, g.add(g.state_read(next), x));
    let made = step_graphs(&g.build().expect("a graph"), &Recipe::new(Sgd::default())).expect("a recipe");
    sound(&made);
    let mut rig = Rig::new(false);
    begin(&mut rig, &made);
    for (x, expected) in [(1.0, [2.0, 2.0]), (f64::INFINITY, [2.0, 2.0]), (3.0, [8.0, 8.0])] {
        let mut inputs = Values::from([("x".into(), floats(&[2], vec![x; 2]))]);
        rig.numbers(&made.numbers, &mut inputs);
        rig.run(&made.step, &inputs);
        assert_eq!(rig.floats("count"), expected);
    }
}
