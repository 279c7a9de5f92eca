//! How long the host asks a device again and again before it sleeps.
//!
//! In: the kind of device, what the user said, the floor of the run's plan. Out: a duration.
//!
//! On a GPU asking costs nobody anything, and waking a sleeping thread would add to every run. A CPU driver needs the
//! processors for its own threads, so a wait sleeps; but where a run is a chain of small levels, its threads mostly
//! wake each other, and waking one on a processor that sleeps takes longer than the level. A waiting thread that gives
//! way (`yield_now`) keeps one awake. Lavapipe (Mesa 22.3) on two virtual CPUs, 2026-11-22: 200 dependent steps of
//! 1,024 elements 4.0 to 4.3 ms instead of 5.0 to 7.7; softmax of 256 rows, which is work, 0.6 ms instead of 0.35.

use pumice_plan::Floor;
use std::time::Duration;

/// On a GPU: longer than a run that is short enough for 0.1 ms to matter.
const ON_A_GPU: Duration = Duration::from_millis(10);
/// On a CPU driver: this many times the floor, which what sleeps and wakes reaches only on an idle machine.
const FLOORS: f64 = 8.0;

/// How long waits on one device ask before they sleep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitPolicy {
    /// What the user said.
    pub(crate) given: Option<Duration>,
    /// Whether the device is a CPU driver.
    pub(crate) cpu: bool,
}

impl WaitPolicy {
    /// For submissions of which nothing is known.
    pub(crate) fn usual(self) -> Duration {
        self.given.unwrap_or(if self.cpu { Duration::ZERO } else { ON_A_GPU })
    }

    /// For so many replays of a run with that floor.
    pub(crate) fn of(self, floor: &Floor, replays: u32) -> Duration {
        let small = floor.levels_us > floor.bytes_us + floor.flops_us;
        if self.given.is_some() || !self.cpu || !small {
            return self.usual();
        }
        let us = FLOORS * floor.total_us * f64::from(replays);
        Duration::try_from_secs_f64(us * 1e-6).unwrap_or(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Floor = Floor { total_us: 100.0, levels_us: 95.0, bytes_us: 4.0, flops_us: 1.0 };
    const LARGE: Floor = Floor { total_us: 500.0, levels_us: 95.0, bytes_us: 4.0, flops_us: 401.0 };

    #[test]
    fn a_cpu_driver_is_asked_only_where_levels_are_small() {
        let cpu = WaitPolicy { given: None, cpu: true };
        assert_eq!(cpu.usual(), Duration::ZERO);
        assert_eq!(cpu.of(&LARGE, 1), Duration::ZERO);
        assert_eq!(cpu.of(&SMALL, 3), Duration::from_micros(2400));
        assert_eq!(cpu.of(&Floor { total_us: f64::NAN, ..SMALL }, 1), Duration::ZERO);
    }

    #[test]
    fn a_gpu_is_asked_always_and_the_user_decides() {
        let gpu = WaitPolicy { given: None, cpu: false };
        assert_eq!((gpu.usual(), gpu.of(&LARGE, 1)), (ON_A_GPU, ON_A_GPU));
        for cpu in [false, true] {
            let given = WaitPolicy { given: Some(Duration::from_millis(3)), cpu };
            assert_eq!(
                (given.usual(), given.of(&SMALL, 9)),
                (Duration::from_millis(3), Duration::from_millis(3))
            );
        }
    }
}
