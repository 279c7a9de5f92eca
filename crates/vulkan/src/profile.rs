//! Times of steps, from timestamps around each one.
//!
//! In a profiled recording every step runs alone, with a barrier behind it, so that its time is its own.

use crate::error::device_error;
use crate::raw::{DeviceShared, QueryPool, Recorder};
use pumice_plan::StepId;
use pumice_runtime::device::{DeviceError, StepTime};
use std::sync::Arc;

/// Timestamps of one list.
pub(crate) struct Timing {
    pool: Arc<QueryPool>,
    steps: Vec<StepId>,
}

impl Timing {
    /// Room for that many steps.
    pub(crate) fn new(shared: &Arc<DeviceShared>, steps: usize) -> Result<Timing, DeviceError> {
        let count = u32::try_from(2 * steps).unwrap_or(u32::MAX);
        Ok(Timing { pool: Arc::new(QueryPool::new(shared, count).map_err(device_error)?), steps: Vec::new() })
    }

    /// To be recorded first.
    pub(crate) fn begin(&mut self, list: &mut Recorder) {
        list.reset_queries(&self.pool);
    }

    /// To be recorded before a step.
    pub(crate) fn before(&mut self, list: &mut Recorder, step: StepId) -> Result<(), DeviceError> {
        self.steps.push(step);
        list.timestamp(&self.pool, 2 * (self.steps.len() as u32 - 1)).map_err(device_error)
    }

    /// To be recorded behind it.
    pub(crate) fn after(&mut self, list: &mut Recorder) -> Result<(), DeviceError> {
        let step = (self.steps.len() as u32).saturating_sub(1);
        list.timestamp(&self.pool, 2 * step + 1).map_err(device_error)
    }

    /// The times, once the list has run. `period` is a tick in nanoseconds.
    pub(crate) fn times(&self, period: f64) -> Result<Vec<StepTime>, DeviceError> {
        if self.steps.is_empty() {
            return Ok(Vec::new());
        }
        let ticks = self.pool.ticks().map_err(device_error)?;
        let time = |pair: &[u64]| pair[1].wrapping_sub(pair[0]) as f64 * period / 1e3;
        Ok(self
            .steps
            .iter()
            .zip(ticks.chunks_exact(2))
            .map(|(&step, pair)| StepTime { step, us: time(pair) })
            .collect())
    }
}
