//! Training: a perceptron learns which of four corners a point is in, on any device, and predicts by the same weights.

use pumice::train::{AdamW, Batch, Group, Init, Recipe, Schedule, TrainOptions, Trainer};
use pumice::{Device, Graph, GraphBuilder, Tensor, TensorView, f32, i32, sym};

const UPDATES: u64 = 300;

/// Logits of four classes from eight numbers, with dropout in training, and the loss.
fn network() -> Result<Graph, Box<dyn std::error::Error>> {
    let g = GraphBuilder::new("mlp");
    let batch = || sym("batch", 1..=256);
    let (x, class) = (g.input("x", f32([batch(), 8.into()])), g.input("class", i32([batch()])));
    let h = g.linear(x, g.param("fc1.weight", f32([64, 8])), Some(g.param("fc1.bias", f32([64]))));
    let (h, _) = g.dropout_training(g.relu(h), 0.1);
    let y = g.linear(h, g.param("fc2.weight", f32([4, 64])), Some(g.param("fc2.bias", f32([4]))));
    let (loss, weight) = g.softmax_cross_entropy(y, class, None, Default::default());
    g.output("loss", loss);
    g.output("weight", weight);
    g.output("logits", y);
    Ok(g.build()?)
}

/// 64 points: the first two numbers of each decide its class.
fn batch(number: u64) -> Result<Batch, pumice::TensorError> {
    let value = |i: u64| (number * 7_919 + i).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let x: Vec<f32> = (0..64 * 8).map(|i| value(i) as f32 / (1 << 23) as f32 - 1.0).collect();
    let class: Vec<i32> =
        x.chunks(8).map(|row| i32::from(row[0] > 0.0) + 2 * i32::from(row[1] > 0.0)).collect();
    Ok(Batch::new().with("x", Tensor::new(&x, &[64, 8])?).with("class", Tensor::new(&class, &[64])?))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::best();
    println!("device: {}", device.name());
    let recipe = Recipe::new(AdamW { weight_decay: 0.01, ..AdamW::default() })
        .schedule(Schedule::cosine(1e-2).warmup(20).total(UPDATES))
        .group(Group::matching(["*.bias"]).weight_decay(0.0))
        .clip_norm(1.0);
    let mut trainer = Trainer::new(&network()?, &recipe, &device, &TrainOptions::default())?;
    println!("{}", trainer.plan());
    trainer.init(&Init::torch(), 42)?;

    let batches = (0..UPDATES).map(batch).collect::<Result<Vec<_>, _>>()?;
    let mut losses = Vec::new();
    for report in trainer.run(batches) {
        let report = report?;
        if report.step % 50 == 0 {
            println!("{report}");
        }
        losses.push(report.loss);
    }
    assert!(losses[losses.len() - 1] < 0.2 * losses[0]);

    let seen = trainer.evaluate([batch(10_000)?, batch(10_001)?])?;
    println!("loss of points it has not seen: {:.4}", seen.loss);
    assert!(seen.loss < 0.3);
    let corner = [0.9, -0.9, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let logits = trainer.predict(&[("x", TensorView::f32(&corner, [1, 8]))], &["logits"])?;
    let logits = logits[0].to_vec::<f32>()?;
    assert!(logits.iter().all(|&l| l <= logits[1]), "{logits:?}");
    Ok(())
}
