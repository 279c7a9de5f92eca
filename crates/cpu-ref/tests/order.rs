//! Sorts, cumulative sums and products, rows by index, caches: values written out from NumPy and PyTorch.

mod known;

use known::{floats, results, run};
use pumice_cpu_ref::{Array, RefEval};
use pumice_ir::ops::cum_prod::CumProd;
use pumice_ir::ops::cum_sum::CumSum;
use pumice_ir::ops::distances::Metric;
use pumice_ir::ops::kv_append::AppendMode;
use pumice_ir::ops::scatter::ScatterReduction;
use pumice_ir::ops::tensor_scatter::TensorScatter;
use pumice_ir::{ConstEval, GraphBuilder, Value};
use pumice_types::Tensor;

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

fn same(got: &[f64], want: &[f64]) {
    let equal = |a: &f64, b: &f64| a == b || a.is_nan() && b.is_nan();
    assert!(
        got.len() == want.len() && got.iter().zip(want).all(|(a, b)| equal(a, b)),
        "{got:?}, not {want:?}"
    );
}

fn ints(g: &GraphBuilder, values: &[i64], shape: &[u64]) -> Value {
    g.constant(Tensor::new(values, shape).expect("lengths agree"))
}

/// `torch.sort(x, stable=True)`: NaN last, in descending order first; equal ones as they were.
#[test]
fn sorts_are_stable_and_nan_is_largest() {
    let x = [2.0, NAN, -0.0, INF, 0.0, 2.0, -INF, NAN];
    let of = |descending: bool| {
        let both = results(|g| {
            let (values, places) = g.sort(floats(g, &x, &[8]), 0, descending);
            vec![values, places]
        });
        (both[0].to_f64(), both[1].to_f64())
    };
    let (values, places) = of(false);
    same(&values, &[-INF, -0.0, 0.0, 2.0, 2.0, INF, NAN, NAN]);
    same(&places, &[6.0, 2.0, 4.0, 0.0, 5.0, 3.0, 1.0, 7.0]);
    assert!(values[1].is_sign_negative() && values[2].is_sign_positive(), "bits are moved");
    let (values, places) = of(true);
    same(&values, &[NAN, NAN, INF, 2.0, 2.0, -0.0, 0.0, -INF]);
    same(&places, &[1.0, 7.0, 3.0, 0.0, 5.0, 2.0, 4.0, 6.0]);
}

/// `np.argsort(x, axis, kind="stable")` of columns, of integers beyond 2^53 and of unsigned ones.
#[test]
fn places_along_any_axis_and_of_any_integer() {
    let x = [3.0, 1.0, 2.0, 1.0, 3.0, 0.0, 3.0, 1.0, 5.0];
    let (shape, places) = run(|g| g.arg_sort(floats(g, &x, &[3, 3]), 0, false));
    assert_eq!(shape, [3, 3]);
    same(&places, &[1.0, 0.0, 1.0, 0.0, 2.0, 0.0, 2.0, 1.0, 2.0]);
    let big = 1i64 << 60;
    let (_, places) = run(|g| g.arg_sort(ints(g, &[big + 1, i64::MIN, big, i64::MAX], &[4]), -1, true));
    same(&places, &[3.0, 0.0, 2.0, 1.0]);
    let unsigned =
        |g: &GraphBuilder| g.constant(Tensor::new(&[3u64, u64::MAX, 0, 1 << 63], &[4]).expect("four"));
    same(&run(|g| g.arg_sort(unsigned(g), 0, false)).1, &[2.0, 0.0, 3.0, 1.0]);
}

/// The example of ONNX TopK, and equal elements by ascending index for both settings.
#[test]
fn the_largest_and_the_smallest() {
    let x: Vec<f64> = (0..12).map(f64::from).collect();
    let of = |largest: bool| {
        let both = results(|g| {
            let (values, places) = g.top_k(floats(g, &x, &[3, 4]), 3, 1, largest);
            vec![values, places]
        });
        (both[0].to_f64(), both[1].to_f64())
    };
    let (values, places) = of(true);
    same(&values, &[3.0, 2.0, 1.0, 7.0, 6.0, 5.0, 11.0, 10.0, 9.0]);
    same(&places, &[3.0, 2.0, 1.0].repeat(3));
    same(&of(false).0, &[0.0, 1.0, 2.0, 4.0, 5.0, 6.0, 8.0, 9.0, 10.0]);
    for largest in [true, false] {
        let ties = run(|g| g.arg_top_k(floats(g, &[1.0, 1.0, 1.0, 1.0], &[4]), 2, 0, largest));
        same(&ties.1, &[0.0, 1.0]);
    }
    assert_eq!(run(|g| g.arg_top_k(floats(g, &[1.0, 2.0], &[2]), 0, 0, true)).0, [0]);
}

/// The examples of ONNX CumSum: exclusive, reverse, both, and along either axis.
#[test]
fn sums_of_what_comes_before() {
    let x = [1.0, 2.0, 3.0, 4.0, 5.0];
    let of = |exclusive, reverse| {
        run(|g| g.cum_sum(floats(g, &x, &[5]), CumSum { axis: 0, exclusive, reverse })).1
    };
    same(&of(false, false), &[1.0, 3.0, 6.0, 10.0, 15.0]);
    same(&of(true, false), &[0.0, 1.0, 3.0, 6.0, 10.0]);
    same(&of(false, true), &[15.0, 14.0, 12.0, 9.0, 5.0]);
    same(&of(true, true), &[14.0, 12.0, 9.0, 5.0, 0.0]);
    let matrix: Vec<f64> = (1..=6).map(f64::from).collect();
    let along =
        |axis| run(|g| g.cum_sum(floats(g, &matrix, &[2, 3]), CumSum { axis, ..CumSum::default() })).1;
    same(&along(0), &[1.0, 2.0, 3.0, 5.0, 7.0, 9.0]);
    same(&along(-1), &[1.0, 3.0, 6.0, 4.0, 9.0, 15.0]);
    let special = [1.0, INF, 2.0, -INF, NAN, 1.0];
    let got = run(|g| g.cum_sum(floats(g, &special, &[6]), CumSum::default())).1;
    same(&got, &[1.0, INF, INF, NAN, NAN, NAN]);
    let wraps = run(|g| {
        g.cum_sum(g.constant(Tensor::new(&[i32::MAX, 1, 1], &[3]).expect("three")), CumSum::default())
    });
    same(&wraps.1, &[f64::from(i32::MAX), f64::from(i32::MIN), f64::from(i32::MIN + 1)]);
}

#[test]
fn products_of_what_comes_before() {
    let of = |exclusive, reverse| {
        let op = CumProd { axis: 0, exclusive, reverse };
        run(|g| g.cum_prod(floats(g, &[2.0, -3.0, 0.5, 0.0], &[4]), op)).1
    };
    same(&of(false, false), &[2.0, -6.0, -3.0, -0.0]);
    same(&of(true, false), &[1.0, 2.0, -6.0, -3.0]);
    same(&of(true, true), &[-0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn rows_are_added_by_index() {
    let u = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let (shape, y) = run(|g| g.scatter_add(floats(g, &u, &[3, 2]), ints(g, &[2, 0, -2], &[3]), 4));
    assert_eq!(shape, [4, 2]);
    same(&y, &[3.0, 4.0, 0.0, 0.0, 1.0 + 5.0, 2.0 + 6.0, 0.0, 0.0]);
}

/// Many updates of few places, one after the other: the last wins, and every reduction.
#[test]
fn many_updates_of_few_places() {
    let n = 300i64;
    let places: Vec<i64> = (0..n).map(|i| i * 7 % 4).collect();
    let updates: Vec<f64> = (0..n).map(|i| ((i * 13) % 11) as f64 - 5.0).collect();
    for reduction in
        [ScatterReduction::Set, ScatterReduction::Add, ScatterReduction::Max, ScatterReduction::Min]
    {
        let (_, y) = run(|g| {
            let data = floats(g, &[0.5; 5], &[5]);
            let indices = ints(g, &places, &[n as u64, 1]);
            g.scatter_nd(data, indices, floats(g, &updates, &[n as u64]), reduction)
        });
        let mut want = [0.5; 5];
        for (&p, &u) in places.iter().zip(&updates) {
            let at: &mut f64 = &mut want[p as usize];
            *at = match reduction {
                ScatterReduction::Set => u,
                ScatterReduction::Add => *at + u,
                ScatterReduction::Max => at.max(u),
                _ => at.min(u),
            };
        }
        same(&y, &want);
    }
}

/// The examples of ONNX TensorScatter, linear and circular.
#[test]
fn rows_in_a_cache() {
    let cache: Vec<f64> = (0..8).map(f64::from).collect();
    let of = |mode, pos: &[i64], rows: &[f64], shape: &[u64]| {
        run(|g| {
            let pos = ints(g, pos, &[pos.len() as u64]);
            let op = TensorScatter { axis: 1, mode };
            g.tensor_scatter(floats(g, &cache, &[2, 4, 1]), floats(g, rows, shape), Some(pos), op)
        })
        .1
    };
    let linear = of(AppendMode::Linear, &[1, 3], &[10.0, 11.0], &[2, 1, 1]);
    same(&linear, &[0.0, 10.0, 2.0, 3.0, 4.0, 5.0, 6.0, 11.0]);
    let circular = of(AppendMode::Circular, &[3, -1], &[10.0, 11.0, 12.0, 13.0], &[2, 2, 1]);
    same(&circular, &[11.0, 1.0, 2.0, 10.0, 13.0, 5.0, 6.0, 12.0]);
}

/// `scipy.spatial.distance.cdist` of two points of the plane and three.
#[test]
fn distances_of_pairs() {
    let (x, y) = ([0.0, 0.0, 3.0, 4.0], [0.0, 0.0, 3.0, 0.0, -3.0, -4.0]);
    let of = |metric| run(|g| g.pairwise_distance(floats(g, &x, &[2, 2]), floats(g, &y, &[3, 2]), metric)).1;
    same(&of(Metric::SquaredEuclidean), &[0.0, 9.0, 25.0, 25.0, 16.0, 100.0]);
    same(&of(Metric::Euclidean), &[0.0, 3.0, 5.0, 5.0, 4.0, 10.0]);
    same(&of(Metric::Manhattan), &[0.0, 3.0, 7.0, 7.0, 4.0, 14.0]);
    let cosines = of(Metric::Cosine);
    same(&cosines[..4], &[1.0, 1.0, 1.0, 1.0]);
    assert!((cosines[4] - 0.4).abs() < 1e-7 && (cosines[5] - 2.0).abs() < 1e-7, "{cosines:?}");
}

/// The row itself is none of its neighbours, even where all are alike or its distance is not 0.
#[test]
fn neighbours_without_the_row_itself() {
    let d = [9.0, 1.0, 1.0, 1.0, 0.0, 2.0, 1.0, 2.0, NAN];
    let g = GraphBuilder::new("g");
    let (rows, apart) = g.knn_from_pairwise(floats(&g, &d, &[3, 3]), 2);
    g.output("rows", rows);
    g.output("apart", apart);
    let graph = g.build().expect("the graph is right");
    let both: Vec<Array> =
        RefEval.eval(&graph).expect("it has a value").iter().map(Array::from_tensor).collect();
    same(&both[0].to_f64(), &[1.0, 2.0, 0.0, 2.0, 0.0, 1.0]);
    same(&both[1].to_f64(), &[1.0, 1.0, 1.0, 2.0, 1.0, 2.0]);
}
