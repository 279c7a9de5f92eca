//! Streamed params: each passes through one stream, which reads nothing else that the user sets, and no other program
//! reads its bytes. That streams share no byte among the weights is looked at with the slots.

use super::Scope;
use super::error::{Fault, Findings};
use super::interface::{chunks, misplaced};
use crate::plan::{ParamSlot, Plan, StateInit, VersionOrigin};
use crate::region::{RegionKind, SLOT_ALIGNMENT};
use crate::step::{Step, StepId, StepKind};
use crate::stream::{Residence, Stream};
use pumice_types::tensor::byte_count;

/// Checks streams and streamed params against each other.
pub(super) fn check(plan: &Plan, findings: &mut Findings) {
    let mut passed = vec![0_u32; plan.params.len()];
    for stream in &plan.streams {
        chunks(plan, &stream.room, findings);
        let param = plan.params.get(stream.param as usize);
        if let Some(count) = passed.get_mut(stream.param as usize) {
            *count += 1;
        }
        let why = match param {
            None => Some("it is no param"),
            Some(p) => fault(plan, stream, p),
        };
        if let Some(why) = why {
            let param = param.map_or_else(|| stream.param.to_string(), |p| p.name.clone());
            findings.add(Fault::Stream { param, why });
        }
    }
    for (i, (p, times)) in plan.params.iter().zip(passed).enumerate() {
        let begins = || plan.states.iter().any(|s| s.init == StateInit::Param(i as u32));
        let why = match (p.residence(), times) {
            (Residence::Streamed, 1) if begins() => "a state begins as the param",
            (Residence::Streamed, 1) | (Residence::Kept, 0) => continue,
            (Residence::Streamed, 0) => "there is none",
            (Residence::Kept, _) => "the param is kept",
            (Residence::Streamed, _) => "there are several",
        };
        findings.add(Fault::Stream { param: p.name.clone(), why });
    }
}

fn fault(plan: &Plan, stream: &Stream, param: &ParamSlot) -> Option<&'static str> {
    if stream.room.kind != RegionKind::Scratch {
        return Some("its room is not scratch");
    }
    let needed = plan.region_size(RegionKind::Weights).0.checked_add(stream.room.size().0);
    if needed.is_none_or(|n| n > plan.target.limits.memory.0) {
        return Some("weights and its room are more than the target has");
    }
    let bytes = byte_count(param.encoding, &param.shape).ok();
    if bytes.is_none_or(|b| b != param.span.len.0 || b == 0) {
        return Some("the param has other bytes than its place");
    }
    if !param.span.offset.0.is_multiple_of(SLOT_ALIGNMENT) {
        return Some("the param begins at no multiple of 256");
    }
    let uses = || stream.program.steps.iter().flat_map(|s| &s.uses);
    let inside = |kind| matches!(kind, RegionKind::Weights | RegionKind::Scratch);
    if !uses().all(|u| inside(u.span.region)) {
        return Some("a step touches more than weights and scratch");
    }
    if !stream.program.steps.iter().all(|s| matches!(s.kind, StepKind::Dispatch { .. })) {
        return Some("a step is no dispatch");
    }
    misplaced(Some(&stream.room), param.span)
}

/// Whether the bytes of a param are there while a program runs.
pub(super) fn is_there(scope: &Scope<'_>, param: u32) -> bool {
    why_not(scope, param).is_none()
}

fn why_not(scope: &Scope<'_>, param: u32) -> Option<&'static str> {
    match (scope.stream, scope.plan.params.get(param as usize)?.residence()) {
        (Some(stream), _) if stream.param == param => None,
        (Some(_), _) => Some("which may be set when this stream does not run"),
        (None, Residence::Streamed) => Some("whose bytes do not stay"),
        (None, Residence::Kept) => None,
    }
}

/// Checks that a step reads only params that are there.
pub(super) fn check_uses(scope: &Scope<'_>, (id, step): (StepId, &Step), findings: &mut Findings) {
    for (index, u) in step.uses.iter().enumerate() {
        let missing = match scope.program.values[u.content.0 as usize].origin {
            VersionOrigin::Param(p) => why_not(scope, p).map(|why| (p, why)),
            VersionOrigin::Joined(set) if scope.stream.is_some() => {
                let first = scope.plan.joined.get(set as usize).and_then(|j| j.params.first());
                first.map(|&p| (p, "which may be set when this stream does not run"))
            }
            _ => None,
        };
        if let Some((param, why)) = missing {
            let param = scope.plan.params.get(param as usize).map_or("?", |p| &p.name).to_owned();
            findings.at(id, &step.origin, Fault::NotThere { index, param, why });
        }
    }
}
