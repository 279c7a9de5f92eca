//! Batches through a trainer, one report for each update.

use super::batch::Batch;
use super::error::TrainerError;
use super::report::Report;
use super::submission::Reports;
use super::trainer::Trainer;

/// Reports of the updates that batches make; made by [`Trainer::run`]. Dropping it ends the run between two updates, or
/// where a submission has several steps between two submissions: updates that were not asked for yet are made. Where
/// several batches make one update and the last ones are fewer, they make one of their own. After an error nothing more
/// comes.
#[must_use = "a run trains as its reports are asked for"]
pub struct Run<'t, I> {
    pub(super) trainer: &'t mut Trainer,
    pub(super) batches: I,
    /// Of updates that were made.
    pub(super) reports: Reports,
    pub(super) ended: bool,
}

impl<I: Iterator<Item = Batch>> Run<'_, I> {
    /// Makes the next updates; whether there were batches for any.
    fn advance(&mut self) -> bool {
        // No room is taken before there are batches for it: a recipe may accumulate more than ever come.
        let mut batches = Vec::new();
        for batch in self.batches.by_ref().take(self.trainer.batches_at_once()) {
            batches.push(batch);
        }
        if batches.is_empty() {
            return false;
        }
        self.trainer.run_batches(&batches, &mut self.reports);
        true
    }
}

impl<I: Iterator<Item = Batch>> Iterator for Run<'_, I> {
    type Item = Result<Report, TrainerError>;

    fn next(&mut self) -> Option<Result<Report, TrainerError>> {
        if self.ended || (self.reports.is_empty() && !self.advance()) {
            self.ended = true;
            return None;
        }
        let report = self.reports.pop_front();
        self.ended = report.as_ref().is_none_or(Result::is_err);
        report
    }
}
