//! A plan on the interpreter, and its sessions.

use super::Options;
use super::execute::words;
use super::memory::RegionBytes;
use super::prepare::{FrameOf, Prepared, defect, order};
use super::program::Runner;
use pumice_plan::{CheckedPlan, FrameSlot, PlanForm, Program, RegionKind, Run, Segment, Span, StepId};
use pumice_runtime::Interrupt;
use pumice_runtime::device::{DeviceError, DeviceSession, FillWeights, HostOps, Loaded, StepTime};
use pumice_types::{Bindings, Bytes, DType, DimExpr, ScalarId, When};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

/// What a session has of its own.
const OF_SESSION: [RegionKind; 6] = [
    RegionKind::States,
    RegionKind::Scratch,
    RegionKind::IoIn,
    RegionKind::IoOut,
    RegionKind::Frame,
    RegionKind::Status,
];

/// A loaded plan.
pub(super) struct Interpreted {
    plan: CheckedPlan,
    options: Options,
    load: Prepared,
    streams: Vec<Prepared>,
    runs: Vec<Prepared>,
    weights: RwLock<RegionBytes>,
}

impl Interpreted {
    /// Reads every meaning, prepares host steps, takes memory for the weights. A plan in its run form has no meanings.
    pub fn new(plan: CheckedPlan, host: &dyn HostOps, options: Options) -> Result<Interpreted, DeviceError> {
        if plan.form == PlanForm::Run {
            return Err(DeviceError::NoMeanings { plan: plan.name.clone() });
        }
        let mut known = BTreeMap::new();
        let load = Prepared::new(&plan, &plan.load, host, &mut known)?;
        let streams = plan.streams.iter().map(|s| Prepared::new(&plan, &s.program, host, &mut known));
        let streams = streams.collect::<Result<_, _>>()?;
        let mut runs = Vec::with_capacity(plan.runs.len());
        for run in &plan.runs {
            runs.push(Prepared::new(&plan, &run.program, host, &mut known)?);
        }
        let weights = RwLock::new(RegionBytes::new(&plan, &[RegionKind::Weights], options.poison)?);
        Ok(Interpreted { plan, options, load, streams, runs, weights })
    }
}

impl Interpreted {
    /// Runs steps of a program that runs while weights are loaded.
    fn run_once(
        &self,
        program: &Program,
        prepared: &Prepared,
        scratch: &mut RegionBytes,
        wanted: impl Fn(StepId) -> bool,
    ) -> Result<(), DeviceError> {
        let (weights, bindings) = (&self.weights, Bindings::new());
        let mut runner = Runner { weights, loads: true, session: scratch, frame: FrameOf(None), bindings };
        for id in order(program, self.options.seed, wanted) {
            let i = id.0 as usize;
            runner.run(&program.steps[i], &prepared.work[i])?;
        }
        Ok(())
    }
}

impl Loaded for Interpreted {
    fn write_weights(&self, span: Span, bytes: &[u8]) -> Result<(), DeviceError> {
        let mut weights = self.weights.write().unwrap_or_else(PoisonError::into_inner);
        let to = weights.bytes_mut(span)?;
        if to.len() != bytes.len() {
            return Err(DeviceError::Span(span));
        }
        to.copy_from_slice(bytes);
        Ok(())
    }

    fn read_weights(&self, span: Span, bytes: &mut [u8]) -> Result<(), DeviceError> {
        let weights = self.weights.read().unwrap_or_else(PoisonError::into_inner);
        let from = weights.bytes(span)?;
        if from.len() != bytes.len() {
            return Err(DeviceError::Span(span));
        }
        bytes.copy_from_slice(from);
        Ok(())
    }

    fn run_load(&self, steps: &[StepId]) -> Result<(), DeviceError> {
        let program = &self.plan.load;
        let wanted: BTreeSet<StepId> = steps.iter().copied().collect();
        let mut scratch = RegionBytes::new(&self.plan, &OF_SESSION[1..], self.options.poison)?;
        self.run_once(program, &self.load, &mut scratch, |s| wanted.contains(&s))
    }

    fn stream(&self, stream: usize, fill: &mut FillWeights<'_>) -> Result<(), DeviceError> {
        let none = || DeviceError::Unsupported(format!("stream {stream} of {}", self.plan.streams.len()));
        let of = self.plan.streams.get(stream).ok_or_else(none)?;
        let span = self.plan.params.get(of.param as usize).ok_or_else(none)?.span;
        let mut scratch = RegionBytes::of([&of.room], self.options.poison)?;
        fill(0, 0, scratch.bytes_mut(span)?)?;
        self.run_once(&of.program, &self.streams[stream], &mut scratch, |_| true)
    }

    fn session(self: Arc<Self>) -> Result<Box<dyn DeviceSession>, DeviceError> {
        let memory = RegionBytes::new(&self.plan, &OF_SESSION, self.options.poison)?;
        Ok(Box::new(InterpreterSession { loaded: self, memory, replays: 0, interrupt: Interrupt::default() }))
    }

    fn prepare(&self, runs: &[usize]) -> Result<(), DeviceError> {
        match runs.iter().find(|&&r| r >= self.runs.len()) {
            Some(r) => Err(DeviceError::Unsupported(format!("run {r} of {}", self.runs.len()))),
            None => Ok(()),
        }
    }
}

/// Runs the steps of a segment: those of a loop until it has ended.
fn replay_segment(
    (program, segment): (&Program, &Segment),
    ordered: &[StepId],
    runner: &mut Runner<'_>,
    one: &mut dyn FnMut(&mut Runner<'_>, StepId) -> Result<(), DeviceError>,
) -> Result<(), DeviceError> {
    let (turns, when) = turns_of(program, segment, &runner.bindings)?;
    for _ in 0..turns {
        ordered.iter().try_for_each(|&id| one(runner, id))?;
        if let Some(when) = &when
            && !is_taken(when, &runner.bindings)?
        {
            break;
        }
    }
    Ok(())
}

/// How often a segment is replayed at most, and where what holds it goes on.
fn turns_of(
    program: &Program,
    segment: &Segment,
    bindings: &Bindings,
) -> Result<(u32, Option<When>), DeviceError> {
    Ok(match segment {
        Segment::Repeat { levels, turns, count: Some(count), .. } => {
            let turns = taken(count, *turns, bindings)?;
            // In a branch that is not taken no turn does anything.
            let runs = turns > 0 && is_taken(&program.turn_when(levels), bindings)?;
            (if runs { turns } else { 0 }, None)
        }
        Segment::Repeat { levels, turns, .. } => (*turns, Some(program.turn_when(levels))),
        Segment::Gpu { .. } | Segment::Host { .. } => (1, None),
    })
}

/// Whether the branches are taken in which a loop stands.
fn is_taken(when: &When, bindings: &Bindings) -> Result<bool, DeviceError> {
    let unknown = |e| DeviceError::Unsupported(format!("a choice of a loop: {e}"));
    when.holds(bindings).map_err(unknown)
}

/// How many turns of a loop are taken, whose number is known before the run.
fn taken(count: &DimExpr, most: u32, bindings: &Bindings) -> Result<u32, DeviceError> {
    let unknown = |e| DeviceError::Unsupported(format!("turns of a loop: {e}"));
    Segment::counted_turns(count, most, bindings).map_err(unknown)
}

/// The steps of a segment.
fn steps_of(program: &Program, segment: &Segment) -> Range<u32> {
    let levels = match segment {
        Segment::Gpu { levels } | Segment::Repeat { levels, .. } => levels.clone(),
        Segment::Host { level } => *level..*level + 1,
    };
    let all = program.levels.get(levels.start as usize..levels.end as usize).unwrap_or_default();
    match (all.first(), all.last()) {
        (Some(first), Some(last)) => first.steps.start..last.steps.end,
        _ => 0..0,
    }
}

/// A session.
struct InterpreterSession {
    loaded: Arc<Interpreted>,
    memory: RegionBytes,
    /// Replays so far; steps of one level run in another order each time.
    replays: u64,
    interrupt: Interrupt,
}

impl DeviceSession for InterpreterSession {
    fn write(&mut self, span: Span, bytes: &[u8]) -> Result<(), DeviceError> {
        let to = self.memory.bytes_mut(span)?;
        if to.len() != bytes.len() {
            return Err(DeviceError::Span(span));
        }
        to.copy_from_slice(bytes);
        Ok(())
    }

    fn clear(&mut self, span: Span) -> Result<(), DeviceError> {
        self.memory.bytes_mut(span)?.fill(0);
        Ok(())
    }

    fn read(&mut self, span: Span, bytes: &mut [u8]) -> Result<(), DeviceError> {
        let from = self.memory.bytes(span)?;
        if from.len() != bytes.len() {
            return Err(DeviceError::Span(span));
        }
        bytes.copy_from_slice(from);
        Ok(())
    }

    fn run(&mut self, run: usize, bindings: &Bindings, repeats: u32) -> Result<(), DeviceError> {
        let mut bindings = bindings.clone();
        for replay in 0..repeats {
            if replay > 0 {
                self.next_scalars(run, &mut bindings)?;
            }
            self.replay(run, &bindings, &mut |_, _| {})?;
            if self.has_stopped(run)? {
                break;
            }
        }
        Ok(())
    }

    fn run_profiled(&mut self, run: usize, bindings: &Bindings) -> Result<Vec<StepTime>, DeviceError> {
        let mut times = Vec::new();
        self.replay(run, bindings, &mut |step, us| times.push(StepTime { step, us }))?;
        times.sort_by_key(|t| t.step);
        // Of each step of a loop the first turn's.
        times.dedup_by_key(|t| t.step);
        Ok(times)
    }

    fn fork(&mut self, states: &[Span]) -> Result<Box<dyn DeviceSession>, DeviceError> {
        let mut memory = RegionBytes::new(&self.loaded.plan, &OF_SESSION, self.loaded.options.poison)?;
        for &span in states {
            memory.bytes_mut(span)?.copy_from_slice(self.memory.bytes(span)?);
        }
        let (loaded, interrupt) = (Arc::clone(&self.loaded), Interrupt::default());
        Ok(Box::new(InterpreterSession { loaded, memory, replays: 0, interrupt }))
    }

    fn interrupt_by(&mut self, interrupt: Interrupt) {
        self.interrupt = interrupt;
    }
}

impl InterpreterSession {
    fn run_of(&self, run: usize) -> Result<&Run, DeviceError> {
        let runs = &self.loaded.plan.runs;
        runs.get(run).ok_or_else(|| DeviceError::Unsupported(format!("run {run} of {}", runs.len())))
    }

    /// Whether replays after the last one do nothing.
    fn has_stopped(&self, run: usize) -> Result<bool, DeviceError> {
        let Some(at) = self.run_of(run)?.frame.find(&FrameSlot::Stopped) else { return Ok(false) };
        let span = Span::new(RegionKind::Frame, Bytes(4 * u64::from(at.0)), Bytes(4));
        Ok(words(self.memory.bytes(span)?).iter().any(|w| *w != 0))
    }

    /// One replay, with the time of every step.
    fn replay(
        &mut self,
        run: usize,
        bindings: &Bindings,
        timed: &mut dyn FnMut(StepId, f64),
    ) -> Result<(), DeviceError> {
        let seed = self.loaded.options.seed.wrapping_add(self.replays.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let loaded = Arc::clone(&self.loaded);
        self.run_of(run)?;
        let Run { program, frame, .. } = &loaded.plan.runs[run];
        self.replays += 1;
        self.poison();
        let (weights, session, frame) = (&loaded.weights, &mut self.memory, FrameOf(Some(frame)));
        let bindings = bindings.clone();
        let mut runner = Runner { weights, loads: false, session, frame, bindings };
        let (work, interrupt) = (&loaded.runs[run].work, &self.interrupt);
        let mut one = |runner: &mut Runner<'_>, id: StepId| {
            let step = &program.steps[id.0 as usize];
            let work = work.get(id.0 as usize).ok_or_else(|| defect(step, "it was not prepared"))?;
            if interrupt.is_set() {
                return Err(DeviceError::Interrupted);
            }
            let start = Instant::now();
            runner.run(step, work)?;
            timed(id, start.elapsed().as_secs_f64() * 1e6);
            Ok(())
        };
        for segment in &program.segments {
            let steps = steps_of(program, segment);
            let ordered = order(program, seed, |id| steps.contains(&id.0));
            replay_segment((program, segment), &ordered, &mut runner, &mut one)?;
        }
        Ok(())
    }

    /// Fills what this replay may not read: everything but states, inputs, frame and the status block.
    fn poison(&mut self) {
        let Some(pattern) = self.loaded.options.poison else { return };
        let plan = &self.loaded.plan;
        let mut inputs: Vec<Span> = plan.inputs.iter().map(|s| s.span).filter(|s| s.len.0 > 0).collect();
        inputs.sort_unstable();
        self.memory.poison(RegionKind::Scratch, pattern, &[]);
        self.memory.poison(RegionKind::IoIn, pattern, &inputs);
        self.memory.poison(RegionKind::IoOut, pattern, &[]);
    }

    /// The scalars as the frame holds them after an advance; one that no word holds goes on by its own expression.
    fn next_scalars(&self, run: usize, bindings: &mut Bindings) -> Result<(), DeviceError> {
        let plan = &self.loaded.plan;
        let frame = &self.run_of(run)?.frame;
        let len = Bytes(4 * frame.words.len() as u64);
        let span = Span::new(RegionKind::Frame, Bytes::ZERO, len);
        let words = words(self.memory.bytes(span)?);
        let before = bindings.clone();
        for (i, scalar) in plan.scalars.iter().enumerate() {
            let id = ScalarId(i as u32);
            let Some(by) = plan.advance_of(self.run_of(run)?, id) else { continue };
            let word = frame.words.iter().position(|w| *w == FrameSlot::Scalar(id)).map(|at| words[at]);
            let value = match (word, scalar.dtype) {
                (Some(bits), DType::U32) => Some(i64::from(bits)),
                (Some(bits), _) => Some(i64::from(bits as i32)),
                (None, _) => {
                    by.eval(&before).ok().zip(before.get(pumice_types::Var::Scalar(id))).map(|(a, b)| a + b)
                }
            };
            let unknown = || DeviceError::Unsupported(format!("scalar {} without a value", scalar.name));
            bindings.bind_scalar(id, value.ok_or_else(unknown)?);
        }
        Ok(())
    }
}
