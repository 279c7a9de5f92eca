//! Tries random convolutions and pools on one device against the evaluator. `--help` lists the arguments;
//! `PUMICE_TEST_DEVICE` names one of several Vulkan devices.

use clap::{Parser, ValueEnum};
use pumice_cpu_ref::Interpreter;
use pumice_runtime::Device;
use pumice_tests::device;
use pumice_tests::graphs::windows::Asked;
use pumice_types::Target;
use pumice_vulkan::DeviceOptions;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Random convolutions and pools on one device against the evaluator.
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
    /// Runs the kernels that another device selects (`h200`, `lavapipe`).
    #[arg(long)]
    selecting_as: Option<String>,
    /// Compute units of that device: the fewer, the larger the tiles that it selects.
    #[arg(long, requires = "selecting_as")]
    units: Option<u32>,
}

#[derive(Clone, Copy, ValueEnum)]
enum On {
    Vulkan,
    Interpreter,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let driver = device::keep_driver();
    let other = match args.selecting_as.as_deref().map(|name| (name, Target::profile(name))) {
        Some((name, None)) => {
            println!("there is no profile `{name}`");
            return ExitCode::from(2);
        }
        other => other.and_then(|(_, target)| target).map(|mut target| {
            target.tuning.compute_units = args.units.unwrap_or(target.tuning.compute_units);
            target
        }),
    };
    let device: Arc<dyn Device> = match args.device {
        On::Interpreter => Arc::new(Interpreter::new(Target::lavapipe())),
        On::Vulkan => device::open(&DeviceOptions::default()),
    };
    let asked = Asked::of(device, other.as_ref());
    let (next, end) = (AtomicU64::new(args.seed), args.seed.saturating_add(args.count));
    let (failed, used) = (AtomicU64::new(0), Mutex::new(BTreeMap::<String, u64>::new()));
    std::thread::scope(|scope| {
        for _ in 0..args.threads.max(1) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        break;
                    }
                    let mut used = used.lock().expect("no thread panics");
                    asked.kernels(seed).into_iter().for_each(|k| *used.entry(k).or_default() += 1);
                    drop(used);
                    if let Err(why) = asked.try_seed(seed) {
                        failed.fetch_add(1, Ordering::Relaxed);
                        println!("FAILED {}", why.chars().take(900).collect::<String>());
                    }
                }
            });
        }
    });
    for (kernel, times) in used.into_inner().expect("no thread panics") {
        println!("{times:6} {kernel}");
    }
    let failed = failed.into_inner();
    println!("{} passed, {failed} failed", args.count - failed);
    drop((asked, driver));
    ExitCode::from(u8::from(failed > 0))
}
