//! `cargo xtask test --op NAME`: the loop of who adds an op. In: the op's name. Out: its samples on the interpreter, on
//! the device, and on the device under the validation layer, each with its counts; what is not there is left out and
//! said to be. Never here: a sample.

use std::process::Command;
use std::time::Instant;

use super::{WITH_LIBRARIES, WORKSPACE};
use crate::checkout::Checkout;
use crate::child;
use crate::failure::{Failure, Outcome};
use crate::heartbeat::Heartbeat;
use crate::{builder_methods, op_table};

/// What a runner is called, the words that choose it, and what it needs.
struct Runner {
    name: &'static str,
    words: &'static [&'static str],
    device: bool,
    layer: bool,
}

/// Values of samples have so many elements at most: an engineer waits for this.
const RUNNERS: [Runner; 3] = [
    Runner { name: "interpreter", words: &["--interp", "--max", "4096"], device: false, layer: false },
    Runner { name: "device", words: &["--max", "16384"], device: true, layer: false },
    Runner {
        name: "validated",
        words: &["--descriptor", "--validate", "--max", "4096"],
        device: true,
        layer: true,
    },
];

/// Refuses, before anything is built, what has no samples: they are of ops, by their names in `.ir` text.
fn known(op: &str, checkout: &Checkout) -> Outcome {
    let ops: Vec<String> = op_table::read(checkout)?.into_iter().map(|row| row.text).collect();
    if ops.iter().any(|name| name == op) {
        return Ok(());
    }
    let like: Vec<&str> = ops.iter().map(String::as_str).filter(|name| name.contains(op)).collect();
    let like = if like.is_empty() { String::new() } else { format!("; there is {}", like.join(", ")) };
    Err(Failure::said(match builder_methods::read(checkout)?.contains_key(op) {
        true => format!("`{op}` is a function of the builder, made of ops, which have the samples{like}"),
        false => format!("no op is called `{op}` in `.ir` text{like}; `cargo xtask ops` lists all"),
    }))
}

/// Builds the program of samples and runs it three times.
pub fn run(op: &str, device: bool, layer: bool, checkout: &Checkout) -> Outcome {
    known(op, checkout)?;
    let mut build = child::cargo();
    build.args(["build", "--example", "ops"]).args(WORKSPACE).args(WITH_LIBRARIES);
    let building = Heartbeat::start("building");
    child::run(build.current_dir(&checkout.root))?;
    drop(building);
    let program = checkout.target_folder()?.join("debug").join("examples").join("ops");
    let program = program.with_extension(std::env::consts::EXE_EXTENSION);
    let (begin, mut wrong, mut left_out) = (Instant::now(), Vec::new(), Vec::new());
    for runner in &RUNNERS {
        if (runner.device && !device) || (runner.layer && !layer) {
            left_out.push(runner.name);
            continue;
        }
        let mut samples = Command::new(&program);
        samples.args(["--op", op]).args(runner.words).current_dir(&checkout.root);
        println!("\n{}:", runner.name);
        let running = Heartbeat::start(runner.name);
        match child::run(&mut samples) {
            Err(Failure::Child { .. }) => wrong.push(runner.name),
            other => other?,
        }
        drop(running);
    }
    for name in left_out {
        let what = if device { "validation layer" } else { "Vulkan driver" };
        println!("NOT RUN: {name}: there is no {what} here");
    }
    let seconds = begin.elapsed().as_secs_f64();
    match wrong.is_empty() {
        true => println!("{op}: all samples pass; {seconds:.0} s"),
        false => println!("{op}: FAILED on {}; {seconds:.0} s", wrong.join(", ")),
    }
    if wrong.is_empty() { Ok(()) } else { Err(Failure::Reported) }
}
