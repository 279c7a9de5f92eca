//! `recompute`: values that wait long for their next reader are computed again shortly before it, until what is alive
//! at once fits (DESIGN 11.3; Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016).
//!
//! In: the last graph of a range, the bytes that its values may take, and the time of each node. Out: one patch. Nodes
//! are repeated whole, so no bit changes: the same kernel on the same operands. What is repeated waits, behind a
//! [`Barrier`](pumice_ir::ops::Barrier), for a value that its earliest late reader also reads, since steps run as early
//! as they can. An elementwise one becomes a part of an elementwise reader then (`fuse_elementwise` again), and is not
//! stored. Never repeated: what writes a state, finds an extent, branches, loops, reports or runs on the host.
//!
//! Which values: of those alive where most is, the one (with what must be repeated for it) that frees the most bytes
//! for the least time; then again. Bytes and levels are estimates: places are given later, and the compiler asks for
//! less where they turn out larger.

mod choice;
mod redirected;
mod schedule;

use crate::pipeline::PassCx;
use pumice_ir::{Graph, Patch};
use schedule::{Peak, Schedule};

/// One patch that repeats nodes, where the values of the graph need more room than there is.
pub fn recompute(graph: &Graph, cx: &PassCx<'_>) -> Vec<Patch> {
    let Some(room) = cx.room else { return Vec::new() };
    let mut schedule = Schedule::of(graph, cx.symbols(graph), room);
    let mut repeated = false;
    while let Some(best) = next(&schedule, room.bytes) {
        if schedule.repeat(&best) {
            repeated = true;
        } else {
            schedule.refuse(&best);
        }
    }
    if repeated { vec![redirected::patch(graph, &schedule)] } else { Vec::new() }
}

/// What is repeated next: at the highest peak above so many bytes where anything can be. Where nothing can, the places
/// that are given later may still be fewer than what is counted here.
fn next(schedule: &Schedule, bytes: u64) -> Option<choice::Choice> {
    let mut peaks: Vec<Peak> = schedule.alive();
    peaks.retain(|peak| peak.bytes > bytes);
    peaks.sort_by_key(|peak| (std::cmp::Reverse(peak.bytes), peak.level));
    peaks.iter().find_map(|peak| choice::best(schedule, peak))
}
