//! A block of Mamba: a causal convolution and a selective scan between two projections. A sequence at once gives what
//! it gives token by token: the block's states, the convolution's last elements and the scan's matrix, stay in the
//! session.

use pumice::ops::causal_conv_with_state::{CausalConvWithState, ConvActivation};
use pumice::ops::selective_scan::{ScanOperands, SelectiveScan};
use pumice::{Device, FeedKind, Graph, GraphBuilder, Options, TensorView, f32, sym};
use std::error::Error;

const WIDTH: u64 = 16;
/// Channels inside the block.
const INNER: u64 = 32;
/// States of a channel.
const STATES: u64 = 8;
/// Width of the convolution's window.
const WINDOW: u64 = 4;
/// Numbers that the steps of all channels are made of.
const RANK: u64 = 2;
const TOKENS: usize = 24;

fn block() -> Result<Graph, Box<dyn Error>> {
    let g = GraphBuilder::new("mamba block");
    let x = g.input("x", f32([1.into(), sym("tokens", 1..=TOKENS as u64), WIDTH.into()]));
    let weight = |name: &str, shape: [u64; 2]| g.param(name, f32(shape));
    let both = g.linear(x, weight("in", [2 * INNER, WIDTH]), None);
    let halves = g.split(both, -1, &[INNER as i64; 2]);

    let past = g.state("past", f32([1, INNER, WINDOW - 1]));
    let silu = CausalConvWithState { activation: ConvActivation::Silu };
    let channels = g.transpose(halves[0], &[0, 2, 1]);
    let (window, bias) = (g.param("window", f32([INNER, 1, WINDOW])), g.param("window bias", f32([INNER])));
    let (mixed, next_past) =
        g.causal_conv_with_state(channels, window, Some(bias), Some(g.state_read(past)), silu);
    let mixed = g.transpose(mixed, &[0, 2, 1]);

    let numbers = g.linear(mixed, weight("numbers", [RANK + 2 * STATES, INNER]), None);
    let [rank, states] = [RANK as i64, STATES as i64];
    let parts = g.split(numbers, -1, &[rank, states, states]);
    let delta = g.linear(parts[0], weight("delta", [INNER, RANK]), None);
    let h = g.state("h", f32([1, INNER, STATES]));
    let operands = ScanOperands {
        d: Some(g.param("d", f32([INNER]))),
        z: Some(halves[1]),
        delta_bias: Some(g.param("delta bias", f32([INNER]))),
        h0: Some(g.state_read(h)),
    };
    let main = [mixed, delta, weight("a", [INNER, STATES]), parts[1], parts[2]];
    let (y, next_h) = g.selective_scan(main, operands, SelectiveScan { delta_softplus: true });
    g.output("y", g.linear(y, weight("out", [WIDTH, INNER]), None));
    // After every run the states become what these outputs are.
    g.output("next past", next_past);
    g.output("next h", next_h);
    g.feed("next past", past, FeedKind::Whole);
    g.feed("next h", h, FeedKind::Whole);
    Ok(g.build()?)
}

/// Numbers between -1 and 1 that look like none in particular.
fn numbers(count: u64, step: f32) -> Vec<f32> {
    (0..count).map(|i| (i as f32 * step).sin()).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::best();
    let options = Options::default().specializations(vec![("tokens".to_owned(), vec![1])]);
    let exe = pumice::compile(&block()?, &device, &options)?;
    println!("device: {}", device.name());
    for (i, param) in exe.params().iter().enumerate() {
        let count: u64 = param.shape.iter().map(|extent| extent.max).product();
        let values = numbers(count, 0.7 + i as f32);
        // The matrix of the scan takes away; weights are small.
        let fitting: Vec<f32> =
            values.iter().map(|v| if param.name == "a" { -1.5 - v } else { 0.4 * v }).collect();
        exe.set_param(&param.name, &fitting)?;
    }

    let tokens = numbers(TOKENS as u64 * WIDTH, 0.37);
    let mut at_once = exe.session()?;
    let whole = TensorView::f32(&tokens, [1, TOKENS as u64, WIDTH]);
    let whole: Vec<f32> = at_once.run(&[("x", whole)])?.get("y")?.to_vec()?;

    let mut one_by_one = exe.session()?;
    let mut worst = 0.0f32;
    for (token, want) in tokens.chunks(WIDTH as usize).zip(whole.chunks(WIDTH as usize)) {
        let token = TensorView::f32(token, [1, 1, WIDTH]);
        let y: Vec<f32> = one_by_one.run(&[("x", token)])?.get("y")?.to_vec()?;
        worst = y.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(worst, f32::max);
    }
    println!("{TOKENS} tokens at once and one by one: largest difference {worst:e}");
    assert!(worst < 1e-4, "{worst}");
    assert!(whole.iter().any(|v| v.abs() > 0.01), "a block that does nothing");
    Ok(())
}
