//! Tries random programs on one device and prints what is wrong with which, for devices that no CI has:
//! `random_graphs [--count N] [--seed FIRST] [--device vulkan|interpreter] [--threads N] [--deep-every N] [--json FILE]
//! [--show SEED]`. `PUMICE_TEST_DEVICE` names one of several Vulkan devices.

use pumice_tests::device;
use pumice_tests::graphs::random;
use pumice_tests::graphs::series::{Series, Tally, histogram};
use pumice_tests::graphs::trial::{Rig, Trial};
use pumice_vulkan::DeviceOptions;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).cloned();
    let number = |name: &str, default: u64| match value(name) {
        Some(text) => text.parse().unwrap_or_else(|_| panic!("{name} takes a number, not {text}")),
        None => default,
    };
    let driver = device::keep_driver();
    let (rig, name) = match value("--device").as_deref() {
        None | Some("vulkan") => {
            let device = device::open(&DeviceOptions::default());
            let name = pumice_runtime::Device::name(device.as_ref());
            (Rig::device(device), name)
        }
        Some("interpreter") => (Rig::interpreter(), "interpreter".to_owned()),
        Some(other) => panic!("--device vulkan|interpreter, not {other}"),
    };
    if value("--show").is_some() {
        return show(&rig, number("--show", 0));
    }
    let (first, count) = (number("--seed", 0), number("--count", 300));
    let seeds = first..first + count;
    let threads = number("--threads", 1) as usize;
    let series = Series { rig: &rig, deep_every: number("--deep-every", 15), threads, limit: None };
    let tally = series.run(seeds.clone(), |done, seed, wrong| {
        if let Some(why) = wrong {
            println!("FAILED seed {seed}: {}", why.chars().take(400).collect::<String>());
        }
        if done.is_multiple_of(100) {
            println!("{done} of {count}");
        }
    });
    print!("{}", histogram(seeds.clone()));
    println!("{name}: seeds {seeds:?}: {tally}");
    println!("{} passed, {} failed", tally.passed, tally.failed.len());
    if let Some(file) = value("--json") {
        std::fs::write(&file, json(&name, first, count, &tally).to_string()).expect("written");
    }
    drop((rig, driver));
    ExitCode::from(u8::from(!tally.failed.is_empty()))
}

/// The program of a seed, its plan, and what is wrong with it.
fn show(rig: &Rig, seed: u64) -> ExitCode {
    let trial = Trial::new(seed).unwrap_or_else(|e| panic!("{e}"));
    println!("{}", pumice_ir::text::print(&trial.graph));
    println!("bindings {:?}", random::sample(seed).bindings);
    match trial.plan(&rig.target, trial.options()) {
        Ok(plan) => println!("{plan}"),
        Err(e) => println!("{e}"),
    }
    let outcome = rig.try_seed(seed, pumice_tests::graphs::trial::Depth::Deep);
    println!("{outcome:?}");
    ExitCode::from(u8::from(outcome.is_err()))
}

fn json(device: &str, first: u64, count: u64, tally: &Tally) -> serde_json::Value {
    serde_json::json!({
        "device": device, "first_seed": first, "count": count, "passed": tally.passed, "deep": tally.deep,
        "failed": tally.failed.iter().map(|(s, w)| serde_json::json!({ "seed": s, "why": w })).collect::<Vec<_>>(),
        "outputs": tally.verdict.outputs, "loose": tally.verdict.loose,
        "worst": tally.verdict.worst, "seconds": tally.time.as_secs_f64(),
    })
}
