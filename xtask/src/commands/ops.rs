//! `cargo xtask ops`: the op x duty table, or the table of names. In: the checkout. Out: a table or JSON; a hole is a
//! failure. Never here: how a duty is recognized (`op_table`), what a name stands for (`op_names`).

use crate::checkout::Checkout;
use crate::failure::{Failure, Outcome};
use crate::{op_names, op_table, output};

/// Options of `ops`.
#[derive(clap::Args)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print what became of every name that an op has (docs/op-names.md), instead
    #[arg(long)]
    table: bool,
}

/// Prints the table; fails if a duty is missing.
pub fn run(args: &Args, checkout: &Checkout) -> Outcome {
    if args.table {
        return names(args, checkout);
    }
    let rows = op_table::read(checkout)?;
    if args.json {
        output::json(&rows)?;
    } else {
        output::say(&op_table::table(&rows))?;
    }
    let holes: Vec<_> =
        rows.iter().flat_map(|row| row.holes().into_iter().map(move |hole| (row, hole))).collect();
    for (row, (duty, how)) in &holes {
        eprintln!("{}: no {duty}: {how}", row.name);
    }
    if holes.is_empty() { Ok(()) } else { Err(Failure::Findings { count: holes.len(), what: "holes" }) }
}

/// Prints the table of names; fails if it is not what the sources have.
fn names(args: &Args, checkout: &Checkout) -> Outcome {
    let (rows, mistakes) = op_names::read(checkout)?;
    if args.json {
        output::json(&rows)?;
    } else {
        output::say(&op_names::table(&rows))?;
    }
    for (line, mistake) in &mistakes {
        eprintln!("{}:{line}: {mistake}", op_names::TABLE);
    }
    if mistakes.is_empty() {
        Ok(())
    } else {
        Err(Failure::Findings { count: mistakes.len(), what: "mistakes" })
    }
}
