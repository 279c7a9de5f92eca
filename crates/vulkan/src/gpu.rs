//! An opened device with everything its plans share: queue, staging, pipelines, and what was decided about it.

use crate::device_plan::DevicePlan;
use crate::error::device_error;
use crate::pipelines::{PipelineRequest, Pipelines};
use crate::progress::{KernelObserver, Work};
use crate::raw::{Commands, DeviceShared, Masks, Queue, Recorder};
use crate::record::call_of;
use crate::staging::Staging;
use crate::submit::Begin;
use crate::wait_policy::WaitPolicy;
use pumice_plan::Step;
use pumice_runtime::device::DeviceError;
use std::sync::{Arc, Mutex};

/// Every hazard a recording may meet before itself: kernels and copies of what ran before.
pub(crate) const EVERYTHING_BEFORE: Masks =
    Masks { shader: true, shader_reads_only: false, transfer: true, indirect: false, host: false };

/// Everything a recording may do first.
pub(crate) const EVERYTHING_AFTER: Masks =
    Masks { shader: true, shader_reads_only: false, transfer: true, indirect: true, host: false };

/// Everything that may come after a submission, the host among it.
const EVERYBODY_AFTER: Masks = Masks { host: true, ..EVERYTHING_AFTER };

/// A word that fills fresh memory and guard bands, and is looked for in the guards after every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Poison(pub u32);

/// What every plan on a device shares.
pub(crate) struct Gpu {
    pub(crate) pipelines: Pipelines,
    pub(crate) staging: Mutex<Staging>,
    pub(crate) plan: DevicePlan,
    pub(crate) poison: Option<Poison>,
    pub(crate) timestamp_period_ns: f64,
    pub(crate) storage_buffers: u32,
    pub(crate) storage_alignment: u64,
    pub(crate) queue: Arc<Queue>,
    pub(crate) wait_policy: WaitPolicy,
    /// The name people know the device by.
    pub(crate) name: String,
    /// Hears how far kernels are.
    pub(crate) observer: Option<KernelObserver>,
    pub(crate) shared: Arc<DeviceShared>,
}

impl Gpu {
    /// A device that is gone or of another process says so before anything is tried.
    pub(crate) fn check(&self) -> Result<(), DeviceError> {
        if self.shared.log().forked() {
            return Err(DeviceError::Forked);
        }
        if self.shared.is_lost() {
            return Err(DeviceError::Lost("an earlier call said so".to_owned()));
        }
        Ok(())
    }

    /// Makes the pipelines of steps, in parallel.
    pub(crate) fn prepare<'a>(&self, steps: impl Iterator<Item = &'a Step>) -> Result<(), DeviceError> {
        let requests = steps.filter_map(|s| Some(PipelineRequest { call: call_of(s)?, uses: &s.uses }));
        let work = Work::begin(self);
        let new = self.pipelines.prepare(requests, &|made| work.made(made))?;
        work.finish(&new)
    }

    /// Runs lists once, one after the other, and waits. They must leave nothing that the host may not see: the last
    /// list ends with [`Gpu::close`] or is the closing one. Where a call fails, what was submitted has ended
    /// when it returns.
    pub(crate) fn run(&self, lists: &[&Commands]) -> Result<(), DeviceError> {
        let ended = self.run_timed(lists, self.wait_policy.usual(), Begin::AtSubmission);
        ended.map(|_| ()).map_err(device_error)
    }

    /// A list that closes a submission, see [`Gpu::close`].
    pub(crate) fn closing_list(&self) -> Result<Commands, DeviceError> {
        let mut list = Recorder::new(&self.queue).map_err(device_error)?;
        Gpu::close(&mut list);
        list.finish().map_err(device_error)
    }

    /// A barrier that makes everything before it visible to the host and to whatever is submitted later. Every
    /// submission ends with one, so that a replay waits only for what its own program does ([`Seam`](crate::seam)).
    pub(crate) fn close(list: &mut Recorder) {
        list.barrier(EVERYTHING_BEFORE, EVERYBODY_AFTER);
    }
}
