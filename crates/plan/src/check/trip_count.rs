//! Loops that a driver would end: where the target limits the trip count of all loops of one invocation, the bound that
//! the kernel's declaration states keeps within it, with every argument at its largest over the run's ranges.

use super::Scope;
use super::error::{Fault, Findings};
use super::expressions::symbols_of;
use crate::frame::FrameSlot;
use crate::kernel::{KernelCall, KernelDecl};
use crate::step::{Step, StepId};
use pumice_types::SymbolTable;

/// Trip counts of the loops of a program's kernels, at the largest values of the run's ranges.
pub(crate) struct Loops<'p> {
    scope: Scope<'p>,
    symbols: SymbolTable,
}

impl<'p> Loops<'p> {
    /// Of every program of a plan.
    #[cfg(feature = "unsound")]
    pub(crate) fn of_plan(plan: &'p crate::plan::Plan) -> impl Iterator<Item = Loops<'p>> {
        let runs = plan.runs.iter().map(|run| Scope::of_run(plan, run));
        let streams = plan.streams.iter().map(|s| Scope::of_stream(plan, s));
        runs.chain([Scope::load(plan)]).chain(streams).map(Loops::of)
    }

    /// Of a program.
    pub(super) fn of(scope: Scope<'p>) -> Loops<'p> {
        let symbols = symbols_of(&scope);
        Loops { scope, symbols }
    }

    /// The steps of the program.
    #[cfg(feature = "unsound")]
    pub(crate) fn steps(&self) -> &'p [Step] {
        &self.scope.program.steps
    }

    /// Trips of a call that fits its declaration, at most.
    pub(crate) fn trip_count(&self, decl: &KernelDecl, call: &KernelCall) -> u64 {
        decl.trip_count(call, &|word| upper(&self.scope, &self.symbols, word))
    }
}

/// Checks that the trips of a call's loops keep within the target's limit; how many there are.
pub(super) fn check(
    loops: &Loops<'_>,
    (decl, call): (&KernelDecl, &KernelCall),
    (id, step): (StepId, &Step),
    findings: &mut Findings,
) -> u64 {
    let trip_count = loops.trip_count(decl, call);
    let limit = loops.scope.plan.target.limits.loop_turns;
    if let Some(limit) = limit.filter(|limit| trip_count > *limit) {
        let kernel = format!("{}.{}", call.kernel, call.variant);
        findings.at(id, &step.origin, Fault::LoopTurns { kernel, turns: trip_count, limit });
    }
    trip_count
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
