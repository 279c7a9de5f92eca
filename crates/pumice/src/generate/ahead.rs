//! Kernels that later answers may need, made while the first answer is read.
//!
//! In: an executable on a GPU. Out: pipelines in the device, as [`Executable::prepare_runs`] makes them, run by run.
//! Never on CPU drivers: there a thread that compiles takes the processors from the one that computes.

use pumice_runtime::Executable;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// A thread that prepares every run of a plan. Dropping it waits until the run in work is ready, and leaves out the
/// others.
#[derive(Debug)]
pub(super) struct Ahead {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Ahead {
    /// Begins. Where no thread can be had, nothing is prepared: runs do it when they are first met.
    pub(super) fn begin(exe: &Executable) -> Ahead {
        let (exe, stop) = (exe.clone(), Arc::new(AtomicBool::new(false)));
        let stopped = Arc::clone(&stop);
        let prepare_all = move || {
            for run in 0..exe.plan().runs.len() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                // What fails here fails again when the run is met, and is reported there.
                let _ = exe.prepare_runs(&[run]);
            }
        };
        let thread = std::thread::Builder::new().name("pumice-prepare".to_owned()).spawn(prepare_all);
        Ahead { stop, thread: thread.ok() }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It has no result, and its panics are defects that were printed.
            let _ = thread.join();
        }
    }
}
