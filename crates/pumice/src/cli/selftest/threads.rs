//! Work on every processor, taken in order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What `take` and `stuck` hear of.
pub enum Heard<R> {
    /// The result of a number, in the order of the numbers.
    Result(usize, R),
    /// No result came for that long; these numbers are being worked on.
    Silence(Duration, Vec<usize>),
}

/// Gives f of each number below `n` to `take`, in their order, each as soon as it and all before it are there; on as
/// many threads as the machine runs. `take` runs on the caller's thread, and hears as well when nothing ends for
/// `patience`.
pub fn in_order<R: Send>(
    n: usize,
    patience: Duration,
    f: impl Fn(usize) -> R + Sync,
    mut take: impl FnMut(Heard<R>),
) {
    let (next, running) = (AtomicUsize::new(0), Mutex::new(BTreeSet::new()));
    let held = || running.lock().unwrap_or_else(PoisonError::into_inner);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(n);
    let (send, results) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (send, next, f) = (send.clone(), &next, &f);
            scope.spawn(move || {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= n {
                        return;
                    }
                    held().insert(i);
                    let result = f(i);
                    held().remove(&i);
                    // The receiver goes last: it takes until every sender is gone.
                    if send.send((i, result)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        let (mut waiting, mut at) = (BTreeMap::new(), 0);
        loop {
            match results.recv_timeout(patience) {
                Ok((i, result)) => drop(waiting.insert(i, result)),
                Err(RecvTimeoutError::Timeout) => {
                    take(Heard::Silence(patience, held().iter().copied().collect()));
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
            while let Some(result) = waiting.remove(&at) {
                take(Heard::Result(at, result));
                at += 1;
            }
        }
    });
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
                Heard::Result(i, square) => taken.push((i, square)),
                Heard::Silence(..) => panic!("something ends all the time"),
            });
            assert_eq!(taken, (0..n).map(|i| (i, i * i)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_takes_long_is_told() {
        let (mut told, mut taken) = (Vec::new(), 0);
        let slow = |i: usize| std::thread::sleep(Duration::from_millis(if i == 1 { 400 } else { 0 }));
        in_order(3, Duration::from_millis(50), slow, |heard| match heard {
            Heard::Result(..) => taken += 1,
            Heard::Silence(_, running) => told.push(running),
        });
        assert!(taken == 3 && told.contains(&vec![1]), "{taken} {told:?}");
    }
}
