//! Normalisation and softmax.

use super::call::{Call, one};
use super::{Results, Rule, rule};
use pumice_ir::ops::batch_norm_training::BatchNormTraining;
use pumice_ir::ops::group_norm::GroupNorm;
use pumice_ir::ops::instance_norm::InstanceNorm;
use pumice_ir::ops::layer_norm::LayerNorm;
use pumice_ir::ops::lp_normalization::{LengthNorm, LpNormalization};
use pumice_ir::ops::mean_variance_normalization::MeanVarianceNormalization;
use pumice_ir::ops::rms_norm::RmsNorm;

pub(super) const RULES: &[Rule] = &[
    rule("BatchNormalization", 9, batch_norm),
    rule("GroupNormalization", 21, group_norm),
    rule("InstanceNormalization", 6, instance_norm),
    rule("LayerNormalization", 17, layer_norm),
    rule("RMSNormalization", 23, rms_norm),
    rule("LpNormalization", 1, lp_normalization),
    rule("MeanVarianceNormalization", 9, mean_variance_normalization),
    rule("Softmax", 13, |c| {
        let (x, axis) = (c.x(0)?, c.int("axis", -1)?);
        one(c.g.softmax(x, axis))
    }),
    rule("LogSoftmax", 13, |c| {
        let (x, axis) = (c.x(0)?, c.int("axis", -1)?);
        one(c.g.log_softmax(x, axis))
    }),
];

/// In training the running statistics are results, too.
fn batch_norm(c: &mut Call<'_>) -> Results {
    let operands = [c.x(0)?, c.x(1)?, c.x(2)?, c.x(3)?, c.x(4)?];
    let (epsilon, momentum) = (c.float("epsilon", 1e-5)?, c.float("momentum", 0.9)?);
    if c.flag("training_mode", false)? {
        let op = BatchNormTraining { epsilon, momentum, unbiased_running: false };
        return Ok(c.g.apply_all(op, &operands.map(Some)));
    }
    let [x, gamma, beta, mean, variance] = operands;
    one(c.g.batch_norm(x, gamma, beta, mean, variance, epsilon))
}

fn group_norm(c: &mut Call<'_>) -> Results {
    let (x, gamma, beta) = (c.x(0)?, c.x(1)?, c.x(2)?);
    let (num_groups, epsilon) = (c.whole("num_groups", 0)?, c.float("epsilon", 1e-5)?);
    c.int("stash_type", 1)?;
    one(c.g.group_norm(x, gamma, beta, GroupNorm { num_groups, epsilon }))
}

fn instance_norm(c: &mut Call<'_>) -> Results {
    let (x, gamma, beta, epsilon) = (c.x(0)?, c.x(1)?, c.x(2)?, c.float("epsilon", 1e-5)?);
    one(c.g.instance_norm(x, gamma, beta, InstanceNorm { epsilon }))
}

/// Statistics are f32 whatever `stash_type` says.
fn layer_norm(c: &mut Call<'_>) -> Results {
    let (x, gamma, beta) = (c.x(0)?, c.x(1)?, c.opt(2));
    let (axis, epsilon) = (c.int("axis", -1)?, c.float("epsilon", 1e-5)?);
    c.int("stash_type", 1)?;
    let (y, mean, inverse) = c.g.layer_norm_with_statistics(
        x,
        Some(gamma),
        beta,
        LayerNorm { axis, epsilon, ..LayerNorm::default() },
    );
    Ok(vec![y, mean, inverse])
}

fn rms_norm(c: &mut Call<'_>) -> Results {
    let (x, gamma) = (c.x(0)?, c.x(1)?);
    let (axis, epsilon) = (c.int("axis", -1)?, c.float("epsilon", 1e-5)?);
    c.int("stash_type", 1)?;
    one(c.g.apply(RmsNorm { axis, epsilon, ..RmsNorm::default() }, &[x, gamma]))
}

fn lp_normalization(c: &mut Call<'_>) -> Results {
    let (x, axis) = (c.x(0)?, c.int("axis", -1)?);
    let p = match c.int("p", 2)? {
        1 => LengthNorm::L1,
        2 => LengthNorm::L2,
        other => return Err(c.wrong("p", format!("is {other}, must be 1 or 2"))),
    };
    one(c.g.lp_normalization(x, LpNormalization { axis, p }))
}

fn mean_variance_normalization(c: &mut Call<'_>) -> Results {
    let (x, axes) = (c.x(0)?, c.opt_ints_of("axes")?);
    let op = axes.map_or_else(MeanVarianceNormalization::default, |axes| MeanVarianceNormalization { axes });
    one(c.g.mean_variance_normalization(x, op))
}
