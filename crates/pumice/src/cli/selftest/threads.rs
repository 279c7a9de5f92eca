//! Work on every processor, taken in order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// Gives f of each number below `n` to `take`, in their order, each as soon as it and all before it are there; on as many
/// threads as the machine runs. `take` runs on the caller's thread.
pub fn in_order<R: Send>(n: usize, f: impl Fn(usize) -> R + Sync, mut take: impl FnMut(usize, R)) {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(n);
    let (send, results) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (send, next, f) = (send.clone(), &next, &f);
            scope.spawn(move || {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    // The receiver goes last: it takes until every sender is gone.
                    if i >= n || send.send((i, f(i))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        let (mut waiting, mut at) = (BTreeMap::new(), 0);
        for (i, result) in results {
            waiting.insert(i, result);
            while let Some(result) = waiting.remove(&at) {
                take(at, result);
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
            in_order(n, slow_first, |i, square| taken.push((i, square)));
            assert_eq!(taken, (0..n).map(|i| (i, i * i)).collect::<Vec<_>>());
        }
    }
}
