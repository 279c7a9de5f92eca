//! A9, the second half: ten thousand programs, half of them invalid, are built, compiled and run on the
//! interpreter. Whatever is wrong with them: typed errors, no panic, no plan with faults, bounded memory.

use pumice_compile::Options;
use pumice_ir::{GraphBuilder, f32, sym, tensor};
use pumice_runtime::{Device, RuntimeError};
use pumice_tests::Fixture;
use pumice_tests::graphs::invalid::run::{Outcome, live, live_on};
use pumice_tests::graphs::invalid::{Catalogue, program};
use pumice_types::{DType, DimExpr, TensorView};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Programs of the long test.
const MANY: u64 = 200_000;
/// What the whole process may take, MiB.
const MEMORY: u64 = 1024;
/// The same with a CPU driver: a device keeps the pipelines of every program, about 0.1 MiB for each program (10,000 of
/// them took 1,084 MiB; 300 programs again and again stay at 192 MiB).
const MEMORY_WITH_PIPELINES: u64 = 2048;

/// The most memory this process has held, MiB, where the system says so.
fn most_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib / 1024)
}

/// What a message says, without the names and numbers that differ from program to program.
fn in_short(why: &str) -> String {
    let line = why.lines().find(|l| l.starts_with("  ")).unwrap_or(why.lines().next().unwrap_or_default());
    let words = line.split_once("): ").map_or(line, |(_, what)| what).split_whitespace();
    let plain = words.map(|w| if w.contains(|c: char| c.is_ascii_digit()) { "#" } else { w });
    plain.take(9).collect::<Vec<_>>().join(" ")
}

fn live_through(seeds: u64, limit: Option<Duration>, device: Option<&Arc<dyn Device>>) -> u64 {
    let (catalogue, start) = (Catalogue::new(), Instant::now());
    let (mut outcomes, mut findings) = (BTreeMap::<Outcome, u64>::new(), Vec::new());
    let (mut reasons, mut done) = (BTreeMap::<(Outcome, String), u64>::new(), 0);
    // A panic is caught and reported with its seed; the default message would drown it.
    std::panic::set_hook(Box::new(|_| {}));
    for seed in (0..seeds).take_while(|_| limit.is_none_or(|l| start.elapsed() < l)) {
        done += 1;
        match live_on(&catalogue, seed, device) {
            Ok((outcome, why)) => {
                *outcomes.entry(outcome).or_default() += 1;
                *reasons.entry((outcome, in_short(&why))).or_default() += 1;
            }
            Err(why) => findings.push(format!("seed {seed}: {why}")),
        }
    }
    drop(std::panic::take_hook());
    let memory = most_memory();
    println!("{done} programs in {:.1} s, {memory:?} MiB: {outcomes:?}", start.elapsed().as_secs_f64());
    let mut reasons: Vec<_> =
        reasons.into_iter().filter(|((outcome, _), _)| *outcome != Outcome::Ran).collect();
    reasons.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    reasons.iter().take(24).for_each(|((outcome, why), n)| println!("{n:7} {outcome:?}: {why}"));
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
    let most = if device.is_some() { MEMORY_WITH_PIPELINES } else { MEMORY };
    assert!(memory.is_none_or(|m| m < most), "{memory:?} MiB");
    // A program that never gets anywhere shows nothing.
    for outcome in [Outcome::NotBuilt, Outcome::Ran] {
        assert!(outcomes.get(&outcome).is_some_and(|n| 5 * n > done), "{outcomes:?}");
    }
    done
}

#[test]
fn invalid_programs_are_refused_or_run() {
    let done = live_through(10_000, Some(Duration::from_secs(60)), None);
    assert!(done >= 500, "this machine is too slow for the suite: {done}");
}

#[test]
#[ignore = "long: two hundred thousand invalid programs"]
fn many_invalid_programs_are_refused_or_run() {
    assert_eq!(live_through(MANY, None, None), MANY);
}

/// Values of symbols for which nothing was planned, because a condition excludes them, are refused with that condition.
#[test]
fn values_that_a_condition_excludes_are_refused() {
    let g = GraphBuilder::new("condition");
    let x = g.input("x", f32([sym("n", 1..=2), 3.into()]));
    g.output("y", g.reshape_to(x, vec![DimExpr::constant(3), DimExpr::constant(2)]));
    let options = Options::default().specializations(vec![("n".into(), vec![1])]);
    let exe = Fixture::interpreter().executable(&g.build().expect("sound for n = 2"), &options);
    let mut session = exe.session().expect("a session");
    let data = [1.0f32; 6];
    let refused = session.run(&[("x", TensorView::f32(&data[..3], [1, 3]))]).expect_err("n is 1");
    let RuntimeError::Extents { left, right, equal: true, .. } = &refused else { panic!("{refused}") };
    assert_eq!((left.1, right.1), (3, 6));
    let text = refused.to_string();
    assert!(text.starts_with("reshape: number of elements, at tests/tests/programs.rs:"), "{text}");
    assert!(text.contains(": 3*n = 3 must be equal to 6"), "{text}");
    session.run(&[("x", TensorView::f32(&data, [2, 3]))]).expect("n is 2");
}

/// A norm whose scale says what a symbol must be was once decomposed to nodes of another type.
#[test]
fn a_scale_may_say_what_a_symbol_is() {
    let g = GraphBuilder::new("norm");
    let (x, gamma) = (g.input("x", f32([2.into(), sym("n", 1..=4)])), g.param("gamma", f32([3])));
    g.output("y", g.layer_norm(x, gamma, None, 1e-5));
    let exe = Fixture::interpreter().executable(&g.build().expect("sound"), &Options::default());
    exe.set_param("gamma", &[1.0; 3]).expect("there");
    let mut session = exe.session().expect("a session");
    session.run(&[("x", TensorView::f32(&[0.0; 6], [2, 3]))]).expect("n is 3");
    assert!(session.run(&[("x", TensorView::f32(&[0.0; 4], [2, 2]))]).is_err());
}

/// A value of constants alone but of symbolic extents was once computed when weights are loaded, where no symbol is
/// bound: dropout's mask.
#[test]
fn constants_of_symbolic_extents_are_made_in_the_run() {
    let g = GraphBuilder::new("mask");
    let x = g.input("x", f32([sym("n", 1..=3), 2.into()]));
    g.output("mask", g.dropout(x, 0.5).1);
    let exe = Fixture::interpreter().executable(&g.build().expect("sound"), &Options::default());
    let mut session = exe.session().expect("a session");
    let out = session.run(&[("x", TensorView::f32(&[0.0; 4], [2, 2]))]).expect("runs");
    assert_eq!(out.get("mask").expect("there").shape(), [2, 2]);
}

/// A slice that is empty for the one value of its symbol that has a schedule of its own was once copied from a view of
/// other extents than its result's.
#[test]
fn a_slice_may_be_empty_in_one_specialization() {
    let g = GraphBuilder::new("slice");
    let x = g.input("x", tensor(DType::I8, [2.into(), sym("n", 1..=9)]));
    g.output("y", g.slice(x, &[8], &[0], &[1], &[-3]));
    let options = Options::default().specializations(vec![("n".into(), vec![1])]);
    let exe = Fixture::interpreter().executable(&g.build().expect("sound"), &options);
    let mut session = exe.session().expect("a session");
    for (n, taken) in [(1, 0), (2, 1), (9, 3)] {
        let data = vec![7i8; 2 * n];
        let out = session.run(&[("x", TensorView::i8(&data, [2, n as u64]))]).expect("runs");
        assert_eq!(out.get("y").expect("there").shape(), [2, taken]);
    }
}

/// The program of `SEED`, what the builder says of it, and how far it comes.
#[test]
#[ignore = "long: prints one program, for finding defects"]
fn show() {
    let seed = std::env::var("SEED").expect("SEED").parse().expect("a number");
    let catalogue = Catalogue::new();
    match program(&catalogue, seed) {
        Ok(graph) => println!("{}", pumice_ir::text::print(&graph)),
        Err(errors) => println!("{errors}"),
    }
    println!("{:?}", live(&catalogue, seed));
}

mod on_device {
    use super::*;

    /// The first of them on Vulkan, whatever they give to what steers: no crash, and the same refusals and reports.
    #[test]
    fn invalid_programs_are_refused_or_run() {
        let device = Fixture::vulkan().device;
        let done = live_through(10_000, Some(Duration::from_secs(60)), Some(&device));
        assert!(done >= 40, "this machine is too slow for the suite: {done}");
    }
}
