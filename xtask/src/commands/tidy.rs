//! `cargo xtask tidy`: the house rules. In: the checkout. Out: findings, one per line or as JSON. Never here:
//! a rule; each has its own file under `tidy/`.

use crate::checkout::Checkout;
use crate::failure::{Failure, Outcome};
use crate::{output, tidy};

/// Options of `tidy`.
#[derive(clap::Args)]
pub struct Args {
    /// Only this rule (the name before a finding); may be repeated
    #[arg(long, value_name = "RULE")]
    rule: Vec<String>,
    /// Print the findings as a JSON array
    #[arg(long)]
    json: bool,
}

/// How long functions are: no law, but to be seen.
fn lengths(report: &tidy::Report) -> String {
    let head = "lines per function                 functions  median  p90  longest\n".to_owned();
    let row = |l: &tidy::Lengths| {
        format!("  {:<32} {:>9}  {:>6}  {:>3}  {:>7}\n", l.package, l.count, l.median, l.p90, l.longest)
    };
    head + &report.lengths.iter().map(row).collect::<String>()
}

/// Prints all findings; fails if there is one.
pub fn run(args: &Args, checkout: &Checkout) -> Outcome {
    let report = tidy::check(checkout, &args.rule)?;
    if args.json {
        output::json(&report.findings)?;
    } else {
        let lines: String = report.findings.iter().map(|finding| format!("{finding}\n")).collect();
        let (rules, files, findings) = (report.rules, report.files, report.findings.len());
        output::say(&format!(
            "{}{lines}tidy: {rules} rules, {files} files, {findings} findings\n",
            lengths(&report)
        ))?;
    }
    if report.findings.is_empty() {
        return Ok(());
    }
    Err(Failure::Findings { count: report.findings.len(), what: "findings" })
}
