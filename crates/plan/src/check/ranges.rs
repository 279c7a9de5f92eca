//! Ranges of the runs: disjoint, and together every binding that the symbols and the conditions allow. Every cell
//! between the ends of all ranges is in exactly one run, or in none if every run has a condition that it breaks.

use super::error::{Fault, Findings};
use crate::plan::Plan;
use pumice_types::SymbolId;

/// More comparisons of a cell with a run than any set of specializations takes.
const MOST_COMPARISONS: usize = 1 << 20;

/// Checks the ranges of all runs.
pub(super) fn check(plan: &Plan, findings: &mut Findings) {
    let mut wrong = |what: String| findings.add(Fault::Ranges(what));
    if plan.runs.is_empty() {
        return wrong("there is no run".into());
    }
    if let Some(what) = wrong_range(plan) {
        return wrong(what);
    }
    let cuts: Vec<Vec<u64>> = (0..plan.symbols.len()).map(|s| starts(plan, s)).collect();
    let cells = cuts.iter().try_fold(1usize, |n, c| n.checked_mul(c.len()));
    let few = |n: &usize| n.saturating_mul(plan.runs.len()) <= MOST_COMPARISONS;
    let Some(cells) = cells.filter(few) else {
        return wrong(format!("{} runs over {} symbols are too many to follow", plan.runs.len(), cuts.len()));
    };
    for cell in 0..cells {
        let corner = corner(&cuts, cell);
        let covering = plan.runs.iter().filter(|r| r.covers(|s: SymbolId| corner.get(s.0 as usize).copied()));
        let count = covering.count();
        if count != 1 && !(count == 0 && excluded(plan, &cuts, cell)) {
            return wrong(format!("{count} runs cover {}", shown(plan, &corner)));
        }
    }
}

/// The first run that does not have one range for each symbol, inside the symbol's own.
fn wrong_range(plan: &Plan) -> Option<String> {
    for (i, run) in plan.runs.iter().enumerate() {
        let (ranges, symbols) = (run.ranges.len(), plan.symbols.len());
        if ranges != symbols {
            return Some(format!("run {i} has {ranges}, there are {symbols} symbols"));
        }
        for ((_, symbol), &(lo, hi)) in plan.symbols.iter().zip(&run.ranges) {
            if symbol.found && (lo, hi) != (symbol.min, symbol.max) {
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

/// First values of the cells along one symbol.
fn starts(plan: &Plan, symbol: usize) -> Vec<u64> {
    let max = plan.symbols.get(SymbolId(symbol as u32)).map_or(0, |s| s.max);
    let min = plan.symbols.get(SymbolId(symbol as u32)).map_or(0, |s| s.min);
    let ends = plan.runs.iter().map(|r| r.ranges[symbol]);
    let mut starts: Vec<u64> = ends.flat_map(|(lo, hi)| [lo, hi.saturating_add(1)]).chain([min]).collect();
    starts.retain(|&v| v <= max);
    starts.sort_unstable();
    starts.dedup();
    starts
}

fn corner(cuts: &[Vec<u64>], mut cell: usize) -> Vec<u64> {
    let mut corner = Vec::with_capacity(cuts.len());
    for c in cuts {
        corner.push(c[cell % c.len()]);
        cell /= c.len();
    }
    corner
}

/// Whether some condition of every run holds nowhere in a cell.
fn excluded(plan: &Plan, cuts: &[Vec<u64>], cell: usize) -> bool {
    let (mut table, mut rest) = (plan.symbols.clone(), cell);
    for (i, c) in cuts.iter().enumerate() {
        let place = rest % c.len();
        rest /= c.len();
        let id = SymbolId(i as u32);
        if let Some(max) = table.get(id).map(|symbol| symbol.max) {
            table.set_range(id, c[place], c.get(place + 1).map_or(max, |next| next - 1));
        }
    }
    plan.runs.iter().all(|run| {
        run.checks.iter().any(|check| {
            let (lo, hi) = check.value.bounds(&table);
            lo > check.max || hi < check.min
        })
    })
}

fn shown(plan: &Plan, corner: &[u64]) -> String {
    let parts = plan.symbols.iter().zip(corner).map(|((_, s), v)| format!("{}={v}", s.name));
    parts.collect::<Vec<_>>().join(" ")
}
