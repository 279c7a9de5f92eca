//! Loops that a driver would end: where the target limits how often the loops of one invocation turn, the bound that the
//! kernel's declaration states keeps within it, with every argument at its largest over the run's ranges.

use super::Scope;
use super::error::{Fault, Findings};
use crate::frame::FrameSlot;
use crate::plan::{Plan, Run};
use crate::step::StepKind;
use pumice_types::SymbolTable;

/// Checks every kernel of a program.
pub(super) fn check(scope: &Scope<'_>, findings: &mut Findings) {
    let Some(limit) = scope.plan.target.limits.loop_turns else { return };
    let symbols = scope.run.map_or_else(SymbolTable::default, |run| ranges(&scope.plan.symbols, run));
    let upper = |word: u32| upper(scope, &symbols, word);
    for (id, step) in scope.steps() {
        let (StepKind::Dispatch { call, .. } | StepKind::Advance { call }) = &step.kind else { continue };
        // A call that does not fit its declaration is a fault of its own.
        let Ok(decl) = call.check() else { continue };
        let turns = decl.turns(call, &upper);
        if turns > limit {
            let kernel = format!("{}.{}", call.kernel, call.variant);
            findings.at(id, &step.origin, Fault::LoopTurns { kernel, turns, limit });
        }
    }
}

/// Most turns that any kernel of a plan makes.
pub(crate) fn most_turns(plan: &Plan) -> u64 {
    let runs = plan.runs.iter().map(|run| Scope::of_run(plan, run));
    let scenes =
        runs.chain([Scope::load(plan)]).chain(plan.streams.iter().map(|s| Scope::of_stream(plan, s)));
    scenes.map(|scope| most_of(&scope)).max().unwrap_or(0)
}

fn most_of(scope: &Scope<'_>) -> u64 {
    let symbols = scope.run.map_or_else(SymbolTable::default, |run| ranges(&scope.plan.symbols, run));
    let upper = |word: u32| upper(scope, &symbols, word);
    let calls = scope.program.steps.iter().filter_map(|step| match &step.kind {
        StepKind::Dispatch { call, .. } | StepKind::Advance { call } => Some(call),
        _ => None,
    });
    let turns = calls.filter_map(|call| call.check().ok().map(|decl| decl.turns(call, &upper)));
    turns.max().unwrap_or(0)
}

/// The symbols within the ranges of a run.
fn ranges(symbols: &SymbolTable, run: &Run) -> SymbolTable {
    let mut table = symbols.clone();
    let ids: Vec<_> = symbols.iter().map(|(id, _)| id).collect();
    for (id, &(min, max)) in ids.into_iter().zip(&run.ranges) {
        table.set_range(id, min, max);
    }
    table
}

/// The largest value of a frame word; without bound where nothing says one.
fn upper(scope: &Scope<'_>, symbols: &SymbolTable, word: u32) -> i64 {
    let slot = scope.run.and_then(|run| run.frame.words.get(word as usize));
    match slot {
        Some(FrameSlot::Bound(id)) => {
            symbols.get(*id).map_or(i64::MAX, |s| i64::try_from(s.max).unwrap_or(i64::MAX))
        }
        Some(FrameSlot::Expr(e)) => e.bounds(symbols).1,
        Some(FrameSlot::Scalar(id)) => {
            scope.plan.scalars.get(id.0 as usize).map_or(i64::MAX, |s| s.max as i64)
        }
        Some(FrameSlot::Temporary | FrameSlot::Stopped | FrameSlot::Replays) | None => i64::MAX,
    }
}
