//! Replays that stop: grids that the device can clear, and the word that tells it to.
//!
//! In: an unplaced run whose graph names an output that stops. Out: every dispatch of the run with a grid in the frame,
//! all of them in one row; where the kernel that advances the frame finds the truth value. After the stop the row is
//! zero, so that later replays have no groups: they end at once and write nothing.

use crate::cx::{LowerCx, LowerResult};
use crate::frame::{self, GridRange};
use crate::load;
use crate::unplaced::{PlacedView, UnplacedUse};
use pumice_plan::{Access, Grid, StepKind};

/// What the advance of the frame must know.
pub struct Stop {
    /// One word: not 0 where this replay is the last.
    pub count: PlacedView,
    /// The grids of all dispatches.
    pub grids: GridRange,
}

/// Puts the grids of all steps so far into the frame, where the graph has a stop.
pub fn prepare(cx: &mut LowerCx<'_>) -> LowerResult<Option<Stop>> {
    let Some(output) = cx.graph.stop().and_then(|at| cx.graph.outputs().get(at)) else { return Ok(None) };
    let at = cx.at(output.value)?;
    let count = cx.word_of(&at, "the frame's kernel reads one word")?;
    let grids = gather(cx)?;
    Ok(Some(Stop { count, grids }))
}

/// Gives every dispatch that is not of the load program a grid in the row (431 steps of a decoder: 1.71 ms a token,
/// 1.68 with grids that are fixed; H200, driver 580.159.04, 2026-11-23): after the stop a replay ends as soon as the
/// device has read the grids.
fn gather(cx: &mut LowerCx<'_>) -> LowerResult<GridRange> {
    let is_load = load::load_steps(&cx.unplaced);
    let steps = cx.unplaced.steps.iter().zip(&is_load).enumerate().filter(|(_, (_, is_load))| !**is_load);
    let mut dispatches = Vec::new();
    let mut grids = Vec::new();
    for (i, (step, _)) in steps {
        if let StepKind::Dispatch { grid, .. } = &step.kind {
            dispatches.push(i);
            grids.push(cx.groups_of(grid)?);
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
