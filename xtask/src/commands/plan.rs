//! `cargo xtask plan MODEL`: the plan as a person reads it. In: a model. Out: levels, barriers, segments, regions,
//! bytes and floor, or the whole plan as JSON (which `plan-diff` reads). Never here: a device.

use crate::commands::ModelArgs;

/// Options of `plan`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    model: ModelArgs,
    /// One screen instead of every step
    #[arg(long)]
    summary: bool,
    /// Leave long lines whole instead of folding them
    #[arg(long)]
    wide: bool,
}

#[cfg(feature = "libraries")]
pub use run::run;

#[cfg(feature = "libraries")]
mod run {
    use super::Args;
    use crate::checkout::Checkout;
    use crate::failure::Outcome;
    use crate::{output, plans};

    /// Prints the plan.
    pub fn run(args: &Args, _checkout: &Checkout) -> Outcome {
        let (plan, took) = plans::timed(&args.model.model, &args.model.options)?;
        if args.model.json {
            return output::json(&plan);
        }
        let text = if args.summary { pumice_plan::print::summary(&plan) } else { plan.to_string() };
        output::say(&if args.wide { text } else { output::folded(&text, output::WIDTH) })?;
        took.into_iter().for_each(|t| {
            let (whole, check) = (t.whole.as_secs_f64() * 1e3, t.check.as_secs_f64() * 1e3);
            let share = 100.0 * check / whole;
            // Not on the standard output: there, equal plans are equal texts.
            eprintln!("made in {whole:.1} ms, {check:.1} ms of it by the checker ({share:.0} %)");
        });
        Ok(())
    }
}
