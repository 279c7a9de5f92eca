//! The tail of a detector, whole in one program: the best class of each place, the best places, and of boxes that
//! overlap the better ones. How many there are the run finds, and outputs come as long as that.

use pumice::ops::non_max_suppression::NonMaxSuppression;
use pumice::{Device, Graph, GraphBuilder, Options, TensorView, f32, sym};
use std::error::Error;

const CLASSES: u64 = 3;
/// Places that are looked at: the best ones.
const BEST: u64 = 50;

fn detector() -> Result<Graph, Box<dyn Error>> {
    let g = GraphBuilder::new("detector_tail");
    let places = || sym("places", BEST..=10_000);
    let logits = g.input("logits", f32([places(), CLASSES.into()]));
    let corners = g.input("corners", f32([places(), 4.into()]));
    let scores = g.sigmoid(g.reduce_max(logits, &[1], false));
    let (scores, best) = g.top_k(scores, BEST, 0, true);
    let classes = g.arg_max(logits, 1, false);
    let (corners, classes) = (g.gather(corners, best, 0), g.gather(classes, best, 0));

    let op =
        NonMaxSuppression { iou_threshold: 0.4, score_threshold: Some(0.5), ..NonMaxSuppression::default() };
    let one_image = g.unsqueeze(corners, &[0]);
    let kept = g.non_max_suppression(one_image, g.unsqueeze(scores, &[0, 1]), op);
    // Its rows are batch, class, box.
    let kept = g.squeeze(g.narrow(kept, 1, 2u64, 1u64), &[1]);
    for (name, of_best) in [("boxes", corners), ("scores", scores), ("classes", classes)] {
        g.output(name, g.gather(of_best, kept, 0));
    }
    Ok(g.build()?)
}

/// Logits and corners of a place near each of some objects, again and again, and of nothing in between.
fn scene(places: usize, objects: &[[f32; 4]]) -> (Vec<f32>, Vec<f32>) {
    let (mut logits, mut corners) = (Vec::new(), Vec::new());
    for place in 0..places {
        let wave = |k: f32| (place as f32 * k).sin();
        let object = place % (objects.len() + 1);
        let seen = objects.get(object).copied();
        corners.extend(seen.unwrap_or([0.0, 0.0, 9.0, 9.0]).map(|edge| edge + 0.5 * wave(0.7)));
        let best = if seen.is_some() { 2.0 + wave(1.3) } else { -3.0 };
        logits.extend((0..CLASSES as usize).map(|class| if class == object { best } else { -4.0 }));
    }
    (logits, corners)
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::best();
    println!("device: {}", device.name());
    let mut session = pumice::compile(&detector()?, &device, &Options::default())?.session()?;

    let objects = [[10.0, 10.0, 30.0, 25.0], [15.0, 50.0, 45.0, 80.0], [60.0, 20.0, 75.0, 70.0]];
    for (places, there) in [(100, 3), (1000, 2), (400, 1), (50, 0)] {
        let (logits, corners) = scene(places, &objects[..there]);
        let n = places as u64;
        let out = session.run(&[
            ("logits", TensorView::f32(&logits, [n, CLASSES])),
            ("corners", TensorView::f32(&corners, [n, 4])),
        ])?;
        let (boxes, scores) = (out.get("boxes")?, out.get("scores")?.to_vec::<f32>()?);
        let classes: Vec<i64> = out.get("classes")?.to_vec()?;
        println!("{places} places, {:?} boxes:", boxes.shape());
        for ((corners, score), class) in boxes.to_vec::<f32>()?.chunks(4).zip(&scores).zip(&classes) {
            println!("  class {class}, score {score:.3}: {corners:.1?}");
        }
        assert_eq!(boxes.shape(), [there as u64, 4]);
        let mut seen = classes.clone();
        seen.sort_unstable();
        assert_eq!(seen, (0..there as i64).collect::<Vec<_>>());
    }
    Ok(())
}
