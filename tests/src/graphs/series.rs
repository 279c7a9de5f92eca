//! Many random programs on one device: how they went, in counts.
//!
//! In: a range of seeds, a [`Rig`], a number of threads. Out: a [`Tally`]. Which seeds are tried deeply follows from
//! the seed alone, so that a failure can be tried again by its seed.

use super::random::{self, Histogram};
use super::trial::{Depth, Rig, Verdict};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How some programs went.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Programs in which nothing is wrong.
    pub passed: u64,
    /// Of these, how many were tried deeply.
    pub deep: u64,
    /// What is wrong, by seed.
    pub failed: BTreeMap<u64, String>,
    /// Of the programs that passed.
    pub verdict: Verdict,
    /// Programs that the time did not suffice for.
    pub left_out: u64,
    /// How long it took.
    pub time: Duration,
}

/// How programs are gone through.
pub struct Series<'a> {
    /// The device.
    pub rig: &'a Rig,
    /// One program of so many is tried deeply.
    pub deep_every: u64,
    /// Programs tried at the same time.
    pub threads: usize,
    /// After so long no further program is begun.
    pub limit: Option<Duration>,
}

impl Series<'_> {
    /// Tries the programs of these seeds; `heard` is called after each with how many are done, its seed, and what is
    /// wrong with it.
    pub fn run(&self, seeds: Range<u64>, heard: impl Fn(u64, u64, Option<&str>) + Sync) -> Tally {
        self.run_by(seeds, heard, |seed, depth| self.rig.try_seed(seed, depth))
    }

    /// Goes through these seeds, each of which `attempt` tries.
    pub fn run_by(
        &self,
        seeds: Range<u64>,
        heard: impl Fn(u64, u64, Option<&str>) + Sync,
        attempt: impl Fn(u64, Depth) -> Result<Verdict, String> + Sync,
    ) -> Tally {
        let (next, late, start) = (AtomicU64::new(seeds.start), AtomicBool::new(false), Instant::now());
        let tally = Mutex::new(Tally::default());
        let work = || {
            while !late.load(Ordering::Relaxed) {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= seeds.end {
                    return;
                }
                let depth = self.depth(seed);
                let outcome = attempt(seed, depth);
                let mut tally = tally.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                tally.add(seed, depth, &outcome);
                heard(tally.done(), seed, outcome.as_ref().err().map(String::as_str));
                if self.limit.is_some_and(|limit| start.elapsed() > limit) {
                    late.store(true, Ordering::Relaxed);
                }
            }
        };
        std::thread::scope(|scope| {
            (0..self.threads.max(1)).for_each(|_| drop(scope.spawn(work)));
        });
        let mut tally = tally.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        tally.left_out = (seeds.end - seeds.start) - tally.done();
        tally.time = start.elapsed();
        tally
    }

    fn depth(&self, seed: u64) -> Depth {
        // The kinds of programs go by the seed modulo 5; the shares of deep ones must not go with them.
        match (seed / 5 + seed).is_multiple_of(self.deep_every.max(1)) {
            true => Depth::Deep,
            false => Depth::Plain,
        }
    }
}

impl Tally {
    fn add(&mut self, seed: u64, depth: Depth, outcome: &Result<Verdict, String>) {
        match outcome {
            Ok(verdict) => {
                self.passed += 1;
                self.deep += u64::from(depth == Depth::Deep);
                self.verdict = self.verdict.with(*verdict);
            }
            Err(why) => drop(self.failed.insert(seed, why.clone())),
        }
    }

    /// Programs tried.
    pub fn done(&self) -> u64 {
        self.passed + self.failed.len() as u64
    }

    /// Panics with what is wrong.
    pub fn assert_clean(&self) {
        println!("{self}");
        let lines: Vec<String> =
            self.failed.iter().map(|(seed, why)| format!("seed {seed}: {why}")).collect();
        assert!(lines.is_empty(), "{} programs failed:\n{}", lines.len(), lines.join("\n"));
        assert!(self.passed > 0, "nothing was tried");
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let v = &self.verdict;
        write!(
            f,
            "{} passed ({} of them with other placement, barriers and passes, replayed and recorded anew), {} failed, \
             {} left out for lack of time; {} outputs, {} of them loose, worst difference {:.2} of what was allowed; \
             {:.1} s",
            self.passed,
            self.deep,
            self.failed.len(),
            self.left_out,
            v.outputs,
            v.loose,
            v.worst,
            self.time.as_secs_f64()
        )
    }
}

/// The histogram of ops over the programs of these seeds.
pub fn histogram(seeds: Range<u64>) -> Histogram {
    let mut histogram = Histogram::default();
    seeds.filter_map(|seed| random::sample(seed).graph.ok()).for_each(|graph| histogram.add(&graph));
    histogram
}
