//! A language model's logits and greedy tokens against golden ones, on one device; for devices that no CI has.
//!
//! In: a GGUF file, a file of `tests/reference/llama_logits.py`. Out: a line per prompt, the exit code 1 where one is
//! wrong; with `--dump` all logits, which the script's `--compare` goes through.

use clap::Parser;
use pumice_tests::Fixture;
use pumice_tests::logits::{Agreement, Goldens, TOLERANCE, load};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Compares a language model's logits with golden ones.
#[derive(Parser)]
#[command(name = "logits")]
struct Args {
    /// A Llama-shaped GGUF file
    #[arg(long, value_name = "FILE.gguf")]
    model: PathBuf,
    /// Golden logits of that file; without it those of SmolLM2-135M-Instruct
    #[arg(long, value_name = "FILE.safetensors")]
    goldens: Option<PathBuf>,
    /// The interpreter instead of a Vulkan device
    #[arg(long)]
    interp: bool,
    /// Only so many prompts
    #[arg(long, value_name = "N")]
    prompts: Option<usize>,
    /// Only so many tokens after each
    #[arg(long, value_name = "N")]
    steps: Option<usize>,
    /// Write all logits to this file: f32, little-endian, [prompts, steps, vocab]
    #[arg(long, value_name = "FILE")]
    dump: Option<PathBuf>,
    /// One JSON object on one line instead of text
    #[arg(long)]
    json: bool,
}

/// What one prompt gave.
#[derive(serde::Serialize)]
struct Row {
    prompt_tokens: usize,
    /// Token by token.
    steps: Agreement,
    /// The last position, with all before it in one run.
    at_once: Agreement,
    /// Where the device's own tokens leave the reference's, and how close the two best logits are there.
    greedy_difference: Option<(usize, f32)>,
    seconds: f64,
}

impl Row {
    fn holds(&self) -> bool {
        self.steps.holds()
            && self.at_once.holds()
            && self.greedy_difference.is_none_or(|(_, gap)| gap < TOLERANCE)
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    let goldens = args.goldens.clone().unwrap_or_else(Goldens::smollm2);
    if let Some(dump) = &args.dump {
        pumice::apart::check(dump, &[&args.model, &goldens]).unwrap_or_else(|e| panic!("{e}"));
    }
    let goldens = Goldens::open(&goldens);
    let fixture = if args.interp { Fixture::interpreter() } else { Fixture::vulkan() };
    let exe = load(&fixture, &args.model, None);
    let mut session = exe.session().unwrap_or_else(|e| panic!("{e}"));
    let mut dump = args
        .dump
        .as_ref()
        .map(|path| BufWriter::new(File::create(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))));
    let steps = args.steps.unwrap_or(goldens.steps()).min(goldens.steps());
    let mut rows = Vec::new();
    for prompt in 0..args.prompts.unwrap_or(goldens.prompts.len()).min(goldens.prompts.len()) {
        let begin = Instant::now();
        let see = |logits: &[f32]| {
            if let Some(file) = &mut dump {
                let bytes: Vec<u8> = logits.iter().flat_map(|v| v.to_le_bytes()).collect();
                file.write_all(&bytes).unwrap_or_else(|e| panic!("the dump: {e}"));
            }
        };
        let forced = goldens.teacher_forced(&mut session, prompt, steps, see);
        let row = Row {
            prompt_tokens: goldens.prompts[prompt].len(),
            steps: forced.unwrap_or_else(|e| panic!("{e}")),
            at_once: goldens.at_once(&mut session, prompt).unwrap_or_else(|e| panic!("{e}")),
            greedy_difference: goldens.greedy(&mut session, prompt).unwrap_or_else(|e| panic!("{e}")),
            seconds: begin.elapsed().as_secs_f64(),
        };
        if !args.json {
            println!("{}", line(prompt, &row));
        }
        rows.push(row);
    }
    let holds = rows.iter().all(Row::holds);
    let worst = rows.iter().map(|r| r.steps.worst.max(r.at_once.worst)).fold(0.0, f32::max);
    match args.json {
        true => println!(
            "{}",
            serde_json::json!({ "device": fixture.device.name(), "holds": holds, "worst": worst, "allowed": TOLERANCE,
                "prompts": rows })
        ),
        false => println!(
            "{}: largest difference {worst:.2e} of the range, {TOLERANCE} is allowed: {}",
            fixture.device.name(),
            if holds { "holds" } else { "WRONG" }
        ),
    }
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn line(prompt: usize, row: &Row) -> String {
    let at = |other: &[(usize, f32)]| match other.first() {
        None => "no other token".to_owned(),
        Some((step, gap)) => format!("another token at {step}, where the two best are {gap:.1e} apart"),
    };
    let greedy: Vec<_> = row.greedy_difference.into_iter().collect();
    format!(
        "prompt {prompt}: {} tokens and {} after them: largest difference {:.2e} of the range, at once {:.2e}; {}; chosen on \
         the device: {}; {:.1} s{}",
        row.prompt_tokens,
        row.steps.positions,
        row.steps.worst,
        row.at_once.worst,
        at(&row.steps.other),
        at(&greedy),
        row.seconds,
        if row.holds() { "" } else { " WRONG" }
    )
}
