//! Kernels whose loops the target's driver would end early: refused here by name, before anything is placed or run.
//!
//! Passes and lowering choose kernels that keep within the limit; what reaches this place is a shape for which there is
//! none. In: unplaced steps, the bounds that kernels declare. Out: the first step past the limit.

use crate::error::CompileError;
use crate::unplaced::UnplacedProgram;
use pumice_plan::{Frame, FrameSlot, StepKind};
use pumice_types::{SymbolTable, Target};

/// Refuses the first step whose loops may iterate more often than the target lets them.
pub fn check(
    unplaced: &UnplacedProgram,
    frame: &Frame,
    symbols: &SymbolTable,
    target: &Target,
) -> Result<(), CompileError> {
    let Some(limit) = target.limits.loop_turns else { return Ok(()) };
    let upper = |word: u32| match frame.words.get(word as usize) {
        Some(FrameSlot::Bound(id)) => symbols.get(*id).map_or(i64::MAX, |s| s.max as i64),
        Some(FrameSlot::Expr(e)) => e.bounds(symbols).1,
        _ => i64::MAX,
    };
    for step in &unplaced.steps {
        let StepKind::Dispatch { call, .. } = &step.kind else { continue };
        let decl = call.check().map_err(|e| CompileError::Defect(e.to_string()))?;
        let trip_count = decl.trip_count(call, &upper);
        if trip_count > limit {
            return Err(CompileError::LoopTurns {
                node: step.origin.to_string(),
                kernel: format!("{}.{}", call.kernel, call.variant),
                turns: trip_count,
                limit,
                target: target.name.clone(),
            });
        }
    }
    Ok(())
}
