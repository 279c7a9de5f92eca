//! Batches through a trainer, one report for each update.

use super::batch::Batch;
use super::error::TrainerError;
use super::report::Report;
use super::trainer::Trainer;

/// Reports of the updates that batches make; made by [`Trainer::run`]. Dropping it ends the run between two updates.
/// Where several batches make one update and the last ones are fewer, they make one of their own. After an error
/// nothing more comes.
pub struct Run<'t, I> {
    pub(super) trainer: &'t mut Trainer,
    pub(super) batches: I,
    pub(super) ended: bool,
}

impl<I: Iterator<Item = Batch>> Iterator for Run<'_, I> {
    type Item = Result<Report, TrainerError>;

    fn next(&mut self) -> Option<Result<Report, TrainerError>> {
        if self.ended {
            return None;
        }
        let batches: Vec<Batch> = self.batches.by_ref().take(self.trainer.runs_an_update()).collect();
        if batches.is_empty() {
            self.ended = true;
            return None;
        }
        let report = self.trainer.update(&batches);
        self.ended = report.is_err();
        Some(report)
    }
}
