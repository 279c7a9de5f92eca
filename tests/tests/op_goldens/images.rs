//! Cases of `goldens_images.py`: norms of channels, pools, resampling.

use super::Golden;
use pumice_ir::ops::batch_norm_training::BatchNormTraining;
use pumice_ir::ops::group_norm::GroupNorm;
use pumice_ir::ops::instance_norm::InstanceNorm;
use pumice_ir::{GraphBuilder, Value};
use serde_json::Value as Json;

/// How many of the operands are data; the others say attributes. None of ops that are not here.
pub(super) fn data(_op: &str) -> Option<usize> {
    None
}

/// The results, of operands that are data. None of ops that are not here.
pub(super) fn build(case: &Golden, g: &GraphBuilder, x: &[Value]) -> Option<Vec<Value>> {
    norm(case, g, x)
}

fn number(case: &Golden, name: &str) -> f32 {
    case.attributes.get(name).and_then(Json::as_f64).expect("a number") as f32
}

fn norm(case: &Golden, g: &GraphBuilder, x: &[Value]) -> Option<Vec<Value>> {
    let epsilon = || number(case, "epsilon");
    Some(match case.op.as_str() {
        "GroupNormalization" => {
            let op = GroupNorm { num_groups: case.int("num_groups") as u64, epsilon: epsilon() };
            vec![g.group_norm(x[0], x[1], x[2], op)]
        }
        "InstanceNormalization" => {
            vec![g.instance_norm(x[0], x[1], x[2], InstanceNorm { epsilon: epsilon() })]
        }
        "layer_norm2d" => vec![g.layer_norm2d(x[0], x[1], x[2], epsilon())],
        "batch_norm_training" => {
            let (momentum, unbiased_running) = (number(case, "momentum"), case.flag("unbiased_running"));
            let op = BatchNormTraining { epsilon: epsilon(), momentum, unbiased_running };
            let operands: Vec<Option<Value>> = x.iter().copied().map(Some).collect();
            g.apply_all(op, &operands)[..3].to_vec()
        }
        _ => return None,
    })
}
