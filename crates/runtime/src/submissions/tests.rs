//! Calls on a device that lasts as long as a test says. Nothing is submitted here.

use super::*;
use crate::lists::{CutBy, cut};
use pumice_plan::{Cost, Level, Meaning, Program, Step, StepKind};
use pumice_types::{Branch, DimExpr, ScalarId, SymbolTable, When};
use std::time::Duration;

/// Lists of one step each that move so many bytes, on a device that moves a byte in a microsecond.
fn planner(bound_us: u64, steps: &[DimExpr]) -> SubmissionPlanner {
    planner_of(bound_us, steps, &SymbolTable::default(), &When::ALWAYS)
}

fn planner_of(bound_us: u64, steps: &[DimExpr], symbols: &SymbolTable, when: &When) -> SubmissionPlanner {
    let mut target = Target::h200();
    let tuning = &mut target.tuning;
    (tuning.level_us, tuning.dispatch_us, tuning.bytes_per_us) = (0.0, 0.0, 1.0);
    let mut program = Program::default();
    for (i, bytes) in (0..).zip(steps) {
        let cost = Cost { bytes: bytes.clone(), ..Cost::default() };
        let (kind, meaning) = (StepKind::Copy, Meaning::none());
        let (origin, reason) = ("step".into(), String::new());
        program.steps.push(Step {
            kind,
            uses: Vec::new(),
            origin,
            reason,
            meaning,
            cost,
            when: when.clone(),
        });
        program.levels.push(Level { steps: i..i + 1, barrier: None, reason: None });
    }
    // Cut as under no bound, whatever the bound of submissions: one list a level.
    target.submission_bound = Duration::ZERO;
    let levels = 0..steps.len() as u32;
    let lists = cut(&program, levels, &CutBy { symbols, target: &target, wants: &|_| true });
    target.submission_bound = Duration::from_micros(bound_us);
    SubmissionPlanner::new(lists, &target)
}

fn bytes(n: u64) -> DimExpr {
    n.into()
}

/// Runs a call on a device where lists take `us` of what their number is; gives the lists of each submission.
fn run(planner: &mut SubmissionPlanner, replays: u32, us: &dyn Fn(u64) -> f64) -> Vec<u64> {
    let mut submissions = Vec::new();
    let mut call = planner.call(replays, &Bindings::new(), &|_| {});
    while let Some(lists) = call.submission() {
        submissions.push(lists.end - lists.start);
        call.ended(lists.map(us).sum());
    }
    assert!(call.is_last());
    call.teach();
    submissions
}

/// Until it was measured a call begins with one list and doubles; then submissions are as long as the bound.
#[test]
fn a_call_of_what_was_never_measured_begins_small() {
    let mut planner = planner(100, &vec![bytes(10); 16]);
    assert_eq!(run(&mut planner, 1, &|_| 10.0), [1, 2, 4, 8, 1]);
    assert_eq!(run(&mut planner, 2, &|_| 10.0), [10, 10, 10, 2]);
}

/// A device four times slower than predicted: the second submission of what was measured once fits the bound.
#[test]
fn what_was_measured_scales_the_next_prediction() {
    let mut planner = planner(100, &[bytes(10)]);
    // Measured after its first replay: 40 us each.
    assert_eq!(run(&mut planner, 7, &|_| 40.0), [1, 2, 2, 2]);
    assert_eq!(run(&mut planner, 5, &|_| 5.0), [2, 3], "the second goes by what the first took");
    assert_eq!(run(&mut planner, 21, &|_| 5.0), [20, 1]);
}

/// The list that would pass the bound begins the next submission; one that alone passes it is one.
#[test]
fn a_submission_ends_before_the_bound() {
    let mut planner = planner(100, &[bytes(60), bytes(39), bytes(2), bytes(500), bytes(1)]);
    let us = |i: u64| [60.0, 39.0, 2.0, 500.0, 1.0][i as usize % 5];
    run(&mut planner, 1, &us);
    assert_eq!(run(&mut planner, 1, &us), [2, 1, 1, 1]);
}

#[test]
fn a_bound_of_zero_makes_every_list_a_submission() {
    let mut planner = planner(0, &vec![bytes(10); 3]);
    for _ in 0..2 {
        assert!(!planner.is_short(1));
        assert_eq!(run(&mut planner, 2, &|_| 10.0), [1; 6]);
    }
}

/// Replays after a stop do nothing: what they took once made a prediction of the next call.
#[test]
fn a_call_that_stopped_teaches_nothing() {
    let mut planner = planner(100, &[bytes(10)]);
    run(&mut planner, 1, &|_| 10.0);
    let mut call = planner.call(30, &Bindings::new(), &|_| {});
    assert_eq!(call.submission(), Some(0..10));
    call.ended(0.1);
    drop(call);
    assert_eq!(run(&mut planner, 10, &|_| 10.0), [10]);
}

/// Turns behind the end of a loop, branches not taken and few rows are fast; what comes next may not be.
#[test]
fn what_a_run_decides_is_never_taken_for_faster_than_predicted() {
    let mut symbols = SymbolTable::default();
    let rows = symbols.push(symbols.new_found("rows", 10));
    let branch = When::all(vec![Branch { taken: rows.into(), otherwise: false }]);
    let as_long_as_found = planner_of(100, &[rows.into()], &symbols, &When::ALWAYS);
    assert!(as_long_as_found.lists()[0].is_decided);
    let mut planner = planner_of(100, &[bytes(10)], &symbols, &branch);
    // Nothing was done in it; then everything is.
    planner.short_ended(&Bindings::new(), 1, 0.01);
    assert!(planner.is_short(1) && !planner.is_short(2));
    assert_eq!(run(&mut planner, 30, &|_| 0.01), [10, 10, 10]);
    assert_eq!(run(&mut planner, 30, &|_| 20.0), [10, 5, 5, 5, 5]);
    // That it is slower stays known.
    assert_eq!(run(&mut planner, 10, &|_| 20.0), [5, 5]);
}

#[test]
fn short_calls_are_decided_without_a_look_at_costs() {
    let mut planner = planner(800, &[bytes(40), bytes(40)]);
    assert!(!planner.is_short(1), "two lists that were never measured");
    run(&mut planner, 1, &|_| 40.0);
    assert!(planner.is_short(1) && !planner.is_short(2));
    // Slower than the eighth: the next call is cut.
    planner.short_ended(&Bindings::new(), 1, 400.0);
    assert!(!planner.is_short(1));
    assert_eq!(run(&mut planner, 3, &|_| 200.0), [4, 2]);
    // As fast as ever: short again.
    run(&mut planner, 1, &|_| 40.0);
    assert!(planner.is_short(1));
    // A short call that lasted half as long is known to a longer one.
    planner.short_ended(&Bindings::new(), 1, 40.0);
    assert_eq!(run(&mut planner, 40, &|_| 20.0), [40, 40]);
}

/// Costs that grow with a scalar grow from replay to replay.
#[test]
fn costs_follow_scalars_that_advance() {
    let position = ScalarId(0);
    let mut planner = planner(1_000, &[DimExpr::scalar(position).min_with(&bytes(1 << 20))]);
    let mut bindings = Bindings::new();
    bindings.bind_scalar(position, 10);
    let advance = |b: &mut Bindings| {
        let at = b.get(pumice_types::Var::Scalar(position)).unwrap_or(0);
        b.bind_scalar(position, at + 10);
    };
    let mut call = planner.call(64, &bindings, &advance);
    let mut submissions = Vec::new();
    while let Some(lists) = call.submission() {
        // What replay i takes.
        let us: f64 = lists.clone().map(|i| 10.0 * (i + 1) as f64).sum();
        submissions.push((lists.end - lists.start, us));
        call.ended(us);
    }
    assert_eq!(submissions.iter().map(|s| s.0).sum::<u64>(), 64);
    assert!(submissions.iter().all(|s| s.1 <= 2_000.0), "{submissions:?}");
    assert!(submissions[1].0 > 8 && submissions[submissions.len() - 1].0 <= 4, "{submissions:?}");
}

/// Costs and clocks may be anything.
#[test]
fn nonsense_stays_a_number() {
    let unbound = DimExpr::scalar(ScalarId(9));
    let mut planner = planner(100, &[unbound, bytes(u64::MAX), bytes(0)]);
    for us in [f64::NAN, f64::INFINITY, -1.0, 0.0, 10.0] {
        let submissions = run(&mut planner, 3, &|_| us);
        assert_eq!(submissions.iter().sum::<u64>(), 9, "{us}");
        planner.short_ended(&Bindings::new(), u32::MAX, us);
        assert!(!planner.is_short(u32::MAX));
    }
}
