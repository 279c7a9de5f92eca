//! Steps of branches: which of them run where, and grids that are empty where they do not.
//!
//! In: the steps of a run, each with the branches of the node that it was made for. Out: the same with the branches of
//! all that need it, and grids in the frame, multiplied by whether the branches are taken. A copy that two branches
//! share runs where either is taken; what is known when weights are loaded, always.

use crate::cx::{LowerCx, LowerResult};
use crate::error::CompileError;
use crate::unplaced::{UnplacedProgram, UnplacedUse};
use crate::{frame, load, loops};
use pumice_plan::{Access, Grid, StepKind};
use pumice_types::When;

/// Settles the branches of every step so far, and their grids.
///
/// # Errors
/// A step that the host cannot leave out.
pub fn settle(cx: &mut LowerCx<'_>) -> Result<(), CompileError> {
    let of = loops::of_steps(&cx.unplaced, &|version| cx.counts_of(version));
    refuse_host(cx, &of)?;
    if cx.unplaced.steps.iter().all(|step| step.when.is_always()) {
        return Ok(());
    }
    let is_load = load::load_steps(&cx.unplaced);
    cx.unplaced.steps.iter_mut().zip(is_load).filter(|(_, is)| *is).for_each(|(s, _)| s.when = When::ALWAYS);
    leave_loops(&mut cx.unplaced, &of);
    widen(&mut cx.unplaced);
    take_counted(&mut cx.unplaced);
    for at in 0..cx.unplaced.steps.len() {
        if !cx.unplaced.steps[at].when.is_always() {
            let origin = cx.unplaced.steps[at].origin.clone();
            multiply(cx, at).map_err(|refusal| cx.unsupported_run(&origin, refusal))?;
        }
    }
    Ok(())
}

/// The host takes no part in a loop that is replayed.
fn refuse_host(cx: &LowerCx<'_>, of: &[Option<u32>]) -> Result<(), CompileError> {
    let mut inside = cx.unplaced.steps.iter().zip(of).filter(|(_, of)| of.is_some());
    match inside.find(|(step, _)| matches!(step.kind, StepKind::Host)) {
        Some((step, _)) => {
            let why = "the host runs it, and takes no part in a loop";
            Err(cx.unsupported_run(&step.origin, why.into()))
        }
        None => Ok(()),
    }
}

/// What no turn of a loop changes is made before the loop, whether that runs or not.
fn leave_loops(unplaced: &mut UnplacedProgram, of: &[Option<u32>]) {
    for (step, of) in unplaced.steps.iter_mut().zip(of) {
        for (_, other) in (0u32..).zip(&unplaced.loops).filter(|(l, _)| *of != Some(*l)) {
            step.when = loops::outside(&step.when, other.symbol);
        }
    }
}

/// Every turn of a loop whose turns are counted before the run is taken: no step of it asks.
fn take_counted(unplaced: &mut UnplacedProgram) {
    for (l, counted) in (0u32..).zip(&unplaced.loops).filter(|(_, l)| l.turns.is_some()) {
        for step in &mut unplaced.steps {
            if let Some(when) = loops::without(&step.when, counted.symbol) {
                (step.when, step.counted) = (when, Some(l));
            }
        }
    }
}

/// A step runs wherever one that reads what it writes does; who reads what branches join has chosen already.
fn widen(unplaced: &mut UnplacedProgram) {
    let mut needed: Vec<Option<When>> = vec![None; unplaced.versions.len()];
    for step in unplaced.steps.iter_mut().rev() {
        let writes = step.uses.iter().filter(|u| u.access.stores());
        for u in writes.filter(|u| !unplaced.joins.contains(&u.version)) {
            if let Some(readers) = &needed[u.version.0 as usize] {
                step.when = step.when.common(readers);
            }
        }
        for u in step.uses.iter().filter(|u| !u.access.writes()) {
            let of = &mut needed[u.version.0 as usize];
            *of = Some(of.as_ref().map_or_else(|| step.when.clone(), |when| when.common(&step.when)));
        }
    }
}

/// The grid of a step becomes one that is empty where its branches are not taken.
fn multiply(cx: &mut LowerCx<'_>, at: usize) -> LowerResult {
    let StepKind::Dispatch { call, grid } = cx.unplaced.steps[at].kind.clone() else { return Ok(()) };
    let [x, y, z] = cx.groups_of(&grid)?;
    let (Grid::Static(upper) | Grid::Frame { upper, .. }) = grid;
    let groups = [x * cx.unplaced.steps[at].when.expr(), y, z];
    let word = cx.intern(&groups, |words| words.intern_grid(groups.clone()));
    let words = UnplacedUse {
        version: cx.version_of_word(word),
        part: None,
        access: Access::IndirectRead,
        view: cx.frame_words().view,
    };
    // A grid that is empty whatever is taken names no choice. The step follows its choices all the same.
    let when = cx.unplaced.steps[at].when.expr();
    if cx.found.in_row(word).is_none() && cx.graph.symbols().names_found(&when) {
        let choice = cx.intern(std::slice::from_ref(&when), |words| frame::word(words, &when));
        let choice = cx.version_of_word(choice);
        cx.unplaced.steps[at].waits.push(choice);
    }
    let step = &mut cx.unplaced.steps[at];
    // The use of a grid is the last one: what a call and a meaning number stays where it is.
    match step.uses.last_mut() {
        Some(last) if last.access == Access::IndirectRead => *last = words,
        _ => step.uses.push(words),
    }
    step.kind = StepKind::Dispatch { call, grid: Grid::Frame { word, upper } };
    Ok(())
}
