//! `cargo xtask hist MODEL`: the dispatch histogram, counted from the plan's steps. In: a model. Out: per
//! specialization, how often each kernel variant runs, as a table or JSON. Never here: a device.

use crate::commands::ModelArgs;

/// Options of `hist`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    model: ModelArgs,
}

#[cfg(feature = "libraries")]
pub use run::run;

#[cfg(feature = "libraries")]
mod run {
    use super::Args;
    use crate::checkout::Checkout;
    use crate::failure::Outcome;
    use crate::{output, plans};

    /// Prints the histogram of the load program and of every specialization.
    pub fn run(args: &Args, _checkout: &Checkout) -> Outcome {
        let plan = plans::make(&args.model)?;
        let histograms = pumice_plan::hist::histogram(&plan);
        if args.model.json {
            return output::json(&histograms);
        }
        let tables: String = histograms.iter().map(|histogram| format!("\n{histogram}")).collect();
        output::say(&format!("{} for {}\n{tables}", plan.name, plan.target.name))
    }
}
