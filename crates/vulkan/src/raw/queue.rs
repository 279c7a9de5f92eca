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
    /// How long nothing may end before the device counts as lost.
    stall: Duration,
}

impl Queue {
    /// The first queue of the device's family. Waits ask for `poll` before they sleep, unless told otherwise, and end
    /// in an error where no submission of anybody has ended for `stall`.
    pub(crate) fn new(
        shared: &Arc<DeviceShared>,
        poll: Duration,
        stall: Duration,
    ) -> Result<Arc<Queue>, CallError> {
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
            stall,
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

    /// Whether a point is known to have passed. Nothing is called.
    pub(crate) fn has_passed(&self, point: u64) -> bool {
        point <= self.passed.load(Ordering::Acquire)
    }

    /// Waits until a point has passed. Nothing is called for one that is known to have.
    pub(crate) fn wait(&self, point: u64) -> Result<(), CallError> {
        self.wait_asking(point, self.poll)
    }

    /// As [`Queue::wait`]; asks again and again for `poll` before it sleeps.
    pub(crate) fn wait_asking(&self, point: u64, poll: Duration) -> Result<(), CallError> {
        if self.has_passed(point) {
            return Ok(());
        }
        if self.shared.is_stalled() {
            return Err(CallError::Stalled { waited: self.stall });
        }
        if self.polled(point, poll)? {
            return Ok(());
        }
        let mut seen = self.passed.load(Ordering::Acquire);
        while !self.slept(point)? {
            let now = self.counter()?;
            if now >= point {
                break;
            }
            if now <= seen {
                self.shared.give_up();
                return Err(CallError::Stalled { waited: self.stall });
            }
            seen = now;
        }
        self.arrived(point)
    }

    /// A wait has ended. Where the device was lost meanwhile some drivers end it without an error.
    fn arrived(&self, point: u64) -> Result<(), CallError> {
        let now = self.counter()?;
        self.passed.fetch_max(now.max(point), Ordering::Release);
        Ok(())
    }

    /// Sleeps until a point has passed, or as long as nothing may end: then `false`.
    fn slept(&self, point: u64) -> Result<bool, CallError> {
        let (semaphores, points) = ([self.timeline.handle], [point]);
        let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&points);
        let timeout = u64::try_from(self.stall.as_nanos()).unwrap_or(u64::MAX);
        // SAFETY: the semaphore is alive; the point was submitted.
        match unsafe { self.shared.table.wait_semaphores(&info, timeout) } {
            Err(error) if error.is_timeout() => Ok(false),
            ended => ended.map(|()| true),
        }
    }

    /// The last point that has passed.
    fn counter(&self) -> Result<u64, CallError> {
        // SAFETY: the semaphore is alive.
        unsafe { self.shared.table.get_semaphore_counter_value(self.timeline.handle) }
    }

    /// As [`Queue::wait`], for work that the driver does on the host, such as translating kernels, which takes seconds
    /// on a machine that is busy with other things: many times as long may pass.
    pub(crate) fn wait_for_driver(&self, point: u64) -> Result<(), CallError> {
        const MORE: u32 = 60;
        for _ in 0..MORE {
            if self.slept(point)? {
                return self.arrived(point);
            }
        }
        self.shared.give_up();
        Err(CallError::Stalled { waited: self.stall.saturating_mul(MORE) })
    }

    /// As [`Queue::wait_for_driver`]; asks every few milliseconds and calls `tell` about so often.
    pub(crate) fn wait_telling(&self, point: u64, every: Duration, tell: &dyn Fn()) -> Result<(), CallError> {
        let (mut reported, mut pause) = (Instant::now(), Duration::from_micros(100));
        while !self.polled(point, Duration::from_nanos(1))? {
            std::thread::sleep(pause);
            pause = (2 * pause).min(Duration::from_millis(10));
            if reported.elapsed() >= every {
                reported = Instant::now();
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
            let now = self.counter()?;
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

    /// Waits in a destructor, or where a call failed: by point, else until the queue is idle, else (device lost) not at
    /// all. In a forked child nothing is called, and nothing of a device that has stalled is waited for.
    pub(crate) fn settle(&self, point: u64) {
        if self.wait(point).is_err() && !self.shared.is_stalled() {
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
