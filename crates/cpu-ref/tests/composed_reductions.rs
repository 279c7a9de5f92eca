//! Reductions that are compositions: values written out or computed here in f64, and what they make of empty sets, NaN,
//! infinities, rank 0 and 16-bit floats.

mod known;

use known::{floats, run};
use pumice_ir::{GraphBuilder, Value};
use pumice_types::{DType, Tensor};

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

/// Over all axes of a row.
fn row(x: &[f64], op: impl FnOnce(&GraphBuilder, Value, &[i64], bool) -> Value) -> f64 {
    let (shape, y) = run(|g| op(g, floats(g, x, &[x.len() as u64]), &[], false));
    assert_eq!(shape, [0u64; 0]);
    y[0]
}

#[track_caller]
fn close(got: f64, want: f64) {
    let near =
        got == want || got.is_nan() && want.is_nan() || (got - want).abs() <= 1e-6 * want.abs().max(1e-3);
    assert!(near, "got {got}, want {want}");
}

/// A reduction by its method and by its formula in f64.
struct Case {
    name: &'static str,
    method: fn(&GraphBuilder, Value, &[i64], bool) -> Value,
    formula: fn(&[f64]) -> f64,
}

fn variance(x: &[f64], correction: f64) -> f64 {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - correction).max(0.0)
}

const CASES: [Case; 9] = [
    Case { name: "l1", method: GraphBuilder::reduce_l1, formula: |x| x.iter().fold(0.0, |s, v| s + v.abs()) },
    Case {
        name: "l2",
        method: GraphBuilder::reduce_l2,
        formula: |x| x.iter().fold(0.0, |s, v| s + v * v).sqrt(),
    },
    Case {
        name: "sum_square",
        method: GraphBuilder::reduce_sum_square,
        formula: |x| x.iter().fold(0.0, |s, v| s + v * v),
    },
    Case {
        name: "log_sum",
        method: GraphBuilder::reduce_log_sum,
        formula: |x| x.iter().fold(0.0, |s, v| s + v).ln(),
    },
    Case {
        name: "log_sum_exp",
        method: GraphBuilder::reduce_log_sum_exp,
        formula: |x| x.iter().fold(0.0, |s, v| s + v.exp()).ln(),
    },
    Case { name: "var 0", method: |g, x, a, k| g.variance(x, a, 0, k), formula: |x| variance(x, 0.0) },
    Case { name: "var 1", method: |g, x, a, k| g.variance(x, a, 1, k), formula: |x| variance(x, 1.0) },
    Case { name: "std 0", method: |g, x, a, k| g.std_dev(x, a, 0, k), formula: |x| variance(x, 0.0).sqrt() },
    Case { name: "std 1", method: |g, x, a, k| g.std_dev(x, a, 1, k), formula: |x| variance(x, 1.0).sqrt() },
];

#[test]
fn rows_are_what_the_formula_says() {
    let rows: [&[f64]; 8] = [
        &[3.0, -4.0],
        &[1.0, 2.0, 3.0, 4.0, 5.5],
        &[-2.5],
        &[],
        &[0.0, 0.0, -0.0],
        &[NAN, 1.0],
        &[1.0, 2.0, NAN],
        &[1e-3, -1e-3, 0.25, 7.0, -6.0, 0.5, 2.0, 3.0, 100.0],
    ];
    for Case { name, method, formula } in CASES {
        for x in rows {
            println!("{name} of {x:?}");
            close(row(x, method), formula(x));
        }
    }
}

#[test]
fn any_axes_stay_or_go() {
    let x: Vec<f64> = (0..24).map(|i| f64::from(i * 7 % 11) * 0.5 + 0.25).collect();
    for Case { method, formula, .. } in CASES {
        let over = |axes: &[i64], keep| run(|g| method(g, floats(g, &x, &[2, 3, 4]), axes, keep));
        let (shape, y) = over(&[0, -1], false);
        assert_eq!(shape, [3]);
        for (j, got) in y.into_iter().enumerate() {
            let part: Vec<f64> = (0..24).filter(|i| i / 4 % 3 == j).map(|i| x[i]).collect();
            close(got, formula(&part));
        }
        assert_eq!(over(&[1], true).0, [2, 1, 4]);
        assert_eq!(over(&[], true).0, [1, 1, 1]);
        let (shape, y) = over(&[], false);
        assert_eq!(shape, [0u64; 0]);
        close(y[0], formula(&x));
        let (shape, y) = run(|g| method(g, floats(g, &[0.5], &[]), &[], false));
        assert_eq!(shape, [0u64; 0]);
        close(y[0], formula(&[0.5]));
        assert_eq!(run(|g| method(g, floats(g, &[], &[0, 4]), &[1], false)).0, [0]);
    }
}

#[test]
fn exponentials_are_summed_from_the_largest() {
    let of = |x: &[f64]| row(x, GraphBuilder::reduce_log_sum_exp);
    close(of(&[1000.0, 1000.0]), 1000.0 + 2f64.ln());
    close(of(&[-1000.0, -1000.0, -1000.0]), -1000.0 + 3f64.ln());
    close(of(&[-INF, -INF]), -INF);
    close(of(&[-INF, 2.0]), 2.0);
    close(of(&[INF, 2.0, -INF]), INF);
    close(of(&[INF, INF]), INF);
    close(of(&[NAN, INF]), NAN);
    close(of(&[-INF, NAN]), NAN);
    close(of(&[]), -INF);
    close(of(&[f64::from(f32::MAX), -f64::from(f32::MAX)]), f64::from(f32::MAX));
}

#[test]
fn infinities_and_the_end_of_the_range() {
    close(row(&[-INF, 1.0], GraphBuilder::reduce_l1), INF);
    close(row(&[-INF, 1.0], GraphBuilder::reduce_l2), INF);
    close(row(&[1e20, 1e20], GraphBuilder::reduce_l2), INF);
    close(row(&[1e20], GraphBuilder::reduce_sum_square), INF);
    close(row(&[INF, -INF], GraphBuilder::reduce_log_sum), NAN);
    close(row(&[-1.0], GraphBuilder::reduce_log_sum), NAN);
    close(row(&[INF, 1.0], |g, x, a, k| g.variance(x, a, 0, k)), NAN);
    // Large equal parts do not cancel: 2^16 beside steps of 1/8.
    let far: Vec<f64> = (0..8).map(|i| 65_536.0 + f64::from(i) * 0.125).collect();
    close(row(&far, |g, x, a, k| g.variance(x, a, 1, k)), variance(&far, 1.0));
}

#[test]
fn integers_and_booleans() {
    let ints = |g: &GraphBuilder, v: &[i8]| g.constant(Tensor::new(v, &[v.len() as u64]).expect("fits"));
    assert_eq!(run(|g| g.reduce_l1(ints(g, &[-3, 4, -5]), &[], false)).1, [12.0]);
    assert_eq!(run(|g| g.reduce_sum_square(ints(g, &[-3, 4, -5]), &[], false)).1, [50.0]);
    // 100 + 100 in eight bits.
    assert_eq!(run(|g| g.reduce_l1(ints(g, &[100, -100]), &[], false)).1, [-56.0]);
    assert_eq!(run(|g| g.reduce_sum_square(ints(g, &[16, 1]), &[], false)).1, [1.0]);
    let of = |v: &[bool], shape: &[u64], axes: &[i64], all: bool| {
        run(|g| {
            let x = g.constant(Tensor::bools(v, shape).expect("fits"));
            if all { g.reduce_all(x, axes, false) } else { g.reduce_any(x, axes, false) }
        })
        .1
    };
    let v = [true, false, false, false, true, true];
    assert_eq!(of(&v, &[2, 3], &[1], false), [1.0, 1.0]);
    assert_eq!(of(&v, &[2, 3], &[0], true), [0.0, 0.0, 0.0]);
    assert_eq!(of(&v, &[3, 2], &[1], true), [0.0, 0.0, 1.0]);
    assert_eq!(of(&v, &[3, 2], &[1], false), [1.0, 0.0, 1.0]);
    assert_eq!((of(&[], &[0], &[], false), of(&[], &[0], &[], true)), (vec![0.0], vec![1.0]));
}

/// 1000 terms of 1/16: sums of squares stay below the step of f16 at 1, and are rounded once.
#[test]
fn narrow_floats_are_summed_wide() {
    let sixteenths = [0.0625; 1000];
    for dtype in [DType::F16, DType::BF16] {
        let of = |op: fn(&GraphBuilder, Value, &[i64], bool) -> Value| {
            run(|g| {
                let x = g.cast(floats(g, &sixteenths, &[1000]), dtype);
                let y = op(g, x, &[], false);
                assert_eq!(g.type_of(y).expect("no mistake").dtype(), dtype);
                y
            })
            .1[0]
        };
        assert_eq!(of(GraphBuilder::reduce_l1), 62.5);
        assert_eq!(of(GraphBuilder::reduce_sum_square), 3.90625);
        assert_eq!(of(|g, x, a, k| g.variance(x, a, 1, k)), 0.0);
        let log = of(GraphBuilder::reduce_log_sum_exp);
        assert!((log - (0.0625 + 1000f64.ln())).abs() < 0.02, "{log}");
    }
}
