//! Micro-batches through compiler, kernels and sessions: a batch that is cut makes the update of the whole one, what is
//! not finite in one of them changes nothing, and memory decides how many rows one has.

use pumice::ops::{BatchNormTraining, SoftmaxCrossEntropy};
use pumice::train::{
    AdamW, Batch, Init, MicroBatch, Recipe, Report, Schedule, Sgd, TrainOptions, Trainer, TrainerError,
    micro_batch_sizes, names,
};
use pumice::{
    Bytes, Device, DeviceKind, Graph, GraphBuilder, OptOptions, Options, Precision, Tensor, TensorView, f32,
    i32, sym,
};
use pumice_cpu_ref::interp::Interpreter;
use pumice_cpu_ref::{CustomCall, CustomFailure, CustomOp, CustomOps, CustomTypes};
use pumice_ir::ValueType;
use pumice_plan::CheckedPlan;
use pumice_runtime::{DeviceError, HostOps, Loaded};
use pumice_tests::draws;
use pumice_types::Target;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Numbers in [-1, 1) that follow from their place.
fn numbers(seed: u64, count: usize) -> Vec<f32> {
    draws::numbers(seed, count).into_iter().map(|v| 2.0 * v - 1.0).collect()
}

const TOKENS: usize = 6;
const CLASSES: u64 = 5;

/// Sequences of tokens, each of which has a class or none: `weight` is how many have one.
fn tokens() -> Graph {
    let g = GraphBuilder::new("tokens");
    let n = || sym("batch", 1..=32);
    let (x, class) = (
        g.input("x", f32([n(), (TOKENS as u64).into(), 8.into()])),
        g.input("class", i32([n(), (TOKENS as u64).into()])),
    );
    let h = g.gelu(g.linear(x, g.param("fc1.weight", f32([24, 8])), Some(g.param("fc1.bias", f32([24])))));
    let h = g.mul(h, g.input("gains", f32([24])));
    let y = g.linear(h, g.param("fc2.weight", f32([CLASSES, 24])), Some(g.param("fc2.bias", f32([CLASSES]))));
    let op = SoftmaxCrossEntropy { ignore_index: Some(-100), ..SoftmaxCrossEntropy::default() };
    let (loss, weight) = g.softmax_cross_entropy(g.transpose(y, &[0, 2, 1]), class, None, op);
    g.output("loss", loss);
    g.output("weight", weight);
    g.output("logits", y);
    g.build().expect("sound")
}

/// Rows of unlike numbers of tokens: of row r the first 1 + 5r mod 6 count.
fn rows_of_tokens(seed: u64, rows: usize) -> (Vec<f32>, Vec<i32>) {
    let x = numbers(seed, rows * TOKENS * 8);
    let counts = |r: usize, t: usize| t <= (5 * r) % TOKENS;
    let class = (0..rows * TOKENS).map(|i| {
        let best = i32::from(x[8 * i] > 0.0) + 2 * i32::from(x[8 * i + 1] > 0.0);
        if counts(i / TOKENS, i % TOKENS) { best } else { -100 }
    });
    let class = class.collect();
    (x, class)
}

fn gains() -> Tensor {
    Tensor::new(&[0.5f32; 24], &[24]).expect("24")
}

fn batch(seed: u64, rows: usize) -> Batch {
    let (x, class) = rows_of_tokens(seed, rows);
    let n = rows as u64;
    let (x, class) = (Tensor::new(&x, &[n, TOKENS as u64, 8]), Tensor::new(&class, &[n, TOKENS as u64]));
    Batch::new().with("x", x.expect("rows")).with("gains", gains()).with("class", class.expect("rows"))
}

fn recipe() -> Recipe {
    Recipe::new(AdamW::default()).schedule(Schedule::constant(0.02)).clip_norm(1.0).rows_apart("batch")
}

fn trainer(graph: &Graph, recipe: &Recipe, device: &Device, micro_batch: impl Into<MicroBatch>) -> Trainer {
    let options = TrainOptions::default().micro_batch(micro_batch);
    let mut trainer = Trainer::new(graph, recipe, device, &options).expect("a trainer");
    trainer.init(&Init::torch(), 7).expect("every param has a rule");
    trainer
}

fn floats(tensor: &Tensor) -> Vec<f32> {
    tensor.to_vec::<f32>().expect("f32")
}

fn weights(trainer: &mut Trainer) -> Vec<Vec<f32>> {
    let names: Vec<String> = trainer.trained().iter().map(|t| t.name.clone()).collect();
    names.iter().map(|name| floats(&trainer.get(name).expect("a weight"))).collect()
}

/// |a - b| over |b|, of all values together.
fn apart(a: &[f32], b: &[f32]) -> f64 {
    let square = |x: f32| f64::from(x) * f64::from(x);
    let (d, n) = a.iter().zip(b).fold((0.0, 0.0), |(d, n), (x, y)| (d + square(x - y), n + square(*y)));
    d.sqrt() / (n.sqrt() + 1e-30)
}

fn near(cut: &Report, whole: &Report) {
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-5 * b.abs();
    assert!(
        close(cut.loss, whole.loss)
            && close(cut.weight, whole.weight)
            && (cut.norm - whole.norm).abs() < 1e-4 * whole.norm,
        "{cut:?} {whole:?}"
    );
    assert_eq!((cut.step, cut.made, cut.rate), (whole.step, true, whole.rate));
}

/// Four micro-batches of unlike token counts, the last one of fewer rows, make the update of their batch. So do those
/// of two batches.
fn cut_batches_are_whole_ones(device: &Device) {
    for (runs, micro) in [(1u32, 4), (2, 8)] {
        let recipe = recipe().accumulate(runs);
        let mut at_once = trainer(&tokens(), &recipe, device, MicroBatch::Whole);
        let mut in_parts = trainer(&tokens(), &recipe, device, micro);
        assert_eq!((at_once.plan().micro_batch(), in_parts.plan().micro_batch()), (None, Some(micro)));
        let batches = || (1..=3 * u64::from(runs)).map(|i| batch(i, 14 + i as usize % 2));
        let whole: Vec<Report> = at_once.run(batches()).map(|r| r.expect("a step")).collect();
        let cut: Vec<Report> = in_parts.run(batches()).map(|r| r.expect("a step")).collect();
        assert_eq!((whole.len(), cut.len()), (3, 3));
        cut.iter().zip(&whole).for_each(|(cut, whole)| near(cut, whole));
        for (a, b) in weights(&mut in_parts).iter().zip(weights(&mut at_once)) {
            assert!(apart(a, &b) < 1e-4, "{}", apart(a, &b));
        }
        let [a, b] = [&mut in_parts, &mut at_once]
            .map(|t| t.evaluate([batch(9, 15), batch(8, 2)]).expect("evaluated"));
        assert!(
            (a.loss - b.loss).abs() < 1e-4 * b.loss && a.weight == b.weight && a.batches == 2,
            "{a:?} {b:?}"
        );
        // All rows are predicted at once.
        let x = numbers(3, 32 * TOKENS * 8);
        let (gains, x) = (gains(), TensorView::f32(&x, [32, TOKENS as u64, 8]));
        let logits = in_parts.predict(&[("x", x), ("gains", gains.view())], &["logits"]).expect("predicted");
        assert_eq!(logits[0].shape(), [32, TOKENS as u64, CLASSES]);
    }
}

/// Micro-batches are replays as batches are: of the same bits, whatever a submission has.
fn submissions_have_the_same_bits(device: &Device) {
    let ends = |steps: u32, runs: u32| {
        let recipe = recipe().accumulate(runs).steps_per_submission(steps);
        let mut trainer = trainer(&tokens(), &recipe, device, 4);
        let batches = (1..=7).map(|i| batch(i, if i == 3 { 9 } else { 14 }));
        let reports: Vec<_> = trainer.run(batches).map(|r| r.expect("a step")).collect();
        let bits = |r: &Report| [r.loss, r.weight, r.norm].map(f64::to_bits);
        (reports.iter().map(bits).collect::<Vec<_>>(), weights(&mut trainer))
    };
    for runs in [1, 2] {
        let one = ends(1, runs);
        assert_eq!(one.0.len(), 7usize.div_ceil(runs as usize));
        for steps in [3, 32] {
            assert_eq!(ends(steps, runs), one, "{steps} steps a submission");
        }
    }
}

/// A batch of a data set is cut by its index, to the bits of a batch of the rows.
fn data_sets_are_cut_by_their_index(device: &Device) {
    let (x, class) = rows_of_tokens(5, 40);
    let index: Vec<i32> = (0..14).map(|i| (i * 17 + 3) % 40).collect();
    let row = |values: &[f32], i: i32| values[i as usize * TOKENS * 8..][..TOKENS * 8].to_vec();
    let picked: Vec<f32> = index.iter().flat_map(|&i| row(&x, i)).collect();
    let classes: Vec<i32> =
        index.iter().flat_map(|&i| class[i as usize * TOKENS..][..TOKENS].to_vec()).collect();
    let tensors =
        (Tensor::new(&picked, &[14, TOKENS as u64, 8]), Tensor::new(&classes, &[14, TOKENS as u64]));
    let given = Batch::new().with("x", tensors.0.expect("rows")).with("class", tensors.1.expect("rows"));
    for steps in [1, 8] {
        let recipe = recipe().steps_per_submission(steps);
        let mut of_rows = trainer(&tokens(), &recipe, device, 4);
        let mut of_data = trainer(&tokens(), &recipe.data_set(40, ["x", "class"]), device, 4);
        of_data.set_data("x", TensorView::f32(&x, [40, TOKENS as u64, 8])).expect("rows");
        of_data.set_data("class", TensorView::i32(&class, [40, TOKENS as u64])).expect("rows");
        let by_index = Batch::rows(&index).with("gains", gains());
        let a = of_data.update(&[by_index]).expect("made");
        let b = of_rows.update(&[given.clone().with("gains", gains())]).expect("made");
        assert_eq!(
            [a.loss, a.weight, a.norm].map(f64::to_bits),
            [b.loss, b.weight, b.norm].map(f64::to_bits)
        );
        assert_eq!(weights(&mut of_data), weights(&mut of_rows));
    }
}

/// A line without a weight: micro-batches weigh their share of the rows.
fn line() -> Graph {
    let g = GraphBuilder::new("line");
    let n = || sym("n", 2..=64);
    let (x, y) = (g.input("x", f32([n(), 3.into()])), g.input("y", f32([n(), 1.into()])));
    let guess = g.linear(x, g.param("line.weight", f32([1, 3])), Some(g.param("line.bias", f32([1]))));
    g.output("loss", g.mse(guess, y, Default::default()).0);
    g.output("guess", guess);
    g.build().expect("sound")
}

fn line_batch(rows: usize, far: Option<usize>) -> Batch {
    let (x, mut y) = (numbers(4, rows * 3), numbers(5, rows));
    far.into_iter().for_each(|row| y[row] = 40.0);
    let n = rows as u64;
    let (x, y) = (Tensor::new(&x, &[n, 3]), Tensor::new(&y, &[n, 1]));
    Batch::new().with("x", x.expect("rows")).with("y", y.expect("rows"))
}

fn shares_of_rows(device: &Device) {
    let recipe = Recipe::new(Sgd::default()).schedule(Schedule::constant(0.1)).rows_apart("n");
    let mut at_once = trainer(&line(), &recipe, device, MicroBatch::Whole);
    for steps in [1, 4] {
        let mut at_once_again = trainer(&line(), &recipe, device, MicroBatch::Whole);
        let mut in_parts = trainer(&line(), &recipe.clone().steps_per_submission(steps), device, 4);
        for _ in 0..3 {
            let [whole, cut] =
                [&mut at_once_again, &mut in_parts].map(|t| t.update(&[line_batch(14, None)]).expect("made"));
            near(&cut, &whole);
        }
        for (a, b) in weights(&mut in_parts).iter().zip(weights(&mut at_once_again)) {
            assert!(apart(a, &b) < 1e-5, "{}", apart(a, &b));
        }
        let [a, b] = [&mut in_parts, &mut at_once]
            .map(|t| t.evaluate([line_batch(14, None)]).expect("evaluated").weight);
        assert!((a - b).abs() < 1e-6, "{a} {b}");
        // Nothing of a batch runs that cannot be cut.
        let before = weights(&mut in_parts);
        for (rows, said) in [
            (65, "the graph takes n=2..=64"),
            (13, "in micro-batches of 4 it leaves 1, and the graph takes 2 at least"),
        ] {
            let told = in_parts.update(&[line_batch(rows, None)]).expect_err("it cannot be cut");
            assert_eq!(told.to_string(), format!("a batch has {rows} rows along `n`: {said}"));
        }
        let y = Tensor::new(&[0.0f32; 9], &[9, 1]).expect("nine");
        let x = Tensor::new(&[0.0f32; 30], &[10, 3]).expect("ten");
        let told = in_parts.update(&[Batch::new().with("x", x).with("y", y)]).expect_err("unlike rows");
        assert_eq!(told.to_string(), "a batch has 10 rows along `n`: `y` has 9");
        assert_eq!(weights(&mut in_parts), before);
    }
}

/// Of four micro-batches one has a gradient that f16 does not hold: nothing moves, the scale halves, and the next
/// update is sound.
fn an_infinite_micro_batch_changes_nothing(device: &Device) {
    let recipe = Recipe::new(AdamW::default()).schedule(Schedule::constant(0.01)).rows_apart("n");
    for steps in [1, 8] {
        let recipe = recipe.clone().steps_per_submission(steps);
        let options =
            TrainOptions::default().micro_batch(4).compile(Options::default().precision(Precision::F16));
        let mut trainer = Trainer::new(&line(), &recipe, device, &options).expect("a trainer");
        trainer.init(&Init::torch(), 7).expect("every param has a rule");
        let small = line_batch(16, None);
        // Until the scale is one that the gradients of ordinary batches bear.
        let sound =
            (0..20).filter(|_| trainer.update(std::slice::from_ref(&small)).expect("a step").made).count();
        assert!(sound > 2, "{sound}");
        let kept = |trainer: &mut Trainer| {
            let slots = ["m", "v"]
                .map(|s| trainer.state(&names::slot("line.weight", s)).expect("a slot").bytes().to_vec());
            (weights(trainer), slots, trainer.state(names::UPDATES).expect("a count").bytes().to_vec())
        };
        let scale = |trainer: &mut Trainer| floats(&trainer.state(names::SCALE).expect("a scale"))[0];
        let (before, scale_before) = (kept(&mut trainer), scale(&mut trainer));
        let report = trainer.update(&[line_batch(16, Some(9))]).expect("the loss is finite, so it goes on");
        assert!(!report.made && report.loss.is_finite() && report.weight == 1.0, "{report:?}");
        assert_eq!(kept(&mut trainer), before);
        assert_eq!(scale(&mut trainer), scale_before / 2.0);
        let next = trainer.update(&[small]).expect("a step");
        assert!(next.made && next.step == report.step + 1 && next.loss.is_finite(), "{next:?}");
    }
}

/// Batch norm of micro-batches of rows of two channels, with momentum 0.5 as PyTorch counts it.
fn normed() -> Graph {
    let g = GraphBuilder::new("norm");
    let n = || sym("n", 2..=64);
    let (x, y) = (g.input("x", f32([n(), 2.into()])), g.input("y", f32([n(), 2.into()])));
    let [gamma, beta] = ["norm.weight", "norm.bias"].map(|name| g.param(name, f32([2])));
    let [mean, variance] = ["norm.mean", "norm.var"].map(|name| g.state(name, f32([2])));
    let op = BatchNormTraining { momentum: 0.5, unbiased_running: true, ..BatchNormTraining::default() };
    let guess = g.batch_norm_training(x, gamma, beta, mean, variance, op);
    let (loss, weight) = g.mse(guess, y, Default::default());
    g.output("loss", loss);
    g.output("weight", weight);
    g.build().expect("sound")
}

/// One update of γ and β by SGD of rate 0.1, and the running statistics, of rows of two channels in micro-batches of so
/// many: `[γ, β, mean, variance]`, as PyTorch's loop over micro-batches with gradients of the sum of squares over all.
fn normed_by_formula(x: &[f32], y: &[f32], micro: usize) -> [[f64; 2]; 4] {
    let (gamma, beta) = (1.0, 0.0);
    let mut made = [[gamma; 2], [beta; 2], [0.0; 2], [0.0; 2]];
    let all = x.len() as f64;
    for c in 0..2 {
        let (mut of_gamma, mut of_beta) = (0.0, 0.0);
        for (x, y) in x.chunks(2 * micro).zip(y.chunks(2 * micro)) {
            let channel =
                |values: &[f32]| values.chunks(2).map(|row| f64::from(row[c])).collect::<Vec<f64>>();
            let (x, y) = (channel(x), channel(y));
            let n = x.len() as f64;
            let mean = x.iter().sum::<f64>() / n;
            let variance = x.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
            for (x, y) in x.iter().zip(&y) {
                let unit = (x - mean) / (variance + f64::from(1e-5f32)).sqrt();
                let upstream = 2.0 * (gamma * unit + beta - y) / all;
                of_gamma += upstream * unit;
                of_beta += upstream;
            }
            made[2][c] = 0.5 * made[2][c] + 0.5 * mean;
            made[3][c] = 0.5 * made[3][c] + 0.5 * variance * n / (n - 1.0);
        }
        made[0][c] -= 0.1 * of_gamma;
        made[1][c] -= 0.1 * of_beta;
    }
    made
}

fn batch_norm_is_that_of_micro_batches(device: &Device) {
    let recipe =
        Recipe::new(Sgd::default()).schedule(Schedule::constant(0.1)).rows_apart("n").per_micro_batch();
    let (x, y) = (numbers(11, 14 * 2), numbers(12, 14 * 2));
    let tensor = |values: &[f32]| Tensor::new(values, &[14, 2]).expect("14 rows");
    let batch = Batch::new().with("x", tensor(&x)).with("y", tensor(&y));
    let after = |micro: MicroBatch, steps: u32| {
        let recipe = recipe.clone().steps_per_submission(steps);
        let mut trainer = trainer(&normed(), &recipe, device, micro);
        trainer.update(std::slice::from_ref(&batch)).expect("made");
        let param = |trainer: &mut Trainer, name: &str| floats(&trainer.get(name).expect("a weight"));
        let state = |trainer: &mut Trainer, name: &str| floats(&trainer.state(name).expect("a state"));
        let params = ["norm.weight", "norm.bias"].map(|name| param(&mut trainer, name));
        let states = ["norm.mean", "norm.var"].map(|name| state(&mut trainer, name));
        [params, states].concat()
    };
    for (micro, size, steps) in
        [(MicroBatch::Rows(4), 4, 1), (MicroBatch::Rows(4), 4, 8), (MicroBatch::Whole, 14, 1)]
    {
        let expected = normed_by_formula(&x, &y, size);
        for (made, expected) in after(micro, steps).iter().zip(expected) {
            let off = made.iter().zip(expected).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-5, "{micro:?}: {made:?} {expected:?}");
        }
    }
    let [cut, whole] = [4, 14].map(|size| normed_by_formula(&x, &y, size));
    assert!((cut[3][0] - whole[3][0]).abs() > 1e-3, "they are not the same");
}

/// A batch that cannot be cut, or does not fit, is found before anything of its update runs, those before it in the
/// same update included; updates before that one are made, however many a submission has.
fn nothing_of_an_update_runs_that_cannot_end(device: &Device) {
    let rows = |rows: usize, width: usize| {
        let tensor = |seed: u64, width: usize| {
            Tensor::new(&numbers(seed, rows * width), &[rows as u64, width as u64]).expect("rows")
        };
        Batch::new().with("x", tensor(3, width)).with("y", tensor(4, 2))
    };
    let every = |trainer: &mut Trainer| {
        let names: BTreeSet<String> =
            trainer.executable().plan().states.iter().map(|s| s.name.clone()).collect();
        let kept = names.into_iter().filter(|name| name != names::REPORTS);
        kept.map(|name| (name.clone(), trainer.state(&name).expect("a state").bytes().to_vec()))
            .collect::<Vec<_>>()
    };
    let recipe =
        Recipe::new(Sgd::default()).schedule(Schedule::constant(0.1)).rows_apart("n").per_micro_batch();
    let unlike = Batch::new().with("x", Tensor::new(&[0.5f32; 6], &[3, 2]).expect("three"));
    let cases = [
        (MicroBatch::Rows(4), rows(13, 2), "in micro-batches of 4 it leaves 1"),
        (MicroBatch::Rows(4), rows(8, 3), "input `x`: axis 1 is 2, 3 was given"),
        (MicroBatch::Whole, rows(65, 2), "axis 0 of input"),
        (
            MicroBatch::Whole,
            unlike.clone().with("y", Tensor::new(&[0.5f32; 8], &[4, 2]).expect("four")),
            "`n`",
        ),
        (
            MicroBatch::Whole,
            unlike.with("z", Tensor::new(&[0.5f32; 6], &[3, 2]).expect("three")),
            "no input `z`",
        ),
    ];
    for (micro, bad, said) in cases {
        let ends = [1, 3, 16].map(|steps| {
            let recipe = recipe.clone().accumulate(2).steps_per_submission(steps);
            let mut trainer = trainer(&normed(), &recipe, device, micro);
            let batches = [rows(14, 2), rows(12, 2), rows(10, 2), bad.clone(), rows(8, 2), rows(6, 2)];
            let mut reports: Vec<_> = trainer.run(batches).collect();
            let told = reports.pop().expect("one at least").expect_err("it does not fit").to_string();
            assert!(told.contains(said), "{steps} steps a submission: {told}");
            assert!(reports.len() == 1 && reports[0].as_ref().is_ok_and(|r| r.made), "{reports:?}");
            let made = every(&mut trainer);
            trainer.update(&[rows(10, 2), bad.clone()]).expect_err("it does not fit");
            assert_eq!(every(&mut trainer), made, "{steps} steps a submission: {said}");
            made
        });
        // What was made is what one update makes, statistics of its batches included.
        let mut one = trainer(&normed(), &recipe.clone().accumulate(2), device, micro);
        one.update(&[rows(14, 2), rows(12, 2)]).expect("made");
        let expected = every(&mut one);
        for made in &ends {
            assert_eq!(made, &expected, "{said}");
        }
    }
}

/// The fastest micro-batch of which the program keeps the memory, which is less the less memory there is: values that
/// are computed again make room first.
#[test]
fn memory_decides_the_micro_batch() {
    let of = |micro: MicroBatch, memory: u64| {
        let options = TrainOptions::default().micro_batch(micro).memory(memory);
        Trainer::new(&tokens(), &recipe(), &Device::cpu(), &options)
    };
    let bytes = |micro: MicroBatch| of(micro, u64::MAX).expect("there is enough").plan().bytes();
    let (whole, one) = (bytes(MicroBatch::Whole), bytes(MicroBatch::Rows(1)));
    assert!(one < whole && one <= bytes(MicroBatch::Rows(8)), "{whole} {one}");
    let mut rows_before = 32;
    for memory in [whole, one + (whole - one) / 2, one + (whole - one) / 8, one] {
        let mut trainer = of(MicroBatch::Auto, memory).expect("it fits");
        let rows = trainer.plan().micro_batch();
        assert!(trainer.plan().bytes() <= memory);
        assert!(
            rows.unwrap_or(32) <= rows_before && rows.is_none_or(|rows| [16, 8, 4, 2, 1].contains(&rows))
        );
        assert!(memory != whole || rows.is_none(), "whole batches fit");
        let line = rows.map(|rows| format!("\nmicro-batch  {rows} rows of batch=1..=32\n"));
        let text = trainer.plan().to_string();
        assert!(line.as_ref().map_or(!text.contains("micro-batch"), |line| text.contains(line)), "{text}");
        trainer.init(&Init::torch(), 7).expect("every param has a rule");
        assert!(trainer.update(&[batch(1, 15)]).expect("a step").made);
        rows_before = rows.unwrap_or(32);
    }
    assert!(rows_before < 16, "{rows_before}");
}

/// A device that others use as well.
struct Shared {
    device: Interpreter,
    free: u64,
}

impl pumice_runtime::Device for Shared {
    fn name(&self) -> String {
        self.device.name()
    }

    fn target(&self) -> &Target {
        self.device.target()
    }

    fn free_memory(&self) -> Option<Bytes> {
        Some(Bytes(self.free))
    }

    fn load(&self, plan: CheckedPlan, host: Arc<dyn HostOps>) -> Result<Arc<dyn Loaded>, DeviceError> {
        self.device.load(plan, host)
    }
}

/// Without a limit of one's own that of the device is what it has free, not what it has; and what it holds for inputs
/// and outputs counts.
#[test]
fn the_limit_is_what_the_device_has_free() {
    let of = |free: u64, memory: Option<u64>| {
        let shared = Shared { device: Interpreter::of_machine(), free };
        let device = Device::from_runtime(Arc::new(shared), DeviceKind::Interpreter);
        let options =
            memory.map_or_else(TrainOptions::default, |memory| TrainOptions::default().memory(memory));
        Trainer::new(&tokens(), &recipe(), &device, &options)
    };
    let all = of(1 << 30, None).expect("there is enough");
    let needed = all.plan().bytes();
    let regions = all.executable().plan().regions.iter().map(|region| region.size().0);
    assert_eq!(needed, regions.sum::<u64>(), "inputs and outputs are on the device as well");
    let same = of(needed, None).expect("as much as it takes");
    assert!(same.executable().plan().runs == all.executable().plan().runs, "nothing is computed again");
    let less = of(needed - 1, None).expect("it computes again");
    assert!(less.plan().bytes() < needed);
    assert!(less.executable().plan().runs.iter().any(|run| run.stats.again.is_some()));
    assert!(of(needed - 1, Some(needed)).expect("as the user says").plan().bytes() == needed);
    match of(4096, None) {
        Err(TrainerError::OutOfMemory { needed: least, available, .. }) => {
            assert_eq!(available, Bytes(4096));
            // What is told suffices, and a byte less does not.
            assert_eq!(of(least.0, None).expect("as much as is told").plan().bytes(), least.0);
            assert!(
                matches!(of(least.0 - 1, None), Err(TrainerError::OutOfMemory { needed, .. }) if needed == least)
            );
        }
        other => unreachable!("{other:?}"),
    }
}

/// What is told of chosen micro-batches is what the one takes that needs least, and suffices: of few activations that
/// is none at all, since sums of gradients take as much as the weights.
#[test]
fn what_is_needed_is_told_of_the_best_micro_batch() {
    let wide = {
        let g = GraphBuilder::new("wide");
        let x = g.input("x", f32([sym("batch", 1..=4), 128.into()]));
        g.output(
            "loss",
            g.reduce_mean(g.square(g.linear(x, g.param("w", f32([128, 128])), None)), &[], false),
        );
        g.build().expect("sound")
    };
    for (graph, rows_of_least) in [(tokens(), Some(1)), (wide, None)] {
        let of = |memory: u64| {
            let options = TrainOptions::default().micro_batch(MicroBatch::Auto).memory(memory);
            Trainer::new(&graph, &recipe(), &Device::cpu(), &options)
        };
        let told = |memory: u64| match of(memory) {
            Err(TrainerError::OutOfMemory { needed, rows, .. }) => (needed.0, rows),
            other => unreachable!("{other:?}"),
        };
        let (least, rows) = told(4096);
        assert_eq!(rows, rows_of_least);
        assert_eq!(of(least).expect("as much as is told").plan().bytes(), least);
        for memory in [least - 1, least / 2] {
            assert_eq!(told(memory), (least, rows));
        }
    }
}

/// An op of the user's that counts how often its types are asked for: a number of times for each program that is made.
#[derive(Clone, Default)]
struct Counted(Arc<AtomicUsize>);

impl CustomOp for Counted {
    fn types(&self, call: &CustomTypes<'_>) -> Result<Vec<ValueType>, CustomFailure> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(call.operands.to_vec())
    }

    fn run(&self, call: &CustomCall<'_>) -> Result<Vec<Tensor>, CustomFailure> {
        Ok(vec![call.result(0, &call.values::<i32>(0)?)?])
    }
}

/// Each size is compiled once, the smallest too, which is looked at first for what speaks against cutting.
#[test]
fn each_micro_batch_is_compiled_once() {
    let graph = {
        let g = GraphBuilder::new("counted");
        let n = || sym("n", 1..=64);
        let (x, class) = (g.input("x", f32([n(), 8.into()])), g.input("class", i32([n()])));
        let class = g.custom("test.counted", "", &[class], [i32([n()])])[0];
        let h = g.gelu(g.linear(x, g.param("fc1.weight", f32([64, 8])), None));
        let y = g.linear(h, g.param("fc2.weight", f32([4, 64])), None);
        let (loss, weight) = g.softmax_cross_entropy(y, class, None, Default::default());
        g.output("loss", loss);
        g.output("weight", weight);
        g.build().expect("sound")
    };
    let counted = Counted::default();
    let ops = CustomOps::new().with("test.counted", counted.clone()).expect("free");
    let device = Device::cpu().with_custom_ops(ops);
    let recipe = Recipe::new(Sgd::default()).rows_apart("n");
    let made = |micro: MicroBatch, memory: u64| {
        let compile = Options::default().opt(OptOptions::without("recompute"));
        let options = TrainOptions::default().micro_batch(micro).memory(memory).compile(compile);
        let before = counted.0.load(Ordering::SeqCst);
        let bytes = Trainer::new(&graph, &recipe, &device, &options).map(|trainer| trainer.plan().bytes());
        (bytes, counted.0.load(Ordering::SeqCst) - before)
    };
    let sizes = micro_batch_sizes(&graph, &recipe);
    let least = sizes.iter().map(|&rows| made(MicroBatch::Rows(rows), u64::MAX).0.expect("there is enough"));
    let least: Vec<u64> = least.collect();
    let fits = *least.iter().min().expect("seven sizes");
    // Where nothing fits, and where a small one does.
    for memory in [64, fits] {
        let tried = least.iter().position(|&bytes| bytes <= memory).map_or(sizes.len(), |first| first + 1);
        assert!(tried > 3, "{least:?}");
        let each: Vec<_> = sizes[..tried].iter().map(|&rows| made(MicroBatch::Rows(rows), memory)).collect();
        let counts: Vec<usize> = each.iter().map(|(_, count)| *count).collect();
        assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
        assert_eq!(made(MicroBatch::Auto, memory).1, counts.iter().sum::<usize>(), "{counts:?}");
    }
}

/// What is said of a program that needs more than there is.
#[test]
fn memory_that_does_not_suffice() {
    let told = |micro: MicroBatch, memory: u64| {
        let options = TrainOptions::default().micro_batch(micro).memory(memory);
        match Trainer::new(&tokens(), &recipe(), &Device::cpu(), &options) {
            Err(error @ TrainerError::OutOfMemory { needed, .. }) => {
                error.to_string().replace(&needed.to_string(), "N")
            }
            other => unreachable!("{other:?}"),
        }
    };
    let trainer = trainer(&tokens(), &recipe(), &Device::cpu(), 1);
    let region = |kind| trainer.executable().plan().region_size(kind).0;
    let kept = region(pumice_plan::RegionKind::States) + region(pumice_plan::RegionKind::Weights);
    assert_eq!(
        told(MicroBatch::Auto, 4096),
        format!(
            "the program needs N on the device even for micro-batches of 1 row, and has 4.0 KiB: weights, moments and \
             sums of gradients alone are {}; freeze params, take an optimizer that keeps less, or a device with more memory",
            pumice::Bytes(kept)
        )
    );
    let has = format!("and has {}: ", pumice::Bytes(kept));
    assert_eq!(
        told(MicroBatch::Auto, kept),
        format!(
            "the program needs N on the device even for micro-batches of 1 row, {has}lower the bounds of other symbols, \
             let `Recipe::predict` name fewer outputs, which take all rows at once, or take a device with more memory"
        )
    );
    let smaller = "smaller micro-batches need less (`MicroBatch::Auto`, along a symbol of `Recipe::rows_apart`), as do \
                   lower bounds of symbols";
    assert_eq!(
        told(MicroBatch::Whole, kept),
        format!("the program needs N on the device for whole batches, {has}{smaller}")
    );
    assert_eq!(
        told(MicroBatch::Rows(8), kept),
        format!("the program needs N on the device for micro-batches of 8 rows, {has}{smaller}")
    );
}

/// Ranges of the symbol are ranges of micro-batches, and what cannot be cut is refused whether memory suffices or not.
#[test]
fn options_of_micro_batches() {
    let ranges = Options::default().specialize("batch", [1, 8, 20]);
    for (predicts, expected) in [(true, 3), (false, 3)] {
        let recipe = if predicts { recipe() } else { recipe().predict::<&str>([]) };
        let options = TrainOptions::default().compile(ranges.clone()).micro_batch(16);
        let trainer = Trainer::new(&tokens(), &recipe, &Device::cpu(), &options).expect("a trainer");
        let plan = trainer.executable().plan();
        let runs = |entry: &str| plan.find_entry(entry).map(|entry| plan.runs_of(entry).count());
        assert_eq!((runs("accumulate"), runs("update"), runs("step")), (Some(expected), Some(1), None));
        assert_eq!(runs("predict"), predicts.then_some(4));
    }
    let all = trainer(&tokens(), &recipe(), &Device::cpu(), 32);
    assert_eq!(all.plan().micro_batch(), None, "that is the whole batch");
    let options = TrainOptions::default().micro_batch(MicroBatch::Auto);
    let told = Trainer::new(&tokens(), &Recipe::new(Sgd::default()), &Device::cpu(), &options);
    assert!(matches!(told, Err(TrainerError::Recipe(_))));
}

/// Tests on the interpreter, and on a Vulkan device.
macro_rules! on_devices {
    ($($name:ident)*) => {
        mod on_interpreter {
            $(
                #[test]
                fn $name() {
                    super::$name(&pumice::Device::cpu());
                }
            )*
        }

        mod on_device {
            use pumice::Device;

            fn open() -> Device {
                pumice_tests::device::facade()
            }

            $(
                #[test]
                fn $name() {
                    super::$name(&open());
                }
            )*
        }
    };
}
on_devices! { cut_batches_are_whole_ones submissions_have_the_same_bits data_sets_are_cut_by_their_index shares_of_rows an_infinite_micro_batch_changes_nothing nothing_of_an_update_runs_that_cannot_end batch_norm_is_that_of_micro_batches }
