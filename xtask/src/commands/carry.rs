//! `cargo xtask carry`: what a machine with a GPU and nothing else needs. In: the checkout. Out: a folder with stripped
//! release programs and the command lines to run there, one a line. Never here: another machine.

use std::fs;
use std::path::PathBuf;

use crate::checkout::Checkout;
use crate::child;
use crate::failure::{Failure, Outcome};

/// Options of `carry`.
#[derive(clap::Args)]
pub struct Args {
    /// Where the programs go; without it `target/carry`
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The examples of `pumice-tests` that are tools.
const TOOLS: [&str; 5] = ["bench", "large_operands", "ops", "random_graphs", "tune"];

/// What to run, in this order. Programs write JSON beside themselves; `pumice selftest` prints it.
const LINES: [&str; 10] = [
    "./pumice doctor",
    "./pumice selftest --json > selftest.json",
    "./ops --max 67108864 --json ops.json",
    "./ops --as lavapipe --max 1048576 --json ops-as-cpu.json",
    "./random_graphs --seed 1000000 --count 1000 --threads 4 --json random-0.json",
    "./random_graphs --seed 2000000 --count 1000 --threads 4 --json random-1.json",
    "./random_graphs --seed 3000000 --count 1000 --threads 4 --json random-2.json",
    "./large_operands --json large-operands.json",
    "./bench --json bench.jsonl",
    "./tune -o table.json --json > tune.json",
];

/// Builds, strips, copies, and says how large it is.
pub fn run(args: &Args, checkout: &Checkout) -> Outcome {
    let target = checkout.target_folder()?;
    let out = args.out.clone().unwrap_or_else(|| target.join("carry"));
    fs::create_dir_all(&out).map_err(Failure::file(&out))?;
    // Symbols are most of a program's size, and nothing there reads them.
    let strip = "profile.release.strip=\"symbols\"";
    let mut build = child::cargo();
    build.args(["build", "--release", "--config", strip, "--package", "pumice-tests"]);
    build.args(TOOLS.iter().flat_map(|tool| ["--example", tool]));
    child::run(build.current_dir(&checkout.root))?;
    let mut build = child::cargo();
    build.args(["build", "--release", "--config", strip, "--package", "pumice", "--features", "cli"]);
    child::run(build.args(["--bin", "pumice"]).current_dir(&checkout.root))?;
    let release = target.join("release");
    let mut bytes = 0;
    for (name, folder) in
        TOOLS.iter().map(|t| (*t, release.join("examples"))).chain([("pumice", release.clone())])
    {
        let from = folder.join(name).with_extension(std::env::consts::EXE_EXTENSION);
        let to = out.join(name).with_extension(std::env::consts::EXE_EXTENSION);
        bytes += fs::copy(&from, &to).map_err(Failure::file(&from))?;
    }
    let list = out.join("commands.txt");
    fs::write(&list, LINES.join("\n") + "\n").map_err(Failure::file(&list))?;
    println!(
        "{}: {} programs, {:.0} MiB, commands.txt",
        out.display(),
        TOOLS.len() + 1,
        bytes as f64 / 1048576.0
    );
    Ok(())
}
