//! How compile time grows: `compile_time [--only nodes|steps|layers|symbols|equal|states|decoder|minilm] [--to N]
//! [--times N] [--json]`. Prints, for each size, the seconds of building, compiling and checking (the least of
//! `--times` rounds), how much longer than half the size it took, and what the size may take. Ends with 1 where a
//! doubling costs more than [`DOUBLING`], or a size more than its bar.
//!
//! Each measurement has a process of its own, as a program that compiles once has: in one process a heap that other
//! sizes have cut up slows the large ones down. It compiles a small graph of the kind first, so that no size pays for
//! starting.

use indicatif::ProgressBar;
use pumice_tests::growth::{Growth, Taken, fastest};
use serde_json::json;
use std::process::{Command, ExitCode};
use std::time::Duration;

/// What twice the size may take, in times of the size.
const DOUBLING: f64 = 2.2;

/// How often every size is measured: all sizes of all kinds in turns, so that other work on the machine, which comes
/// for seconds, leaves some rounds alone. The longer a measurement, the fewer of its rounds are.
const ROUNDS: usize = 25;
/// What a process is told that takes one measurement: kind and size follow.
const ONCE: &str = "--once";
/// The graph that such a process compiles first is so many times smaller.
const WARM_UP: usize = 16;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).cloned();
    let number = |name: &str| value(name).map(|n| n.parse::<usize>().expect("it takes a number"));
    if let [once, kind, n] = args.as_slice()
        && once == ONCE
    {
        measure_here(kind, n.parse().expect("a size"));
        return ExitCode::SUCCESS;
    }
    let (only, json) = (value("--only"), args.iter().any(|a| a == "--json"));
    let (to, times) = (number("--to").unwrap_or(usize::MAX), number("--times").unwrap_or(ROUNDS));
    let kinds = Growth::ALL.into_iter().filter(|g| only.as_ref().is_none_or(|o| o == g.name()));
    let sizes = |growth: Growth| growth.sizes().iter().filter(|n| **n <= to).map(move |&n| (growth, n));
    let graphs: Vec<(Growth, usize)> = kinds.flat_map(sizes).collect();
    let taken = measure_all(&graphs, times);
    if !json {
        println!(
            "{:<8} {:>6} {:>8} {:>8} {:>8} {:>8} {:>6} {:>6}",
            "", "n", "build", "compile", "check", "all", "ratio", "bar"
        );
    }
    let mut missed = 0;
    for (&(growth, n), &one) in graphs.iter().zip(&taken) {
        let half = graphs.iter().position(|&(other, m)| other == growth && 2 * m == n);
        let ratio = half.map(|half| one.total().as_secs_f64() / taken[half].total().as_secs_f64());
        let line = Line { growth, ratio, taken: one };
        if json {
            line.print_json()
        } else {
            line.print()
        }
        missed += usize::from(line.misses());
    }
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The least that each graph took. On a terminal a bar shows how far it is.
fn measure_all(graphs: &[(Growth, usize)], times: usize) -> Vec<Taken> {
    let bar = ProgressBar::new((graphs.len() * times.max(1)) as u64);
    let taken = fastest(graphs, times, |(growth, n)| {
        bar.inc(1);
        measure(growth, n)
    });
    bar.finish_and_clear();
    taken
}

/// Takes one measurement and prints it: nanoseconds of building, compiling and checking, and the steps.
fn measure_here(kind: &str, n: usize) {
    let growth = Growth::ALL.into_iter().find(|g| g.name() == kind).expect("a kind");
    growth.measure((n / WARM_UP).max(1));
    let Taken { built, compiled, checked, steps, .. } = growth.measure(n);
    println!("{} {} {} {steps}", built.as_nanos(), compiled.as_nanos(), checked.as_nanos());
}

/// One measurement in a process of its own.
fn measure(growth: Growth, n: usize) -> Taken {
    let program = std::env::current_exe().expect("the path of this program");
    let size = n.to_string();
    let output = Command::new(program).args([ONCE, growth.name(), &size]).output().expect("it starts again");
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [built, compiled, checked, steps] = numbers[..] else {
        panic!("{} {n}: {text}{}", growth.name(), String::from_utf8_lossy(&output.stderr))
    };
    let [built, compiled, checked] = [built, compiled, checked].map(Duration::from_nanos);
    Taken { n, built, compiled, checked, steps: steps as usize }
}

struct Line {
    growth: Growth,
    taken: Taken,
    /// Time as a multiple of half the size's.
    ratio: Option<f64>,
}

impl Line {
    fn bar(&self) -> Option<Duration> {
        self.growth.bar(self.taken.n)
    }

    fn misses(&self) -> bool {
        self.ratio.is_some_and(|r| r > DOUBLING) || self.bar().is_some_and(|bar| self.taken.total() > bar)
    }

    fn seconds(&self) -> [f64; 4] {
        let Taken { built, compiled, checked, .. } = self.taken;
        [built, compiled, checked, self.taken.total()].map(|d| d.as_secs_f64())
    }

    fn print(&self) {
        let [build, compile, check, all] = self.seconds();
        let (kind, n) = (self.growth.name(), self.taken.n);
        let ratio = self.ratio.map_or(String::new(), |r| format!("{r:.2}"));
        let bar = self.bar().map_or(String::new(), |b| format!("{:.2}", b.as_secs_f64()));
        let mark = if self.misses() { "  missed" } else { "" };
        println!(
            "{kind:<8} {n:>6} {build:>8.3} {compile:>8.3} {check:>8.3} {all:>8.3} {ratio:>6} {bar:>6}{mark}"
        );
    }

    fn print_json(&self) {
        let [build, compile, check, all] = self.seconds();
        let (kind, Taken { n, steps, .. }) = (self.growth.name(), self.taken);
        let bar = self.bar().map(|b| b.as_secs_f64());
        println!(
            "{}",
            json!({"kind": kind, "n": n, "steps": steps, "build": build, "compile": compile, "check": check,
                   "all": all, "ratio": self.ratio, "bar": bar, "missed": self.misses()})
        );
    }
}
