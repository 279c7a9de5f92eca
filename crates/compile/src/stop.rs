//! Replays that stop: grids that the device can clear, and the word that tells it to.
//!
//! In: an unplaced run whose graph names an output that stops. Out: every dispatch of the run with a grid in the frame,
//! all of them in one row; where the kernel that advances the frame finds the truth value. After the stop the row is
//! zero, so that later replays have no groups: they end at once and write nothing.

use crate::cx::{LowerCx, LowerResult};
use crate::elementwise;
use crate::frame::{self, Row};
use crate::load;
use crate::unplaced::{PlacedView, StorageClass, UnplacedUse};
use pumice_ir::ValueType;
use pumice_plan::{Access, FrameSlot, Grid, StepKind, Storage};
use pumice_types::{DType, DimExpr};

/// What the advance of the frame must know.
pub struct Stop {
    /// One word: not 0 where this replay is the last.
    pub count: PlacedView,
    /// The grids of all dispatches.
    pub grids: Row,
}

/// Puts the grids of all steps so far into the frame, where the graph has a stop.
pub fn prepare(cx: &mut LowerCx<'_>) -> LowerResult<Option<Stop>> {
    let Some(output) = cx.graph.stop().and_then(|at| cx.graph.outputs().get(at)) else { return Ok(None) };
    let at = cx.at(output.value)?;
    let count = if is_word(cx, &at) { at } else { word_of(cx, &at)? };
    let grids = gather(cx)?;
    Ok(Some(Stop { count, grids }))
}

/// Whether a value is the first word of a version in scratch, which nothing else fills.
fn is_word(cx: &LowerCx<'_>, at: &PlacedView) -> bool {
    let version = &cx.unplaced.versions[at.version.0 as usize];
    let alone = pumice_ir::shape::product(&version.ty.shape).is(1) && at.part.is_none();
    let word = at.view.storage == Storage::Arena && at.view.offset.is(0);
    alone && word && cx.unplaced.buffer_of(at.version).class == StorageClass::Scratch
}

/// A copy of a truth value that lies elsewhere.
fn word_of(cx: &mut LowerCx<'_>, at: &PlacedView) -> LowerResult<PlacedView> {
    let ty = ValueType::new(DType::Bool, at.view.shape.clone());
    let to = cx.alloc("stop", StorageClass::Scratch, Storage::Arena, &ty)?;
    elementwise::copy(cx, at, &to, "the frame's kernel reads one word of scratch")?;
    Ok(to)
}

/// Gives every dispatch that is not of the load program a grid in the row (431 steps of a decoder: 1.71 ms a token,
/// 1.68 with grids that are fixed; H200, driver 580.159.04, 2026-11-23): after the stop a replay ends as soon as the
/// device has read the grids.
fn gather(cx: &mut LowerCx<'_>) -> LowerResult<Row> {
    let is_load = load::load_steps(&cx.unplaced);
    let steps = cx.unplaced.steps.iter().zip(&is_load).enumerate().filter(|(_, (_, is_load))| !**is_load);
    let mut dispatches = Vec::new();
    let mut grids = Vec::new();
    for (i, (step, _)) in steps {
        if let StepKind::Dispatch { grid, .. } = &step.kind {
            dispatches.push(i);
            grids.push(groups(cx, grid)?);
        }
    }
    let (words, row) = frame::grids_in_a_row(&mut cx.frame, &grids);
    let frame = cx.frame_words();
    for (i, word) in dispatches.into_iter().zip(words) {
        let step = &mut cx.unplaced.steps[i];
        let StepKind::Dispatch { grid, .. } = &mut step.kind else { continue };
        let upper = match grid {
            Grid::Static(groups) => *groups,
            Grid::Frame { upper, .. } => *upper,
        };
        *grid = Grid::Frame { word, upper };
        if !step.uses.iter().any(|u| u.access == Access::IndirectRead) {
            let view = frame.view.clone();
            step.uses.push(UnplacedUse {
                version: frame.version,
                part: None,
                access: Access::IndirectRead,
                view,
            });
        }
    }
    Ok(row)
}

/// The groups of a grid as expressions.
fn groups(cx: &LowerCx<'_>, grid: &Grid) -> LowerResult<[DimExpr; 3]> {
    let word = match grid {
        Grid::Static(groups) => return Ok(groups.map(|n| DimExpr::from(u64::from(n)))),
        Grid::Frame { word, .. } => word.0 as usize,
    };
    let of = |slot: &FrameSlot| match slot {
        FrameSlot::Expr(e) => Some(e.clone()),
        FrameSlot::Bound(symbol) => Some(DimExpr::symbol(*symbol)),
        _ => None,
    };
    let words = cx.frame.frame().words.get(word..word + 3).unwrap_or(&[]);
    let found: Option<Vec<DimExpr>> = words.iter().map(of).collect();
    found.and_then(|w| w.try_into().ok()).ok_or_else(|| "a grid is no three expressions of the frame".into())
}
