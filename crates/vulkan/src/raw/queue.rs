//! The queue and the timeline semaphore that tells its time.
//!
//! Every submission signals the next point of one timeline. A failed submission takes no point, so nobody waits for
//! something that will not happen.

use super::calls::CallError;
use super::commands::Commands;
use super::device::DeviceShared;
use ash::vk;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Owner of a timeline `VkSemaphore`.
struct TimelineSemaphore {
    shared: Arc<DeviceShared>,
    handle: vk::Semaphore,
}

impl TimelineSemaphore {
    fn new(shared: &Arc<DeviceShared>) -> Result<TimelineSemaphore, CallError> {
        let mut kind = vk::SemaphoreTypeCreateInfo::default()
            .semaphore_type(vk::SemaphoreType::TIMELINE)
            .initial_value(0);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: timeline semaphores are enabled on the device.
        let handle = unsafe { shared.table.create_semaphore(&info) }?;
        Ok(TimelineSemaphore { shared: shared.clone(), handle })
    }
}

impl Drop for TimelineSemaphore {
    fn drop(&mut self) {
        // SAFETY: the queue that signals it has waited for its last submission.
        self.shared.table.destroy(|d| unsafe { d.destroy_semaphore(self.handle, None) });
    }
}

/// The device's queue. One lock: submissions of all sessions go through it.
pub(crate) struct Queue {
    shared: Arc<DeviceShared>,
    handle: vk::Queue,
    timeline: TimelineSemaphore,
    /// The last point submitted.
    last: Mutex<u64>,
    /// The last point that is known to have passed.
    passed: AtomicU64,
    /// How long a wait asks again and again before it sleeps, unless it is told otherwise.
    poll: Duration,
}

impl Queue {
    /// The first queue of the device's family. Waits ask for `poll` before they sleep, unless told otherwise.
    pub(crate) fn new(shared: &Arc<DeviceShared>, poll: Duration) -> Result<Arc<Queue>, CallError> {
        let timeline = TimelineSemaphore::new(shared)?;
        // SAFETY: the device was made with one queue of this family.
        let handle = unsafe { shared.table.device.get_device_queue(shared.family(), 0) };
        Ok(Arc::new(Queue {
            shared: shared.clone(),
            handle,
            timeline,
            last: Mutex::new(0),
            passed: AtomicU64::new(0),
            poll,
        }))
    }

    pub(crate) fn shared(&self) -> &Arc<DeviceShared> {
        &self.shared
    }

    /// Submits command lists one after the other, a list as often as it is named, and returns the point that is
    /// reached when the last one has ended.
    pub(crate) fn submit(&self, lists: &[&Commands]) -> Result<u64, CallError> {
        let buffers: Vec<_> = lists.iter().map(|c| c.handle()).collect();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let points = [*last + 1];
        let semaphores = [self.timeline.handle];
        let mut times = vk::TimelineSemaphoreSubmitInfo::default().signal_semaphore_values(&points);
        let submit = vk::SubmitInfo::default()
            .command_buffers(&buffers)
            .signal_semaphores(&semaphores)
            .push_next(&mut times);
        let _gate = self.shared.gate.submit();
        // SAFETY: the queue is locked; the lists were ended, allow simultaneous use, and keep what they refer to
        // until the point that is noted on them below has passed.
        unsafe { self.shared.table.queue_submit(self.handle, &[submit], vk::Fence::null()) }?;
        *last += 1;
        lists.iter().for_each(|c| c.submitted(points[0]));
        Ok(points[0])
    }

    /// Waits until a point has passed. Nothing is called for one that is known to have.
    pub(crate) fn wait(&self, point: u64) -> Result<(), CallError> {
        self.wait_asking(point, self.poll)
    }

    /// As [`Queue::wait`]; asks again and again for `poll` before it sleeps.
    pub(crate) fn wait_asking(&self, point: u64, poll: Duration) -> Result<(), CallError> {
        if point <= self.passed.load(Ordering::Acquire) {
            return Ok(());
        }
        if self.polled(point, poll)? {
            return Ok(());
        }
        let (semaphores, points) = ([self.timeline.handle], [point]);
        let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&points);
        // SAFETY: the semaphore is alive; the point was submitted.
        unsafe { self.shared.table.wait_semaphores(&info, u64::MAX) }?;
        // Where the device was lost meanwhile some drivers end the wait without an error.
        // SAFETY: the semaphore is alive.
        let now = unsafe { self.shared.table.get_semaphore_counter_value(self.timeline.handle) }?;
        self.passed.fetch_max(now.max(point), Ordering::Release);
        Ok(())
    }

    /// As [`Queue::wait`], for work of seconds: asks every few milliseconds and calls `tell` about so often.
    pub(crate) fn wait_telling(&self, point: u64, every: Duration, tell: &dyn Fn()) -> Result<(), CallError> {
        let (mut told, mut pause) = (Instant::now(), Duration::from_micros(100));
        while !self.polled(point, Duration::from_nanos(1))? {
            std::thread::sleep(pause);
            pause = (2 * pause).min(Duration::from_millis(10));
            if told.elapsed() >= every {
                told = Instant::now();
                tell();
            }
        }
        Ok(())
    }

    /// Whether a point passed while the device was asked again and again, other threads going first.
    fn polled(&self, point: u64, poll: Duration) -> Result<bool, CallError> {
        if poll.is_zero() {
            return Ok(false);
        }
        let begin = Instant::now();
        loop {
            // SAFETY: the semaphore is alive.
            let now = unsafe { self.shared.table.get_semaphore_counter_value(self.timeline.handle) }?;
            if now >= point {
                self.passed.fetch_max(now, Ordering::Release);
                return Ok(true);
            }
            if begin.elapsed() >= poll {
                return Ok(false);
            }
            std::thread::yield_now();
        }
    }

    /// Waits in a destructor, or where a call failed: by point, else until the queue is idle, else (device lost) not at all. In a forked
    /// child nothing is called.
    pub(crate) fn settle(&self, point: u64) {
        if self.wait(point).is_err() {
            let _last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: the queue is locked.
            let _ = unsafe { self.shared.table.queue_wait_idle(self.handle) };
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        self.settle(last);
    }
}
