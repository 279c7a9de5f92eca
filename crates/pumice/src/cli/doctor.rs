//! `pumice doctor`: loader, drivers, features, limits; what each missing thing costs and how to get it.

use super::Outcome;
use pumice_vulkan::doctor::{Weight, diagnose};
use std::io::Write;

/// Arguments of `pumice doctor`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Prints the findings. All is well unless something does not work at all.
///
/// # Errors
/// Where the output cannot be written.
pub fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let findings = diagnose();
    let well = findings.iter().all(|f| f.weight != Weight::Broken);
    if args.json {
        let devices: Vec<_> = pumice_vulkan::devices()
            .unwrap_or_default()
            .iter()
            .map(|r| serde_json::json!({"name": r.snapshot.name, "usable": r.verdict.is_ok()}))
            .collect();
        let findings: Vec<_> = findings
            .iter()
            .map(|f| serde_json::json!({"weight": format!("{:?}", f.weight).to_lowercase(), "what": f.what, "cost": f.cost, "remedy": f.remedy}))
            .collect();
        let report = serde_json::json!({ "devices": devices, "findings": findings });
        writeln!(out, "{report}").map_err(|e| e.to_string())?;
        // Machines read the report; a machine without a driver is no failure of the command.
        return Ok(true);
    }
    for f in &findings {
        let mark = match f.weight {
            Weight::Good => "ok     ",
            Weight::Costs => "costs  ",
            Weight::Broken => "broken ",
        };
        writeln!(out, "{mark}{}", f.what).map_err(|e| e.to_string())?;
        for (label, text) in [("cost: ", &f.cost), ("remedy: ", &f.remedy)] {
            if !text.is_empty() {
                writeln!(out, "       {label}{text}").map_err(|e| e.to_string())?;
            }
        }
    }
    Ok(well)
}
