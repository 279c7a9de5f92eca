//! The trainer: entries of a step compiled into one program, and a session that runs them.

use super::batch::Batch;
use super::choice::Chosen;
use super::error::TrainerError;
use super::inputs::Inputs;
use super::numbers::Rows;
use super::options::TrainOptions;
use super::pieces::{Piece, Pieces};
use super::plan::TrainPlan;
use super::report::{Evaluation, Report};
use super::run::Run;
use super::submission::{Reports, Steps};
use crate::{Device, Executable};
use pumice_ir::Graph;
use pumice_runtime::{RunOptions, RuntimeError, Session};
use pumice_train::{MicroBatches, Recipe, Schedule, Trained, index_inputs, names};
use pumice_types::{Tensor, TensorView};
use std::collections::BTreeSet;
use std::time::Instant;

/// Trains the params of a graph. The weights and what the optimizer keeps lie on the device and are updated in place.
///
/// A forward graph has an output `loss` (one float, a mean over rows), and may have `weight` (what the mean was divided
/// by) and `penalty` (terms that are added once an update); every other output is one of [`Trainer::predict`] as long
/// as it needs no input of the loss alone. Its float params are trained, as f32, unless a group of the recipe freezes
/// them.
pub struct Trainer {
    pub(super) session: Session,
    pub(super) exe: Executable,
    pub(super) rows: Rows,
    pub(super) steps: Steps,
    pub(super) trained: Vec<Trained>,
    pub(super) inputs: Inputs,
    /// Inputs that are a data set.
    data: Vec<String>,
    /// The states of the user's graph that a program keeps: running statistics.
    pub(super) statistics: Vec<String>,
    /// What draws are made from: that of the last first values.
    pub(super) seed: u64,
    runs_an_update: usize,
    /// How batches are cut, where they are.
    micro_batches: Option<MicroBatches>,
    pub(super) guarded: bool,
    pub(super) stops: bool,
    /// Updates that were made, and that were not.
    pub(super) updates: u64,
    pub(super) skips: u64,
}

impl Trainer {
    /// Makes the entries of a step, and compiles them for a device.
    ///
    /// # Errors
    /// [`TrainerError::Recipe`] with every mistake of graph and recipe, [`TrainerError::Program`] for what the device
    /// cannot run, [`TrainerError::OutOfMemory`] for what does not keep [`TrainOptions::memory`].
    pub fn new(
        graph: &Graph,
        recipe: &Recipe,
        device: &Device,
        options: &TrainOptions,
    ) -> Result<Trainer, TrainerError> {
        let Chosen { made, plan } = Chosen::of(graph, recipe, device, options)?;
        let exe = Executable::new(device.shared(), plan, device.host_ops()).map_err(crate::Error::from)?;
        let outputs = made.update.as_ref().unwrap_or(&made.step).outputs();
        let has = |name: &str| outputs.iter().any(|o| o.name == name);
        // A state that no entry reads or writes is none of the program.
        let is_kept = |name: &String| exe.plan().states.iter().any(|state| state.name == *name);
        let states = graph.states().into_iter().map(|v| graph.value(v).name.to_string());
        let statistics: Vec<String> = states.filter(is_kept).collect();
        Ok(Trainer {
            session: exe.session()?,
            runs_an_update: recipe.runs_an_update().max(1) as usize,
            guarded: has(names::FLAG),
            stops: has(names::STOP),
            rows: Rows::new(made.numbers.clone()),
            steps: Steps { rows: recipe.rows() as usize, stops_itself: made.step.stop().is_some() },
            trained: made.trained,
            inputs: Inputs::of(exe.plan(), recipe.data_inputs(), index_inputs(graph)),
            data: recipe.data_inputs().to_vec(),
            statistics,
            micro_batches: made.micro_batches,
            seed: 0,
            updates: 0,
            skips: 0,
            exe,
        })
    }

    /// Bytes, levels, micro-batch and entries; prints on a few lines.
    pub fn plan(&self) -> TrainPlan<'_> {
        let micro_batches = self.micro_batches.as_ref();
        TrainPlan { plan: self.exe.plan(), trained: &self.trained, micro_batches }
    }

    /// The program, whose plan says everything.
    pub fn executable(&self) -> &Executable {
        &self.exe
    }

    /// The params that are trained, in the order of the graph.
    pub fn trained(&self) -> &[Trained] {
        &self.trained
    }

    /// Updates that were made.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Another schedule from the next update on; nothing is compiled.
    ///
    /// # Errors
    /// [`TrainerError::Recipe`] for a schedule that a recipe must not have; the one before stays.
    pub fn set_schedule(&mut self, schedule: Schedule) -> Result<(), TrainerError> {
        self.rows.replace(self.rows.numbers.with_schedule(schedule)?);
        Ok(())
    }

    /// Trains by batches, as an iterator over a report for each update. It does nothing until it is asked for one.
    pub fn run<I: IntoIterator<Item = Batch>>(&mut self, batches: I) -> Run<'_, I::IntoIter> {
        Run { trainer: self, batches: batches.into_iter(), reports: Reports::new(), ended: false }
    }

    /// Whether runs add to what an update is made of later, in the same run or another.
    pub(super) fn accumulates(&self) -> bool {
        self.runs_an_update > 1 || self.micro_batches.is_some()
    }

    /// The entries of an update, the one that takes batches first.
    fn entries_of_update(&self) -> &'static [&'static str] {
        if self.accumulates() && self.steps.rows == 1 { &["accumulate", "update"] } else { &["step"] }
    }

    /// What is run for batches: each as it is, or in micro-batches.
    pub(super) fn pieces(&self) -> Pieces<'_> {
        self.pieces_of(self.entries_of_update()[0])
    }

    /// The same of an entry.
    fn pieces_of(&self, entry: &'static str) -> Pieces<'_> {
        let (micro_batches, runs_an_update) = (self.micro_batches.as_ref(), self.runs_an_update);
        Pieces { entry, inputs: &self.inputs, micro_batches, runs_an_update }
    }

    /// How many batches are taken together: those of the updates that a submission has rows for, or of one update.
    pub(super) fn batches_at_once(&self) -> usize {
        (self.steps.rows / self.runs_an_update).max(1) * self.runs_an_update
    }

    /// Makes the updates of these batches, [`Trainer::batches_at_once`] at most.
    pub(super) fn run_batches(&mut self, batches: &[Batch], reports: &mut Reports) {
        if self.steps.rows == 1 {
            reports.push_back(self.update(batches));
            return;
        }
        match self.check_set(self.entries_of_update()) {
            Ok(()) => self.run_rows(batches, reports),
            Err(error) => reports.push_back(Err(error)),
        }
    }

    /// One update, made of these batches: one, or as many as the recipe accumulates.
    ///
    /// # Errors
    /// Before anything runs [`TrainerError::NotSet`], [`TrainerError::NoData`], [`TrainerError::Batches`],
    /// [`TrainerError::Rows`], [`TrainerError::Index`] for a target that is no class, [`TrainerError::Number`], and
    /// [`TrainerError::Run`] for a batch that does not fit. Then [`TrainerError::Run`] where the device fails, or an op
    /// reports (an index out of range that the graph computes): where that is in the run that updates, the update was
    /// made, and what was out of range counted as 0; else nothing of the batches is kept but running statistics.
    /// [`TrainerError::NotFinite`] where the recipe stops there.
    pub fn update(&mut self, batches: &[Batch]) -> Result<Report, TrainerError> {
        self.check_set(self.entries_of_update())?;
        let (given, most) = (batches.len(), self.runs_an_update);
        if given == 0 || given > most {
            return Err(TrainerError::Batches { given, most });
        }
        if self.steps.rows > 1 {
            let mut reports = Reports::new();
            self.run_rows(batches, &mut reports);
            return reports.pop_front().unwrap_or(Err(TrainerError::Batches { given, most }));
        }
        let begun = Instant::now();
        if let Err(error) = self.run_update(batches) {
            // Of a device that is lost, what reading its counts says is less than what is known.
            _ = self.recover();
            return Err(error);
        }
        self.report(begun)
    }

    fn run_update(&mut self, batches: &[Batch]) -> Result<(), TrainerError> {
        let pieces = self.pieces().of(batches)?;
        if !self.accumulates() {
            self.session.entry("step")?;
            self.rows.bind(&mut self.session, self.updates, 1)?;
            return Ok(self.execute(&pieces)?);
        }
        self.session.entry("update")?;
        self.rows.bind(&mut self.session, self.updates, 1)?;
        self.session.entry("accumulate")?;
        self.check(&pieces)?;
        self.execute(&pieces)?;
        self.session.entry("update")?;
        Ok(self.session.execute(&[], &RunOptions::default())?)
    }

    /// That all fit the entry that the session has selected, before the first of them runs.
    fn check(&mut self, pieces: &[Piece<'_>]) -> Result<(), RuntimeError> {
        // The first of a kind stands for those after it; of all the first is checked where it runs, before it does.
        let others = pieces.windows(2).filter(|pair| !pair[0].is_like(&pair[1]));
        others.into_iter().try_for_each(|pair| self.session.check(&pair[1].views(), &RunOptions::default()))
    }

    /// Runs the entry that the session has selected for one after the other.
    fn execute(&mut self, pieces: &[Piece<'_>]) -> Result<(), RuntimeError> {
        pieces.iter().try_for_each(|piece| self.session.execute(&piece.views(), &RunOptions::default()))
    }

    /// After a run that failed: what the device counted, and nothing accumulated.
    pub(super) fn recover(&mut self) -> Result<(), TrainerError> {
        self.rows.forget();
        self.updates = self.count(names::UPDATES)?;
        self.skips = self.count(names::SKIPS)?;
        if self.accumulates() {
            let there: BTreeSet<&str> =
                self.exe.plan().states.iter().map(|state| state.name.as_str()).collect();
            let sums = self.trained.iter().map(|t| names::accumulated(&t.name));
            let all = [names::WEIGHTS, names::LOSSES].map(str::to_owned).into_iter().chain(sums);
            let own: Vec<String> = all.filter(|name| there.contains(name.as_str())).collect();
            own.iter().try_for_each(|name| self.session.state(name)?.reset())?;
        }
        Ok(())
    }

    /// A count that the device keeps.
    fn count(&mut self, name: &str) -> Result<u64, TrainerError> {
        let bytes = self.session.state(name)?.read()?.into_bytes();
        Ok(bytes.first_chunk().map_or(0, |word| u64::from(u32::from_le_bytes(*word))))
    }

    /// By what the loss is multiplied, where it is.
    fn scale(&mut self) -> Result<Option<f64>, TrainerError> {
        if !self.exe.plan().states.iter().any(|state| state.name == names::SCALE) {
            return Ok(None);
        }
        let bytes = self.session.state(names::SCALE)?.read()?.into_bytes();
        Ok(bytes.first_chunk().map(|word| f64::from(f32::from_le_bytes(*word))))
    }

    fn report(&mut self, begun: Instant) -> Result<Report, TrainerError> {
        let of_batches = (self.number(names::LOSS)?, self.number(names::WEIGHT)?);
        let norm = if self.guarded { self.number(names::NORM)? } else { f64::NAN };
        let made = !self.guarded || self.number(names::FLAG)? != 0.0;
        let stops = self.stops && self.number(names::STOP)? != 0.0;
        let report = self.count_update(of_batches, norm, (made, stops))?;
        Ok(Report { seconds: begun.elapsed().as_secs_f64(), ..report })
    }

    /// Counts an update that was due, and says how it went; in no time.
    pub(super) fn count_update(
        &mut self,
        (loss, weight): (f64, f64),
        norm: f64,
        (made, stops): (bool, bool),
    ) -> Result<Report, TrainerError> {
        let rate = self.rows.numbers.row(self.updates).first().copied().unwrap_or(0.0);
        if stops {
            self.skips += 1;
            let (update, scale) = (self.updates + 1, self.scale()?);
            return Err(TrainerError::NotFinite { update, loss, norm, scale });
        }
        self.updates += u64::from(made);
        self.skips += u64::from(!made);
        let (step, skips) = (self.updates, self.skips);
        Ok(Report { step, loss, weight, rate, norm, made, skips, seconds: 0.0 })
    }

    /// The loss over batches that nothing is learned from: dropout is off, and batch norm uses its running statistics.
    /// Batches are cut as in training.
    ///
    /// # Errors
    /// As [`Trainer::update`].
    pub fn evaluate(&mut self, batches: impl IntoIterator<Item = Batch>) -> Result<Evaluation, TrainerError> {
        self.check_set(&["eval"])?;
        self.session.entry("eval")?;
        let (mut sum, mut all) = (0.0, Evaluation::default());
        for batch in batches {
            for piece in self.pieces_of("eval").of_one(&batch)? {
                self.session.execute(&piece.views(), &RunOptions::default())?;
                let (loss, weight) = (self.number(names::LOSS)?, self.number(names::WEIGHT)?);
                // Nothing of a run without weight counts, be its loss NaN.
                sum += if weight == 0.0 { 0.0 } else { loss * weight };
                all.weight += weight;
            }
            all.batches += 1;
        }
        all.loss = sum / all.weight;
        Ok(all)
    }

    /// Outputs of the forward graph in inference, by the weights as they are; nothing is copied. Inputs of the graph
    /// that these outputs do not need may be given, and are left out.
    ///
    /// # Errors
    /// [`TrainerError::NoEntry`] where every output needs an input of the loss alone; otherwise as
    /// [`Trainer::update`].
    pub fn predict(
        &mut self,
        inputs: &[(&str, TensorView<'_>)],
        outputs: &[&str],
    ) -> Result<Vec<Tensor>, TrainerError> {
        if !self.exe.entries().contains(&"predict") {
            let why = "every output of the graph needs what only the loss needs";
            return Err(TrainerError::NoEntry { entry: "predict", why });
        }
        self.check_set(&["predict"])?;
        self.session.entry("predict")?;
        let wanted = outputs.iter().map(|name| self.session.output_index(name));
        let wanted = wanted.collect::<Result<Vec<usize>, _>>()?;
        let taken = inputs.iter().filter(|(name, _)| !self.inputs.leaves_out("predict", name));
        let taken: Vec<(&str, TensorView<'_>)> = taken.copied().collect();
        Ok(self.session.run_read(&taken, &wanted)?)
    }

    /// A state by name: slots of the optimizer, counts, running statistics.
    ///
    /// # Errors
    /// [`TrainerError::Run`] for a state that there is not.
    pub fn state(&mut self, name: &str) -> Result<Tensor, TrainerError> {
        Ok(self.session.state(name)?.read()?)
    }

    /// That everything is there which these entries read.
    fn check_set(&mut self, entries: &[&str]) -> Result<(), TrainerError> {
        let mut missing = BTreeSet::new();
        for entry in entries {
            missing.extend(self.session.entry(entry)?.missing_states_of_entry());
        }
        let has_none = |input: &&String| missing.contains(&names::data(input));
        let no_data: Vec<String> = self.data.iter().filter(has_none).cloned().collect();
        no_data.iter().for_each(|input| _ = missing.remove(&names::data(input)));
        let names: Vec<String> = missing.into_iter().chain(self.exe.missing_params()).collect();
        match (names.is_empty(), no_data.is_empty()) {
            (true, true) => Ok(()),
            (true, false) => Err(TrainerError::NoData { names: no_data }),
            (false, _) => Err(TrainerError::NotSet { names }),
        }
    }

    /// An output of rank 0 of the last run, as a number; 1 for a true bool.
    pub(super) fn number(&mut self, name: &str) -> Result<f64, RuntimeError> {
        let tensor = self.session.output(name)?;
        let first = match tensor.bytes() {
            [byte] => Some(f32::from(*byte)),
            bytes => tensor.encoding().decode(bytes).and_then(|values| values.first().copied()),
        };
        Ok(first.map_or(f64::NAN, f64::from))
    }
}

impl std::fmt::Debug for Trainer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trainer")
            .field("updates", &self.updates)
            .field("skips", &self.skips)
            .finish_non_exhaustive()
    }
}
