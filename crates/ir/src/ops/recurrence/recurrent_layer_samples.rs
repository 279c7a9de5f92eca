//! Samples of `RecurrentLayer`: every cell, activation and option, lengths, both directions, odd and many units.

use super::recurrent_layer::{Cell, CellActivation, RecurrentLayer};
use crate::builder::{GraphBuilder, Value};
use crate::ops::steering_samples::steering_samples;
use crate::sample::{Fill, Sample};
use crate::shape::{DimSpec, f32, i32, sym};

/// Which operands are there.
#[derive(Clone, Copy, Debug)]
struct With {
    lens: bool,
    states: bool,
    peepholes: bool,
    bias: bool,
}

const ALL: With = With { lens: true, states: true, peepholes: true, bias: true };
const NONE: With = With { lens: false, states: false, peepholes: false, bias: false };

fn layer(g: &GraphBuilder, [t, b]: [DimSpec; 2], hidden: u64, with: With, op: &RecurrentLayer) {
    let width = hidden * op.cell.gates();
    let xw = g.input("xw", f32([t, b.clone(), width.into()]));
    let r = g.param("r", f32([hidden, width]));
    let lstm = op.cell == Cell::Lstm;
    let state = |name: &str, is: bool| is.then(|| g.input(name, f32([b.clone(), hidden.into()])));
    let others: [Option<Value>; 5] = [
        (with.bias && op.linear_before_reset && op.cell == Cell::Gru).then(|| g.param("rb", f32([hidden]))),
        (with.peepholes && lstm).then(|| g.param("p", f32([3, hidden]))),
        with.lens.then(|| g.input("lens", i32([b.clone()]))),
        state("h0", with.states),
        state("c0", with.states && lstm),
    ];
    let [y, h, c] = g.recurrent_layer([xw, r], others, op.clone());
    g.output("y", y);
    g.output("h", h);
    g.output("c", c);
}

/// Weights so small that no state grows without bound.
fn filled(sample: Sample, hidden: u64, t: u64) -> Sample {
    let small = 1.0 / (hidden as f64).sqrt();
    sample.fill("r", Fill::Uniform(-small, small)).fill("lens", Fill::Range(-1, t as i64 + 2))
}

fn case([t, b, hidden]: [u64; 3], with: With, op: &RecurrentLayer) -> Sample {
    let sample = Sample::graph(&format!("{t} steps of {b}, {hidden} units {with:?} {op:?}"), |g| {
        layer(g, [t.into(), b.into()], hidden, with, op);
    });
    filled(sample, hidden, t)
}

/// Steps of up to `most`.
fn symbolic([b, t]: [u64; 2], most: u64, op: &RecurrentLayer) -> Sample {
    let sample = Sample::graph(&format!("symbolic, {b} of 3, {t} of {most} {op:?}"), |g| {
        layer(g, [sym("t", 0..=most), sym("b", 0..=3)], 5, ALL, op);
    });
    filled(sample.bind("b", b).bind("t", t), 5, t)
}

/// Steps of 1 to `most`, of so many units that a turn of a loop takes each.
fn looped(hidden: u64, [t, most]: [u64; 2], with: With, op: &RecurrentLayer) -> Sample {
    let label = format!("a loop of {t} of {most} turns, {hidden} units {with:?} {op:?}");
    let sample = Sample::graph(&label, |g| layer(g, [sym("t", 1..=most), sym("b", 0..=3)], hidden, with, op));
    filled(sample.bind("b", 2).bind("t", t), hidden, t)
}

fn of_cells() -> Vec<RecurrentLayer> {
    let sigmoid = CellActivation::Sigmoid;
    let plain = RecurrentLayer::default();
    let gru = RecurrentLayer { cell: Cell::Gru, f: sigmoid, ..plain.clone() };
    let lstm = RecurrentLayer { cell: Cell::Lstm, ..gru.clone() };
    let after = RecurrentLayer { linear_before_reset: true, ..gru.clone() };
    let coupled = RecurrentLayer { input_forget: true, ..lstm.clone() };
    vec![plain, gru, lstm, after, coupled]
}

/// All samples.
pub fn samples() -> Vec<Sample> {
    let mut samples = Vec::new();
    for op in of_cells() {
        let back = RecurrentLayer { reverse: true, ..op.clone() };
        let clipped = RecurrentLayer { clip: Some(0.3), ..back.clone() };
        for op in [&op, &back, &clipped] {
            samples.push(case([5, 3, 7], ALL, op));
        }
        samples.push(case([5, 3, 7], NONE, &op));
        samples.push(case([4, 2, 16], With { states: false, ..ALL }, &back));
        samples.push(case([1, 1, 1], ALL, &op));
        samples.push(case([3, 2, 257], ALL, &op));
        // The most weights that each variant of a group keeps.
        samples.extend([42, 85, 128].map(|hidden| case([3, 2, hidden], ALL, &clipped)));
        samples.extend([43, 86].map(|hidden| case([4, 3, hidden], NONE, &back)));
        // Of so many units each step is a node.
        samples.push(case([3, 2, 129], ALL, &clipped));
        samples.push(case([4, 3, 131], NONE, &back));
        samples.push(looped(256, [3, 700], ALL, &back));
        samples.push(looped(257, [1, 9], NONE, &op));
        samples.push(case([0, 2, 3], ALL, &op));
        samples.push(case([3, 0, 3], ALL, &op));
        samples.push(case([30, 1, 33], With { lens: false, ..ALL }, &back));
        samples.extend([[1, 1], [3, 9], [0, 3], [2, 0]].map(|n| symbolic(n, 9, &back)));
    }
    let later = RecurrentLayer { from: 2, ..RecurrentLayer::default() };
    samples.push(case([4, 5, 3], ALL, &later));
    samples.push(looped(260, [4, 9], ALL, &later));
    // More than a group holds.
    samples.push(looped(2304, [2, 4], NONE, &of_cells()[0]));
    for op in &of_cells()[1..3] {
        samples.push(case([600, 1, 260], ALL, op));
        samples.push(symbolic([2, 3100], 4000, &RecurrentLayer { reverse: true, ..op.clone() }));
    }
    samples.push(case([2, 1, 2048], ALL, &of_cells()[2]));
    samples.push(case([2, 1, 2049], ALL, &of_cells()[0]));
    samples.push(case([1, 70_000, 1], ALL, &of_cells()[0]));
    let wide = Sample::graph("a symbolic batch of 2, each step a node", |g| {
        layer(g, [3.into(), sym("b", 0..=3)], 130, ALL, &of_cells()[2]);
    });
    samples.push(filled(wide.bind("b", 2), 130, 3));
    samples.extend([5, 130].into_iter().flat_map(activations));
    let gru = of_cells()[1].clone();
    samples.extend(steering_samples(
        "of five steps, a length",
        5,
        |_| false,
        |g, length| {
            let (xw, r) = (g.param("xw", f32([5, 1, 6])), g.param("r", f32([2, 6])));
            let lens = Some(g.unsqueeze(length, &[0]));
            let [y, h, _] = g.recurrent_layer([xw, r], [None, None, lens, None, None], gru.clone());
            g.output("y", y);
            g.output("h", h);
        },
    ));
    samples
}

/// An LSTM of so many units with each activation in all places.
fn activations(units: u64) -> [Sample; 11] {
    CellActivation::ALL.map(|act| {
        let lstm = RecurrentLayer { cell: Cell::Lstm, f: act, g: act, h: act, ..RecurrentLayer::default() };
        let [a, b] = [(0.5, 0.1), (0.75, 0.2)];
        let op = RecurrentLayer {
            alpha_f: a.0,
            beta_f: a.1,
            alpha_g: b.0,
            beta_g: b.1,
            alpha_h: 0.25,
            beta_h: 0.3,
            ..lstm
        };
        // What has no bound grows by squares where peepholes are large.
        let sample = case([4, 2, units], ALL, &op).fill("p", Fill::Uniform(-0.1, 0.1));
        ["xw", "h0", "c0"].iter().fold(sample, |s, name| s.fill(name, Fill::Uniform(-1.0, 1.0)))
    })
}
