//! The scale of the loss: gradients stay the same, to the bit, and the scale follows what is finite.

mod rig;

use pumice_ir::{Graph, GraphBuilder, f32};
use pumice_train::{AdamW, Recipe, StepGraphs, names, step_graphs};
use rig::{Rig, Values, floats, ints, number};

/// Σ w·x, with a penalty.
fn linear() -> Graph {
    let g = GraphBuilder::new("linear");
    let w = g.param("w", f32([3]));
    g.output("loss", g.reduce_sum(g.mul(w, g.input("x", f32([3]))), &[0], false));
    g.output("penalty", g.reduce_mean(g.square(w), &[0], false));
    g.build().expect("a graph")
}

fn began() -> Rig {
    let mut rig = Rig::new(true);
    rig.set("w", floats(&[3], vec![0.5, -0.25, 2.0]));
    rig.set(names::SCALE, floats(&[], vec![65_536.0]));
    rig
}

fn step(rig: &mut Rig, made: &StepGraphs, x: f64) -> Values {
    let x = vec![f64::from(0.3f32) * x, x, -x];
    let mut inputs = Values::from([("x".into(), floats(&[3], x))]);
    rig.numbers(&made.numbers, &mut inputs);
    rig.run(&made.step, &inputs)
}

#[test]
fn a_scale_changes_no_bit() {
    let recipe = Recipe::new(AdamW::default()).clip_norm(1.0);
    let made = [recipe.clone(), recipe.loss_scale()].map(|r| step_graphs(&linear(), &r).expect("a recipe"));
    let mut rigs = [began(), began()];
    for n in 0..5 {
        for (rig, made) in rigs.iter_mut().zip(&made) {
            step(rig, made, f64::from(n) - 1.5);
        }
        assert_eq!(rigs[0].kept["w"], rigs[1].kept["w"]);
    }
    assert_eq!(rigs[1].floats(names::SCALE), [65_536.0], "at most that");
}

/// A squared norm that overflows f32 halves it 17 times at most, and stops once the scale is 1.
#[test]
fn the_scale_halves_and_stops_at_1() {
    let made = step_graphs(&linear(), &Recipe::new(AdamW::default()).loss_scale()).expect("a recipe");
    let mut rig = began();
    let mut stops = Vec::new();
    for _ in 0..18 {
        let outputs = step(&mut rig, &made, 1e25);
        assert_eq!(number(&outputs, names::FLAG), 0.0);
        stops.push(number(&outputs, names::STOP) == 1.0);
    }
    assert_eq!(stops.iter().position(|&stop| stop), Some(16));
    assert_eq!((rig.floats(names::SCALE)[0], rig.count(names::SKIPS_IN_ROW)), (1.0, 18));
    step(&mut rig, &made, 1.0);
    assert_eq!([rig.count(names::SKIPS_IN_ROW), rig.count(names::SKIPS), rig.count(names::GOOD)], [0, 18, 1]);
}

/// After 2,000 good updates it doubles, and counts anew; 20 in a row that fail stop; a loss that is not finite does.
#[test]
fn the_scale_doubles_and_patience_ends() {
    let made = step_graphs(&linear(), &Recipe::new(AdamW::default()).loss_scale()).expect("a recipe");
    let mut rig = began();
    rig.set(names::SCALE, floats(&[], vec![1024.0]));
    rig.set(names::GOOD, ints(&[], vec![1_998]));
    let mut seen = Vec::new();
    for _ in 0..3 {
        step(&mut rig, &made, 1.0);
        seen.push((rig.floats(names::SCALE)[0], rig.count(names::GOOD)));
    }
    assert_eq!(seen, [(1024.0, 1_999), (2048.0, 0), (2048.0, 1)]);
    rig.set(names::SKIPS_IN_ROW, ints(&[], vec![19]));
    assert_eq!(number(&step(&mut rig, &made, 1e25), names::STOP), 0.0);
    assert_eq!(number(&step(&mut rig, &made, 1e25), names::STOP), 1.0);
    rig.set(names::SKIPS_IN_ROW, ints(&[], vec![0]));
    assert_eq!(number(&step(&mut rig, &made, f64::NAN), names::STOP), 1.0);
}

/// Accumulated gradients are unscaled where they are added.
#[test]
fn accumulated_gradients_are_unscaled() {
    let recipe = Recipe::new(AdamW::default()).accumulate(2).loss_scale();
    let made = step_graphs(&linear(), &recipe).expect("a recipe");
    let mut rig = began();
    let x = floats(&[3], vec![1.0, 2.0, 4.0]);
    let inputs = Values::from([("x".into(), x)]);
    let accumulate = made.accumulate.as_ref().expect("asked");
    for _ in 0..2 {
        rig.run(accumulate, &inputs);
    }
    assert_eq!(rig.floats(&names::accumulated("w")), [2.0, 4.0, 8.0]);
    let mut numbers = Values::new();
    rig.numbers(&made.numbers, &mut numbers);
    let outputs = rig.run(made.update.as_ref().expect("asked"), &numbers);
    // 1, 2, 4 and 2/3 of 0.5, −0.25, 2.
    let norm = [4.0 / 3.0, 2.0 - 0.5 / 3.0, 4.0 + 4.0 / 3.0f64].iter().map(|g| g * g).sum::<f64>().sqrt();
    assert!((number(&outputs, names::NORM) - norm).abs() < 1e-6);
}
