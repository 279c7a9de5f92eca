//! Submits the lists of a segment, so that no submission lasts longer than the device's bound.
//!
//! In: recorded lists with their planner, how many replays. Out: everything has ended, or the error says what did not.
//! Which lists make a submission is the planner's decision; here is the clock.

use crate::error::{device_error, stalled};
use crate::gpu::Gpu;
use crate::memory::Regions;
use crate::profile::Bracket;
use crate::raw::{CallError, Commands};
use crate::record::{RecordScope, record};
use crate::session::end_if_set;
use pumice_plan::Span;
use pumice_runtime::Interrupt;
use pumice_runtime::device::DeviceError;
use pumice_runtime::lists::{CutBy, List, cut};
use pumice_runtime::submissions::SubmissionPlanner;
use pumice_types::{Bindings, SymbolTable};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The lists of a segment, and what is known of how long they last.
pub(crate) struct RecordedSegment {
    lists: Vec<Commands>,
    planner: SubmissionPlanner,
}

impl RecordedSegment {
    /// Cuts the levels of a segment into lists and records them.
    pub(crate) fn record(
        scope: &RecordScope<'_>,
        levels: Range<u32>,
        symbols: &SymbolTable,
    ) -> Result<RecordedSegment, DeviceError> {
        let seam = scope.seam(levels.clone());
        let cut = lists_of(scope, levels, symbols);
        let lists = cut.iter().map(|list| record(scope, list, seam, None)).collect::<Result<_, _>>()?;
        Ok(RecordedSegment { lists, planner: SubmissionPlanner::new(cut, &scope.gpu.plan.target) })
    }
}

/// The lists of a segment.
pub(crate) fn lists_of(scope: &RecordScope<'_>, levels: Range<u32>, symbols: &SymbolTable) -> Vec<List> {
    let by = CutBy { symbols, target: &scope.gpu.plan.target, wants: &|id| scope.wants(id) };
    cut(scope.program, levels, &by)
}

/// How a segment is replayed.
pub(crate) struct Replays<'a> {
    pub(crate) gpu: &'a Gpu,
    /// Name of the plan, for errors.
    pub(crate) plan: &'a str,
    pub(crate) times: u32,
    pub(crate) bindings: &'a Bindings,
    /// Bindings of a replay to those of the next.
    pub(crate) advance: &'a dyn Fn(&mut Bindings),
    /// How long a wait for so many replays asks before it sleeps.
    pub(crate) poll: &'a dyn Fn(u32) -> Duration,
    /// The list that makes everything before it visible to the host.
    pub(crate) closing: &'a Commands,
    /// Timestamps around everything, the second of which closes in the place of `closing`.
    pub(crate) bracket: Option<&'a Bracket>,
    /// Where the word lies that a stop leaves, and in which regions.
    pub(crate) stop: Option<(&'a Regions, Span)>,
    /// What ends it early, between two submissions.
    pub(crate) interrupt: &'a Interrupt,
}

impl Replays<'_> {
    /// Replays a segment and waits. No further submission is made once the program has stopped.
    pub(crate) fn run(&self, segment: &mut RecordedSegment) -> Result<(), DeviceError> {
        let RecordedSegment { lists, planner } = segment;
        let total = lists.len() as u64 * u64::from(self.times);
        if planner.is_short(self.times) {
            let us = self.submit(lists, planner.lists(), 0..total, total, Begin::AtSubmission)?;
            // What one replay does no stop has shortened.
            if self.times == 1 || !self.stopped()? {
                planner.short_ended(self.bindings, self.times, us);
            }
            return Ok(());
        }
        let cut = Arc::clone(planner.lists());
        let mut call = planner.call(self.times, self.bindings, self.advance);
        while let Some(next) = call.submission() {
            let us = self.submit(lists, &cut, next, total, Begin::AfterOthers)?;
            if self.stopped()? {
                return if call.is_last() { Ok(()) } else { self.close_early() };
            }
            call.ended(us);
            if !call.is_last() {
                end_if_set(self.interrupt)?;
            }
        }
        call.teach();
        Ok(())
    }

    /// One submission of these lists, counted through all replays, and how long it lasted in microseconds.
    fn submit(
        &self,
        lists: &[Commands],
        cut: &[List],
        next: Range<u64>,
        total: u64,
        begin: Begin,
    ) -> Result<f64, DeviceError> {
        let n = lists.len() as u64;
        let of = |i: u64| (i % n) as usize;
        let open = self.bracket.filter(|_| next.start == 0).map(|b| &b.open);
        let close = self.bracket.filter(|_| next.end == total).map_or(self.closing, |b| &b.close);
        let batch: Vec<&Commands> =
            open.into_iter().chain(next.clone().map(|i| &lists[of(i)])).chain([close]).collect();
        let replays = if n == 0 { 1 } else { (next.end - next.start).div_ceil(n) };
        let poll = (self.poll)(replays.try_into().unwrap_or(u32::MAX));
        self.gpu.run_timed(&batch, poll, begin).map_err(|error| match error {
            CallError::Stalled { waited } if !next.is_empty() => {
                let levels = cut[of(next.start)].levels.start..=last_level(&cut[of(next.end - 1)]);
                stalled(self.plan, levels, waited)
            }
            error => device_error(error),
        })
    }

    /// Ends the bracket of a call that stopped before its last submission.
    fn close_early(&self) -> Result<(), DeviceError> {
        self.bracket.map_or(Ok(()), |b| self.gpu.run(&[&b.close]))
    }

    fn stopped(&self) -> Result<bool, DeviceError> {
        let Some((regions, span)) = self.stop else { return Ok(false) };
        let mut word = [0; 4];
        regions.read(span, &mut word)?;
        Ok(word != [0; 4])
    }
}

fn last_level(list: &List) -> u32 {
    list.levels.end.saturating_sub(1)
}

/// When the clock of a submission begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// When it is submitted: where other sessions keep the device busy that is too early.
    AtSubmission,
    /// When everything submitted before it has ended.
    AfterOthers,
}

impl Gpu {
    /// Runs lists once, one after the other, waits, and says how long they lasted in microseconds. They must leave
    /// nothing that the host may not see.
    pub(crate) fn run_timed(
        &self,
        lists: &[&Commands],
        poll: Duration,
        begin: Begin,
    ) -> Result<f64, CallError> {
        if lists.iter().fold(false, |left, list| list.leaves_unseen(left)) {
            return Err(CallError::Unseen);
        }
        let mut clock = Instant::now();
        let point = self.queue.submit(lists)?;
        let mut go_on = || {
            if begin == Begin::AfterOthers && !self.queue.has_passed(point - 1) {
                self.queue.wait_asking(point - 1, poll)?;
                clock = Instant::now();
            }
            self.queue.wait_asking(point, poll)
        };
        let ended = go_on();
        if ended.is_err() {
            self.queue.settle(point);
        }
        ended.map(|()| clock.elapsed().as_secs_f64() * 1e6)
    }
}
