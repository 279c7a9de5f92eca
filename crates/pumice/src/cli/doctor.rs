//! `pumice doctor`: loader, drivers, features, limits; what each missing thing costs and how to get it.

use super::devices::rows;
use super::{Outcome, kept_table, say};
use crate::device::{Device, MatrixUnits};
use pumice_vulkan::DeviceOptions;
use pumice_vulkan::doctor::{Finding, Weight, diagnose, has_validation_layer};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

/// Arguments of `pumice doctor`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Prints the findings. All is well unless something does not work at all; with `--json` the report is the result, and
/// a machine without a driver is no failure of the command.
///
/// # Errors
/// Where the output cannot be written.
pub fn run(args: &Args, cache: Option<&Path>, out: &mut dyn Write) -> Outcome {
    let findings = diagnose(cache);
    let choice = kept_table::used(Device::choose(&DeviceOptions::default()), cache);
    let units = choice.device.matrix_units();
    if args.json {
        let devices = rows(cache).unwrap_or_default();
        let findings: Vec<Value> = findings.iter().map(as_json).collect();
        let layer = has_validation_layer();
        let report = json!({
            "devices": devices,
            "findings": findings,
            "validation_layer": layer,
            "runs_on": choice.device.name(),
            "matrix_units": units.to_string(),
        });
        say(out, report)?;
        return Ok(true);
    }
    for f in &findings {
        say(out, format_args!("{:8}{}", word(f.weight), f.what))?;
        for (label, text) in [("cost", &f.cost), ("remedy", &f.remedy)] {
            if !text.is_empty() {
                say(out, format_args!("        {label}: {text}"))?;
            }
        }
    }
    say(out, format_args!("\npumice runs on {}: {}", choice.device.name(), choice.why))?;
    if units != MatrixUnits::Absent {
        say(out, format_args!("its matrix units are {units}"))?;
    }
    Ok(findings.iter().all(|f| f.weight != Weight::Broken))
}

fn word(weight: Weight) -> &'static str {
    match weight {
        Weight::Good => "good",
        Weight::Handled => "handled",
        Weight::Costs => "costs",
        Weight::Broken => "broken",
    }
}

fn as_json(f: &Finding) -> Value {
    json!({ "weight": word(f.weight), "what": f.what, "cost": f.cost, "remedy": f.remedy })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cargo xtask test` reads `devices[].name`, `devices[].usable` and `validation_layer`.
    #[test]
    fn the_report_has_the_form_that_tools_read() {
        let mut out = Vec::new();
        assert!(run(&Args { json: true }, None, &mut out).expect("written"));
        let report: Value = serde_json::from_slice(&out).expect("one JSON object");
        let devices = report["devices"].as_array().expect("a list");
        assert!(devices.iter().all(|d| d["name"].is_string() && d["usable"].is_boolean()));
        assert!(report["validation_layer"].is_boolean());
        assert!(report["runs_on"].is_string() && report["matrix_units"].is_string());
        assert!(report["findings"].as_array().is_some_and(|f| !f.is_empty()));
    }
}
