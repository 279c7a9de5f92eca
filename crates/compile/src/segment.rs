//! Segments: maximal runs of device levels, the host levels between them, and loops, whose levels are replayed.

use crate::unplaced::UnplacedLoop;
use pumice_plan::{Level, Segment, Step};
use std::ops::Range;

/// Cuts the levels at host steps and around loops.
pub fn segments(steps: &[Step], levels: &[Level], turns: &[(Range<u32>, UnplacedLoop)]) -> Vec<Segment> {
    let mut out: Vec<Segment> = Vec::new();
    for (i, level) in levels.iter().enumerate() {
        let i = i as u32;
        let host = steps.get(level.steps.start as usize).is_some_and(Step::is_host);
        let turn = turns.iter().find(|(range, _)| range.contains(&i));
        match (turn, out.last_mut()) {
            (Some((range, l)), _) if range.start == i => {
                let turns = u32::try_from(l.most).unwrap_or(u32::MAX);
                let (levels, running, count) = (range.clone(), l.symbol, l.turns.clone());
                out.push(Segment::Repeat { levels, turns, running, count });
            }
            (Some(_), _) => {}
            (None, _) if host => out.push(Segment::Host { level: i }),
            (None, Some(Segment::Gpu { levels })) => levels.end = i + 1,
            (None, _) => out.push(Segment::Gpu { levels: i..i + 1 }),
        }
    }
    out
}
