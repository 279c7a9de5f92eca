//! Losses: values and weights against formulas in f64, and what they make of nothing, NaN, infinities and large logits.

mod known;

use known::floats;
use pumice_cpu_ref::Array;
use pumice_ir::ops::LossReduction;
use pumice_ir::ops::binary_cross_entropy::BinaryCrossEntropy;
use pumice_ir::ops::binary_cross_entropy_with_logits::BinaryCrossEntropyWithLogits;
use pumice_ir::ops::cross_entropy_dense::CrossEntropyDense;
use pumice_ir::ops::huber::Huber;
use pumice_ir::ops::kl_div::KlDiv;
use pumice_ir::ops::l1::L1;
use pumice_ir::ops::mse::Mse;
use pumice_ir::ops::nll_loss::NllLoss;
use pumice_ir::ops::softmax_cross_entropy::SoftmaxCrossEntropy;
use pumice_ir::{GraphBuilder, Value};
use pumice_types::{DType, Tensor};

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

/// A loss and its weight.
fn run(build: impl FnOnce(&GraphBuilder) -> (Value, Value)) -> (Array, f64) {
    let results = known::results(|g| {
        let (value, weight) = build(g);
        vec![value, weight]
    });
    let [value, weight] = &results[..] else { panic!("{} results", results.len()) };
    assert_eq!((weight.dtype, weight.shape.len()), (DType::F32, 0));
    (value.clone(), weight.to_f64()[0])
}

#[track_caller]
fn close(got: &[f64], want: &[f64]) {
    let near =
        |a: f64, b: f64| a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-6 * b.abs().max(1e-2);
    let same = got.len() == want.len() && got.iter().zip(want).all(|(&a, &b)| near(a, b));
    assert!(same, "got {got:?}, want {want:?}");
}

type Loss = fn(&GraphBuilder, Value, Value, LossReduction) -> (Value, Value);

fn mse(g: &GraphBuilder, y: Value, t: Value, reduction: LossReduction) -> (Value, Value) {
    g.mse(y, t, Mse { reduction })
}

fn l1(g: &GraphBuilder, y: Value, t: Value, reduction: LossReduction) -> (Value, Value) {
    g.l1(y, t, L1 { reduction })
}

fn huber(g: &GraphBuilder, y: Value, t: Value, reduction: LossReduction) -> (Value, Value) {
    g.huber(y, t, Huber { reduction, delta: 0.5 })
}

fn kl_div(g: &GraphBuilder, y: Value, t: Value, reduction: LossReduction) -> (Value, Value) {
    g.kl_div(y, t, KlDiv { reduction })
}

fn of_probabilities(g: &GraphBuilder, y: Value, t: Value, reduction: LossReduction) -> (Value, Value) {
    g.binary_cross_entropy(y, t, BinaryCrossEntropy { reduction })
}

fn of_logits(g: &GraphBuilder, y: Value, t: Value, reduction: LossReduction) -> (Value, Value) {
    g.binary_cross_entropy_with_logits(y, t, None, BinaryCrossEntropyWithLogits { reduction })
}

const ALL: [Loss; 6] = [mse, l1, huber, kl_div, of_probabilities, of_logits];

/// The terms, after the sum and the mean have been found to be theirs.
#[track_caller]
fn terms(loss: Loss, y: &[f64], t: &[f64]) -> Vec<f64> {
    let shape = [y.len() as u64];
    let of = |r: LossReduction| run(|g| loss(g, floats(g, y, &shape), floats(g, t, &shape), r));
    let (each, one) = of(LossReduction::None);
    assert_eq!((&each.shape[..], one), (&shape[..], 1.0));
    let terms = each.to_f64();
    let total = terms.iter().fold(0.0, |s, v| s + v);
    let (sum, one) = of(LossReduction::Sum);
    assert_eq!((sum.shape.len(), one), (0, 1.0));
    close(&sum.to_f64(), &[total]);
    let (mean, n) = of(LossReduction::Mean);
    assert_eq!((mean.shape.len(), n), (0, y.len() as f64));
    close(&mean.to_f64(), &[total / y.len() as f64]);
    terms
}

#[test]
fn of_differences() {
    let (y, t) = ([1.0, -2.0, 0.25, INF, NAN], [0.5, 1.0, 0.25, 1.0, 0.0]);
    close(&terms(mse, &y, &t), &[0.25, 9.0, 0.0, INF, NAN]);
    close(&terms(l1, &y, &t), &[0.5, 3.0, 0.0, INF, NAN]);
    // At delta itself, beyond it, and at 0.
    close(&terms(huber, &y, &t), &[0.125, 0.5 * (3.0 - 0.25), 0.0, INF, NAN]);
    close(&terms(mse, &[INF], &[INF]), &[NAN]);
    close(&terms(huber, &[0.0, 0.0], &[0.501, -0.499]), &[0.5 * 0.251, 0.499 * 0.499 / 2.0]);
}

#[test]
fn of_distributions() {
    let (y, t) = ([-0.5, -2.0, -INF, -INF, -1.0, NAN], [0.25, 0.0, 0.5, 0.0, -1.0, 0.5]);
    close(&terms(kl_div, &y, &t), &[0.25 * (0.25f64.ln() + 0.5), 0.0, INF, NAN, NAN, NAN]);
    let dense = |r: LossReduction, x: &[f64], t: &[f64], shape: &[u64]| {
        run(|g| {
            let op = CrossEntropyDense { reduction: r };
            g.cross_entropy_dense(floats(g, x, shape), floats(g, t, shape), op)
        })
    };
    let x = [1.0, 2.0, -1.0, 100.0, -100.0, 0.0];
    let t = [0.2, 0.5, 0.5, 0.0, 1.0, 0.0];
    let log_sum = |row: &[f64]| {
        let most = row.iter().copied().fold(-INF, f64::max);
        most + row.iter().map(|v| (v - most).exp()).sum::<f64>().ln()
    };
    let want: Vec<f64> = (0..2)
        .map(|i| {
            let (x, t) = (&x[3 * i..3 * i + 3], &t[3 * i..3 * i + 3]);
            let whole = log_sum(x);
            x.iter().zip(t).map(|(x, t)| t * (whole - x)).sum()
        })
        .collect();
    let (each, one) = dense(LossReduction::None, &x, &t, &[2, 3]);
    assert_eq!((&each.shape[..], one), (&[2u64][..], 1.0));
    close(&each.to_f64(), &want);
    close(&want[1..], &[200.0]);
    let (mean, rows) = dense(LossReduction::Mean, &x, &t, &[2, 3]);
    close(&mean.to_f64(), &[(want[0] + want[1]) / 2.0]);
    assert_eq!(rows, 2.0);
    let (none, rows) = dense(LossReduction::Mean, &[], &[], &[0, 3]);
    close(&none.to_f64(), &[NAN]);
    assert_eq!(rows, 0.0);
    close(&dense(LossReduction::None, &[], &[], &[2, 0]).0.to_f64(), &[0.0, 0.0]);
}

#[test]
fn of_events() {
    let (p, t) = ([0.25, 0.75, 0.0, 1.0, 0.0, 1.0, NAN], [1.0, 0.5, 1.0, 0.0, 0.0, 1.0, 1.0]);
    let mixed = -0.5 * 0.75f64.ln() - 0.5 * 0.25f64.ln();
    let got = terms(of_probabilities, &p, &t);
    close(&got[..3], &[4f64.ln(), mixed, 7.0 * 10f64.ln()]);
    // The largest probability of f32 below 1 - 1e-7 is 1 - 2^-23.
    close(&got[3..4], &[23.0 * 2f64.ln()]);
    assert!(got[4..6].iter().all(|v| (0.0..2e-7).contains(v)) && got[6].is_nan(), "{got:?}");
    let (x, t) = ([100.0, -100.0, 100.0, -100.0, 0.0, -10.0, NAN], [1.0, 1.0, 0.0, 0.0, 0.3, 0.0, 0.0]);
    let small = (-10f64).exp().ln_1p();
    close(&terms(of_logits, &x, &t), &[0.0, 100.0, 100.0, 0.0, 2f64.ln(), small, NAN]);
    close(&terms(of_logits, &[INF, -INF, -INF], &[0.5, 0.5, 0.0]), &[NAN, INF, NAN]);
}

/// Events that happen count w times, others once; weights stretch, and the divisor stays the number of terms.
#[test]
fn events_that_happen_have_a_weight() {
    let (x, t, w) = ([1.5, -100.0, 100.0, -0.5, 20.0, -20.0], [1.0, 1.0, 0.0, 0.25, 1.0, 0.0], [2.0, 3.0]);
    let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
    let want: Vec<f64> =
        (0..6).map(|i| w[i % 2] * t[i] * softplus(-x[i]) + (1.0 - t[i]) * softplus(x[i])).collect();
    let of = |reduction: LossReduction| {
        run(|g| {
            let weights = Some(floats(g, &w, &[2]));
            let (x, t) = (floats(g, &x, &[3, 2]), floats(g, &t, &[3, 2]));
            g.binary_cross_entropy_with_logits(x, t, weights, BinaryCrossEntropyWithLogits { reduction })
        })
    };
    close(&of(LossReduction::None).0.to_f64(), &want);
    let (mean, n) = of(LossReduction::Mean);
    close(&mean.to_f64(), &[want.iter().sum::<f64>() / 6.0]);
    assert_eq!(n, 6.0);
}

#[test]
fn of_nothing_and_of_one() {
    for loss in ALL {
        let of = |shape: &[u64], values: &[f64], r| {
            let (value, weight) = run(|g| loss(g, floats(g, values, shape), floats(g, values, shape), r));
            (value.shape.clone(), value.to_f64(), weight)
        };
        let (shape, mean, n) = of(&[2, 0], &[], LossReduction::Mean);
        assert!(shape.is_empty() && mean[0].is_nan() && n == 0.0, "{mean:?} {n}");
        assert_eq!(of(&[0], &[], LossReduction::Sum), (vec![], vec![0.0], 1.0));
        assert_eq!(of(&[3, 0], &[], LossReduction::None).0, [3, 0]);
        let (shape, mean, n) = of(&[], &[0.5], LossReduction::Mean);
        assert!(shape.is_empty() && mean[0].is_finite() && n == 1.0, "{mean:?} {n}");
    }
}

/// In f16 the square of 300 is infinite, which its mean is not: terms are f32.
#[test]
fn narrow_floats_are_computed_wide() {
    let (y, t) = (vec![300.0, 1.0, 1.0, 1.0], vec![0.0; 4]);
    for dtype in [DType::F16, DType::BF16] {
        let (mean, n) = run(|g| {
            let narrow = |v: &[f64]| g.cast(floats(g, v, &[4]), dtype);
            g.mse(narrow(&y), narrow(&t), Mse::default())
        });
        assert_eq!((mean.dtype, n), (dtype, 4.0));
        let got = mean.to_f64()[0];
        assert!((got - 22500.75).abs() <= 22500.75 / 256.0, "{got}");
    }
}

/// Scores \[2, 3, 2\] and classes \[2, 2\], with what they make by hand.
const SCORES: [f64; 12] = [0.5, -1.0, 2.0, 0.25, -0.5, 3.0, 1.0, 1.0, 1.0, 0.0, 100.0, -7.0];

/// -score of the class of each place: scores\[n, class, d\].
fn picked(classes: &[i64; 4]) -> Vec<f64> {
    (0..4).map(|i| -SCORES[i / 2 * 6 + classes[i] as usize * 2 + i % 2]).collect()
}

#[test]
fn of_classes_by_index() {
    let classes = |g: &GraphBuilder, c: &[i64; 4]| g.constant(Tensor::new(c, &[2, 2]).expect("four"));
    let of = |c: [i64; 4], w: Option<[f64; 3]>, op: NllLoss| {
        run(|g| {
            let weights = w.map(|w| floats(g, &w, &[3]));
            g.nll_loss(floats(g, &SCORES, &[2, 3, 2]), classes(g, &c), weights, op)
        })
    };
    let c = [2, 0, 1, 2];
    let want = picked(&c);
    assert_eq!(want, [0.5, 1.0, -1.0, 7.0]);
    let op = |reduction| NllLoss { reduction, ignore_index: None };
    let (each, one) = of(c, None, op(LossReduction::None));
    assert_eq!((&each.shape[..], one), (&[2u64, 2][..], 1.0));
    close(&each.to_f64(), &want);
    let (mean, n) = of(c, None, op(LossReduction::Mean));
    close(&mean.to_f64(), &[7.5 / 4.0]);
    assert_eq!(n, 4.0);
    // Weighted: a mean divides by the weights of the classes that there are.
    let w = [2.0, 0.5, 3.0];
    let (mean, weight) = of(c, Some(w), op(LossReduction::Mean));
    close(&mean.to_f64(), &[(3.0 * 0.5 + 2.0 * 1.0 - 0.5 + 3.0 * 7.0) / 8.5]);
    assert_eq!(weight, 8.5);
    let (sum, one) = of(c, Some(w), op(LossReduction::Sum));
    close(&sum.to_f64(), &[24.0]);
    assert_eq!(one, 1.0);
}

#[test]
fn ignored_classes_count_for_nothing() {
    let of = |c: [i64; 4], ignore_index, reduction| {
        run(|g| {
            let classes = g.constant(Tensor::new(&c, &[2, 2]).expect("four"));
            let op = NllLoss { reduction, ignore_index };
            g.nll_loss(floats(g, &SCORES, &[2, 3, 2]), classes, None, op)
        })
    };
    // One that is no class, and one that is.
    for (ignored, class) in [(Some(-100), -100), (Some(1), 1), (Some(i64::MIN), i64::MIN)] {
        let c = [2, class, class, 2];
        close(&of(c, ignored, LossReduction::None).0.to_f64(), &[0.5, 0.0, 0.0, 7.0]);
        let (mean, n) = of(c, ignored, LossReduction::Mean);
        close(&mean.to_f64(), &[3.75]);
        assert_eq!(n, 2.0);
    }
    let (mean, n) = of([7; 4], Some(7), LossReduction::Mean);
    assert!(mean.to_f64()[0].is_nan() && n == 0.0);
    close(&of([7; 4], Some(7), LossReduction::Sum).0.to_f64(), &[0.0]);
    // A score that is ignored may be infinite or NaN.
    let (sum, _) = run(|g| {
        let classes = g.constant(Tensor::new(&[0i32, 1], &[2]).expect("two"));
        let op = NllLoss { reduction: LossReduction::Sum, ignore_index: Some(1) };
        g.nll_loss(floats(g, &[-2.0, NAN, INF, -INF], &[2, 2]), classes, None, op)
    });
    close(&sum.to_f64(), &[2.0]);
}

/// The same as a dense target of one-hot rows; by hand for scores of hundreds.
#[test]
fn of_scores_and_classes() {
    let log_sum = |v: [f64; 3]| {
        let most = v.into_iter().fold(-INF, f64::max);
        most + v.iter().map(|x| (x - most).exp()).sum::<f64>().ln()
    };
    let c = [2, 0, 1, 2];
    let want: Vec<f64> =
        (0..4).map(|i| picked(&c)[i] + log_sum([0, 2, 4].map(|k| SCORES[i / 2 * 6 + k + i % 2]))).collect();
    for dtype in [DType::I32, DType::I64] {
        let (each, _) = run(|g| {
            let classes = g.cast(g.constant(Tensor::new(&c, &[2, 2]).expect("four")), dtype);
            let op = SoftmaxCrossEntropy { reduction: LossReduction::None, ..Default::default() };
            g.softmax_cross_entropy(floats(g, &SCORES, &[2, 3, 2]), classes, None, op)
        });
        close(&each.to_f64(), &want);
    }
}
