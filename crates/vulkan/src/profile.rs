//! Times from timestamps: of every step, or of a whole submission.
//!
//! In a profiled recording every step runs alone, with a barrier after it, so that its time is its own. A bracket
//! leaves the recordings between its two lists as they are.

use crate::error::device_error;
use crate::gpu::Gpu;
use crate::raw::{Commands, DeviceShared, QueryPool, Recorder};
use pumice_plan::StepId;
use pumice_runtime::device::{DeviceError, StepTime};
use std::sync::Arc;

/// Timestamps of one list.
pub(crate) struct Timing {
    pool: Arc<QueryPool>,
    steps: Vec<StepId>,
}

impl Timing {
    /// Capacity for that many steps.
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

    /// To be recorded after it.
    pub(crate) fn after(&mut self, list: &mut Recorder) -> Result<(), DeviceError> {
        let step = (self.steps.len() as u32).saturating_sub(1);
        list.timestamp(&self.pool, 2 * step + 1).map_err(device_error)
    }

    /// The times, once the list has run.
    pub(crate) fn times(&self, gpu: &Gpu) -> Result<Vec<StepTime>, DeviceError> {
        if self.steps.is_empty() {
            return Ok(Vec::new());
        }
        let ticks = self.pool.ticks().map_err(device_error)?;
        let (mask, period) = (gpu.plan.timestamp_mask, gpu.timestamp_period_ns);
        let time = |pair: &[u64]| microseconds(pair[0], pair[1], mask, period);
        Ok(self
            .steps
            .iter()
            .zip(ticks.chunks_exact(2))
            .map(|(&step, pair)| StepTime { step, us: time(pair) })
            .collect())
    }
}

/// Two lists with a timestamp each, for either end of a submission.
pub(crate) struct Bracket {
    pool: Arc<QueryPool>,
    /// To be submitted first.
    pub(crate) open: Commands,
    /// To be submitted last.
    pub(crate) close: Commands,
}

impl Bracket {
    /// Fails where the queue has no timestamps.
    pub(crate) fn new(gpu: &Gpu) -> Result<Bracket, DeviceError> {
        needs_timestamps(gpu)?;
        let pool = Arc::new(QueryPool::new(&gpu.shared, 2).map_err(device_error)?);
        let mut open = Recorder::new(&gpu.queue).map_err(device_error)?;
        open.reset_queries(&pool);
        open.timestamp(&pool, 0).map_err(device_error)?;
        let mut close = Recorder::new(&gpu.queue).map_err(device_error)?;
        Gpu::close(&mut close);
        close.keep(&pool);
        close.timestamp(&pool, 1).map_err(device_error)?;
        let (open, close) = (open.finish().map_err(device_error)?, close.finish().map_err(device_error)?);
        Ok(Bracket { pool, open, close })
    }

    /// The time between the two, in microseconds, once the submission has ended.
    pub(crate) fn us(&self, gpu: &Gpu) -> Result<f64, DeviceError> {
        let ticks = self.pool.ticks().map_err(device_error)?;
        Ok(microseconds(ticks[0], ticks[1], gpu.plan.timestamp_mask, gpu.timestamp_period_ns))
    }
}

/// Time between two timestamps of which the bits of `mask` count, and which may have begun anew once between them.
fn microseconds(begin: u64, end: u64, mask: u64, period_ns: f64) -> f64 {
    (end.wrapping_sub(begin) & mask) as f64 * period_ns / 1e3
}

/// An error where the queue has no timestamps.
pub(crate) fn needs_timestamps(gpu: &Gpu) -> Result<(), DeviceError> {
    if gpu.plan.timestamps {
        return Ok(());
    }
    let (call, code) = ("vkCmdWriteTimestamp".to_owned(), "no timestamps on this queue".to_owned());
    Err(DeviceError::Call { call, code })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_valid_bits_of_a_timestamp_count() {
        let mask = (1 << 36) - 1;
        assert_eq!(microseconds(1_000, 5_000, u64::MAX, 1.0), 4.0);
        // The counter of 36 bits began anew in between, and the upper bits are noise.
        let (begin, end) = (((1 << 36) - 1_000) | (0x7 << 60), 3_000 | (0x1 << 60));
        assert_eq!(microseconds(begin, end, mask, 2.0), 8.0);
    }
}
