//! Barriers, from the byte ranges and accesses on the steps and nothing else: RAW, WAR, WAW, also through reuse of
//! bytes and aliases.
//!
//! [`naive`] puts a barrier before every level; it is right everywhere and is the oracle of [`elided`], which keeps
//! one only where an access conflicts with another that no barrier has separated from it yet. A segment begins with
//! the seam barrier and a host segment leaves the device idle, so nothing is pending there.

use pumice_plan::{Access, Barrier, Hazard, HazardKind, Level, RegionKind, Segment, Step, StepId, Use};

/// Barriers before every level but the first of a segment.
pub fn naive(steps: &[Step], levels: &mut [Level], segments: &[Segment]) {
    for range in gpu_segments(segments) {
        let scope = scope(steps, levels, range.clone());
        for level in range.skip(1) {
            levels[level as usize].barrier = Some(scope);
        }
    }
}

/// Barriers only where something needs one.
pub fn elided(steps: &[Step], levels: &mut [Level], segments: &[Segment]) {
    for range in gpu_segments(segments) {
        let scope = scope(steps, levels, range.clone());
        let mut pending: Vec<(StepId, &Use)> = Vec::new();
        for i in range {
            let level = &levels[i as usize];
            let mine: Vec<(StepId, &Use)> = uses(steps, level).collect();
            if let Some(hazard) = first_hazard(&pending, &mine) {
                let (writes, reads) = (
                    pending.iter().any(|(_, u)| u.access.writes() && is_shader(u.access)),
                    pending.iter().any(|(_, u)| !u.access.writes() && is_shader(u.access)),
                );
                let transfer = pending.iter().any(|(_, u)| is_transfer(u.access));
                levels[i as usize].barrier = Some(Barrier {
                    from_shader_write: writes,
                    from_shader_read: reads,
                    from_transfer: transfer,
                    ..scope
                });
                levels[i as usize].reason = Some(hazard);
                pending.clear();
            }
            pending.extend(mine);
        }
    }
}

/// Number of barriers of a program.
pub fn count(levels: &[Level]) -> u32 {
    levels.iter().filter(|l| l.barrier.is_some()).count() as u32
}

fn gpu_segments(segments: &[Segment]) -> impl Iterator<Item = std::ops::Range<u32>> + '_ {
    segments.iter().filter_map(|s| match s {
        Segment::Gpu { levels } => Some(levels.clone()),
        Segment::Host { .. } => None,
    })
}

fn uses<'s>(steps: &'s [Step], level: &Level) -> impl Iterator<Item = (StepId, &'s Use)> {
    level.steps.clone().flat_map(move |i| steps[i as usize].uses.iter().map(move |u| (StepId(i), u)))
}

fn is_shader(access: Access) -> bool {
    matches!(access, Access::ShaderRead | Access::ShaderWrite | Access::StatusAtomic | Access::IndirectRead)
}

fn is_transfer(access: Access) -> bool {
    matches!(access, Access::TransferRead | Access::TransferWrite)
}

/// Everything a barrier of this segment has to cover: what waits after it may be anything the segment does. Grids wait only
/// where the segment writes what one is read from: a barrier that they wait for costs 2.3 us (H200, driver 580.159.04,
/// 2026-11-23: 337 of them made a run of 1.7 ms one of 2.45), and the frame is written by the last step of all, for the next
/// replay, which begins with the seam barrier.
fn scope(steps: &[Step], levels: &[Level], range: std::ops::Range<u32>) -> Barrier {
    let mut scope =
        Barrier { from_shader_write: true, from_shader_read: true, to_shader: true, ..Barrier::default() };
    let mut written: Vec<&Use> = Vec::new();
    for (_, u) in range.flat_map(|i| uses(steps, &levels[i as usize])) {
        scope.from_transfer |= is_transfer(u.access);
        scope.to_transfer |= is_transfer(u.access);
        let of_grid = |w: &&Use| w.span.overlaps(&u.span);
        scope.to_indirect |= u.access == Access::IndirectRead && written.iter().any(of_grid);
        if u.access.writes() && u.span.region == RegionKind::Frame {
            written.push(u);
        }
    }
    scope
}

fn first_hazard(pending: &[(StepId, &Use)], mine: &[(StepId, &Use)]) -> Option<Hazard> {
    mine.iter().find_map(|&(after, use_)| {
        pending.iter().find(|(_, p)| p.access.conflicts(use_.access) && p.span.overlaps(&use_.span)).map(
            |&(before, p)| {
                let kind = match (p.access.writes(), use_.access.writes()) {
                    (true, true) => HazardKind::Waw,
                    (true, false) => HazardKind::Raw,
                    _ => HazardKind::War,
                };
                Hazard { kind, before, after, span: use_.span }
            },
        )
    })
}
