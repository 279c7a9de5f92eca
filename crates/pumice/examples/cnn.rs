//! A small convolutional network that tells upright stripes from level ones, in images of any size from 3 x 3 to
//! 64 x 64: convolution, batch norm, relu, max pool, global average pool, a dense layer.
//!
//! One channel has the differences to the right neighbour, the other those to the neighbour below. Stripes one pixel
//! wide rise by 1 in every window of the pool along one axis, and nowhere along the other: the scores are exactly 1
//! and 0.

use pumice::ops::{Conv, MaxPool};
use pumice::{Device, Graph, GraphBuilder, Options, TensorView, f32, sym};
use std::error::Error;

fn network() -> Result<Graph, Box<dyn Error>> {
    let g = GraphBuilder::new("stripes");
    let x = g.input("x", f32([sym("batch", 1..=8), 1.into(), sym("h", 3..=64), sym("w", 3..=64)]));
    // Weights are [channels out, channels in (of a group), kernel...]; pads and strides are fields of `Conv`.
    let edges = g.named("edges").conv(x, g.param("edges.w", f32([2, 1, 2, 2])), None, Conv::default());
    let vector = |name: &str| g.param(name, f32([2]));
    let [gamma, beta, mean, variance] = ["gamma", "beta", "mean", "variance"].map(vector);
    let rises = g.relu(g.batch_norm(edges, gamma, beta, mean, variance, 0.0));
    let half = MaxPool { kernel: vec![2, 2], strides: vec![2, 2], ..MaxPool::default() };
    let features = g.flatten(g.global_average_pool(g.max_pool(rises, half)), 1);
    g.output("scores", g.linear(features, g.param("dense.w", f32([2, 2])), None));
    Ok(g.build()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::best();
    let exe = pumice::compile(&network()?, &device, &Options::default())?;
    println!("device: {}", device.name());
    let params: [(&str, &[f32]); 6] = [
        ("edges.w", &[-1.0, 1.0, 0.0, 0.0, -1.0, 0.0, 1.0, 0.0]),
        ("gamma", &[1.0; 2]),
        ("beta", &[0.0; 2]),
        ("mean", &[0.0; 2]),
        ("variance", &[1.0; 2]),
        ("dense.w", &[1.0, 0.0, 0.0, 1.0]),
    ];
    for (name, values) in params {
        exe.set_param(name, values)?;
    }
    let mut session = exe.session()?;
    for (h, w) in [(3, 3), (5, 12), (64, 17)] {
        // Two images: pixel (i, j) is 1 in odd columns of the first and in odd rows of the second.
        let (column, row) = (|at: usize| at % w, |at: usize| at / w % h);
        let stripe = |at| if at < h * w { column(at) % 2 } else { row(at) % 2 };
        let pixels: Vec<f32> = (0..2 * h * w).map(|at| stripe(at) as f32).collect();
        let images = TensorView::f32(&pixels, [2, 1, h as u64, w as u64]);
        let scores: Vec<f32> = session.run(&[("x", images)])?.get("scores")?.to_vec()?;
        println!("{h:2} x {w:2}: upright {:?}, level {:?}", &scores[..2], &scores[2..]);
        assert_eq!(scores, [1.0, 0.0, 0.0, 1.0]);
    }
    Ok(())
}
