//! Plans are input: a plan that was changed after it was made is refused by the checker, or runs and does no harm.
//!
//! - Words that steer (offsets, strides, counts, grids, steering constants): refused, or the device under guards and
//!   poison gives the same bits. Before the checker followed arguments, one altered word of a deserialized plan gave a
//!   double free, SIGSEGV, or overwritten names, and a grid of 2^31 hung.
//! - Words of value (eps, windows, which of several sums): they may change numbers, and touch no other byte.
//! - A plan as JSON with any number replaced: an error, or no harm. No panic, no crash, no hang.

use pumice_compile::{Options, compile};
use pumice_cpu_ref::{Array, RefEval, Reference};
use pumice_ir::ops::kv_append::AppendMode;
use pumice_ir::{GraphBuilder, f32};
use pumice_plan::check::words::{WordMutation, words};
use pumice_plan::{CheckedPlan, Plan, StepKind};
use pumice_tests::graphs::training::training_cases;
use pumice_tests::op_suite::{Case, Runner, cases};
use pumice_tests::share::Share;
use pumice_types::{Target, Tensor};
use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};

const MOST_ELEMENTS: u64 = 1 << 12;

/// SplitMix64.
fn draw(seed: u64, index: u64) -> u64 {
    let mut z = seed ^ index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Small samples with their plans, every `each`-th of a share of them, and the programs that train.
fn corpus(runner: &Runner, each: usize, share: Share) -> Vec<(Case, Plan)> {
    let small: Vec<Case> =
        cases(None).into_iter().filter(|c| (1..=MOST_ELEMENTS).contains(&c.elements())).collect();
    let training = share.of(training_cases());
    let planned = share.of(small).into_iter().step_by(each).chain(training).filter_map(|case| {
        let plan = runner.plan(case.sample.graph.as_ref().ok()?).ok()?.into_plan();
        Some((case, plan))
    });
    planned.collect()
}

/// A number somewhere in a plan becomes another, or an element of a list goes or comes twice.
fn disturb(value: &mut Value, seed: u64) {
    let mut places = Vec::new();
    walk(value, &mut Vec::new(), &mut places);
    let Some(place) = places.get((draw(seed, 0) % places.len().max(1) as u64) as usize) else { return };
    let Some(target) = place.iter().try_fold(&mut *value, |v, key| match v {
        Value::Object(map) => map.get_mut(key),
        Value::Array(list) => key.parse::<usize>().ok().and_then(|i| list.get_mut(i)),
        _ => None,
    }) else {
        return;
    };
    match target {
        Value::Number(n) => {
            let old = n.as_i64().unwrap_or(0);
            let numbers = [
                0,
                1,
                old.wrapping_add(1),
                old.wrapping_sub(1),
                old.wrapping_mul(2),
                -1,
                1 << 31,
                1 << 30,
                i64::from(u32::MAX),
                i64::MAX,
                i64::MIN,
                255,
                4,
            ];
            *target = Value::from(numbers[(draw(seed, 1) % numbers.len() as u64) as usize]);
        }
        Value::Array(list) if !list.is_empty() => {
            let at = (draw(seed, 1) % list.len() as u64) as usize;
            if draw(seed, 2).is_multiple_of(2) {
                list.remove(at);
            } else {
                list.insert(at, list[at].clone());
            }
        }
        Value::Bool(b) => *b = !*b,
        _ => {}
    }
}

fn walk(value: &Value, path: &mut Vec<String>, places: &mut Vec<Vec<String>>) {
    match value {
        Value::Object(map) => {
            for (key, v) in map {
                path.push(key.clone());
                walk(v, path, places);
                path.pop();
            }
        }
        Value::Array(list) => {
            places.push(path.clone());
            for (i, v) in list.iter().enumerate() {
                path.push(i.to_string());
                walk(v, path, places);
                path.pop();
            }
        }
        Value::Number(_) | Value::Bool(_) => places.push(path.clone()),
        Value::Null | Value::String(_) => {}
    }
}

/// Disturbed plans of the interpreter: read, checked, loaded, run; nothing panics.
fn disturbed(each: usize, times: u64) {
    let runner = Runner::interpreter(MOST_ELEMENTS);
    let (mut unread, mut refused, mut ran, mut failed) = (0, 0, 0, Vec::new());
    for (c, (case, plan)) in corpus(&runner, each, Share::ALL).into_iter().enumerate() {
        let whole = serde_json::to_value(&plan).expect("a plan is data");
        for t in 0..times {
            let seed = (c as u64) << 32 | t;
            let mut value = whole.clone();
            disturb(&mut value, seed);
            let Ok(plan) = serde_json::from_value::<Plan>(value) else {
                unread += 1;
                continue;
            };
            match catch_unwind(AssertUnwindSafe(|| CheckedPlan::new(plan).map(|p| runner.outputs(&case, p))))
            {
                Ok(Err(_)) => refused += 1,
                Ok(Ok(_)) => ran += 1,
                Err(_) => failed.push(format!("{}: seed {seed}: a panic", case.name())),
            }
        }
    }
    println!("{unread} not read, {refused} refused, {ran} accepted");
    assert!(failed.is_empty(), "{} of them:\n{}", failed.len(), failed.join("\n"));
    assert!(refused > 200 && ran > 20, "{refused} {ran}");
}

#[test]
fn disturbed_json_is_refused_or_does_no_harm() {
    disturbed(8, 12);
}

#[test]
#[ignore = "long: tens of thousands of disturbed plans"]
fn much_disturbed_json_is_refused_or_does_no_harm() {
    disturbed(1, 60);
}

/// Exchanges every two words of every call of a plan; the checker refuses each of these plans. How many there were.
fn exchanged_words_are_refused(plan: &Plan) -> usize {
    CheckedPlan::new(plan.clone()).expect("sound");
    let mut tried = 0;
    for step in 0..plan.runs[0].program.steps.len() {
        let StepKind::Dispatch { call, .. } = &plan.runs[0].program.steps[step].kind else { continue };
        let words = call.args.len();
        for (a, b) in (0..words).flat_map(|a| (a + 1..words).map(move |b| (a, b))) {
            let mut mutant = plan.clone();
            let StepKind::Dispatch { call, .. } = &mut mutant.runs[0].program.steps[step].kind else {
                continue;
            };
            if call.args[a] != call.args[b] {
                call.args.swap(a, b);
                tried += 1;
                let what = format!("{}: words {a} and {b} of {step}, {}", plan.target.name, call.kernel);
                assert!(CheckedPlan::new(mutant).is_err(), "{what}");
            }
        }
    }
    tried
}

/// x + w^T of squares: strides of two axes that were exchanged touch the same bytes, so that the checker took the plan
/// and the sum was another.
#[test]
fn exchanged_words_of_a_square_are_refused() {
    let g = GraphBuilder::new("square");
    let (x, w, row) =
        (g.input("x", f32([8u64, 8])), g.input("w", f32([8u64, 8])), g.input("row", f32([8u64])));
    g.output("y", g.add(g.add(x, g.transpose(w, &[1, 0])), row));
    let graph = g.build().unwrap_or_else(|e| panic!("{e}"));
    for target in [Target::lavapipe(), Target::h200()] {
        let plan = compile(&graph, &target, &Options::default(), &RefEval).expect("it compiles");
        assert!(exchanged_words_are_refused(&plan) > 100);
    }
}

/// A batch of as many matrices as each has rows and columns, transposed by tiles: rows of the operand that were
/// exchanged with matrices touch the same bytes.
#[test]
fn exchanged_words_of_a_cube_that_is_transposed_are_refused() {
    let g = GraphBuilder::new("cube");
    let x = g.input("x", f32([64u64, 64, 64]));
    g.output("y", g.transpose(x, &[0, 2, 1]));
    let graph = g.build().unwrap_or_else(|e| panic!("{e}"));
    let plan = compile(&graph, &Target::h200(), &Options::default(), &RefEval).expect("it compiles");
    assert!(pumice_tests::op_suite::kernels(&plan).contains(&"transpose.plain".to_owned()));
    assert!(exchanged_words_are_refused(&plan) > 10);
}

/// A row that is appended in a loop, from an axis of stride 0: more rows of it were the same bytes, so that the checker
/// took a plan that wrote one row into several places.
#[test]
fn no_more_rows_are_appended_than_there_are() {
    let g = GraphBuilder::new("rows");
    let (x, s) = (g.input("x", f32([8u64, 3])), g.cache("s", f32([8u64, 3]), 0));
    let [s] = g.loop_(5u64, [s], |g, i, [s]| {
        let row = g.unsqueeze(g.gather(x, i, 0), &[0]);
        [g.kv_append(s, row, i, 0, AppendMode::Circular)]
    });
    g.output("y", g.state_read(s));
    let graph = g.build().unwrap_or_else(|e| panic!("{e}"));
    for target in [Target::lavapipe(), Target::h200()] {
        let plan = compile(&graph, &target, &Options::default(), &RefEval).expect("it compiles");
        let is_of_rows = |m: &WordMutation| m.kernel(&plan) == "kv_append.plain rows";
        let altered: Vec<WordMutation> = words(&plan).into_iter().filter(is_of_rows).collect();
        let is_taken = |m: &&WordMutation| CheckedPlan::new(m.apply(&plan)).is_ok();
        assert!(!altered.is_empty() && !altered.iter().any(|m| is_taken(&m)), "{}", target.name);
    }
}

mod on_device {
    use super::*;
    use pumice_tests::device;
    use pumice_vulkan::{DeviceOptions, Poison};

    fn runner() -> Runner {
        Runner::new(device::open(&DeviceOptions::default().poison(Some(Poison(0x7fc0_dead)))), MOST_ELEMENTS)
    }

    fn same(a: &[Tensor], b: &[Tensor]) -> bool {
        a.iter().map(Tensor::bytes).eq(b.iter().map(Tensor::bytes))
    }

    /// What is wrong with a mutant's outputs, or with its refusal, beside the right outputs. The text names the kernel
    /// and the word that was altered.
    type Judge = fn(&Case, &str, &[Tensor], &Result<Vec<Tensor>, String>) -> Option<String>;

    /// How outputs differ from the reference by more than the op suite allows.
    fn difference(case: &Case, word: &str, got: &[Tensor]) -> Option<String> {
        let graph = case.sample.graph.as_ref().ok()?;
        let reference = match Reference::new(&case.sample, graph) {
            Ok(reference) => reference,
            Err(e) => return Some(e.to_string()),
        };
        let outputs = graph.outputs().len().max(1);
        got.iter().enumerate().find_map(|(i, t)| {
            let (run, output, got) = (i / outputs, i % outputs, Array::from_tensor(t));
            let differs = reference.difference(run, output, &got)?;
            let want = &reference.run(run)?.outputs[output];
            let other_order = word.ends_with(" lanes") && is_near(want, &got);
            (!other_order).then(|| format!("output {i}: {differs:?}"))
        })
    }

    /// How many threads share a sum is its order. A worse one than the compiler's may leave the op's tolerance: a
    /// statistic of values around 10,000 moved by 9e-6 of itself where one thread added all of them.
    fn is_near(want: &Array, got: &Array) -> bool {
        let (want, got) = (want.to_f64(), got.to_f64());
        let largest = want.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
        want.len() == got.len() && want.iter().zip(&got).all(|(w, g)| (w - g).abs() <= 1e-4 * largest)
    }

    /// Of each plan some mutants of the chosen kind; `judge` sees the outputs of what the checker accepts.
    fn mutants(
        (each, most): (usize, usize),
        wanted: fn(&WordMutation) -> bool,
        judge: Judge,
    ) -> (usize, usize, Vec<String>) {
        let runner = runner();
        let (mut refused, mut accepted, mut wrong) = (0, 0, Vec::new());
        let share = Share::of_environment();
        for (c, (case, plan)) in corpus(&runner, each, share).into_iter().enumerate() {
            let all: Vec<WordMutation> = words(&plan).into_iter().filter(wanted).collect();
            let mut base = None;
            for t in 0..most.min(all.len()) {
                let mutation = &all[(draw(c as u64, t as u64) % all.len() as u64) as usize];
                let Ok(mutant) = CheckedPlan::new(mutation.apply(&plan)) else {
                    refused += 1;
                    continue;
                };
                let base = base.get_or_insert_with(|| {
                    let sound = CheckedPlan::new(plan.clone()).expect("checked before");
                    runner.outputs(&case, sound).unwrap_or_else(|e| panic!("{}: {e}", case.name()))
                });
                accepted += 1;
                let word = mutation.kernel(&plan);
                if let Some(why) = judge(&case, &word, base, &runner.outputs(&case, mutant)) {
                    wrong.push(format!("{}: {word} {mutation}: {why}", case.name()));
                }
            }
        }
        println!("{refused} refused, {accepted} accepted");
        (refused, accepted, wrong)
    }

    fn steering(amount: (usize, usize), least: usize) {
        let judge: Judge = |case, word, base, got| match got {
            Ok(got) if same(base, got) => None,
            Ok(got) => difference(case, word, got),
            // Rules are evaluated again at a binding that the checker did not sample.
            Err(e) if e.contains("the plan is wrong for these extents") => None,
            Err(e) => Some(e.clone()),
        };
        let (refused, accepted, wrong) = mutants(amount, |m| m.steers, judge);
        assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
        assert!(refused + accepted >= Share::of_environment().part_of(least), "{refused} + {accepted}");
    }

    #[test]
    fn words_that_steer_are_refused_or_change_nothing() {
        steering((3, 24), 5_000);
    }

    #[test]
    #[ignore = "long: every sample, two hundred mutants each"]
    fn many_words_that_steer_are_refused_or_change_nothing() {
        steering((1, 200), 100_000);
    }

    /// Guard bands fail a run that touches another byte.
    #[test]
    fn words_of_value_touch_no_other_byte() {
        let judge: Judge = |_, _, base, got| match got {
            Ok(got) => (got.len() != base.len()).then(|| "other outputs".to_owned()),
            Err(e) => Some(e.clone()),
        };
        let (_, accepted, wrong) = mutants((40, 3), |m| !m.steers, judge);
        assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
        assert!(accepted > Share::of_environment().part_of(50), "{accepted}");
    }
}
