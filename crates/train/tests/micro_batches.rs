//! Entries of micro-batches on the evaluator: a batch that is cut makes the update of the whole batch.

mod rig;

use pumice_cpu_ref::Array;
use pumice_ir::{Form, Graph, GraphBuilder, f32, i32, sym, text, verify};
use pumice_train::{
    AdamW, Init, MicroBatches, Recipe, Schedule, StepGraphs, micro_batch_graphs, micro_batch_sizes, names,
    step_graphs,
};
use rig::{Rig, Values, distance, floats, ints, number};
use std::sync::Arc;

/// Classes of rows, of which some have none: `weight` is the number of those that have. Or a plain mean without one.
fn classifier(weighed: bool) -> Graph {
    let g = GraphBuilder::new("classes");
    let n = || sym("batch", 1..=64);
    let (x, rates) = (g.input("x", f32([n(), 5.into()])), g.input("rates", f32([5])));
    let w = g.param("fc.weight", f32([3, 5]));
    let y = g.linear(g.mul(x, rates), w, Some(g.param("fc.bias", f32([3]))));
    if weighed {
        let class = g.input("class", i32([n()]));
        let op = pumice_ir::ops::SoftmaxCrossEntropy { ignore_index: Some(-100), ..Default::default() };
        let (loss, weight) = g.softmax_cross_entropy(y, class, None, op);
        g.output("loss", loss);
        g.output("weight", weight);
    } else {
        g.output("loss", g.reduce_mean(g.square(g.tanh(y)), &[], false));
    }
    g.output("penalty", g.reduce_mean(g.square(w), &[], false));
    g.output("logits", y);
    g.build().expect("a graph")
}

const ROWS: u64 = 10;

/// Rows of a batch, every third one without a class; what is not cut is the same in each part.
fn part(rows: &std::ops::Range<u64>, weighed: bool) -> Values {
    let x = (rows.start * 5..rows.end * 5).map(|i| (i as f64 * 1.7).sin()).collect();
    let class = rows.clone().map(|i| if i % 3 == 0 { -100 } else { (i % 2) as i64 * 2 }).collect();
    let count = rows.end - rows.start;
    let mut values = Values::from([
        ("x".into(), floats(&[count, 5], x)),
        ("rates".into(), floats(&[5], vec![1.0, 0.5, 2.0, -1.0, 0.25])),
    ]);
    if weighed {
        values.insert("class".into(), ints(&[count], class));
    }
    values
}

fn begun(made: &StepGraphs) -> Rig {
    let mut rig = Rig::new(false);
    let params: Vec<(&str, &[u64])> = made.trained.iter().map(|p| (p.name.as_str(), &p.shape[..])).collect();
    for ((name, _), tensor) in
        params.iter().zip(Init::torch().tensors(&params, 3).expect("every param has a rule"))
    {
        rig.set(name, Arc::new(Array::from_tensor(&tensor)));
    }
    rig
}

/// Micro-batches of unlike weights make the update of their batch, by their weight or by their share of the rows.
#[test]
fn cut_batches_make_the_update_of_whole_ones() {
    for (weighed, rows) in [(true, 4), (true, 3), (false, 4), (false, 1), (false, 7)] {
        let graph = classifier(weighed);
        let recipe = Recipe::new(AdamW::default())
            .schedule(Schedule::constant(0.05))
            .clip_norm(0.5)
            .rows_apart("batch");
        let whole = step_graphs(&graph, &recipe).expect("a recipe");
        let made = micro_batch_graphs(&graph, &recipe, rows).expect("it can be cut");
        let cut = made.micro_batches.clone().expect("it is cut");
        assert_eq!(cut.by_share, !weighed);
        let (mut at_once, mut in_parts) = (begun(&whole), begun(&made));
        for _ in 0..3 {
            let mut inputs = part(&(0..ROWS), weighed);
            at_once.numbers(&whole.numbers, &mut inputs);
            let expected = at_once.run(&whole.step, &inputs);
            let parts = cut.of(ROWS).expect("within its range");
            assert_eq!(parts.len() as u64, ROWS.div_ceil(rows));
            let mut weights = 0.0;
            for rows in &parts {
                let mut inputs = part(rows, weighed);
                // In f64: the share that a host gives is rounded to f32, the evaluator here is not.
                let share = (rows.end - rows.start) as f64 / ROWS as f64;
                assert_eq!(cut.share(rows, ROWS), share as f32);
                if cut.by_share {
                    inputs.insert(names::SHARE.into(), floats(&[], vec![share]));
                }
                weights +=
                    number(&in_parts.run(made.accumulate.as_ref().expect("cut"), &inputs), names::WEIGHT);
            }
            let mut numbers = Values::new();
            in_parts.numbers(&made.numbers, &mut numbers);
            let outputs = in_parts.run(made.update.as_ref().expect("cut"), &numbers);
            assert!((weights - number(&expected, names::WEIGHT)).abs() < 1e-12, "{weights}");
            for output in [names::LOSS, names::WEIGHT, names::NORM, names::FLAG] {
                let [a, b] = [&outputs, &expected].map(|outputs| number(outputs, output));
                // The loss of a step leaves its penalty out, as that of an update does.
                assert!((a - b).abs() < 1e-12, "{output} of {rows} rows: {a} {b}");
            }
            for param in &made.trained {
                let [a, b] = [&in_parts, &at_once].map(|rig| rig.floats(&param.name));
                assert!(distance(&a, &b) < 1e-12, "{}: {a:?} {b:?}", param.name);
            }
        }
    }
}

/// Entries that are cut take a symbol of their own; what they print is read back; `step` is one where it runs.
#[test]
fn entries_of_micro_batches() {
    for (steps, expected) in
        [(1, &["accumulate", "update", "eval", "predict"][..]), (4, &["step", "eval", "predict"])]
    {
        let recipe = Recipe::new(AdamW::default()).rows_apart("batch").steps_per_submission(steps);
        let made = micro_batch_graphs(&classifier(false), &recipe, 8).expect("it can be cut");
        assert_eq!(made.entries().iter().map(|(name, _)| *name).collect::<Vec<_>>(), expected);
        for (name, graph) in made.entries() {
            verify(graph, Form::Source).unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
            let printed = text::print(graph);
            assert_eq!(text::print(&text::read(&printed).expect("its own text")), printed, "{name}");
            let symbols: Vec<String> = graph.symbols().iter().map(|(_, symbol)| symbol.to_string()).collect();
            let expected = if name == "predict" { "batch=1..=64" } else { "batch/micro=1..=8" };
            assert!(name == "update" || symbols == [expected], "{name}: {symbols:?}");
            let asks = graph.inputs().iter().any(|&v| &*graph.value(v).name == names::SHARE);
            assert_eq!(asks, ["step", "accumulate", "eval"].contains(&name), "{name}");
        }
    }
    let of_data = Recipe::new(AdamW::default()).rows_apart("batch").data_set(100, ["x"]);
    let cut = micro_batch_graphs(&classifier(true), &of_data, 8).expect("it can be cut").micro_batches;
    assert_eq!(cut.map(|cut| cut.inputs), Some(["x", "class", names::INDEX].map(str::to_owned).to_vec()));
}

fn cut_of(graph: &Graph, rows: u64) -> MicroBatches {
    let recipe = Recipe::new(AdamW::default()).rows_apart("n");
    micro_batch_graphs(graph, &recipe, rows).expect("it can be cut").micro_batches.expect("it is cut")
}

fn mean_of_rows(range: std::ops::RangeInclusive<u64>) -> Graph {
    let g = GraphBuilder::new("mean");
    let y = g.linear(g.input("x", f32([sym("n", range), 3.into()])), g.param("w", f32([1, 3])), None);
    g.output("loss", g.reduce_mean(g.square(y), &[], false));
    g.build().expect("a graph")
}

/// A batch that is one part.
fn alone(rows: std::ops::Range<u64>) -> Result<Vec<std::ops::Range<u64>>, String> {
    Ok(vec![rows])
}

#[test]
fn parts_of_batches() {
    let graph = mean_of_rows(2..=100);
    let cut = cut_of(&graph, 8);
    assert_eq!(cut.of(20), Ok(vec![0..8, 8..16, 16..20]));
    assert_eq!((cut.of(8), cut.of(2)), (alone(0..8), alone(0..2)));
    assert_eq!(cut.of(101), Err("the graph takes n=2..=100".into()));
    assert_eq!(cut.of(17), Err("in micro-batches of 8 it leaves 1, and the graph takes 2 at least".into()));
    let empty = cut_of(&mean_of_rows(0..=9), 4);
    assert_eq!((empty.of(0), empty.share(&(0..0), 0)), (alone(0..0), 1.0));
    let recipe = Recipe::new(AdamW::default());
    assert_eq!(micro_batch_sizes(&graph, &recipe), Vec::<u64>::new());
    let recipe = recipe.rows_apart("n");
    assert_eq!(micro_batch_sizes(&graph, &recipe), [100, 50, 25, 12, 6, 3, 2]);
    assert_eq!(micro_batch_sizes(&mean_of_rows(0..=9), &recipe), [9, 4, 2, 1]);
    assert_eq!(micro_batch_sizes(&mean_of_rows(5..=5), &recipe), [5]);
}
