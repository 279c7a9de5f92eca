//! How soon a conversation's second turn is answered, beside how long reading its new tokens takes at that depth.
//!
//! In: a model with a chat template. Out: medians, as one JSON object. The first turn fills the caches; each time a
//! copy of the conversation is asked a question by the template, and another one gets the same new tokens by `push`.
//! What the first takes longer is its text: the template, the tokenizer, finding what the caches hold.

use clap::Parser;
use pumice::generate::{Conversation, GenerateOptions, Generator, Message, Request};
use pumice::{Device, DeviceOptions, Pick};
use pumice_models::LanguageOptions;
use serde_json::json;
use std::error::Error;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

/// Compares a second turn with reading its tokens.
#[derive(Parser)]
#[command(name = "turn_two")]
struct Args {
    /// A language model with a chat template
    #[arg(long, value_name = "MODEL")]
    model: PathBuf,
    /// Tokens of the first turn, about
    #[arg(long, value_name = "N", default_value_t = 1500)]
    tokens: usize,
    /// How often each is timed
    #[arg(long, value_name = "N", default_value_t = 9)]
    times: usize,
    /// The device, by its place in the list
    #[arg(long, value_name = "N", default_value_t = 0)]
    device: usize,
}

const SENTENCE: &str = "The harbour was quiet that morning, and nobody had seen the ship come in; ";
const QUESTION: &str = "Who had seen the ship, and what did they say about the captain and the weather?";

fn ask(talk: &mut Conversation, text: &str, answer: usize) -> Result<(), Box<dyn Error>> {
    let request = Request::default().tokens(answer).ignore_end(true);
    talk.say(Message::new("user", text), &request, |_| ControlFlow::Continue(()))?;
    Ok(())
}

/// Seconds of a turn through the template, with the first token of the answer.
fn turn(talk: &mut Conversation) -> Result<f64, Box<dyn Error>> {
    let mut asked = talk.fork()?;
    let begun = Instant::now();
    ask(&mut asked, QUESTION, 1)?;
    Ok(begun.elapsed().as_secs_f64())
}

/// Seconds of reading the tokens of that turn, with the same token.
fn reading(talk: &mut Conversation, ids: &[u32]) -> Result<f64, Box<dyn Error>> {
    let mut pushed = talk.fork()?;
    let same = ids.iter().zip(&pushed.ids()).take_while(|(a, b)| a == b).count();
    pushed.rewind(same)?;
    pushed.push(&ids[same..ids.len() - 1])?;
    let begun = Instant::now();
    pushed.generate(&Request::default().tokens(1).ignore_end(true), |_| ControlFlow::Continue(()))?;
    let took = begun.elapsed().as_secs_f64();
    if pushed.ids() != ids {
        return Err("the same tokens had another answer".into());
    }
    Ok(took)
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse();
    let device = Device::open(&Pick::Index(args.device), &DeviceOptions::default())?;
    let model = LanguageOptions::default().context(args.tokens as u64 + 500);
    let generator =
        Generator::open(&args.model, &device, &GenerateOptions::default().model(model), |_, _| {})?;
    let mut talk = generator.conversation()?;
    let sentences = args.tokens / 18;
    ask(&mut talk, &SENTENCE.repeat(sentences), args.tokens.saturating_sub(16 * sentences).min(100))?;
    let depth = talk.len();
    let mut asked = talk.fork()?;
    ask(&mut asked, QUESTION, 1)?;
    let ids = asked.ids();
    // Kernels are made, and drivers finish them, when they first run.
    reading(&mut talk, &ids)?;
    let (mut turns, mut readings) = (Vec::new(), Vec::new());
    for i in 0..args.times {
        // In turns: what runs first after a pause finds a slower clock.
        if i % 2 == 0 {
            turns.push(turn(&mut talk)?);
        }
        readings.push(reading(&mut talk, &ids)?);
        if i % 2 == 1 {
            turns.push(turn(&mut talk)?);
        }
    }
    let (turn, reading) = (median(turns), median(readings));
    let told = json!({"device": device.name(), "depth": depth, "turn_s": turn, "reading_s": reading, "ratio": turn / reading});
    println!("{told}");
    Ok(())
}
