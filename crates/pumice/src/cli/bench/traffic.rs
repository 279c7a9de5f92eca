//! What a plan moves and computes: the bytes of weights and cache rows that a token reads, the arithmetic of a prompt.
//!
//! A step's cost counts each byte that it reads or writes once, of caches the rows that are valid. What is no weight
//! and no state is taken off.

use pumice_plan::{Plan, RegionKind, Run, Step, Use};
use pumice_types::{Bindings, DimExpr};
use std::collections::BTreeSet;

/// The run that takes so many new tokens, with the bindings of these tokens after `position` others.
fn bound(plan: &Plan, position: u64, new: u64) -> Option<(&Run, Bindings)> {
    let symbol = plan.symbols.find("t");
    let run = plan.run_for(0, |id| (Some(id) == symbol).then_some(new))?;
    let mut bindings = Bindings::new();
    symbol.into_iter().for_each(|id| bindings.bind(id, new));
    plan.find_scalar("position").into_iter().for_each(|id| bindings.bind_scalar(id, position as i64));
    Some((&plan.runs[run], bindings))
}

/// Bytes of weights and cache rows that the run of one token reads after `position` others.
pub(super) fn bytes_of_token(plan: &Plan, position: u64) -> u64 {
    let Some((run, bindings)) = bound(plan, position, 1) else { return 0 };
    run.program.steps.iter().map(|step| kept_bytes(step, &bindings)).sum()
}

/// Arithmetic of the products of a prompt that is read in pieces of so many tokens, after `position` others.
pub(super) fn flops_of_prompt(plan: &Plan, position: u64, tokens: u64, piece: u64) -> u64 {
    let pieces = (0..tokens).step_by(piece.max(1) as usize);
    let flops = |begin: u64| {
        let new = piece.min(tokens - begin);
        let (run, bindings) = bound(plan, position + begin, new)?;
        Some(run.program.steps.iter().map(|step| step.cost.at(&bindings).flops).sum::<u64>())
    };
    pieces.filter_map(flops).sum()
}

/// Levels of the run of one token.
pub(super) fn levels_of_token(plan: &Plan) -> u32 {
    bound(plan, 0, 1).map_or(0, |(run, _)| run.stats.levels)
}

/// What a step reads of weights and states.
fn kept_bytes(step: &Step, bindings: &Bindings) -> u64 {
    let kept: Vec<&Use> = step.uses.iter().filter(|u| is_kept(step, u)).collect();
    let Some(first) = kept.first() else { return 0 };
    if step.label().starts_with("gather") {
        // Its cost is that of the whole table; as many elements are read as written.
        let made = step.uses.iter().filter(|u| u.access.writes() && is_counted(u));
        return made.map(|u| bytes_of(first, elements(u, bindings))).sum();
    }
    let mut seen = BTreeSet::new();
    let others = step.uses.iter().filter(|u| !is_kept(step, u) && is_counted(u));
    let others = others.filter(|u| u.access.writes() || seen.insert(u.content));
    let taken: u64 = others.map(|u| bytes_of(u, elements(u, bindings))).sum();
    step.cost.at(bindings).bytes.0.saturating_sub(taken)
}

/// Whether a use reads a weight, or a state that the step does not change.
fn is_kept(step: &Step, u: &Use) -> bool {
    let is_changed = || step.uses.iter().any(|other| other.access.writes() && other.span == u.span);
    match u.span.region {
        RegionKind::Weights => !u.access.writes(),
        RegionKind::States => !u.access.writes() && !is_changed(),
        _ => false,
    }
}

/// The words of frame and status are no part of a cost.
fn is_counted(u: &Use) -> bool {
    !matches!(u.span.region, RegionKind::Frame | RegionKind::Status)
}

fn elements(u: &Use, bindings: &Bindings) -> u64 {
    u.view.shape.iter().map(|e: &DimExpr| e.eval_extent(bindings).unwrap_or(0)).product()
}

/// Bytes of so many elements as this use sees them.
fn bytes_of(u: &Use, elements: u64) -> u64 {
    u.view.storage.unit(u.view.dtype).bytes_of(elements).unwrap_or(0)
}
