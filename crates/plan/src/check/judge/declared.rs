//! Whether uses declare what a step really does: spans in chunks, operands as the kernel's declaration has them, words
//! of the frame.

use super::inside;
use crate::frame::FrameSlot;
use crate::kernel::{ArgValue, HoleInput, KernelCall, OperandAccess};
use crate::plan::{Plan, Run};
use crate::region::RegionKind;
use crate::step::{Access, Grid, Step, StepKind, Use};

/// Everything a step really does is declared by its uses.
pub(super) fn declared(plan: &Plan, run: Option<&Run>, step: &Step) -> Result<(), String> {
    for u in &step.uses {
        inside(plan, u.span)?;
    }
    meaning(step)?;
    if let StepKind::Dispatch { call, .. } | StepKind::Advance { call } = &step.kind {
        kernel(step, call)?;
    }
    frame_words(run, step)?;
    if let (StepKind::Advance { .. }, Some(run)) = (&step.kind, run)
        && step.uses[0].span.len.0 < 4 * run.frame.len_words()
    {
        return Err("the advance writes more than it says".into());
    }
    match (&step.kind, step.uses.as_slice()) {
        (StepKind::Copy, [a, b]) if a.span.len == b.span.len => Ok(()),
        (StepKind::Copy, _) => Err("a copy of two unequal parts".into()),
        _ => Ok(()),
    }
}

/// What the meaning reads and writes.
fn meaning(step: &Step) -> Result<(), String> {
    for i in step.meaning.inputs.iter().map(|i| i.at) {
        let access = step.uses[usize::from(i)].access;
        if access.writes() || access == Access::IndirectRead {
            return Err(format!("the meaning reads use {i}, {access:?}"));
        }
    }
    for &o in &step.meaning.outputs {
        let access = step.uses[usize::from(o)].access;
        if !access.writes() || access == Access::StatusAtomic {
            return Err(format!("the meaning writes use {o}, {access:?}"));
        }
    }
    Ok(())
}

/// Words of the frame that arguments and grids are read from.
fn frame_words(run: Option<&Run>, step: &Step) -> Result<(), String> {
    if let StepKind::Dispatch { call, .. } | StepKind::Advance { call } = &step.kind {
        for arg in &call.args {
            if let ArgValue::Frame(w) = arg {
                frame_use(run, step, Access::ShaderRead, *w)?;
            }
        }
    }
    if let StepKind::Dispatch { grid: Grid::Frame { word, .. }, .. } = &step.kind {
        for w in word.0..word.0 + 3 {
            frame_use(run, step, Access::IndirectRead, w)?;
        }
    }
    Ok(())
}

fn kernel(step: &Step, call: &KernelCall) -> Result<(), String> {
    for (at, does) in touches(call)? {
        let u = &step.uses[usize::from(at)];
        if !u.span.offset.0.is_multiple_of(16) {
            return Err(format!("operand at {}", u.span));
        }
        let says = match does {
            OperandAccess::Read => u.access == Access::ShaderRead,
            OperandAccess::Write => matches!(u.access, Access::ShaderWrite),
            OperandAccess::ReadWrite => u.access == Access::ShaderWrite,
            OperandAccess::Status => u.access == Access::StatusAtomic,
        };
        if !says {
            return Err(format!("the kernel does {does:?} to use {at}, which says {:?}", u.access));
        }
    }
    Ok(())
}

/// Uses that a kernel touches as the declaration says, and those that its holes load and store.
fn touches(call: &KernelCall) -> Result<Vec<(u16, OperandAccess)>, String> {
    let decl = call.check().map_err(|e| e.to_string())?;
    let mut touches: Vec<(u16, OperandAccess)> = Vec::new();
    for (operand, at) in decl.operands.iter().zip(&call.operands) {
        touches.push((at.0, operand.access));
    }
    for fill in &call.holes {
        for (slot, _) in &fill.stores {
            touches.push((call.slots[usize::from(*slot)].0, OperandAccess::Write));
        }
        for input in &fill.inputs {
            if let HoleInput::Slot(slot) = input {
                touches.push((call.slots[usize::from(*slot)].0, OperandAccess::Read));
            }
        }
    }
    Ok(touches)
}

fn frame_use(run: Option<&Run>, step: &Step, access: Access, word: u32) -> Result<(), String> {
    let exists = run
        .is_some_and(|r| matches!(r.frame.words.get(word as usize), Some(w) if *w != FrameSlot::Temporary));
    let at = 4 * u64::from(word);
    let covers = |u: &Use| {
        let (start, end) = (u.span.offset.0, u.span.offset.0 + u.span.len.0);
        u.span.region == RegionKind::Frame && u.access == access && start <= at && at + 4 <= end
    };
    if exists && step.uses.iter().any(covers) {
        Ok(())
    } else {
        Err(format!("frame word {word} is not declared"))
    }
}
