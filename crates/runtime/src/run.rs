//! How a run goes: everything the caller passed is validated and every replay of the frame computed, then inputs and
//! frame are written, the recording is replayed, and the scalars on the host follow those on the device.
//!
//! In the steady state (same names, same kind of extents) a run allocates nothing but the outputs it returns, and
//! with [`Session::run_into`] not even those. A frame that would be written with the words it has is not written.

use crate::bind::{Asked, show};
use crate::device::DeviceError;
use crate::error::{NameKind, RuntimeError};
use crate::executable::Inner;
use crate::outcome::{OnStatus, OutputBuffer, Outputs, RunOptions, RunStatus};
use crate::params::check_length;
use crate::scalars;
use crate::session::{Counted, Session, Work, check_input_view};
use crate::span::span;
use crate::tables::EntryNames;
use crate::values::Shape;
use pumice_plan::{Frame, Run, Span};
use pumice_types::tensor::byte_count;
use pumice_types::{Bindings, DimExpr, Tensor, TensorView, Var};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What is timed while a run goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    Off,
    /// All replays together.
    Run,
    /// Every step by itself.
    Steps,
}

/// Named inputs of one run.
type Inputs<'a> = [(&'a str, TensorView<'a>)];

impl Session {
    /// Runs once and returns every output.
    ///
    /// # Errors
    /// As [`Session::execute`], without [`RuntimeError::NoSteps`].
    pub fn run(&mut self, inputs: &[(&str, TensorView<'_>)]) -> Result<Outputs, RuntimeError> {
        self.run_with(inputs, &RunOptions::default())
    }

    /// Runs with options and returns every output (of the last replay).
    ///
    /// # Errors
    /// As [`Session::execute`].
    pub fn run_with(
        &mut self,
        inputs: &[(&str, TensorView<'_>)],
        options: &RunOptions,
    ) -> Result<Outputs, RuntimeError> {
        self.execute(inputs, options)?;
        self.outputs()
    }

    /// Replays the recording `steps` times, in as few submissions as the device's bound in time allows where no host
    /// step is in it, and returns the outputs of the last replay. Scalars advance on the device between replays. Every
    /// replay is validated before the first, and what any of them reports is in the status.
    ///
    /// # Errors
    /// As [`Session::execute`].
    pub fn run_steps(
        &mut self,
        inputs: &[(&str, TensorView<'_>)],
        steps: u32,
    ) -> Result<Outputs, RuntimeError> {
        self.run_with(inputs, &RunOptions::default().steps(steps))
    }

    /// Runs once and returns the outputs asked for, by index, in the order asked for; one may be asked for twice.
    ///
    /// # Errors
    /// As [`Session::run_read_with`], without [`RuntimeError::NoSteps`].
    pub fn run_read(
        &mut self,
        inputs: &[(&str, TensorView<'_>)],
        outputs: &[usize],
    ) -> Result<Vec<Tensor>, RuntimeError> {
        self.run_read_with(inputs, outputs, &RunOptions::default())
    }

    /// As `run_read`, with options.
    ///
    /// # Errors
    /// [`RuntimeError::OutputIndex`] before the run; else as [`Session::execute`].
    pub fn run_read_with(
        &mut self,
        inputs: &[(&str, TensorView<'_>)],
        outputs: &[usize],
        options: &RunOptions,
    ) -> Result<Vec<Tensor>, RuntimeError> {
        outputs.iter().try_for_each(|&o| self.check_output(o))?;
        self.execute(inputs, options)?;
        self.read_outputs(outputs)
    }

    /// Runs once and reads outputs into the caller's buffers, whose sizes are checked before the run.
    ///
    /// # Errors
    /// As [`Session::run_into_with`], without [`RuntimeError::NoSteps`].
    pub fn run_into(
        &mut self,
        inputs: &[(&str, TensorView<'_>)],
        outputs: &mut [OutputBuffer<'_>],
    ) -> Result<(), RuntimeError> {
        self.run_into_with(inputs, outputs, &RunOptions::default())
    }

    /// As `run_into`, with options.
    ///
    /// # Errors
    /// [`RuntimeError::OutputIndex`], [`RuntimeError::DType`] for numbers of another dtype than the output, and
    /// [`RuntimeError::Length`] for a buffer that is not exactly as large, before the run; else as
    /// [`Session::execute`].
    pub fn run_into_with(
        &mut self,
        inputs: &[(&str, TensorView<'_>)],
        outputs: &mut [OutputBuffer<'_>],
        options: &RunOptions,
    ) -> Result<(), RuntimeError> {
        outputs.iter().try_for_each(|o| self.check_output(o.output))?;
        let inner = Arc::clone(&self.inner);
        span!("run", plan = inner.plan.name.as_str(), steps = options.steps);
        let run = self.prepare(&inner, inputs, options)?;
        for buffer in outputs.iter() {
            let slot = self.output_slot(buffer.output);
            if let Some(given) = buffer.dtype.filter(|&d| d != slot.dtype) {
                let (kind, name) = (NameKind::Output, slot.name.clone());
                let (expected, given) = (slot.dtype.into(), given.into());
                let remedy = "give a buffer of that dtype, or of bytes";
                return Err(RuntimeError::DType { kind, name, expected, given, remedy });
            }
            let expected =
                byte_count(slot.dtype, &self.work.output_shapes[buffer.output]).unwrap_or(u64::MAX);
            check_length(NameKind::Output, &slot.name, "bytes", expected, buffer.bytes.len() as u64)?;
        }
        self.submit(&inner, run, inputs, options, Clock::Off)?;
        for buffer in outputs.iter_mut() {
            // Of an output with a found extent the buffer is large enough for any.
            let bytes = self.output_bytes(buffer.output)?.min(buffer.bytes.len() as u64) as usize;
            self.read_output_into(buffer.output, &mut buffer.bytes[..bytes])?;
        }
        Ok(())
    }

    /// Runs and reads no output; see [`Session::read_outputs`] and its like.
    ///
    /// # Errors
    /// Before anything is written:
    /// - [`RuntimeError::NoSteps`], [`RuntimeError::MissingParams`] for params never set, and
    ///   [`RuntimeError::MissingStates`] for states of the entry that begin with what was not given;
    /// - [`RuntimeError::UnknownName`], [`RuntimeError::Duplicate`], [`RuntimeError::MissingInputs`] or
    ///   [`RuntimeError::InputNotKept`] for an input by its name;
    /// - [`RuntimeError::DType`], [`RuntimeError::Tensor`], [`RuntimeError::Rank`] or
    ///   [`RuntimeError::Extent`] for a tensor unlike its input;
    /// - [`RuntimeError::DimConstraint`], [`RuntimeError::UnboundSymbols`] or
    ///   [`RuntimeError::SymbolRange`] for the values that the inputs give to symbols;
    /// - [`RuntimeError::ScalarRange`], [`RuntimeError::Extents`], [`RuntimeError::RunCheck`] or
    ///   [`RuntimeError::Frame`] for any of the replays;
    /// - [`RuntimeError::Binding`] and [`RuntimeError::NoValue`] for a plan from bytes that is wrong for these extents
    ///   and scalars.
    ///
    /// Then [`RuntimeError::Device`], and under [`OnStatus::Error`] [`RuntimeError::Status`], after which the
    /// results can be read.
    pub fn execute(
        &mut self,
        inputs: &[(&str, TensorView<'_>)],
        options: &RunOptions,
    ) -> Result<(), RuntimeError> {
        let inner = Arc::clone(&self.inner);
        span!("run", plan = inner.plan.name.as_str(), steps = options.steps);
        let run = self.prepare(&inner, inputs, options)?;
        self.submit(&inner, run, inputs, options, Clock::Off)
    }

    /// Checks all that [`Session::execute`] checks before anything is written, and runs nothing.
    ///
    /// # Errors
    /// As [`Session::execute`], before anything is written.
    pub fn check(
        &mut self,
        inputs: &[(&str, TensorView<'_>)],
        options: &RunOptions,
    ) -> Result<(), RuntimeError> {
        let inner = Arc::clone(&self.inner);
        self.prepare(&inner, inputs, options).map(|_| ())
    }

    /// Why no run is for these values of the symbols: a condition of the program excludes them, which every run knows.
    fn excluded(&mut self, inner: &Inner, steps: u32) -> RuntimeError {
        self.frame.run = None;
        self.work.frame_ready = false;
        let first = inner.plan.runs_of(self.entry).next().map(|(number, _)| number);
        let refused = first.map(|run| self.check_replays(inner, run, steps));
        match refused {
            Some(Err(why)) => why,
            // The checker has seen that conditions exclude what no run covers.
            _ => RuntimeError::NotCovered { plan: inner.plan.name.clone() },
        }
    }

    /// Validates a run and computes what it needs. Writes to nothing but the session's working memory. Returns which
    /// run of the plan it is.
    pub(crate) fn prepare(
        &mut self,
        inner: &Inner,
        inputs: &Inputs<'_>,
        options: &RunOptions,
    ) -> Result<usize, RuntimeError> {
        if options.steps == 0 {
            return Err(RuntimeError::NoSteps);
        }
        inner.params.check_set(&inner.plan)?;
        self.check_given()?;
        match_inputs(inner, self.names(inner), inputs, &mut self.work.given)?;
        self.take_shapes(inner, inputs, options.keep)?;
        self.check_extents(inner, options.steps)
    }

    /// The run for the shapes that were taken, and its replays, of which everything is checked.
    pub(crate) fn check_extents(&mut self, inner: &Inner, steps: u32) -> Result<usize, RuntimeError> {
        self.solve(inner)?;
        let solution = &self.work.solution;
        let run = inner.plan.run_for(self.entry, |id| solution.value(id));
        let Some(run) = run else { return Err(self.excluded(inner, steps)) };
        output_shapes(inner, self.names(inner), &mut self.work)?;
        if !self.frame_matches(run) {
            self.frame.run = None;
            self.work.frame_ready = false;
            self.check_replays(inner, run, steps)?;
        }
        Ok(run)
    }

    /// The shape of every input: given, bound, or kept.
    fn take_shapes(&mut self, inner: &Inner, inputs: &Inputs<'_>, keep: bool) -> Result<(), RuntimeError> {
        let (mut missing, mut lost) = (Vec::new(), Vec::new());
        let own = self.names(inner).own_inputs.clone();
        let slots = inner.plan.inputs.iter().zip(&self.inputs).zip(&self.work.given);
        for (((slot, held), given), shape) in slots.zip(&mut self.work.shapes).take(own.end).skip(own.start) {
            let there = held.resident || (held.bound && held.copy.is_some());
            shape.clear();
            match given.and_then(|g| inputs.get(g)) {
                Some((_, view)) => shape.extend_from_slice(view.shape()),
                None if (held.bound || keep) && there => shape.extend_from_slice(&held.shape),
                None if (held.bound || keep) && held.known => lost.push(slot.name.clone()),
                None => missing.push(slot.name.clone()),
            }
        }
        match (missing.is_empty(), lost.is_empty()) {
            (false, _) => Err(RuntimeError::MissingInputs { names: missing }),
            (true, false) => Err(RuntimeError::InputNotKept { names: lost }),
            (true, true) => Ok(()),
        }
    }

    /// Symbols from shapes, into the working bindings.
    fn solve(&mut self, inner: &Inner) -> Result<(), RuntimeError> {
        let own = self.names(inner).own_inputs.clone();
        let Work { solution, shapes, bindings, .. } = &mut self.work;
        let asked =
            Asked { entry: &inner.plan.entries[self.entry], inputs: own, rules: &inner.tables.rules, shapes };
        solution.begin(&self.symbols);
        solution.solve(&inner.plan, &asked, bindings)?;
        let work = &mut self.work;
        scalars::bind(&self.scalars, &mut work.bindings);
        Ok(())
    }

    /// Whether the frame region holds the words of this run with these symbols and scalars.
    fn frame_matches(&self, run: usize) -> bool {
        let key = &self.frame;
        key.run == Some(run)
            && key.symbols.iter().copied().eq(self.work.solution.values())
            && key.scalars.iter().copied().eq(self.scalars.iter().map(|&s| scalars::bits(s)))
    }

    /// Checks scalars, conditions, frame and access rules of every replay, and that scalars have a next value after it.
    /// Leaves the bindings of the first.
    fn check_replays(&mut self, inner: &Inner, number: usize, steps: u32) -> Result<(), RuntimeError> {
        self.work.scalars.clone_from(&self.scalars);
        let advances = self.names(inner).advances;
        let (plan, work, run) = (&inner.plan, &mut self.work, &inner.plan.runs[number]);
        let replays = if advances { steps } else { 1 };
        let mut allowance = plan.begin_replays(number, replays)?;
        for replay in 0..replays {
            // Another entry may have brought a scalar to its end that this run does not have.
            for id in &inner.tables.runs[number].scalars {
                let at = id.0 as usize;
                if let (Some(slot), Some(value)) = (plan.scalars.get(at), work.scalars.get(at)) {
                    scalars::check(slot, *value, replay)?;
                }
            }
            scalars::bind(&work.scalars, &mut work.bindings);
            check_conditions(inner, run, work, (replay, replays))?;
            frame_words(&run.frame, work, replay)?;
            plan.check_replay(number, &work.bindings, &work.frame, &mut allowance)?;
            if replay > 0 && !same_words(&run.frame, &work.next_frame, &work.frame) {
                return Err(RuntimeError::plan(
                    plan,
                    "the frame advances to other words than the host computes",
                ));
            }
            scalars::advance((plan, run), &work.bindings, &mut work.scalars, replay)?;
            if replay + 1 < replays {
                work.next_frame.clone_from(&work.frame);
                run.frame.run_advance(&mut work.next_frame, &[]);
            }
        }
        scalars::bind(&self.scalars, &mut work.bindings);
        work.frame_ready = replays == 1;
        Ok(())
    }

    /// Writes what was prepared and replays it. From here on only the device can fail.
    pub(crate) fn submit(
        &mut self,
        inner: &Arc<Inner>,
        run: usize,
        inputs: &Inputs<'_>,
        options: &RunOptions,
        clock: Clock,
    ) -> Result<(), RuntimeError> {
        let facts = &inner.tables.runs[run];
        let loaded = inner.loaded.as_ref();
        let params = inner.params.ready(&inner.plan, &inner.tables, loaded, facts.has_host)?;
        self.init_states(inner, &params)?;
        self.results = None;
        self.status = RunStatus::default();
        self.counted = Counted::default();
        let ended = self.replay_all(inner, run, inputs, options, clock);
        drop(params);
        if let Err(error) = ended {
            self.forget();
            return Err(error);
        }
        self.take_found(inner, run)?;
        for (held, overwritten) in self.inputs.iter_mut().zip(&facts.overwrites) {
            held.resident &= !overwritten;
        }
        std::mem::swap(&mut self.bindings, &mut self.work.bindings);
        std::mem::swap(&mut self.output_shapes, &mut self.work.output_shapes);
        self.results = Some(run);
        if options.on_status == OnStatus::Error && !self.status.is_clean() {
            return Err(RuntimeError::Status(self.status.clone()));
        }
        Ok(())
    }

    /// Writes inputs, then submits until all replays are done, one stops, or an op reports what ends the run. Where
    /// the host has a part in a replay, each is a submission.
    fn replay_all(
        &mut self,
        inner: &Inner,
        run: usize,
        inputs: &Inputs<'_>,
        options: &RunOptions,
        clock: Clock,
    ) -> Result<(), RuntimeError> {
        let has_host = inner.tables.runs[run].has_host;
        let (submissions, repeats) = if has_host { (options.steps, 1) } else { (1, options.steps) };
        self.write_inputs(inner, inputs)?;
        for submission in 0..submissions {
            self.reset_status(inner, options.on_status)?;
            self.replay(inner, run, repeats, clock)?;
            self.read_status(inner, options.on_status, submission)?;
            let fails = options.on_status == OnStatus::Error && !self.status.is_clean();
            if self.counted.stopped || fails {
                break;
            }
        }
        Ok(())
    }

    /// What the last replay found, which outputs are as long as.
    fn take_found(&mut self, inner: &Inner, run: usize) -> Result<(), RuntimeError> {
        let frame = &inner.plan.runs[run].frame;
        if frame.found.is_empty() {
            return Ok(());
        }
        let Work { found, bindings, .. } = &mut self.work;
        found.resize(frame.base() as usize, 0);
        self.device.read(Session::frame_span(found.len()), bytemuck::cast_slice_mut(found))?;
        frame.bound(0, found).for_each(|(symbol, value)| bindings.bind(symbol, value));
        output_shapes(inner, self.names(inner), &mut self.work)
    }

    fn write_inputs(&mut self, inner: &Inner, inputs: &Inputs<'_>) -> Result<(), RuntimeError> {
        for i in self.names(inner).own_inputs.clone() {
            if let Some((_, view)) = self.work.given[i].and_then(|g| inputs.get(g)) {
                self.inputs[i].bound = false;
                self.inputs[i].copy = None;
                self.write_input(inner, i, view.shape(), view.bytes())?;
            } else if !self.inputs[i].resident
                && let Some(copy) = self.inputs[i].copy.take()
            {
                let shape = self.inputs[i].shape.clone();
                let written = self.write_input(inner, i, &shape, &copy);
                self.inputs[i].copy = Some(copy);
                written?;
            }
        }
        Ok(())
    }

    /// One call of the device: frame, replays, and the scalars after them.
    fn replay(&mut self, inner: &Inner, run: usize, repeats: u32, clock: Clock) -> Result<(), RuntimeError> {
        if self.frame.run != Some(run) {
            if !std::mem::take(&mut self.work.frame_ready) {
                self.work.scalars.clone_from(&self.scalars);
                scalars::bind(&self.scalars, &mut self.work.bindings);
                frame_words(&inner.plan.runs[run].frame, &mut self.work, 0)?;
            }
            self.write_frame(run)?;
        }
        match clock {
            Clock::Off => self.device.run(run, &self.work.bindings, repeats)?,
            Clock::Run => self.work.device_us += self.device.run_timed(run, &self.work.bindings, repeats)?,
            Clock::Steps => self.work.times = self.device.run_profiled(run, &self.work.bindings)?,
        }
        let replays = self.count_replays(inner, run, repeats)?;
        if self.names(inner).advances {
            let of_run = (&*inner.plan, &inner.plan.runs[run]);
            for _ in 0..replays {
                scalars::bind(&self.scalars, &mut self.work.bindings);
                scalars::advance(of_run, &self.work.bindings, &mut self.scalars, 0)?;
            }
        }
        Ok(())
    }

    /// Replays that did something, of those that were asked for; whether the frame is still this run's.
    fn count_replays(&mut self, inner: &Inner, run: usize, asked: u32) -> Result<u32, RuntimeError> {
        let stop = inner.tables.runs[run].stop;
        let Counted { replays, stopped } = match stop {
            Some((stopped, replays)) => {
                Counted { replays: self.frame_word(replays)?, stopped: self.frame_word(stopped)? != 0 }
            }
            None => Counted { replays: asked, stopped: false },
        };
        self.counted = Counted { replays: self.counted.replays.saturating_add(replays), stopped };
        if stop.is_some() || self.names(inner).advances {
            self.frame.run = None;
        }
        Ok(replays)
    }

    /// A word that the device left in the frame.
    fn frame_word(&mut self, span: Span) -> Result<u32, DeviceError> {
        let mut word = [0; 4];
        self.device.read(span, &mut word)?;
        Ok(u32::from_le_bytes(word))
    }

    fn write_frame(&mut self, run: usize) -> Result<(), DeviceError> {
        let words = &self.work.frame;
        if !words.is_empty() {
            self.device.write(Session::frame_span(words.len()), bytemuck::cast_slice(words))?;
        }
        let key = &mut self.frame;
        key.symbols.clear();
        key.symbols.extend(self.work.solution.values());
        key.scalars.clear();
        key.scalars.extend(self.scalars.iter().map(|&s| scalars::bits(s)));
        key.run = Some(run);
        Ok(())
    }

    /// The status block as it is before a submission: its replays add to what is reported.
    fn reset_status(&mut self, inner: &Inner, on_status: OnStatus) -> Result<(), RuntimeError> {
        let block = inner.tables.status.as_ref().filter(|_| on_status != OnStatus::Ignore);
        block.map_or(Ok(()), |(span, fresh)| Ok(self.device.write(*span, fresh)?))
    }

    /// Adds what the ops of this submission reported to the run's status; `before` replays came before it.
    fn read_status(&mut self, inner: &Inner, on_status: OnStatus, before: u32) -> Result<(), RuntimeError> {
        let block = inner.tables.status.as_ref().filter(|_| on_status != OnStatus::Ignore);
        let Some(&(span, _)) = block else { return Ok(()) };
        self.work.status.resize(span.len.0 as usize / 4, 0);
        self.device.read(span, bytemuck::cast_slice_mut(&mut self.work.status))?;
        self.status.add(RunStatus::decode(&self.work.status, &inner.plan.status_ops), before);
        Ok(())
    }
}

/// For each input its position among those given.
pub(crate) fn match_inputs(
    inner: &Inner,
    names: &EntryNames,
    inputs: &Inputs<'_>,
    given: &mut Vec<Option<usize>>,
) -> Result<(), RuntimeError> {
    given.clear();
    given.resize(inner.plan.inputs.len(), None);
    for (position, (name, view)) in inputs.iter().enumerate() {
        let input = names.input(name)?;
        if given[input].replace(position).is_some() {
            return Err(RuntimeError::Duplicate { kind: NameKind::Input, name: (*name).to_owned() });
        }
        check_input_view(inner, input, view)?;
    }
    Ok(())
}

/// The actual extents of every output.
fn output_shapes(inner: &Inner, names: &EntryNames, work: &mut Work) -> Result<(), RuntimeError> {
    work.output_shapes.resize(names.own_outputs.len(), Shape::new());
    for (slot, shape) in inner.plan.outputs[names.own_outputs.clone()].iter().zip(&mut work.output_shapes) {
        let wrong = |what: String| RuntimeError::plan(&inner.plan, format!("output `{}`: {what}", slot.name));
        shape.clear();
        for extent in slot.shape.iter() {
            let value = extent.eval_extent(&work.bindings);
            shape.push(value.map_err(|source| RuntimeError::NoValue {
                what: format!("an extent of output `{}`", slot.name),
                source,
                replay: 0,
            })?);
        }
        let bytes = byte_count(slot.dtype, shape).map_err(|e| wrong(e.to_string()))?;
        if bytes > slot.span.len.0 {
            return Err(wrong(format!("it has {bytes} bytes and room for {}", slot.span.len.0)));
        }
    }
    Ok(())
}

/// Checks what must hold in this replay of so many.
fn check_conditions(
    inner: &Inner,
    run: &Run,
    work: &Work,
    (replay, replays): (u32, u32),
) -> Result<(), RuntimeError> {
    for check in &run.checks {
        let value = check.value.eval(&work.bindings).map_err(|e| {
            let what = format!("the condition `{}`", check.what);
            RuntimeError::NoValue { what, source: e, replay }
        })?;
        if (check.min..=check.max).contains(&value) {
            continue;
        }
        let (what, min, max) = (check.what.to_string(), check.min, check.max);
        let Some(sides) = &check.sides else {
            return Err(RuntimeError::RunCheck { what, value, min, max, replay, replays });
        };
        let side = |d: &DimExpr| {
            // Of the difference both have a value.
            Box::new((show(&inner.plan, d), d.eval(&work.bindings).unwrap_or(value)))
        };
        let [left, right] = sides.as_ref().each_ref().map(side);
        let with = variables(inner, sides.as_ref(), &work.bindings);
        return Err(RuntimeError::Extents { what, left, equal: max == 0, right, with, replay, replays });
    }
    Ok(())
}

/// The variables of extents with their values, each once, without those that are an extent by themselves.
fn variables(inner: &Inner, extents: &[DimExpr], bindings: &Bindings) -> Vec<(String, i64)> {
    let (mut seen, mut alone) = (BTreeSet::new(), BTreeSet::new());
    for extent in extents {
        extent.visit_vars(|v| _ = if *extent == expression(v) { alone.insert(v) } else { seen.insert(v) });
    }
    let named = |v: &Var| Some((show(&inner.plan, &expression(*v)), bindings.get(*v)?));
    seen.difference(&alone).filter_map(named).collect()
}

/// A variable as an expression.
fn expression(v: Var) -> DimExpr {
    match v {
        Var::Symbol(id) => DimExpr::symbol(id),
        Var::Scalar(id) => DimExpr::scalar(id),
    }
}

/// Computes the frame for the working bindings and the scalars bound in them.
fn frame_words(frame: &Frame, work: &mut Work, replay: u32) -> Result<(), RuntimeError> {
    let scalars = &work.scalars;
    let bits = |id: pumice_types::ScalarId| scalars.get(id.0 as usize).map_or(0, |&s| scalars::bits(s));
    frame
        .evaluate_into(&work.bindings, &bits, &mut work.frame)
        .map_err(|source| RuntimeError::Frame { replay, source })
}

/// Whether two frames agree in all words but the device's own.
fn same_words(frame: &Frame, a: &[u32], b: &[u32]) -> bool {
    a.len() == b.len()
        && frame.words.iter().zip(a.iter().zip(b)).all(|(slot, (a, b))| slot.is_of_device() || a == b)
}
