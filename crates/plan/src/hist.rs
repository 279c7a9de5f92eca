//! The dispatch histogram: how often each kernel runs, counted from the steps of a plan.

use crate::plan::{Plan, Program, Run};
use crate::stream::Stream;
use pumice_types::{Bytes, SymbolTable};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Steps of one label.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelCount {
    /// `kernel.variant [holes]`, `host`, `copy`, `fill`.
    pub label: String,
    /// How many.
    pub steps: u64,
    /// Bytes they move at the upper bounds.
    pub bytes: Bytes,
    /// Arithmetic of matrix products at the upper bounds.
    pub flops: u64,
}

/// The histogram of one program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// `load`, or the ranges of the run: `batch=1..=64 tokens=1`.
    pub range: String,
    /// Most frequent first, then by label.
    pub kernels: Vec<KernelCount>,
}

impl Histogram {
    /// Of a program, at the upper bounds of these symbols.
    pub fn of(range: String, program: &Program, symbols: &SymbolTable) -> Histogram {
        let mut counts: BTreeMap<String, KernelCount> = BTreeMap::new();
        for step in &program.steps {
            let label = step.label();
            let count =
                counts.entry(label.clone()).or_insert_with(|| KernelCount { label, ..Default::default() });
            count.steps += 1;
            let work = step.cost.upper(symbols);
            count.bytes = Bytes(count.bytes.0.saturating_add(work.bytes.0));
            count.flops = count.flops.saturating_add(work.flops);
        }
        let mut kernels: Vec<KernelCount> = counts.into_values().collect();
        kernels.sort_by_key(|k| std::cmp::Reverse(k.steps));
        Histogram { range, kernels }
    }

    /// Steps in all.
    pub fn steps(&self) -> u64 {
        self.kernels.iter().map(|k| k.steps).sum()
    }
}

/// The histograms of the runs; that of the load program stands first, if it has steps, then those of streams.
pub fn histogram(plan: &Plan) -> Vec<Histogram> {
    let load =
        (!plan.load.steps.is_empty()).then(|| Histogram::of("load".to_owned(), &plan.load, &plan.symbols));
    let name = |param: u32| plan.params.get(param as usize).map_or("?", |p| p.name.as_str());
    let stream =
        |s: &Stream| Histogram::of(format!("stream of {}", name(s.param)), &s.program, &plan.symbols);
    let run = |r: &Run| Histogram::of(run_label(plan, r), &r.program, &r.symbols_of(&plan.symbols));
    let (streams, runs) = (plan.streams.iter().map(stream), plan.runs.iter().map(run));
    load.into_iter().chain(streams).chain(runs).collect()
}

/// A run as people read it: the ranges of its symbols, and of several entries which it is of.
pub fn run_label(plan: &Plan, run: &Run) -> String {
    let ranges = ranges(&plan.symbols, run);
    match plan.entry_of(run).filter(|_| plan.entries.len() > 1) {
        Some(entry) => format!("entry {}  {ranges}", entry.name),
        None => ranges,
    }
}

/// The ranges of a run as people read them; `every binding` where there are no symbols.
pub fn ranges(symbols: &SymbolTable, run: &Run) -> String {
    let one = |((_, s), &(lo, hi)): ((_, &pumice_types::Symbol), &(u64, u64))| match lo == hi {
        true => format!("{}={lo}", s.name),
        false => format!("{}={lo}..={hi}", s.name),
    };
    let parts: Vec<String> = symbols.iter().zip(&run.ranges).map(one).collect();
    if parts.is_empty() { "every binding".to_owned() } else { parts.join(" ") }
}

impl fmt::Display for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = self.steps();
        writeln!(f, "{}: {steps} step{}", self.range, if steps == 1 { "" } else { "s" })?;
        for k in &self.kernels {
            write!(f, "{:>6}  {:>10}", k.steps, k.bytes.to_string())?;
            match k.flops {
                0 => write!(f, "  {:>12}", "")?,
                flops => write!(f, "  {:>12}", arithmetic(flops))?,
            }
            writeln!(f, "  {}", k.label)?;
        }
        Ok(())
    }
}

/// Operations in the largest unit of which there is a hundredth: `1.23 GFLOP`, `40.00 MFLOP`.
fn arithmetic(flops: u64) -> String {
    let (unit, of) = match flops {
        10_000_000.. => ("GFLOP", 1e9),
        10_000.. => ("MFLOP", 1e6),
        _ => return format!("{flops} FLOP"),
    };
    format!("{:.2} {unit}", flops as f64 / of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_programs_are_counted_in_small_units() {
        let shown = [7, 9_999, 10_000, 2_345_678, 9_999_999, 10_000_000, 12_340_000_000].map(arithmetic);
        assert_eq!(
            shown,
            ["7 FLOP", "9999 FLOP", "0.01 MFLOP", "2.35 MFLOP", "10.00 MFLOP", "0.01 GFLOP", "12.34 GFLOP"]
        );
        let one = KernelCount { label: "host".to_owned(), steps: 1, ..KernelCount::default() };
        let mut hist = Histogram { range: "load".to_owned(), kernels: vec![one.clone()] };
        assert!(hist.to_string().starts_with("load: 1 step\n"), "{hist}");
        hist.kernels.push(one);
        assert!(hist.to_string().starts_with("load: 2 steps\n"), "{hist}");
    }
}
