//! Losses of rows, which are brought to length 1 or whose distances are taken.

use super::{Loss, SUMS, all_near, losses};
use pumice_ir::ops::LossReduction;
use pumice_ir::ops::cosine_loss::CosineLoss;
use pumice_ir::ops::in_batch_negatives::InBatchNegatives;
use pumice_ir::ops::triplet_loss::TripletLoss;
use pumice_ir::sample::Fill;
use pumice_ir::{Sample, sym, tensor};
use pumice_tests::op_suite::Runner;
use pumice_types::DType;

/// Samples end in roots and logarithms, so that they are near.
pub fn losses_of_rows(runner: &Runner) {
    let fills: [&[Fill]; 2] = [&[Fill::Normal, Fill::Normal], &[Fill::Constant(0.0), Fill::Normal]];
    let cosine: Loss = |g, x, reduction| g.cosine_loss(x[0], x[1], None, CosineLoss { reduction });
    all_near(runner, "cosine_loss", SUMS, losses(cosine, false, &fills));
    let fills: [&[Fill]; 1] = [&[Fill::Normal, Fill::Normal, Fill::Normal]];
    let euclid: Loss = |g, x, reduction| {
        g.triplet_loss(x[0], x[1], x[2], TripletLoss { reduction, ..TripletLoss::default() })
    };
    all_near(runner, "triplet_loss", SUMS, losses(euclid, false, &fills));
    let cubes: Loss =
        |g, x, reduction| g.triplet_loss(x[0], x[1], x[2], TripletLoss { reduction, margin: 0.5, p: 3.0 });
    all_near(runner, "triplet_loss of cubes", SUMS, losses(cubes, false, &fills));
    let pairs: Loss = |g, x, reduction| {
        g.in_batch_negatives(x[0], x[1], InBatchNegatives { reduction, ..InBatchNegatives::default() })
    };
    all_near(runner, "in_batch_negatives", SUMS, losses(pairs, false, &[&[Fill::Normal, Fill::Normal]]));
    all_near(runner, "losses of unlike rows", SUMS, unlike());
}

/// Similarities, and more candidates than anchors.
fn unlike() -> Vec<Sample> {
    let similarities = |dtype: DType, b: u64| {
        Sample::graph(&format!("{dtype}, {b} similarities"), |g| {
            let rows = || tensor(dtype, [sym("b", 0..=40), 33.into()]);
            let y = g.input("y", tensor(dtype, [sym("b", 0..=40)]));
            let op = CosineLoss { reduction: LossReduction::MeanOrZero };
            let (loss, weight) = g.cosine_loss(g.input("a", rows()), g.input("b", rows()), Some(y), op);
            g.output("loss", loss);
            g.output("weight", weight);
        })
        .bind("b", b)
        .fill("y", Fill::Uniform(-1.0, 1.0))
    };
    let candidates = |anchors: u64, k: u64| {
        Sample::graph(&format!("{k} candidates for each of {anchors}"), |g| {
            let rows = |name: &str, n: u64| g.input(name, tensor(DType::F32, [n, 16]));
            let (a, p) = (rows("a", anchors), rows("p", anchors * k));
            g.output("loss", g.in_batch_negatives(a, p, InBatchNegatives::default()).0);
        })
    };
    let pairs = [(1, 1), (1, 5), (7, 3), (64, 2)].map(|(anchors, k)| candidates(anchors, k));
    let cosines = [(DType::F32, 0), (DType::F32, 37), (DType::F16, 40), (DType::BF16, 1)];
    pairs.into_iter().chain(cosines.map(|(dtype, b)| similarities(dtype, b))).collect()
}
