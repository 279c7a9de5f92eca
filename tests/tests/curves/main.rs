//! Training beside PyTorch (`tests/reference/curves.py`): a perceptron and a CNN with batch norm on handwritten digits,
//! a GPT of characters, a MiniLM on pairs of texts; from the same weights, by the same batches.
//!
//! Two runs in f32 drift apart, so what is allowed is measured by PyTorch's own: five times as far from its f64 as its
//! f32 was, in gradients before the first step, and in losses over the first 10 steps and over all.

mod minilm;

use pumice::train::{TrainOptions, Trainer};
use pumice::{Device, Options, Tensor};
use pumice_plan::Precision;
use pumice_tests::curves::{self, Golden, Model};

/// How many times as far as PyTorch's f32.
const TIMES: f64 = 5.0;
/// Steps over which rounding has not been multiplied yet.
const FIRST: usize = 10;

/// The gradients before the first step, tensor by tensor.
fn gradients(model: &dyn Model, device: &Device) {
    let golden = Golden::read(model.name());
    let graph = curves::with_gradients(model, &golden);
    let exe = pumice::compile(&graph, device, &Options::default()).expect("it compiles");
    let values = golden.first_values();
    for (tensor, values) in golden.tensors.iter().zip(&values) {
        let value = Tensor::new(values, &tensor.1).expect("as many");
        exe.set_param_view(&tensor.0, value.view()).expect("a param");
    }
    let mut session = exe.session().expect("a session");
    let found = session.run(&model.batch(&golden, 0).views()).expect("it runs");
    let mut worst = 0.0f64;
    for (i, (tensor, wanted)) in golden.judged().zip(golden.gradients()).enumerate() {
        let found =
            found.get(&curves::gradient_of(&tensor.0)).expect("an output").to_vec::<f32>().expect("f32");
        let kept = found.iter().step_by(golden.every[i]);
        let (off, size) = kept.zip(&wanted).fold((0.0, 0.0), |(off, size), (x, y)| {
            let (x, y) = (f64::from(*x), f64::from(*y));
            (off + (x - y) * (x - y), size + y * y)
        });
        assert!(size > 0.0 && found.len().div_ceil(golden.every[i]) == wanted.len(), "{}", tensor.0);
        let (apart, allowed) = ((off / size).sqrt(), TIMES * golden.gradients_apart[i] + 1e-6);
        worst = worst.max(apart / allowed);
        assert!(apart <= allowed, "{}, {}: {apart:e}, {allowed:e} allowed", golden.name, tensor.0);
    }
    println!("{} on {}: gradients at {worst:.2} of what is allowed", golden.name, device.name());
}

/// Losses of so many steps.
fn losses(model: &dyn Model, device: &Device, precision: Precision, steps: usize) -> Vec<f64> {
    let golden = Golden::read(model.name());
    let options = TrainOptions::default().compile(Options::default().precision(precision));
    let mut trainer =
        Trainer::new(&model.graph(&golden), &model.recipe(), device, &options).expect("a trainer");
    for (tensor, values) in golden.tensors.iter().zip(golden.first_values()) {
        trainer.set(&tensor.0, Tensor::new(&values, &tensor.1).expect("as many").view()).expect("a param");
    }
    let batches = (0..steps).map(|step| model.batch(&golden, step as u32));
    trainer.run(batches).map(|report| report.expect("a step").loss).collect()
}

/// The curve of f32 beside PyTorch's in f64.
fn curve(model: &dyn Model, device: &Device, steps: usize) {
    let golden = Golden::read(model.name());
    let losses = losses(model, device, Precision::Exact, steps);
    assert_eq!((losses.len(), golden.losses.len()), (steps, model.steps()));
    let judged = |steps: usize, apart: f64, more: f64| {
        let mut worst = (0.0f64, 0.0f64, 0);
        for (step, (found, wanted)) in losses.iter().zip(&golden.losses).take(steps).enumerate() {
            let allowed = TIMES * apart + 1e-5 * wanted.abs() + more;
            let off = (found - wanted).abs();
            assert!(off <= allowed, "{}, step {step}: {found}, not {wanted}, ±{allowed:e}", golden.name);
            worst = if off / allowed > worst.0 { (off / allowed, off, step) } else { worst };
        }
        let (name, (share, off, step)) = (device.name(), worst);
        println!(
            "{} on {name}: {off:.2e} off at step {step} of {steps}, {share:.2} of what is allowed",
            golden.name
        );
    };
    judged(FIRST, golden.first_10_apart, 0.0);
    if steps > FIRST {
        judged(steps, golden.apart, 1e-4);
    }
}

/// Factors of products rounded to 16 bits: the last losses are on the whole those of f32.
fn halves(model: &dyn Model, device: &Device) {
    let exact = losses(model, device, Precision::Exact, model.steps());
    let last = |losses: &[f64]| losses[losses.len() - 20..].iter().sum::<f64>() / 20.0;
    for precision in [Precision::Bf16, Precision::F16] {
        let (found, wanted) = (last(&losses(model, device, precision, exact.len())), last(&exact));
        println!("{} in {precision:?}: {found}, in f32 {wanted}", model.name());
        assert!(
            (found - wanted).abs() <= 0.02 * wanted.abs() + 0.02,
            "{}: {found}, not {wanted}",
            model.name()
        );
    }
}

mod on_interpreter {
    use super::*;

    fn first_steps(model: &dyn Model) {
        gradients(model, &Device::cpu());
        curve(model, &Device::cpu(), FIRST);
    }

    #[test]
    fn a_perceptron() {
        first_steps(&curves::Mlp);
    }

    #[test]
    fn a_cnn_with_batch_norm() {
        first_steps(&curves::Cnn);
    }

    #[test]
    fn a_gpt_of_characters() {
        first_steps(&curves::Gpt);
    }

    #[test]
    fn a_minilm_on_pairs() {
        first_steps(&minilm::MiniLm);
    }
}

mod on_device {
    use super::*;

    fn open() -> Device {
        pumice_tests::device::facade()
    }

    fn all_steps(model: &dyn Model) {
        let device = open();
        gradients(model, &device);
        curve(model, &device, model.steps());
    }

    #[test]
    fn a_perceptron() {
        all_steps(&curves::Mlp);
    }

    #[test]
    fn a_cnn_with_batch_norm() {
        all_steps(&curves::Cnn);
    }

    #[test]
    fn a_gpt_of_characters() {
        all_steps(&curves::Gpt);
    }

    #[test]
    #[ignore = "long: sixty steps of six layers, for GPUs"]
    fn a_minilm_on_pairs() {
        all_steps(&minilm::MiniLm);
    }

    #[test]
    fn a_perceptron_in_halves() {
        halves(&curves::Mlp, &open());
    }

    #[test]
    #[ignore = "long: six hundred steps of a CNN"]
    fn a_cnn_in_halves() {
        halves(&curves::Cnn, &open());
    }

    #[test]
    #[ignore = "long: six hundred steps of a GPT"]
    fn a_gpt_in_halves() {
        halves(&curves::Gpt, &open());
    }

    #[test]
    #[ignore = "long: a hundred and eighty steps of a MiniLM"]
    fn a_minilm_in_halves() {
        halves(&minilm::MiniLm, &open());
    }
}
