//! What is run for a batch: itself, or the micro-batches that it is cut into. Nothing is copied.

use super::batch::Batch;
use super::error::TrainerError;
use pumice_train::{MicroBatches, names};
use pumice_types::TensorView;
use std::ops::Range;

/// What the inputs of one run are.
pub(super) struct Piece<'b> {
    tensors: Vec<(&'b str, TensorView<'b>)>,
    /// What it weighs, where the graph asks for that.
    share: Option<[f32; 1]>,
    /// Whether it is the last of an update.
    pub ends_update: bool,
}

impl<'b> Piece<'b> {
    /// A batch as it is.
    fn whole(batch: &'b Batch) -> Piece<'b> {
        Piece { tensors: batch.views(), share: None, ends_update: false }
    }

    /// The inputs as a run takes them.
    pub(super) fn views(&self) -> Vec<(&str, TensorView<'_>)> {
        let share = self.share.as_ref().map(|share| (names::SHARE, TensorView::f32(share, [])));
        self.tensors.iter().copied().chain(share).collect()
    }

    /// Names of the inputs.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let share = self.share.map(|_| names::SHARE);
        self.tensors.iter().map(|(name, _)| *name).chain(share)
    }

    /// Whether another one has the same inputs of the same extents.
    pub(super) fn is_like(&self, other: &Piece<'_>) -> bool {
        let pairs = self.tensors.iter().zip(&other.tensors);
        let alike = |((name, a), (other, b)): (&(&str, TensorView<'_>), &(&str, TensorView<'_>))| {
            name == other && a.shape() == b.shape()
        };
        self.tensors.len() == other.tensors.len() && pairs.into_iter().all(alike)
    }
}

/// How batches become pieces.
pub(super) struct Pieces<'t> {
    pub micro_batches: Option<&'t MicroBatches>,
    /// How many batches an update is made of.
    pub runs_an_update: usize,
}

impl Pieces<'_> {
    /// The pieces of batches, the first of which begins an update; the last one ends one.
    ///
    /// # Errors
    /// A batch that cannot be cut.
    pub(super) fn of<'b>(&self, batches: &'b [Batch]) -> Result<Vec<Piece<'b>>, TrainerError> {
        let (pieces, ended) = self.up_to(batches);
        ended.map_or(Ok(pieces), Err)
    }

    /// As [`Pieces::of`], of the batches before the first one that cannot be cut, and why it cannot.
    pub(super) fn up_to<'b>(&self, batches: &'b [Batch]) -> (Vec<Piece<'b>>, Option<TrainerError>) {
        let mut all = Vec::new();
        for (i, batch) in batches.iter().enumerate() {
            match Pieces::of_one(self.micro_batches, batch) {
                Ok(pieces) => all.extend(pieces),
                Err(error) => return (all, Some(error)),
            }
            let ends = (i + 1).is_multiple_of(self.runs_an_update) || i + 1 == batches.len();
            all.iter_mut().last().into_iter().for_each(|piece| piece.ends_update = ends);
        }
        (all, None)
    }

    /// The pieces of one batch.
    ///
    /// # Errors
    /// A batch that cannot be cut, or names what the trainer fills.
    pub(super) fn of_one<'b>(
        cut: Option<&MicroBatches>,
        batch: &'b Batch,
    ) -> Result<Vec<Piece<'b>>, TrainerError> {
        if let Some(name) = batch.reserved() {
            return Err(TrainerError::Reserved { name: name.to_owned() });
        }
        match cut.and_then(|cut| Rows::of(cut, batch)) {
            Some(rows) => rows.pieces(),
            // Whoever runs it says what it lacks.
            None => Ok(vec![Piece::whole(batch)]),
        }
    }
}

/// A batch that is to be cut.
struct Rows<'c, 'b> {
    cut: &'c MicroBatches,
    views: Vec<(&'b str, TensorView<'b>)>,
    /// Rows of the first input that is cut.
    rows: u64,
}

impl<'c, 'b> Rows<'c, 'b> {
    /// None where a batch has no input that is cut.
    fn of(cut: &'c MicroBatches, batch: &'b Batch) -> Option<Rows<'c, 'b>> {
        let views = batch.views();
        let rows = views.iter().find_map(|view| rows_of(cut, view))?;
        Some(Rows { cut, views, rows })
    }

    fn pieces(&self) -> Result<Vec<Piece<'b>>, TrainerError> {
        let others = self.views.iter().filter_map(|view| Some((view.0, rows_of(self.cut, view)?)));
        if let Some((name, other)) = others.into_iter().find(|(_, other)| *other != self.rows) {
            return Err(self.wrong(format!("`{name}` has {other}")));
        }
        let parts = self.cut.of(self.rows).map_err(|reason| self.wrong(reason))?;
        parts.into_iter().map(|part| self.piece(&part)).collect()
    }

    fn piece(&self, part: &Range<u64>) -> Result<Piece<'b>, TrainerError> {
        let of = |&(name, view): &(&'b str, TensorView<'b>)| match rows_of(self.cut, &(name, view)) {
            None => Ok((name, view)),
            Some(_) => {
                let rows = view.rows(part.clone()).map(|rows| (name, rows));
                rows.ok_or_else(|| self.wrong(format!("the bytes of `{name}` are not those of its extents")))
            }
        };
        let tensors = self.views.iter().map(of).collect::<Result<_, TrainerError>>()?;
        let share = self.cut.by_share.then(|| [self.cut.share(part, self.rows)]);
        Ok(Piece { tensors, share, ends_update: false })
    }

    fn wrong(&self, reason: String) -> TrainerError {
        TrainerError::Rows { symbol: self.cut.symbol.name.clone(), rows: self.rows, reason }
    }
}

/// How many rows an input has that is cut.
fn rows_of(cut: &MicroBatches, (name, view): &(&str, TensorView<'_>)) -> Option<u64> {
    let is_cut = cut.inputs.iter().any(|input| input == name);
    view.shape().first().copied().filter(|_| is_cut)
}
