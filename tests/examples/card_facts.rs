//! What pumice finds out about a GPU: figures in ten openings with fresh cache folders, what opening costs without a
//! folder, the first time with one, and later; the figures measured on the open device, compute units by the steps of
//! time among them.
//!
//! In: arguments alone, so that the program can be carried to another machine. Out: lines for people. A device that
//! is a CPU or has a profile is not measured when it is opened; it is measured once it is open.

use clap::Parser;
use pumice_vulkan::{DeviceOptions, Pick, VulkanDevice};
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// Prints the figures of a GPU.
#[derive(Clone, Debug, Parser)]
#[command(name = "card_facts")]
struct Args {
    /// Part of the device's name; without it the best device
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Openings with fresh folders
    #[arg(long, value_name = "N", default_value_t = 10)]
    openings: usize,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("card_facts: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let base = std::env::temp_dir().join(format!("pumice-card-facts-{}", std::process::id()));
    let result = facts(args, &base);
    // What cannot be removed is rubbish in the folder for rubbish.
    let _ = std::fs::remove_dir_all(&base);
    result
}

fn facts(args: &Args, base: &Path) -> Result<(), Box<dyn Error>> {
    let pick = args.device.clone().map_or(Pick::Best, Pick::Name);
    let open = |what: &str, options: &DeviceOptions| -> Result<VulkanDevice, Box<dyn Error>> {
        let begin = Instant::now();
        let device = VulkanDevice::open(&pick, options)?;
        let ms = begin.elapsed().as_secs_f64() * 1e3;
        let plan = device.device_plan();
        let table = plan.target.table.id();
        println!("{what}: {ms:.0} ms: {} ({}); table {table}", plan.target.tuning, plan.figures);
        device.notes().iter().for_each(|note| println!("  note: {note}"));
        Ok(device)
    };
    let first = open("without a folder", &DeviceOptions::default())?;
    println!(
        "{} ({}), units said: {:?}",
        first.snapshot().name,
        first.snapshot().driver(),
        first.snapshot().compute_units
    );
    drop(first);
    drop(open("without a folder, again", &DeviceOptions::default())?);
    for i in 0..args.openings {
        let options = DeviceOptions::default().cache_dir(base.join(i.to_string()));
        drop(open(&format!("fresh folder {i}"), &options)?);
        drop(open(&format!("folder {i} again"), &options)?);
    }
    let device = open("without a folder", &DeviceOptions::default())?;
    for i in 0..args.openings {
        let begin = Instant::now();
        let figures = device.measure()?;
        let ms = begin.elapsed().as_secs_f64() * 1e3;
        println!("measured {i}: {ms:.0} ms: {}", figures.over(&device.device_plan().target.tuning));
    }
    Ok(())
}
