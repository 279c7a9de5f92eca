//! Losses of rows and their distances, and means over nothing that are 0: values, weights and gradients against
//! formulas in f64.

mod known;

use known::{floats, results};
use pumice_ir::ops::LossReduction;
use pumice_ir::ops::cosine_loss::CosineLoss;
use pumice_ir::ops::in_batch_negatives::InBatchNegatives;
use pumice_ir::ops::mse::Mse;
use pumice_ir::ops::nll_loss::NllLoss;
use pumice_ir::ops::triplet_loss::TripletLoss;
use pumice_ir::{GraphBuilder, Value};
use pumice_types::{DType, Tensor};

const NAN: f64 = f64::NAN;
const NONE: LossReduction = LossReduction::None;
const MEAN: LossReduction = LossReduction::Mean;
const OR_ZERO: LossReduction = LossReduction::MeanOrZero;

/// A loss, its weight, and if they are asked for the gradients of a loss of rank 0 by the first operands.
fn run(
    operands: &[(&[f64], &[u64])],
    loss: impl FnOnce(&GraphBuilder, &[Value]) -> (Value, Value),
    wanted: usize,
) -> Vec<Vec<f64>> {
    let arrays = results(|g| {
        let operands: Vec<Value> = operands.iter().map(|(v, shape)| floats(g, v, shape)).collect();
        let (value, weight) = loss(g, &operands);
        let gradients = if wanted == 0 { Vec::new() } else { g.grad(value, &operands[..wanted]) };
        [value, weight].into_iter().chain(gradients).collect()
    });
    assert_eq!((arrays[1].dtype, arrays[1].shape.len()), (DType::F32, 0));
    arrays.iter().map(|a| a.to_f64()).collect()
}

#[track_caller]
fn close(got: &[f64], want: &[f64]) {
    let near =
        |a: f64, b: f64| a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 2e-6 * b.abs().max(1e-1);
    let same = got.len() == want.len() && got.iter().zip(want).all(|(&a, &b)| near(a, b));
    assert!(same, "got {got:?}, want {want:?}");
}

fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let sizes = (dot(a, a) * dot(b, b)).sqrt();
    if sizes == 0.0 { 0.0 } else { dot(a, b) / sizes }
}

const A: [f64; 9] = [1.0, 2.0, -1.0, 0.0, 0.0, 0.0, 0.5, -0.5, 3.0];
const B: [f64; 9] = [2.0, 0.0, 1.0, 1.0, 2.0, 3.0, 1.0, -1.0, 6.0];
const ROWS: [u64; 2] = [3, 3];

#[test]
fn of_cosines() {
    let of = |reduction| {
        run(&[(&A, &ROWS), (&B, &ROWS)], |g, x| g.cosine_loss(x[0], x[1], None, CosineLoss { reduction }), 0)
    };
    let cosines: Vec<f64> = A.chunks(3).zip(B.chunks(3)).map(|(a, b)| cosine(a, b)).collect();
    close(&[cosines[1], cosines[2]], &[0.0, 1.0]);
    let want: Vec<f64> = cosines.iter().map(|c| 1.0 - c).collect();
    let [each, one] = &of(NONE)[..] else { panic!("two results") };
    close(each, &want);
    close(one, &[1.0]);
    let [mean, rows] = &of(MEAN)[..] else { panic!("two results") };
    close(mean, &[want.iter().sum::<f64>() / 3.0]);
    close(rows, &[3.0]);
    // Against a similarity.
    let y = [0.5, -1.0, 1.0];
    let each = run(
        &[(&A, &ROWS), (&B, &ROWS), (&y, &[3])],
        |g, x| g.cosine_loss(x[0], x[1], Some(x[2]), CosineLoss { reduction: NONE }),
        0,
    );
    let want: Vec<f64> = cosines.iter().zip(y).map(|(c, y)| (c - y).powi(2)).collect();
    close(&each[0], &want);
}

/// Rows of zeros have the cosine 0 and pass nothing; one row of rank 1 is a row.
#[test]
fn cosines_of_zeros() {
    let zeros = [0.0; 3];
    let sum = CosineLoss { reduction: LossReduction::Sum };
    let of =
        |a: &[f64], b: &[f64]| run(&[(a, &[3]), (b, &[3])], |g, x| g.cosine_loss(x[0], x[1], None, sum), 2);
    let got = of(&zeros, &[1.0, 2.0, 3.0]);
    close(&got[0], &[1.0]);
    close(&got[2], &zeros);
    close(&got[3], &zeros);
    close(&of(&zeros, &zeros)[2], &zeros);
    close(&of(&[1.0, NAN, 0.0], &[1.0, 2.0, 3.0])[0], &[NAN]);
}

#[test]
fn of_triplets() {
    let far: Vec<f64> = A.iter().map(|v| v + 0.25).collect();
    let distance = |x: &[f64], y: &[f64], p: f64| {
        x.iter().zip(y).map(|(x, y)| (x - y).abs().powf(p)).sum::<f64>().powf(1.0 / p)
    };
    for (p, margin) in [(2.0, 1.0), (1.0, 0.0), (3.0, 0.5), (1.5, 2.0)] {
        let term = |i: usize| {
            let part = 3 * i..3 * i + 3;
            let near = distance(&A[part.clone()], &B[part.clone()], p);
            (near - distance(&A[part.clone()], &far[part], p) + margin).max(0.0)
        };
        let want = [0, 1, 2].map(term);
        let of = |reduction| {
            let op = TripletLoss { reduction, margin: margin as f32, p: p as f32 };
            run(&[(&A, &ROWS), (&B, &ROWS), (&far, &ROWS)], |g, x| g.triplet_loss(x[0], x[1], x[2], op), 0)
        };
        close(&of(NONE)[0], &want);
        close(&of(MEAN)[0], &[want.iter().sum::<f64>() / 3.0]);
        close(&of(MEAN)[1], &[3.0]);
    }
}

/// Where a distance is 0 nothing is passed by it, whatever the norm; and nothing where the margin is kept.
#[test]
fn triplets_at_no_distance() {
    let x = [1.0, 2.0];
    for p in [1.0, 2.0, 3.0] {
        let op = TripletLoss { p, ..TripletLoss::default() };
        let of = |near: &[f64], far: &[f64]| {
            run(&[(&x, &[2]), (near, &[2]), (far, &[2])], |g, x| g.triplet_loss(x[0], x[1], x[2], op), 3)
        };
        let got = of(&x, &x);
        close(&got[0], &[1.0]);
        got[2..].iter().for_each(|gradient| close(gradient, &[0.0, 0.0]));
        let got = of(&x, &[9.0, 2.0]);
        close(&got[0], &[0.0]);
        got[2..].iter().for_each(|gradient| close(gradient, &[0.0, 0.0]));
        let got = of(&[1.0, 5.0], &x);
        close(&got[0], &[4.0]);
        close(&got[2], &[0.0, -1.0]);
        close(&got[3], &[0.0, 1.0]);
        close(&got[4], &[0.0, 0.0]);
    }
}

#[test]
fn of_other_rows_of_the_batch() {
    let candidates: Vec<f64> = B.iter().chain(&[0.5; 9]).copied().collect();
    for (k, scale) in [(1, 20.0), (2, 2.5)] {
        let rows = [3 * k as u64, 3];
        let candidates = &candidates[..9 * k];
        let term = |i: usize| {
            let scores = candidates.chunks(3).map(|c| scale * cosine(&A[3 * i..3 * i + 3], c));
            let scores: Vec<f64> = scores.collect();
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            most + scores.iter().map(|s| (s - most).exp()).sum::<f64>().ln() - scores[i]
        };
        let want = [0, 1, 2].map(term);
        let of = |reduction| {
            let op = InBatchNegatives { reduction, scale: scale as f32 };
            run(&[(&A, &ROWS), (candidates, &rows)], |g, x| g.in_batch_negatives(x[0], x[1], op), 0)
        };
        close(&of(NONE)[0], &want);
        close(&of(MEAN)[0], &[want.iter().sum::<f64>() / 3.0]);
        close(&of(MEAN)[1], &[3.0]);
    }
    // One pair is always right, and a row of zeros is as near to everything.
    let op = InBatchNegatives::default();
    let one =
        |a: &[f64]| run(&[(a, &[1, 3]), (&B[..3], &[1, 3])], |g, x| g.in_batch_negatives(x[0], x[1], op), 1);
    let got = one(&A[..3]);
    close(&got[0], &[0.0]);
    close(&got[2], &[0.0; 3]);
    let got =
        run(&[(&[0.0; 6], &[2, 3]), (&B[..6], &[2, 3])], |g, x| g.in_batch_negatives(x[0], x[1], op), 2);
    close(&got[0], &[2f64.ln()]);
    got[2..].iter().for_each(|gradient| close(gradient, &[0.0; 6]));
}

/// A mean over nothing is NaN, or 0 with the gradient 0 where that is asked for; otherwise the two are the same.
#[test]
fn means_over_nothing() {
    let mse = |values: &[f64], reduction| {
        let shape = [values.len() as u64];
        run(&[(values, &shape), (values, &shape)], |g, x| g.mse(x[0], x[1], Mse { reduction }), 0)
    };
    close(&mse(&[], MEAN)[0], &[NAN]);
    assert_eq!(mse(&[], OR_ZERO), [[0.0], [0.0]]);
    assert_eq!(mse(&[1.0, 2.0], OR_ZERO), [[0.0], [2.0]]);
    let ignoring = |reduction, classes: [i32; 2]| {
        let op = NllLoss { reduction, ignore_index: Some(7) };
        let loss = |g: &GraphBuilder, x: &[Value]| {
            let classes = g.constant(Tensor::new(&classes, &[2]).expect("two"));
            g.nll_loss(g.log_softmax(x[0], 1), classes, None, op)
        };
        run(&[(&[1.0, 2.0, 3.0, 5.0], &[2, 2])], loss, 1)
    };
    let nothing = ignoring(OR_ZERO, [7, 7]);
    assert_eq!((&nothing[0], &nothing[1], &nothing[2]), (&vec![0.0], &vec![0.0], &vec![0.0; 4]));
    assert!(ignoring(MEAN, [7, 7])[0][0].is_nan());
    assert_eq!(ignoring(MEAN, [7, 1]), ignoring(OR_ZERO, [7, 1]));
    let rows = |reduction| {
        let op = InBatchNegatives { reduction, ..InBatchNegatives::default() };
        run(&[(&[], &[0, 3]), (&[], &[0, 3])], |g, x| g.in_batch_negatives(x[0], x[1], op), 0)
    };
    assert!(rows(MEAN)[0][0].is_nan());
    assert_eq!(rows(OR_ZERO), [[0.0], [0.0]]);
}

/// In f16 the sum of squares of 300 is infinite, which the cosine is not: rows are f32.
#[test]
fn narrow_rows_are_computed_wide() {
    let arrays = results(|g| {
        let narrow = |v: &[f64]| g.cast(floats(g, v, &[1, 2]), DType::F16);
        let (a, b) = (narrow(&[300.0, 400.0]), narrow(&[400.0, 300.0]));
        let (cosine, _) = g.cosine_loss(a, b, None, CosineLoss::default());
        let (triplet, _) = g.triplet_loss(a, b, a, TripletLoss::default());
        let (negatives, _) = g.in_batch_negatives(a, b, InBatchNegatives::default());
        vec![cosine, triplet, negatives]
    });
    assert!(arrays.iter().all(|a| a.dtype == DType::F16));
    let got: Vec<f64> = arrays.iter().map(|a| a.to_f64()[0]).collect();
    assert!((got[0] - 0.04).abs() < 1e-4 && (got[1] - 142.5).abs() < 0.2 && got[2] == 0.0, "{got:?}");
}
