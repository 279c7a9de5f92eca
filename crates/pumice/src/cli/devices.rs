//! `pumice devices`: the Vulkan devices of this machine and what pumice makes of them.

use super::Outcome;
use std::io::Write;

/// Arguments of `pumice devices`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Lists the devices.
///
/// # Errors
/// Where no loader or driver answers.
pub fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let list = pumice_vulkan::devices().map_err(|e| e.to_string())?;
    let mut rows = Vec::new();
    for report in &list {
        let (usable, says) = match &report.verdict {
            Ok(plan) => (true, format!("usable, {} of memory", plan.target.limits.memory)),
            Err(refusals) => (false, refusals.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
        };
        rows.push((report.index, report.snapshot.name.clone(), usable, says));
    }
    if args.json {
        let rows: Vec<_> = rows
            .iter()
            .map(|(index, name, usable, says)| serde_json::json!({"index": index, "name": name, "usable": usable, "verdict": says}))
            .collect();
        writeln!(out, "{}", serde_json::json!({ "devices": rows })).map_err(|e| e.to_string())?;
    } else {
        for (index, name, _, says) in &rows {
            writeln!(out, "{index}  {name}: {says}").map_err(|e| e.to_string())?;
        }
    }
    Ok(rows.iter().any(|r| r.2))
}
