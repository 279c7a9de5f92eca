//! What a wrong graph or recipe gets: every mistake at once, as text.

use pumice_ir::ops::cum_prod::CumProd;
use pumice_ir::{FeedKind, Graph, GraphBuilder, f16, f32, i32, tensor};
use pumice_train::{
    Adagrad, Adam, AdamW, Group, Init, Lion, OnNonfinite, Optimizer, Recipe, RmsProp, Rule, Schedule, Sgd,
    Slot, UpdateCx, Updated, micro_batch_graphs, step_graphs,
};
use pumice_types::{DType, DimExpr, Encoding, Scheme, SymbolId};

fn graph(build: impl FnOnce(&GraphBuilder)) -> Graph {
    let g = GraphBuilder::new("g");
    build(&g);
    g.build().expect("a graph")
}

/// What `step_graphs` says, without where ops were made.
fn said(graph: &Graph, recipe: &Recipe) -> String {
    without_places(&step_graphs(graph, recipe).err().expect("it is wrong").to_string())
}

/// What `micro_batch_graphs` says.
fn said_of_cut(graph: &Graph, recipe: &Recipe, rows: u64) -> String {
    without_places(&micro_batch_graphs(graph, recipe, rows).err().expect("it is wrong").to_string())
}

fn without_places(errors: &str) -> String {
    let lines = errors.lines().map(|line| line.split(", at ").next().unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

fn recipe() -> Recipe {
    Recipe::new(AdamW::default())
}

/// A param, and the loss that is the mean of its squares.
fn squares(g: &GraphBuilder) -> pumice_ir::Value {
    let w = g.param("w", f32([3]));
    g.output("loss", g.reduce_mean(g.square(w), &[], false));
    w
}

#[test]
fn outputs() {
    let none = graph(|g| g.output("y", g.neg(g.param("w", f32([3])))));
    assert_eq!(
        said(&none, &recipe()),
        "1 mistake in what is to be trained:
  the graph has no output `loss`; name the value that is to fall with `g.output(\"loss\", …)`"
    );
    let wrong = graph(|g| {
        let w = g.param("w", f32([3]));
        g.output("loss", g.square(w));
        g.output("weight", g.reduce_sum(w, &[], false));
        g.output("penalty", g.cast(g.reduce_sum(w, &[], false), DType::I32));
    });
    assert_eq!(
        said(&wrong, &recipe().predict(["logits"])),
        "4 mistakes in what is to be trained:
  the output `loss` is f32[3]; it must be one float, of rank 0
  the output `penalty` is i32[]; it must be one float, of rank 0
  the output `weight` moves with `w`, which is trained; it must depend on data alone
  there is no output `logits` to predict"
    );
}

#[test]
fn params_that_cannot_be_trained() {
    let wrong = graph(|g| {
        squares(g);
        g.output("n", g.neg(g.param("count", i32([2]))));
        let blocks = g.param("blocks", tensor(Encoding::Blocks(Scheme::Q8_0), [2, 32]));
        g.output("b", g.dequantize(blocks));
    });
    assert!(step_graphs(&wrong, &recipe()).is_ok(), "they are frozen unless asked");
    let asked = Group::matching(["count", "blocks"]).trained();
    assert_eq!(
        said(&wrong, &recipe().group(asked)),
        "2 mistakes in what is to be trained:
  the param `count` is i32[2]; only float params are trained: freeze it, or decode it first
  the param `blocks` is q8_0[2, 32]; only float params are trained: freeze it, or decode it first"
    );
}

#[test]
fn params_that_are_not_reached() {
    let unused = graph(|g| {
        squares(g);
        g.output("other", g.neg(g.param("other", f32([2]))));
        g.output("rounded", g.floor(g.param("rounded", f32([2]))));
    });
    assert_eq!(
        said(&unused, &recipe()),
        "2 mistakes in what is to be trained:
  the loss does not depend on the param `other` by any way that has a gradient; freeze it in a group, or say `allow_unused`
  the loss does not depend on the param `rounded` by any way that has a gradient; freeze it in a group, or say `allow_unused`"
    );
    let made = step_graphs(&unused, &recipe().allow_unused()).expect("they are frozen");
    assert_eq!(made.trained.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["w"]);
    assert_eq!((made.step.params().len(), made.eval.params().len()), (0, 2));
    assert_eq!(
        said(&unused, &recipe().group(Group::matching(["*"]).frozen())),
        "1 mistake in what is to be trained:
  no param is trained: the graph has no float param that is not frozen"
    );
}

#[test]
fn groups() {
    let both = graph(|g| {
        let w = squares(g);
        let b = g.param("b.bias", f32([3]));
        g.output("penalty", g.reduce_sum(g.mul(w, b), &[], false));
    });
    let recipe = recipe()
        .group(Group::matching(["*.bias", "*.gain"]).weight_decay(-1.0))
        .group(Group::matching(["b*"]).rate(f64::NAN));
    assert_eq!(
        said(&both, &recipe),
        "4 mistakes in what is to be trained:
  the recipe: the weight decay of group 1 is not below 0
  the recipe: the rate of group 2 is a multiple of the schedule's, not below 0
  the pattern `*.gain` of group 1 matches no param
  the param `b.bias` is in groups 1 and 2; a param is in one"
    );
}

/// A param whose name has a star is named by its name, without those that the star would stand for.
#[test]
fn names_with_stars() {
    let starred = graph(|g| {
        let all = ["a*c", "abc", "a"].map(|name| g.param(name, f32([3])));
        g.output(
            "loss",
            all.map(|w| g.reduce_mean(g.square(w), &[], false))
                .into_iter()
                .reduce(|a, b| g.add(a, b))
                .expect("three"),
        );
    });
    let groups = recipe().group(Group::matching(["a*c"]).frozen()).group(Group::matching(["ab*"]).rate(0.5));
    let made = step_graphs(&starred, &groups).expect("each is in one");
    let trained: Vec<_> = made.trained.iter().map(|p| (p.name.as_str(), p.group)).collect();
    assert_eq!(trained, [("abc", 2), ("a", 0)]);
    let params: [(&str, &[u64]); 3] = [("a*c", &[2]), ("abc", &[2]), ("a", &[2])];
    let init = Init::new().rule("*", Rule::Zeros).rule("a*c", Rule::Ones);
    let values: Vec<Vec<f32>> =
        init.tensors(&params, 1).expect("rules").iter().map(|t| t.to_vec().expect("f32")).collect();
    assert_eq!(values, [[1.0; 2], [0.0; 2], [0.0; 2]]);
    // It is a name where another param has its value as well.
    let beside = init.tensors_beside(&params[1..], &params[..1], 1).expect("rules");
    assert!(beside.iter().all(|t| t.to_vec::<f32>().expect("f32") == [0.0; 2]));
}

#[test]
fn recipes() {
    let right = graph(|g| _ = squares(g));
    let nesterov = Sgd { momentum: 0.9, dampening: 0.1, nesterov: true, ..Sgd::default() };
    let recipe =
        Recipe::new(nesterov).clip_norm(0.0).accumulate(0).on_nonfinite(OnNonfinite::Skip).unguarded();
    assert_eq!(
        said(&right, &recipe),
        "4 mistakes in what is to be trained:
  optimizer SGD: Nesterov's step needs a momentum and no dampening
  the recipe: an update is made of one run at least
  the recipe: gradients are clipped to a norm above 0
  the recipe: what is unguarded neither clips, accumulates, scales nor skips"
    );
    assert_eq!(
        said(&right, &Recipe::new(Adam { beta2: 1.0, ..Adam::default() })),
        "1 mistake in what is to be trained:
  optimizer Adam: beta2 is 1, not in 0..1"
    );
}

#[test]
fn schedules() {
    let wrong = |schedule: Schedule| said(&graph(|g| _ = squares(g)), &recipe().schedule(schedule));
    let first = "1 mistake in what is to be trained:\n  the recipe: a ";
    let told = wrong(Schedule::constant(-1e-3));
    assert!(told.contains("the rate of a schedule is -0.001"), "{told}");
    let ends = ["falls towards an end: say `.total(updates)`", "ends after 5 updates, of which 5 warm up"];
    for (schedule, why) in [
        (Schedule::cosine(1e-3), ends[0]),
        (Schedule::linear(1e-3), ends[0]),
        (Schedule::cosine(1e-3).warmup(5).total(5), ends[1]),
        (Schedule::one_cycle(1e-3, 9).warmup(5), "rises by itself: leave out the warm-up"),
        (Schedule::one_cycle(1e-3, 9).last(1e-5), "has no last rate of one's own"),
        (Schedule::constant(1e-3).last(1e-5), "has no last rate of one's own"),
        (Schedule::constant(1e-3).total(100), "goes towards no end: leave out `.total(updates)`"),
        (
            Schedule::step(1e-3, 5, 0.5).total(100),
            "step rate of 0.001 over 100 updates goes towards no end: leave out `.total(updates)`",
        ),
        (
            Schedule::by(|_| 1e-3).warmup(9).total(99),
            "custom rate after 9 updates of warm-up over 99 updates goes towards no end: leave out `.total(updates)`",
        ),
        (Schedule::step(1e-3, 0, 0.5), "changes after every 0 updates: say at least 1"),
        (Schedule::by(|_| f64::NAN), "begins with NaN"),
    ] {
        let said = wrong(schedule);
        assert!(said.starts_with(first) && said.ends_with(why), "{said}");
    }
    for (schedule, why) in [
        (Schedule::step(1e-3, 2, f64::NAN), "the factor of a step rate of 0.001"),
        (Schedule::step(1e-3, 2, -1.0), "the factor of a step rate of 0.001"),
        (Schedule::step(1e-3, 2, f64::INFINITY), "the factor of a step rate of 0.001"),
        (Schedule::polynomial(1e-3, f64::NAN).total(4), "the power of a polynomial rate of 0.001"),
        (Schedule::polynomial(1e-3, -1.0).total(4), "the power of a polynomial rate of 0.001"),
    ] {
        let said = wrong(schedule);
        assert!(said.contains(why) && said.ends_with(", and must be finite and not below 0"), "{said}");
    }
    for schedule in [Schedule::step(1e-3, 2, 0.0), Schedule::polynomial(1e-3, 0.0).total(4)] {
        assert!(step_graphs(&graph(|g| _ = squares(g)), &recipe().schedule(schedule)).is_ok());
    }
}

/// Numbers that are sound in f64 and none in f32 are told by name and value; so are shares that are 1 there.
#[test]
fn numbers_that_f32_does_not_hold() {
    let graph = graph(|g| {
        squares(g);
        g.output("penalty", g.reduce_sum(g.param("b", f32([3])), &[], false));
    });
    let wrong = recipe()
        .schedule(Schedule::linear(1e-60).last(1e300).total(9))
        .group(Group::matching(["b"]).weight_decay(1e300).rate(1e300))
        .clip_norm(1e-50);
    assert_eq!(
        said(&graph, &wrong),
        "5 mistakes in what is to be trained:
  the recipe: the rate is 1e-60, which is 0 in f32
  the recipe: the last rate is 1e300, which is inf in f32
  the recipe: the rate of group 1 is 1e240, which is inf in f32
  the recipe: the weight decay of group 1 is 1e300, which is inf in f32
  the recipe: the norm to which gradients are clipped is 1e-50, which is 0 in f32"
    );
    let wrong = |recipe: Recipe| said(&graph, &recipe).lines().skip(1).collect::<Vec<_>>().join("\n");
    let below_one = 1.0 - 1e-9;
    let cases: [(Recipe, &str); 12] = [
        (
            Recipe::new(Adam { epsilon: 0.0, ..Adam::default() }),
            "Adam: epsilon is 0, and must be at least 1.1754943508222875e-38",
        ),
        (
            Recipe::new(AdamW { epsilon: 1e-40, ..AdamW::default() }),
            "AdamW: epsilon is 1e-40, and must be at least 1.1754943508222875e-38",
        ),
        (
            Recipe::new(RmsProp { epsilon: 0.0, ..RmsProp::default() }),
            "RMSprop: epsilon is 0, and must be at least 1.1754943508222875e-38",
        ),
        (
            Recipe::new(Adagrad { epsilon: 0.0, ..Adagrad::default() }),
            "Adagrad: epsilon is 0, and must be at least 1.1754943508222875e-38",
        ),
        (
            Recipe::new(AdamW { weight_decay: 1e300, ..AdamW::default() }),
            "AdamW: weight_decay is 1e300, which is inf in f32",
        ),
        (
            Recipe::new(Sgd { weight_decay: 1e-50, ..Sgd::default() }),
            "SGD: weight_decay is 1e-50, which is 0 in f32",
        ),
        (
            Recipe::new(Adam { epsilon: 1e-46, ..Adam::default() }),
            "Adam: epsilon is 1e-46, which is 0 in f32",
        ),
        (
            Recipe::new(Adam { beta2: below_one, ..Adam::default() }),
            "Adam: beta2 is 0.999999999, which is 1 in f32",
        ),
        (
            Recipe::new(AdamW { beta1: below_one, ..AdamW::default() }),
            "AdamW: beta1 is 0.999999999, which is 1 in f32",
        ),
        (
            Recipe::new(Lion { beta2: below_one, ..Lion::default() }),
            "Lion: beta2 is 0.999999999, which is 1 in f32",
        ),
        (
            Recipe::new(RmsProp { alpha: below_one, ..RmsProp::default() }),
            "RMSprop: alpha is 0.999999999, which is 1 in f32",
        ),
        (
            Recipe::new(Adam { weight_decay: -0.5, ..Adam::default() }),
            "Adam: weight_decay is -0.5, not in 0..inf",
        ),
    ];
    for (recipe, why) in cases {
        assert_eq!(wrong(recipe), format!("  optimizer {why}"));
    }
    // The largest share below 1 that f32 has, and a schedule that falls to next to nothing, are sound.
    let close = Adam { beta2: f64::from(1.0f32 - f32::EPSILON / 2.0), ..Adam::default() };
    let falls = Schedule::by(|n| 1e-3 * 1e-60f64.powi((n > 5).into()));
    assert!(step_graphs(&graph, &Recipe::new(close).schedule(falls)).is_ok());
    let numbers = step_graphs(&graph, &recipe()).expect("sound").numbers;
    let told = numbers.with_schedule(Schedule::constant(1e39)).err().expect("f32 ends before").to_string();
    assert!(told.ends_with("the recipe: the rate is 1e39, which is inf in f32"), "{told}");
}

/// Momentum that forgets something.
struct Forgetful(&'static str);

impl Optimizer for Forgetful {
    fn name(&self) -> &'static str {
        "Forgetful"
    }

    fn slots(&self, param: &[u64]) -> Vec<Slot> {
        vec![Slot::new("m", param), Slot::new("v", param)]
    }

    fn numbers(&self, t: u64) -> Vec<(&'static str, f64)> {
        let later = (self.0 == "more numbers" && t > 1).then_some(("more", 1.0));
        [("of_m", 1.0)].into_iter().chain(later).collect()
    }

    fn update(&self, cx: &UpdateCx<'_>) -> Updated {
        let number = cx.number(if self.0 == "a number" { "ofm" } else { "of_m" });
        let m = cx.slot(if self.0 == "a slot" { 2 } else { 0 });
        let slots = if self.0 == "a result" { vec![m] } else { vec![m, cx.slot(1)] };
        let step = cx.g.mul(cx.gradient, cx.g.mul(number, cx.rate));
        let step = if self.0 == "a shape" { cx.g.reduce_sum(step, &[], false) } else { step };
        let param = if self.0 == "a shape" { step } else { cx.g.sub(cx.param, step) };
        Updated { param, slots }
    }
}

#[test]
fn optimizers_of_ones_own() {
    let said = |what| said(&graph(|g| _ = squares(g)), &Recipe::new(Forgetful(what)));
    for (what, why) in [
        ("a number", "its update asks for the number `ofm`, which it does not have"),
        ("a slot", "its update asks for slot 2, which it does not have"),
        ("a result", "its update gives back 1 slots of 2"),
        ("a shape", "its update makes a param of [], which has [3]"),
        ("more numbers", "update 1 has the numbers [\"of_m\"], update 2 [\"of_m\", \"more\"]"),
    ] {
        assert!(said(what).ends_with(why), "{}", said(what));
    }
    assert!(step_graphs(&graph(|g| _ = squares(g)), &Recipe::new(Forgetful("nothing"))).is_ok());
}

#[test]
fn states_and_penalties() {
    let wrong = graph(|g| {
        let w = squares(g);
        let cache = g.cache("cache", f32([8, 3]), 0);
        let fed = g.state("fed", f32([3]));
        let row = g.reshape(g.add(w, g.state_read(fed)), &[1, 3]);
        let at = g.constant_scalar(DType::I32, 0.0);
        let append = pumice_ir::ops::kv_append::AppendMode::Linear;
        g.output("all", g.state_read(g.kv_append(cache, row, at, 0, append)));
        g.output("w now", w);
        g.feed("w now", fed, FeedKind::Whole);
        g.output("penalty", g.reduce_sum(g.mul(w, g.input("x", f32([3]))), &[], false));
    });
    assert_eq!(
        said(&wrong, &recipe().accumulate(2)),
        "3 mistakes in what is to be trained:
  the state `cache` is a cache, written in parts or by a loop; a graph that is trained has no states but running statistics
  the state `fed` is fed by an output; a graph that is trained has no states but running statistics
  the output `penalty` needs `x`; it is added once an update of several batches, so it may need params alone"
    );
}

#[test]
fn data_sets_and_submissions() {
    let sound = graph(|g| {
        let n = || pumice_ir::sym("n", 1..=8);
        let x = g.input("x", f32([n(), 3.into()]));
        g.input("long", f32([n(), pumice_ir::sym("m", 1..=4)]));
        g.input("other", i32([5]));
        g.input("one", i32::<u64>([]));
        g.input("flags", pumice_ir::bool_([n()]));
        let y = g.linear(x, g.param("w", f32([1, 3])), None);
        g.output("loss", g.reduce_mean(g.square(y), &[], false));
    });
    let inputs = ["x", "long", "other", "one", "flags", "z"];
    assert_eq!(
        said(&sound, &recipe().data_set(100, inputs).steps_per_submission(65)),
        "6 mistakes in what is to be trained:
  the recipe: a submission is of 1 to 64 steps, not of 65
  the input `long` is no data set: it is f32[n, m]; only the first extent may be symbolic
  the input `other` is no data set: it is i32[5], of other rows than the first input of the data set
  the input `one` is no data set: it is i32[]; only the first extent may be symbolic
  the input `flags` is no data set: no state is of bools
  the input `z` is no data set: the graph has no such input"
    );
    assert_eq!(
        said(&sound, &recipe().data_set(0, ["x"])),
        "1 mistake in what is to be trained:
  the input `x` is no data set: it has 1 to 2,147,483,647 rows"
    );
    assert_eq!(
        said(&sound, &recipe().data_set(5, ["x", "x"])),
        "1 mistake in what is to be trained:
  the input `x` is no data set: it is named twice"
    );
    assert_eq!(
        said(&sound, &recipe().data_set(5, [""; 0])),
        "1 mistake in what is to be trained:
  the recipe: a data set has one input at least"
    );
    let taken = graph(|g| {
        let x = g.input("x", f32([4, 3]));
        g.output("x/data", g.named("x/data").neg(x));
        let y = g.linear(x, g.param("w", f32([1, 3])), None);
        g.output("loss", g.reduce_mean(g.square(y), &[], false));
        g.output("row", g.named("train/row").neg(y));
    });
    assert_eq!(
        said(&taken, &recipe().data_set(9, ["x"])),
        "1 mistake in what is to be trained:
  the input `x` is no data set: the name `x/data` is taken"
    );
}

/// Batches are cut along a symbol that the recipe names and the graph's inputs begin with.
#[test]
fn micro_batches() {
    let sound = graph(|g| {
        let n = || pumice_ir::sym("n", 4..=64);
        let x = g.input("x", f32([n(), 3.into()]));
        g.input("turned", f32([3.into(), n()]));
        g.input("pairs", f32([DimExpr::symbol(SymbolId(0)) * DimExpr::constant(2)]));
        g.input("mask", f32([n(), n()]));
        g.input("rates", f32([3]));
        let (w, other) = (g.param("w", f32([1, 3])), g.input("other", f32([pumice_ir::sym("m", 1..=9)])));
        g.output("penalty", g.reduce_sum(g.mul(w, g.input("z", f32([3]))), &[], false));
        g.output("loss", g.reduce_mean(g.square(g.linear(x, w, None)), &[], false));
        g.output("other", g.neg(other));
    });
    assert_eq!(
        said_of_cut(&sound, &recipe().rows_apart("n").unguarded(), 0),
        "6 mistakes in what is to be trained:
  the output `penalty` needs `z`; it is added once an update of several batches, so it may need params alone
  batches cannot be cut along `n`: a micro-batch has one row at least, not 0
  the input `turned` is f32[3, n]; to be cut into rows it may have `n` as its first extent alone
  the input `pairs` is f32[2*n]; to be cut into rows it may have `n` as its first extent alone
  the input `mask` is f32[n, n]; to be cut into rows it may have `n` as its first extent alone
  the recipe: what is unguarded is updated by whole batches; micro-batches accumulate"
    );
    let alone = graph(|g| {
        let x = g.input("x", f32([pumice_ir::sym("n", 4..=64), 3.into()]));
        let m = g.input("m", f32([pumice_ir::sym("m", 1..=9)]));
        let y = g.linear(x, g.param("w", f32([1, 3])), None);
        g.output("loss", g.reduce_mean(g.square(y), &[], false));
        g.output("m2", g.named("train/share").neg(m));
    });
    for (recipe, rows, expected) in [
        (
            recipe(),
            8,
            "batches are to be cut into micro-batches; `Recipe::rows_apart` must say along which symbol their rows do not meet",
        ),
        (
            recipe().rows_apart("batch"),
            8,
            "batches cannot be cut along `batch`: the graph has no such symbol",
        ),
        (recipe().rows_apart("n"), 8, "batches cannot be cut along `n`: the name `train/share` is taken"),
        (
            recipe().rows_apart("n"),
            2,
            "batches cannot be cut along `n`: a micro-batch of 2 is fewer than n=4..=64",
        ),
    ] {
        let text = said_of_cut(&alone, &recipe, rows);
        assert!(text.lines().any(|line| line.trim_start() == expected), "{text}");
    }
}

/// Rows that meet are refused by the node in which they do.
#[test]
fn rows_that_meet() {
    let meeting = graph(|g| {
        let n = || pumice_ir::sym("n", 1..=64);
        let [a, b] = ["a", "b"].map(|name| g.input(name, f32([n(), 3.into()])));
        let w = g.param("w", f32([4, 3]));
        let (scale, shift) = (g.param("norm.weight", f32([4])), g.param("norm.bias", f32([4])));
        let (mean, variance) = (g.state("norm.mean", f32([4])), g.state("norm.variance", f32([4])));
        let (a, b) = (g.linear(a, w, None), g.linear(b, w, None));
        let op = pumice_ir::ops::BatchNormTraining::default();
        let a = g.named("norm").batch_norm_training(a, scale, shift, mean, variance, op);
        let (loss, weight) = g.named("pairs").in_batch_negatives(a, b, Default::default());
        g.output("loss", loss);
        g.output("weight", weight);
    });
    assert_eq!(
        said_of_cut(&meeting, &recipe().rows_apart("n"), 8),
        "2 mistakes in what is to be trained:
  batch_norm_training `batch_norm_training` has the statistics of a batch, so rows of a batch meet; `Recipe::per_micro_batch` makes it that of each micro-batch
  matmul `pairs.matmul` holds rows against rows, as in-batch negatives do, so rows of a batch meet; `Recipe::per_micro_batch` makes it that of each micro-batch"
    );
    let cut = recipe().rows_apart("n").per_micro_batch();
    assert!(micro_batch_graphs(&meeting, &cut, 8).is_ok(), "as PyTorch does");
    assert!(step_graphs(&meeting, &recipe().rows_apart("n")).is_ok(), "whole batches are not cut");
}

/// Two symbols that a condition makes one are none along which batches are cut.
#[test]
fn symbols_that_are_tied() {
    let tied = graph(|g| {
        let [x, y] = [("x", "n"), ("y", "m")]
            .map(|(name, n)| g.input(name, f32([pumice_ir::sym(n, 2..=64), 3.into()])));
        let guess = g.linear(x, g.param("w", f32([3, 3])), None);
        g.output("loss", g.reduce_mean(g.square(g.named("apart").sub(guess, y)), &[], false));
    });
    assert_eq!(
        said_of_cut(&tied, &recipe().rows_apart("n"), 8),
        "1 mistake in what is to be trained:
  batches cannot be cut along `n`: a condition ties it: apart (sub): broadcast extents"
    );
}

/// An op without a gradient is told with the way, beside other mistakes and alone.
#[test]
fn ops_without_gradient() {
    let wrong = graph(|g| {
        let w = g.param("w", f32([3]));
        g.output("loss", g.reduce_sum(g.cum_prod(w, CumProd::default()), &[], false));
    });
    let of_op = "cum_prod `cum_prod` has no gradient: ";
    let alone = said(&wrong, &recipe());
    assert!(
        alone.starts_with("1 mistake in what is to be trained:\n  the entry `step`: 1 mistake in the graph:"),
        "{alone}"
    );
    assert!(alone.contains(of_op) && alone.contains("`stop_gradient` before it ends the way"), "{alone}");
    let beside = said(&wrong, &recipe().group(Group::matching(["v"])));
    assert!(beside.starts_with("2 mistakes") && beside.contains(of_op), "{beside}");
}

/// Mistakes are told of the graph that the user wrote, whatever an entry makes of it: its names, its lines.
#[test]
fn places_and_names_are_the_users() {
    let (mut line, mut in_penalty, mut twice) = (0, 0, 0);
    let of_loss = graph(|g| {
        let w = g.param("w", f16([3]));
        line = line!() + 1;
        let product = g.cum_prod(g.named("wide").cast(w, DType::F32), CumProd::default());
        g.output("loss", g.reduce_sum(product, &[], false));
    });
    let of_penalty = graph(|g| {
        squares(g);
        let v = g.param("v", f32([3]));
        in_penalty = line!() + 1;
        let product = g.named("many").cum_prod(v, CumProd::default());
        g.output("penalty", g.reduce_sum(product, &[], false));
    });
    let of_name = graph(|g| {
        let w = g.param("w", f32([3]));
        twice = line!() + 1;
        g.output("loss", g.reduce_sum(g.named("w/m").neg(w), &[], false));
    });
    let steps = recipe().steps_per_submission(4);
    for recipe in
        [recipe(), recipe().loss_scale(), recipe().accumulate(2), steps.clone(), steps.accumulate(2)]
    {
        for (graph, named, line) in [
            (
                &of_loss,
                "cum_prod `cum_prod` has no gradient: products of all values before have no rule yet; it is on the way from `w` to `loss` (`stop_gradient` before it ends the way)",
                line,
            ),
            (
                &of_penalty,
                "cum_prod `many` has no gradient: products of all values before have no rule yet; it is on the way from `v` to `penalty` (`stop_gradient` before it ends the way)",
                in_penalty,
            ),
            (&of_name, "the name `w/m` is used twice", twice),
        ] {
            let said = step_graphs(graph, &recipe).err().expect("it is wrong").to_string();
            let place = format!(", at {}:{line}:", file!());
            let (text, column) = said.rsplit_once(&place).unwrap_or_else(|| panic!("not at {place}: {said}"));
            assert!(column.parse::<u32>().is_ok(), "{said}");
            assert_eq!(
                text,
                format!(
                    "1 mistake in what is to be trained:\n  the entry `step`: 1 mistake in the graph:\n  {named}"
                )
            );
        }
    }
    // Beside other mistakes, those of loss and penalty are all told.
    let beside =
        step_graphs(&of_penalty, &recipe().group(Group::matching(["q"]))).err().expect("two").to_string();
    assert!(beside.starts_with("2 mistakes") && beside.contains("from `v` to `penalty`"), "{beside}");
    // What an optimizer of one's own does wrong is where it says.
    let own = step_graphs(&graph(|g| _ = squares(g)), &Recipe::new(Misshapen))
        .err()
        .expect("it is wrong")
        .to_string();
    assert!(own.contains(file!()), "{own}");
}

/// An optimizer whose nodes do not fit each other.
struct Misshapen;

impl Optimizer for Misshapen {
    fn name(&self) -> &'static str {
        "Misshapen"
    }

    fn slots(&self, _: &[u64]) -> Vec<Slot> {
        Vec::new()
    }

    fn update(&self, cx: &UpdateCx<'_>) -> Updated {
        let wrong = cx.g.matmul(cx.param, cx.rate);
        Updated { param: wrong, slots: Vec::new() }
    }
}

/// What a graph declares has none of the names that entries give to their own, whether a recipe needs them or not.
#[test]
fn names_of_ones_own() {
    let numbers = |name: &str| {
        graph(|g| {
            let w = g.param("w", f32([3]));
            let own = g.mul(w, g.input(name, f32([3])));
            g.output("loss", g.reduce_mean(g.square(own), &[], false));
        })
    };
    for name in ["train/ends", "train/share", "train/numbers", "train/base", "train/index", "train/mine"] {
        assert_eq!(
            said(&numbers(name), &recipe()),
            format!(
                "1 mistake in what is to be trained:
  the input `{name}` needs another name: those that begin with `train/` are for what training adds"
            )
        );
    }
    assert!(
        step_graphs(&numbers("train"), &recipe()).is_ok()
            && step_graphs(&numbers("my/train/x"), &recipe()).is_ok()
    );
    let others = graph(|g| {
        let w = g.param("train/w", f32([3]));
        g.output("mean", g.state_read(g.state("train/mean", f32([3]))));
        g.output("loss", g.reduce_mean(g.square(w), &[], false));
    });
    let told = said(&others, &recipe());
    assert!(
        told.starts_with("2 mistakes")
            && told.contains("param `train/w`")
            && told.contains("state `train/mean`"),
        "{told}"
    );
}

/// A loss that is made of what a state is after it was written is told by state and write, written again or not.
#[test]
fn a_loss_that_needs_a_write() {
    let reads = |after: bool, again: bool| {
        graph(|g| {
            let (x, w) = (g.input("x", f32([3])), g.param("w", f32([3])));
            let mean = g.state("mean", f32([3]));
            let written = g.named("moved").state_write(mean, x);
            let read = g.state_read(if after { written } else { mean });
            if again {
                g.named("moved again").state_write(written, g.neg(x));
            }
            g.output("loss", g.reduce_mean(g.square(g.mul(w, read)), &[], false));
        })
    };
    for again in [false, true] {
        assert_eq!(
            said(&reads(true, again), &recipe()),
            "1 mistake in what is to be trained:
  the loss needs what `moved` writes to the state `mean`, which is written where the loss is finite; read the state before, or take the value that is written"
        );
        assert!(step_graphs(&reads(false, again), &recipe()).is_ok());
    }
}
