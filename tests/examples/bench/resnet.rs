//! ResNet-50 with seeded weights (D6): the device's time of replays one after the other.

use crate::Case;
use crate::data;
use crate::rig::{Rig, Spec};
use crate::row::{Bar, Outcome, Rate, Row};
use pumice::Outputs;
use pumice_tests::resnet;

/// Multiplications and additions of one image.
const FLOPS: f64 = 8.2e9;

/// The cases.
pub fn cases(rig: &Rig) -> Vec<Case> {
    let of = |(batch, ratio): (u64, f64)| {
        Case::new(format!("D6.resnet50_b{batch}"), move |rig| measure(rig, batch, ratio))
    };
    rig.size(vec![(1, 1.6), (32, 0.95)], vec![(1, 0.0)]).into_iter().map(of).collect()
}

fn measure(rig: &Rig, batch: u64, ratio: f64) -> Outcome<Vec<Row>> {
    let net = resnet::resnet50(batch, true)?;
    let seeds = 101u64..;
    let drawn: Vec<Vec<f32>> = seeds
        .zip(&net.weights)
        .map(|(seed, w)| data::random(seed, w.shape.iter().product::<u64>() as usize, w.range.0, w.range.1))
        .collect();
    let x = data::random(100, (batch * 3 * 224 * 224) as usize, -1.0, 1.0);
    let names = net.weights.iter().map(|w| w.name.as_str());
    let mut fill: Vec<(&str, &[f32])> = names.zip(drawn.iter().map(Vec::as_slice)).collect();
    fill.push(("x", &x));
    let check = |outputs: &Outputs| {
        let y = outputs.get("y")?.to_vec::<f32>()?;
        let (least, most) = y.iter().fold((f32::MAX, f32::MIN), |(a, b), v| (a.min(*v), b.max(*v)));
        if !y.iter().all(|v| v.is_finite()) || most - least < 1e-3 {
            return Err(format!("logits from {least} to {most}").into());
        }
        Ok(format!("{} finite logits from {least:.2} to {most:.2}", y.len()))
    };
    let row = rig.measure(&Spec {
        name: format!("D6.resnet50_b{batch}"),
        graph: net.graph,
        fused: true,
        fill,
        per: 1,
        rate: Rate::Tflops(FLOPS * batch as f64),
        bar: Bar::Ratio(ratio),
        check: &check,
    })?;
    Ok(vec![row])
}
