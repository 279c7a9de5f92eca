//! A decoder that generates without the host in the loop: the prompt fills the caches of keys and values, then every
//! step takes the token that the step before chose, appends to the caches, and advances its position, all on the
//! device. Four tokens are made per submission. The weights come from a seed, so the tokens mean nothing; they are
//! checked against computing the whole sequence anew for every token.

use pumice::{Device, Loaded, Options, TensorView};
use pumice_models::decoder::{DecoderConfig, decoder_graph, recompute_graph, seeded};
use pumice_models::specialize;
use std::error::Error;

const PROMPT: [i32; 9] = [7, 250, 3, 99, 0, 31, 64, 200, 128];
const SEED: u64 = 5;
const SUBMISSIONS: usize = 4;
const PER_SUBMISSION: usize = 4;

fn main() -> Result<(), Box<dyn Error>> {
    let (device, config) = (Device::best(), DecoderConfig::tiny());
    // One plan for a single token, one for few, one for many.
    let options = Options::default().specializations(specialize::decoder());
    let model = seeded(decoder_graph("tiny", &config)?, SEED)?;
    let exe = Loaded::new(&model, &device, &options, |_, _| {})?.exe;
    println!("device: {}\n{}", device.name(), exe.memory());

    let mut session = exe.session()?;
    session.run(&[("ids", TensorView::i32(&PROMPT, [1, PROMPT.len() as u64]))])?;
    // An id of -1 stands for the token chosen last, so the host need not know it.
    let last = [("ids", TensorView::i32(&[-1], [1, 1]))];
    for _ in 0..SUBMISSIONS {
        session.run_steps(&last, PER_SUBMISSION as u32)?;
    }
    let made = 1 + SUBMISSIONS * PER_SUBMISSION;
    let position = session.scalar("position")?.as_i64();
    assert_eq!(position, Some((PROMPT.len() + made - 1) as i64));
    let from = PROMPT.len() as u64;
    let tokens = session.state("history")?.read_range(1, from..from + made as u64)?.to_vec::<i32>()?;
    println!("prompt  {PROMPT:?}\ntokens  {tokens:?} in {} submissions", 1 + SUBMISSIONS);

    assert_eq!(tokens, recomputed(&device, &config, made)?);
    println!("the same as computing the whole sequence anew for every token");
    Ok(())
}

/// The tokens of a model without states.
fn recomputed(device: &Device, config: &DecoderConfig, count: usize) -> Result<Vec<i32>, Box<dyn Error>> {
    let model = seeded(recompute_graph("recompute", config)?, SEED)?;
    let exe = Loaded::new(&model, device, &Options::default(), |_, _| {})?.exe;
    let mut session = exe.session()?;
    let mut ids = PROMPT.to_vec();
    for _ in 0..count {
        session.run(&[("ids", TensorView::i32(&ids, [1, ids.len() as u64]))])?;
        let next = session.output("next")?.to_vec::<i32>()?;
        ids.push(*next.last().ok_or("one token per position")?);
    }
    Ok(ids.split_off(PROMPT.len()))
}
