//! `cargo xtask tokens`: how much Rust there is to read. In: the checkout. Out: a table or JSON. Never here: what a
//! token is (`tokens.rs`), or a law about them (`tidy/ratchets.rs`).

use serde::Serialize;

use crate::checkout::Checkout;
use crate::failure::Outcome;
use crate::tokens::{Count, Function, LONG};
use crate::{output, tidy, tokens};

/// Options of `tokens`.
#[derive(clap::Args)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// How many of the largest functions to name
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    largest: usize,
}

/// What JSON has.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    count: &'a Count,
    /// Tokens in functions over [`LONG`], in thousandths of the tokens in functions.
    long_share: usize,
    largest: Vec<&'a Function>,
}

/// Prints the count.
pub fn run(args: &Args, checkout: &Checkout) -> Outcome {
    let sources = tidy::sources(checkout)?;
    let count = tokens::count(&sources);
    let ratchets = tidy::Measured::of(&sources, &count);
    let largest = largest(&count, args.largest);
    match args.json {
        true => output::json(&Report { count: &count, long_share: count.summary.long_share(), largest }),
        false => output::say(&format!("{}{ratchets}", table(&count, &largest))),
    }
}

fn largest(count: &Count, most: usize) -> Vec<&Function> {
    let mut functions: Vec<&Function> = count.functions.iter().filter(|f| !f.is_samples()).collect();
    functions.sort_by_key(|f| std::cmp::Reverse(f.tokens));
    functions.truncate(most);
    functions
}

fn table(count: &Count, largest: &[&Function]) -> String {
    let mut out = String::new();
    for (package, tokens) in &count.crates {
        out += &format!("{package:<48} {tokens:>8}\n");
        let folders = count.folders.iter().filter(|(folder, _)| folder.starts_with(&format!("{package}/")));
        out += &folders.map(|(folder, tokens)| format!("  {folder:<46} {tokens:>8}\n")).collect::<String>();
    }
    let all = &count.summary;
    let share = all.long_share();
    out += &format!("{:<48} {:>8}\n", "tokens", count.tokens);
    out += &format!("{:<48} {:>8}\n", "tokens of compile + opt + plan/src/kernels", count.middle);
    out += &format!(
        "functions: {}, median {}, ninth tenth {}, largest {}; {}.{} % of their tokens in functions over {LONG}\n",
        all.count,
        all.median,
        all.ninth_tenth,
        all.largest,
        share / 10,
        share % 10
    );
    for f in largest {
        out += &format!("  {:>6}  {}:{} {}\n", f.tokens, f.path, f.line, f.name);
    }
    out
}
