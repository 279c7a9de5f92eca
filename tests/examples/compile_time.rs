//! How compile time grows: `compile_time [--only nodes|steps|layers|symbols|states] [--to N] [--json]`. Prints, for each
//! size, the seconds of building, compiling and checking, and how much longer than half the size it took.

use pumice_tests::growth::{Growth, Taken};
use serde_json::json;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).cloned();
    let (only, json) = (value("--only"), args.iter().any(|a| a == "--json"));
    let to: usize = value("--to").map_or(usize::MAX, |n| n.parse().expect("`--to` takes a number"));
    if !json {
        println!(
            "{:<8} {:>6} {:>8} {:>8} {:>8} {:>8} {:>6}",
            "", "n", "build", "compile", "check", "all", "ratio"
        );
    }
    for growth in Growth::ALL.into_iter().filter(|g| only.as_ref().is_none_or(|o| o == g.name())) {
        let mut last: Option<Taken> = None;
        for n in growth.sizes().into_iter().filter(|n| *n <= to) {
            let taken = growth.measure(n);
            let ratio = last.map(|l| taken.total().as_secs_f64() / l.total().as_secs_f64());
            print(growth, &taken, ratio, json);
            last = Some(taken);
        }
    }
}

fn print(growth: Growth, taken: &Taken, ratio: Option<f64>, json: bool) {
    let [build, compile, check, all] =
        [taken.built, taken.compiled, taken.checked, taken.total()].map(|d| d.as_secs_f64());
    if json {
        let (kind, n, steps) = (growth.name(), taken.n, taken.steps);
        println!(
            "{}",
            json!({"kind": kind, "n": n, "steps": steps, "build": build, "compile": compile, "check": check,
                   "all": all, "ratio": ratio})
        );
    } else {
        let ratio = ratio.map_or(String::new(), |r| format!("{r:.2}"));
        let (kind, n) = (growth.name(), taken.n);
        println!("{kind:<8} {n:>6} {build:>8.3} {compile:>8.3} {check:>8.3} {all:>8.3} {ratio:>6}");
    }
}
