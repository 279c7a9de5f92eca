//! Cases of `goldens_forms.py`: movement, reductions, orders, losses and norms that are made of other ops.

use super::reduction;
use pumice_ir::ops::binary_cross_entropy::BinaryCrossEntropy;
use pumice_ir::ops::binary_cross_entropy_with_logits::BinaryCrossEntropyWithLogits;
use pumice_ir::ops::cross_entropy_dense::CrossEntropyDense;
use pumice_ir::ops::depth_to_space::DepthOrder;
use pumice_ir::ops::huber::Huber;
use pumice_ir::ops::kl_div::KlDiv;
use pumice_ir::ops::l1::L1;
use pumice_ir::ops::lp_normalization::{LengthNorm, LpNormalization};
use pumice_ir::ops::mean_variance_normalization::MeanVarianceNormalization;
use pumice_ir::ops::mse::Mse;
use pumice_ir::ops::search_sorted::SearchSorted;
use pumice_ir::{GraphBuilder, Value};
use pumice_tests::goldens::{Golden, given, pair};
use pumice_types::{DType, DimExpr};

/// The results, of operands that are data. None of ops that are not here.
pub(super) fn build(case: &Golden, g: &GraphBuilder, x: &[Option<Value>]) -> Option<Vec<Value>> {
    let one = moved(case, g, x).or_else(|| image(case, g, x)).or_else(|| reduced(case, g, x));
    one.map(|y| vec![y]).or_else(|| ordered(case, g, x)).or_else(|| loss(case, g, x))
}

/// What a value counts as at least, of which results may differ by a share: sums of terms of about 1.
pub(super) fn floor(op: &str) -> Option<f64> {
    let sums = ["MeanVarianceNormalization", "variance", "std_dev", "reduce_log_sum", "reduce_log_sum_exp"];
    let losses = ["cross_entropy_dense", "kl_div", "binary_cross_entropy_with_logits", "random_normal"];
    sums.into_iter().chain(losses).any(|name| name == op).then_some(3.0)
}

fn moved(case: &Golden, g: &GraphBuilder, x: &[Option<Value>]) -> Option<Value> {
    let axis = case.int("axis");
    Some(match case.op.as_str() {
        "stack" => g.stack(&x.iter().copied().flatten().collect::<Vec<_>>(), axis),
        "reverse" => g.reverse(given(x, 0), &case.list("axes")),
        "repeat_interleave" => g.repeat_interleave(given(x, 0), case.int("repeats") as u64, axis),
        "range" => {
            let dtype = if case.word("dtype") == "i32" { DType::I32 } else { DType::I64 };
            let [start, limit] = ["start", "limit"].map(|name| DimExpr::constant(case.int(name)));
            g.range(start, limit, case.int("delta"), dtype)
        }
        "fill" => g.fill(given(x, 0), case.list("shape").into_iter().map(DimExpr::constant).collect()),
        "size" => g.size(given(x, 0)),
        "stop_gradient" => g.stop_gradient(given(x, 0)),
        "EyeLike" => {
            // Numbers of TensorProto.
            let dtypes = [(1, DType::F32), (6, DType::I32), (7, DType::I64), (10, DType::F16)];
            let dtype = dtypes.into_iter().find(|(code, _)| *code == case.int("dtype"));
            g.eye_like(given(x, 0), dtype.map(|(_, dtype)| dtype), case.int("k"))
        }
        _ => return None,
    })
}

fn image(case: &Golden, g: &GraphBuilder, x: &[Option<Value>]) -> Option<Value> {
    let (blocksize, axis) = (case.int("blocksize") as u64, case.int("axis"));
    let order = |name: &str| {
        if case.word(name) == "CRD" { DepthOrder::ChannelFirst } else { DepthOrder::PlaceFirst }
    };
    Some(match case.op.as_str() {
        "DepthToSpace" => g.depth_to_space(given(x, 0), blocksize, order("mode")),
        "space_to_depth" => g.space_to_depth(given(x, 0), blocksize, order("order")),
        "LpNormalization" => {
            let p = if case.int("p") == 1 { LengthNorm::L1 } else { LengthNorm::L2 };
            g.lp_normalization(given(x, 0), LpNormalization { axis, p })
        }
        "MeanVarianceNormalization" => {
            let op = MeanVarianceNormalization { axes: case.list("axes") };
            g.mean_variance_normalization(given(x, 0), op)
        }
        _ => return None,
    })
}

fn reduced(case: &Golden, g: &GraphBuilder, x: &[Option<Value>]) -> Option<Value> {
    let (axes, keepdims) = (case.list("axes"), case.flag("keepdims"));
    let correction = case.int("correction") as u64;
    Some(match case.op.as_str() {
        "reduce_log_sum" => g.reduce_log_sum(given(x, 0), &axes, keepdims),
        "reduce_log_sum_exp" => g.reduce_log_sum_exp(given(x, 0), &axes, keepdims),
        "reduce_any" => g.reduce_any(given(x, 0), &axes, keepdims),
        "reduce_all" => g.reduce_all(given(x, 0), &axes, keepdims),
        "variance" => g.variance(given(x, 0), &axes, correction, keepdims),
        "std_dev" => g.std_dev(given(x, 0), &axes, correction, keepdims),
        "arg_sort" => g.arg_sort(given(x, 0), case.int("axis"), case.flag("descending")),
        _ => return None,
    })
}

fn ordered(case: &Golden, g: &GraphBuilder, x: &[Option<Value>]) -> Option<Vec<Value>> {
    match case.op.as_str() {
        "knn_from_pairwise" => Some(pair(g.knn_from_pairwise(given(x, 0), case.int("k") as u64))),
        "search_sorted" => {
            let index_dtype = if case.word("index_dtype") == "i64" { DType::I64 } else { DType::I32 };
            let op = SearchSorted { right: case.flag("right"), index_dtype };
            Some(vec![g.search_sorted(given(x, 0), given(x, 1), op)])
        }
        _ => None,
    }
}

fn loss(case: &Golden, g: &GraphBuilder, x: &[Option<Value>]) -> Option<Vec<Value>> {
    let reduction = reduction(case);
    let both = || (given(x, 0), given(x, 1));
    Some(pair(match case.op.as_str() {
        "mse" => g.mse(both().0, both().1, Mse { reduction }),
        "l1" => g.l1(both().0, both().1, L1 { reduction }),
        "huber" => {
            let delta = case.number("delta").expect("it is given") as f32;
            g.huber(both().0, both().1, Huber { reduction, delta })
        }
        "binary_cross_entropy" => {
            g.binary_cross_entropy(both().0, both().1, BinaryCrossEntropy { reduction })
        }
        "binary_cross_entropy_with_logits" => {
            let op = BinaryCrossEntropyWithLogits { reduction };
            g.binary_cross_entropy_with_logits(both().0, both().1, x[2], op)
        }
        "cross_entropy_dense" => g.cross_entropy_dense(both().0, both().1, CrossEntropyDense { reduction }),
        "kl_div" => g.kl_div(both().0, both().1, KlDiv { reduction }),
        _ => return None,
    }))
}
