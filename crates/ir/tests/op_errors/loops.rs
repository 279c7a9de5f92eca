//! What loops that collect refuse.

use super::mistake;
use pumice_ir::ops::random_normal::RandomNormal;
use pumice_ir::ops::scan::{Scan, ScanAxis};
use pumice_ir::{GraphBuilder, OpError, Value, f32, i32, sym};
use pumice_types::{DType, DimExpr};

/// A scan over inputs of these extents, which adds their slices.
fn over(g: &GraphBuilder, extents: &[u64], op: Scan) -> Value {
    let named = |(k, &n): (usize, &u64)| g.input(&format!("x{k}"), f32([n, 4]));
    let inputs: Vec<Value> = extents.iter().enumerate().map(named).collect();
    let body = |g: &GraphBuilder, carried: &[Value], slices: &[Value]| {
        let sum = slices.iter().fold(carried[0], |sum, &x| g.add(sum, x));
        (vec![sum], vec![sum])
    };
    g.scan_values(&[g.input("h", f32([4]))], &inputs, body, op).1[0]
}

fn axes(list: &[i64]) -> Vec<ScanAxis> {
    list.iter().map(|&axis| ScanAxis::forward(axis)).collect()
}

/// A loop of so many turns over four numbers.
fn turns(g: &GraphBuilder, n: u64, body: impl Fn(&GraphBuilder, Value) -> (Vec<Value>, Vec<Value>)) -> Value {
    g.loop_collecting_values(n, &[g.input("h", f32([4]))], |g, _, c| body(g, c[0])).0[0]
}

/// A condition that is another in every turn.
fn is_below_a_draw(g: &GraphBuilder, [x]: [Value; 1]) -> Value {
    g.less(x, g.random_normal_like(x, None, RandomNormal::default()))
}

/// Places are those of the carried values, and the method is the caller's.
#[test]
fn mistakes_name_the_place_and_the_method() {
    let told = |build: &dyn Fn(&GraphBuilder, Value)| {
        let g = GraphBuilder::new("wrong");
        build(&g, g.input("x", f32([4])));
        g.build().expect_err("the graph is wrong").to_string()
    };
    let below =
        |g: &GraphBuilder, x: Value| g.less(g.reduce_max(x, &[0], false), g.constant_scalar(DType::F32, 9.0));
    let cast = |g: &GraphBuilder, x: Value| [x, g.cast(x, DType::I32)];
    let while_ = told(&|g, x| _ = g.while_(9, [x, x], |g, [x, _]| below(g, x), |g, [x, _]| cast(g, x)));
    let none = told(&|g, x| {
        _ = g.while_collecting(0, [x, x], |g, [x, _]| below(g, x), |g, [x, _]| (cast(g, x), [x]));
    });
    let collecting = told(&|g, x| {
        _ = g.while_collecting(9, [x, x], |g, [x, _]| below(g, x), |g, [x, _]| (cast(g, x), [x]));
    });
    for (told, method) in [(while_, "while"), (none, "while_collecting"), (collecting, "while_collecting")] {
        assert!(told.contains("what a turn leaves in place 1 and what it begins with"), "{told}");
        assert!(told.contains(&format!("\n  {method}")), "{told}");
    }
}

refuses! {
    scans_of_unlike_extents: |g| over(g, &[5, 6], Scan::default()) => OpError::ExtentMismatch { .. },
    scans_of_another_length: |g| over(g, &[5], Scan { length: Some(6.into()), ..Scan::default() }) => OpError::ExtentMismatch { .. },
    scans_of_a_negative_length: |g| over(g, &[], Scan { length: Some(DimExpr::constant(-1)), ..Scan::default() })
        => OpError::ExtentExceeds { .. },
    scans_of_nothing: |g| over(g, &[], Scan::default()) => OpError::Invalid(_),
    scans_along_no_axis: |g| over(g, &[5], Scan { inputs: axes(&[2]), ..Scan::default() }) => OpError::AxisOutOfRange { axis: 2, rank: 2 },
    scans_along_too_many_axes: |g| over(g, &[5], Scan { inputs: axes(&[0, 0]), ..Scan::default() }) => OpError::Invalid(_),
    scans_into_no_axis: |g| over(g, &[5], Scan { outputs: axes(&[-3]), ..Scan::default() }) => OpError::AxisOutOfRange { axis: -3, rank: 2 },
    long_scans_into_no_axis: |g| over(g, &[50], Scan { outputs: axes(&[2]), ..Scan::default() }) => OpError::AxisOutOfRange { axis: 2, rank: 2 },
    scans_into_too_many_axes: |g| over(g, &[0], Scan { outputs: axes(&[0, 0]), ..Scan::default() }) => OpError::Invalid(_),
    short_loops_that_leave_another_type: |g| turns(g, 3, |g, x| (vec![g.cast(x, DType::I32)], vec![])) => OpError::ExtentMismatch { .. },
    long_loops_that_leave_another_type: |g| turns(g, 30, |g, x| (vec![g.cast(x, DType::I32)], vec![])) => OpError::ExtentMismatch { .. },
    no_turn_that_leaves_another_type: |g| turns(g, 0, |g, x| (vec![g.cast(x, DType::I32)], vec![])) => OpError::ExtentMismatch { .. },
    short_loops_that_leave_more: |g| turns(g, 3, |_, x| (vec![x, x], vec![])) => OpError::Invalid(_),
    long_loops_that_leave_less: |g| turns(g, 30, |_, _| (vec![], vec![])) => OpError::Invalid(_),
    no_turn_that_writes_a_state: |g| {
        let s = g.state("s", f32([4]));
        turns(g, 0, |g, x| { g.state_write(s, x); (vec![x], vec![]) })
    } => OpError::Invalid(_),
    rows_of_unlike_extents: |g| turns(g, 30, |g, x| {
        let some = g.compress(x, g.greater(x, g.constant_scalar(DType::F32, 0.0)), None);
        (vec![x], vec![some])
    }) => OpError::Invalid(_),
    whiles_that_leave_less: |g| {
        let (x, limit) = (g.input("x", i32::<u64>([])), g.input("limit", i32::<u64>([])));
        g.while_values(9, &[x], |g, c| g.less(c[0], limit), |_, _| vec![])[0]
    } => OpError::Invalid(_),
    turns_that_draw: |g| turns(g, 30, |g, x| {
        (vec![g.add(x, g.random_normal_like(x, None, RandomNormal::default()))], vec![])
    }) => OpError::Invalid(_),
    whiles_that_draw: |g| {
        let limit = g.input("limit", f32::<u64>([]));
        let body = |g: &GraphBuilder, [x]: [Value; 1]| [g.random_normal_like(x, None, RandomNormal::default())];
        g.while_(9, [g.input("x", f32::<u64>([]))], |g, [x]| g.less(x, limit), body)[0]
    } => OpError::Invalid(_),
    collecting_whiles_that_draw: |g| {
        let limit = g.input("limit", f32::<u64>([]));
        let draw = |g: &GraphBuilder, x| g.random_normal_like(x, None, RandomNormal::default());
        let body = |g: &GraphBuilder, [x]: [Value; 1]| ([draw(g, x)], [x]);
        g.while_collecting(9, [g.input("x", f32::<u64>([]))], |g, [x]| g.less(x, limit), body).1[0]
    } => OpError::Invalid(_),
    whiles_whose_condition_draws: |g| {
        let next = |_: &GraphBuilder, [x]: [Value; 1]| [x];
        g.while_(9, [g.input("x", f32::<u64>([]))], is_below_a_draw, next)[0]
    } => OpError::Invalid(_),
    collecting_whiles_whose_condition_draws: |g| {
        let body = |_: &GraphBuilder, [x]: [Value; 1]| ([x], [x]);
        g.while_collecting(9, [g.input("x", f32::<u64>([]))], is_below_a_draw, body).1[0]
    } => OpError::Invalid(_),
    more_turns_than_are_recorded: |g| {
        let x = g.input("x", f32([sym("n", 0..=1 << 30)]));
        g.loop_(g.dim_of(x, 0), [x], |g, _, [x]| [g.sin(x)])[0]
    } => OpError::Invalid(_),
    states_of_which_turns_leave_no_version: |g| {
        let s = g.state("s", f32([4]));
        g.loop_(1u64, [s], |g, _, [s]| [g.neg(g.state_read(s))])[0]
    } => OpError::Invalid(_),
    whiles_that_leave_more: |g| {
        let (x, limit) = (g.input("x", i32::<u64>([])), g.input("limit", i32::<u64>([])));
        g.while_values(9, &[x], |g, c| g.less(c[0], limit), |_, c| vec![c[0], c[0]])[0]
    } => OpError::Invalid(_),
    collecting_whiles_that_leave_another_type: |g| {
        let (x, limit) = (g.input("x", i32([sym("n", 1..=4)])), g.input("limit", i32::<u64>([])));
        let less = |g: &GraphBuilder, [x]: [Value; 1]| g.less(g.reduce_max(x, &[0], false), limit);
        g.while_collecting(9, [x], less, |g, [x]| ([g.concat(&[x, x], 0)], [x])).1[0]
    } => OpError::ExtentMismatch { .. },
    whiles_over_a_number: |g| g.while_(9, [g.input("n", i32::<u64>([]))], |_, [n]| n, |_, [n]| [n])[0] => OpError::DType { .. },
    whiles_over_several_conditions: |g| {
        let x = g.input("x", i32([3]));
        g.while_(9, [x], |g, [x]| g.less(x, x), |_, [x]| [x])[0]
    } => OpError::ExtentMismatch { .. },
    collecting_whiles_over_a_number: |g| {
        let n = g.input("n", f32::<u64>([]));
        g.while_collecting(9, [n], |_, [n]| n, |_, [n]| ([n], [n])).1[0]
    } => OpError::DType { .. },
}
