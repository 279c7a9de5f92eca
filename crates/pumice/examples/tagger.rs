//! A tagger: a bidirectional GRU over sequences of unlike length, and a dense layer for the tags of each step. A
//! sequence in a batch with longer ones gives what it gives alone; past its end everything is 0.

use pumice::ops::networks::{Direction, Gru, NetworkOperands, Rnn, SequenceLayout};
use pumice::{Device, Graph, GraphBuilder, Options, TensorView, f32, i32, sym};
use std::error::Error;

const WIDTH: usize = 6;
const HIDDEN: u64 = 10;
const TAGS: usize = 4;
const LENGTHS: [usize; 4] = [9, 1, 5, 12];

fn network() -> Result<Graph, Box<dyn Error>> {
    let g = GraphBuilder::new("tagger");
    let (batch, steps) = (sym("batch", 1..=8), sym("steps", 1..=16));
    let x = g.input("x", f32([batch.clone(), steps, (WIDTH as u64).into()]));
    let lens = g.input("lens", i32([batch]));
    // Weights are [directions, gates * units, ...]: z, r, h one after the other.
    let w = g.param("w", f32([2, 3 * HIDDEN, WIDTH as u64]));
    let r = g.param("r", f32([2, 3 * HIDDEN, HIDDEN]));
    let bias = g.param("bias", f32([2, 6 * HIDDEN]));
    let base =
        Rnn { direction: Direction::Bidirectional, layout: SequenceLayout::BatchFirst, ..Rnn::default() };
    let operands = NetworkOperands { bias: Some(bias), lens: Some(lens), ..NetworkOperands::default() };
    let (y, last) = g.gru([x, w, r], operands, Gru { base, linear_before_reset: true });
    // y is [batch, steps, directions, units]: both directions side by side are a step's features.
    let tags = g.param("tags", f32([TAGS as u64, 2 * HIDDEN]));
    g.output("scores", g.linear(g.flatten(y, 2), tags, None));
    g.output("last", last);
    Ok(g.build()?)
}

/// Numbers between -1 and 1 that look like none in particular.
fn numbers(count: usize, step: f32) -> Vec<f32> {
    (0..count).map(|i| (i as f32 * step).sin()).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::best();
    let exe = pumice::compile(&network()?, &device, &Options::default())?;
    println!("device: {}", device.name());
    for (i, param) in exe.params().iter().enumerate() {
        let count: u64 = param.shape.iter().map(|extent| extent.max).product();
        let values: Vec<f32> = numbers(count as usize, 0.7 + i as f32).iter().map(|v| 0.5 * v).collect();
        exe.set_param(&param.name, &values)?;
    }

    let longest = LENGTHS.iter().copied().max().unwrap_or(0);
    let words = numbers(LENGTHS.len() * longest * WIDTH, 0.31);
    let mut session = exe.session()?;
    let mut scores = |x: &[f32], lengths: &[usize], steps: usize| -> Result<Vec<f32>, Box<dyn Error>> {
        let lens: Vec<i32> = lengths.iter().map(|&n| n as i32).collect();
        let batch = lengths.len() as u64;
        let x = TensorView::f32(x, [batch, steps as u64, WIDTH as u64]);
        let run = session.run(&[("x", x), ("lens", TensorView::i32(&lens, [batch]))])?;
        Ok(run.get("scores")?.to_vec()?)
    };
    let together = scores(&words, &LENGTHS, longest)?;
    for (i, &length) in LENGTHS.iter().enumerate() {
        let first = i * longest;
        let alone = scores(&words[first * WIDTH..(first + length) * WIDTH], &[length], length)?;
        let beside = &together[first * TAGS..(first + longest) * TAGS];
        let worst = alone.iter().zip(beside).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        println!("{length:2} steps, alone and beside longer ones: largest difference {worst:e}");
        assert!(worst < 1e-5, "{worst}");
        assert!(beside[length * TAGS..].iter().all(|&v| v == 0.0), "something past the end");
        assert!(alone.iter().any(|v| v.abs() > 0.01), "a tagger that says nothing");
    }
    Ok(())
}
