//! Measures kernels on a device and writes its selection table, which `Device::with_table`, `cargo xtask plan --table`
//! and the `table` of a `Target` take. What is measured, and how: `pumice::tune`.
//!
//! In: arguments alone, so that the program can be carried to another machine. Out: a table; what was found, on
//! request.

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use pumice::tune::{Finding, Progress, Report, Scope, Tuner};
use pumice::{Device, DeviceKind, Pick, Table};
use pumice_vulkan::{DeviceOptions, VulkanDevice, snapshot};
use std::error::Error;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Arc;

/// Measures kernels and writes a selection table.
#[derive(Clone, Debug, Parser)]
#[command(name = "tune")]
struct Args {
    /// The device's number; without it the best device
    #[arg(long, value_name = "N")]
    device: Option<usize>,
    /// Write the table to this file instead of the standard output
    #[arg(short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The table to begin with, whose classes of shapes are kept; without it the device's own
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// Small shapes and few samples
    #[arg(long)]
    quick: bool,
    /// Only families that begin with one of these, separated by commas: `matmul.tile,attention`
    #[arg(long, value_name = "TEXT", value_delimiter = ',')]
    only: Vec<String>,
    /// Print what was found for each row as one JSON object; needs -o
    #[arg(long, requires = "out")]
    json: bool,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tune: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    if let (Some(out), Some(table)) = (&args.out, &args.table) {
        pumice::apart::check(out, &[table])?;
    }
    let pick = args.device.map_or(Pick::Best, Pick::Index);
    let vulkan = VulkanDevice::open(&pick, &DeviceOptions::default())?;
    let said = vulkan.snapshot().clone();
    let cpu = said.kind == snapshot::DeviceKind::Cpu;
    let kind = if cpu { DeviceKind::CpuDriver } else { DeviceKind::Gpu };
    let mut device = Device::from_runtime(Arc::new(vulkan), kind);
    if let Some(file) = &args.table {
        device = device.with_table(Arc::new(Table::from_json(&std::fs::read_to_string(file)?)?));
    }
    let (class, measured) =
        (device.target().name.clone(), format!("{}, {}, {}", said.name, said.driver(), today()));
    let bar = ProgressBar::new(0).with_style(style());
    let scope = if args.quick { Scope::Quick } else { Scope::Full };
    let mut observe = |p: &Progress| {
        bar.set_length(p.total as u64);
        bar.set_position(p.done as u64);
        bar.set_message(p.row.clone());
    };
    let mut tuner = Tuner { device, scope, only: args.only.clone(), time: None, observe: &mut observe };
    let Report { table, findings, put_back, .. } = tuner.run(&class, &measured)?;
    bar.finish_and_clear();
    put_back.iter().for_each(|family| eprintln!("tune: {family} stays as it was: a shape became slower"));
    let text = table.to_json()?;
    match &args.out {
        None => print!("{text}"),
        Some(file) => {
            std::fs::write(file, text)?;
            report(args, file, &table, &findings)?;
        }
    }
    Ok(())
}

fn style() -> ProgressStyle {
    let style = ProgressStyle::with_template("{bar:32} {pos}/{len} {msg} {eta}");
    style.unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn report(
    args: &Args,
    file: &std::path::Path,
    table: &Table,
    findings: &[Finding],
) -> Result<(), Box<dyn Error>> {
    if args.json {
        let object = serde_json::json!({ "table": table.id(), "file": file, "findings": findings });
        println!("{object}");
        return Ok(());
    }
    for f in findings {
        let change = if f.before == f.after { "stays".to_owned() } else { format!("-> {}", f.after) };
        println!(
            "{} {:?}: {} {change} ({:.0} %, {} shapes)",
            f.family,
            f.when,
            f.before,
            100.0 * f.share,
            f.shapes.len()
        );
    }
    println!("{}: table {}", file.display(), table.id());
    Ok(())
}

/// The date as the system's `date` says it; empty where there is none.
fn today() -> String {
    let output = Command::new("date").args(["-u", "+%Y-%m-%d"]).output();
    output.ok().and_then(|o| String::from_utf8(o.stdout).ok()).unwrap_or_default().trim().to_owned()
}
