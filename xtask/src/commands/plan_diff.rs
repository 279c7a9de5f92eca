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
    use std::collections::BTreeMap;
    use std::fmt::Debug;

    use pumice_plan::{Plan, RegionKind, Run, Step};

    use super::Args;
    use crate::checkout::Checkout;
    use crate::failure::{Failure, Outcome};
    use crate::plans;

    /// Prints the differences of two plans.
    pub fn run(args: &Args, _checkout: &Checkout) -> Outcome {
        let a = plans::load_or_make(&args.a, &args.options)?;
        let b = plans::load_or_make(&args.b, &args.options)?;
        let lines = differences(&a, &b);
        if args.json {
            plans::print_json(&lines)?;
        } else {
            for line in &lines {
                println!("{line}");
            }
        }
        if args.exit_code && !lines.is_empty() {
            return Err(Failure::Findings { count: lines.len(), what: "differences" });
        }
        Ok(())
    }

    /// One line per difference.
    pub fn differences(a: &Plan, b: &Plan) -> Vec<String> {
        let mut lines = Vec::new();
        note(&mut lines, "name", &a.name, &b.name);
        note(&mut lines, "target", &a.target.name, &b.target.name);
        note(&mut lines, "precision", &a.precision, &b.precision);
        note(&mut lines, "placement", &a.placement, &b.placement);
        for kind in RegionKind::ALL {
            note(&mut lines, &format!("region {kind}"), &a.region_size(kind).0, &b.region_size(kind).0);
        }
        steps(&mut lines, "load", &a.load.steps, &b.load.steps);
        let (left, right) = (by_range(a), by_range(b));
        for (range, run) in &left {
            match right.get(range) {
                Some(other) => runs(&mut lines, range, run, other),
                None => lines.push(format!("- specialization {range}")),
            }
        }
        lines
            .extend(right.keys().filter(|k| !left.contains_key(*k)).map(|k| format!("+ specialization {k}")));
        // What is not named above still counts: an empty answer means equal plans.
        if lines.is_empty() && a != b {
            lines.push("~ the plans differ in frame, values, checks or order only".to_owned());
        }
        lines
    }

    fn by_range(plan: &Plan) -> BTreeMap<String, &Run> {
        plan.runs.iter().map(|run| (plans::range(plan, run), run)).collect()
    }

    fn runs(lines: &mut Vec<String>, range: &str, a: &Run, b: &Run) {
        let mut figure = |name: &str, x: u64, y: u64| note(lines, &format!("{range}: {name}"), &x, &y);
        figure("steps", a.stats.steps.into(), b.stats.steps.into());
        figure("levels", a.stats.levels.into(), b.stats.levels.into());
        figure("barriers", a.stats.barriers.into(), b.stats.barriers.into());
        figure("segments", a.program.segments.len() as u64, b.program.segments.len() as u64);
        figure("scratch", a.stats.scratch.0, b.stats.scratch.0);
        figure("scratch lower bound", a.stats.scratch_lower_bound.0, b.stats.scratch_lower_bound.0);
        steps(lines, range, &a.program.steps, &b.program.steps);
    }

    /// Steps are matched by origin and kernel, the n-th with the n-th.
    fn steps(lines: &mut Vec<String>, place: &str, a: &[Step], b: &[Step]) {
        let (left, right) = (by_name(a), by_name(b));
        for (name, steps) in &left {
            let others = right.get(name).map_or(&[][..], Vec::as_slice);
            for (x, y) in steps.iter().zip(others).filter(|(x, y)| x != y) {
                lines.push(format!("~ {place}: {name}: {}", what_differs(x, y)));
            }
            lines.extend(steps.iter().skip(others.len()).map(|_| format!("- {place}: {name}")));
        }
        for (name, steps) in &right {
            let others = left.get(name).map_or(0, Vec::len);
            lines.extend(steps.iter().skip(others).map(|_| format!("+ {place}: {name}")));
        }
    }

    fn by_name(steps: &[Step]) -> BTreeMap<String, Vec<&Step>> {
        let mut named: BTreeMap<String, Vec<&Step>> = BTreeMap::new();
        for step in steps {
            named.entry(format!("{} {}", step.origin, step.label())).or_default().push(step);
        }
        named
    }

    fn what_differs(a: &Step, b: &Step) -> String {
        let spans = |step: &Step| step.uses.iter().map(|u| u.span.to_string()).collect::<Vec<_>>().join(" ");
        match () {
            () if a.kind != b.kind => "grid or arguments".to_owned(),
            () if spans(a) != spans(b) => format!("{} -> {}", spans(a), spans(b)),
            () if a.meaning != b.meaning => "meaning".to_owned(),
            () => "uses or cost".to_owned(),
        }
    }

    fn note<T: PartialEq + Debug>(lines: &mut Vec<String>, what: &str, a: &T, b: &T) {
        if a != b {
            lines.push(format!("~ {what}: {a:?} -> {b:?}"));
        }
    }
}
