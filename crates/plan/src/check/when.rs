//! Branches: steps that run only where choices were taken.
//!
//! In: a step. Laws:
//! - a choice is 0 or 1, whatever symbols and scalars are, by intervals;
//! - dispatches and host steps of runs have choices, nothing else; what a dispatch of a branch not taken has, is no
//!   group (`footprint` tries that);
//! - what outlives the run, its outputs aside, is written whatever is chosen; a state may be written by a turn of a
//!   loop, whatever is chosen in it.
//!
//! Which value bytes hold where a branch was taken is followed by [`super::versions`].

use super::Scope;
use super::error::{Fault, Findings};
use super::scalars::integers;
use super::turns::Turn;
use crate::kernels::frame::FrameFind;
use crate::plan::VersionOrigin;
use crate::step::{Grid, Step, StepId, StepKind};
use pumice_types::limits::MOST_CHOICES;
use pumice_types::{ScalarId, SymbolTable, When};

/// Checks a step; `symbols` are those of the run.
pub(super) fn check(
    scope: &Scope<'_>,
    symbols: &SymbolTable,
    (id, step): (StepId, &Step),
    findings: &mut Findings,
) {
    if !step.when.is_always()
        && let Err(why) = branches(scope, symbols, (id, step))
    {
        findings.at(id, &step.origin, Fault::Structure(why));
    }
}

fn branches(scope: &Scope<'_>, symbols: &SymbolTable, (id, step): (StepId, &Step)) -> Result<(), String> {
    let all = step.when.branches();
    if scope.run.is_none() || all.len() > MOST_CHOICES {
        return Err(format!("it stands under {} choices; {MOST_CHOICES} in a run, else none", all.len()));
    }
    let range = |id: ScalarId| scope.plan.scalars.get(id.0 as usize).map_or((i64::MIN, i64::MAX), integers);
    for branch in all {
        let (low, high) = branch.taken.bounds_with(symbols, &range);
        if low < 0 || high > 1 {
            return Err(format!("a choice is from {low} to {high}, not 0 or 1"));
        }
    }
    match &step.kind {
        StepKind::Host => {}
        StepKind::Dispatch { call, grid: Grid::Frame { .. } } if call.kernel.0 != FrameFind::DECL.name => {}
        _ => return Err("it runs whatever is chosen".to_owned()),
    }
    let is_turn = |turn: &Turn| turn.steps.contains(&id.0) && turn.outside(&step.when) == Some(When::ALWAYS);
    let stays = |origin| {
        use VersionOrigin as O;
        match scope.program.state_of(origin) {
            Some(_) => Turn::all(scope.program).iter().any(is_turn),
            None => matches!(origin, O::Step | O::Status | O::Carried | O::Next(_)),
        }
    };
    let writes = step.uses.iter().filter(|u| u.access.stores());
    let outlives = |content| scope.program.value(content).is_none_or(|v| !stays(v.origin));
    match writes.map(|u| u.content).find(|content| outlives(*content)) {
        Some(content) => Err(format!("{} is written where a choice was taken", scope.name(content))),
        None => Ok(()),
    }
}
