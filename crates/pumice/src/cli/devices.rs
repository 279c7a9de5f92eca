//! `pumice devices`: the Vulkan devices of this machine, what they are, and what pumice makes of them.

use super::{Outcome, kept_table, say, tune};
use pumice_types::target::Tuning;
use pumice_vulkan::{DevicePlan, DeviceReport, OpenError};
use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// Arguments of `pumice devices`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// A device as people and programs see it.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its number, for `--device`.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// Whether pumice can use it.
    pub usable: bool,
    /// What kind of device it is.
    pub kind: String,
    /// The Vulkan version it speaks.
    pub vulkan: String,
    /// Name and version of the driver.
    pub driver: String,
    /// Memory that plans may take, in bytes; none where it cannot be used.
    pub memory_bytes: Option<u64>,
    /// How it is used, or why it cannot be.
    pub verdict: String,
    /// By which figures kernels are chosen; none where it cannot be used.
    pub figures: Option<FigureRow>,
}

/// The figures of a device.
#[derive(Clone, Debug, Serialize)]
pub struct FigureRow {
    /// In units of plans: microseconds, and bytes and operations a microsecond.
    #[serde(flatten)]
    pub tuning: Tuning,
    /// Where they are from.
    pub from: String,
    /// The selection table, and whether it was tuned here.
    pub table: String,
}

impl FigureRow {
    fn of(report: &DeviceReport, plan: &DevicePlan, cache: Option<&Path>) -> FigureRow {
        let (tuning, from) = (plan.target.tuning.clone(), plan.figures.to_string());
        let kept = tune::kept(cache, &report.cache_file_name(kept_table::ENDING), &plan.target);
        FigureRow { tuning, from, table: kept.unwrap_or_else(|| format!("table {}", plan.target.table.id())) }
    }
}

impl Row {
    /// The row of a device; with the folder in which its table may be kept.
    fn of(report: &DeviceReport, cache: Option<&Path>) -> Row {
        let s = &report.snapshot;
        let verdict = match &report.verdict {
            Ok(plan) => {
                let (l, f) = (&plan.target.limits, &plan.target.features);
                format!(
                    "usable: {} of memory, {} shared by {} threads at most, subgroups of {}",
                    l.memory, l.max_shared_memory, l.max_workgroup_invocations, f.subgroup_size
                )
            }
            Err(refusals) => {
                let reasons: Vec<String> = refusals.iter().map(ToString::to_string).collect();
                format!("cannot be used: {}", reasons.join("; "))
            }
        };
        Row {
            index: report.index,
            name: s.name.clone(),
            usable: report.verdict.is_ok(),
            kind: format!("{:?}", s.kind).to_lowercase(),
            vulkan: s.api.to_string(),
            driver: s.driver(),
            memory_bytes: report.verdict.as_ref().ok().map(|p| p.target.limits.memory.0),
            verdict,
            figures: report.verdict.as_ref().ok().map(|plan| FigureRow::of(report, plan, cache)),
        }
    }
}

/// The devices, by the figures that are kept in the folder.
pub(super) fn rows(cache: Option<&Path>) -> Result<Vec<Row>, OpenError> {
    let kept = |report: DeviceReport| match cache {
        Some(folder) => report.kept_in(folder),
        None => report,
    };
    Ok(pumice_vulkan::devices()?.into_iter().map(|report| Row::of(&kept(report), cache)).collect())
}

/// Lists the devices. All is well if one of them can be used.
///
/// # Errors
/// Where the output cannot be written. A machine without a loader or driver has no devices, which is printed.
pub fn run(args: &Args, cache: Option<&Path>, out: &mut dyn Write) -> Outcome {
    let (rows, problem) = match rows(cache) {
        Ok(rows) => (rows, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    if args.json {
        say(out, serde_json::json!({ "devices": rows, "problem": problem }))?;
        return Ok(rows.iter().any(|r| r.usable));
    }
    for r in &rows {
        say(
            out,
            format_args!("{:>3}  {} ({}, Vulkan {}, driver {})", r.index, r.name, r.kind, r.vulkan, r.driver),
        )?;
        say(out, format_args!("     {}", r.verdict))?;
        if let Some(FigureRow { tuning, from, table }) = &r.figures {
            say(out, format_args!("     {tuning} ({from}); {table}"))?;
        }
    }
    say(out, "cpu  pumice's interpreter\n     usable: exact, slow, always there")?;
    if let Some(problem) = problem {
        say(out, format_args!("no Vulkan device: {problem}; `pumice doctor` says how to get one"))?;
    }
    Ok(rows.iter().any(|r| r.usable))
}
