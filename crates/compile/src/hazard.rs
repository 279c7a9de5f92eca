//! Barriers, from the byte ranges and accesses on the steps and nothing else: RAW, WAR, WAW, also through reuse of
//! bytes and aliases.
//!
//! [`naive`] puts a barrier before every level; it is right everywhere and is the oracle of [`elided`], which keeps
//! one only where an access conflicts with another that no barrier has separated from it yet. A segment begins with
//! the seam barrier and a host segment leaves the device idle, so nothing is pending there.

use pumice_plan::{Access, Barrier, Hazard, HazardKind, Level, RegionKind, Segment, Span, Step, StepId, Use};

/// Barriers before every level but the first of a segment.
pub fn naive(steps: &[Step], levels: &mut [Level], segments: &[Segment]) {
    for range in gpu_segments(segments) {
        let mut scope = Scope::default();
        let all = range.clone().flat_map(|i| uses(steps, &levels[i as usize]));
        all.for_each(|(_, u)| scope.add(u));
        for level in range.skip(1) {
            levels[level as usize].barrier = Some(scope.barrier);
        }
    }
}

/// Barriers only where something needs one. Returns how many there would be if every use had the place that `apart`
/// gives it.
pub fn elided(
    steps: &[Step],
    levels: &mut [Level],
    segments: &[Segment],
    apart: impl Fn(&Use) -> Span,
) -> u32 {
    let mut unlimited = 0;
    let mut mine: Vec<(StepId, &Use)> = Vec::new();
    for range in gpu_segments(segments) {
        let mut scope = Scope::default();
        let (mut pending, mut pending_apart) = (Pending::default(), Pending::default());
        let mut frame_written = false;
        for i in range.clone() {
            mine.clear();
            mine.extend(uses(steps, &levels[i as usize]));
            mine.iter().for_each(|(_, u)| scope.add(u));
            if let Some((hazard, before)) = pending.add(steps, &mine, |u| u.span) {
                let to_indirect = std::mem::take(&mut frame_written);
                levels[i as usize].barrier = Some(Barrier { to_indirect, ..before });
                levels[i as usize].reason = Some(hazard);
            }
            frame_written |= mine.iter().any(|(_, u)| writes_frame(u));
            unlimited += u32::from(pending_apart.add(steps, &mine, &apart).is_some());
        }
        for level in range {
            let barrier = &mut levels[level as usize].barrier;
            *barrier = barrier.map(|before| Barrier {
                from_shader_write: before.from_shader_write,
                from_shader_read: before.from_shader_read,
                from_transfer: before.from_transfer,
                to_indirect: before.to_indirect && scope.barrier.to_indirect,
                ..scope.barrier
            });
        }
    }
    unlimited
}

/// Uses that no barrier has separated from what comes.
#[derive(Default)]
struct Pending {
    uses: Vec<(StepId, Access, Span)>,
}

impl Pending {
    /// Adds the uses of the next level. Where one conflicts with what is pending, a barrier comes between, after which
    /// only the level's uses are pending: the hazard, and what the barrier waits for.
    fn add(
        &mut self,
        steps: &[Step],
        mine: &[(StepId, &Use)],
        span: impl Fn(&Use) -> Span,
    ) -> Option<(Hazard, Barrier)> {
        let first = self.uses.len();
        self.uses.extend(mine.iter().map(|&(id, u)| (id, u.access, span(u))));
        let (pending, mine) = self.uses.split_at(first);
        let hazard = first_hazard(steps, pending, mine)?;
        let any = |is: &dyn Fn(Access) -> bool| pending.iter().any(|p| is(p.1));
        let before = Barrier {
            from_shader_write: any(&|a| a.writes() && is_shader(a)),
            from_shader_read: any(&|a| !a.writes() && is_shader(a)),
            from_transfer: any(&is_transfer),
            ..Barrier::default()
        };
        self.uses.drain(..first);
        Some((hazard, before))
    }
}

/// Number of barriers of a program.
pub fn count(levels: &[Level]) -> u32 {
    levels.iter().filter(|l| l.barrier.is_some()).count() as u32
}

fn gpu_segments(segments: &[Segment]) -> impl Iterator<Item = std::ops::Range<u32>> + '_ {
    segments.iter().filter_map(|s| match s {
        Segment::Gpu { levels } | Segment::Repeat { levels, .. } => Some(levels.clone()),
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

fn writes_frame(u: &Use) -> bool {
    u.access.writes() && u.span.region == RegionKind::Frame
}

/// Everything a barrier of a segment has to cover: what waits after it may be anything the segment does. Grids wait
/// only where the segment writes what one is read from, and there at the first barrier after it: a barrier that they
/// wait for costs 2.3 us (H200, driver 580.159.04, 2026-11-23: 337 of them made a run of 1.7 ms one of 2.45). The frame
/// is written by the last step of all, too, for the next replay, which begins with the seam barrier.
struct Scope<'s> {
    barrier: Barrier,
    /// Uses that write the frame.
    written: Vec<&'s Use>,
}

impl Default for Scope<'_> {
    fn default() -> Self {
        let of_shaders = Barrier {
            from_shader_write: true,
            from_shader_read: true,
            to_shader: true,
            ..Barrier::default()
        };
        Scope { barrier: of_shaders, written: Vec::new() }
    }
}

impl<'s> Scope<'s> {
    /// The next use of the segment.
    fn add(&mut self, u: &'s Use) {
        self.barrier.from_transfer |= is_transfer(u.access);
        self.barrier.to_transfer |= is_transfer(u.access);
        let of_grid = |w: &&Use| w.span.overlaps(&u.span);
        self.barrier.to_indirect |= u.access == Access::IndirectRead && self.written.iter().any(of_grid);
        if writes_frame(u) {
            self.written.push(u);
        }
    }
}

/// The first conflict of two steps that may both run.
fn first_hazard(
    steps: &[Step],
    pending: &[(StepId, Access, Span)],
    mine: &[(StepId, Access, Span)],
) -> Option<Hazard> {
    let when = |id: StepId| &steps[id.0 as usize].when;
    mine.iter().find_map(|&(after, access, span)| {
        let conflicts = |(before, p, at): &&(StepId, Access, Span)| {
            p.conflicts(access) && at.overlaps(&span) && !when(*before).excludes(when(after))
        };
        pending.iter().find(conflicts).map(|&(before, p, _)| {
            let kind = match (p.writes(), access.writes()) {
                (true, true) => HazardKind::Waw,
                (true, false) => HazardKind::Raw,
                _ => HazardKind::War,
            };
            Hazard { kind, before, after, span }
        })
    })
}
