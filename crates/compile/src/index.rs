//! Kernels count elements in 32 bits: one check for every operand of every step, before anything is placed.
//!
//! In: the steps of a draft, the symbols at their upper bounds. Out: the first operand that a kernel could not reach the
//! end of. Never here: bytes (`layout`), counts of one kernel's iteration (its lowering).

use crate::draft::Draft;
use crate::error::CompileError;
use pumice_plan::{Access, StepKind, View};
use pumice_types::SymbolTable;

/// The largest index of an element in a kernel: an index and a step together stay below 2^31.
pub const LARGEST: u64 = (1 << 31) - (1 << 10);

/// Refuses an operand with an element that kernels cannot count to.
pub fn check(draft: &Draft, symbols: &SymbolTable) -> Result<(), CompileError> {
    for step in draft.steps.iter().filter(|s| matches!(s.kind, StepKind::Dispatch { .. })) {
        let touched =
            step.uses.iter().filter(|u| matches!(u.access, Access::ShaderRead | Access::ShaderWrite));
        for used in touched {
            let index = largest(&used.view, symbols);
            if index > LARGEST {
                let operand = draft.contents[used.content.0 as usize].name.clone();
                return Err(CompileError::Index { node: step.origin.clone(), operand, index, most: LARGEST });
            }
        }
    }
    Ok(())
}

/// The largest index of an element of a view at the upper bounds of the symbols.
fn largest(view: &View, symbols: &SymbolTable) -> u64 {
    let reach = |extent: &pumice_types::DimExpr, stride: &pumice_types::DimExpr| {
        let stride = u64::try_from(stride.bounds(symbols).1).unwrap_or(0);
        extent.upper(symbols).saturating_sub(1).saturating_mul(stride)
    };
    let axes = view.shape.iter().zip(&view.strides);
    axes.fold(view.offset.upper(symbols), |sum, (extent, stride)| sum.saturating_add(reach(extent, stride)))
}
