//! Whether conflicting uses are ordered: every pair, through chains of barriers between stages, and the segments that
//! hold them.

use crate::plan::{Level, Program, Segment, VersionOrigin};
use crate::region::Span;
use crate::step::{Access, StepKind, Use};

pub(super) fn structure(program: &Program) -> Result<(), String> {
    for segment in &program.segments {
        let (levels, host) = match segment {
            Segment::Gpu { levels } | Segment::Repeat { levels, .. } => (levels.clone(), false),
            Segment::Host { level } => (*level..*level + 1, true),
        };
        for step in levels.flat_map(|l| steps_of(program, &program.levels[l as usize])) {
            if program.steps[step].is_host() != host {
                return Err(format!("s{step} is in a segment of another kind"));
            }
        }
    }
    let advance = program.steps.iter().position(|s| matches!(s.kind, StepKind::Advance { .. }));
    match advance {
        Some(i) if i + 1 != program.steps.len() => Err("the frame advances too early".into()),
        _ => Ok(()),
    }
}

fn steps_of(_: &Program, level: &Level) -> Vec<usize> {
    (level.steps.start as usize..level.steps.end as usize).collect()
}

/// Every pair of uses in conflict is ordered.
pub(super) fn ordered(program: &Program) -> Result<(), String> {
    let mut place = vec![(0, 0); program.steps.len()]; // Segment and level of every step.
    for (s, segment) in program.segments.iter().enumerate() {
        let levels = match segment {
            Segment::Gpu { levels } | Segment::Repeat { levels, .. } => levels.clone(),
            Segment::Host { level } => *level..*level + 1,
        };
        for l in levels {
            for i in steps_of(program, &program.levels[l as usize]) {
                place[i] = (s, l);
            }
        }
    }
    for j in 0..program.steps.len() {
        for i in 0..=j {
            for (a, u) in program.steps[i].uses.iter().enumerate() {
                for (b, v) in program.steps[j].uses.iter().enumerate().filter(|(b, _)| i != j || *b > a) {
                    let clash = u.access.conflicts(v.access) && shares_bytes(u.span, v.span);
                    if clash && !pair_is_ordered(program, (i, u), (j, v), &place) {
                        return Err(format!("s{i} use {a} and s{j} use {b} race on {}", v.span));
                    }
                }
            }
        }
    }
    Ok(())
}

fn shares_bytes(a: Span, b: Span) -> bool {
    let (first, last) = (a.offset.0.max(b.offset.0), (a.offset.0 + a.len.0).min(b.offset.0 + b.len.0));
    a.region == b.region && first < last
}

/// Whether one kernel may read and write the same bytes: a state where it writes its next version, and what nobody
/// reads later, where its declaration says in what order it reads and stores.
fn may_share(program: &Program, step: usize, u: &Use, v: &Use) -> bool {
    let state = |u: &Use| match program.values[u.content.0 as usize].origin {
        VersionOrigin::StateBefore(s) | VersionOrigin::StateAfter(s) => Some(s),
        _ => None,
    };
    let temporary = |u: &Use| {
        let value = &program.values[u.content.0 as usize];
        value.origin == VersionOrigin::Step && value.span == u.span
    };
    let over = temporary(u) && temporary(v) && reads_before_it_stores(&program.steps[step].kind);
    let of_state = state(u).is_some() && state(u) == state(v);
    u.span == v.span && u.access.writes() != v.access.writes() && (of_state || over)
}

fn reads_before_it_stores(kind: &StepKind) -> bool {
    let StepKind::Dispatch { call, .. } = kind else { return matches!(kind, StepKind::Host) };
    let declared = |decl: &crate::kernel::KernelDecl| {
        decl.slots_in_place || decl.operands.iter().any(|operand| operand.first)
    };
    crate::kernels::find(&call.kernel.0).is_some_and(declared)
}

fn pair_is_ordered(program: &Program, a: (usize, &Use), b: (usize, &Use), place: &[(usize, u32)]) -> bool {
    let ((i, u), (j, v)) = (a, b);
    if i == j {
        return may_share(program, i, u, v);
    }
    if place[i].0 != place[j].0 {
        return true;
    }
    // Stages that wait for the first use: kernels, grids, transfers.
    let mut waiting = [false; 3];
    for level in place[i].1 + 1..=place[j].1 {
        let Some(barrier) = program.levels[level as usize].barrier else { continue };
        let holds_first = match u.access {
            Access::ShaderWrite | Access::StatusAtomic => barrier.from_shader_write,
            Access::ShaderRead | Access::IndirectRead => {
                barrier.from_shader_write || barrier.from_shader_read
            }
            Access::TransferRead | Access::TransferWrite => barrier.from_transfer,
            Access::HostRead | Access::HostWrite => false,
        };
        let kernels = barrier.from_shader_write || barrier.from_shader_read;
        let holds_waiting = (waiting[0] || waiting[1]) && kernels || waiting[2] && barrier.from_transfer;
        if holds_first || holds_waiting {
            waiting[0] |= barrier.to_shader;
            waiting[1] |= barrier.to_indirect;
            waiting[2] |= barrier.to_transfer;
        }
    }
    match v.access {
        Access::ShaderRead | Access::ShaderWrite | Access::StatusAtomic => waiting[0],
        Access::IndirectRead => waiting[1],
        Access::TransferRead | Access::TransferWrite => waiting[2],
        Access::HostRead | Access::HostWrite => false,
    }
}
