//! What a trainer says of numbers, names and sizes that are wrong: the thing itself, and what would help.

use pumice::train::{
    AdamW, Batch, Init, OnNonfinite, Recipe, Rule, Schedule, Sgd, TrainOptions, Trainer, TrainerError,
};
use pumice::{Device, Graph, GraphBuilder, Tensor, TensorView, f32, sym};

/// A line whose penalty is an input, so that gradients do not depend on it.
fn line() -> Graph {
    let g = GraphBuilder::new("line");
    let n = || sym("n", 1..=16);
    let (x, y) = (g.input("x", f32([n(), 2.into()])), g.input("y", f32([n(), 1.into()])));
    let guess = g.linear(x, g.param("weight", f32([1, 2])), None);
    g.output("loss", g.mse(guess, y, Default::default()).0);
    g.output("penalty", g.input("penalty", f32::<u64>([])));
    g.output("guess", guess);
    g.build().expect("sound")
}

fn of(value: f32, shape: &[u64]) -> Tensor {
    Tensor::new(&vec![value; shape.iter().product::<u64>() as usize], shape).expect("as many")
}

fn batch(y: f32, penalty: f32) -> Batch {
    let batch = Batch::new().with("x", of(1.0, &[2, 2])).with("y", of(y, &[2, 1]));
    batch.with("penalty", of(penalty, &[]))
}

fn trainer(graph: &Graph, recipe: &Recipe) -> Trainer {
    let made = Trainer::new(graph, recipe, &Device::cpu(), &TrainOptions::default());
    let mut trainer = made.expect("a trainer");
    trainer.init(&Init::new().rule("*", Rule::Constant(0.5)), 1).expect("a rule");
    trainer
}

fn sgd() -> Recipe {
    Recipe::new(Sgd::default()).schedule(Schedule::constant(0.1))
}

/// What is not finite is named: the penalty where loss and gradients are.
#[test]
fn a_penalty_that_is_not_finite_is_named() {
    for steps in [1, 4] {
        let mut trainer = trainer(&line(), &sgd().steps_per_submission(steps));
        for (y, penalty, said) in [
            (2.0, f32::NAN, "the loss is 1, the norm of the gradients 2.828"),
            (2.0, f32::INFINITY, "the loss is 1, the norm of the gradients 2.828"),
            (f32::INFINITY, 0.0, "the loss is inf, the norm of the gradients"),
        ] {
            let told =
                trainer.run([batch(y, penalty)]).next().expect("one").expect_err("not finite").to_string();
            assert!(told.starts_with(&format!("update 1 was not made: {said}")), "{told}");
            let named = ", but the penalty, or its sum with the loss, is not finite; weights and moments are";
            assert_eq!(told.contains(named), y.is_finite(), "{told}");
        }
    }
    let mut skips = trainer(&line(), &sgd().on_nonfinite(OnNonfinite::Skip));
    assert!(!skips.update(&[batch(2.0, f32::NAN)]).expect("it goes on").made);
}

/// Of the inputs to choose from those that the trainer fills are none.
#[test]
fn inputs_of_the_trainer_are_not_offered() {
    for recipe in [sgd(), sgd().steps_per_submission(4), sgd().steps_per_submission(4).data_set(4, ["x"])] {
        let mut trainer = trainer(&line(), &recipe);
        if !recipe.data_inputs().is_empty() {
            trainer.set_data("x", of(1.0, &[4, 2]).view()).expect("4 rows");
        }
        let wrong = || batch(1.0, 0.0).with("z", of(1.0, &[1]));
        let told = [
            trainer.run([wrong()]).next().expect("one").expect_err("no such input").to_string(),
            trainer.evaluate([wrong()]).expect_err("no such input").to_string(),
        ];
        for told in told {
            assert!(told.contains("`y`") && !told.contains("train/"), "{told}");
        }
    }
}

/// A state that is given is told with what gives it.
#[test]
fn what_gives_a_state_is_said() {
    let g = GraphBuilder::new("given");
    let (w, scale) = (g.param("w", f32([3u64])), g.state_given("scale", f32([3u64])));
    g.output("loss", g.reduce_mean(g.square(g.mul(w, g.state_read(scale))), &[], false));
    let mut trainer = trainer(&g.build().expect("sound"), &sgd());
    let told = trainer.update(&[Batch::new()]).expect_err("it was never given").to_string();
    let said = "no value for scale: give params by `Trainer::init`, params and states by `Trainer::load`, or each by \
                `Trainer::set`";
    assert_eq!(told, said);
    trainer.set("scale", TensorView::f32(&[1.0; 3], [3])).expect("a state");
    assert!(trainer.update(&[Batch::new()]).expect("it is there").made);
}

/// Sizes that few digits do not tell apart are told to the byte; a data set that is large is named.
#[test]
fn sizes_say_what_is_large() {
    let made = |recipe: &Recipe, memory: u64| {
        Trainer::new(&line(), recipe, &Device::cpu(), &TrainOptions::default().memory(memory))
    };
    let recipe = Recipe::new(AdamW::default()).data_set(200_000, ["x"]);
    let told = |memory: u64| made(&recipe, memory).expect_err("too little").to_string();
    let Err(TrainerError::OutOfMemory { needed, .. }) = made(&recipe, 0) else {
        unreachable!("of no memory")
    };
    assert!(made(&recipe, needed.0).is_ok(), "so much is enough");
    let (below, little) = (told(needed.0 - 1), told(4096));
    let exact = format!(
        "the program needs {} bytes on the device for whole batches, and has {} bytes: ",
        needed.0,
        needed.0 - 1
    );
    assert!(below.starts_with(&exact), "{below}");
    assert!(below.ends_with("the data set takes 1.5 MiB of it"), "{below}");
    assert!(little.contains("and has 4.0 KiB: the data set takes 1.5 MiB, weights, moments and"), "{little}");
    let told = made(&Recipe::new(AdamW::default()), 1).expect_err("too little").to_string();
    assert!(!told.contains("data set"), "{told}");
}
