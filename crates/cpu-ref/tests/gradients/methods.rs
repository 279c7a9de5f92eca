//! Methods of the builder that are made of ops, under the names that the goldens call them by.

use pumice_ir::ops::LossReduction;
use pumice_ir::ops::binary_cross_entropy::BinaryCrossEntropy;
use pumice_ir::ops::binary_cross_entropy_with_logits::BinaryCrossEntropyWithLogits;
use pumice_ir::ops::cosine_loss::CosineLoss;
use pumice_ir::ops::cross_entropy_dense::CrossEntropyDense;
use pumice_ir::ops::huber::Huber;
use pumice_ir::ops::in_batch_negatives::InBatchNegatives;
use pumice_ir::ops::kl_div::KlDiv;
use pumice_ir::ops::l1::L1;
use pumice_ir::ops::lp_pool::LpPool;
use pumice_ir::ops::mse::Mse;
use pumice_ir::ops::nll_loss::NllLoss;
use pumice_ir::ops::softmax_cross_entropy::SoftmaxCrossEntropy;
use pumice_ir::ops::triplet_loss::TripletLoss;
use pumice_ir::{GraphBuilder, Value};

/// The first result of a method.
pub fn method(name: &str, g: &GraphBuilder, x: &[Value]) -> Value {
    match reduction(name, g, x).or_else(|| loss(name, g, x)) {
        Some(value) => value,
        None => panic!("no method `{name}`"),
    }
}

fn reduction(name: &str, g: &GraphBuilder, x: &[Value]) -> Option<Value> {
    Some(match name {
        "reduce_l1" => g.reduce_l1(x[0], &[1], false),
        "reduce_l2" => g.reduce_l2(x[0], &[1], false),
        "reduce_log_sum_exp" => g.reduce_log_sum_exp(x[0], &[1], false),
        "reduce_log_sum" => g.reduce_log_sum(x[0], &[1], false),
        "variance" => g.variance(x[0], &[1], 1, false),
        "std_dev" => g.std_dev(x[0], &[1], 0, false),
        "lp_pool" => g.lp_pool(x[0], LpPool { kernel: vec![2], p: 2, ..LpPool::default() }),
        "tile" => g.tile(x[0], &[2, 3]),
        "top_k values" => g.top_k(x[0], 3u64, 1, true).0,
        _ => return None,
    })
}

fn loss(name: &str, g: &GraphBuilder, x: &[Value]) -> Option<Value> {
    let (loss, _) = match name {
        "mse" => g.mse(x[0], x[1], Mse::default()),
        "l1" => g.l1(x[0], x[1], L1::default()),
        "huber" => g.huber(x[0], x[1], Huber { delta: 0.75, ..Huber::default() }),
        "kl_div" => g.kl_div(x[0], x[1], KlDiv::default()),
        "binary_cross_entropy" => g.binary_cross_entropy(x[0], x[1], BinaryCrossEntropy::default()),
        "binary_cross_entropy_with_logits" => {
            let op = BinaryCrossEntropyWithLogits::default();
            g.binary_cross_entropy_with_logits(x[0], x[1], Some(x[2]), op)
        }
        "cross_entropy_dense" => g.cross_entropy_dense(x[0], x[1], CrossEntropyDense::default()),
        "cosine_loss" => g.cosine_loss(x[0], x[1], None, CosineLoss::default()),
        "cosine_loss of similarities" => g.cosine_loss(x[0], x[1], Some(x[2]), CosineLoss::default()),
        "triplet_loss" => g.triplet_loss(x[0], x[1], x[2], TripletLoss::default()),
        "triplet_loss, fourth powers" => {
            g.triplet_loss(x[0], x[1], x[2], TripletLoss { margin: 0.5, p: 4.0, ..TripletLoss::default() })
        }
        "in_batch_negatives" => g.in_batch_negatives(x[0], x[1], InBatchNegatives::default()),
        _ => return of_classes(name, g, x),
    };
    Some(loss)
}

/// Losses of classes given by index.
fn of_classes(name: &str, g: &GraphBuilder, x: &[Value]) -> Option<Value> {
    let (loss, _) = match name {
        "nll_loss, weights, one ignored" => {
            let op = NllLoss { ignore_index: Some(1), ..NllLoss::default() };
            g.nll_loss(x[0], x[1], Some(x[2]), op)
        }
        "softmax_cross_entropy" => g.softmax_cross_entropy(x[0], x[1], None, SoftmaxCrossEntropy::default()),
        "softmax_cross_entropy, weights, one ignored" => {
            let op = SoftmaxCrossEntropy { ignore_index: Some(0), ..SoftmaxCrossEntropy::default() };
            g.softmax_cross_entropy(x[0], x[1], Some(x[2]), op)
        }
        "softmax_cross_entropy, sums of images" => {
            let op = SoftmaxCrossEntropy { reduction: LossReduction::Sum, ..SoftmaxCrossEntropy::default() };
            g.softmax_cross_entropy(x[0], x[1], None, op)
        }
        _ => return None,
    };
    Some(loss)
}
