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
    use std::collections::BTreeMap;

    use pumice_plan::{Plan, Program};
    use serde::Serialize;

    use super::Args;
    use crate::checkout::Checkout;
    use crate::failure::Outcome;
    use crate::plans;

    /// Steps of one label in one run.
    #[derive(Clone, Default, PartialEq, Debug, Serialize)]
    pub struct Count {
        steps: u64,
        bytes: u64,
        flops: u64,
    }

    #[derive(Serialize)]
    struct RunHistogram {
        range: String,
        levels: u32,
        barriers: u32,
        counts: BTreeMap<String, Count>,
    }

    /// Prints the histogram of every specialization.
    pub fn run(args: &Args, _checkout: &Checkout) -> Outcome {
        let plan = plans::make(&args.model)?;
        let runs: Vec<RunHistogram> = (0..plan.runs.len()).map(|index| histogram(&plan, index)).collect();
        if args.model.json {
            return plans::print_json(&runs);
        }
        for run in &runs {
            println!("{}  {}  levels {}  barriers {}", plan.name, run.range, run.levels, run.barriers);
            println!("{:>7}  {:>12}  {:>10}  kernel", "steps", "bytes", "GFLOP");
            let mut rows: Vec<_> = run.counts.iter().collect();
            rows.sort_by_key(|(label, count)| (std::cmp::Reverse(count.steps), *label));
            for (label, count) in rows {
                println!(
                    "{:>7}  {:>12}  {:>10.3}  {label}",
                    count.steps,
                    count.bytes,
                    count.flops as f64 / 1e9
                );
            }
            println!("{:>7}  in all\n", run.counts.values().map(|count| count.steps).sum::<u64>());
        }
        Ok(())
    }

    fn histogram(plan: &Plan, index: usize) -> RunHistogram {
        let run = &plan.runs[index];
        RunHistogram {
            range: plans::range(plan, run),
            levels: run.stats.levels,
            barriers: run.stats.barriers,
            counts: count(&run.program),
        }
    }

    fn count(program: &Program) -> BTreeMap<String, Count> {
        let mut counts: BTreeMap<String, Count> = BTreeMap::new();
        for step in &program.steps {
            let count = counts.entry(step.label()).or_default();
            count.steps += 1;
            count.bytes += step.cost.bytes.0;
            count.flops += step.cost.flops;
        }
        counts
    }
}
