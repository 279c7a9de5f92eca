//! A line on the standard error where compiling kernels takes long, with and without a terminal.
//!
//! In: what the device tells of its work. Out: nothing in the first second, then a line every few.

use pumice_vulkan::{KernelObserver, KernelProgress};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Work that takes less is not mentioned.
const SILENT: Duration = Duration::from_secs(1);
/// From one line to the next.
const EVERY: Duration = Duration::from_secs(2);

/// When the next line of one call's work is due.
#[derive(Debug, Default)]
struct Lines {
    /// Age of the work at the last line.
    last: Option<Duration>,
}

impl Lines {
    /// The line that is due, if one is.
    fn of(&mut self, progress: &KernelProgress) -> Option<String> {
        let now = progress.elapsed;
        if self.last.is_some_and(|last| now < last) {
            self.last = None; // Other work has begun.
        }
        let ended = progress.done == progress.total && self.last.is_some();
        let due = now >= self.last.map_or(SILENT, |last| last + EVERY);
        if ended {
            self.last = None;
            return Some(format!("{progress}, {:.1} s", now.as_secs_f64()));
        }
        if !due || progress.done == progress.total {
            return None;
        }
        self.last = Some(now);
        Some(progress.to_string())
    }
}

/// What commands give to the devices they open.
pub(crate) fn observer() -> KernelObserver {
    let lines = Mutex::new(Lines::default());
    Arc::new(move |progress| {
        let line = lines.lock().unwrap_or_else(PoisonError::into_inner).of(progress);
        if let Some(line) = line {
            eprintln!("{line}");
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_of_silence_then_a_line_every_two() {
        let mut lines = Lines::default();
        let mut at = |seconds: f64, done| {
            let elapsed = Duration::from_secs_f64(seconds);
            lines.of(&KernelProgress::new("llvmpipe", done, 7, "layer_norm.plain", elapsed))
        };
        let line = |done: usize| format!("compiling kernels for llvmpipe: {done} of 7 (layer_norm.plain)");
        assert_eq!(at(0.9, 1), None);
        assert_eq!(at(1.1, 2), Some(line(2)));
        assert_eq!(at(3.0, 3), None);
        assert_eq!(at(3.2, 3), Some(line(3)));
        assert_eq!(at(4.0, 7), Some(line(7) + ", 4.0 s"));
        // Work that ends within a second is not mentioned, whatever came before.
        assert_eq!(at(0.5, 7), None);
        assert_eq!(at(1.2, 6), Some(line(6)));
    }
}
