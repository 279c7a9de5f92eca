//! Samples of loops whose turns make values in parts, choose, or are chosen: programs as people write them.

use crate::builder::{GraphBuilder, Value};
use crate::ops::pad::Pad;
use crate::sample::{Fill, Sample};
use crate::shape::{i32, tensor};
use pumice_types::DType;

/// Samples of what turns are made of.
pub(super) fn body_samples() -> Vec<Sample> {
    let mut samples = vec![life(), shifted_in(), beside_what_stays(), sorted_with_what_stays()];
    samples.extend([-1, 0, 5, 11].map(chosen_as_the_loop_goes_on));
    samples.extend([3, 9].map(chosen_by_what_is_carried));
    samples.push(half_used());
    samples
}

fn number(g: &GraphBuilder, n: i32) -> Value {
    g.constant_scalar(DType::I32, n.into())
}

/// A sample of small integers x, whose loop ends at a limit.
fn limited(label: &str, limit: i64, build: impl FnOnce(&GraphBuilder)) -> Sample {
    Sample::graph(label, build).fill("x", Fill::Range(-9, 9)).fill("limit", Fill::Ints(vec![limit]))
}

/// `body(value, i)` as long as i is below an input `limit`, at most nine times.
fn up_to(g: &GraphBuilder, value: Value, body: impl Fn(&GraphBuilder, Value, Value) -> Value) -> Value {
    let limit = g.input("limit", i32::<u64>([]));
    let [y, _] = g.while_(
        9,
        [value, number(g, 0)],
        |g, [_, i]| g.less(i, limit),
        |g, [y, i]| [body(g, y, i), g.add(i, number(g, 1))],
    );
    y
}

/// Of each cell of a field of 6 by 7 how many beside it are alive.
fn around(g: &GraphBuilder, field: Value) -> Value {
    let padded = g.pad(field, None, Pad { pads: vec![1; 4], ..Pad::default() });
    let places = (0..9u64).filter(|&k| k != 4).map(|k| (k / 3, k % 3));
    let shown = places.map(|(r, c)| g.narrow(g.narrow(padded, 0, r, 6u64), 1, c, 7u64));
    shown.reduce(|sum, v| g.add(sum, v)).unwrap_or(field)
}

/// Conway's life: the field with a border that no turn changes.
fn life() -> Sample {
    let build = |g: &GraphBuilder| {
        let field = g.bitwise_and(g.input("x", tensor(DType::I32, [6, 7])), number(g, 1));
        let y = up_to(g, field, |g, field, _| {
            let around = around(g, field);
            let is = |v, n| g.equal(v, number(g, n));
            g.cast(g.or(is(around, 3), g.and(is(around, 2), is(field, 1))), DType::I32)
        });
        g.output("y", y);
    };
    Sample::graph("life", build).fill("x", Fill::Any).fill("limit", Fill::Ints(vec![4]))
}

/// A register that takes zeros from behind.
fn shifted_in() -> Sample {
    let build = |g: &GraphBuilder| {
        let y = up_to(g, g.input("x", i32([5])), |g, y, _| {
            g.concat(&[g.narrow(y, 0, 1u64, 4u64), g.fill(number(g, 0), vec![1.into()])], 0)
        });
        g.output("y", y);
    };
    Sample::graph("zeros shifted in", build).fill("limit", Fill::Ints(vec![3]))
}

/// What no turn changes stands before what each makes.
fn beside_what_stays() -> Sample {
    let build = |g: &GraphBuilder| {
        let x = g.input("x", i32([6]));
        let y = up_to(g, g.neg(x), |g, y, i| g.add(g.narrow(g.concat(&[x, y], 0), 0, 3u64, 6u64), i));
        g.output("y", y);
    };
    limited("behind what stays", 5, build)
}

fn sorted_with_what_stays() -> Sample {
    let build = |g: &GraphBuilder| {
        let x = g.input("x", i32([6]));
        let y = up_to(g, x, |g, y, i| {
            let all = g.stack(&[g.mul(x, x), g.sub(y, i)], 0);
            let (sorted, _) = g.sort(g.reshape(all, &[12]), 0, false);
            g.narrow(sorted, 0, 2u64, 6u64)
        });
        g.output("y", y);
    };
    limited("sorted with what stays", 7, build)
}

fn added_or_negated(g: &GraphBuilder, condition: Value, [y, other]: [Value; 2]) -> Value {
    let [chosen] = g.if_(condition, |g| [g.add(y, other)], |g| [g.neg(y)]);
    chosen
}

/// The branch of a turn is chosen by what says whether there is another one.
fn chosen_as_the_loop_goes_on(limit: i64) -> Sample {
    let build = |g: &GraphBuilder| {
        let limit = g.input("limit", i32::<u64>([]));
        let [y, _] = g.while_(
            9,
            [g.input("x", i32([3])), number(g, 0)],
            |g, [_, i]| g.less(i, limit),
            |g, [y, i]| {
                let next = g.add(i, number(g, 1));
                [added_or_negated(g, g.less(next, limit), [y, next]), next]
            },
        );
        g.output("y", y);
    };
    let sample = limited(&format!("chosen as the loop goes on, {limit}"), limit, build);
    if limit > 9 { sample.expect_status() } else { sample }
}

/// A bool is carried that says whether there is a turn, and chooses in it.
fn chosen_by_what_is_carried(limit: i64) -> Sample {
    let build = |g: &GraphBuilder| {
        let limit = g.input("limit", i32::<u64>([]));
        let [_, y, _] = g.while_(
            9,
            [g.less(number(g, 0), limit), g.input("x", i32([3])), number(g, 0)],
            |_, [goes_on, _, _]| goes_on,
            |g, [_, y, i]| {
                let next = g.add(i, number(g, 1));
                let goes_on = g.less(next, limit);
                [goes_on, added_or_negated(g, goes_on, [y, next]), next]
            },
        );
        g.output("y", y);
    };
    limited(&format!("chosen by what is carried, {limit}"), limit, build)
}

/// Of two results of a branch in a turn one is used; the other would be what no turn changes.
fn half_used() -> Sample {
    let build = |g: &GraphBuilder| {
        let (x, n) = (g.input("x", i32([3])), g.input("n", i32::<u64>([])));
        let y = up_to(g, x, |g, y, i| {
            let then = |g: &GraphBuilder| [g.add(y, i), g.neg(n)];
            let [used, _] = g.if_(g.less(i, number(g, 2)), then, |g| [y, g.add(n, n)]);
            used
        });
        g.output("y", y);
    };
    limited("half of a branch is used", 5, build)
}
