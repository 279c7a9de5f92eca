//! Replays that stop: grids and extents that the device can clear, and the word that tells it to.
//!
//! In: a drafted run whose graph names an output that stops. Out: every dispatch that writes more than scratch with its grid, or
//! the extent of what it writes, in one row of the frame; where the kernel that advances the frame finds the truth value.
//! After the stop the row is zero: later replays write nothing that anybody sees.

use crate::cx::{LowerCx, LowerResult, Refusal};
use crate::draft::{Draft, DraftStep, DraftUse, Home, Located};
use crate::frame::Row;
use crate::{elementwise, load};
use pumice_ir::ValueType;
use pumice_plan::kernel::{ArgValue, KernelCall};
use pumice_plan::{Access, FrameSlot, FrameWord, Grid, StepKind, Storage, View};
use pumice_types::{DType, DimExpr};

/// What the advance of the frame must know.
pub struct Stop {
    /// One word: not 0 where this replay is the last.
    pub count: Located,
    /// Grids and extents of what is written.
    pub cleared: Row,
}

/// Puts the grids and extents of what the steps so far write into the frame, where the graph has a stop.
pub fn prepare(cx: &mut LowerCx<'_>) -> LowerResult<Option<Stop>> {
    let Some(output) = cx.graph.stop().and_then(|at| cx.graph.outputs().get(at)) else { return Ok(None) };
    let at = cx.at(output.value)?;
    let count = if is_word(cx, &at) { at } else { word_of(cx, &at)? };
    let cleared = gather(cx)?;
    Ok(Some(Stop { count, cleared }))
}

/// Whether a value is the first word of a content in scratch, which nothing else fills.
fn is_word(cx: &LowerCx<'_>, at: &Located) -> bool {
    let content = &cx.draft.contents[at.content.0 as usize];
    let alone = pumice_ir::shape::product(&content.shape).is(1) && at.part.is_none();
    let word = at.view.storage == Storage::Arena && at.view.offset.is(0);
    alone && word && cx.draft.buffer_of(at.content).home == Home::Scratch
}

/// A copy of a truth value that lies elsewhere.
fn word_of(cx: &mut LowerCx<'_>, at: &Located) -> LowerResult<Located> {
    let ty = ValueType::new(DType::Bool, at.view.shape.clone());
    let to = cx.alloc("stop", Home::Scratch, Storage::Arena, &ty)?;
    elementwise::copy(cx, at, &to)?;
    Ok(to)
}

/// What the stop takes from a step.
enum Gate {
    /// Its groups, with what they are at most.
    Grid([u32; 3]),
    /// The extent of all that it writes: a word of its call.
    Extent(usize),
}

/// Gives every dispatch of the run that writes more than scratch a grid or an extent in the row. The others keep theirs: what
/// they write is not seen.
fn gather(cx: &mut LowerCx<'_>) -> LowerResult<Row> {
    let is_load = load::load_steps(&cx.draft);
    let (mut gates, mut words) = (Vec::new(), Vec::new());
    for (i, (step, is_load)) in cx.draft.steps.iter().zip(is_load).enumerate() {
        let StepKind::Dispatch { call, grid } = &step.kind else { continue };
        if is_load || !outlives(&cx.draft, step) {
            continue;
        }
        let (gate, exprs) = match extent(cx, call)? {
            Some((at, extent)) => (Gate::Extent(at), vec![extent]),
            None => (Gate::Grid(upper(grid)), groups(cx, grid)?.to_vec()),
        };
        gates.push((i, gate));
        words.push(exprs);
    }
    let (words, row) = cx.frame.in_a_row(&words);
    for ((i, gate), word) in gates.into_iter().zip(words) {
        place(cx, i, &gate, word);
    }
    Ok(row)
}

/// Whether a step writes anything but scratch.
fn outlives(draft: &Draft, step: &DraftStep) -> bool {
    step.uses.iter().any(|u| u.access.writes() && draft.buffer_of(u.content).home != Home::Scratch)
}

/// The word of a call that says how much it writes, where the frame is read anyway.
fn extent(cx: &LowerCx<'_>, call: &KernelCall) -> LowerResult<Option<(usize, DimExpr)>> {
    let decl = call.check().map_err(|e| Refusal(e.to_string()))?;
    let at = decl.nothing_at.and_then(|name| decl.word_of(name));
    let varies = call.args.iter().any(|a| matches!(a, ArgValue::Frame(_)));
    match at.and_then(|at| Some((at, call.args.get(at)?))) {
        Some((at, ArgValue::U32(n))) if varies => Ok(Some((at, DimExpr::from(u64::from(*n))))),
        Some((at, ArgValue::Frame(word))) => Ok(Some((at, expr(cx, *word as usize)?))),
        _ => Ok(None),
    }
}

fn place(cx: &mut LowerCx<'_>, i: usize, gate: &Gate, word: FrameWord) {
    let content = cx.frame_content();
    let view = View::dense(DType::U32, Storage::Arena, &[]);
    let step = &mut cx.draft.steps[i];
    let StepKind::Dispatch { call, grid } = &mut step.kind else { return };
    match *gate {
        Gate::Extent(at) => call.args[at] = ArgValue::Frame(word.0),
        Gate::Grid(upper) => {
            *grid = Grid::Frame { word, upper };
            if !step.uses.iter().any(|u| u.access == Access::IndirectRead) {
                step.uses.push(DraftUse { content, part: None, access: Access::IndirectRead, view });
            }
        }
    }
}

fn upper(grid: &Grid) -> [u32; 3] {
    match grid {
        Grid::Static(groups) => *groups,
        Grid::Frame { upper, .. } => *upper,
    }
}

/// The groups of a grid as expressions.
fn groups(cx: &LowerCx<'_>, grid: &Grid) -> LowerResult<[DimExpr; 3]> {
    match grid {
        Grid::Static(groups) => Ok(groups.map(|n| DimExpr::from(u64::from(n)))),
        Grid::Frame { word, .. } => {
            let at = |i: u32| expr(cx, (word.0 + i) as usize);
            Ok([at(0)?, at(1)?, at(2)?])
        }
    }
}

/// What a word of the frame holds.
fn expr(cx: &LowerCx<'_>, word: usize) -> LowerResult<DimExpr> {
    match cx.frame.frame().words.get(word) {
        Some(FrameSlot::Expr(e)) => Ok(e.clone()),
        Some(FrameSlot::Bound(symbol)) => Ok(DimExpr::symbol(*symbol)),
        other => Err(format!("an extent is word {word} of the frame, {other:?}").into()),
    }
}
