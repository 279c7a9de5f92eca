//! Steps made ready once, when a plan is loaded: meanings are read, host steps prepared.

use crate::meaning::ReadMeaning;
use pumice_plan::kernels::copy::StatusBegin;
use pumice_plan::kernels::frame::FrameFind;
use pumice_plan::{Frame, MeaningGraph, Plan, Program, Step, StepId, StepKind};
use pumice_runtime::device::{DeviceError, HostOps, HostStep};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a step does.
pub(super) enum Work {
    /// Evaluates its meaning, of which each input is the use of that number.
    Meaning(Arc<ReadMeaning>, Vec<u16>),
    /// Runs on the host.
    Host(Box<dyn HostStep>),
    /// Keeps what earlier replays reported.
    BeginReplay,
    /// The frame goes on by one replay.
    Advance,
    /// Fills a row of found words.
    Find,
    /// Bytes of use 0 to use 1.
    Copy,
    /// Every word of use 0.
    Fill(u32),
}

/// Meanings that were read before.
pub(super) type Known = BTreeMap<Arc<MeaningGraph>, Arc<ReadMeaning>>;

/// The steps of a program, ready to run.
pub(super) struct Prepared {
    /// By step.
    pub work: Vec<Work>,
}

/// An error that only a defect of pumice causes.
pub(super) fn defect(step: &Step, what: impl std::fmt::Display) -> DeviceError {
    DeviceError::Unsupported(format!("step {} ({}): {what}", step.origin, step.label()))
}

impl Prepared {
    /// Makes the steps of a program ready. `known` are meanings read before.
    pub fn new(
        plan: &Plan,
        program: &Program,
        host: &dyn HostOps,
        known: &mut Known,
    ) -> Result<Prepared, DeviceError> {
        let work = program.steps.iter().map(|s| prepare(plan, s, host, known)).collect::<Result<_, _>>()?;
        Ok(Prepared { work })
    }
}

fn prepare(plan: &Plan, step: &Step, host: &dyn HostOps, known: &mut Known) -> Result<Work, DeviceError> {
    match &step.kind {
        StepKind::Host => {
            let failed = |error| DeviceError::of_host(&step.origin, error);
            host.prepare(plan, &step.meaning, &step.uses).map(Work::Host).map_err(failed)
        }
        StepKind::Advance { .. } => Ok(Work::Advance),
        StepKind::Copy => Ok(Work::Copy),
        StepKind::Fill(word) => Ok(Work::Fill(*word)),
        StepKind::Dispatch { call, .. } if call.kernel.0 == StatusBegin::DECL.name => Ok(Work::BeginReplay),
        StepKind::Dispatch { call, .. } if call.kernel.0 == FrameFind::DECL.name => Ok(Work::Find),
        StepKind::Dispatch { .. } => {
            let meaning = read(step, known)?;
            let unbound = |error| DeviceError::Input { step: step.origin.to_string(), error };
            let order = meaning.order(&step.meaning).map_err(unbound)?;
            let uses = order.into_iter().map(|i| step.meaning.inputs[i].at).collect();
            Ok(Work::Meaning(meaning, uses))
        }
    }
}

/// What a step means; steps that mean the same share it.
fn read(step: &Step, known: &mut Known) -> Result<Arc<ReadMeaning>, DeviceError> {
    if let Some(meaning) = known.get(&step.meaning.graph) {
        return Ok(Arc::clone(meaning));
    }
    let meaning = Arc::new(ReadMeaning::new(&step.meaning.graph).map_err(|e| defect(step, e))?);
    known.insert(Arc::clone(&step.meaning.graph), Arc::clone(&meaning));
    Ok(meaning)
}

/// Steps of every level in the order in which they run: each level shuffled by `seed`; only those wanted.
pub(super) fn order(program: &Program, seed: u64, wanted: impl Fn(StepId) -> bool) -> Vec<StepId> {
    let mut all = Vec::with_capacity(program.steps.len());
    for (l, level) in program.levels.iter().enumerate() {
        let mut steps: Vec<StepId> = level.steps.clone().map(StepId).filter(|s| wanted(*s)).collect();
        for i in (1..steps.len()).rev() {
            let draw = pumice_ir::sample::random(seed ^ (l as u64) << 32, i as u64);
            steps.swap(i, (draw % (i as u64 + 1)) as usize);
        }
        all.append(&mut steps);
    }
    all
}

/// The frame of a program; empty for the load program.
#[derive(Clone, Copy)]
pub(super) struct FrameOf<'a>(pub Option<&'a Frame>);

impl FrameOf<'_> {
    /// Its words without the advance program.
    pub fn words(&self) -> u64 {
        self.0.map_or(0, |f| f.words.len() as u64)
    }
}
