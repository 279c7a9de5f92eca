//! Loops: segments that are replayed while a symbol which they find is 1.
//!
//! In: a program. Laws:
//! - a loop has a turn at least, belongs to a run whose replays do not stop, and its symbol is found, 0 or 1;
//! - either how many turns there are is known before the run: it follows from what the caller binds alone, has a value
//!   for all of the run's ranges, also where the loop stands in a branch that is not taken, and is at its largest what
//!   the loop states; or a turn finds the symbol, and every other step of it runs only where that is 1: behind the last
//!   turn nothing changes;
//! - a turn is of dispatches alone;
//! - what turns begin with is written before its loop, what they leave for the next in it, in the same bytes; what is
//!   there behind the loop is written by nothing. Of a state, which is there before, nothing writes what they begin
//!   with.
//!
//! Which value bytes hold from turn to turn, and that nothing of a turn but what it leaves is read behind it, is
//! followed by [`super::versions`]. That a number of turns is that of its loop is seen where the largest ones differ;
//! of loops with the same largest one it is a value, as literals are.

use super::Scope;
use super::error::{Fault, Findings};
use super::numbers::largest_of;
use super::structure::levels_of;
use crate::frame::FrameSlot;
use crate::kernels::frame::FrameFind;
use crate::plan::{Program, Segment, VersionOrigin};
use crate::step::{Step, StepId, StepKind, VersionId};
use pumice_types::{Branch, DimExpr, SymbolId, When};
use std::ops::Range;

/// The steps of a loop, and its symbol.
pub(super) struct Turn {
    pub steps: Range<u32>,
    pub running: SymbolId,
    /// Whether every turn is taken.
    pub counted: bool,
}

impl Turn {
    /// The loops of a program whose levels are there.
    pub fn all(program: &Program) -> Vec<Turn> {
        let of = |segment: &Segment| {
            let Segment::Repeat { running, count, .. } = segment else { return None };
            let (running, counted) = (*running, count.is_some());
            let levels = levels_of(segment);
            let first = program.levels.get(levels.start as usize)?;
            let last = program.levels.get(levels.end.checked_sub(1)? as usize)?;
            Some(Turn { steps: first.steps.start..last.steps.end, running, counted })
        };
        program.segments.iter().filter_map(of).collect()
    }

    /// What a step of every turn stands under besides what the loop does; none where it is of a branch of the turn.
    pub fn outside(&self, when: &When) -> Option<When> {
        if self.counted {
            return Some(when.clone());
        }
        let (last, outer) = when.branches().split_last()?;
        (*last == self.branch()).then(|| When::all(outer.to_vec()))
    }

    /// Whether a step runs in the turns that are taken alone.
    fn is_turn(&self, when: &When) -> bool {
        self.counted || when.branches().contains(&self.branch())
    }

    /// The branch that is a turn, where the run finds whether there is one.
    fn branch(&self) -> Branch {
        Branch { taken: DimExpr::symbol(self.running), otherwise: false }
    }
}

/// Checks the loops of a program.
pub(super) fn check(scope: &Scope<'_>, findings: &mut Findings) {
    for segment in &scope.program.segments {
        if let Segment::Repeat { turns, running, count, .. } = segment
            && let Err(why) =
                whole(scope, *turns, *running).and_then(|()| known(scope, *turns, count.as_ref()))
        {
            findings.add(Fault::Structure(why));
        }
    }
    let turns = Turn::all(scope.program);
    turns.iter().for_each(|turn| steps(scope, turn, findings));
    places(scope, findings);
    for (id, step) in scope.steps() {
        if let Some(why) = written(scope, &turns, id, step) {
            findings.at(id, &step.origin, Fault::Structure(why));
        }
    }
}

/// A turn finds its symbol, and does nothing else where that is 0.
fn steps(scope: &Scope<'_>, turn: &Turn, findings: &mut Findings) {
    let mut finds = turn.counted;
    for (id, step) in scope.steps().filter(|(id, _)| turn.steps.contains(&id.0)) {
        let kernel = match &step.kind {
            StepKind::Dispatch { call, .. } => Some(&*call.kernel.0),
            _ => None,
        };
        let fills = kernel == Some(FrameFind::DECL.name);
        finds |= fills && fills_row_of(scope, step, turn.running);
        if kernel.is_none() || !(fills || turn.is_turn(&step.when)) {
            let what = "it does something behind the last turn of its loop".to_owned();
            findings.at(id, &step.origin, Fault::Structure(what));
        }
    }
    if !finds {
        findings.add(Fault::Structure("no step of a turn finds whether its loop runs".to_owned()));
    }
}

fn whole(scope: &Scope<'_>, turns: u32, running: SymbolId) -> Result<(), String> {
    let Some(run) = scope.run else { return Err("a loop while weights are loaded".to_owned()) };
    if turns == 0 {
        return Err("a loop of no turn".to_owned());
    }
    if run.frame.find(&FrameSlot::Stopped).is_some() {
        return Err("a loop in replays that stop".to_owned());
    }
    match scope.plan.symbols.get(running) {
        Some(s) if s.found && s.max == 1 => Ok(()),
        _ => Err(format!("{running:?} is not found to be 0 or 1")),
    }
}

/// How many turns there are follows from what the caller binds, and is not more than at most.
fn known(scope: &Scope<'_>, turns: u32, count: Option<&DimExpr>) -> Result<(), String> {
    let Some(count) = count else { return Ok(()) };
    let symbols = &scope.plan.symbols;
    if !symbols.are_bound(count) {
        return Err("how many turns a loop has is not known before the run".to_owned());
    }
    let run = scope.run.map(|run| run.symbols_of(symbols));
    match largest_of(count, run.as_ref().unwrap_or(symbols)) {
        None => Err("how many turns a loop has may have no value".to_owned()),
        Some(largest) if largest.max(1) == turns.into() => Ok(()),
        Some(largest) => Err(format!("a loop of {turns} turns at most has {largest}")),
    }
}

/// Whether a step fills a row that has the symbol.
fn fills_row_of(scope: &Scope<'_>, step: &Step, symbol: SymbolId) -> bool {
    let row = |content: VersionId| match scope.program.value(content).map(|v| v.origin) {
        Some(VersionOrigin::Found(row)) => scope.run?.frame.found.get(row as usize),
        _ => None,
    };
    let mut writes = step.uses.iter().filter(|u| u.access.writes());
    writes.any(|u| row(u.content).is_some_and(|row| row.symbols.contains(&symbol)))
}

/// Versions of one place lie in one place.
fn places(scope: &Scope<'_>, findings: &mut Findings) {
    for (i, value) in scope.program.values.iter().enumerate() {
        let (VersionOrigin::Next(first) | VersionOrigin::Left(first)) = value.origin else { continue };
        let same = scope.program.value(first).is_some_and(|v| {
            let begins = matches!(v.origin, VersionOrigin::Carried | VersionOrigin::StateCarried(_));
            begins && v.span == value.span && v.shape == value.shape
        });
        if !same {
            let name = scope.name(VersionId(i as u32));
            findings.add(Fault::Structure(format!("{name} is not in the place of what turns begin with")));
        }
    }
}

/// What is wrong with what a step of these writes.
fn written(scope: &Scope<'_>, turns: &[Turn], id: StepId, step: &Step) -> Option<String> {
    let inside = turns.iter().any(|turn| turn.steps.contains(&id.0));
    step.uses.iter().filter(|u| u.access.writes()).find_map(|u| {
        let name = || scope.name(u.content);
        match scope.program.value(u.content)?.origin {
            VersionOrigin::StateCarried(_) => Some(format!("{} is a state that turns begin with", name())),
            VersionOrigin::Carried if inside => Some(format!("{} is what turns begin with", name())),
            VersionOrigin::Next(_) if !inside => Some(format!("{} is what turns leave", name())),
            VersionOrigin::Left(_) => Some(format!("{} is what a loop left", name())),
            _ => None,
        }
    })
}
