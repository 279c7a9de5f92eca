//! What a command shows on the standard error while it works, and nothing of which stays there: bars, and a line where
//! compiling kernels takes long.
//!
//! In: what devices and models tell of their work. Out: on a terminal lines that are drawn over and cleared,
//! elsewhere a line after 3 seconds and then every 10. As soon as an answer begins ([`Progress::end`]) nothing is
//! shown any more: it would stand in the middle of the text.

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use pumice_vulkan::{KernelObserver, KernelProgress};
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// When the next line of one call's work is due.
#[derive(Debug)]
struct Schedule {
    /// Work that takes less is not mentioned.
    silent: Duration,
    /// From one line to the next.
    every: Duration,
    /// Age of the work at the last line.
    last: Option<Duration>,
}

impl Schedule {
    /// A terminal's line is drawn over; elsewhere lines stay, and a few are enough to see that something goes on.
    fn new(terminal: bool) -> Schedule {
        let (silent, every) = if terminal { (1, 0) } else { (3, 10) };
        Schedule { silent: Duration::from_secs(silent), every: Duration::from_secs(every), last: None }
    }

    /// The line that is due, if one is.
    fn of(&mut self, progress: &KernelProgress) -> Option<String> {
        let now = progress.elapsed;
        if self.last.is_some_and(|last| now < last) {
            self.last = None; // Other work has begun.
        }
        if progress.done == progress.total {
            self.last = None;
            return None;
        }
        if now < self.last.map_or(self.silent, |last| last + self.every) {
            return None;
        }
        self.last = Some(now);
        Some(format!("compiling kernels: {} of {}", progress.done, progress.total))
    }
}

#[derive(Debug)]
struct Kernels {
    schedule: Schedule,
    /// The line on a terminal, while there is one.
    line: Option<ProgressBar>,
    ended: bool,
}

impl Kernels {
    fn clear(&mut self) {
        if let Some(line) = self.line.take() {
            line.finish_and_clear();
        }
    }
}

/// Everything that one command shows. Clones show it in the same place.
#[derive(Clone, Debug)]
pub struct Progress {
    screen: MultiProgress,
    terminal: bool,
    kernels: Arc<Mutex<Kernels>>,
}

impl Progress {
    /// Nothing is shown yet.
    pub(crate) fn new() -> Progress {
        let terminal = std::io::stderr().is_terminal();
        let kernels = Kernels { schedule: Schedule::new(terminal), line: None, ended: false };
        Progress { screen: MultiProgress::new(), terminal, kernels: Arc::new(Mutex::new(kernels)) }
    }

    /// What a command gives to the device that it opens.
    pub(crate) fn observer(&self) -> KernelObserver {
        let this = self.clone();
        Arc::new(move |progress| this.hear(progress))
    }

    fn hear(&self, progress: &KernelProgress) {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if kernels.ended {
            return;
        }
        if progress.done == progress.total {
            kernels.clear();
        }
        match kernels.schedule.of(progress) {
            Some(text) if self.terminal => {
                let line = kernels.line.get_or_insert_with(|| self.screen.add(line_of_text()));
                line.set_message(text);
            }
            Some(text) => eprintln!("{text}"),
            None => {}
        }
    }

    /// Clears what is shown; from now on nothing is.
    pub(crate) fn end(&self) {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        kernels.ended = true;
        kernels.clear();
    }

    /// A bar of so many things; it shows nothing where the standard error is no terminal.
    pub(crate) fn bar(&self, len: usize, what: &str) -> ProgressBar {
        let style = ProgressStyle::with_template("{bar:32} {pos}/{len} {msg} {eta}");
        let bar = ProgressBar::new(len as u64)
            .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
            .with_message(what.to_owned());
        self.screen.add(bar)
    }

    /// How far the bytes of `what` are: on a terminal a bar, elsewhere a line after 3 seconds and then every 10.
    #[cfg(feature = "hub")]
    pub(crate) fn bytes(&self, what: &str) -> ByteProgress {
        const BAR: &str = "{bar:32} {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec} {eta} {msg}";
        let style = ProgressStyle::with_template(BAR);
        let bar = self.terminal.then(|| {
            let bar = ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            self.screen.add(bar)
        });
        ByteProgress { bar, what: what.to_owned(), begin: None, due: Duration::from_secs(3) }
    }

    /// Does `work` with a bar that hears of a model's tensors: how many are there, of how many.
    pub(crate) fn with_tensors<T>(&self, work: impl FnOnce(&mut dyn FnMut(usize, usize)) -> T) -> T {
        let bar = self.bar(0, "tensors");
        let done = work(&mut |done, all| {
            bar.set_length(all as u64);
            bar.set_position(done as u64);
        });
        bar.finish_and_clear();
        done
    }
}

/// Bytes that come from afar.
#[cfg(feature = "hub")]
pub(crate) struct ByteProgress {
    /// None where the standard error is no terminal.
    bar: Option<ProgressBar>,
    what: String,
    /// When the first bytes were heard of, and how many there were: of these the rate knows nothing.
    begin: Option<(std::time::Instant, u64)>,
    /// Age of the work at the next line.
    due: Duration,
}

#[cfg(feature = "hub")]
impl ByteProgress {
    /// So many bytes of all are there.
    pub(crate) fn reached(&mut self, file: &str, done: u64, of: u64) {
        let is_first = self.begin.is_none();
        let (begin, before) = *self.begin.get_or_insert_with(|| (std::time::Instant::now(), done));
        if let Some(bar) = &self.bar {
            bar.set_length(of);
            bar.set_position(done);
            if is_first {
                bar.reset_eta();
            }
            bar.set_message(file.to_owned());
            return;
        }
        let elapsed = begin.elapsed();
        if elapsed >= self.due && done < of {
            let rate = (done - before) as f64 / elapsed.as_secs_f64();
            self.due = elapsed + Duration::from_secs(10);
            eprintln!("{}", line_of_bytes(&self.what, (done, of), rate));
        }
    }

    /// Another process fetches a file.
    pub(crate) fn waiting(&mut self, file: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(format!("waiting for another process to fetch {file}")),
            None => eprintln!("{}: waiting for another process to fetch {file}", self.what),
        }
    }

    /// Nothing stays of it.
    pub(crate) fn end(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

/// How far it is, how fast, and how long it still takes.
#[cfg(feature = "hub")]
fn line_of_bytes(what: &str, (done, of): (u64, u64), rate: f64) -> String {
    const MIB: f64 = (1 << 20) as f64;
    let [done_mib, of_mib, rate_mib] = [done as f64, of as f64, rate].map(|bytes| bytes / MIB);
    let left = if rate > 0.0 {
        format!("{:.0} s left", (of - done) as f64 / rate)
    } else {
        "no end seen".to_owned()
    };
    format!("{what}: {done_mib:.1} of {of_mib:.1} MiB, {rate_mib:.1} MiB/s, {left}")
}

/// One line that is cut where the terminal ends, so that it can be cleared.
fn line_of_text() -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_msg}");
    ProgressBar::new_spinner().with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(schedule: &mut Schedule, seconds: f64, done: usize) -> Option<String> {
        let elapsed = Duration::from_secs_f64(seconds);
        schedule.of(&KernelProgress::new("llvmpipe", done, 7, "layer_norm.plain", elapsed))
    }

    #[test]
    fn lines_that_stay_are_few() {
        let mut schedule = Schedule::new(false);
        let line = |done: usize| Some(format!("compiling kernels: {done} of 7"));
        let mut at = |seconds, done| at(&mut schedule, seconds, done);
        assert_eq!([at(0.9, 1), at(2.9, 2), at(3.1, 3)], [None, None, line(3)]);
        assert_eq!([at(13.0, 4), at(13.2, 4), at(20.0, 7)], [None, line(4), None]);
        // Work that ends soon is not mentioned, whatever came before.
        assert_eq!([at(2.0, 6), at(2.5, 7), at(3.2, 6)], [None, None, line(6)]);
    }

    #[test]
    fn a_terminals_line_follows() {
        let mut schedule = Schedule::new(true);
        let reported = [0.9, 1.1, 1.2].map(|seconds| at(&mut schedule, seconds, 2).is_some());
        assert_eq!(reported, [false, true, true]);
    }

    #[cfg(feature = "hub")]
    #[test]
    fn bytes_are_told_with_rate_and_time_left() {
        let told = line_of_bytes("a/b", (3 << 20, 9 << 20), (2 << 20) as f64);
        assert_eq!(told, "a/b: 3.0 of 9.0 MiB, 2.0 MiB/s, 3 s left");
        assert!(line_of_bytes("a/b", (0, 9), 0.0).ends_with("no end seen"));
    }

    /// Kernels that were compiled while a text was written put their lines into the middle of it.
    #[test]
    fn nothing_is_shown_once_the_answer_has_begun() {
        let progress = Progress::new();
        let work = |done| KernelProgress::new("llvmpipe", done, 7, "copy.plain", Duration::from_secs(60));
        progress.end();
        (progress.observer())(&work(3));
        let kernels = progress.kernels.lock().expect("whole");
        assert!(kernels.schedule.last.is_none() && kernels.line.is_none());
    }
}
