//! Running statistics: what batch norm keeps in training, and what a batch without any leaves of it.

use pumice::ops::mse::Mse;
use pumice::ops::{BatchNormTraining, Conv, LossReduction};
use pumice::train::{Batch, Init, Recipe, Schedule, Sgd, TrainOptions, Trainer};
use pumice::{Device, Graph, GraphBuilder, Tensor, TensorView, f32, i32, sym};
use pumice_tests::draws::numbers;

fn trainer(graph: &Graph, recipe: &Recipe, device: &Device) -> Trainer {
    let mut trainer = Trainer::new(graph, recipe, device, &TrainOptions::default()).expect("a trainer");
    trainer.init(&Init::torch(), 7).expect("every param has a rule");
    trainer
}

fn floats(tensor: &Tensor) -> Vec<f32> {
    tensor.to_vec::<f32>().expect("f32")
}

/// Batch norm uses the batch in training, whose statistics move, and these in prediction.
fn running_statistics_move_in_training(device: &Device) {
    let graph = {
        let g = GraphBuilder::new("cnn");
        let n = || sym("batch", 1..=16);
        let (x, class) =
            (g.input("x", f32([n(), 1.into(), 6.into(), 6.into()])), g.input("class", i32([n()])));
        let y = g.conv(
            x,
            g.param("conv.weight", f32([4, 1, 3, 3])),
            None,
            Conv { pads: vec![1; 4], ..Conv::default() },
        );
        let [scale, shift] = ["norm.weight", "norm.bias"].map(|name| g.param(name, f32([4])));
        let [mean, var] = ["norm.mean", "norm.var"].map(|name| g.state(name, f32([4])));
        let op = BatchNormTraining { momentum: 0.5, ..BatchNormTraining::default() };
        let y = g.relu(g.batch_norm_training(y, scale, shift, mean, var, op));
        let y = g.linear(g.reshape(y, &[-1, 144]), g.param("fc.weight", f32([2, 144])), None);
        let (loss, weight) = g.softmax_cross_entropy(y, class, None, Default::default());
        g.output("loss", loss);
        g.output("weight", weight);
        g.output("logits", y);
        g.build().expect("sound")
    };
    let images = |seed: u64| {
        let x = numbers(seed, 8 * 36);
        let class: Vec<i32> = x.chunks(36).map(|c| i32::from(c[0] > c[35])).collect();
        let (x, class) = (Tensor::new(&x, &[8, 1, 6, 6]), Tensor::new(&class, &[8]));
        Batch::new().with("x", x.expect("8 images")).with("class", class.expect("8 classes"))
    };
    let recipe = Recipe::new(Sgd { momentum: 0.9, ..Sgd::default() }).schedule(Schedule::constant(0.05));
    let mut trainer = trainer(&graph, &recipe, device);
    let losses: Vec<f64> =
        trainer.run((0..80).map(|i| images(i % 8))).map(|r| r.expect("a step").loss).collect();
    assert!(losses[79] < 0.5 * losses[0], "{} {}", losses[0], losses[79]);
    let mean = floats(&trainer.state("norm.mean").expect("a state"));
    assert!(mean.iter().all(|m| *m != 0.0));
    trainer.evaluate([images(1)]).expect("evaluated");
    assert_eq!(floats(&trainer.state("norm.mean").expect("a state")), mean);
    let one = numbers(1, 36);
    let logits =
        trainer.predict(&[("x", TensorView::f32(&one, [1, 1, 6, 6]))], &["logits"]).expect("predicted");
    assert!(floats(&logits[0]).iter().all(|l| l.is_finite()));
}

/// A batch without rows has no statistics, and one of huge values none that f32 holds: they stay what they were, though
/// the loss is finite.
fn statistics_stay_finite(device: &Device) {
    let graph = {
        let g = GraphBuilder::new("normed");
        let n = || sym("batch", 0..=16);
        let (x, y) = (g.input("x", f32([n(), 4.into()])), g.input("y", f32([n(), 4.into()])));
        let [scale, shift] = ["norm.weight", "norm.bias"].map(|name| g.param(name, f32([4])));
        let [mean, var] = ["norm.mean", "norm.var"].map(|name| g.state(name, f32([4])));
        let normed = g.batch_norm_training(x, scale, shift, mean, var, BatchNormTraining::default());
        let (loss, weight) = g.mse(normed, y, Mse { reduction: LossReduction::MeanOrZero });
        g.output("loss", loss);
        g.output("weight", weight);
        g.build().expect("sound")
    };
    let mut trainer = trainer(&graph, &Recipe::new(Sgd::default()), device);
    let batch = |rows: u64, x: f32| {
        let x: Vec<f32> = numbers(rows, 4 * rows as usize).into_iter().map(|v| v * x).collect();
        let y = vec![0.5f32; 4 * rows as usize];
        let [x, y] = [x, y].map(|v| Tensor::new(&v, &[rows, 4]).expect("rows"));
        Batch::new().with("x", x).with("y", y)
    };
    let statistics = |trainer: &mut Trainer| {
        ["norm.mean", "norm.var"].map(|name| floats(&trainer.state(name).expect("a state")))
    };
    trainer.run([batch(4, 1.0)]).for_each(|r| assert!(r.expect("a step").made));
    let before = statistics(&mut trainer);
    assert!(before.iter().flatten().all(|v| v.is_finite() && *v != 0.0));
    let empty = trainer.run([batch(0, 1.0)]).next().expect("one").expect("nothing to learn");
    assert!(!empty.made && empty.loss == 0.0);
    assert_eq!(statistics(&mut trainer), before);
    trainer.run([batch(4, 1e25)]).for_each(|r| assert!(r.expect("a step").made));
    let [mean, var] = statistics(&mut trainer);
    assert!(mean.iter().all(|v| v.is_finite()) && mean != before[0]);
    assert_eq!(var, before[1], "a variance of 1e50 is no f32");
}

#[test]
fn statistics_on_the_interpreter() {
    running_statistics_move_in_training(&Device::cpu());
    statistics_stay_finite(&Device::cpu());
}

mod on_device {
    use super::*;

    fn open() -> Device {
        pumice_tests::device::facade()
    }

    #[test]
    fn statistics_move() {
        running_statistics_move_in_training(&open());
    }

    #[test]
    fn statistics_stay() {
        statistics_stay_finite(&open());
    }
}
