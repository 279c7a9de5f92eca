//! What `grad` says of graphs that it cannot differentiate, and which values it makes.

use pumice_ir::ops::BatchNormTraining;
use pumice_ir::{GraphBuilder, Value, f32, i32, sym};
use pumice_types::DType;

/// The mistakes of a graph without their places.
fn mistakes(build: impl FnOnce(&GraphBuilder)) -> Vec<String> {
    let g = GraphBuilder::new("g");
    build(&g);
    let text = g.build().map(|_| String::new()).unwrap_or_else(|e| e.to_string());
    let lines = text.lines().skip(1).map(|line| line.trim().to_owned());
    lines.map(|line| line.split(", at ").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_loss_is_one_float() {
    let of_row = mistakes(|g| {
        let x = g.input("x", f32([3]));
        g.output("dx", g.grad(g.tanh(x), &[x])[0]);
    });
    assert_eq!(of_row, ["the loss `tanh` is f32[3]; gradients are those of one float, of rank 0"]);
    let of_count = mistakes(|g| {
        let x = g.input("x", f32([3]));
        let count = g.cast(g.reduce_sum(x, &[0], false), DType::I32);
        g.output("dx", g.grad(count, &[x])[0]);
    });
    assert_eq!(of_count, ["the loss `cast` is i32[]; gradients are those of one float, of rank 0"]);
}

#[test]
fn only_floats_have_gradients() {
    let said = mistakes(|g| {
        let (x, i) = (g.input("x", f32([3])), g.input("i", i32([2])));
        let loss = g.reduce_sum(g.gather(x, i, 0), &[0], false);
        g.output("di", g.grad(loss, &[x, i])[0]);
    });
    assert_eq!(said, ["`i` is i32; only floats have gradients"]);
}

#[test]
fn a_value_that_the_loss_does_not_reach_is_named() {
    let stopped = mistakes(|g| {
        let (x, w) = (g.input("x", f32([3])), g.param("w", f32([3])));
        let loss = g.reduce_sum(g.mul(x, g.floor(w)), &[0], false);
        g.output("dw", g.grad(loss, &[w])[0]);
    });
    let why = "the loss `reduce_sum` does not depend on `w` by any way that has a gradient";
    assert_eq!(stopped, [why]);
    let blocked = mistakes(|g| {
        let (x, w) = (g.input("x", f32([3])), g.param("w", f32([3])));
        let loss = g.reduce_sum(g.mul(x, g.stop_gradient(w)), &[0], false);
        g.output("dw", g.grad(loss, &[w])[0]);
    });
    assert_eq!(blocked, [why]);
}

#[test]
fn an_op_without_a_gradient_is_named_with_the_way() {
    let said = mistakes(|g| {
        let w = g.param("w", f32([4]));
        let y = g.cum_prod(w, Default::default());
        g.output("dw", g.grad(g.reduce_sum(y, &[0], false), &[w])[0]);
    });
    assert_eq!(
        said,
        [
            "cum_prod `cum_prod` has no gradient: products of all values before have no rule yet; it is on the way \
             from `w` to `reduce_sum` (`stop_gradient` before it ends the way)"
        ]
    );
}

/// Of several wanted values the one on whose way the op is.
#[test]
fn the_value_that_an_op_stands_in_the_way_of_is_named() {
    let said = mistakes(|g| {
        let (a, b) = (g.param("a", f32([4])), g.param("b", f32([4])));
        let y = g.add(g.exp(a), g.cum_prod(b, Default::default()));
        g.output("da", g.grad(g.reduce_sum(y, &[0], false), &[a, b])[0]);
    });
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("on the way from `b` to `reduce_sum`"), "{said:?}");
}

/// tanh, forty times in a loop. What takes a turn's value apart (`unsqueeze`) is passed as what it is made of.
fn turned(g: &GraphBuilder, x: Value) -> Value {
    g.loop_(40, [x], |g, _, [x]| [g.tanh(g.squeeze(g.unsqueeze(x, &[0]), &[0]))])[0]
}

#[test]
fn a_loop_on_the_way_is_named_alone() {
    let said = mistakes(|g| {
        let w = g.param("w", f32([4]));
        g.output("dw", g.grad(g.reduce_sum(turned(g, w), &[0], false), &[w])[0]);
    });
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("it is on the way from `w` to `reduce_sum`"), "{said:?}");
}

#[test]
fn what_is_only_waited_for_is_not_on_the_way() {
    let said = mistakes(|g| {
        let w = g.param("w", f32([4]));
        let after = turned(g, w);
        let y = g.barrier(&[g.exp(w)], Some(after))[0];
        g.output("dw", g.grad(g.reduce_sum(y, &[0], false), &[w])[0]);
    });
    assert_eq!(said, Vec::<String>::new());
}

/// What came out of a mistake, or of another graph, is told once.
#[test]
fn mistaken_and_foreign_values_are_told_once() {
    let other = GraphBuilder::new("other");
    let foreign = other.input("x", f32([3]));
    let said = mistakes(|g| {
        let x = g.input("x", f32([3]));
        let loss = g.reduce_sum(x, &[0], false);
        g.output("d", g.grad(loss, &[foreign])[0]);
    });
    assert_eq!(said.len(), 1, "{said:?}");
    let mistaken = mistakes(|g| {
        let x = g.input("x", f32([3]));
        let sum = g.add(x, g.input("y", f32([2])));
        g.output("d", g.grad(g.reduce_sum(sum, &[], false), &[x])[0]);
    });
    assert_eq!(mistaken.len(), 1, "{mistaken:?}");
}

/// A gradient has the type of its value, symbols included; nothing is made below what is wanted.
#[test]
fn gradients_have_the_types_of_their_values() {
    let g = GraphBuilder::new("g");
    let (x, w) = (g.input("x", f32([sym("n", 1..=9), 4.into()])), g.param("w", f32([4, 3])));
    let hidden = g.relu(g.matmul(x, w));
    let y = g.softmax(hidden, -1);
    let loss = g.reduce_sum(g.square(y), &[], false);
    let made = g.grad(loss, &[x, w, hidden]);
    let types: Vec<_> = made.iter().map(|&v| g.type_of(v)).collect();
    assert_eq!(types, [x, w, hidden].map(|v| g.type_of(v)));
    let again = g.grad(g.reduce_sum(g.square(made[1]), &[], false), &[w]);
    assert_eq!(g.type_of(again[0]), g.type_of(w));
    made.iter().chain(&again).enumerate().for_each(|(i, &v)| g.output(&format!("d{i}"), v));
    g.build().expect("no mistakes");
}

/// Of an op of several results, which are made of different operands: each reaches its own.
#[test]
fn results_reach_what_they_are_made_of() {
    let g = GraphBuilder::new("g");
    let x = g.input("x", f32([4, 3]));
    let [gamma, beta, mean, variance] =
        ["gamma", "beta", "mean", "variance"].map(|name| g.input(name, f32([3])));
    let operands = [x, gamma, beta, mean, variance].map(Some);
    let results = g.apply_all(BatchNormTraining::default(), &operands);
    let losses: Vec<_> = results.iter().map(|&y| g.reduce_sum(y, &[], false)).collect();
    let reached = |loss| [x, gamma, beta, mean, variance].map(|operand| g.reaches(loss, operand));
    assert_eq!(reached(losses[0]), [true, true, true, false, false]);
    assert_eq!(reached(losses[1]), [true, false, false, true, false]);
    assert_eq!(reached(losses[2]), [true, false, false, false, true]);
    g.grad(losses[0], &[x, gamma, beta]);
    g.grad(losses[1], &[x, mean]);
    g.grad(losses[2], &[x, variance]);
    assert!(g.mistakes().is_empty(), "{:?}", g.mistakes());
}
