//! Runs the op suite on one device and prints a line per failure, for devices that no CI has:
//! `ops [--op NAME | --only PART-OF-NAME] [--label PART-OF-LABEL] [--descriptor [--validate]] [--interp] [--as
//! h200|lavapipe] [--max ELEMENTS] [--precision f16|bf16] [--json FILE]`. What the validation layer says is a failure.

use pumice_tests::device;
use pumice_tests::op_suite::{Case, Outcome, PlainTwins, Runner, Summary, cases, cases_of, run_all};
use pumice_types::{Precision, Target};
use pumice_vulkan::{Addressing, DeviceOptions, Validation};
use std::sync::Arc;
use std::time::Instant;

const USAGE: &str = "ops [--op NAME | --only PART-OF-NAME] [--label PART-OF-LABEL] [--descriptor [--validate]] [--interp] [--as \
                     h200|lavapipe] [--max ELEMENTS] [--precision f16|bf16] [--json FILE]";

/// The first word that is no option and no option's value.
fn unknown(args: &[String]) -> Option<&String> {
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--descriptor" | "--validate" | "--interp" => {}
            "--op" | "--only" | "--label" | "--as" | "--max" | "--precision" | "--json" => drop(rest.next()),
            _ => return Some(arg),
        }
    }
    None
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Some(word) = unknown(&args) {
        eprintln!("`{word}` is no option; usage: {USAGE}");
        std::process::exit(2);
    }
    let has = |name: &str| args.iter().any(|a| a == name);
    let value = |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).cloned();
    let max = value("--max").and_then(|v| v.parse().ok());
    let selects = value("--as").map(|name| Target::profile(&name).expect("`--as` takes h200 or lavapipe"));
    let mut messages = None;
    let runner = if has("--interp") {
        Runner::interpreter(max.unwrap_or(1 << 18))
    } else if has("--descriptor") {
        let options = DeviceOptions::default()
            .addressing(Addressing::Descriptor)
            .kernels(Arc::new(PlainTwins))
            .validation(if has("--validate") { Validation::Synchronization } else { Validation::Off });
        let device = device::open(&options);
        messages = Some(device.messages().clone());
        Runner::descriptor(device, max.unwrap_or(20_000))
    } else {
        let runner = Runner::new(device::open(&DeviceOptions::default()), max.unwrap_or(1 << 22));
        let target = selects.map_or(runner.target.clone(), |other| runner.target.selecting_as(&other));
        Runner { target, ..runner }
    };
    let mut cases = match value("--op") {
        Some(op) => cases_of(|name| name == op),
        None => cases(value("--only").as_deref()),
    };
    if cases.is_empty() {
        eprintln!("no op has that name; ops are named as in `.ir` files, such as `matmul` or `layer_norm`");
        std::process::exit(2);
    }
    if let Some(precision) = value("--precision") {
        let precision: Precision = precision.parse().expect("`--precision` takes exact, f16 or bf16");
        let products = cases.into_iter().filter(Case::has_products);
        cases = products.map(|case| case.in_precision(precision)).collect();
    }
    if let Some(part) = value("--label") {
        cases.retain(|c| c.sample.label.contains(&part));
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
    slow.iter().rev().take(5).for_each(|(time, name)| println!("{:8.1} ms {name}", time.as_secs_f64() * 1e3));
    let name = runner.device.name();
    summary.print(&name);
    drop(runner);
    let said = messages.map(|log| log.take()).unwrap_or_default();
    said.iter().for_each(|message| println!("VALIDATION {message:?}"));
    println!("{:.1} s", start.elapsed().as_secs_f64());
    if let Some(file) = value("--json") {
        std::fs::write(&file, json(&name, &summary).to_string()).expect("written");
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
