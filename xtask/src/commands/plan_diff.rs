//! `cargo xtask plan-diff A B`: what changed between two plans. In: two models or saved plans (of `pumice compile` or
//! `plan --json`). Out: the differences, each folded where it is long; that they are equal, where they are. Never here:
//! a judgement.

use crate::commands::PlanOptions;

/// Options of `plan-diff`.
#[derive(clap::Args)]
pub struct Args {
    /// A model or a saved plan, as `plan` takes them
    a: String,
    /// Another
    b: String,
    #[command(flatten)]
    options: PlanOptions,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Leave long lines whole instead of folding them
    #[arg(long)]
    wide: bool,
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
            output::say(&text(&differences, args.wide))?;
        }
        if args.exit_code && !differences.is_empty() {
            return Err(Failure::Findings { count: differences.len(), what: "differences" });
        }
        Ok(())
    }

    /// A line for each difference, or that there is none.
    fn text(differences: &[pumice_plan::diff::Difference], wide: bool) -> String {
        if differences.is_empty() {
            return "the plans are equal\n".to_owned();
        }
        let lines: String = differences.iter().map(|difference| format!("{difference}\n")).collect();
        if wide { lines } else { output::folded(&lines, output::WIDTH) }
    }

    #[cfg(test)]
    mod tests {
        use super::text;
        use pumice_plan::diff::Difference;

        #[test]
        fn equal_plans_are_said_to_be_and_long_lines_are_folded() {
            assert_eq!(text(&[], false), "the plans are equal\n");
            let what = (0..99).map(|i| format!("s{i}")).collect::<Vec<_>>().join(" ");
            let one = [Difference::Removed { what }];
            assert!(text(&one, false).lines().all(|line| line.len() <= 120));
            assert_eq!(text(&one, true).lines().count(), 1);
        }
    }
}
