//! Trainers through compiler, kernels and sessions: losses fall, devices agree, and what must not change does not.

use pumice::ops::BatchNormTraining;
use pumice::train::{
    AdamW, Batch, Group, Init, OnNonfinite, Recipe, Rule, Schedule, TrainOptions, Trainer, TrainerError,
    names,
};
use pumice::{
    DType, Device, Graph, GraphBuilder, Options, Precision, Tensor, TensorView, Value, f32, i32, sym,
};
use pumice_plan::{Run, StepKind};
use pumice_tests::draws::numbers;
use std::collections::BTreeMap;

/// Points of four classes: the class is the quarter of the plane that the first two numbers lie in.
fn points(seed: u64, rows: usize) -> Batch {
    let x: Vec<f32> = numbers(seed, rows * 8).iter().map(|v| 2.0 * v - 1.0).collect();
    let class =
        x.chunks(8).map(|row| i32::from(row[0] > 0.0) + 2 * i32::from(row[1] > 0.0)).collect::<Vec<_>>();
    let tensors = (Tensor::new(&x, &[rows as u64, 8]), Tensor::new(&class, &[rows as u64]));
    Batch::new().with("x", tensors.0.expect("rows of 8")).with("class", tensors.1.expect("a class a row"))
}

fn batches(count: u64) -> impl Iterator<Item = Batch> {
    (0..count).map(|i| points(i + 1, 32))
}

/// Two layers over the points.
fn perceptron(dropout: f32) -> Graph {
    classified(dropout, |_, class| class)
}

/// A perceptron whose classes are made of those that are given.
fn classified(dropout: f32, classes: fn(&GraphBuilder, Value) -> Value) -> Graph {
    let g = GraphBuilder::new("mlp");
    let n = || sym("batch", 1..=64);
    let (x, class) = (g.input("x", f32([n(), 8.into()])), g.input("class", i32([n()])));
    let weights = |name: &str, out: u64, of: u64| g.param(name, f32([out, of]));
    let h = g.relu(g.linear(x, weights("fc1.weight", 16, 8), Some(g.param("fc1.bias", f32([16])))));
    let h = if dropout > 0.0 { g.dropout_training(h, dropout).0 } else { h };
    let y = g.linear(h, weights("fc2.weight", 4, 16), Some(g.param("fc2.bias", f32([4]))));
    let (loss, weight) = g.softmax_cross_entropy(y, classes(&g, class), None, Default::default());
    g.output("loss", loss);
    g.output("weight", weight);
    g.output("logits", y);
    g.build().expect("sound")
}

fn recipe() -> Recipe {
    Recipe::new(AdamW { weight_decay: 0.01, ..AdamW::default() })
        .schedule(Schedule::constant(0.02))
        .group(Group::matching(["*.bias"]).weight_decay(0.0))
        .clip_norm(1.0)
}

fn trainer(graph: &Graph, recipe: &Recipe, device: &Device) -> Trainer {
    let mut trainer = Trainer::new(graph, recipe, device, &TrainOptions::default()).expect("a trainer");
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

/// Losses and weights of sixty updates.
fn sixty_updates(device: &Device) -> (Vec<f64>, Vec<Vec<f32>>) {
    let mut trainer = trainer(&perceptron(0.0), &recipe(), device);
    let reports: Vec<_> = trainer.run(batches(60)).map(|r| r.expect("a step")).collect();
    assert_eq!(reports.iter().map(|r| r.step).collect::<Vec<_>>(), (1..=60).collect::<Vec<_>>());
    assert!(reports.iter().all(|r| r.made && r.weight == 32.0 && r.norm > 0.0 && r.rate == 0.02));
    let seen = trainer.evaluate((100..104).map(|i| points(i, 32))).expect("evaluated");
    assert!(seen.loss < 0.5 && seen.weight == 128.0 && seen.batches == 4, "{seen:?}");
    let x = [[0.9, 0.8], [-0.9, 0.8], [0.7, -0.9], [-0.8, -0.7]].map(|[a, b]| [a, b, 0., 0., 0., 0., 0., 0.]);
    let logits = trainer.predict(&[("x", TensorView::f32(x.as_flattened(), [4, 8]))], &["logits"]);
    let logits = floats(&logits.expect("predicted")[0]);
    let best = |row: &[f32]| (0..4).max_by(|&a, &b| row[a].total_cmp(&row[b])).expect("four");
    assert_eq!(logits.chunks(4).map(best).collect::<Vec<_>>(), [3, 2, 1, 0]);
    (reports.iter().map(|r| r.loss).collect(), weights(&mut trainer))
}

fn losses_fall(device: &Device) {
    let (losses, _) = sixty_updates(device);
    assert!(losses[59] < 0.3 * losses[0], "{} {}", losses[0], losses[59]);
}

/// Four batches of unlike sizes make the update that one batch of all their rows makes.
fn accumulation_is_exact(device: &Device) {
    let sizes = [3, 17, 1, 11];
    let parts: Vec<Batch> = (1..).zip(sizes).map(|(i, rows)| points(i, rows)).collect();
    let whole = {
        let all: Vec<Vec<f32>> = (1..).zip(sizes).map(|(i, rows)| numbers(i, rows * 8)).collect();
        let x: Vec<f32> = all.concat().iter().map(|v| 2.0 * v - 1.0).collect();
        let class =
            x.chunks(8).map(|r| i32::from(r[0] > 0.0) + 2 * i32::from(r[1] > 0.0)).collect::<Vec<_>>();
        let (x, class) = (Tensor::new(&x, &[32, 8]), Tensor::new(&class, &[32]));
        Batch::new().with("x", x.expect("32 rows")).with("class", class.expect("32 rows"))
    };
    let mut apart_by = trainer(&perceptron(0.0), &recipe().accumulate(4), device);
    let mut at_once = trainer(&perceptron(0.0), &recipe(), device);
    for _ in 0..3 {
        let one = apart_by.run(parts.clone()).next().expect("one update").expect("made");
        let other = at_once.update(std::slice::from_ref(&whole)).expect("made");
        assert_eq!((one.weight, other.weight), (32.0, 32.0));
        assert!((one.loss - other.loss).abs() < 1e-5 && (one.norm - other.norm).abs() < 1e-4 * other.norm);
    }
    for (a, b) in weights(&mut apart_by).iter().zip(weights(&mut at_once)) {
        assert!(apart(a, &b) < 1e-4, "{}", apart(a, &b));
    }
}

/// A batch whose loss is not finite changes no weight, no slot and no count of updates.
fn what_is_not_finite_changes_nothing(device: &Device) {
    let bad = {
        let mut x = numbers(5, 32 * 8);
        x[9] = f32::INFINITY;
        let class = Tensor::new(&[1i32; 32], &[32]).expect("32");
        Batch::new().with("x", Tensor::new(&x, &[32, 8]).expect("rows")).with("class", class)
    };
    let skipping = recipe().on_nonfinite(OnNonfinite::Skip);
    for (recipe, skips) in [(skipping, true), (recipe(), false)] {
        let mut trainer = trainer(&perceptron(0.0), &recipe, device);
        trainer.run(batches(3)).for_each(|r| assert!(r.expect("a step").made));
        let slots = |trainer: &mut Trainer| {
            let m = trainer.state(&names::slot("fc1.weight", "m")).expect("a slot");
            (floats(&m), trainer.state(names::UPDATES).expect("a count").to_vec::<i32>().expect("i32"))
        };
        let before = (weights(&mut trainer), slots(&mut trainer));
        match trainer.update(std::slice::from_ref(&bad)) {
            Ok(report) => {
                assert!(skips && !report.made && report.step == 3 && report.skips == 1, "{report:?}")
            }
            Err(TrainerError::NotFinite { update: 4, .. }) => assert!(!skips),
            Err(other) => unreachable!("{other}"),
        }
        assert_eq!((weights(&mut trainer), slots(&mut trainer)), before);
        let next = trainer.run(batches(1)).next().expect("one").expect("a step");
        assert!(next.made && next.step == 4);
    }
}

/// Dropout draws in training and is off in prediction and evaluation; the same seed gives the same bits.
fn dropout_draws_in_training_alone(device: &Device) {
    let mut trainers = [(); 2].map(|()| trainer(&perceptron(0.5), &recipe(), device));
    let losses =
        trainers.each_mut().map(|t| t.run(batches(5)).map(|r| r.expect("a step").loss).collect::<Vec<_>>());
    assert_eq!(losses[0], losses[1]);
    let x = numbers(3, 8);
    let inputs = [("x", TensorView::f32(&x, [1, 8]))];
    let [first, second] = trainers;
    let (mut first, mut second) = (first, second);
    let logits = |t: &mut Trainer| floats(&t.predict(&inputs, &["logits"]).expect("predicted")[0]);
    assert_eq!(logits(&mut first), logits(&mut first));
    assert_eq!(logits(&mut first), logits(&mut second));
    let same = |t: &mut Trainer| t.evaluate(batches(1)).expect("evaluated").loss;
    assert_eq!(same(&mut first), same(&mut first));
    let again = |t: &mut Trainer| t.run(batches(1)).next().expect("one").expect("a step").loss;
    assert_ne!(again(&mut first), same(&mut second));
}

/// An op that reports ends its step; the trainer goes on where the device is, for as long as it takes.
fn reports_leave_no_trace(device: &Device) {
    let beyond = || {
        let x = Tensor::new(&[0.5f32; 8], &[1, 8]).expect("8");
        Batch::new().with("x", x).with("class", Tensor::new(&[4i32], &[1]).expect("one"))
    };
    // What the graph computes nobody looks at before.
    let graph = classified(0.0, |g, class| g.abs(class));
    for recipe in [recipe(), recipe().accumulate(2)] {
        let mut trainer = trainer(&graph, &recipe, device);
        trainer.run(batches(2)).for_each(|r| assert!(r.expect("a step").made));
        let told = trainer.update(&[beyond()]).expect_err("there are four classes");
        assert!(matches!(told, TrainerError::Run(_)), "{told}");
        let device_count = trainer.state(names::UPDATES).expect("a count").to_vec::<i32>().expect("i32")[0];
        assert_eq!(trainer.updates(), device_count as u64);
        let before = trainer.updates();
        let reports: Vec<_> = trainer.run(batches(140)).map(|r| r.expect("a step")).collect();
        assert!(reports.iter().zip(before + 1..).all(|(r, step)| r.step == step && r.made));
        // Nothing of the batch that reported is left in what was accumulated.
        assert!(reports[0].weight == 32.0 || reports[0].weight == 64.0, "{}", reports[0].weight);
        assert!(matches!(trainer.update(&[]), Err(TrainerError::Batches { given: 0, .. })));
        assert!(matches!(
            trainer.update(&[points(1, 2), points(2, 2), points(3, 2)]),
            Err(TrainerError::Batches { .. })
        ));
    }
}

/// A symbol that only the loss has is none of `predict`, and a penalty needs none of the batch.
#[test]
fn entries_ask_for_their_own_symbols() {
    let graph = {
        let g = GraphBuilder::new("two symbols");
        let (x, y) = (g.input("x", f32([sym("n", 1..=9), 8.into()])), g.input("y", f32([sym("m", 1..=9)])));
        let w = g.param("fc.weight", f32([1, 8]));
        let guess = g.linear(x, w, None);
        let apart = g.sub(g.reduce_mean(guess, &[], false), g.reduce_mean(y, &[], false));
        g.output("loss", g.square(apart));
        g.output("penalty", g.reduce_sum(g.square(w), &[], false));
        g.output("guess", guess);
        g.build().expect("sound")
    };
    for runs in [1, 2] {
        let recipe = Recipe::new(AdamW::default()).accumulate(runs);
        let mut trainer = trainer(&graph, &recipe, &Device::cpu());
        let x = numbers(1, 16);
        let rows = Batch::new().with("x", Tensor::new(&x, &[2, 8]).expect("two rows"));
        let batch = rows.with("y", Tensor::new(&[1.0f32, 2.0, 3.0], &[3]).expect("three"));
        assert!(trainer.run(vec![batch; runs as usize]).next().expect("one").expect("a step").made);
        trainer.predict(&[("x", TensorView::f32(&x, [2, 8]))], &["guess"]).expect("it needs `n` alone");
    }
}

/// Rates are finite, whoever gives them.
#[test]
fn a_rate_that_is_not_finite_is_refused() {
    let late = recipe().schedule(Schedule::by(|n| if n < 70 { 0.01 } else { f64::NAN }));
    let mut trainer = trainer(&perceptron(0.0), &late, &Device::cpu());
    let ended = trainer.run(batches(200)).filter_map(Result::err).next().expect("the rate ends");
    assert!(matches!(ended, TrainerError::Number { update: 71, .. }), "{ended}");
    assert!(trainer.updates() < 71);
    assert_eq!(ended.to_string(), "the rate of update 71 is NaN; it must be finite in f32");
    let large = recipe().schedule(Schedule::by(|n| if n < 2 { 0.01 } else { 1e39 }));
    let mut trainer = self::trainer(&perceptron(0.0), &large, &Device::cpu());
    let ended = trainer.run(batches(9)).filter_map(Result::err).next().expect("the rate ends");
    assert_eq!(ended.to_string(), "the rate of update 3 is 1e39; it must be finite in f32");
    let endless = recipe().schedule(Schedule::cosine(0.1));
    let told = Trainer::new(&perceptron(0.0), &endless, &Device::cpu(), &TrainOptions::default());
    let told = told.map(|_| ()).expect_err("it falls towards an end").to_string();
    assert!(told.contains("say `.total(updates)`"), "{told}");
}

#[test]
fn what_is_wrong_is_told_before_anything_runs() {
    let mut trainer =
        Trainer::new(&perceptron(0.0), &recipe(), &Device::cpu(), &TrainOptions::default()).expect("ok");
    let unset = trainer.update(&[points(1, 2)]).expect_err("no weight was given");
    let said = "no value for fc1.bias, fc1.weight, fc2.bias, fc2.weight: give params by `Trainer::init`, params and states \
                by `Trainer::load`, or each by `Trainer::set`";
    assert_eq!(unset.to_string(), said);
    let no_rule =
        trainer.init(&Init::new().rule("*.bias", Rule::Zeros), 1).expect_err("weights have no rule");
    assert!(no_rule.to_string().contains("fc1.weight"), "{no_rule}");
    trainer.init(&Init::torch(), 1).expect("rules");
    let wrong = trainer.run([Batch::new().with("x", Tensor::new(&[0.0f32; 8], &[1, 8]).expect("8"))]).next();
    assert!(wrong.expect("one").expect_err("no class").to_string().contains("class"));
    let beyond = Batch::new().with("x", Tensor::new(&[0.5f32; 8], &[1, 8]).expect("8"));
    let beyond = beyond.with("class", Tensor::new(&[4i32], &[1]).expect("one"));
    let told = trainer.update(&[beyond]).expect_err("there are four classes");
    assert!(matches!(told, TrainerError::Index { index: 4, .. }), "{told}");
    let ends = trainer.run([points(1, 65)]).next().expect("one").expect_err("64 at most").to_string();
    assert!(ends.contains("batch"), "{ends}");
    assert!(trainer.predict(&[], &["loss"]).is_err());
}

/// Steps that write a state, by the states that each writes.
fn writers(trainer: &Trainer, run: &Run) -> Vec<Vec<String>> {
    let plan = trainer.executable().plan();
    let written =
        run.program.steps.iter().filter(|s| matches!(s.kind, StepKind::Dispatch { .. })).map(|step| {
            let spans = step.uses.iter().filter(|u| u.access.writes()).map(|u| u.span);
            let states = spans.filter_map(|span| plan.states.iter().find(|s| s.span.overlaps(&span)));
            states.map(|s| s.name.clone()).collect::<Vec<_>>()
        });
    written.filter(|states| !states.is_empty()).collect()
}

/// The update of a tensor is one dispatch: weight and moments in place, behind the flag, with no copy.
#[test]
fn an_update_is_one_dispatch_a_tensor() {
    let trainer = trainer(&perceptron(0.0), &recipe(), &Device::cpu());
    let plan = trainer.executable().plan();
    let (_, run) = plan.runs_of(plan.find_entry("step").expect("an entry")).next().expect("a run");
    let mut of_tensors: Vec<Vec<String>> =
        writers(&trainer, run).into_iter().filter(|states| !states[0].starts_with("train/")).collect();
    of_tensors.iter_mut().for_each(|states| states.sort());
    of_tensors.sort();
    let expected = ["fc1.bias", "fc1.weight", "fc2.bias", "fc2.weight"];
    let expected = expected.map(|name| vec![name.to_owned(), format!("{name}/m"), format!("{name}/v")]);
    assert_eq!(of_tensors, expected);
}

/// Weights come in from a source, and go out as they are.
#[test]
fn weights_are_read_and_set_by_name() {
    let mut trainer = trainer(&perceptron(0.0), &recipe(), &Device::cpu());
    let values: Vec<f32> = (0..64).map(|i| i as f32 * 0.01).collect();
    trainer.set("fc2.weight", TensorView::f32(&values, [4, 16])).expect("set");
    assert_eq!(floats(&trainer.get("fc2.weight").expect("there")), values);
    assert!(trainer.set("fc9", TensorView::f32(&[1.0], [1])).is_err());
    assert!(trainer.set("fc2.weight", TensorView::f32(&[1.0], [1])).is_err());
    assert_eq!(
        trainer.trained().iter().map(|t| t.shape.iter().product::<u64>()).sum::<u64>(),
        16 * 9 + 4 * 17
    );
    let text = trainer.plan().to_string();
    assert!(text.contains("trains 4 tensors, 212 values") && text.contains("step  batch=1..=64"), "{text}");
    assert!(trainer.plan().bytes() > 0 && trainer.plan().levels("step").is_some());
    assert_eq!(trainer.state(names::UPDATES).expect("a count").encoding(), DType::I32);
}

/// `predict` and `evaluate` need no data set, and a batch of all inputs does for every entry: each takes its own.
#[test]
fn entries_take_what_they_need() {
    let graph = {
        let g = GraphBuilder::new("three inputs");
        let n = || sym("batch", 1..=64);
        let (x, class) = (g.input("x", f32([n(), 8.into()])), g.input("class", i32([n()])));
        let shown = g.input("shown", f32([n()]));
        let y = g.linear(x, g.param("fc.weight", f32([4, 8])), None);
        let (loss, weight) = g.softmax_cross_entropy(y, class, None, Default::default());
        g.output("loss", loss);
        g.output("weight", weight);
        g.output("logits", y);
        g.output("seen", g.neg(shown));
        g.build().expect("sound")
    };
    let shown = || Tensor::new(&[0.5f32; 3], &[3]).expect("three");
    let recipe = Recipe::new(AdamW::default()).predict(["logits"]);
    for (steps, runs, has_data) in [(1, 1, false), (1, 2, false), (4, 1, false), (4, 2, true), (1, 1, true)] {
        let mut recipe = recipe.clone().steps_per_submission(steps).accumulate(runs);
        if has_data {
            recipe = recipe.data_set(9, ["x", "class"]);
        }
        let mut trainer = trainer(&graph, &recipe, &Device::cpu());
        let all = points(1, 3).with("shown", shown());
        let logits = trainer.predict(&all.views(), &["logits"]).expect("it needs `x` alone");
        assert_eq!(logits[0].shape(), [3, 4]);
        assert_eq!(trainer.evaluate([all.clone()]).expect("it needs all").weight, 3.0);
        let unknown = trainer.predict(&all.clone().with("z", shown()).views(), &["logits"]);
        assert!(unknown.expect_err("no entry has it").to_string().contains("there is no input `z`"));
        let told = trainer.predict(&all.with(names::BASE, shown()).views(), &["logits"]);
        assert!(told.is_err(), "the trainer's own are no one's to give");
        if !has_data {
            let report =
                trainer.update(&[points(1, 3).with("shown", shown())]).expect("it takes two of them");
            assert_eq!(report.weight, 3.0);
            continue;
        }
        assert!(matches!(trainer.update(&[Batch::rows(&[1])]), Err(TrainerError::NoData { .. })));
        trainer.set_data("x", TensorView::f32(&[0.5; 72], [9, 8])).expect("rows");
        trainer.set_data("class", TensorView::i32(&[1; 9], [9])).expect("rows");
        let rows = Batch::rows(&[1, 2]).with("shown", shown());
        assert_eq!(trainer.update(&[rows]).expect("by index").weight, 2.0);
        // A tensor beside the index would be another batch than the one it names.
        let both = Batch::rows(&[1]).with("x", Tensor::new(&[0.5f32; 8], &[1, 8]).expect("a row"));
        let told = trainer.update(&[both]).expect_err("it is one or the other").to_string();
        assert!(told.contains("there is no input `x`"), "{told}");
    }
}

/// Weights that are missing are those of the entry that runs.
#[test]
fn a_param_of_the_loss_alone_is_none_of_predict() {
    let graph = {
        let g = GraphBuilder::new("two heads");
        let (x, y) = (g.input("x", f32([3, 8])), g.input("y", f32([3, 1])));
        let guess = g.linear(x, g.param("guess.weight", f32([1, 8])), None);
        let other = g.linear(x, g.param("other.weight", f32([1, 8])), None);
        g.output("loss", g.mse(g.add(guess, other), y, Default::default()).0);
        g.output("guess", guess);
        g.build().expect("sound")
    };
    let recipe = Recipe::new(AdamW::default());
    let mut trainer =
        Trainer::new(&graph, &recipe, &Device::cpu(), &TrainOptions::default()).expect("a trainer");
    let x = numbers(1, 24);
    let inputs = [("x", TensorView::f32(&x, [3, 8]))];
    let unset = trainer.predict(&inputs, &["guess"]).expect_err("nothing is set").to_string();
    assert!(unset.starts_with("no value for guess.weight: "), "{unset}");
    trainer.set("guess.weight", TensorView::f32(&[1.0; 8], [1, 8])).expect("set");
    trainer.predict(&inputs, &["guess"]).expect("it has what it needs");
    let y = Tensor::new(&[0.5f32; 3], &[3, 1]).expect("three");
    let batch = Batch::new().with("x", Tensor::new(&x, &[3, 8]).expect("rows")).with("y", y);
    let unset = trainer.update(&[batch]).expect_err("the other head is not set").to_string();
    assert!(unset.starts_with("no value for other.weight: "), "{unset}");
}

/// What a trainer tells of five updates, and what it holds after them.
fn five_updates(trainer: &mut Trainer) -> (Vec<String>, Vec<(String, Vec<u8>)>) {
    let told = |report: Result<pumice::train::Report, TrainerError>| {
        let report = report.expect("a step");
        format!("{} {} {} {} {}", report.step, report.loss, report.norm, report.rate, report.skips)
    };
    let reports = trainer.run(batches(5)).map(told).collect();
    let names: Vec<String> = trainer.executable().plan().states.iter().map(|s| s.name.clone()).collect();
    let states = names.into_iter().map(|name| {
        let bytes = trainer.state(&name).expect("a state").bytes().to_vec();
        (name, bytes)
    });
    (reports, states.collect())
}

/// First values begin training anew, and so do those of a file: moments, counts, scale, draws and what was accumulated.
#[test]
fn first_values_begin_training_anew() {
    for steps in [1, 4] {
        let recipe = recipe()
            .schedule(Schedule::linear(0.02).warmup(2).total(20))
            .on_nonfinite(OnNonfinite::Skip)
            .loss_scale()
            .steps_per_submission(steps);
        let mut trainer = trainer(&perceptron(0.5), &recipe, &Device::cpu());
        let file: BTreeMap<String, Tensor> = trainer
            .trained()
            .to_vec()
            .iter()
            .map(|t| (t.name.clone(), trainer.get(&t.name).expect("set")))
            .collect();
        let first = five_updates(&mut trainer);
        let bad = Tensor::new(&[f32::INFINITY; 8], &[1, 8]).expect("8");
        let bad = Batch::new().with("x", bad).with("class", Tensor::new(&[1i32], &[1]).expect("one"));
        assert!(!trainer.update(&[bad]).expect("it is skipped").made);
        trainer.init(&Init::torch(), 7).expect("rules");
        assert_eq!(trainer.updates(), 0);
        assert_eq!(five_updates(&mut trainer), first, "{steps} steps a submission");
        trainer.load(&Source(file)).expect("all of them");
        assert_eq!(five_updates(&mut trainer), first, "{steps} steps a submission");
        // One param by itself is no beginning.
        trainer.set("fc2.bias", TensorView::f32(&[0.0; 4], [4])).expect("set");
        assert_eq!(trainer.updates(), 5);
    }
}

/// The seed of first values is that of draws: another one drops other elements.
#[test]
fn first_values_seed_the_draws() {
    let mut trainer = trainer(&perceptron(0.5), &recipe(), &Device::cpu());
    let kept = weights(&mut trainer);
    let names: Vec<String> = trainer.trained().iter().map(|t| t.name.clone()).collect();
    let shapes: Vec<Vec<u64>> = trainer.trained().iter().map(|t| t.shape.clone()).collect();
    let mut losses = |seed: u64| {
        trainer.init(&Init::torch(), seed).expect("rules");
        for ((name, shape), values) in names.iter().zip(&shapes).zip(&kept) {
            trainer.set(name, Tensor::new(values, shape).expect("as many").view()).expect("set");
        }
        five_updates(&mut trainer)
    };
    let (first, high) = (losses(7), losses(7 | 1 << 40));
    assert_eq!(first, losses(7));
    assert_ne!(first, losses(8));
    assert_ne!(first, high);
}

/// Running statistics go from trainer to trainer by name, and from a file.
#[test]
fn running_statistics_are_set_by_name() {
    let g = GraphBuilder::new("norm");
    let (x, class) = (g.input("x", f32([32u64, 8])), g.input("class", i32([32u64])));
    let [scale, shift] = ["norm.weight", "norm.bias"].map(|name| g.param(name, f32([8u64])));
    let ones = g.constant(Tensor::new(&[1f32; 8], &[8]).expect("8"));
    let (mean, var) = (g.state("norm.mean", f32([8u64])), g.state_from("norm.var", ones));
    let h = g.batch_norm_training(x, scale, shift, mean, var, BatchNormTraining::default());
    let y = g.linear(h, g.param("fc.weight", f32([4u64, 8])), None);
    let (loss, weight) = g.softmax_cross_entropy(y, class, None, Default::default());
    g.output("loss", loss);
    g.output("weight", weight);
    let graph = g.build().expect("sound");
    let mut first = trainer(&graph, &recipe(), &Device::cpu());
    assert_eq!(floats(&first.get("norm.var").expect("there")), [1.0; 8], "before the first step");
    first.run(batches(5)).for_each(|report| assert!(report.expect("a step").made));
    let names = ["norm.weight", "norm.bias", "fc.weight", "norm.mean", "norm.var"];
    let kept = names.map(|name| (name.to_owned(), first.get(name).expect("there")));
    let loss = |trainer: &mut Trainer| trainer.evaluate(batches(1)).expect("evaluated").loss;
    let wanted = loss(&mut first);
    let [mut by_name, mut by_file] = [(); 2].map(|()| trainer(&graph, &recipe(), &Device::cpu()));
    assert_ne!(loss(&mut by_name), wanted);
    kept.iter().for_each(|(name, value)| by_name.set(name, value.view()).expect("set"));
    assert_eq!(loss(&mut by_name), wanted);
    by_file.load(&Source(kept.clone().into())).expect("all of them");
    assert_eq!(loss(&mut by_file), wanted);
    // Without them they begin as in a new trainer; of other extents they are refused before anything is taken.
    let [params, wrong] = [3, 5].map(|count| kept.iter().take(count).cloned().collect::<BTreeMap<_, _>>());
    by_file.load(&Source(params)).expect("the params are enough");
    assert_eq!(floats(&by_file.get("norm.mean").expect("there")), [0.0; 8]);
    let mut wrong = wrong;
    wrong.insert("norm.mean".to_owned(), Tensor::new(&[0f32; 4], &[4]).expect("4"));
    let told = by_file.load(&Source(wrong)).expect_err("4 of 8").to_string();
    assert!(told.contains("norm.mean") && told.contains("[4]"), "{told}");
    let told = by_file.set("norm.means", TensorView::f32(&[0.0; 8], [8])).expect_err("no such").to_string();
    let known = "`norm.weight`, `norm.bias`, `fc.weight`, `norm.mean`, `norm.var`";
    assert!(told.contains("`norm.means`") && told.contains(known), "{told}");
}

/// What was never given is told as such, and a row before the first is none.
#[test]
fn what_is_not_there_is_told_by_the_trainer() {
    let made = Trainer::new(&perceptron(0.0), &recipe(), &Device::cpu(), &TrainOptions::default());
    let told = made.expect("a trainer").get("fc2.bias").expect_err("no value yet");
    assert!(matches!(told, TrainerError::NotSet { ref names } if names == &["fc2.bias"]), "{told}");
    let mut trainer = trainer(&perceptron(0.0), &recipe().data_set(32, ["x", "class"]), &Device::cpu());
    for (name, tensor) in points(1, 32).views() {
        trainer.set_data(name, tensor).expect("32 rows");
    }
    let told = trainer.update(&[Batch::rows(&[0, -1])]).expect_err("before the first");
    assert!(matches!(told, TrainerError::Row { row: -1 }), "{told}");
    assert!(trainer.update(&[Batch::rows(&[0, 31])]).expect("rows").made);
}

/// Tensors by name.
struct Source(BTreeMap<String, Tensor>);

impl pumice::ByteSource for Source {
    fn stored(&self, name: &str) -> Result<pumice::Stored, pumice::SourceError> {
        let tensor = self.0.get(name).ok_or_else(|| pumice::SourceError {
            name: name.to_owned(),
            source: std::sync::Arc::from(Box::<dyn std::error::Error + Send + Sync>::from("it is not there")),
        })?;
        Ok(pumice::Stored { encoding: tensor.encoding(), shape: tensor.shape().to_vec() })
    }

    fn read_bytes(&self, name: &str, start: u64, out: &mut [u8]) -> Result<(), pumice::SourceError> {
        let bytes = self.0[name].bytes();
        out.copy_from_slice(&bytes[start as usize..][..out.len()]);
        Ok(())
    }
}

/// A tensor of a file has the extents of its param, or nothing of the file is taken.
#[test]
fn a_file_has_the_extents_of_the_params() {
    let mut trainer = trainer(&perceptron(0.0), &recipe(), &Device::cpu());
    let before = weights(&mut trainer);
    let zeros = |shape: &[u64]| {
        let count = shape.iter().product::<u64>() as usize;
        Tensor::new(&vec![0.0f32; count], shape).expect("as many")
    };
    // As many values, of other extents; the others of the file are right.
    let mut file: BTreeMap<String, Tensor> =
        trainer.trained().iter().map(|t| (t.name.clone(), zeros(&t.shape))).collect();
    file.insert("fc2.weight".to_owned(), zeros(&[16, 4]));
    let told = trainer.load(&Source(file.clone())).expect_err("it is turned").to_string();
    let said = "its extents are [16, 4], those of the param [4, 16]";
    assert_eq!(told, format!("weight `fc2.weight`: {said}"));
    assert_eq!(weights(&mut trainer), before, "nothing was taken");
    file.remove("fc2.weight");
    let told = trainer.load(&Source(file.clone())).expect_err("it is missing").to_string();
    assert!(told.contains("fc2.weight") && told.contains("it is not there"), "{told}");
    assert_eq!(weights(&mut trainer), before, "nothing was taken");
    file.insert("fc2.weight".to_owned(), zeros(&[4, 16]));
    trainer.load(&Source(file)).expect("all fit");
    assert!(weights(&mut trainer).iter().flatten().all(|&w| w == 0.0));
}

/// A precision that needs the scale of the loss says so, not that the recipe asked for one.
#[test]
fn f16_is_refused_by_its_name_without_a_guard() {
    let of = |recipe: Recipe, precision: Precision| {
        let options = TrainOptions::default().compile(Options::default().precision(precision));
        Trainer::new(&perceptron(0.0), &recipe, &Device::cpu(), &options)
    };
    let unguarded = Recipe::new(AdamW::default()).unguarded();
    let said = "`Precision::F16` scales the loss, and what is unguarded cannot leave out the update that a scale is too \
                large for: leave out `unguarded`, or take `Precision::Bf16`";
    let told = of(unguarded.clone(), Precision::F16).expect_err("it has no guard").to_string();
    assert_eq!(told, format!("1 mistake in what is to be trained:\n  the recipe: {said}"));
    let told = of(unguarded.clone().accumulate(0), Precision::F16).expect_err("two mistakes").to_string();
    assert!(told.starts_with("2 mistakes") && told.ends_with(said), "{told}");
    assert!(of(unguarded, Precision::Bf16).is_ok(), "bf16 has the range of f32");
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

            pub(super) fn open() -> Device {
                pumice_tests::device::facade()
            }

            $(
                #[test]
                fn $name() {
                    super::$name(&open());
                }
            )*

            /// Ten steps in, rounding has not been multiplied yet.
            #[test]
            fn devices_agree() {
                let [(losses, ends), (others, other_ends)] = [Device::cpu(), open()].map(|d| super::sixty_updates(&d));
                let near = losses.iter().zip(&others).take(10).all(|(a, b)| (a - b).abs() < 1e-4 * a.abs());
                assert!(near, "{:?} {:?}", &losses[..10], &others[..10]);
                let far = ends.iter().zip(&other_ends).map(|(a, b)| super::apart(a, b)).fold(0.0, f64::max);
                assert!(far < 1e-2, "weights are {far} apart after 60 steps");
            }
        }
    };
}
on_devices! { reports_leave_no_trace losses_fall accumulation_is_exact what_is_not_finite_changes_nothing dropout_draws_in_training_alone }
