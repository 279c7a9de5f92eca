//! Runs the steps of a program. The weights are locked while a step works on bytes, and not while a host step runs:
//! what it calls may read params, or set those of another plan.

use super::execute::{Machine, Weights};
use super::memory::RegionBytes;
use super::prepare::{FrameOf, Work, defect};
use pumice_plan::Step;
use pumice_runtime::device::{DeviceError, HostStep};
use pumice_types::Bindings;
use std::sync::{PoisonError, RwLock};

/// What a program runs on.
pub(super) struct Runner<'a> {
    /// Region `weights`.
    pub weights: &'a RwLock<RegionBytes>,
    /// Whether the program may write it: one that runs while weights are loaded.
    pub loads: bool,
    /// All other regions.
    pub session: &'a mut RegionBytes,
    /// The frame's words.
    pub frame: FrameOf<'a>,
    /// Symbols, those that were found among them, and the integer scalars of this replay.
    pub bindings: Bindings,
}

impl Runner<'_> {
    /// Runs one step.
    pub fn run(&mut self, step: &Step, work: &Work) -> Result<(), DeviceError> {
        match work {
            Work::Host(host) => match step.when.holds(&self.bindings) {
                Ok(true) => self.host(step, host.as_ref()),
                Ok(false) => Ok(()),
                Err(e) => Err(defect(step, e)),
            },
            Work::Find => {
                let found = self.on_bytes(|machine| machine.find(step))?;
                found.into_iter().for_each(|(symbol, value)| self.bindings.bind(symbol, value));
                Ok(())
            }
            work => self.on_bytes(|machine| machine.run(step, work)),
        }
    }

    fn on_bytes<R>(&mut self, work: impl FnOnce(&mut Machine<'_>) -> R) -> R {
        let (session, frame, bindings) = (&mut *self.session, self.frame, &self.bindings);
        if self.loads {
            let mut weights = self.weights.write().unwrap_or_else(PoisonError::into_inner);
            work(&mut Machine { weights: Weights::Own(&mut weights), session, frame, bindings })
        } else {
            let weights = self.weights.read().unwrap_or_else(PoisonError::into_inner);
            work(&mut Machine { weights: Weights::Shared(&weights), session, frame, bindings })
        }
    }

    fn host(&mut self, step: &Step, host: &dyn HostStep) -> Result<(), DeviceError> {
        let [inputs, mut outputs] = self.on_bytes(|machine| machine.host_operands(step))?;
        let given: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
        let mut made: Vec<&mut [u8]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
        let failed = |error| DeviceError::of_host(&step.origin, error);
        host.run(&self.bindings, &given, &mut made).map_err(failed)?;
        self.on_bytes(|machine| machine.write_host_results(step, &outputs))
    }
}
