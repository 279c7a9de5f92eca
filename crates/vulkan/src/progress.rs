//! Long work on kernels tells how far it is, and CPU drivers do it before the first run.
//!
//! A GPU's driver translates a kernel when its pipeline is made. A driver on the CPU (llvmpipe) leaves that to the
//! first dispatch, which takes seconds in the middle of a run: a dispatch of no groups makes it happen here instead.
//! In: pipelines that were just made. Out: nothing but the time it took. Never here: what a kernel computes.

use crate::error::device_error;
use crate::gpu::Gpu;
use crate::pipelines::{Made, Ready};
use crate::raw::{Commands, DispatchTarget, Recorder};
use pumice_plan::kernel::interface::Addressing;
use pumice_runtime::device::DeviceError;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How far the kernels of a plan are.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelProgress {
    /// The device they are made for.
    pub device: String,
    /// Kernels that are ready.
    pub done: usize,
    /// Kernels that are made in this call; those that were there before are not counted.
    pub total: usize,
    /// The kernel in work, as plans name it; of the kernels made side by side, the one that was made last.
    pub kernel: String,
    /// Since the call began.
    pub elapsed: Duration,
}

impl KernelProgress {
    /// The state of such work.
    pub fn new(device: &str, done: usize, total: usize, kernel: &str, elapsed: Duration) -> KernelProgress {
        KernelProgress { device: device.to_owned(), done, total, kernel: kernel.to_owned(), elapsed }
    }
}

/// `compiling kernels for llvmpipe (LLVM 15.0.6, 256 bits): 3 of 7 (layer_norm.fast1)`
impl fmt::Display for KernelProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KernelProgress { device, done, total, kernel, .. } = self;
        write!(f, "compiling kernels for {device}: {done} of {total} ({kernel})")
    }
}

/// Hears how far kernels are: whenever one is ready, and about twice a second while one takes longer. It is called
/// from the threads that make them, while no lock is held, and may use the device. The call that makes kernels waits
/// for it; others do not.
pub type KernelObserver = Arc<dyn Fn(&KernelProgress) + Send + Sync>;

/// How often an observer hears of one kernel.
const EVERY: Duration = Duration::from_millis(500);

/// One call that makes kernels.
pub(crate) struct Work<'a> {
    gpu: &'a Gpu,
    begin: Instant,
}

impl<'a> Work<'a> {
    pub(crate) fn begin(gpu: &'a Gpu) -> Work<'a> {
        Work { gpu, begin: Instant::now() }
    }

    /// A pipeline was made. On a CPU driver the kernel is not there yet.
    pub(crate) fn made(&self, made: Made<'_>) {
        if !self.first_dispatch_compiles() {
            self.tell(made.done, made.total, made.label);
        }
    }

    fn tell(&self, done: usize, total: usize, kernel: &str) {
        if let Some(observer) = &self.gpu.observer {
            observer(&KernelProgress::new(&self.gpu.name, done, total, kernel, self.begin.elapsed()));
        }
    }

    /// Whether a kernel is translated when it is first dispatched. The descriptor form, which is there for validation
    /// runs, would need sets for that and goes without.
    fn first_dispatch_compiles(&self) -> bool {
        self.gpu.plan.target.features.cpu && self.gpu.pipelines.addressing() == Addressing::Address
    }

    /// Has the driver translate new kernels: dispatches of no groups.
    pub(crate) fn finish(&self, new: &[(String, Ready)]) -> Result<(), DeviceError> {
        if new.is_empty() || !self.first_dispatch_compiles() {
            return Ok(());
        }
        let queue = &self.gpu.queue;
        if self.gpu.observer.is_none() {
            let list = self.dispatches_of_nothing(new)?;
            let point = queue.submit(&[&list]).map_err(device_error)?;
            return queue.wait_for_driver(point).map_err(device_error);
        }
        for (done, one) in new.iter().enumerate() {
            let tell = || self.tell(done, new.len(), &one.0);
            tell();
            let list = self.dispatches_of_nothing(std::slice::from_ref(one))?;
            let point = queue.submit(&[&list]).map_err(device_error)?;
            queue.wait_telling(point, EVERY, &tell).map_err(device_error)?;
        }
        let last = new.last().map_or("", |one| one.0.as_str());
        self.tell(new.len(), new.len(), last);
        Ok(())
    }

    fn dispatches_of_nothing(&self, new: &[(String, Ready)]) -> Result<Commands, DeviceError> {
        let mut list = Recorder::new(&self.gpu.queue).map_err(device_error)?;
        for (_, ready) in new {
            let push = vec![0; ready.layout.push_bytes() as usize];
            list.dispatch(&ready.pipeline, &push, None, &DispatchTarget::Direct([0; 3]))
                .map_err(device_error)?;
        }
        Gpu::close(&mut list);
        list.finish().map_err(device_error)
    }
}
