//! The perplexity of a language model on a text of the public domain, exact and with factors rounded to f16, and how
//! far apart they are.

use clap::Parser;
use pumice_tests::perplexity::{Perplexity, of_text};
use pumice_tests::{Fixture, files};
use pumice_types::Precision;
use std::path::PathBuf;
use std::process::ExitCode;

/// Compares a model's perplexity in F16 with that in exact products.
#[derive(Parser)]
#[command(name = "perplexity")]
struct Args {
    /// A Llama-shaped GGUF file
    #[arg(long, value_name = "FILE.gguf")]
    model: PathBuf,
    /// A text; without it that of tests/data
    #[arg(long, value_name = "FILE")]
    text: Option<PathBuf>,
    /// So many of its tokens
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    tokens: usize,
    /// Tokens of a window
    #[arg(long, value_name = "N", default_value_t = 500)]
    window: usize,
    /// The interpreter instead of a Vulkan device
    #[arg(long)]
    interp: bool,
    /// How far F16 may be off, as a share of exact
    #[arg(long, value_name = "SHARE", default_value_t = 0.01)]
    within: f64,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let path = args.text.unwrap_or_else(|| files::data().join("text/shakespeare.txt"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let fixture = if args.interp { Fixture::interpreter() } else { Fixture::vulkan() };
    let measured = |precision: Precision| -> Perplexity {
        let found = of_text(&fixture, &args.model, &text, [args.tokens, args.window], precision);
        println!("{precision}: perplexity {:.5} over {} tokens", found.perplexity, found.tokens);
        found
    };
    let (exact, rounded) = (measured(Precision::Exact), measured(Precision::F16));
    let off = rounded.perplexity / exact.perplexity - 1.0;
    println!("F16 is {:+.4} % of exact", 100.0 * off);
    if off.abs() <= args.within { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
