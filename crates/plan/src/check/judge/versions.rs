//! Which version every byte holds, step by step, through two replays: what is read must be there, and so must outputs
//! and states in the end.

use super::{Bytes, is_there};
use crate::plan::{Plan, Program, Run, VersionOrigin};
use crate::step::{Access, Step, StepKind, Use, VersionId};
use crate::view::View;
use pumice_types::tensor::byte_count;
use pumice_types::{Bindings, DimExpr};

/// The version whose bytes a version has.
pub(super) fn stands_for(program: &Program, is_run: bool, id: VersionId) -> VersionId {
    let v = &program.values[id.0 as usize];
    let stored = |o: VersionOrigin| match o {
        VersionOrigin::Param(_) | VersionOrigin::Constant(_) => true,
        VersionOrigin::Derived => is_run,
        _ => false,
    };
    if stored(v.origin) {
        let twin = program.values.iter().position(|w| stored(w.origin) && w.span == v.span);
        return VersionId(twin.unwrap_or(id.0 as usize) as u32);
    }
    let written = program.steps.iter().flat_map(|s| &s.uses).any(|u| u.access.writes() && u.content == id);
    match (v.origin, version_before(program, id)) {
        (VersionOrigin::StateAfter(_), Some(before)) if !written => stands_for(program, is_run, before),
        _ => id,
    }
}

fn version_before(program: &Program, id: VersionId) -> Option<VersionId> {
    let VersionOrigin::StateAfter(state) = program.values[id.0 as usize].origin else { return None };
    let of_state =
        |o: VersionOrigin| o == VersionOrigin::StateBefore(state) || o == VersionOrigin::StateAfter(state);
    let before = (0..id.0 as usize).rev().find(|&i| of_state(program.values[i].origin));
    before.map(|i| VersionId(i as u32))
}

/// The bytes that the elements of a view cover, relative to its span.
fn elements(view: &View, bindings: &Bindings) -> Result<Vec<i64>, String> {
    let eval = |e: &DimExpr| e.eval(bindings).map_err(|e| e.to_string());
    let mut starts = vec![eval(&view.offset)?];
    for (extent, stride) in view.shape.iter().zip(&view.strides) {
        let (extent, stride) = (eval(extent)?, eval(stride)?);
        starts = starts.iter().flat_map(|s| (0..extent).map(move |i| s + i * stride)).collect();
    }
    // A block is touched as a whole, by whichever of its elements.
    let unit = view.storage.unit(view.dtype);
    let (elements, width) = (unit.elements as i64, unit.bytes as i64);
    let mut units: Vec<i64> = starts.iter().map(|s| s.div_euclid(elements)).collect();
    if elements > 1 {
        units.sort_unstable();
        units.dedup();
    }
    Ok(units.iter().flat_map(|s| (0..width).map(move |k| s * width + k)).collect())
}

/// Two replays, byte by byte.
pub(super) fn follow(
    plan: &Plan,
    program: &Program,
    run: Option<&Run>,
    bindings: &Bindings,
    memory: &mut Bytes,
) -> Result<(), String> {
    let machine = Machine { plan, program, is_run: run.is_some(), bindings };
    machine.begin(memory);
    for replay in 0..2 {
        for (i, step) in program.steps.iter().enumerate() {
            machine.step(step, memory).map_err(|e| format!("replay {replay}, s{i}: {e}"))?;
        }
        let Some(run) = run else { continue };
        outputs_and_states(plan, run, bindings, memory).map_err(|e| format!("replay {replay}: {e}"))?;
        for byte in memory.0.iter_mut().flatten() {
            *byte = byte.and_then(|id| next_replay(program, run, id, machine.stays(machine.origin(id))));
        }
    }
    Ok(())
}

fn next_replay(program: &Program, run: &Run, id: VersionId, stays: bool) -> Option<VersionId> {
    match program.values[id.0 as usize].origin {
        _ if stays => Some(id),
        VersionOrigin::StateBefore(s) | VersionOrigin::StateAfter(s) => {
            let last = stands_for(program, true, *run.states.get(s as usize)?);
            let before = program.values.iter().position(|v| v.origin == VersionOrigin::StateBefore(s))?;
            (last == id).then_some(VersionId(before as u32))
        }
        _ => None,
    }
}

/// What carries out steps: a program at some bindings.
struct Machine<'p> {
    plan: &'p Plan,
    program: &'p Program,
    is_run: bool,
    bindings: &'p Bindings,
}

impl Machine<'_> {
    fn origin(&self, id: VersionId) -> VersionOrigin {
        self.program.values[id.0 as usize].origin
    }

    fn stands_for(&self, id: VersionId) -> VersionId {
        stands_for(self.program, self.is_run, id)
    }

    /// Whether a version is there before every replay.
    fn stays(&self, origin: VersionOrigin) -> bool {
        match origin {
            VersionOrigin::Param(p) => is_there(self.plan, p),
            VersionOrigin::Joined(_)
            | VersionOrigin::Constant(_)
            | VersionOrigin::Input(_)
            | VersionOrigin::Frame => true,
            VersionOrigin::Derived => self.is_run,
            VersionOrigin::Status => self.plan.status_ops.is_empty(),
            _ => false,
        }
    }

    /// Fills in what is there before the first replay.
    fn begin(&self, memory: &mut Bytes) {
        let values = self.program.values.iter().enumerate();
        let mut from_outside: Vec<_> = values.filter(|(_, v)| v.origin != VersionOrigin::Derived).collect();
        // Params that lie side by side are each themselves.
        from_outside.sort_by_key(|(_, v)| !matches!(v.origin, VersionOrigin::Joined(_)));
        for (i, v) in from_outside {
            if self.stays(v.origin) || matches!(v.origin, VersionOrigin::StateBefore(_)) {
                memory.at(v.span).fill(Some(self.stands_for(VersionId(i as u32))));
            }
        }
    }

    /// What a step reads is there; then it writes.
    fn step(&self, step: &Step, memory: &mut Bytes) -> Result<(), String> {
        for writes in [false, true] {
            for (i, u) in step.uses.iter().enumerate().filter(|(_, u)| u.access.writes() == writes) {
                let Some(touched) = self.touched(step, i, u)? else { continue };
                if touched.iter().any(|&b| b < 0 || b >= u.span.len.0 as i64) {
                    return Err(format!("use {i} leaves {}", u.span));
                }
                let bytes = memory.at(u.span);
                if !writes || u.access == Access::StatusAtomic {
                    self.read(u, &touched, bytes).map_err(|e| format!("use {i} {e}"))?;
                } else {
                    self.write(step, u, &touched, bytes).map_err(|e| format!("use {i} {e}"))?;
                }
            }
        }
        Ok(())
    }

    /// Bytes of a use that the step touches, relative to its span. Words of the frame that arguments and grids read
    /// were looked at already.
    fn touched(&self, step: &Step, i: usize, u: &Use) -> Result<Option<Vec<i64>>, String> {
        let whole = matches!(u.access, Access::StatusAtomic | Access::TransferRead | Access::TransferWrite)
            || step.meaning.graph.text.is_empty();
        if whole {
            return Ok(Some((0..u.span.len.0 as i64).collect()));
        }
        let of_meaning = step.meaning.uses().any(|m| usize::from(m) == i);
        of_meaning.then(|| elements(&u.view, self.bindings)).transpose()
    }

    fn read(&self, u: &Use, touched: &[i64], bytes: &[Option<VersionId>]) -> Result<(), String> {
        let expected = self.stands_for(u.content);
        let is_part = |held: VersionId| match (self.origin(expected), self.origin(held)) {
            (VersionOrigin::Joined(set), VersionOrigin::Param(p)) => {
                self.plan.joined[set as usize].params.contains(&p)
            }
            _ => false,
        };
        let good = |held: Option<VersionId>| held.is_some_and(|h| h == expected || is_part(h));
        match touched.iter().find(|&&b| !good(bytes[b as usize])) {
            Some(&b) => Err(format!("wants {expected:?} at byte {b}, finds {:?}", bytes[b as usize])),
            None => Ok(()),
        }
    }

    fn write(
        &self,
        step: &Step,
        u: &Use,
        touched: &[i64],
        bytes: &mut [Option<VersionId>],
    ) -> Result<(), String> {
        let origin = self.origin(u.content);
        if from_outside(origin, self.is_run, step) {
            return Err(format!("overwrites {origin:?}"));
        }
        if let Some(before) = version_before(self.program, u.content) {
            let before = self.stands_for(before);
            if bytes.iter().any(|b| *b != Some(before) && *b != Some(u.content)) {
                return Err("writes a state over something else".to_owned());
            }
            bytes.fill(Some(u.content));
        }
        touched.iter().for_each(|&b| bytes[b as usize] = Some(u.content));
        Ok(())
    }
}

/// Whether a step may not write a version: it is there before the program begins.
fn from_outside(origin: VersionOrigin, is_run: bool, step: &Step) -> bool {
    match origin {
        VersionOrigin::Param(_) | VersionOrigin::Joined(_) | VersionOrigin::Constant(_) => true,
        VersionOrigin::Input(_) | VersionOrigin::StateBefore(_) => true,
        VersionOrigin::Derived => is_run,
        VersionOrigin::Frame => !matches!(step.kind, StepKind::Advance { .. }),
        _ => false,
    }
}

fn outputs_and_states(plan: &Plan, run: &Run, bindings: &Bindings, memory: &mut Bytes) -> Result<(), String> {
    for (slot, &id) in plan.outputs_of_run(run).iter().zip(&run.outputs) {
        let extents: Result<Vec<u64>, _> = slot.shape.iter().map(|d| d.eval_extent(bindings)).collect();
        let bytes =
            byte_count(slot.dtype, &extents.map_err(|e| e.to_string())?).map_err(|e| e.to_string())?;
        let there = memory.at(slot.span);
        if bytes as usize > there.len() || there[..bytes as usize].iter().any(|b| *b != Some(id)) {
            return Err(format!("output {} is not there", slot.name));
        }
    }
    for (slot, &id) in plan.states.iter().zip(&run.states) {
        let id = stands_for(&run.program, true, id);
        if memory.at(slot.span).iter().any(|b| *b != Some(id)) {
            return Err(format!("state {} is not there", slot.name));
        }
    }
    Ok(())
}
