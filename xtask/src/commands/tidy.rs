//! `cargo xtask tidy`: the house rules. In: the checkout. Out: findings, one per line or as JSON. Never here:
//! a rule; each has its own file under `tidy/`.

use crate::checkout::Checkout;
use crate::failure::{Failure, Outcome};
use crate::tidy;

/// Options of `tidy`.
#[derive(clap::Args)]
pub struct Args {
    /// Only this rule (the name in front of a finding); may be repeated
    #[arg(long, value_name = "RULE")]
    rule: Vec<String>,
    /// Print the findings as a JSON array
    #[arg(long)]
    json: bool,
}

/// Prints all findings; fails if there is one.
pub fn run(args: &Args, checkout: &Checkout) -> Outcome {
    let report = tidy::check(checkout, &args.rule)?;
    if args.json {
        let text =
            serde_json::to_string_pretty(&report.findings).map_err(|e| Failure::said(e.to_string()))?;
        println!("{text}");
    } else {
        for finding in &report.findings {
            println!("{finding}");
        }
        println!("tidy: {} rules, {} files, {} findings", report.rules, report.files, report.findings.len());
    }
    if report.findings.is_empty() {
        return Ok(());
    }
    Err(Failure::Findings { count: report.findings.len(), what: "findings" })
}
