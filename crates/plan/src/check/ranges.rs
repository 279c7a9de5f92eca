//! Ranges of the runs: disjoint, and together every binding that the symbols and the conditions allow. Every cell
//! between the ends of all ranges is in exactly one run, or in none if every run has a condition that it breaks.

use super::error::{Fault, Findings};
use crate::entry::Entry;
use crate::plan::{Plan, Run};
use pumice_types::SymbolId;

/// More comparisons of a cell with a run than any set of specializations takes.
const MOST_COMPARISONS: usize = 1 << 20;

/// Checks the ranges of all runs, entry by entry.
pub(super) fn check(plan: &Plan, findings: &mut Findings) {
    let wrong = |what: String| Fault::Ranges(what);
    if plan.runs.is_empty() {
        return findings.add(wrong("there is no run".into()));
    }
    if let Some(what) = wrong_range(plan) {
        return findings.add(wrong(what));
    }
    let mut left = MOST_COMPARISONS;
    for (number, entry) in plan.entries.iter().enumerate() {
        let runs = plan.runs_of(number).map(|(_, run)| run).collect();
        if let Some(what) = (Runs { plan, entry, runs }).uncovered(&mut left) {
            findings.add(wrong(what));
        }
    }
}

/// The runs of an entry.
struct Runs<'p> {
    plan: &'p Plan,
    entry: &'p Entry,
    runs: Vec<&'p Run>,
}

impl Runs<'_> {
    /// What is covered by no run, or by two; of so many comparisons that are left.
    fn uncovered(&self, left: &mut usize) -> Option<String> {
        let cuts: Vec<Vec<u64>> = (0..self.plan.symbols.len()).map(|s| self.starts(s)).collect();
        let cells = cuts.iter().try_fold(1usize, |n, c| n.checked_mul(c.len()));
        let after = |n: &usize| left.checked_sub(n.saturating_mul(self.runs.len()));
        let Some((cells, after)) = cells.and_then(|n| Some((n, after(&n)?))) else {
            return Some(format!(
                "{} runs over {} symbols are too many to follow",
                self.runs.len(),
                cuts.len()
            ));
        };
        *left = after;
        (0..cells).find_map(|cell| {
            let corner = corner(&cuts, cell);
            let value = |s: SymbolId| corner.get(s.0 as usize).copied();
            let count = self.runs.iter().filter(|run| run.covers(value)).count();
            let wrong = count != 1 && !(count == 0 && self.excluded(&cuts, cell));
            wrong.then(|| format!("{count} runs cover {}", self.shown(&corner)))
        })
    }

    /// First values of the cells along one symbol.
    fn starts(&self, symbol: usize) -> Vec<u64> {
        let max = self.plan.symbols.get(SymbolId(symbol as u32)).map_or(0, |s| s.max);
        let min = self.plan.symbols.get(SymbolId(symbol as u32)).map_or(0, |s| s.min);
        let ends = self.runs.iter().map(|r| r.ranges[symbol]);
        let mut starts: Vec<u64> =
            ends.flat_map(|(lo, hi)| [lo, hi.saturating_add(1)]).chain([min]).collect();
        starts.retain(|&v| v <= max);
        starts.sort_unstable();
        starts.dedup();
        starts
    }

    /// Whether some condition of every run holds nowhere in a cell.
    fn excluded(&self, cuts: &[Vec<u64>], cell: usize) -> bool {
        let (mut table, mut rest) = (self.plan.symbols.clone(), cell);
        for (i, c) in cuts.iter().enumerate() {
            let place = rest % c.len();
            rest /= c.len();
            let id = SymbolId(i as u32);
            if let Some(max) = table.get(id).map(|symbol| symbol.max) {
                table.set_range(id, c[place], c.get(place + 1).map_or(max, |next| next - 1));
            }
        }
        !self.runs.is_empty()
            && self.runs.iter().all(|run| {
                run.checks.iter().any(|check| {
                    let (lo, hi) = check.value.bounds(&table);
                    lo > check.max || hi < check.min
                })
            })
    }

    fn shown(&self, corner: &[u64]) -> String {
        let parts = self.plan.symbols.iter().zip(corner).map(|((_, s), v)| format!("{}={v}", s.name));
        let all: Vec<String> = parts.collect();
        match self.plan.entries.len() {
            1 => all.join(" "),
            _ => format!("{} of entry `{}`", all.join(" "), self.entry.name),
        }
    }
}

fn corner(cuts: &[Vec<u64>], mut cell: usize) -> Vec<u64> {
    let mut corner = Vec::with_capacity(cuts.len());
    for c in cuts {
        corner.push(c[cell % c.len()]);
        cell /= c.len();
    }
    corner
}

/// The first run that does not have one range for each symbol, inside the symbol's own: all of it for one that runs
/// find, or that its entry does not name.
fn wrong_range(plan: &Plan) -> Option<String> {
    for (i, run) in plan.runs.iter().enumerate() {
        let (ranges, symbols) = (run.ranges.len(), plan.symbols.len());
        if ranges != symbols {
            return Some(format!("run {i} has {ranges}, there are {symbols} symbols"));
        }
        for ((id, symbol), &(lo, hi)) in plan.symbols.iter().zip(&run.ranges) {
            let foreign = plan.entry_of(run).is_some_and(|entry| !entry.has_symbol(id));
            if (symbol.found || foreign) && (lo, hi) != (symbol.min, symbol.max) {
                return Some(format!("run {i} is for some values of {symbol}"));
            }
            if lo > hi || lo < symbol.min || hi > symbol.max {
                let name = &symbol.name;
                return Some(format!(
                    "run {i} has {name} in {lo}..={hi}, which is empty or outside {symbol}"
                ));
            }
        }
    }
    None
}
