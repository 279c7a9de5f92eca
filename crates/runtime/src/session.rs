//! A session: states, scalars, symbols and bound inputs over the regions a device holds for it. How a run goes is in
//! `run`; states are reached through `state`, results through `results`, values inside a run through `inspect`.
//!
//! Between two calls a session is at rest: nothing of it is under way on the device. Whatever the caller passes is
//! validated before the first byte is written, so an error other than [`RuntimeError::Device`] leaves states, scalars
//! and results as they were (a [`RuntimeError::Status`] run did end).

use crate::bind::{Solution, check_alone, check_symbol};
use crate::device::{DeviceSession, StepTime};
use crate::error::{NameKind, RuntimeError, SymbolSource};
use crate::executable::{Executable, Inner};
use crate::interrupt::Interrupt;
use crate::outcome::RunStatus;
use crate::params::Held;
use crate::scalars::{self, ScalarValue};
use crate::state::StateHandle;
use crate::tables::{EntryNames, find, part};
use crate::values::Shape;
use pumice_plan::{RegionKind, Span, StateInit};
use pumice_types::{Bindings, SymbolId, TensorView};
use std::fmt;
use std::sync::Arc;

/// Runs an executable, with states of its own. Sessions of one executable share its weights and may run in different
/// threads at once.
pub struct Session {
    pub(crate) inner: Arc<Inner>,
    pub(crate) device: Box<dyn DeviceSession>,
    /// The entry that the next call runs.
    pub(crate) entry: usize,
    pub(crate) inputs: Vec<HeldInput>,
    pub(crate) symbols: Vec<Option<u64>>,
    pub(crate) scalars: Vec<ScalarValue>,
    /// States whose initial value is still to be written.
    pub(crate) pending: Vec<bool>,
    /// The run whose results are in the session's regions.
    pub(crate) results: Option<usize>,
    /// Bindings of that run.
    pub(crate) bindings: Bindings,
    /// Extents of its outputs.
    pub(crate) output_shapes: Vec<Shape>,
    pub(crate) status: RunStatus,
    pub(crate) counted: Counted,
    pub(crate) frame: FrameKey,
    pub(crate) work: Work,
    /// What ends its runs early.
    pub(crate) interrupt: Interrupt,
}

/// What a session knows of an input's bytes on the device.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeldInput {
    /// Extents of the value last written.
    pub shape: Shape,
    /// Whether any value was ever written.
    pub known: bool,
    /// Whether the bytes are still those of that value.
    pub resident: bool,
    /// Whether runs may leave the input out.
    pub bound: bool,
    /// The bytes of a bound value that a run of the plan overwrites.
    pub copy: Option<Vec<u8>>,
}

/// How far a run went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// Replays that counted.
    pub replays: u32,
    /// Whether the last of them stopped the run.
    pub stopped: bool,
}

/// What the words in the frame region were made from. They pass all checks.
#[derive(Clone, Debug, Default)]
pub(crate) struct FrameKey {
    /// `None` when the region's content is unknown.
    pub run: Option<usize>,
    pub symbols: Vec<u64>,
    pub scalars: Vec<u32>,
}

/// Memory that runs use again and again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Work {
    /// For each input, its position among those given.
    pub given: Vec<Option<usize>>,
    pub shapes: Vec<Shape>,
    pub solution: Solution,
    pub bindings: Bindings,
    pub output_shapes: Vec<Shape>,
    pub scalars: Vec<ScalarValue>,
    pub frame: Vec<u32>,
    /// Whether `frame` is that of the first replay of what was prepared last.
    pub frame_ready: bool,
    pub next_frame: Vec<u32>,
    /// The words of the frame that the last replay left.
    pub found: Vec<u32>,
    pub status: Vec<u32>,
    pub times: Vec<StepTime>,
    /// The device's time of a timed run, in microseconds.
    pub device_us: f64,
}

impl Session {
    pub(crate) fn new(inner: Arc<Inner>) -> Result<Session, RuntimeError> {
        let device = Arc::clone(&inner.loaded).session()?;
        let mut session = Session::over(Arc::clone(&inner), device)?;
        session.init_states(&inner, &inner.params.read())?;
        Ok(session)
    }

    pub(crate) fn over(inner: Arc<Inner>, device: Box<dyn DeviceSession>) -> Result<Session, RuntimeError> {
        let plan = &inner.plan;
        Ok(Session {
            device,
            entry: 0,
            inputs: vec![HeldInput::default(); plan.inputs.len()],
            symbols: vec![None; plan.symbols.len()],
            scalars: scalars::defaults(plan)?,
            pending: vec![true; plan.states.len()],
            results: None,
            bindings: Bindings::new(),
            output_shapes: vec![Shape::new(); plan.outputs.len()],
            status: RunStatus::default(),
            counted: Counted::default(),
            frame: FrameKey::default(),
            work: Work {
                shapes: vec![Shape::new(); plan.inputs.len()],
                output_shapes: vec![Shape::new(); plan.outputs.len()],
                ..Work::default()
            },
            interrupt: Interrupt::default(),
            inner,
        })
    }

    /// Runs another entry of the program from here on; a session begins with the first. Inputs and outputs are those of
    /// the entry; states, params, scalars and bound symbols are shared. What the last run of another entry put out can
    /// no longer be read.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownName`] for an entry that the program does not have.
    pub fn entry(&mut self, name: &str) -> Result<&mut Session, RuntimeError> {
        let entry = find(&self.inner.tables.entries, NameKind::Entry, name)?;
        if entry != self.entry {
            self.entry = entry;
            self.results = None;
        }
        Ok(self)
    }

    /// The entry that the next call runs.
    pub fn entry_name(&self) -> &str {
        self.inner.tables.entries.get_index(self.entry).map_or("", String::as_str)
    }

    /// Names of the selected entry's inputs and outputs.
    pub(crate) fn names<'i>(&self, inner: &'i Inner) -> &'i EntryNames {
        &inner.tables.of_entries[self.entry]
    }

    /// What it runs.
    pub fn executable(&self) -> Executable {
        Executable::of(Arc::clone(&self.inner))
    }

    /// Lets this end the session's runs early: before they begin, and wherever they are cut into submissions. Such a
    /// run is an error ([`DeviceError::Interrupted`](crate::DeviceError::Interrupted)); states hold what its steps
    /// wrote until then, and scalars are what they were. Forks are ended by the same.
    pub fn interrupt_by(&mut self, interrupt: Interrupt) {
        self.device.interrupt_by(interrupt.clone());
        self.interrupt = interrupt;
    }

    /// Replays of the last run that counted: as many as were asked for, or fewer where an output that stops was true
    /// (`GraphBuilder::stop`). Those after it did nothing: states, outputs, status and scalars are those of the last
    /// one that counted.
    pub fn replays(&self) -> u32 {
        self.counted.replays
    }

    /// Whether the output that stops was true in the last replay that counted; false for a plan without one.
    pub fn stopped(&self) -> bool {
        self.counted.stopped
    }

    /// Sets a dynamic scalar; takes effect at the next run. An integer scalar takes any number that is an integer.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownName`]; [`RuntimeError::ScalarFraction`] where an integer scalar is given no
    /// integer; [`RuntimeError::ScalarRange`] for a value outside the scalar's range.
    pub fn set_scalar(&mut self, name: &str, value: impl Into<ScalarValue>) -> Result<(), RuntimeError> {
        let i = find(&self.inner.tables.scalars, NameKind::Scalar, name)?;
        self.scalars[i] = scalars::accept(&self.inner.plan.scalars[i], value.into())?;
        Ok(())
    }

    /// The value of a dynamic scalar at the next run. One that advances on the device has advanced with every replay.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownName`] for a scalar that the plan does not have.
    pub fn scalar(&self, name: &str) -> Result<ScalarValue, RuntimeError> {
        Ok(self.scalars[find(&self.inner.tables.scalars, NameKind::Scalar, name)?])
    }

    /// Gives a symbol a value for the runs to come. Needed for a symbol that no input has as an extent of its own; a
    /// run whose inputs say otherwise is an error.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownName`]; [`RuntimeError::FoundSymbol`] for one that the program finds;
    /// [`RuntimeError::SymbolRange`] for a value that the symbol's declaration excludes.
    pub fn bind_symbol(&mut self, name: &str, value: u64) -> Result<(), RuntimeError> {
        let i = find(&self.inner.tables.symbols, NameKind::Symbol, name)?;
        if let Some(symbol) = self.inner.plan.symbols.get(SymbolId(i as u32)) {
            if symbol.found {
                return Err(RuntimeError::FoundSymbol { symbol: symbol.name.clone() });
            }
            check_symbol(symbol, value, || SymbolSource::Bound)?;
        }
        self.symbols[i] = Some(value);
        Ok(())
    }

    /// Takes back `bind_symbol`.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownName`] for a symbol that the plan does not have.
    pub fn unbind_symbol(&mut self, name: &str) -> Result<(), RuntimeError> {
        self.symbols[find(&self.inner.tables.symbols, NameKind::Symbol, name)?] = None;
        Ok(())
    }

    /// Writes an input once, for all runs to come that do not give it. A run that gives it ends the binding.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownName`]; [`RuntimeError::DType`], [`RuntimeError::Rank`],
    /// [`RuntimeError::Extent`], [`RuntimeError::SymbolRange`] or [`RuntimeError::Tensor`] for a tensor that
    /// does not suit the input; [`RuntimeError::Device`] where the write fails.
    pub fn bind_input(&mut self, name: &str, view: TensorView<'_>) -> Result<(), RuntimeError> {
        let inner = Arc::clone(&self.inner);
        let i = self.names(&inner).input(name)?;
        check_input_view(&inner, i, &view)?;
        check_alone(&inner.plan, i, &inner.tables.rules[i], view.shape())?;
        self.write_input(&inner, i, view.shape(), view.bytes())?;
        let overwritten = inner.tables.runs.iter().any(|r| r.overwrites[i]);
        let held = &mut self.inputs[i];
        held.bound = true;
        held.copy = overwritten.then(|| view.bytes().to_vec());
        Ok(())
    }

    /// Takes back `bind_input`.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownName`] for an input that the plan does not have.
    pub fn unbind_input(&mut self, name: &str) -> Result<(), RuntimeError> {
        let input = self.names(&self.inner).input(name)?;
        let held = &mut self.inputs[input];
        held.bound = false;
        held.copy = None;
        Ok(())
    }

    /// A persistent state.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownName`] for a state that the plan does not have.
    pub fn state(&mut self, name: &str) -> Result<StateHandle<'_>, RuntimeError> {
        let index = find(&self.inner.tables.states, NameKind::State, name)?;
        Ok(StateHandle { session: self, index })
    }

    /// What the ops of the last run reported; clean where `OnStatus::Ignore` kept it from being read.
    pub fn status(&self) -> &RunStatus {
        &self.status
    }

    /// Writes an input's bytes, which were checked.
    pub(crate) fn write_input(
        &mut self,
        inner: &Inner,
        input: usize,
        shape: &[u64],
        bytes: &[u8],
    ) -> Result<(), RuntimeError> {
        let slot = &inner.plan.inputs[input];
        if bytes.len() as u64 > slot.span.len.0 {
            let what =
                format!("input `{}` has {} bytes and room for {}", slot.name, bytes.len(), slot.span.len.0);
            return Err(RuntimeError::plan(&inner.plan, what));
        }
        let held = &mut self.inputs[input];
        held.resident = false;
        if !bytes.is_empty() {
            self.device.write(part(slot.span, 0, bytes.len() as u64), bytes)?;
        }
        held.shape.clear();
        held.shape.extend_from_slice(shape);
        held.known = true;
        held.resident = true;
        Ok(())
    }

    /// Every state that begins with what is given, and that the selected entry reads or writes, has it.
    ///
    /// # Errors
    /// [`RuntimeError::MissingStates`].
    pub(crate) fn check_given(&self) -> Result<(), RuntimeError> {
        let names = self.missing_states_of_entry();
        if names.is_empty() { Ok(()) } else { Err(RuntimeError::MissingStates { names }) }
    }

    /// As [`Session::missing_states`], of those that the selected entry reads or writes: what its runs wait for.
    pub fn missing_states_of_entry(&self) -> Vec<String> {
        let given = self.names(&self.inner).given.iter();
        let missing = given.filter(|&&state| self.pending[state]);
        missing.map(|&state| self.inner.plan.states[state].name.clone()).collect()
    }

    /// Names of the states that begin with what is given, and were not given.
    pub fn missing_states(&self) -> Vec<String> {
        let given = self.inner.tables.given.iter().zip(&self.pending);
        let missing = given.map(|(given, pending)| *given && *pending);
        let slots = self.inner.plan.states.iter().zip(missing).filter(|(_, missing)| *missing);
        slots.map(|(slot, _)| slot.name.clone()).collect()
    }

    /// Writes the initial value of every state that waits for it. Where that is a param that was not set, or what was
    /// not given, it goes on waiting.
    pub(crate) fn init_states(&mut self, inner: &Inner, params: &Held<'_>) -> Result<(), RuntimeError> {
        for i in 0..self.pending.len() {
            if self.pending[i] {
                self.init_state(inner, params, i)?;
            }
        }
        Ok(())
    }

    /// Writes the initial value of a state, unless it is a param that was not set.
    pub(crate) fn init_state(
        &mut self,
        inner: &Inner,
        params: &Held<'_>,
        state: usize,
    ) -> Result<(), RuntimeError> {
        const PIECE: u64 = 1 << 20;
        let slot = &inner.plan.states[state];
        let bytes = inner.tables.state_bytes[state];
        match &slot.init {
            _ if bytes == 0 => {}
            StateInit::Given => return Ok(()),
            StateInit::Zeros => self.device.clear(part(slot.span, 0, bytes))?,
            StateInit::Data(data) => self.device.write(part(slot.span, 0, bytes), data)?,
            StateInit::Param(p) if !params.look(|state| state.is_set(*p as usize)) => return Ok(()),
            StateInit::Param(p) => {
                let from = inner.plan.params[*p as usize].span;
                let mut piece = vec![0; bytes.min(PIECE) as usize];
                for at in (0..bytes).step_by(PIECE as usize) {
                    let piece = &mut piece[..(bytes - at).min(PIECE) as usize];
                    inner.loaded.read_weights(part(from, at, piece.len() as u64), piece)?;
                    self.device.write(part(slot.span, at, piece.len() as u64), piece)?;
                }
            }
        }
        self.pending[state] = false;
        Ok(())
    }

    /// After a device failed during a run nothing in io or frame can be trusted.
    pub(crate) fn forget(&mut self) {
        self.results = None;
        self.frame.run = None;
        self.inputs.iter_mut().for_each(|i| i.resident = false);
    }

    /// The frame region's first `words` words.
    pub(crate) fn frame_span(words: usize) -> Span {
        use pumice_types::Bytes;
        Span::new(RegionKind::Frame, Bytes::ZERO, Bytes(4 * words as u64))
    }
}

/// Checks what an input's view can be checked for without the other inputs.
pub(crate) fn check_input_view(
    inner: &Inner,
    input: usize,
    view: &TensorView<'_>,
) -> Result<(), RuntimeError> {
    let slot = &inner.plan.inputs[input];
    let (kind, name) = (NameKind::Input, || slot.name.clone());
    if view.encoding() != slot.dtype {
        let (expected, given) = (slot.dtype.into(), view.encoding());
        return Err(RuntimeError::DType { kind, name: name(), expected, given, remedy: "convert it first" });
    }
    view.check().map_err(|source| RuntimeError::Tensor { kind, name: name(), source })
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("plan", &self.inner.plan.name)
            .field("scalars", &self.scalars)
            .field("results", &self.results)
            .finish_non_exhaustive()
    }
}
