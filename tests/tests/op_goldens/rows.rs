//! Losses of rows, and smoothed cross-entropy (`tests/reference/goldens_rows.py`: PyTorch in f64).

use pumice_ir::ops::SoftmaxCrossEntropy;
use pumice_ir::ops::cosine_loss::CosineLoss;
use pumice_ir::ops::in_batch_negatives::InBatchNegatives;
use pumice_ir::ops::triplet_loss::TripletLoss;
use pumice_ir::{GraphBuilder, Value};
use pumice_tests::goldens::{Golden, given, pair};

/// The results, of operands that are data. None of ops that are not here.
pub(super) fn build(case: &Golden, g: &GraphBuilder, x: &[Option<Value>]) -> Option<Vec<Value>> {
    let reduction = super::reduction(case);
    let number = |name: &str| case.number(name).map(|v| v as f32);
    let third = x.get(2).copied().flatten();
    Some(pair(match case.op.as_str() {
        "cosine_loss" => g.cosine_loss(given(x, 0), given(x, 1), third, CosineLoss { reduction }),
        "triplet_loss" => {
            let (margin, p) = (number("margin")?, number("p")?);
            g.triplet_loss(given(x, 0), given(x, 1), third?, TripletLoss { reduction, margin, p })
        }
        "in_batch_negatives" => {
            let op = InBatchNegatives { reduction, scale: number("scale")? };
            g.in_batch_negatives(given(x, 0), given(x, 1), op)
        }
        "smoothed_cross_entropy" => {
            let label_smoothing = number("label_smoothing")?;
            let op = SoftmaxCrossEntropy { reduction, label_smoothing, ..Default::default() };
            g.softmax_cross_entropy(given(x, 0), given(x, 1), third, op)
        }
        _ => return None,
    }))
}

/// What a value counts as at least, of which results may differ by a share: the numbers that they are made of.
pub(super) fn floor(op: &str) -> Option<f64> {
    match op {
        "cosine_loss" | "triplet_loss" => Some(3.0),
        "in_batch_negatives" | "smoothed_cross_entropy" => Some(20.0),
        _ => None,
    }
}
