//! Samples of `LinearRecurrence`: every form of decays and betas, both groupings, keys up to what a group keeps, states
//! in both orders, no steps, symbolic ones, more columns than a grid has in one line.

use super::linear_recurrence::{LinearRecurrence, RecurrenceOptions};
use crate::builder::{GraphBuilder, Value};
use crate::sample::{Fill, Sample};
use crate::shape::{DimSpec, f32, sym};

/// Extents: batches, steps, heads of q, of k and of v, keys, values.
type Size = [u64; 7];

/// What decays, and how what is added is weighed.
#[derive(Clone, Copy, Debug)]
struct Form {
    /// 0 none, 1 of heads, 2 of keys, 3 of heads times rates.
    decay: u8,
    /// 0 none, 1 of heads, 2 one for all.
    beta: u8,
    state: bool,
}

const ALL: Form = Form { decay: 1, beta: 1, state: true };

fn inputs(
    g: &GraphBuilder,
    (n, b, t): (Size, DimSpec, DimSpec),
    form: Form,
    by_value: bool,
) -> (Vec<Value>, RecurrenceOptions) {
    let [_, _, hq, hk, h, keys, values] = n;
    let along = |name: &str, rest: &[u64]| {
        let shape = [b.clone(), t.clone()].into_iter().chain(rest.iter().map(|&e| e.into()));
        g.input(name, f32(shape.collect::<Vec<DimSpec>>()))
    };
    let main = vec![along("q", &[hq, keys]), along("k", &[hk, keys]), along("v", &[h, values])];
    let decay = match form.decay {
        0 => None,
        2 => Some(along("decay", &[h, keys])),
        _ => Some(along("decay", &[h])),
    };
    let rates = (form.decay == 3).then(|| g.param("rates", f32([h, keys])));
    let beta = (form.beta > 0).then(|| along("beta", &[if form.beta == 1 { h } else { 1 }]));
    let matrix = if by_value { [values, keys] } else { [keys, values] };
    let state = form.state.then(|| {
        let shape = [b.clone(), h.into(), matrix[0].into(), matrix[1].into()];
        g.input("state", f32(shape.to_vec()))
    });
    (main, RecurrenceOptions { decay, rates, beta, state })
}

/// Decays take a little away, keys are short: so that no state grows without bound.
fn filled(sample: Sample, keys: u64) -> Sample {
    let short = 1.0 / (keys as f64).sqrt();
    sample
        .fill("k", Fill::Uniform(-short, short))
        .fill("decay", Fill::Uniform(-1.0, 0.0))
        .fill("rates", Fill::Uniform(0.0, 2.0))
        .fill("beta", Fill::Uniform(0.0, 1.0))
}

fn outputs(g: &GraphBuilder, main: &[Value], options: RecurrenceOptions, op: LinearRecurrence) {
    let (o, last) = g.linear_recurrence([main[0], main[1], main[2]], options, op);
    g.output("o", o);
    g.output("last", last);
}

fn case(n: Size, form: Form, op: &LinearRecurrence) -> Sample {
    let sample = Sample::graph(&format!("{n:?} {form:?} {op:?}"), |g| {
        let (main, options) = inputs(g, (n, n[0].into(), n[1].into()), form, op.by_value);
        outputs(g, &main, options, op.clone());
    });
    filled(sample, n[5])
}

/// Batches of up to 3 and steps of up to `most`.
fn symbolic([b, t]: [u64; 2], most: u64, op: &LinearRecurrence) -> Sample {
    let sample = Sample::graph(&format!("symbolic, {b} of 3, {t} of {most} {op:?}"), |g| {
        let n = [3, most, 2, 1, 2, 5, 3];
        let form = Form { decay: 3, ..ALL };
        let (main, options) = inputs(g, (n, sym("b", 0..=3), sym("t", 0..=most)), form, op.by_value);
        outputs(g, &main, options, op.clone());
    });
    filled(sample.bind("b", b).bind("t", t), 5)
}

/// β of each head, where a symbol is the number of heads.
fn betas_of_a_symbol(op: &LinearRecurrence) -> Sample {
    let sample = Sample::graph(&format!("beta of as many heads as a symbol says {op:?}"), |g| {
        let n = [2, 5, 4, 4, 4, 3, 3];
        let (main, options) = inputs(g, (n, n[0].into(), n[1].into()), Form { beta: 0, ..ALL }, op.by_value);
        let beta = Some(g.input("beta", f32([2.into(), 5.into(), sym("heads", 1..=4)])));
        outputs(g, &main, RecurrenceOptions { beta, ..options }, op.clone());
    });
    filled(sample, 3)
}

/// All samples.
pub fn samples() -> Vec<Sample> {
    let plain = LinearRecurrence::default();
    let delta = LinearRecurrence { delta: true, ..plain.clone() };
    let turned = LinearRecurrence { scale: -0.5, by_value: true, ..plain.clone() };
    let both = LinearRecurrence { delta: true, ..turned.clone() };
    let base = [2, 7, 3, 3, 3, 5, 4];
    let mut samples = Vec::new();
    for op in [&plain, &delta, &turned, &both] {
        for decay in 0..4 {
            samples.push(case(base, Form { decay, ..ALL }, op));
        }
        samples.push(case(base, Form { beta: 0, decay: 1, state: false }, op));
        samples.push(case(base, Form { beta: 2, ..ALL }, op));
        // One head of k for all, heads of q that share a state, heads of both that share one.
        samples.push(case([2, 4, 6, 1, 3, 9, 5], ALL, op));
        samples.push(case([1, 4, 2, 2, 4, 3, 7], Form { decay: 2, ..ALL }, op));
        samples.push(case([1, 5, 3, 2, 5, 4, 4], ALL, op));
    }
    for keys in [1, 4, 16, 64, 65, 128, 257] {
        samples.push(case([1, 5, 2, 2, 2, keys, 3], ALL, &delta));
        samples.push(case([1, 3, 1, 1, 40, keys, 1], Form { decay: 3, beta: 0, state: true }, &plain));
    }
    samples.extend([
        case([1, 1, 1, 1, 1, 1, 1], ALL, &plain),
        case([0, 4, 2, 2, 2, 3, 3], ALL, &plain),
        case([2, 0, 2, 2, 2, 3, 3], ALL, &delta),
        case([2, 0, 2, 2, 2, 3, 3], Form { state: false, ..ALL }, &plain),
        case([1, 300, 2, 2, 2, 8, 8], ALL, &delta),
        case([1, 2100, 1, 1, 1, 600, 1], ALL, &plain),
        case([1, 3, 1, 1, 1, 4096, 1], ALL, &delta),
        case([70, 1, 1, 1, 1000, 2, 5], Form { beta: 0, decay: 1, state: false }, &plain),
        case([1, 4099, 1, 1, 1, 2, 2], ALL, &plain),
    ]);
    samples.extend([[1, 1], [2, 7], [3, 0], [0, 4], [3, 20]].map(|n| symbolic(n, 20, &delta)));
    samples.extend([[1, 3], [1, 4097], [2, 9000]].map(|n| symbolic(n, 9000, &plain)));
    samples.extend([&plain, &delta].map(betas_of_a_symbol));
    let strange = Fill::Floats(vec![1.0, f64::INFINITY, -0.0, 2.0, f64::NAN, f64::NEG_INFINITY, -1.0, 0.0]);
    samples.extend(["v", "decay", "state", "q"].map(|name| {
        let op = LinearRecurrence { scale: 0.25, ..plain.clone() };
        let mut sample = case([2, 3, 2, 2, 2, 5, 3], ALL, &op).fill(name, strange.clone());
        sample.label = format!("{name} of {strange:?}");
        sample
    }));
    samples
}
