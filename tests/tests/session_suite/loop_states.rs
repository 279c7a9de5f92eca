//! Loops that write states: a whole decode on the device, equal to the same one turn by turn from the host; versions
//! that follow turns and runs; what the host writes between runs.

use crate::common::*;
use pumice_compile::{OptOptions, Options};
use pumice_ir::ops::Attention;
use pumice_ir::ops::attention::AttentionLayout;
use pumice_ir::ops::kv_append::AppendMode;
use pumice_ir::{Graph, GraphBuilder, Value, f32, i32, sym};
use pumice_plan::{Plan, RegionKind, Segment, Step};
use pumice_runtime::{Executable, OnStatus, RunOptions, RuntimeError, Session};
use pumice_tests::{Fixture, on_every_device};
use pumice_types::{DType, Tensor};

on_every_device!(
    a_decode_on_the_device_and_from_the_host,
    a_turn_writes_a_state_in_place,
    the_heat_equation,
    written_before_within_and_after,
    rows_beyond_the_cache_are_reported,
    as_many_rows_as_were_found,
    a_profile_takes_every_turn,
    rows_of_a_count_that_a_loop_overwrites,
);

/// Rows of the caches.
const CAPACITY: u64 = 40;
/// Tokens there are, of which the last ends an answer.
const TOKENS: usize = 24;
/// Elements of a row.
const WIDTH: usize = 8;

fn word(value: i32) -> Tensor {
    Tensor::new(&[value], &[]).expect("one")
}

fn ints_of(session: &mut Session, state: &str) -> Vec<i32> {
    ints(&session.state(state).expect("there").read().expect("reads"))
}

fn floats_of(session: &mut Session, state: &str) -> Vec<f32> {
    floats(&session.state(state).expect("there").read().expect("reads"))
}

/// The steps that one turn of a plan's only loop repeats.
fn turn(plan: &Plan) -> Vec<&Step> {
    let program = &plan.runs[0].program;
    let levels = program.segments.iter().filter_map(|s| match s {
        Segment::Repeat { levels, .. } => Some(levels.clone()),
        _ => None,
    });
    let levels = levels.flatten().map(|l| &program.levels[l as usize]);
    levels.flat_map(|l| program.steps_of(l).map(|(_, step)| step)).collect()
}

/// A decoder of one layer.
struct Decoder {
    embedding: Value,
    weights: [Value; 3],
}

impl Decoder {
    fn new(g: &GraphBuilder) -> Decoder {
        let weights = ["wq", "wk", "wv"].map(|name| g.param(name, f32([WIDTH as u64, WIDTH as u64])));
        Decoder { embedding: g.param("embedding", f32([TOKENS as u64, WIDTH as u64])), weights }
    }

    /// The caches of keys, values and tokens.
    fn caches(g: &GraphBuilder) -> [Value; 3] {
        let of_rows = |name| g.cache(name, f32([1, 1, CAPACITY, WIDTH as u64]), 2);
        [of_rows("k"), of_rows("v"), g.cache("tokens", i32([CAPACITY]), 0)]
    }

    /// The token after one at a position, and the caches behind.
    fn step(&self, g: &GraphBuilder, token: Value, at: Value, [k, v, tokens]: [Value; 3]) -> [Value; 4] {
        let tokens = g.kv_append(tokens, g.reshape(token, &[1]), at, 0, AppendMode::Linear);
        let x = g.reshape(g.gather(self.embedding, token, 0), &[1, WIDTH as i64]);
        let [q, key, value] = self.weights.map(|w| g.reshape(g.matmul(x, w), &[1, 1, 1, WIDTH as i64]));
        let k = g.kv_append(k, key, at, 2, AppendMode::Linear);
        let v = g.kv_append(v, value, at, 2, AppendMode::Linear);
        let length = g.add(at, g.constant_scalar(DType::I32, 1.0));
        let op = Attention { layout: AttentionLayout::Bhsd, causal: false, ..Attention::default() };
        let y = g.add(x, g.reshape(g.attention(q, k, v, None, Some(length), op), &[1, WIDTH as i64]));
        let logits = g.matmul(y, g.transpose(self.embedding, &[1, 0]));
        [g.reshape(g.arg_max_i32(logits, -1, false), &[]), k, v, tokens]
    }

    fn load(fixture: &Fixture, graph: &Graph) -> Executable {
        let exe = load(fixture, graph);
        for (name, seed, n) in
            [("embedding", 5, TOKENS), ("wq", 6, WIDTH), ("wk", 7, WIDTH), ("wv", 8, WIDTH)]
        {
            exe.set_param(name, &wave(n * WIDTH, seed)).expect("set");
        }
        exe
    }
}

/// All turns in one run: until a token ends the answer, or the caches are full.
fn all_at_once() -> Graph {
    let g = GraphBuilder::new("decode");
    let (token, at) = (g.input("token", i32::<u64>([])), g.input("at", i32::<u64>([])));
    let decoder = Decoder::new(&g);
    let [last, one] = [(TOKENS - 1) as f64, 1.0].map(|n| g.constant_scalar(DType::I32, n));
    let full = g.constant_scalar(DType::I32, CAPACITY as f64);
    let [k, v, tokens] = Decoder::caches(&g);
    let [token, at, ..] = g.while_(
        CAPACITY,
        [token, at, k, v, tokens],
        |g, [token, at, ..]| g.and(g.not_equal(token, last), g.less(at, full)),
        |g, [token, at, k, v, tokens]| {
            let [token, k, v, tokens] = decoder.step(g, token, at, [k, v, tokens]);
            [token, g.add(at, one), k, v, tokens]
        },
    );
    g.output("token", token);
    g.output("at", at);
    g.build().expect("sound")
}

fn one_by_one() -> Graph {
    let g = GraphBuilder::new("one");
    let (token, at) = (g.input("token", i32::<u64>([])), g.input("at", i32::<u64>([])));
    let decoder = Decoder::new(&g);
    let [next, ..] = decoder.step(&g, token, at, Decoder::caches(&g));
    g.output("next", next);
    g.build().expect("sound")
}

fn a_decode_on_the_device_and_from_the_host(fixture: &Fixture) {
    let (exe, single) = (Decoder::load(fixture, &all_at_once()), Decoder::load(fixture, &one_by_one()));
    let (mut s, mut other) = (exe.session().expect("a session"), single.session().expect("a session"));
    let mut lengths = Vec::new();
    // Later answers find what those before left in the caches.
    for (first, begin) in [(3, 0), (11, 0), (7, 5), (23, 2), (1, 0), (17, 39), (2, 40), (4, 20)] {
        let (mut token, mut at) = (first, begin);
        while token != TOKENS as i32 - 1 && at < CAPACITY as i32 {
            let (t, p) = (word(token), word(at));
            let made = other.run(&[("token", t.view()), ("at", p.view())]).expect("runs");
            (token, at) = (ints(made.get("next").expect("there"))[0], at + 1);
        }
        let (t, p) = (word(first), word(begin));
        let made = s.run(&[("token", t.view()), ("at", p.view())]).expect("runs");
        let end = ["token", "at"].map(|name| ints(made.get(name).expect("there"))[0]);
        assert_eq!(end, [token, at], "{first} at {begin}");
        assert_eq!(ints_of(&mut s, "tokens"), ints_of(&mut other, "tokens"), "{first} at {begin}");
        for state in ["k", "v"] {
            assert_eq!(floats_of(&mut s, state), floats_of(&mut other, state), "{state}: {first} at {begin}");
        }
        lengths.push(at - begin);
    }
    assert!(lengths.contains(&0) && lengths.iter().any(|n| *n > 3), "{lengths:?}");
}

/// A row for each turn, added to a state.
fn sums() -> Graph {
    let g = GraphBuilder::new("sums");
    let x = g.input("x", f32([sym("n", 0..=50), 6.into()]));
    let [s] = g.loop_(g.dim_of(x, 0), [g.state("s", f32([6]))], |g, i, [s]| {
        [g.state_write(s, g.add(g.state_read(s), g.gather(x, i, 0)))]
    });
    g.output("y", g.state_read(s));
    g.build().expect("sound")
}

fn a_turn_writes_a_state_in_place(fixture: &Fixture) {
    let exe = load(fixture, &sums());
    let in_state = |step: &&&Step, writes: bool| {
        let mut uses = step.uses.iter().filter(|u| u.access.writes() == writes);
        uses.any(|u| u.span.region == RegionKind::States)
    };
    let turn = turn(exe.plan());
    let writers: Vec<_> = turn.iter().filter(|step| in_state(step, true)).collect();
    assert!(matches!(writers.as_slice(), [one] if in_state(one, false)), "{}", exe.plan());
    let mut s = exe.session().expect("a session");
    let mut sum = vec![0.0; 6];
    for (n, seed) in [(0u64, 1), (1, 2), (50, 3), (0, 4), (17, 5)] {
        let rows = wave(6 * n as usize, seed);
        rows.chunks(6).for_each(|row| sum = zip(&sum, row, |a, b| a + b));
        let x = tensor(&rows, &[n, 6]);
        assert_eq!(out(&run(&mut s, &x).expect("runs"), "y"), sum, "{n}");
        assert_eq!(floats_of(&mut s, "s"), sum, "{n}");
        if n == 50 {
            // What the host writes is what the first turn of the next run begins with.
            sum = wave(6, 9);
            s.state("s").expect("there").write_f32(&sum).expect("written");
        }
    }
    s.state("s").expect("there").reset().expect("reset");
    let x = tensor(&wave(12, 6), &[2, 6]);
    let want = zip(&wave(12, 6)[..6], &wave(12, 6)[6..], |a, b| a + b);
    assert_eq!(out(&run(&mut s, &x).expect("runs"), "y"), want);
}

fn the_heat_equation(fixture: &Fixture) {
    const N: usize = 16;
    let g = GraphBuilder::new("heat");
    let turns = g.dim_of(g.input("x", f32([sym("n", 0..=60)])), 0);
    let quarter = g.constant_scalar(DType::F32, 0.25);
    let [s] = g.loop_(turns, [g.state("s", f32([N as u64]))], |g, _, [s]| {
        let t = g.state_read(s);
        let inner = |from: u64| g.narrow(t, 0, from, N as u64 - 2);
        let sides = g.add(inner(0), inner(2));
        let middle = g.mul(quarter, g.add(sides, g.add(inner(1), inner(1))));
        let [first, last] = [0, N as u64 - 1].map(|at| g.narrow(t, 0, at, 1u64));
        [g.state_write(s, g.concat(&[first, middle, last], 0))]
    });
    g.output("y", g.state_read(s));
    let exe = load(fixture, &g.build().expect("sound"));
    let mut session = exe.session().expect("a session");
    let mut heat = wave(N, 3);
    session.state("s").expect("there").write_f32(&heat).expect("written");
    for n in [0u64, 1, 60, 2] {
        for _ in 0..n {
            let now = heat.clone();
            (1..N - 1).for_each(|i| heat[i] = 0.25 * (now[i - 1] + now[i + 1] + (now[i] + now[i])));
        }
        let x = tensor(&vec![0.0; n as usize], &[n]);
        assert_close(&out(&run(&mut session, &x).expect("runs"), "y"), &heat, 1e-5, "heat");
        heat = floats_of(&mut session, "s");
    }
}

/// A version before the loop, one that turns read though it is older, and two behind.
fn written_before_within_and_after(fixture: &Fixture) {
    let g = GraphBuilder::new("g");
    let x = g.input("x", f32([sym("n", 0..=30), 4.into()]));
    let s = g.state("s", f32([4]));
    let first = g.state_read(s);
    let s = g.state_write(s, g.neg(first));
    let before = g.state_read(s);
    let zero = g.reshape(g.mul(first, g.constant_scalar(DType::F32, 0.0)), &[4]);
    let [s, sum] = g.loop_(g.dim_of(x, 0), [s, zero], |g, i, [s, sum]| {
        let s = g.state_write(s, g.add(g.state_read(s), g.gather(x, i, 0)));
        [s, g.add(sum, g.add(before, g.state_read(s)))]
    });
    let within = g.state_read(s);
    let s = g.state_write(s, g.add(within, sum));
    for (name, value) in [("first", first), ("within", within), ("sum", sum), ("last", g.state_read(s))] {
        g.output(name, value);
    }
    let exe = load(fixture, &g.build().expect("sound"));
    let mut session = exe.session().expect("a session");
    let mut state = wave(4, 2);
    session.state("s").expect("there").write_f32(&state).expect("written");
    for n in [3u64, 0, 1, 2] {
        let (rows, first) = (wave(4 * n as usize, n as u32), state.clone());
        let before = map(&first, |v| -v);
        let (mut within, mut sum) = (before.clone(), vec![0.0; 4]);
        for row in rows.chunks(4) {
            within = zip(&within, row, |a, b| a + b);
            sum = zip(&sum, &zip(&before, &within, |a, b| a + b), |a, b| a + b);
        }
        state = zip(&within, &sum, |a, b| a + b);
        let made = run(&mut session, &tensor(&rows, &[n, 4])).expect("runs");
        for (name, want) in [("first", &first), ("within", &within), ("sum", &sum), ("last", &state)] {
            assert_eq!(&out(&made, name), want, "{name}, {n}");
        }
        assert_eq!(floats_of(&mut session, "s"), state, "{n}");
    }
}

/// What does not fit is dropped and reported once, whichever turn it was in.
fn rows_beyond_the_cache_are_reported(fixture: &Fixture) {
    let g = GraphBuilder::new("g");
    let x = g.input("x", f32([sym("n", 0..=30), 2.into()]));
    let [s] = g.loop_(g.dim_of(x, 0), [g.cache("s", f32([20, 2]), 0)], |g, i, [s]| {
        [g.named("append").kv_append(s, g.unsqueeze(g.gather(x, i, 0), &[0]), i, 0, AppendMode::Linear)]
    });
    g.output("y", g.state_read(s));
    let exe = load(fixture, &g.build().expect("sound"));
    let mut session = exe.session().expect("a session");
    for n in [20u64, 21, 30, 3] {
        let rows = wave(2 * n as usize, 7);
        let x = tensor(&rows, &[n, 2]);
        if n > 20 {
            refused!(run(&mut session, &x), RuntimeError::Status(_), "append");
        }
        let options = RunOptions::default().on_status(OnStatus::Report);
        let made = session.run_with(&[("x", x.view())], &options).expect("runs");
        let fits = rows.len().min(40);
        assert_eq!(out(&made, "y")[..fits], rows[..fits], "{n}");
    }
}

/// Rows that the run finds go into a cache; those beyond are not written.
fn as_many_rows_as_were_found(fixture: &Fixture) {
    let g = GraphBuilder::new("g");
    let (x, least) = (g.input("x", f32([12])), g.input("least", f32::<u64>([])));
    let at = g.input("at", i32::<u64>([]));
    let kept = g.compress(x, g.greater(x, least), None);
    let s = g.kv_append(g.cache("s", f32([16]), 0), kept, at, 0, AppendMode::Linear);
    let next = g.add(at, g.extent(kept, 0));
    g.output("y", g.state_read(s));
    g.output("next", next);
    let exe = load(fixture, &g.build().expect("sound"));
    let mut session = exe.session().expect("a session");
    let (mut state, mut at) = (vec![0.0; 16], 0);
    for (seed, least) in [(1, 0.5), (2, 9.0), (3, 1.0), (4, 1.5)] {
        let x = wave(12, seed);
        let kept: Vec<f32> = x.iter().copied().filter(|x| *x > least).collect();
        let rows = state.iter_mut().skip(at as usize).zip(&kept);
        rows.for_each(|(row, x)| *row = *x);
        let (x_in, least_in, at_in) = (tensor(&x, &[12]), tensor(&[least], &[]), word(at));
        let given = [("x", x_in.view()), ("least", least_in.view()), ("at", at_in.view())];
        let made = session.run(&given).expect("runs");
        at += kept.len() as i32;
        assert_eq!(ints(made.get("next").expect("there"))[0], at, "{seed}");
        assert_eq!(out(&made, "y"), state, "{seed}");
    }
    assert!((1..=16).contains(&at), "{at}");
}

/// Every turn adds x to the state, as often as the caller says, and only where the branch is taken.
fn a_profile_takes_every_turn(fixture: &Fixture) {
    let g = GraphBuilder::new("profiled");
    let (x, more) = (g.input("x", f32([4])), g.input("more", i32::<u64>([])));
    let zero = g.constant_scalar(DType::I32, 0.0);
    let [y, _] = g.while_(
        100,
        [x, more],
        |g, [_, left]| g.greater(left, zero),
        |g, [y, left]| [g.add(y, x), g.sub(left, g.constant_scalar(DType::I32, 1.0))],
    );
    let turns = g.dim_of(g.input("n", f32([sym("n", 0..=60)])), 0);
    let [_] = g.loop_(turns, [g.state("sum", f32([4]))], |g, _, [sum]| {
        [g.state_write(sum, g.add(g.state_read(sum), x))]
    });
    let [z] = g.if_(
        g.greater(more, g.constant_scalar(DType::I32, 20.0)),
        |g| g.loop_(17, [x], |g, _, [z]| [g.add(z, x)]),
        |g| [g.neg(x)],
    );
    g.output("y", y);
    g.output("z", z);
    let exe = load(fixture, &g.build().expect("sound"));
    let mut session = exe.session().expect("a session");
    let x = tensor(&[1.0, 2.0, 3.0, 4.0], &[4]);
    let mut total = 0.0;
    for (more, n) in [(0, 0), (1, 1), (30, 20), (100, 60), (2, 40)] {
        let (word, length) = (word(more), tensor(&vec![0.0; n], &[n as u64]));
        let given = [("x", x.view()), ("more", word.view()), ("n", length.view())];
        let profile = session.profile(&given, &RunOptions::default()).expect("profiles");
        total += n as f32;
        let times = |factor: f32| floats(&x).iter().map(|v| v * factor).collect::<Vec<_>>();
        assert_eq!(floats(&session.output("y").expect("it ran")), times(1.0 + more as f32), "{more} turns");
        assert_eq!(floats(&session.output("z").expect("it ran")), times(if more > 20 { 18.0 } else { -1.0 }));
        assert_eq!(floats_of(&mut session, "sum"), times(total), "{n} turns");
        let mut steps: Vec<_> = profile.steps.iter().map(|s| s.step).collect();
        steps.dedup();
        assert_eq!(steps.len(), profile.steps.len(), "a time for each step that ran");
    }
}

/// As many rows as the state says before the loop, in a branch that the state decides behind it.
fn rows_of_a_count_that_a_loop_overwrites(fixture: &Fixture) {
    let g = GraphBuilder::new("overwritten");
    let (x, by) = (g.input("x", i32([8])), g.input("by", i32::<u64>([])));
    let a = g.state("a", i32::<u64>([]));
    let rows = g.narrow(x, 0, 0u64, g.extent_of(g.state_read(a), 0..=8));
    let [a] = g.loop_(20u64, [a], |g, _, [a]| [g.state_write(a, g.add(g.state_read(a), by))]);
    let [y] = g.if_(g.greater(g.state_read(a), by), |g| [g.abs(rows)], |g| [g.neg(rows)]);
    g.output("y", y);
    let graph = g.build().expect("sound");
    for opt in [OptOptions::default(), OptOptions::none()] {
        let exe = fixture.executable(&graph, &Options::default().opt(opt));
        let mut session = exe.session().expect("a session");
        let x = Tensor::new(&[-1i32, 2, -3, 4, -5, 6, -7, 8], &[8]).expect("eight");
        for (count, by) in [(3, 1), (8, -1), (0, 2), (5, -3)] {
            session.state("a").expect("there").write(word(count).view()).expect("written");
            let made = session.run(&[("x", x.view()), ("by", word(by).view())]).expect("runs");
            let taken = count + 20 * by > by;
            let want = ints(&x).into_iter().take(count as usize).map(|v| if taken { v.abs() } else { -v });
            assert_eq!(ints(made.get("y").expect("there")), want.collect::<Vec<_>>(), "{count} rows");
        }
    }
}
