//! Random numbers and draws (OPS T4): their words are the generator's on every device, their distributions are what
//! they are said to be (Kolmogorov-Smirnov and chi-squared tests at p = 1e-4, with fixed seeds), another run has
//! others, and a pinned step repeats a run.

use pumice_compile::Options;
use pumice_ir::ops::random_normal::RandomNormal;
use pumice_ir::ops::random_numbers::{RandomKind, RandomNumbers};
use pumice_ir::ops::random_uniform::RandomUniform;
use pumice_ir::ops::sample::SampleOptions;
use pumice_ir::{Graph, GraphBuilder, Value, f32, i32};
use pumice_runtime::{OnStatus, RunOptions, RuntimeError, Session};
use pumice_tests::{Fixture, on_every_device};
use pumice_types::{DType, Tensor, TensorView};

on_every_device!(
    numbers_have_their_distributions,
    runs_differ_and_pinned_ones_repeat,
    nodes_have_streams_of_their_own,
    filters_leave_what_they_say,
    draws_have_the_distribution,
    requests_draw_for_themselves,
    what_is_no_distribution_is_reported,
);

/// Beyond this a statistic of many samples is met once in 10,000 runs: √(−ln(1e-4 / 2) / 2) of Kolmogorov's.
const KOLMOGOROV: f64 = 2.225;

fn session(fixture: &Fixture, graph: &Graph) -> Session {
    let mut session = fixture.executable(graph, &Options::default()).session().expect("a session");
    session.set_scalar("seed_low", 20_261_126u32).expect("a scalar");
    session.set_scalar("seed_high", 21u32).expect("a scalar");
    session
}

fn graph(build: impl FnOnce(&GraphBuilder)) -> Graph {
    let g = GraphBuilder::new("chance");
    build(&g);
    g.build().expect("sound")
}

fn floats(t: &Tensor) -> Vec<f64> {
    t.to_vec::<f32>().expect("f32").into_iter().map(f64::from).collect()
}

/// √n times the largest distance of the empirical distribution from `cdf`.
fn kolmogorov(mut x: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    x.sort_by(f64::total_cmp);
    let n = x.len() as f64;
    let distance = |(i, v): (usize, &f64)| {
        let below = cdf(*v) - i as f64 / n;
        below.max(1.0 / n - below)
    };
    n.sqrt() * x.iter().enumerate().map(distance).fold(0.0, f64::max)
}

/// The standard normal distribution by the series of Marsaglia (2004).
fn normal_cdf(x: f64) -> f64 {
    let (mut term, mut sum, mut k) = (x, x, 1.0);
    while f64::abs(term) > 1e-17 {
        k += 2.0;
        term *= x * x / k;
        sum += term;
    }
    0.5 + sum * (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt()
}

/// Σ (count − expected)² / expected over outcomes, as deviations of its distribution's normal approximation (Wilson and
/// Hilferty, 1931).
fn chi_squared(counts: &[u64], shares: &[f64]) -> f64 {
    let n: u64 = counts.iter().sum();
    let possible = counts.iter().zip(shares).filter(|(_, p)| **p > 0.0);
    let terms: Vec<f64> = possible
        .map(|(&c, &p)| {
            let expected = p * n as f64;
            (c as f64 - expected).powi(2) / expected
        })
        .collect();
    let freedom = (terms.len() - 1) as f64;
    if freedom == 0.0 {
        return 0.0;
    }
    let spread = 2.0 / (9.0 * freedom);
    ((terms.iter().sum::<f64>() / freedom).cbrt() - 1.0 + spread) / spread.sqrt()
}

fn numbers_have_their_distributions(fixture: &Fixture) {
    let graph = graph(|g| {
        g.output("uniform", g.random_uniform([250u64, 400], None, RandomUniform::default()));
        let op = RandomUniform { low: -3.0, high: 5.0, ..RandomUniform::default() };
        g.output("between", g.random_uniform([100_001u64], None, op));
        g.output("normal", g.random_normal([100_000u64], None, RandomNormal::default()));
        let op = RandomNormal { mean: 2.0, scale: 0.5, ..RandomNormal::default() };
        g.output("scaled", g.random_normal([50_001u64], None, op));
        let ones = g.fill(g.constant_scalar(DType::F32, 1.0), vec![100_000u64.into()]);
        g.output("kept", g.dropout_training(ones, 0.3).0);
    });
    let out = session(fixture, &graph).run(&[]).expect("runs");
    let of = |name: &str| floats(out.get(name).expect("an output"));
    assert!(kolmogorov(of("uniform"), |x| x.clamp(0.0, 1.0)) < KOLMOGOROV);
    assert!(kolmogorov(of("between"), |x| (x + 3.0) / 8.0) < KOLMOGOROV);
    assert!(of("between").iter().all(|x| (-3.0..5.0).contains(x)));
    assert!(kolmogorov(of("normal"), normal_cdf) < KOLMOGOROV);
    assert!(kolmogorov(of("scaled"), |x| normal_cdf((x - 2.0) / 0.5)) < KOLMOGOROV);
    let kept = of("kept");
    let count = kept.iter().filter(|&&v| v != 0.0).count() as u64;
    assert!(chi_squared(&[count, 100_000 - count], &[0.7, 0.3]) < 3.72);
    assert!(kept.iter().all(|&v| v == 0.0 || (v - 1.0 / 0.7).abs() < 1e-6));
}

fn runs_differ_and_pinned_ones_repeat(fixture: &Fixture) {
    let graph = graph(|g| g.output("x", g.random_normal([1000u64], None, RandomNormal::default())));
    let mut session = session(fixture, &graph);
    let mut run = || floats(session.run(&[]).expect("runs").get("x").expect("there"));
    let (first, second) = (run(), run());
    assert!(first.iter().zip(&second).filter(|(a, b)| a == b).count() < 3);
    // Neighbouring steps have nothing to do with each other.
    let together: f64 = first.iter().zip(&second).map(|(a, b)| a * b).sum::<f64>() / 1000f64.sqrt();
    assert!(together.abs() < 3.9, "{together}");
    session.set_scalar("random_step", 0u32).expect("a scalar");
    let again = floats(session.run(&[]).expect("runs").get("x").expect("there"));
    assert_eq!(again, first);
    session.set_scalar("seed_high", 22u32).expect("a scalar");
    session.set_scalar("random_step", 0u32).expect("a scalar");
    let other = floats(session.run(&[]).expect("runs").get("x").expect("there"));
    assert!(other.iter().zip(&first).filter(|(a, b)| a == b).count() < 3);
    // Several replays of one submission advance as single runs do.
    session.set_scalar("seed_high", 21u32).expect("a scalar");
    session.set_scalar("random_step", 0u32).expect("a scalar");
    let out = session.run_steps(&[], 2).expect("runs");
    assert_eq!(floats(out.get("x").expect("there")), second);
}

fn nodes_have_streams_of_their_own(fixture: &Fixture) {
    let graph = graph(|g| {
        let op = RandomUniform::default();
        g.output("a", g.random_uniform([500u64], None, op));
        g.output("b", g.random_uniform([500u64], None, op));
        g.output("named", g.named("noise").random_uniform([500u64], None, op));
        g.output("seven", g.random_uniform([500u64], None, RandomUniform { stream: Some(7), ..op }));
        // The same words under another's name.
        let source = g.random_source();
        let words = RandomNumbers { shape: vec![500u64.into()], stream: 8, kind: RandomKind::Words };
        g.output("words", g.apply(words, &[source.seed_low, source.seed_high, source.step]));
    });
    let out = session(fixture, &graph).run(&[]).expect("runs");
    let streams: Vec<Vec<f64>> =
        ["a", "b", "named", "seven"].map(|n| floats(out.get(n).expect("there"))).into();
    for (i, a) in streams.iter().enumerate() {
        for b in &streams[..i] {
            assert!(a.iter().zip(b).filter(|(x, y)| x == y).count() < 3);
        }
    }
}

/// Draws of `n` rows of the same logits.
fn drawn(
    fixture: &Fixture,
    logits: &[f32],
    options: impl FnOnce(&GraphBuilder) -> SampleOptions,
) -> Vec<i32> {
    let rows = 20_000u64;
    let graph = graph(|g| {
        let row = g.input("logits", f32([1, logits.len() as u64]));
        let all = g.expand(row, &[rows as i64, logits.len() as i64]);
        g.output("id", g.sample(all, options(g)).0);
    });
    let input = [("logits", TensorView::f32(logits, [1, logits.len() as u64]))];
    let out = session(fixture, &graph).run(&input).expect("runs");
    out.get("id").expect("there").to_vec::<i32>().expect("i32")
}

const LOGITS: [f32; 9] = [1.0, 2.5, -1.0, 2.5, 0.5, f32::NEG_INFINITY, 1.75, -3.0, 0.0];

/// What is left of LOGITS, descending, and its shares.
fn expected(temperature: f64, keep: impl Fn(usize, &[f64]) -> bool) -> Vec<f64> {
    let mut order: Vec<usize> = (0..LOGITS.len()).collect();
    order.sort_by(|&a, &b| LOGITS[b].total_cmp(&LOGITS[a]).then(a.cmp(&b)));
    let weights: Vec<f64> = order.iter().map(|&i| (f64::from(LOGITS[i] - 2.5) / temperature).exp()).collect();
    let total: f64 = weights.iter().sum();
    let shares: Vec<f64> = weights.iter().map(|w| w / total).collect();
    let kept: Vec<bool> = (0..order.len()).map(|i| keep(i, &shares)).collect();
    let left: f64 = (0..order.len()).filter(|&i| kept[i]).map(|i| shares[i]).sum();
    let mut of = vec![0.0; LOGITS.len()];
    order.iter().enumerate().filter(|(i, _)| kept[*i]).for_each(|(i, &e)| of[e] = shares[i] / left);
    of
}

fn agrees(what: &str, ids: &[i32], shares: &[f64]) {
    let mut counts = vec![0u64; shares.len()];
    ids.iter().for_each(|&id| counts[id as usize] += 1);
    assert!(counts.iter().zip(shares).all(|(&c, &p)| p > 0.0 || c == 0), "{what}: {counts:?} {shares:?}");
    let deviations = chi_squared(&counts, shares);
    assert!(deviations < 3.72, "{what}: {deviations}, {counts:?} {shares:?}");
}

fn number(g: &GraphBuilder, x: f64) -> Option<Value> {
    Some(g.constant_scalar(DType::F32, x))
}

fn draws_have_the_distribution(fixture: &Fixture) {
    agrees("plain", &drawn(fixture, &LOGITS, |_| SampleOptions::default()), &expected(1.0, |_, _| true));
    let one = |g: &GraphBuilder| SampleOptions { temperature: number(g, 1.0), ..SampleOptions::default() };
    agrees("a temperature of 1", &drawn(fixture, &LOGITS, one), &expected(1.0, |_, _| true));
    let warm = |g: &GraphBuilder| SampleOptions { temperature: number(g, 2.0), ..SampleOptions::default() };
    agrees("a temperature of 2", &drawn(fixture, &LOGITS, warm), &expected(2.0, |_, _| true));
    let cold = |g: &GraphBuilder| SampleOptions { temperature: number(g, 0.0), ..SampleOptions::default() };
    assert!(drawn(fixture, &LOGITS, cold).iter().all(|&id| id == 1));
}

fn filters_leave_what_they_say(fixture: &Fixture) {
    let k = |g: &GraphBuilder, k: i32| Some(g.constant(Tensor::new(&[k], &[]).expect("one")));
    let top_k = |n| move |g: &GraphBuilder| SampleOptions { top_k: k(g, n), ..SampleOptions::default() };
    agrees("top 3", &drawn(fixture, &LOGITS, top_k(3)), &expected(1.0, |i, _| i < 3));
    assert!(drawn(fixture, &LOGITS, top_k(1)).iter().all(|&id| id == 1), "of equal logits the first");
    agrees("all", &drawn(fixture, &LOGITS, top_k(0)), &expected(1.0, |_, _| true));
    let before = |i: usize, shares: &[f64]| shares[..i].iter().sum::<f64>();
    let top_p = |g: &GraphBuilder| SampleOptions { top_p: number(g, 0.8), ..SampleOptions::default() };
    agrees("top 0.8", &drawn(fixture, &LOGITS, top_p), &expected(1.0, |i, s| before(i, s) < 0.8));
    let none = |g: &GraphBuilder| SampleOptions { top_p: number(g, 0.0), ..SampleOptions::default() };
    assert!(drawn(fixture, &LOGITS, none).iter().all(|&id| id == 1));
    let min_p = |g: &GraphBuilder| SampleOptions { min_p: number(g, 0.2), ..SampleOptions::default() };
    agrees("min 0.2", &drawn(fixture, &LOGITS, min_p), &expected(1.0, |i, s| s[i] >= 0.2 * s[0]));
    let all = |g: &GraphBuilder| SampleOptions {
        temperature: number(g, 1.5),
        top_k: k(g, 6),
        top_p: number(g, 0.95),
        min_p: number(g, 0.1),
        ..SampleOptions::default()
    };
    let of_six = |s: &[f64]| s[..6].iter().sum::<f64>();
    let keep = |i: usize, s: &[f64]| i < 6 && before(i, s) < 0.95 * of_six(s) && s[i] >= 0.1 * s[0];
    agrees("all filters", &drawn(fixture, &LOGITS, all), &expected(1.5, keep));
}

/// Rows with seeds of their own draw what they draw alone, wherever they stand.
fn requests_draw_for_themselves(fixture: &Fixture) {
    let graph = graph(|g| {
        let logits = g.input("logits", f32([4, 50]));
        let mut source = g.random_source();
        source.seed_low = g.cast(g.input("seeds", i32([4])), DType::U32);
        let temperature = Some(g.input("temperature", f32([4])));
        let options = SampleOptions { source: Some(source), temperature, ..SampleOptions::default() };
        let (id, logprob) = g.sample(logits, options);
        g.output("id", id);
        g.output("logprob", logprob);
    });
    let mut session = session(fixture, &graph);
    let logits: Vec<f32> = (0..200).map(|i| ((i % 50) as f32 * 0.37).sin()).collect();
    let mut run = |seeds: [i32; 4]| {
        session.set_scalar("random_step", 3u32).expect("a scalar");
        let inputs = [
            ("logits", TensorView::f32(&logits, [4, 50])),
            ("seeds", TensorView::i32(&seeds, [4])),
            ("temperature", TensorView::f32(&[1.0; 4], [4])),
        ];
        let out = session.run(&inputs).expect("runs");
        let logprob = floats(out.get("logprob").expect("there"));
        (out.get("id").expect("there").to_vec::<i32>().expect("i32"), logprob)
    };
    let ((a, logprob), (b, _)) = (run([5, 6, 7, 8]), run([8, 7, 6, 5]));
    assert_eq!(a, b.into_iter().rev().collect::<Vec<_>>());
    let total: f64 = logits[..50].iter().map(|&v| f64::from(v).exp()).sum();
    for (&id, logprob) in a.iter().zip(logprob) {
        let share = f64::from(logits[id as usize]).exp() / total;
        assert!((logprob - share.ln()).abs() < 1e-5);
    }
}

fn what_is_no_distribution_is_reported(fixture: &Fixture) {
    let graph = graph(|g| {
        let temperature = Some(g.scalar("temperature", f32::<u64>([]), -10.0, 10.0, 1.0));
        let options = SampleOptions { temperature, ..SampleOptions::default() };
        g.output("id", g.named("draw").sample(g.input("logits", f32([2, 3])), options).0);
    });
    let mut session = session(fixture, &graph);
    let none = f32::NEG_INFINITY;
    let input = |row: &[f32; 3]| [row.as_slice(), &[1.0, 2.0, 3.0]].concat();
    let rows = [[none; 3], [f32::NAN, 1.0, 2.0], [f32::NAN; 3]];
    for row in rows {
        let logits = input(&row);
        let run = session.run(&[("logits", TensorView::f32(&logits, [2, 3]))]);
        let message = run.expect_err("nothing to draw").to_string();
        assert!(message.contains("`draw` first at position 0"), "{message}");
        assert!(message.contains("from which nothing can be drawn"), "{message}");
    }
    let options = RunOptions::default().on_status(OnStatus::Report);
    let logits = input(&rows[0]);
    let out = session.run_with(&[("logits", TensorView::f32(&logits, [2, 3]))], &options).expect("reports");
    assert_eq!(out.get("id").expect("there").to_vec::<i32>().expect("i32")[0], 0);
    // An infinity is drawn; a temperature below 0 means nothing.
    let logits = input(&[0.0, f32::INFINITY, 5.0]);
    let out = session.run(&[("logits", TensorView::f32(&logits, [2, 3]))]).expect("runs");
    assert_eq!(out.get("id").expect("there").to_vec::<i32>().expect("i32")[0], 1);
    session.set_scalar("temperature", -1.0f32).expect("a scalar");
    let run = session.run(&[("logits", TensorView::f32(&logits, [2, 3]))]);
    assert!(matches!(run, Err(RuntimeError::Status(_))));
}

/// Streams are told apart when a graph is built.
#[test]
fn one_stream_is_taken_once() {
    let op = RandomUniform { stream: Some(3), ..RandomUniform::default() };
    let g = GraphBuilder::new("twice");
    g.output("a", g.random_uniform([4u64], None, op));
    g.output("b", g.named("again").random_uniform([5u64], None, op));
    let errors = g.build().expect_err("the same numbers twice").to_string();
    assert!(
        errors.contains("again: it takes stream 3 of the seed that random_uniform takes it of"),
        "{errors}"
    );
    // A repetition has the same numbers on purpose.
    let g = GraphBuilder::new("repeated");
    g.output("a", g.random_uniform([4u64], None, op));
    g.output("b", g.random_uniform([4u64], None, op));
    g.build().expect("it is one draw");
}
