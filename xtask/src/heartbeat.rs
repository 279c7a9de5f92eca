//! A sign of life for work that says nothing itself. In: what is being done. Out: a line every few seconds, where the
//! standard error is no terminal (there, progress bars tell). Never here: the work.

use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Less than the ten seconds after which people wonder.
const EVERY: Duration = Duration::from_secs(8);

/// Prints until it is dropped.
pub struct Heartbeat(Option<(Sender<()>, JoinHandle<()>)>);

impl Heartbeat {
    /// Begins to print `what` and the seconds since now.
    pub fn start(what: &str) -> Heartbeat {
        if std::io::stderr().is_terminal() {
            return Heartbeat(None);
        }
        Heartbeat::beating(EVERY, what.to_owned(), |line| eprintln!("{line}"))
    }

    fn beating(every: Duration, what: String, say: impl Fn(&str) + Send + 'static) -> Heartbeat {
        let (stop, stopped) = mpsc::channel();
        let start = Instant::now();
        let beats = std::thread::spawn(move || {
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                say(&format!("... {what}, {:.0} s", start.elapsed().as_secs_f64()));
            }
        });
        Heartbeat(Some((stop, beats)))
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        if let Some((stop, beats)) = self.0.take() {
            drop(stop);
            // A thread that only prints has nothing to tell.
            let _ = beats.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_beats_and_ends() {
        let (said, heard) = mpsc::channel();
        let beats = Heartbeat::beating(Duration::from_millis(5), "waiting".to_owned(), move |line| {
            // Nobody listens after the first line.
            let _ = said.send(line.to_owned());
        });
        assert_eq!(heard.recv().as_deref(), Ok("... waiting, 0 s"));
        drop(beats);
        assert!(heard.iter().count() < 1000, "it has ended");
    }
}
