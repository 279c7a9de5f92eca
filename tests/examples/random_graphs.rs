//! Tries random programs on one device and prints what is wrong with which, for devices that no CI has. `--help` lists
//! the arguments; `PUMICE_TEST_DEVICE` names one of several Vulkan devices.

use clap::{Parser, ValueEnum};
use pumice_tests::device;
use pumice_tests::graphs::differentiated::{self, Gradients, Order};
use pumice_tests::graphs::random;
use pumice_tests::graphs::series::{Series, Tally, histogram};
use pumice_tests::graphs::trial::{Depth, Rig, Trial};
use pumice_vulkan::DeviceOptions;
use std::path::PathBuf;
use std::process::ExitCode;

/// Random programs on one device against the evaluator.
#[derive(Parser)]
struct Args {
    /// Programs.
    #[arg(long, default_value_t = 300)]
    count: u64,
    /// The first program's seed.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Where they run.
    #[arg(long, value_enum, default_value_t = On::Vulkan)]
    device: On,
    /// Threads that try programs.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Every how many programs one is also run unfused, packed, and with naive barriers.
    #[arg(long, default_value_t = 15)]
    deep_every: u64,
    /// Gives each program a loss, and judges its gradients as well.
    #[arg(long)]
    gradients: bool,
    /// The same with gradients of a loss of gradients.
    #[arg(long, conflicts_with = "gradients")]
    second: bool,
    /// Writes the result to this file.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Prints the program of this seed, its plan, and what is wrong with it, instead.
    #[arg(long)]
    show: Option<u64>,
}

#[derive(Clone, Copy, ValueEnum)]
enum On {
    Vulkan,
    Interpreter,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let driver = device::keep_driver();
    let (rig, name) = match args.device {
        On::Vulkan => {
            let device = device::open(&DeviceOptions::default());
            let name = pumice_runtime::Device::name(device.as_ref());
            (Rig::device(device), name)
        }
        On::Interpreter => (Rig::interpreter(), "interpreter".to_owned()),
    };
    if let Some(seed) = args.show {
        return args.order().map_or_else(|| show(&rig, seed), |order| show_gradients(&rig, seed, order));
    }
    let (first, count) = (args.seed, args.count);
    let seeds = first..first.saturating_add(count);
    let series = Series { rig: &rig, deep_every: args.deep_every, threads: args.threads, limit: None };
    let heard = |done: u64, seed: u64, wrong: Option<&str>| {
        if let Some(why) = wrong {
            println!("FAILED seed {seed}: {}", why.chars().take(400).collect::<String>());
        }
        if done.is_multiple_of(100) {
            println!("{done} of {count}");
        }
    };
    let tally = match args.order() {
        None => series.run(seeds.clone(), heard),
        Some(order) => {
            let gradients = Gradients::new(&rig, order);
            let tally = series.run_by(seeds.clone(), heard, |seed, depth| gradients.try_seed(seed, depth));
            println!("{}", gradients.counts());
            tally
        }
    };
    print!("{}", histogram(seeds.clone()));
    println!("{name}: seeds {seeds:?}: {tally}");
    println!("{} passed, {} failed", tally.passed, tally.failed.len());
    if let Some(file) = args.json {
        std::fs::write(&file, json(&name, first, count, &tally).to_string()).expect("written");
    }
    drop((rig, driver));
    ExitCode::from(u8::from(!tally.failed.is_empty()))
}

impl Args {
    /// Which derivatives are asked for.
    fn order(&self) -> Option<Order> {
        self.second.then_some(Order::Second).or_else(|| self.gradients.then_some(Order::First))
    }
}

/// The program of a seed with its gradients, and what is wrong with it.
fn show_gradients(rig: &Rig, seed: u64, order: Order) -> ExitCode {
    match differentiated::of_seed(seed, order) {
        Ok(Some(program)) => {
            println!("{}", pumice_ir::text::print(&program.sample.graph.expect("it was built")));
            println!("by {}", program.wanted.join(", "));
        }
        Ok(None) => println!("no loss with a gradient"),
        Err(e) => println!("{e}"),
    }
    let outcome = Gradients::new(rig, order).try_seed(seed, Depth::Deep);
    println!("{outcome:?}");
    ExitCode::from(u8::from(outcome.is_err()))
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
    let outcome = rig.try_seed(seed, Depth::Deep);
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
