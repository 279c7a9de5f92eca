//! Tokens drawn from logits on the device: temperature, top-k, top-p and min-p are scalars that change from run to
//! run, the same seed and step draw the same tokens, and every run draws others.

use pumice::ops::sample::SampleOptions;
use pumice::{Device, GraphBuilder, Options, Session, TensorView, f32, i32};
use std::error::Error;

const ROWS: usize = 4;
const TOKENS: usize = 1000;

/// Logits with a history that is made less likely, and a draw of each row.
fn graph() -> Result<pumice::Graph, Box<dyn Error>> {
    let g = GraphBuilder::new("sampler");
    let logits = g.input("logits", f32([ROWS as u64, TOKENS as u64]));
    let history = g.input("history", i32([ROWS as u64, 3]));
    let float = |name: &str, most: f64, default: f64| g.scalar(name, f32::<u64>([]), 0.0, most, default);
    let penalty = float("penalty", 2.0, 1.0);
    let logits = g.repetition_penalty(logits, g.token_counts(history, TOKENS as u64), penalty);
    let options = SampleOptions {
        temperature: Some(float("temperature", 10.0, 1.0)),
        top_k: Some(g.scalar("top_k", i32::<u64>([]), 0.0, TOKENS as f64, 0.0)),
        top_p: Some(float("top_p", 1.0, 1.0)),
        min_p: Some(float("min_p", 1.0, 0.0)),
        ..SampleOptions::default()
    };
    let (token, logprob) = g.sample(logits, options);
    g.output("token", token);
    g.output("logprob", logprob);
    Ok(g.build()?)
}

/// A draw of each row, and how likely it was.
fn draw(
    session: &mut Session,
    logits: &[f32],
    history: &[i32],
) -> Result<(Vec<i32>, Vec<f32>), Box<dyn Error>> {
    session.run(&[
        ("logits", TensorView::f32(logits, [ROWS as u64, TOKENS as u64])),
        ("history", TensorView::i32(history, [ROWS as u64, 3])),
    ])?;
    Ok((session.output("token")?.to_vec()?, session.output("logprob")?.to_vec()?))
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::best();
    println!("device: {}", device.name());
    let mut session = pumice::compile(&graph()?, &device, &Options::default())?.session()?;
    let logits: Vec<f32> = (0..ROWS * TOKENS).map(|i| 4.0 * (i as f32 * 0.61).sin()).collect();
    let history = [0i32; 3 * ROWS];
    session.set_scalar("seed_low", 7u32)?;

    let (first, logprob) = draw(&mut session, &logits, &history)?;
    let (second, _) = draw(&mut session, &logits, &history)?;
    println!("two runs: {first:?} and {second:?}, the first with probabilities {:.5?}", exp(&logprob));
    assert_ne!(first, second);
    // The step goes on by one with every run; the same one draws the same tokens.
    session.set_scalar("random_step", 0u32)?;
    assert_eq!(draw(&mut session, &logits, &history)?.0, first);

    session.set_scalar("top_k", 5)?;
    session.set_scalar("temperature", 0.7f32)?;
    session.set_scalar("min_p", 0.05f32)?;
    let (few, logprob) = draw(&mut session, &logits, &history)?;
    println!("of the five largest: {few:?} with probabilities {:.3?}", exp(&logprob));
    for (row, &token) in few.iter().enumerate() {
        let row = &logits[row * TOKENS..][..TOKENS];
        assert!(row.iter().filter(|&&v| v > row[token as usize]).count() < 5);
    }

    // At temperature 0 the largest logit is taken; seen often enough, the next one is.
    session.set_scalar("temperature", 0.0f32)?;
    let (largest, logprob) = draw(&mut session, &logits, &history)?;
    session.set_scalar("penalty", 1.5f32)?;
    let seen: Vec<i32> = largest.iter().flat_map(|&t| [t; 3]).collect();
    let (next, _) = draw(&mut session, &logits, &seen)?;
    println!("the largest: {largest:?}; once these were seen: {next:?}");
    assert!(logprob.iter().all(|&p| p == 0.0));
    assert!(largest.iter().zip(&next).all(|(a, b)| a != b));
    Ok(())
}

fn exp(x: &[f32]) -> Vec<f32> {
    x.iter().map(|v| v.exp()).collect()
}
