//! Runs the op suite on one device and prints a line per failure, for devices that no CI has. What the validation layer
//! says is a failure.

use clap::Parser;
use pumice_tests::device;
use pumice_tests::op_suite::{Case, Outcome, PlainTwins, Runner, Summary, cases, cases_of, run_all};
use pumice_types::{Precision, Target};
use pumice_vulkan::{Addressing, DeviceOptions, Validation};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Runs the samples of ops on one device
#[derive(Clone, Debug, Parser)]
#[command(name = "ops")]
struct Args {
    /// The samples of one op alone
    #[arg(long, value_name = "NAME", conflicts_with = "only")]
    op: Option<String>,
    /// Ops whose name contains this
    #[arg(long, value_name = "PART-OF-NAME")]
    only: Option<String>,
    /// Samples whose label contains this
    #[arg(long, value_name = "PART-OF-LABEL")]
    label: Option<String>,
    /// Kernels that find their operands by descriptors
    #[arg(long)]
    descriptor: bool,
    /// Under the validation layer
    #[arg(long, requires = "descriptor")]
    validate: bool,
    /// On the interpreter
    #[arg(long, conflicts_with = "descriptor")]
    interp: bool,
    /// Choose kernels as for this device: h200 or lavapipe
    #[arg(long = "as", value_name = "TARGET", value_parser = |name: &str| Target::profile(name).ok_or("expected h200 or lavapipe"))]
    selects: Option<Target>,
    /// Leave out samples with larger values
    #[arg(long, value_name = "ELEMENTS")]
    max: Option<u64>,
    /// Products alone, with factors rounded so: exact, f16 or bf16
    #[arg(long, value_name = "PRECISION")]
    precision: Option<Precision>,
    /// As many of the slowest are printed with their times
    #[arg(long, value_name = "COUNT", default_value_t = 5)]
    slowest: usize,
    /// Also write what failed and what was left out to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn main() {
    let args = Args::parse();
    let mut messages = None;
    let runner = if args.interp {
        Runner::interpreter(args.max.unwrap_or(1 << 18))
    } else if args.descriptor {
        let options = DeviceOptions::default()
            .addressing(Addressing::Descriptor)
            .kernels(Arc::new(PlainTwins))
            .validation(if args.validate { Validation::Synchronization } else { Validation::Off });
        let device = device::open(&options);
        messages = Some(device.messages().clone());
        Runner::descriptor(device, args.max.unwrap_or(20_000))
    } else {
        let runner = Runner::new(device::open(&DeviceOptions::default()), args.max.unwrap_or(1 << 22));
        let target =
            args.selects.as_ref().map_or(runner.target.clone(), |other| runner.target.selecting_as(other));
        Runner { target, ..runner }
    };
    let mut cases = match &args.op {
        Some(op) => cases_of(|name| name == op),
        None => cases(args.only.as_deref()),
    };
    if cases.is_empty() {
        eprintln!("no op has that name; ops are named as in `.ir` files, such as `matmul` or `layer_norm`");
        std::process::exit(2);
    }
    if let Some(precision) = args.precision {
        let products = cases.into_iter().filter(Case::has_products);
        cases = products.map(|case| case.in_precision(precision)).collect();
    }
    if let Some(part) = &args.label {
        cases.retain(|c| c.sample.label.contains(part));
    }
    let (start, mut slow) = (Instant::now(), Vec::new());
    let mut began = start;
    let summary = run_all(&runner, &cases, |case, outcome| match outcome {
        None => began = Instant::now(),
        Some(outcome) => {
            slow.push((began.elapsed(), case.name()));
            if let Outcome::Failed(why) = outcome {
                println!("FAILED {}: {}", case.name(), why.chars().take(400).collect::<String>());
            }
        }
    });
    slow.sort();
    slow.iter()
        .rev()
        .take(args.slowest)
        .for_each(|(time, name)| println!("{:8.1} ms {name}", time.as_secs_f64() * 1e3));
    let name = runner.device.name();
    summary.print(&name);
    drop(runner);
    let said = messages.map(|log| log.take()).unwrap_or_default();
    said.iter().for_each(|message| println!("VALIDATION {message:?}"));
    println!("{:.1} s", start.elapsed().as_secs_f64());
    if let Some(file) = &args.json {
        std::fs::write(file, json(&name, &summary).to_string()).expect("written");
    }
    std::process::exit(i32::from(!(summary.failed.is_empty() && said.is_empty())));
}

fn json(device: &str, summary: &Summary) -> serde_json::Value {
    let pairs = |list: &[(String, String)]| {
        list.iter().map(|(name, why)| serde_json::json!({ "name": name, "why": why })).collect::<Vec<_>>()
    };
    serde_json::json!({
        "device": device, "passed": summary.passed,
        "failed": pairs(&summary.failed), "excluded": pairs(&summary.excluded),
    })
}
