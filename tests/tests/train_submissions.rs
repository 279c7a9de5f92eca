//! Several training steps in a submission: of the same bits as one, whatever happens inside, and with the same reports.

use pumice::ops::BatchNormTraining;
use pumice::train::{
    Adam, AdamW, Batch, Group, Init, OnNonfinite, Recipe, Report, Schedule, TrainOptions, Trainer,
    TrainerError, names,
};
use pumice::{Bindings, Device, DeviceKind, Graph, GraphBuilder, Tensor, TensorView, f32, i32, sym};
use pumice_cpu_ref::interp::Interpreter;
use pumice_plan::{CheckedPlan, Span, StepId};
use pumice_runtime::device::FillWeights;
use pumice_runtime::{DeviceError, DeviceSession, HostOps, Interrupt, Loaded, RuntimeError, StepTime};
use pumice_tests::draws::numbers;
use pumice_types::Target;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Instant;

/// Seven numbers a row; the first two say which of four classes it is of.
const WIDTH: usize = 7;

fn batch_of(x: &[f32]) -> Batch {
    let class: Vec<i32> =
        x.chunks(WIDTH).map(|row| i32::from(row[0] > 0.5) + 2 * i32::from(row[1] > 0.5)).collect();
    let rows = class.len() as u64;
    let (x, class) = (Tensor::new(x, &[rows, WIDTH as u64]), Tensor::new(&class, &[rows]));
    Batch::new().with("x", x.expect("whole rows")).with("class", class.expect("a class a row"))
}

fn points(seed: u64, rows: usize) -> Batch {
    batch_of(&numbers(seed, rows * WIDTH))
}

/// A batch with a number that is none.
fn infinite(rows: usize) -> Batch {
    let mut x = numbers(99, rows * WIDTH);
    x[WIDTH + 2] = f32::INFINITY;
    batch_of(&x)
}

/// 77 batches: one whose loss is not finite, some of another extent, and no whole number of anything at the end.
fn eventful() -> Vec<Batch> {
    let one = |i: u64| match i {
        9 => infinite(13),
        20 | 21 | 50 => points(i, 6),
        _ => points(i, 13),
    };
    (1..=77).map(one).collect()
}

/// What a net has beside two layers.
#[derive(Clone, Copy, Default)]
struct Has {
    dropout: bool,
    norm: bool,
    penalty: bool,
    /// Classes that the graph computes, so that nobody knows them before it runs.
    computed: bool,
}

fn network(has: Has) -> Graph {
    let g = GraphBuilder::new("mlp");
    let n = || sym("batch", 1..=64);
    let (x, class) = (g.input("x", f32([n(), (WIDTH as u64).into()])), g.input("class", i32([n()])));
    let w = g.param("fc1.weight", f32([16u64, WIDTH as u64]));
    let mut h = g.relu(g.linear(x, w, Some(g.param("fc1.bias", f32([16])))));
    if has.norm {
        let [scale, shift] = ["norm.weight", "norm.bias"].map(|name| g.param(name, f32([16])));
        let [mean, var] = ["norm.mean", "norm.var"].map(|name| g.state(name, f32([16])));
        let op = BatchNormTraining { momentum: 0.5, ..BatchNormTraining::default() };
        h = g.batch_norm_training(h, scale, shift, mean, var, op);
    }
    if has.dropout {
        h = g.dropout_training(h, 0.3).0;
    }
    let y = g.linear(h, g.param("fc2.weight", f32([4, 16])), Some(g.param("fc2.bias", f32([4]))));
    let class = if has.computed { g.abs(class) } else { class };
    let (loss, weight) = g.softmax_cross_entropy(y, class, None, Default::default());
    g.output("loss", loss);
    g.output("weight", weight);
    if has.penalty {
        g.output("penalty", g.reduce_mean(g.square(w), &[], false));
    }
    g.output("logits", y);
    g.build().expect("sound")
}

fn recipe() -> Recipe {
    Recipe::new(AdamW { weight_decay: 0.01, ..AdamW::default() })
        .schedule(Schedule::cosine(0.02).warmup(5).total(60))
        .group(Group::matching(["*.bias"]).weight_decay(0.0))
        .clip_norm(1.0)
        .on_nonfinite(OnNonfinite::Skip)
}

fn trainer(graph: &Graph, recipe: &Recipe, device: &Device) -> Trainer {
    let mut trainer = Trainer::new(graph, recipe, device, &TrainOptions::default()).expect("a trainer");
    trainer.init(&Init::torch(), 7).expect("every param has a rule");
    trainer
}

/// Every state but those that belong to the rows.
fn states(trainer: &mut Trainer) -> Vec<(String, Vec<u8>)> {
    let all: Vec<String> = trainer.executable().plan().states.iter().map(|s| s.name.clone()).collect();
    let kept = all.into_iter().filter(|name| name != names::REPORTS);
    let mut states: Vec<_> =
        kept.map(|name| (name.clone(), trainer.state(&name).expect("a state").bytes().to_vec())).collect();
    states.sort();
    states
}

/// All of a report but its seconds, to the bit.
fn bits(report: &Report) -> [u64; 7] {
    let Report { step, loss, weight, rate, norm, made, skips, .. } = *report;
    [step, loss.to_bits(), weight.to_bits(), rate.to_bits(), norm.to_bits(), made.into(), skips]
}

type Ended = (Vec<[u64; 7]>, Vec<(String, Vec<u8>)>);

/// Reports and states after these batches, with so many steps a submission.
fn ended(graph: &Graph, recipe: &Recipe, (device, steps): (&Device, u32), batches: &[Batch]) -> Ended {
    let mut trainer = trainer(graph, &recipe.clone().steps_per_submission(steps), device);
    let reports = trainer.run(batches.to_vec()).map(|report| bits(&report.expect("a step"))).collect();
    (reports, states(&mut trainer))
}

/// One step a submission is thirty-two, and both are themselves when they are done again.
fn same_bits(device: &Device) {
    let [dropout, norm, penalty] = [true; 3];
    let cases = [
        ("plain", Has::default(), recipe()),
        ("dropout", Has { dropout, ..Has::default() }, recipe()),
        ("batch norm", Has { norm, ..Has::default() }, recipe()),
        ("loss scale", Has { dropout, ..Has::default() }, recipe().loss_scale()),
        ("accumulation", Has { dropout, penalty, ..Has::default() }, recipe().accumulate(4)),
        ("all", Has { dropout, norm, penalty, ..Has::default() }, recipe().accumulate(4).loss_scale()),
    ];
    let batches = eventful();
    for (what, has, recipe) in cases {
        let graph = network(has);
        let (reports, states) = ended(&graph, &recipe, (device, 1), &batches);
        let left_out = reports.iter().filter(|report| report[5] == 0).count();
        assert!(left_out == 1, "{what}: {left_out} updates were left out");
        let of_rows = [5, 32, 32].map(|steps| ended(&graph, &recipe, (device, steps), &batches));
        for (other_reports, other_states) in of_rows {
            assert_eq!(other_reports, reports, "{what}");
            assert_eq!(other_states.len(), states.len(), "{what}");
            for (other, own) in other_states.iter().zip(&states) {
                assert_eq!(other, own, "{what}");
            }
        }
        println!("{what}: {} updates, {} states, of the same bits", reports.len(), states.len());
    }
}

/// A step that must stop stops the rest of its submission: nothing of later batches is learned.
fn a_stop_stops_the_rest(device: &Device) {
    let graph = network(Has { dropout: true, ..Has::default() });
    let recipe = recipe().on_nonfinite(OnNonfinite::Stop);
    for runs in [1u32, 2] {
        let ends = [1, 32].map(|steps| {
            let recipe = recipe.clone().accumulate(runs).steps_per_submission(steps);
            let mut trainer = trainer(&graph, &recipe, device);
            let mut reports: Vec<_> = trainer.run(eventful()).collect();
            let last = reports.pop().expect("one at least").expect_err("the ninth batch is not finite");
            assert!(matches!(last, TrainerError::NotFinite { .. }), "{last}");
            let reports: Vec<_> = reports.iter().map(|r| bits(r.as_ref().expect("a step"))).collect();
            let at_stop = states(&mut trainer);
            let next = trainer.run([points(1, 13)]).next().expect("one").expect("it goes on");
            assert!(next.made && next.skips == 1, "{next:?}");
            (reports, at_stop, last.to_string())
        });
        assert_eq!(ends[0].0.len(), 8 / runs as usize);
        assert_eq!(ends[0], ends[1]);
    }
}

/// A row whose class there is not.
fn beyond() -> Batch {
    let x = Tensor::new(&numbers(3, WIDTH), &[1, WIDTH as u64]).expect("a row");
    Batch::new().with("x", x).with("class", Tensor::new(&[4i32], &[1]).expect("one"))
}

/// What an op reports is told after the steps before it, and the trainer goes on where the device is.
fn reports_of_ops_are_told_in_their_place(device: &Device) {
    let batches = (0..12).map(|i| if i == 5 { beyond() } else { points(i, 1) });
    let graph = network(Has { computed: true, ..Has::default() });
    let mut trainer = trainer(&graph, &recipe().steps_per_submission(8), device);
    let reports: Vec<_> = trainer.run(batches).collect();
    assert_eq!(reports.len(), 6);
    assert!(reports[..5].iter().all(|r| r.as_ref().is_ok_and(|r| r.made)));
    let told = reports[5].as_ref().expect_err("there are four classes").to_string();
    assert!(told.contains("in replay 5"), "{told}");
    let count = trainer.state(names::UPDATES).expect("a count").to_vec::<i32>().expect("i32")[0];
    assert_eq!((trainer.updates(), count), (8, 8));
    let next = trainer.run([points(1, 2)]).next().expect("one").expect("it goes on");
    assert_eq!((next.step, next.weight), (9, 2.0));
}

/// A data set on the device: batches that are indices are batches of the rows they name, to the bit.
fn data_may_lie_on_the_device(device: &Device) {
    let rows = 50u64;
    let x = numbers(11, rows as usize * WIDTH);
    let class: Vec<i32> = (0..rows as i32).map(|i| i * 7 % 4).collect();
    let graph = network(Has { dropout: true, ..Has::default() });
    let index = |n: i32| (0..9 + n % 2).map(|i| (n * 13 + i * 7) % rows as i32).collect::<Vec<_>>();
    let picked = |n: i32| {
        let row = |i: i32| &x[i as usize * WIDTH..][..WIDTH];
        let index = index(n);
        let of_x: Vec<f32> = index.iter().flat_map(|&i| row(i).to_vec()).collect();
        let of_class: Vec<i32> = index.iter().map(|&i| class[i as usize]).collect();
        let (x, class) = (
            Tensor::new(&of_x, &[index.len() as u64, WIDTH as u64]),
            Tensor::new(&of_class, &[index.len() as u64]),
        );
        Batch::new().with("x", x.expect("rows")).with("class", class.expect("classes"))
    };
    for runs in [1, 3] {
        let (recipe, batches) = (recipe().accumulate(runs), (0..40).map(picked).collect::<Vec<_>>());
        let expected = ended(&graph, &recipe, (device, 1), &batches);
        for steps in [1, 32] {
            let recipe = recipe.clone().data_set(rows, ["x", "class"]).steps_per_submission(steps);
            let mut trainer = trainer(&graph, &recipe, device);
            let empty = trainer.run([Batch::rows(&[1])]).next().expect("one").expect_err("no data");
            let said = "no rows for the input x, class: give them by `Trainer::set_data`";
            assert_eq!(empty.to_string(), said);
            trainer.set_data("x", TensorView::f32(&x, [rows, WIDTH as u64])).expect("set");
            trainer.set_data("class", TensorView::i32(&class, [rows])).expect("set");
            assert!(trainer.set_data("z", TensorView::i32(&class, [rows])).is_err());
            let batches = (0..40).map(|n| Batch::rows(&index(n)));
            let reports: Vec<_> = trainer.run(batches).map(|r| bits(&r.expect("a step"))).collect();
            assert_eq!(reports, expected.0);
            let own = states(&mut trainer).into_iter().filter(|(name, _)| !name.ends_with("/data"));
            assert_eq!(own.collect::<Vec<_>>(), expected.1);
            // Evaluation takes tensors.
            assert!(trainer.evaluate([picked(1)]).expect("evaluated").weight == 10.0);
            let beyond = trainer.run([Batch::rows(&[50])]).next().expect("one").expect_err("50 rows");
            assert!(beyond.to_string().contains("an index out of range"), "{beyond}");
        }
    }
}

/// Batches are taken for one submission at a time, and dropping a run keeps what was made.
#[test]
fn a_run_takes_no_more_than_a_submission() {
    let taken = Cell::new(0);
    let batches = || (0..1_000).map(|i| points(i, 3)).inspect(|_| taken.set(taken.get() + 1));
    for (runs, steps, at_once) in [(1, 8, 8), (3, 8, 6), (4, 2, 4)] {
        let recipe = recipe().accumulate(runs).steps_per_submission(steps);
        let mut trainer = trainer(&network(Has::default()), &recipe, &Device::cpu());
        assert_eq!(trainer.executable().entries(), ["step", "eval", "predict"]);
        taken.set(0);
        let mut run = trainer.run(batches());
        assert_eq!(run.next().expect("one").expect("a step").step, 1);
        assert_eq!(taken.get(), at_once);
        drop(run);
        assert_eq!(trainer.updates(), u64::from(at_once / runs));
        let one = trainer.update(&[points(5, 2)]).expect("one update");
        assert_eq!((one.step, one.weight), (u64::from(at_once / runs) + 1, 2.0));
    }
}

/// Rows of rates are there for every update of a submission, wherever it begins.
#[test]
fn rates_follow_the_count_of_updates() {
    let by = Schedule::by(|updates| 1e-4 * (updates + 1) as f64);
    let recipe = recipe().schedule(by).steps_per_submission(48);
    let mut trainer = trainer(&network(Has::default()), &recipe, &Device::cpu());
    let batches = (0..150).map(|i| if i % 40 == 7 { infinite(2) } else { points(i, 2) });
    let reports: Vec<Report> = trainer.run(batches).map(|r| r.expect("a step")).collect();
    let mut made = 0;
    for report in &reports {
        assert_eq!(report.rate, 1e-4 * f64::from(made + 1));
        made += u32::from(report.made);
        assert_eq!(report.step, u64::from(made));
    }
    assert_eq!((reports.len(), made), (150, 146));
    let wrong = trainer.set_schedule(Schedule::cosine(1e-3)).expect_err("it has no end").to_string();
    assert!(wrong.contains("falls towards an end: say `.total(updates)`"), "{wrong}");
    let ends = Schedule::by(|updates| if updates < 170 { 1e-3 } else { f64::NAN });
    trainer.set_schedule(ends).expect("a schedule");
    let last = trainer.run((0..96).map(|i| points(i, 2))).last().expect("one").expect_err("a rate is none");
    assert!(matches!(last, TrainerError::Number { update: 171, .. }), "{last}");
}

/// The rows of a submission that was full are of no other entry.
#[test]
fn what_follows_a_full_submission_runs() {
    let recipe = recipe().steps_per_submission(4);
    let mut trainer = trainer(&network(Has::default()), &recipe, &Device::cpu());
    for updates in [4, 8] {
        let made = trainer.run((0..4).map(|i| points(i, 2))).filter(|report| report.is_ok()).count();
        assert_eq!((made, trainer.updates()), (4, updates));
        let loss = trainer.evaluate([points(9, 2)]).expect("it runs").loss;
        assert!(loss.is_finite());
    }
    let said = |name: &str| {
        let tensor = Tensor::new(&[5i32], &[1]).expect("a number");
        trainer.evaluate([points(1, 2).with(name, tensor)]).expect_err("it is the trainer's").to_string()
    };
    let mut said = said;
    for name in ["train/numbers", "train/base"] {
        assert_eq!(
            said(name),
            format!("a batch must not name `{name}`: the trainer fills that input itself")
        );
    }
}

/// A target that is no class is told before its update, or a data set that has it, is taken: nothing is learned of it.
#[test]
fn targets_that_are_no_class_are_told_before_their_update() {
    let graph = network(Has::default());
    let after = |expected: &str, told: &TrainerError| {
        let (said, at) = (told.to_string(), format!("{}:", file!()));
        assert!(
            said.starts_with(expected) && said.contains(&at) && said.ends_with(" takes 0 to 3"),
            "{said}"
        );
    };
    for at_once in [1, 8] {
        for runs in [1, 2] {
            let recipe = recipe().steps_per_submission(at_once).accumulate(runs);
            let mut trainer = trainer(&graph, &recipe, &Device::cpu());
            let batches = (0..12).map(|i| if i == 5 { beyond() } else { points(i, 1) });
            let reports: Vec<_> = trainer.run(batches).collect();
            let (made, told) = (5 / runs as usize, reports.last().and_then(|r| r.as_ref().err()));
            assert_eq!((reports.len(), trainer.updates()), (made + 1, made as u64));
            after("`class` is 4 at [0]: `softmax_cross_entropy` (", told.expect("an error"));
            let before = trainer.get("fc1.weight").expect("set").bytes().to_vec();
            trainer.run([beyond()]).next().expect("one").expect_err("no class");
            trainer.evaluate([beyond()]).expect_err("no class");
            assert_eq!(trainer.get("fc1.weight").expect("set").bytes(), before);
        }
    }
    let mut trainer = trainer(&graph, &recipe().data_set(3, ["x", "class"]), &Device::cpu());
    let told = trainer.set_data("class", TensorView::i32(&[0, 3, -1], [3])).expect_err("-1 is no class");
    after("`class` is -1 at [2]: ", &told);
}

/// Updates before the one with a wrong rate are made, however many a submission has; so are those whose rates an update
/// that is left out makes sound.
#[test]
fn updates_before_a_wrong_rate_are_made() {
    for (wrong, said) in [(f64::NAN, "NaN; it must be finite in f32"), (-5.0, "-5e0; it must not be below 0")]
    {
        for (at_once, runs) in [(1, 1), (4, 1), (32, 1), (1, 3), (4, 3), (32, 3)] {
            let by = Schedule::by(move |updates| if updates == 6 { wrong } else { 1e-3 });
            let recipe = recipe().schedule(by).steps_per_submission(at_once).accumulate(runs);
            let mut trainer = trainer(&network(Has::default()), &recipe, &Device::cpu());
            // The fourth update of six is left out: its rate is that of the next one.
            let batches = |count| {
                (0..count).map(move |i| if i == 3 * u64::from(runs) { infinite(2) } else { points(i, 2) })
            };
            let reports: Vec<_> = trainer.run(batches(12 * u64::from(runs))).collect();
            let (last, before) = reports.split_last().expect("seven and an error");
            assert!(before.iter().all(Result::is_ok), "{at_once} {runs}");
            let made: Vec<bool> = before.iter().flatten().map(|report| report.made).collect();
            assert_eq!(made, [true, true, true, false, true, true, true], "{at_once} {runs}");
            let told = last.as_ref().expect_err("a rate is wrong");
            assert!(matches!(told, TrainerError::Number { update: 7, .. }), "{told}");
            assert_eq!(told.to_string(), format!("the rate of update 7 is {said}"));
            assert_eq!(trainer.updates(), 6);
            trainer.set_schedule(Schedule::constant(1e-3)).expect("a schedule");
            let next = trainer.run(batches(u64::from(runs))).next().expect("one").expect("sound");
            assert_eq!(next.step, 7);
        }
    }
}

/// A function of one's own is asked for no more updates than are made.
#[test]
fn rates_may_end_with_the_last_update() {
    let rates = [1e-3; 70];
    for at_once in [1, 7] {
        let by = Schedule::by(move |updates| rates[updates as usize]);
        let recipe = recipe().schedule(by).steps_per_submission(at_once);
        let mut trainer = trainer(&network(Has::default()), &recipe, &Device::cpu());
        let made = trainer.run((0..70).map(|i| points(i, 2))).filter(|report| report.is_ok()).count();
        assert_eq!(made, 70);
    }
}

#[test]
fn what_is_wrong_is_told_before_anything_runs() {
    let wrong = |recipe: Recipe| {
        let made = Trainer::new(&network(Has::default()), &recipe, &Device::cpu(), &TrainOptions::default());
        made.map(|_| ()).expect_err("it is wrong").to_string()
    };
    for steps in [0, 65] {
        let said = format!(
            "1 mistake in what is to be trained:\n  the recipe: a submission is of 1 to 64 steps, not of {steps}"
        );
        assert_eq!(wrong(recipe().steps_per_submission(steps)), said);
    }
    let mut trainer = trainer(&network(Has::default()), &recipe().steps_per_submission(4), &Device::cpu());
    let before = states(&mut trainer);
    let x = || Tensor::new(&[0.5f32; WIDTH], &[1, WIDTH as u64]).expect("a row");
    let without = |trainer: &mut Trainer, batch: Batch| {
        trainer.run([batch]).next().expect("one").expect_err("it is wrong").to_string()
    };
    let missing = without(&mut trainer, Batch::new().with("x", x()));
    assert!(missing.contains("no value for input `class`"), "{missing}");
    let twice = without(&mut trainer, points(1, 1).with("x", x()));
    assert_eq!(twice, "input `x` is given twice; give each once");
    let unknown = without(&mut trainer, points(1, 1).with("z", x()));
    assert!(unknown.contains("there is no input `z`"), "{unknown}");
    let large = without(&mut trainer, points(1, 65));
    assert!(large.contains("batch") && large.contains("65"), "{large}");
    let narrow = Tensor::new(&[0.5f32; 3], &[1, 3]).expect("a row");
    let narrow = without(&mut trainer, points(1, 1).with("y", narrow));
    assert!(narrow.contains("there is no input `y`"), "{narrow}");
    assert_eq!(states(&mut trainer), before);
    let next = trainer.run([points(1, 64), points(2, 64)]).last().expect("two").expect("sound");
    assert_eq!((next.step, next.weight), (2, 64.0));
    // After a batch that had everything, one that lacks an input lacks it still.
    let missing = without(&mut trainer, Batch::new().with("x", x()));
    assert!(missing.contains("no value for input `class`"), "{missing}");
}

/// What a stop says: also by what the loss is multiplied from now on, where it is, and nothing of that where it is not.
#[test]
fn a_stop_says_the_scale_of_the_loss() {
    let graph = network(Has::default());
    let recipe = recipe().on_nonfinite(OnNonfinite::Stop);
    for steps in [1, 4] {
        for (recipe, expected) in [(recipe.clone(), None), (recipe.clone().loss_scale(), Some(32_768.0))] {
            let mut trainer = trainer(&graph, &recipe.steps_per_submission(steps), &Device::cpu());
            let told = trainer.run([points(1, 9), infinite(9)]).last().expect("two").expect_err("it stops");
            let TrainerError::NotFinite { update: 2, loss, norm, scale } = &told else {
                unreachable!("{told}")
            };
            assert!(!loss.is_finite() && !norm.is_finite() && *scale == expected, "{told}");
            let said = if expected.is_some() {
                ", the scale of the loss is now 32768; weights"
            } else {
                "; weights"
            };
            assert!(told.to_string().contains(&format!("the norm of the gradients {norm}{said}")), "{told}");
            // The next one begins where this one said.
            let again = trainer.run([infinite(9)]).last().expect("one").expect_err("it stops");
            let TrainerError::NotFinite { scale, .. } = again else { unreachable!("{again}") };
            assert_eq!(scale, expected.map(|scale| scale / 2.0));
        }
    }
}

/// Runs and accesses of a device until it is lost; it answers all that is asked later, by another error.
#[derive(Default)]
struct Fate {
    runs: AtomicI64,
    lost: AtomicBool,
}

impl Fate {
    fn access(&self) -> Result<(), DeviceError> {
        let call = || DeviceError::Call { call: "vkQueueSubmit".into(), code: "ERROR_UNKNOWN".into() };
        if self.lost.load(Ordering::SeqCst) { Err(call()) } else { Ok(()) }
    }

    fn run(&self) -> Result<(), DeviceError> {
        self.access()?;
        if self.runs.fetch_sub(1, Ordering::SeqCst) > 0 {
            return Ok(());
        }
        self.lost.store(true, Ordering::SeqCst);
        Err(DeviceError::Lost("it was pulled out".into()))
    }
}

/// The interpreter with a fate.
struct Doomed<T> {
    inner: T,
    fate: Arc<Fate>,
}

impl pumice_runtime::Device for Doomed<Interpreter> {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn target(&self) -> &Target {
        self.inner.target()
    }

    fn load(&self, plan: CheckedPlan, host: Arc<dyn HostOps>) -> Result<Arc<dyn Loaded>, DeviceError> {
        Ok(Arc::new(Doomed { inner: self.inner.load(plan, host)?, fate: self.fate.clone() }))
    }
}

impl Loaded for Doomed<Arc<dyn Loaded>> {
    fn write_weights(&self, span: Span, bytes: &[u8]) -> Result<(), DeviceError> {
        self.inner.write_weights(span, bytes)
    }

    fn stream(&self, stream: usize, fill: &mut FillWeights<'_>) -> Result<(), DeviceError> {
        self.inner.stream(stream, fill)
    }

    fn read_weights(&self, span: Span, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.inner.read_weights(span, bytes)
    }

    fn run_load(&self, steps: &[StepId]) -> Result<(), DeviceError> {
        self.inner.run_load(steps)
    }

    fn session(self: Arc<Self>) -> Result<Box<dyn DeviceSession>, DeviceError> {
        let session = Arc::clone(&self.inner).session()?;
        Ok(Box::new(Doomed { inner: session, fate: self.fate.clone() }))
    }

    fn prepare(&self, runs: &[usize]) -> Result<(), DeviceError> {
        self.inner.prepare(runs)
    }
}

impl DeviceSession for Doomed<Box<dyn DeviceSession>> {
    fn write(&mut self, span: Span, bytes: &[u8]) -> Result<(), DeviceError> {
        self.fate.access()?;
        self.inner.write(span, bytes)
    }

    fn read(&mut self, span: Span, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.fate.access()?;
        self.inner.read(span, bytes)
    }

    fn run(&mut self, run: usize, bindings: &Bindings, repeats: u32) -> Result<(), DeviceError> {
        self.fate.run()?;
        self.inner.run(run, bindings, repeats)
    }

    fn run_profiled(&mut self, run: usize, bindings: &Bindings) -> Result<Vec<StepTime>, DeviceError> {
        self.fate.run()?;
        self.inner.run_profiled(run, bindings)
    }

    fn fork(&mut self, states: &[Span]) -> Result<Box<dyn DeviceSession>, DeviceError> {
        self.inner.fork(states)
    }

    fn interrupt_by(&mut self, interrupt: Interrupt) {
        self.inner.interrupt_by(interrupt);
    }
}

/// After a device is lost the error says so, and not what reading counts from it said then.
#[test]
fn the_first_error_of_a_lost_device_is_told() {
    for (steps, runs) in [(1, 1), (1, 2), (4, 1), (4, 2)] {
        let fate = Arc::new(Fate { runs: AtomicI64::new(i64::MAX), lost: AtomicBool::new(false) });
        let doomed = Doomed { inner: Interpreter::of_machine(), fate: fate.clone() };
        let device = Device::from_runtime(Arc::new(doomed), DeviceKind::Interpreter);
        let recipe = recipe().accumulate(runs).steps_per_submission(steps);
        let mut trainer = trainer(&network(Has::default()), &recipe, &device);
        assert!(trainer.update(&[points(1, 5)]).expect("it is there yet").made);
        fate.runs.store(0, Ordering::SeqCst);
        let batches: Vec<Batch> = (0..8).map(|i| points(i, 5)).collect();
        let told: Vec<_> = trainer.run(batches).collect();
        let [Err(told)] = &told[..] else { unreachable!("{told:?}") };
        let lost =
            |e: &TrainerError| matches!(e, TrainerError::Run(RuntimeError::Device(DeviceError::Lost(_))));
        assert!(lost(told), "{steps} steps a submission of {runs} batches: {told}");
        assert_eq!(told.to_string(), "the device was lost: it was pulled out");
        // Later calls say what they meet.
        assert!(trainer.update(&[points(1, 5)]).is_err_and(|e| !lost(&e)));
    }
}

/// An MLP 784-128-10.
fn digits() -> Graph {
    let g = GraphBuilder::new("mlp");
    let (x, class) = (g.input("x", f32([128, 784])), g.input("class", i32([128])));
    let (w, b) = (g.param("fc1.weight", f32([128, 784])), g.param("fc1.bias", f32([128])));
    let h = g.relu(g.linear(x, w, Some(b)));
    let y = g.linear(h, g.param("fc2.weight", f32([10, 128])), Some(g.param("fc2.bias", f32([10]))));
    let (loss, weight) = g.softmax_cross_entropy(y, class, None, Default::default());
    g.output("loss", loss);
    g.output("weight", weight);
    g.build().expect("sound")
}

/// 128 images that are noise.
fn noise(i: u64) -> Batch {
    let class: Vec<i32> = numbers(100 + i, 128).iter().map(|v| (10.0 * v) as i32).collect();
    let (x, class) = (Tensor::new(&numbers(i, 128 * 784), &[128, 784]), Tensor::new(&class, &[128]));
    Batch::new().with("x", x.expect("images")).with("class", class.expect("classes"))
}

/// Milliseconds a step of a tiny MLP and of one 784-128-10, batch 128, with Adam, by steps a submission.
fn time_of_a_step(device: &Device) {
    let tiny = (0..64).map(|i| points(i, 13)).collect();
    let large = (0..64).map(noise).collect();
    let cases: [(&str, Graph, Vec<Batch>); 2] =
        [("tiny", network(Has::default()), tiny), ("784-128-10", digits(), large)];
    for (what, graph, batches) in cases {
        let losses = [1, 32].map(|steps| {
            let recipe = Recipe::new(Adam::default()).steps_per_submission(steps);
            let mut trainer = trainer(&graph, &recipe, device);
            trainer.run(batches.clone()).for_each(|r| assert!(r.expect("a step").made));
            let all = [batches.clone(), batches.clone()].concat();
            let begun = Instant::now();
            let losses: Vec<u64> = trainer.run(all).map(|r| r.expect("a step").loss.to_bits()).collect();
            let ms = 1e3 * begun.elapsed().as_secs_f64() / losses.len() as f64;
            let levels = trainer.plan().levels("step").expect("an entry");
            println!("{what}: {steps} steps a submission: {ms:.3} ms a step, {levels} levels");
            losses
        });
        assert_eq!(losses[0], losses[1], "{what}");
    }
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

            #[test]
            fn time_of_a_step() {
                super::time_of_a_step(&open());
            }
        }
    };
}
on_devices! { same_bits a_stop_stops_the_rest reports_of_ops_are_told_in_their_place data_may_lie_on_the_device }
