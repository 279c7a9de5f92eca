//! `cargo xtask plan-diff A B`: what changed between two plans. In: two models or saved plans (`plan --json`).
//! Out: one line per difference; nothing where there is none. Never here: a judgement.

use crate::commands::PlanOptions;

/// Options of `plan-diff`.
#[derive(clap::Args)]
pub struct Args {
    /// A model or a saved plan
    a: String,
    /// Another
    b: String,
    #[command(flatten)]
    options: PlanOptions,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Fail if there is a difference
    #[arg(long)]
    exit_code: bool,
}

#[cfg(feature = "libraries")]
pub use run::run;

#[cfg(feature = "libraries")]
mod run {
    use super::Args;
    use crate::checkout::Checkout;
    use crate::failure::{Failure, Outcome};
    use crate::{output, plans};

    /// Prints the differences of two plans.
    pub fn run(args: &Args, _checkout: &Checkout) -> Outcome {
        let a = plans::load_or_make(&args.a, &args.options)?;
        let b = plans::load_or_make(&args.b, &args.options)?;
        let differences = pumice_plan::diff::diff(&a, &b);
        if args.json {
            output::json(&differences)?;
        } else {
            output::say(&differences.iter().map(|difference| format!("{difference}\n")).collect::<String>())?;
        }
        if args.exit_code && !differences.is_empty() {
            return Err(Failure::Findings { count: differences.len(), what: "differences" });
        }
        Ok(())
    }
}
