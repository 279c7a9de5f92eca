//! Loops: one turn is recorded, and replayed until the device or a count says that there is no further one.
//!
//! In: the segment of a turn. Out: all turns of a run are taken. How many the device takes is read between batches of
//! turns, while it is idle; a turn behind the end does nothing.

use crate::record::RecordScope;
use crate::session::as_found;
use crate::submit::{RecordedSegment, Replays};
use pumice_plan::Segment;
use pumice_runtime::device::DeviceError;
use pumice_types::{DimExpr, SymbolId, SymbolTable, When};
use std::ops::Range;

/// Turns of a loop that are submitted together at least.
const FEW_TURNS: u32 = 16;

/// A loop of a recorded program.
pub(crate) struct RecordedLoop {
    turn: Box<RecordedSegment>,
    bounds: LoopBounds,
    /// Where the device says when it ends: turns that its next run is expected to take.
    expected: u32,
}

/// How many turns a loop takes.
pub(crate) struct LoopBounds {
    /// At most.
    most: u32,
    /// Where the caller's symbols say so.
    count: Option<DimExpr>,
    /// The branches that the loop stands in. They are known before its first turn.
    outer: When,
    /// The same, and where the device says how many turns there are, that there is a further one: a turn finds that.
    when: When,
}

impl LoopBounds {
    /// Those of a loop with these levels, which ends behind its `most`th turn, after `count` turns, or where `running`
    /// is found to be 0.
    pub(crate) fn of(
        scope: &RecordScope<'_>,
        levels: &Range<u32>,
        most: u32,
        running: SymbolId,
        count: Option<&DimExpr>,
    ) -> LoopBounds {
        let when = scope.program.turn_when(levels);
        let further = DimExpr::symbol(running);
        let outer = when.branches().iter().filter(|branch| branch.taken != further).cloned().collect();
        LoopBounds { most, count: count.cloned(), outer: When::all(outer), when }
    }

    /// Turns of a run at most: none where the loop's branch is not taken.
    pub(crate) fn at_most(&self, replays: &Replays<'_>, scope: &RecordScope<'_>) -> Result<u32, DeviceError> {
        let most = match &self.count {
            Some(count) => Segment::counted_turns(count, self.most, replays.bindings)
                .map_err(|e| DeviceError::Unsupported(format!("turns of a loop: {e}")))?,
            None => self.most,
        };
        Ok(if most > 0 && holds(&self.outer, replays, scope)? { most } else { 0 })
    }
}

/// Whether these branches are taken, by what the run has found so far.
fn holds(when: &When, replays: &Replays<'_>, scope: &RecordScope<'_>) -> Result<bool, DeviceError> {
    if when.is_always() {
        return Ok(true);
    }
    let found = as_found(scope, replays.bindings)?;
    when.holds(&found).map_err(|e| DeviceError::Unsupported(format!("a choice of a loop: {e}")))
}

impl RecordedLoop {
    /// Records one turn.
    pub(crate) fn record(
        scope: &RecordScope<'_>,
        levels: &Range<u32>,
        bounds: LoopBounds,
        symbols: &SymbolTable,
    ) -> Result<RecordedLoop, DeviceError> {
        let turn = Box::new(RecordedSegment::record(scope, levels.clone(), symbols)?);
        Ok(RecordedLoop { turn, bounds, expected: FEW_TURNS })
    }

    /// Takes the turns of a run of which so many are done.
    pub(crate) fn take_turns(
        &mut self,
        replays: &Replays<'_>,
        scope: &RecordScope<'_>,
        done: u32,
    ) -> Result<(), DeviceError> {
        let RecordedLoop { turn, bounds, expected } = self;
        let left = bounds.at_most(replays, scope)?.saturating_sub(done);
        let mut batch = |times| Replays { times, ..*replays }.run(turn);
        match bounds.count {
            _ if left == 0 => Ok(()),
            Some(_) => batch(left),
            None => {
                let batch = |times| batch(times).and_then(|()| holds(&bounds.when, replays, scope));
                *expected = find_turns(batch, left, *expected)?;
                Ok(())
            }
        }
    }
}

/// Takes batches of turns until one says that there is no further one, or there are as many as may be: first as many
/// as are expected, then an eighth of that, and twice as many each time. A turn behind the end does nothing. Returns
/// how many to expect the next time: as many, or a little less where they were enough, so that what one run needed is
/// not taken for ever.
fn find_turns(
    mut batch: impl FnMut(u32) -> Result<bool, DeviceError>,
    turns: u32,
    expected: u32,
) -> Result<u32, DeviceError> {
    let (mut left, mut times) = (turns, expected);
    let mut next = (expected / 8).max(FEW_TURNS);
    while left > 0 {
        times = times.min(left);
        left -= times;
        if !batch(times)? {
            break;
        }
        (times, next) = (next, next.saturating_mul(2));
    }
    let taken = turns - left;
    Ok(if taken <= expected { (taken - taken / 8).max(FEW_TURNS) } else { taken })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The batches that a loop of so many turns takes, and how many it then expects.
    fn batches(needed: u32, most: u32, expected: u32) -> (Vec<u32>, u32) {
        let mut taken = Vec::new();
        let next = find_turns(
            |times| {
                taken.push(times);
                Ok(taken.iter().sum::<u32>() < needed)
            },
            most,
            expected,
        );
        (taken, next.expect("no batch fails"))
    }

    #[test]
    fn batches_follow_what_runs_need() {
        assert_eq!(batches(5, 100, FEW_TURNS), (vec![16], 16));
        assert_eq!(batches(100, 100, FEW_TURNS), (vec![16, 16, 32, 36], 100));
        assert_eq!(batches(100, 1 << 24, 100), (vec![100], 88));
        assert_eq!(batches(100, 1 << 24, 88), (vec![88, 16], 104));
        assert_eq!(batches(7, 7, 16), (vec![7], 16));
    }

    /// One long run is not paid for by all that come after it.
    #[test]
    fn what_one_run_needed_is_forgotten() {
        let mut expected = batches(1 << 20, 1 << 24, FEW_TURNS).1;
        for _ in 0..100 {
            expected = batches(3, 1 << 24, expected).1;
        }
        assert!(expected <= 2 * FEW_TURNS, "{expected}");
    }
}
