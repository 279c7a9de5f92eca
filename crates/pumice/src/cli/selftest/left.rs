//! How far a selftest is: on the standard error, every ten seconds. In: samples as they end. Out: lines with the op
//! in work and the ops that are left. Never here: results.

use crate::cli::words::count;
use std::time::{Duration, Instant};

/// From one line to the next.
const EVERY: Duration = Duration::from_secs(10);
/// Names of ops in one line.
const NAMED: usize = 6;

/// The ops of a selftest, and when something was last said of them.
pub struct Left<'a> {
    ops: &'a [&'static str],
    said: Instant,
}

impl<'a> Left<'a> {
    /// All are left.
    pub fn new(ops: &'a [&'static str]) -> Left<'a> {
        Left { ops, said: Instant::now() }
    }

    /// A sample of this op has ended, and so many of its batch are left. Says so where it is time.
    pub fn tell(&mut self, op: &str, samples: usize) {
        if self.said.elapsed() >= EVERY {
            self.said = Instant::now();
            eprintln!("{}", line(self.ops, op, samples));
        }
    }
}

fn line(ops: &[&str], op: &str, samples: usize) -> String {
    let at = ops.iter().position(|o| *o == op).map_or(ops.len(), |i| i + 1);
    let left = &ops[at..];
    let mut named = left.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    if left.len() > NAMED {
        named.push_str(", ...");
    }
    let colon = if left.is_empty() { "" } else { ": " };
    format!(
        "... {op}, {} of this batch left; then {}{colon}{named}",
        count(samples, "sample"),
        count(left.len(), "op")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ops_that_are_left_are_counted_and_named() {
        let ops = ["add", "sub", "mul", "div", "min", "max", "neg", "exp"];
        assert_eq!(
            line(&ops, "add", 12),
            "... add, 12 samples of this batch left; then 7 ops: sub, mul, div, min, max, neg, ..."
        );
        assert_eq!(line(&ops, "exp", 1), "... exp, 1 sample of this batch left; then 0 ops");
    }
}
