//! Sorts, the nearest rows, distances of rows, rows added by index.

use super::{FLOATS, all_near, all_pass};
use pumice_ir::Sample;
use pumice_ir::ops::distances::Metric;
use pumice_ir::sample::Fill;
use pumice_ir::{sym, tensor};
use pumice_tests::op_suite::Runner;
use pumice_types::DType;

pub fn sorts(runner: &Runner) {
    let case = |d: DType, shape: &[u64], axis: i64, fill: Fill| {
        Sample::graph(&format!("{d} {shape:?} along {axis} {fill:?}"), |g| {
            let x = g.input("x", tensor(d, shape.iter().copied()));
            for descending in [false, true] {
                let (values, places) = g.sort(x, axis, descending);
                g.output(&format!("values {descending}"), values);
                g.output(&format!("places {descending}"), places);
                g.output(&format!("alone {descending}"), g.arg_sort(x, axis, descending));
            }
        })
        .fill("x", fill)
    };
    let f = DType::F32;
    let mut samples = vec![
        case(f, &[5, 37], -1, Fill::Special),
        case(f, &[37, 5], 0, Fill::Range(-2, 3)),
        case(f, &[2, 3000], 1, Fill::Normal),
        case(f, &[0, 3], 0, Fill::Any),
        case(f, &[1], 0, Fill::Any),
        case(DType::I64, &[2, 1500], 1, Fill::Range(-9, 9)),
        case(DType::U8, &[3, 300], 1, Fill::Any),
        case(DType::F16, &[3, 70], -1, Fill::Special),
        case(DType::BF16, &[3, 70], -1, Fill::Normal),
    ];
    samples.extend([(1, 1), (60, 50), (2000, 1999)].map(|(n, k)| {
        let sample = Sample::graph(&format!("symbolic, {k} of {n}"), |g| {
            let x = g.input("x", tensor(f, [sym("n", 1..=2000), 3.into()]));
            let like = g.input("like", tensor(f, [sym("k", 0..=2000)]));
            let (values, places) = g.top_k(x, g.dim_of(like, 0), 0, true);
            g.output("values", values);
            g.output("places", places);
        });
        sample.bind("n", n).bind("k", k)
    }));
    all_pass(runner, "sort", samples);
}

pub fn distances(runner: &Runner) {
    let metrics = [Metric::SquaredEuclidean, Metric::Euclidean, Metric::Manhattan, Metric::Cosine];
    let case = |d: DType, [n, m, width]: [u64; 3], fill: Fill| {
        Sample::graph(&format!("{d} {n} by {m} of {width} {fill:?}"), |g| {
            let x = g.input("x", tensor(d, [n, width]));
            let y = g.input("y", tensor(d, [m, width]));
            for metric in metrics {
                g.output(&format!("{metric:?}"), g.pairwise_distance(x, y, metric));
                g.output(&format!("{metric:?} of x"), g.pairwise_distance(x, x, metric));
            }
        })
        .fill("x", fill.clone())
        .fill("y", fill)
    };
    let f = DType::F32;
    let mut samples: Vec<Sample> = FLOATS.iter().map(|&d| case(d, [5, 7, 3], Fill::Normal)).collect();
    samples.extend([
        case(f, [1, 1, 1], Fill::Normal),
        case(f, [4, 3, 0], Fill::Normal),
        case(f, [0, 3, 2], Fill::Normal),
        case(f, [33, 65, 130], Fill::Normal),
        case(f, [9, 8, 3], Fill::Uniform(1000.0, 1000.5)),
        case(f, [9, 8, 3], Fill::Floats(vec![0.0, 0.0, 0.0, 1.0, 0.0, -2.0])),
    ]);
    all_near(runner, "pairwise_distance", 2e-6, samples);
}

pub fn neighbours(runner: &Runner) {
    let case = |n: u64, k: u64, fill: Fill| {
        Sample::graph(&format!("{k} of {n} {fill:?}"), |g| {
            let (rows, apart) = g.knn_from_pairwise(g.input("d", tensor(DType::F32, [n, n])), k);
            g.output("rows", rows);
            g.output("apart", apart);
        })
        .fill("d", fill)
    };
    let mut samples = vec![
        case(1, 0, Fill::Normal),
        case(2, 1, Fill::Normal),
        case(9, 8, Fill::Range(0, 3)),
        case(65, 5, Fill::Special),
        case(500, 3, Fill::Range(0, 50)),
    ];
    samples.push(
        Sample::graph("symbolic", |g| {
            let d = g.input("d", tensor(DType::F32, [sym("n", 4..=300), sym("n", 4..=300)]));
            let (rows, apart) = g.knn_from_pairwise(d, 3);
            g.output("rows", rows);
            g.output("apart", apart);
        })
        .bind("n", 17),
    );
    all_pass(runner, "knn_from_pairwise", samples);
}

pub fn rows_by_index(runner: &Runner) {
    let case = |d: DType, updates: &[u64], rows: u64, index: DType, fill: Fill| {
        Sample::graph(&format!("{d} {updates:?} into {rows} by {index} {fill:?}"), |g| {
            let u = g.input("updates", tensor(d, updates.iter().copied()));
            let i = g.input("indices", tensor(index, [updates[0]]));
            g.output("y", g.scatter_add(u, i, rows));
        })
        .fill("indices", fill)
    };
    let (f, i32, i64) = (DType::F32, DType::I32, DType::I64);
    let mut samples = vec![
        case(f, &[5, 3], 4, i32, Fill::Range(-4, 4)),
        case(f, &[0, 3], 4, i32, Fill::Any),
        case(f, &[5], 1, i64, Fill::Constant(0.0)),
        case(f, &[700, 65], 50, i64, Fill::Range(0, 50)),
        case(f, &[700, 3], 50_000, i32, Fill::Range(0, 50_000)),
        case(f, &[20_000, 2], 7, i32, Fill::Constant(3.0)),
        case(DType::F16, &[300, 2, 3], 9, i32, Fill::Range(0, 9)),
        case(DType::I64, &[300, 4], 9, i32, Fill::Range(0, 9)),
        case(DType::U8, &[1000, 4], 3, i32, Fill::Range(0, 3)),
        case(f, &[5, 3], 4, i32, Fill::Ints(vec![0, 4, -5, 3, -4])).expect_status(),
        // A constant that folds to an index outside is told by the run.
        Sample::graph("a constant outside", |g| {
            let outside = g.constant_scalar(i32, 3.0);
            let indices = g.reshape(g.add(outside, outside), &[1]);
            g.output("y", g.scatter_add(g.input("updates", tensor(f, [1, 2])), indices, 3));
        })
        .expect_status(),
    ];
    samples.extend([0, 1, 900].map(|n| {
        let sample = Sample::graph(&format!("symbolic, {n} of 900"), |g| {
            let u = g.input("updates", tensor(f, [sym("n", 0..=900), 3.into()]));
            let i = g.input("indices", tensor(i64, [sym("n", 0..=900)]));
            g.output("y", g.scatter_add(u, i, 20));
        });
        sample.fill("indices", Fill::Range(0, 20)).bind("n", n)
    }));
    all_pass(runner, "scatter_add", samples);
}
