//! Work on every processor, taken in order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What `take` of [`in_order`] hears of.
pub enum Event<R> {
    /// The result of a number, in the order of the numbers.
    Result(usize, R),
    /// No result came for that long; these numbers are being worked on.
    Silence(Duration, Vec<usize>),
}

/// Gives f of each number below `n` to `take`, in their order, each as soon as it and all before it are there; on as
/// many threads as the machine runs. `take` runs on the caller's thread, and hears as well when nothing ends for
/// `silence`.
pub fn in_order<R: Send>(
    n: usize,
    silence: Duration,
    f: impl Fn(usize) -> R + Sync,
    mut take: impl FnMut(Event<R>),
) {
    let work = Work { next: AtomicUsize::new(0), end: n, running: Mutex::new(BTreeSet::new()) };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(n);
    let (send, results) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (send, work, f) = (send.clone(), &work, &f);
            scope.spawn(move || work.run(f, &send));
        }
        drop(send);
        let (mut waiting, mut at) = (BTreeMap::new(), 0);
        loop {
            match results.recv_timeout(silence) {
                Ok((i, result)) => drop(waiting.insert(i, result)),
                Err(RecvTimeoutError::Timeout) => {
                    take(Event::Silence(silence, work.running().iter().copied().collect()));
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
            while let Some(result) = waiting.remove(&at) {
                take(Event::Result(at, result));
                at += 1;
            }
        }
    });
}

/// Numbers that threads work on.
struct Work {
    next: AtomicUsize,
    end: usize,
    running: Mutex<BTreeSet<usize>>,
}

impl Work {
    fn running(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a thread does: one number after the other, until none is left or nobody takes results.
    fn run<R>(&self, f: impl Fn(usize) -> R, results: &Sender<(usize, R)>) {
        loop {
            let i = self.next.fetch_add(1, Ordering::Relaxed);
            if i >= self.end {
                return;
            }
            self.running().insert(i);
            let result = f(i);
            self.running().remove(&i);
            // The receiver goes last: it takes until every sender is gone.
            if results.send((i, result)).is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_come_in_order() {
        for n in [0, 1, 2, 100] {
            let mut taken = Vec::new();
            let slow_first = |i: usize| {
                std::thread::sleep(std::time::Duration::from_micros(if i == 0 { 2000 } else { 1 }));
                i * i
            };
            in_order(n, Duration::MAX, slow_first, |heard| match heard {
                Event::Result(i, square) => taken.push((i, square)),
                Event::Silence(..) => panic!("something ends all the time"),
            });
            assert_eq!(taken, (0..n).map(|i| (i, i * i)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_takes_long_is_told() {
        let (mut reported, mut taken) = (Vec::new(), 0);
        let slow = |i: usize| std::thread::sleep(Duration::from_millis(if i == 1 { 400 } else { 0 }));
        in_order(3, Duration::from_millis(50), slow, |heard| match heard {
            Event::Result(..) => taken += 1,
            Event::Silence(_, running) => reported.push(running),
        });
        assert!(taken == 3 && reported.contains(&vec![1]), "{taken} {reported:?}");
    }
}
