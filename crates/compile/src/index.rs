//! Kernels count elements in 32 bits: one check for every operand of every step, before anything is placed.
//!
//! In: the steps of an unplaced program, symbols and scalars at their upper bounds. Out: the first operand that a
//! kernel could not reach the end of. Never here: bytes (`layout`), counts of one kernel's iteration (its lowering).

use crate::error::CompileError;
use crate::frame::scalar_ranges;
use crate::unplaced::{UnplacedProgram, UnplacedStep};
use pumice_ir::Graph;
use pumice_plan::{Access, StepKind, View};
use pumice_types::limits::LARGEST_INDEX;
use pumice_types::{DimExpr, ScalarId};

/// Looks at the steps of an unplaced program while it grows, as long as they are in the caches.
pub struct Counted<'g> {
    graph: &'g Graph,
    scalars: Box<dyn Fn(ScalarId) -> (i64, i64) + 'g>,
    /// How many steps were looked at.
    steps: usize,
    /// The first operand that kernels do not count to.
    wrong: Option<CompileError>,
}

impl<'g> Counted<'g> {
    /// No step of a graph was looked at.
    pub fn new(graph: &'g Graph) -> Counted<'g> {
        Counted { graph, scalars: Box::new(scalar_ranges(graph)), steps: 0, wrong: None }
    }

    /// Looks at the steps added since.
    pub fn follow(&mut self, unplaced: &UnplacedProgram) {
        let added = &unplaced.steps[self.steps..];
        self.steps = unplaced.steps.len();
        let wrong = |step| check(unplaced, self.graph, &self.scalars, step).err();
        self.wrong = self.wrong.take().or_else(|| added.iter().find_map(wrong));
    }

    /// Refuses the first operand that has an element that kernels cannot count to.
    pub fn result(self) -> Result<(), CompileError> {
        self.wrong.map_or(Ok(()), Err)
    }
}

fn check(
    unplaced: &UnplacedProgram,
    graph: &Graph,
    scalars: &dyn Fn(ScalarId) -> (i64, i64),
    step: &UnplacedStep,
) -> Result<(), CompileError> {
    if !matches!(step.kind, StepKind::Dispatch { .. }) {
        return Ok(());
    }
    let upper = |e: &DimExpr| u64::try_from(e.bounds_with(graph.symbols(), scalars).1).unwrap_or(0);
    for used in step.uses.iter().filter(|u| matches!(u.access, Access::ShaderRead | Access::ShaderWrite)) {
        let version = &unplaced.versions[used.version.0 as usize];
        // A part lies inside what it is a part of, however large its first element may be by its formula alone (a
        // place that scalars say is compared with the extent before a run).
        let elements = version.ty.shape.iter().fold(1u64, |n, d| n.saturating_mul(d.upper(graph.symbols())));
        let index = largest(&used.view, &upper).min(elements.saturating_sub(1));
        if index > LARGEST_INDEX {
            let (node, operand) = (step.origin.to_string(), version.name.to_string());
            return Err(CompileError::Index { node, operand, index, most: LARGEST_INDEX });
        }
    }
    Ok(())
}

/// The largest index of an element of a view whose extents, strides and offset are at their upper bounds.
fn largest(view: &View, upper: &dyn Fn(&DimExpr) -> u64) -> u64 {
    let reach =
        |extent: &DimExpr, stride: &DimExpr| upper(extent).saturating_sub(1).saturating_mul(upper(stride));
    let axes = view.shape.iter().zip(&view.strides);
    axes.fold(upper(&view.offset), |sum, (extent, stride)| sum.saturating_add(reach(extent, stride)))
}
