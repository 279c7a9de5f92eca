//! Several steps in a submission: batches, or the micro-batches that they are cut into, into the rows of the inputs,
//! replays, and what each of them reported.

use super::batch::Batch;
use super::error::TrainerError;
use super::pieces::{Piece, first_updates, whole_updates};
use super::report::Report;
use super::trainer::Trainer;
use pumice_runtime::{NameKind, RunOptions, RuntimeError};
use pumice_train::names;
use pumice_types::{DType, TensorView};
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use std::time::Instant;

/// What a trainer says of updates, in their order; nothing follows an error.
pub(super) type Reports = VecDeque<Result<Report, TrainerError>>;

/// Steps that a trainer has on the device.
pub(super) struct Steps {
    /// How many batches a submission has at most: 1 without rows.
    pub rows: usize,
    /// Whether the program itself ends a submission at a step that stops.
    pub stops_itself: bool,
}

/// How far a submission came.
#[derive(Default)]
struct Came {
    /// Steps that counted.
    steps: usize,
    /// Whether the last of them stops.
    stopped: bool,
    /// What ops reported, and in which step first.
    failed: Option<(usize, RuntimeError)>,
}

impl Trainer {
    /// Runs batches that make whole updates, in as few submissions as rows and extents allow, and appends the reports.
    pub(super) fn run_rows(&mut self, batches: &[Batch], reports: &mut Reports) {
        let begun = Instant::now();
        let before = reports.len();
        if let Err(error) = self.run_pieces(batches, reports) {
            // Of a device that is lost, what reading its counts says is less than what is known.
            _ = self.recover();
            reports.push_back(Err(error));
        }
        let made = reports.iter_mut().skip(before).filter_map(|report| report.as_mut().ok());
        let made: Vec<&mut Report> = made.collect();
        let seconds = begun.elapsed().as_secs_f64() / made.len().max(1) as f64;
        made.into_iter().for_each(|report| report.seconds = seconds);
    }

    /// What [`Trainer::run_rows`] runs: the updates before the first batch that cannot be cut or is none of the step's,
    /// which is found before any of them runs.
    fn run_pieces(&mut self, batches: &[Batch], reports: &mut Reports) -> Result<(), TrainerError> {
        let (mut pieces, mut ended) = self.pieces().up_to(batches);
        self.session.entry("step")?.set_scalar(names::ROW, 0)?;
        if let Some((first, error)) = self.first_unfit(&pieces) {
            pieces.truncate(whole_updates(&pieces[..first]));
            ended = Some(error.into());
        }
        for part in alike(&pieces, self.steps.rows) {
            let mut left = &pieces[part];
            while !left.is_empty() {
                let ran = self.submit(left, reports)?;
                left = &left[ran..];
            }
        }
        ended.map_or(Ok(()), Err)
    }

    /// The first piece that does not fit the inputs of the step, and why.
    fn first_unfit(&mut self, pieces: &[Piece<'_>]) -> Option<(usize, RuntimeError)> {
        let rows = self.steps.rows as u64;
        // Pieces of a part are of the same types.
        let first = alike(pieces, pieces.len()).into_iter().map(|part| part.start);
        let own = [names::NUMBERS, names::BASE, names::ENDS];
        let mut checked =
            first.map(|at| (at, self.session.check_input_rows(&pieces[at].views(), rows, &own)));
        checked.find_map(|(at, fits)| fits.err().map(|error| (at, error)))
    }

    /// One submission of these pieces, of one kind, and how many it ran: up to the end of the last update whose numbers
    /// are sound. Updates that were left out may make those of the next one sound.
    fn submit(&mut self, pieces: &[Piece<'_>], reports: &mut Reports) -> Result<usize, TrainerError> {
        self.session.entry("step")?;
        let due = pieces.iter().filter(|piece| piece.ends_update).count();
        let sound = self.rows.bind(&mut self.session, self.updates, due)?;
        let pieces = if sound < due { first_updates(pieces, sound) } else { pieces };
        let ends: Vec<bool> = pieces.iter().map(|piece| piece.ends_update).collect();
        let came = self.run_filled(pieces, &ends)?;
        self.take_reports(&ends, &came, reports)?;
        came.failed.map_or(Ok(pieces.len()), |(_, error)| Err(error.into()))
    }

    /// Fills the rows, and runs them.
    fn run_filled(&mut self, pieces: &[Piece<'_>], ends: &[bool]) -> Result<Came, RuntimeError> {
        self.bind_ends(ends)?;
        let filled = self.fill_rows(pieces);
        let came = filled.and_then(|()| self.replay(ends.len()));
        // What the next batches lack is missing, not the same as before.
        let names: BTreeSet<&str> = pieces.iter().flat_map(Piece::names).collect();
        names.into_iter().for_each(|name| _ = self.session.unbind_input(name));
        came
    }

    /// Each piece in a row of the inputs.
    fn fill_rows(&mut self, pieces: &[Piece<'_>]) -> Result<(), RuntimeError> {
        let rows = self.steps.rows as u64;
        for (row, piece) in (0..).zip(pieces) {
            let mut given = BTreeSet::new();
            for (name, view) in piece.views() {
                if !given.insert(name) {
                    return Err(RuntimeError::Duplicate { kind: NameKind::Input, name: name.to_owned() });
                }
                self.session.bind_input_row(name, (row, rows), view)?;
            }
        }
        Ok(())
    }

    /// Says which pieces end an update, where not every one does.
    fn bind_ends(&mut self, ends: &[bool]) -> Result<(), RuntimeError> {
        if !self.accumulates() {
            return Ok(());
        }
        let mut flags = vec![0; self.steps.rows];
        flags.iter_mut().zip(ends).for_each(|(flag, &ends)| *flag = u8::from(ends));
        let shape = [flags.len() as u64];
        let view = TensorView::new(DType::Bool, &shape, &flags);
        let wrong = |source| RuntimeError::Tensor { kind: NameKind::Input, name: names::ENDS.into(), source };
        self.session.bind_input(names::ENDS, view.map_err(wrong)?)
    }

    /// So many replays from row 0 on, as far as they go.
    fn replay(&mut self, count: usize) -> Result<Came, RuntimeError> {
        self.session.set_scalar(names::ROW, 0)?;
        // A program that does not stop itself is asked after every step.
        let at_once = if self.steps.stops_itself || !self.stops { count } else { 1 };
        let mut came = Came::default();
        while came.steps < count && !came.stopped && came.failed.is_none() {
            self.replay_on(at_once, &mut came)?;
        }
        Ok(came)
    }

    fn replay_on(&mut self, count: usize, came: &mut Came) -> Result<(), RuntimeError> {
        match self.session.execute(&[], &RunOptions::default().steps(count as u32)) {
            Err(RuntimeError::Status(status)) => {
                let first = status.first.iter().map(|report| report.replay as usize).min();
                came.failed = Some((came.steps + first.unwrap_or(0), RuntimeError::Status(status)));
            }
            ran => ran?,
        }
        came.steps += self.session.replays() as usize;
        came.stopped = match self.steps.stops_itself {
            true => self.session.stopped(),
            false => self.stops && self.number(names::STOP)? != 0.0,
        };
        Ok(())
    }

    /// What the rows say, one after the other, and the numbers of each.
    fn reported(&mut self) -> Result<(Vec<f32>, usize), RuntimeError> {
        let table = self.session.state(names::REPORTS)?.read()?;
        let columns = table.shape().get(1).map_or(1, |&columns| columns.max(1));
        Ok((table.encoding().decode(table.bytes()).unwrap_or_default(), columns as usize))
    }

    /// What the rows say of the updates that ended in them, up to the step in which an op reported.
    fn take_reports(
        &mut self,
        ends: &[bool],
        came: &Came,
        reports: &mut Reports,
    ) -> Result<(), TrainerError> {
        let (table, columns) = self.reported()?;
        let sound = came.failed.as_ref().map_or(came.steps, |(step, _)| came.steps.min(*step));
        for (step, row) in table.chunks(columns).enumerate().take(sound).filter(|(step, _)| ends[*step]) {
            let number = |column: usize| row.get(column).map_or(f64::NAN, |&number| f64::from(number));
            let (norm, made) = if self.guarded { (number(2), number(3) != 0.0) } else { (f64::NAN, true) };
            let stops = came.stopped && step + 1 == came.steps;
            reports.push_back(Ok(self.count_update((number(0), number(1)), norm, (made, stops))?));
        }
        Ok(())
    }
}

/// Parts of at most so many pieces, of the same inputs and extents each.
fn alike(pieces: &[Piece<'_>], most: usize) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    for (i, piece) in pieces.iter().enumerate() {
        match parts.last_mut() {
            Some(part) if part.len() < most && pieces[part.start].is_like(piece) => part.end = i + 1,
            _ => parts.push(i..i + 1),
        }
    }
    parts
}
