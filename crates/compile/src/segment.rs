//! Segments: maximal runs of device levels, and the host levels between them.

use pumice_plan::{Level, Segment, Step};

/// Cuts the levels at host steps.
pub fn segments(steps: &[Step], levels: &[Level]) -> Vec<Segment> {
    let mut out: Vec<Segment> = Vec::new();
    for (i, level) in levels.iter().enumerate() {
        let i = i as u32;
        let host = steps.get(level.steps.start as usize).is_some_and(Step::is_host);
        match out.last_mut() {
            _ if host => out.push(Segment::Host { level: i }),
            Some(Segment::Gpu { levels }) => levels.end = i + 1,
            _ => out.push(Segment::Gpu { levels: i..i + 1 }),
        }
    }
    out
}
