//! Little random graphs: whatever the options, a checked plan gives the same bits on the interpreter, close to the
//! evaluator.

use crate::harness::{outputs, plan};
use pumice_compile::{Barriers, OptOptions, Options};
use pumice_cpu_ref::{Array, EvalOptions, sample as data};
use pumice_ir::ops::attention::AttentionLayout;
use pumice_ir::ops::{Attention, Fft};
use pumice_ir::sample::random as draw;
use pumice_ir::{Fill, GraphBuilder, Sample, Value, f32, i32, sym};
use pumice_plan::Placement;
use pumice_types::{DType, DimExpr, Tensor};

/// A graph under construction: values that later nodes may use.
struct Garden<'g> {
    g: &'g GraphBuilder,
    seed: u64,
    draws: u64,
    pool: Vec<Value>,
    leaves: u32,
}

impl Garden<'_> {
    fn below(&mut self, n: usize) -> usize {
        self.draws += 1;
        (draw(self.seed, self.draws) % n as u64) as usize
    }

    fn name(&mut self, what: &str) -> String {
        self.leaves += 1;
        format!("{what}{}", self.leaves)
    }

    /// A value of the pool, recent ones preferred.
    fn any(&mut self) -> Value {
        let n = self.pool.len();
        let back = self.below(n).min(self.below(n));
        self.pool[n - 1 - back]
    }

    fn shape(&self, x: Value) -> Vec<DimExpr> {
        self.g.type_of(x).map_or(vec![], |t| t.shape.to_vec())
    }

    /// The constant innermost extent; every value has one.
    fn width(&self, x: Value) -> u64 {
        self.shape(x).last().and_then(DimExpr::as_extent).expect("innermost extents are constant")
    }

    fn same_shape(&mut self, x: Value) -> Value {
        let shape = self.shape(x);
        let twins: Vec<Value> = self.pool.iter().copied().filter(|v| self.shape(*v) == shape).collect();
        let i = self.below(twins.len());
        twins[i]
    }

    fn param(&mut self, shape: &[u64]) -> Value {
        let name = self.name("w");
        self.g.param(&name, f32(shape.iter().copied()))
    }

    fn node(&mut self, stateful: bool) -> Value {
        let g = self.g;
        let x = self.any();
        let c = self.width(x);
        let rank = self.shape(x).len();
        match self.below(20) {
            0 => g.tanh(x),
            1 => g.sigmoid(x),
            2 => g.relu(g.neg(x)),
            3 => g.gelu(x),
            4 => g.tanh(g.mul(x, self.same_shape(x))),
            5 => g.add(x, self.same_shape(x)),
            6 => g.max(&[x, self.same_shape(x)]),
            7 => g.add(x, self.param(&[c])),
            8 => g.softmax(x, -1),
            9 => g.layer_norm(x, self.param(&[c]), None, 1e-5),
            10 => g.rms_norm(g.add(x, self.same_shape(x)), self.param(&[c]), 1e-5),
            11 if rank >= 2 => {
                // Out and back, with something between that sees the strides.
                let mut perm: Vec<i64> = (0..rank as i64).collect();
                perm.swap(rank - 1, rank - 2);
                g.transpose(g.tanh(g.transpose(x, &perm)), &perm)
            }
            12 if c > 2 => g.narrow(x, -1, 1u64, c - 1),
            13 if c <= 8 => g.concat(&[x, self.same_shape(x)], -1),
            14 => {
                let sum = [
                    g.reduce_sum(x, &[-1], true),
                    g.reduce_mean(x, &[-1], true),
                    g.reduce_max(x, &[-1], true),
                ];
                g.sub(x, sum[self.below(3)])
            }
            15 => {
                let n = [4, 6, 8][self.below(3)];
                g.matmul(x, self.param(&[c, n]))
            }
            16 => {
                let n = [4, 6, 8][self.below(3)];
                let (w, b) = (self.param(&[n, c]), self.param(&[n]));
                g.relu(g.linear(x, w, Some(b)))
            }
            17 => g.select(g.less(x, self.same_shape(x)), x, self.same_shape(x)),
            18 => self.special(x, c, rank),
            _ if stateful => self.state(c),
            _ => g.cast(g.cast(x, DType::F16), DType::F32),
        }
    }

    /// Ops with a shape of their own: attention, the host's FFT, rows of a table.
    fn special(&mut self, x: Value, c: u64, rank: usize) -> Value {
        let g = self.g;
        let shape = self.shape(x);
        match self.below(3) {
            0 if rank == 2 && c.is_multiple_of(4) => {
                let heads = vec![1u64.into(), shape[0].clone(), 2u64.into(), (c / 2).into()];
                let q = g.reshape_to(x, heads.clone());
                let k = g.tanh(q);
                let op = Attention {
                    layout: AttentionLayout::Bshd,
                    causal: self.below(2) == 0,
                    ..Attention::default()
                };
                g.reshape_to(g.attention(q, k, q, None, None, op), shape)
            }
            1 => {
                let z = g.fft(g.unsqueeze(g.tanh(x), &[-1]), Fft { axis: 0, ..Fft::default() });
                let halves = g.split(z, -1, &[1, 1]);
                let back = g.add(halves[0], halves[1]);
                g.tanh(g.reshape_to(back, shape))
            }
            _ => {
                let (table, name) = (self.param(&[5, c]), self.name("ids"));
                let ids = g.input(&name, i32([sym("n", 1..=5)]));
                g.gather(table, ids, 0)
            }
        }
    }

    /// A state that is read, written, and read again.
    fn state(&mut self, c: u64) -> Value {
        let g = self.g;
        let name = self.name("s");
        let s = g.state(&name, f32([c]));
        let old = g.state_read(s);
        let step = self.param(&[c]);
        let new = g.state_write(s, g.tanh(g.add(old, step)));
        match self.below(2) {
            0 => g.add(old, step),
            _ => g.add(g.state_read(new), old),
        }
    }
}

/// The graph of a seed: a fifth with states, a fifth symbolic.
fn sample(seed: u64) -> Sample {
    let symbolic = seed % 5 != 1;
    let stateful = seed % 5 == 2;
    let mut ids = Vec::new();
    let mut sample = Sample::graph("random", |g| {
        let mut garden = Garden { g, seed, draws: 0, pool: vec![], leaves: 0 };
        let c = [4, 6, 8][garden.below(3)];
        let x =
            if symbolic { g.input("x", f32([sym("n", 1..=5), c.into()])) } else { g.input("x", f32([3, c])) };
        garden.pool.push(x);
        for _ in 0..5 + garden.below(25) {
            let v = garden.node(stateful);
            garden.pool.push(v);
        }
        let last = garden.pool[garden.pool.len() - 1];
        g.output("last", last);
        for i in 0..2 + garden.below(3) {
            let v = garden.any();
            g.output(&format!("y{i}"), v);
        }
        ids = (1..=garden.leaves).map(|i| format!("ids{i}")).collect();
    });
    for name in ids {
        sample = sample.fill(&name, Fill::Range(0, 5));
    }
    let n = 1 + draw(seed, 1 << 40) % 5;
    let has_n = sample.graph.as_ref().is_ok_and(|g| g.symbols().find("n").is_some());
    let sample = if has_n { sample.bind("n", n) } else { sample };
    sample.runs(2)
}

fn close(a: &Tensor, b: &Tensor) -> bool {
    let (a, b) = (Array::from_tensor(a), Array::from_tensor(b));
    a.dtype == b.dtype
        && a.shape == b.shape
        && a.to_f64()
            .iter()
            .zip(b.to_f64())
            .all(|(x, y)| (x - y).abs() <= 1e-4 * (1.0 + y.abs()) || x.is_nan() && y.is_nan())
}

fn all_close(a: &[Vec<Tensor>], b: &[Vec<Tensor>]) -> bool {
    a.iter().flatten().zip(b.iter().flatten()).all(|(a, b)| close(a, b))
}

/// What is wrong with a seed; whether fused and unfused plans give the evaluator's bits.
fn try_seed(seed: u64) -> Result<(bool, bool), String> {
    let sample = sample(seed);
    let graph = sample.graph.as_ref().map_err(Clone::clone)?;
    let cuts = if seed.is_multiple_of(3) && graph.symbols().find("n").is_some() {
        vec![("n".to_owned(), vec![1, 3])]
    } else {
        vec![]
    };
    // Params of random graphs are small: every other seed lets them pass through.
    let stream_from = if seed.is_multiple_of(2) { 0 } else { u64::MAX };
    let standard = Options::default().specializations(cuts).stream_from(stream_from);
    let run = |options: &Options, shuffle: u64| {
        outputs(&sample, graph, options, shuffle).map_err(|e| e.unwrap_or_else(|| "not lowered".into()))
    };
    let fused = run(&standard, 0)?;
    for (what, options, shuffle) in [
        ("another order and poison", standard.clone(), 1),
        ("bump", standard.clone().placement(Placement::Bump), 2),
        ("naive barriers", standard.clone().barriers(Barriers::Naive), 3),
        ("guard bytes", standard.clone().guard_bytes(64), 4),
    ] {
        let other = run(&options, shuffle).map_err(|e| format!("{what}: {e}"))?;
        if other != fused {
            return Err(format!("{what}: other bits"));
        }
    }
    let unfused = run(&standard.clone().opt(OptOptions::none()), 5).map_err(|e| format!("unfused: {e}"))?;
    let evaluated = data::evaluate(&sample, graph, EvalOptions::default()).map_err(|e| e.to_string())?;
    let evaluated: Vec<Vec<Tensor>> = evaluated
        .iter()
        .map(|e| e.outputs.iter().map(|a| a.to_tensor().map_err(|e| e.to_string())).collect())
        .collect::<Result<_, _>>()?;
    if !all_close(&unfused, &evaluated) {
        return Err("unfused is not close to the evaluator".into());
    }
    if !all_close(&fused, &unfused) {
        return Err("fused is not close to unfused".into());
    }
    Ok((fused == evaluated, unfused == evaluated))
}

fn try_seeds(seeds: std::ops::Range<u64>) {
    let (mut wrong, mut fused, mut unfused) = (Vec::new(), 0, 0);
    let total = seeds.end - seeds.start;
    for seed in seeds {
        match try_seed(seed) {
            Ok((f, u)) => (fused, unfused) = (fused + u64::from(f), unfused + u64::from(u)),
            Err(why) => wrong.push(format!("seed {seed}: {why}")),
        }
    }
    println!("{total} graphs; the evaluator's bits: {fused} fused, {unfused} unfused");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn random_graphs_on_the_interpreter_1() {
    try_seeds(0..150);
}

#[test]
fn random_graphs_on_the_interpreter_2() {
    try_seeds(150..300);
}

#[test]
#[ignore = "long: ten thousand random graphs"]
fn ten_thousand_random_graphs() {
    try_seeds(0..10_000);
}

/// Plans of the compiler, mutated: what brute force calls wrong is flagged.
#[test]
fn every_wrong_mutant_of_compiled_plans_is_flagged() {
    use pumice_plan::check::{check, judge::brute_force, mutate::mutations};
    let (mut wrong, mut harmless, mut strict, mut missed) = (0, 0, 0, Vec::new());
    for seed in 0..60 {
        let sample = sample(seed);
        let graph = sample.graph.as_ref().expect("a graph");
        let options = Options::default().stream_from(0);
        let plan = plan(graph, &options).unwrap_or_else(|e| panic!("seed {seed}: {e:?}"));
        assert_eq!(brute_force(&plan), Ok(()), "seed {seed}");
        for mutation in mutations(&plan) {
            let mutant = mutation.apply(&plan);
            let flagged = check(&mutant).is_err();
            match brute_force(&mutant) {
                Err(why) => {
                    wrong += 1;
                    if !flagged {
                        missed.push(format!("seed {seed}: {mutation}: {why}"));
                    }
                }
                Ok(()) => {
                    harmless += 1;
                    strict += u32::from(flagged);
                }
            }
        }
    }
    println!("{wrong} wrong mutants, {harmless} harmless ones, {strict} of them refused all the same");
    assert!(missed.is_empty(), "{} not flagged:\n{}", missed.len(), missed.join("\n"));
    assert!(wrong > 10_000, "{wrong}");
}

#[test]
#[ignore = "long: prints one graph, for finding defects"]
fn show() {
    let seed = std::env::var("SEED").unwrap().parse().unwrap();
    let sample = sample(seed);
    let graph = sample.graph.as_ref().unwrap();
    println!("{}", pumice_ir::text::print(graph));
    println!("{:?} {:?}", sample.bindings, try_seed(seed));
    for opt in [OptOptions::none(), OptOptions::default()] {
        match plan(graph, &Options::default().opt(opt)) {
            Ok(p) => println!("{p}"),
            Err(e) => println!("{e:?}"),
        }
    }
}
