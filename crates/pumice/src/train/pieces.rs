//! What is run for a batch: itself, or the micro-batches that it is cut into. Nothing is copied.

use super::batch::Batch;
use super::error::TrainerError;
use super::inputs::Inputs;
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
    fn whole(tensors: Vec<(&'b str, TensorView<'b>)>) -> Piece<'b> {
        Piece { tensors, share: None, ends_update: false }
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

    /// Whether another one has the same inputs of the same types.
    pub(super) fn is_like(&self, other: &Piece<'_>) -> bool {
        let pairs = self.tensors.iter().zip(&other.tensors);
        let alike = |((name, a), (other, b)): (&(&str, TensorView<'_>), &(&str, TensorView<'_>))| {
            name == other && a.shape() == b.shape() && a.encoding() == b.encoding()
        };
        self.tensors.len() == other.tensors.len() && pairs.into_iter().all(alike)
    }
}

/// How batches become pieces.
pub(super) struct Pieces<'t> {
    /// The entry that takes them.
    pub entry: &'static str,
    pub inputs: &'t Inputs,
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

    /// As [`Pieces::of`], of the updates before the one with the first batch that cannot be cut, and why it cannot.
    pub(super) fn up_to<'b>(&self, batches: &'b [Batch]) -> (Vec<Piece<'b>>, Option<TrainerError>) {
        let mut all = Vec::new();
        for (i, batch) in batches.iter().enumerate() {
            match self.of_one(batch) {
                Ok(pieces) => all.extend(pieces),
                Err(error) => {
                    all.truncate(whole_updates(&all));
                    return (all, Some(error));
                }
            }
            let ends = (i + 1).is_multiple_of(self.runs_an_update) || i + 1 == batches.len();
            all.iter_mut().last().into_iter().for_each(|piece| piece.ends_update = ends);
        }
        (all, None)
    }

    /// The pieces of one batch.
    ///
    /// # Errors
    /// A batch that cannot be cut, names what the trainer fills, asks for a row before the first, or has an index out
    /// of range.
    pub(super) fn of_one<'b>(&self, batch: &'b Batch) -> Result<Vec<Piece<'b>>, TrainerError> {
        if let Some(name) = batch.reserved() {
            return Err(TrainerError::Reserved { name: name.to_owned() });
        }
        if let Some(row) = batch.row_before_the_first() {
            return Err(TrainerError::Row { row });
        }
        let taken = |(name, _): &(&str, TensorView<'_>)| !self.inputs.leaves_out(self.entry, name);
        let views: Vec<_> = batch.views().into_iter().filter(taken).collect();
        views.iter().try_for_each(|(name, view)| self.inputs.check_indices(name, view))?;
        match self.micro_batches.and_then(|cut| Rows::of(cut, &views)) {
            Some(rows) => rows.pieces(),
            // Whoever runs it says what it lacks.
            None => Ok(vec![Piece::whole(views)]),
        }
    }
}

/// How many pieces from the first on are those of whole updates.
pub(super) fn whole_updates(pieces: &[Piece<'_>]) -> usize {
    pieces.iter().rposition(|piece| piece.ends_update).map_or(0, |last| last + 1)
}

/// The pieces up to the end of the last of so many updates.
pub(super) fn first_updates<'p, 'b>(pieces: &'p [Piece<'b>], updates: usize) -> &'p [Piece<'b>] {
    let mut ends = (1..).zip(pieces).filter(|(_, piece)| piece.ends_update).map(|(end, _)| end);
    let end = updates.checked_sub(1).and_then(|before| ends.nth(before));
    end.map_or(pieces, |end| &pieces[..end])
}

/// A batch that is to be cut.
struct Rows<'c, 'b> {
    cut: &'c MicroBatches,
    views: &'c [(&'b str, TensorView<'b>)],
    /// Rows of the first input that is cut.
    rows: u64,
}

impl<'c, 'b> Rows<'c, 'b> {
    /// None where a batch has no input that is cut.
    fn of(cut: &'c MicroBatches, views: &'c [(&'b str, TensorView<'b>)]) -> Option<Rows<'c, 'b>> {
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
