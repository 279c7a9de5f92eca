//! Changes what steers runs in so many plans, runs what is not refused at every binding on two devices that poison
//! memory differently, and counts how the plans ended. `--help` lists the arguments; `PUMICE_TEST_DEVICE` names one of
//! several Vulkan devices.

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use pumice_tests::frame_mutants::{Mutants, Tally};
use std::path::PathBuf;
use std::process::ExitCode;

/// Mutants of frames, expressions, scalars and advance programs.
#[derive(Parser)]
struct Args {
    /// Mutants.
    #[arg(long, default_value_t = 100_000)]
    count: u64,
    /// The first mutant's seed.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Only mutants of the programs of these names: `found_rows,branches,turns`.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Writes the counts to this file, also every thousand mutants.
    #[arg(long)]
    json: Option<PathBuf>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    // What panics is counted; the sentence of each would hide the progress.
    std::panic::set_hook(Box::new(|_| {}));
    let mutants = Mutants::new();
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {eta} {msg}");
    let bar = ProgressBar::new(args.count).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let mut tally = Tally::default();
    if !(0..64).any(|seed| mutants.is_of(seed, &args.only)) {
        eprintln!("no program is named {}", args.only.join(" or "));
        return ExitCode::from(2);
    }
    let seeds = (args.seed..).filter(|seed| mutants.is_of(*seed, &args.only));
    for seed in seeds.take(usize::try_from(args.count).unwrap_or(usize::MAX)) {
        let wrong = tally.wrong.len();
        mutants.try_seed(seed, &mut tally);
        tally.wrong[wrong..].iter().for_each(|why| bar.suspend(|| println!("WRONG {why}")));
        bar.inc(1);
        if tally.mutants.is_multiple_of(1000) {
            bar.suspend(|| println!("{tally}"));
            write(&args, &tally);
        }
    }
    bar.finish_and_clear();
    println!("seeds from {}: {tally}", args.seed);
    write(&args, &tally);
    ExitCode::from(u8::from(!tally.wrong.is_empty()))
}

fn write(args: &Args, tally: &Tally) {
    let Some(file) = &args.json else { return };
    let json = serde_json::to_string_pretty(tally).unwrap_or_else(|e| panic!("{e}"));
    std::fs::write(file, json).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
}
