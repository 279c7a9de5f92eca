//! Host steps between segments: prepared when the plan is loaded, run on copies of their bytes.

use crate::memory::Regions;
use pumice_plan::{Plan, Program, Span, Step, StepId, Use};
use pumice_runtime::HostError;
use pumice_runtime::device::{DeviceError, HostOps, HostStep};
use pumice_types::{Bindings, Bytes};
use std::collections::BTreeMap;

/// The prepared host steps of a program.
#[derive(Default)]
pub(crate) struct HostSteps(BTreeMap<StepId, Box<dyn HostStep>>);

impl HostSteps {
    /// Prepares every host step of a program.
    pub(crate) fn prepare(
        plan: &Plan,
        program: &Program,
        host: &dyn HostOps,
    ) -> Result<HostSteps, DeviceError> {
        let mut steps = BTreeMap::new();
        for (id, step) in (0u32..).map(StepId).zip(&program.steps).filter(|(_, s)| s.is_host()) {
            let prepared =
                host.prepare(plan, &step.meaning, &step.uses).map_err(|error| failed(step, error))?;
            steps.insert(id, prepared);
        }
        Ok(HostSteps(steps))
    }

    /// Runs a step: its inputs are read from the regions, its outputs written to them.
    pub(crate) fn run(
        &self,
        id: StepId,
        step: &Step,
        bindings: &Bindings,
        regions: &Regions,
    ) -> Result<(), DeviceError> {
        let failed = |error: HostError| failed(step, error);
        let prepared = self.0.get(&id).ok_or_else(|| failed("it was not prepared".into()))?;
        let mut inputs = Vec::new();
        for input in &step.meaning.inputs {
            let span = actual_span(step, input.at, bindings)?;
            let mut bytes = buffer(step, span.len)?;
            regions.read(span, &mut bytes)?;
            inputs.push(bytes);
        }
        let mut outputs = Vec::new();
        for &output in &step.meaning.outputs {
            outputs.push(buffer(step, actual_span(step, output, bindings)?.len)?);
        }
        {
            let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
            let mut outputs: Vec<&mut [u8]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
            prepared.run(bindings, &inputs, &mut outputs).map_err(failed)?;
        }
        for (&output, bytes) in step.meaning.outputs.iter().zip(&outputs) {
            regions.write(actual_span(step, output, bindings)?, bytes)?;
        }
        Ok(())
    }
}

fn failed(step: &Step, error: impl Into<HostError>) -> DeviceError {
    DeviceError::of_host(&step.origin, error.into())
}

/// Where use `i` of a step lies at the actual extents.
fn actual_span(step: &Step, i: u16, bindings: &Bindings) -> Result<Span, DeviceError> {
    let u = step.uses.get(usize::from(i)).ok_or_else(|| failed(step, format!("it has no use {i}")))?;
    let len = actual_bytes(u, bindings).map_err(|message| failed(step, message))?;
    Ok(Span { len, ..u.span })
}

fn buffer(step: &Step, len: Bytes) -> Result<Vec<u8>, DeviceError> {
    let len = len.to_usize().ok_or_else(|| failed(step, format!("{len} do not fit in memory")))?;
    Ok(vec![0u8; len])
}

/// Bytes of a use at the actual extents; never more than its span.
fn actual_bytes(u: &Use, bindings: &Bindings) -> Result<Bytes, String> {
    if !u.view.is_dense() {
        return Err("a use that is not dense".to_owned());
    }
    let mut elements = 1u64;
    for extent in &u.view.shape {
        let extent = extent.eval_extent(bindings).map_err(|e| e.to_string())?;
        elements = elements.checked_mul(extent).ok_or("more elements than 64 bits count")?;
    }
    let bytes = u.view.storage.unit(u.view.dtype).bytes_of(elements);
    let bytes = Bytes(bytes.ok_or("more bytes than 64 bits count")?);
    if bytes > u.span.len {
        return Err(format!("{bytes} at these extents, planned for {}", u.span.len));
    }
    Ok(bytes)
}
