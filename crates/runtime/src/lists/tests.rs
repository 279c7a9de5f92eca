//! Segments in numbers: a device that moves a byte in a microsecond, costs of all sorts. Nothing is recorded here.

use super::*;
use pumice_plan::{Level, Meaning, StepKind};
use pumice_types::{DimExpr, Precision, ScalarId, Symbol, SymbolId};

/// A device that moves a byte in a microsecond, and where nothing else takes time.
fn target(bound: Duration) -> Target {
    let mut target = Target::h200();
    let tuning = &mut target.tuning;
    (tuning.level_us, tuning.dispatch_us, tuning.bytes_per_us) = (0.0, 0.0, 1.0);
    tuning.f32_flops_per_us = 1.0;
    target.submission_bound = bound;
    target
}

/// Levels of steps that move so many bytes.
fn program(levels: &[&[DimExpr]]) -> Program {
    let mut program = Program::default();
    for level in levels {
        let first = program.steps.len() as u32;
        for bytes in *level {
            program.steps.push(Step {
                kind: StepKind::Copy,
                uses: Vec::new(),
                origin: "step".into(),
                reason: String::new(),
                meaning: Meaning::none(),
                cost: Cost { bytes: bytes.clone(), ..Cost::default() },
                when: pumice_types::When::ALWAYS,
            });
        }
        let steps = first..program.steps.len() as u32;
        program.levels.push(Level { steps, barrier: None, reason: None });
    }
    program
}

fn bytes(n: u64) -> DimExpr {
    n.into()
}

fn lists(program: &Program, bound: Duration) -> Vec<(Range<u32>, Range<u32>)> {
    let (symbols, target) = (SymbolTable::default(), target(bound));
    let by = CutBy { symbols: &symbols, target: &target, wants: &|_| true };
    let all = cut(program, 0..program.levels.len() as u32, &by);
    all.into_iter().map(|l| (l.steps, l.levels)).collect()
}

#[test]
fn a_short_segment_is_one_list() {
    let program = program(&[&[bytes(3), bytes(1)], &[bytes(2)], &[bytes(4)]]);
    assert_eq!(lists(&program, Duration::from_micros(80)), [(0..4, 0..3)]);
}

/// An eighth of 80 us is 10 us: levels of 4, 2 and 5 us.
#[test]
fn levels_stay_whole_where_they_can() {
    let program = program(&[&[bytes(3), bytes(1)], &[bytes(2)], &[bytes(5)]]);
    assert_eq!(lists(&program, Duration::from_micros(80)), [(0..3, 0..2), (3..4, 2..3)]);
}

/// Of a level of 25 us no list has more than 10 us, but where one step alone has; what follows does not join.
#[test]
fn a_level_that_alone_is_too_long_is_cut() {
    let program = program(&[&[bytes(1)], &[bytes(6), bytes(4), bytes(15), bytes(1)], &[bytes(1)]]);
    let cut = [(0..1, 0..1), (1..3, 1..2), (3..4, 1..2), (4..5, 1..2), (5..6, 2..3)];
    assert_eq!(lists(&program, Duration::from_micros(80)), cut);
}

#[test]
fn a_bound_of_zero_makes_every_level_a_list() {
    let program = program(&[&[bytes(3), bytes(1)], &[], &[bytes(2)]]);
    assert_eq!(lists(&program, Duration::ZERO), [(0..2, 0..1), (2..3, 2..3)]);
    let every_step = lists(&program, Duration::from_nanos(1));
    assert_eq!(every_step, [(0..1, 0..1), (1..2, 0..1), (2..3, 2..3)]);
}

/// A plan from a file said that all its steps cost nothing: one list would have held them all.
#[test]
fn no_list_has_more_steps_than_the_limit() {
    let (one, many) = (vec![bytes(0)], vec![bytes(0); 700]);
    let deep: Vec<&[DimExpr]> = vec![&one; 300];
    assert_eq!(lists(&program(&deep), Duration::from_secs(1)), [(0..256, 0..256), (256..300, 256..300)]);
    let wide = lists(&program(&[&many]), Duration::from_secs(1));
    assert_eq!(wide, [(0..256, 0..1), (256..512, 0..1), (512..700, 0..1)]);
}

/// Costs of a file: unbound, negative, overflowing, divided by zero.
#[test]
fn nonsense_is_long_and_stays_a_number() {
    let n = DimExpr::symbol(SymbolId(7));
    let huge = DimExpr::from(u64::MAX) * &n * &n;
    let nonsense = [n.clone(), DimExpr::constant(-3), huge, n.floor_div(&DimExpr::constant(0))];
    let program = program(&[&nonsense, &nonsense]);
    let (symbols, target) = (SymbolTable::default(), target(Duration::from_micros(80)));
    let all = cut(&program, 0..9, &CutBy { symbols: &symbols, target: &target, wants: &|_| true });
    assert_eq!(all.iter().map(|l| l.steps.len()).sum::<usize>(), 8);
    for list in all {
        for us in [list.upper_us, list.predicted_us(&Bindings::new(), &target.tuning)] {
            assert!((PREDICTED_US.0..=PREDICTED_US.1).contains(&us), "{us}");
        }
    }
}

#[test]
fn steps_that_are_not_wanted_are_in_no_list() {
    let program = program(&[&[bytes(1)], &[bytes(1), bytes(1)], &[bytes(1)]]);
    let (symbols, target) = (SymbolTable::default(), target(Duration::from_secs(1)));
    let by = CutBy { symbols: &symbols, target: &target, wants: &|id| id.0 == 2 };
    let all = cut(&program, 0..4, &by);
    assert_eq!(all.iter().map(|l| (l.steps.clone(), l.levels.clone())).collect::<Vec<_>>(), [(2..3, 1..2)]);
}

/// Cut at the upper bound, predicted at the binding; products have the rate of their precision.
#[test]
fn a_prediction_follows_the_binding() {
    let mut symbols = SymbolTable::default();
    let n = symbols.push(Symbol { name: "n".into(), min: 1, max: 100, multiple_of: 1, found: false });
    let at = DimExpr::scalar(ScalarId(0)).min_with(&bytes(50));
    let mut program = program(&[&[DimExpr::symbol(n), bytes(5)], &[at]]);
    program.steps[1].cost = Cost { flops: bytes(30), precision: Precision::F16, ..Cost::default() };
    let mut target = target(Duration::from_millis(2));
    target.tuning.rounded_flops_per_us = Some(3.0);
    let all = cut(&program, 0..2, &CutBy { symbols: &symbols, target: &target, wants: &|_| true });
    let [list] = all.as_slice() else { panic!("one list: {all:?}") };
    // The first level moves 100 bytes while it computes for 10 us, the second moves 50.
    assert!((list.upper_us - 150.0).abs() < 1e-9, "{}", list.upper_us);
    let mut bindings = Bindings::new();
    bindings.bind(n, 20);
    bindings.bind_scalar(ScalarId(0), 7);
    assert!((list.predicted_us(&bindings, &target.tuning) - 27.0).abs() < 1e-9);
    assert!(list.varies_with_scalars());
}
