//! Training (G13): a step of each network by the device's clock, its batch bound and its numbers in the table; and the
//! same step in less memory (G14). What the host takes of one is in `training_host` (G16).

use crate::Case;
use crate::clock::{Pace, Times};
use crate::data;
use crate::pairs::Pairs;
use crate::rig::{self, Rig, size};
use crate::row::{Bar, Figures, Outcome, Row};
use crate::training_host;
use pumice::train::{AdamW, Recipe, Schedule, Sgd, StepGraphs, TABLE_ROWS, names, step_graphs};
use pumice::{
    DType, Executable, Graph, GraphBuilder, Options, RunOptions, Session, Tensor, TensorView, Value, f32, i32,
};
use pumice_ir::ops::attention::{Attention, AttentionLayout};
use pumice_plan::RegionKind;
use std::collections::BTreeMap;
use std::time::Instant;

/// The cases.
pub fn cases(full: bool) -> Vec<Case> {
    let gpt =
        size(full, Gpt::SMALL, Gpt { layers: 2, width: 64, heads: 4, vocab: 300, tokens: 32, batch: 2 });
    let mlp = size(full, Mlp { batch: 128, sizes: [784, 128, 10] }, Mlp { batch: 8, sizes: [32, 16, 10] });
    let few = Pairs { layers: 2, width: 48, heads: 4, vocab: 300, positions: 32, tokens: 16, pairs: 4 };
    let pairs = size(full, Pairs::MINILM, few);
    let small = [
        case(format!("G13.gpt_b{}_s{}", gpt.batch, gpt.tokens), move || gpt.training()),
        case(format!("G13.minilm_p{}_s{}", pairs.pairs, pairs.tokens), move || pairs.training()),
        case("G13.mlp".to_owned(), move || mlp.training()),
    ];
    // Minutes on a CPU.
    let large = full.then(|| case("G13.resnet50_b32".to_owned(), || resnet(32)));
    let of_host = [
        training_host::planned("G16.gpt_b4_s512".to_owned(), || Gpt::SMALL.training()),
        training_host::by_the_wall(format!("G16.gpt_b{}_s{}", gpt.batch, gpt.tokens), move || gpt.training()),
        training_host::by_the_wall(format!("G16.minilm_p{}_s{}", pairs.pairs, pairs.tokens), move || {
            pairs.training()
        }),
    ];
    small.into_iter().chain(large).chain(of_host).collect()
}

fn case(name: String, make: impl Fn() -> Outcome<Training> + 'static) -> Case {
    Case::new(name.clone(), move |rig| make()?.measure(rig, &name))
}

/// Shares of the memory that a step takes (G14).
const LESS: [f64; 2] = [0.8, 0.6];

/// The smallest and the largest value of what has a name.
type Values = dyn Fn(&str) -> (f32, f32);

/// A network and how it is trained.
pub struct Training {
    pub graph: Graph,
    pub recipe: Recipe,
    /// What inputs of integers hold.
    pub integers: Box<Values>,
    /// What params hold at first.
    pub values: Box<Values>,
    pub bar: Bar,
}

/// Tokens or classes, of which there are so many.
fn among(classes: u64) -> Box<Values> {
    Box::new(move |_| (0.0, classes as f32 - 1.0))
}

/// Weights near 0, those of norms 1, biases 0.
fn small_values(name: &str) -> (f32, f32) {
    match name {
        _ if name.contains("ln_") && name.ends_with("weight") => (1.0, 1.0),
        _ if name.ends_with("weight") => (-0.04, 0.04),
        _ => (0.0, 0.0),
    }
}

fn adam_w() -> Recipe {
    Recipe::new(AdamW { weight_decay: 0.01, ..AdamW::default() })
}

/// ResNet-50 by SGD with momentum.
fn resnet(batch: u64) -> Outcome<Training> {
    let net = pumice_tests::resnet::resnet50_training(batch)?;
    let ranges: BTreeMap<String, (f32, f32)> = net.weights.into_iter().map(|w| (w.name, w.range)).collect();
    let values = move |name: &str| ranges.get(name).copied().unwrap_or((0.0, 0.0));
    let sgd = Sgd { momentum: 0.9, ..Sgd::default() };
    Ok(Training {
        graph: net.graph,
        recipe: Recipe::new(sgd).schedule(Schedule::constant(0.01)),
        integers: among(1000),
        values: Box::new(values),
        bar: Bar::Ratio(0.7),
    })
}

/// A decoder as GPT-2, its embedding tied to its head.
#[derive(Clone, Copy)]
struct Gpt {
    layers: usize,
    width: u64,
    heads: u64,
    vocab: u64,
    tokens: u64,
    batch: u64,
}

impl Gpt {
    const SMALL: Gpt = Gpt { layers: 12, width: 768, heads: 12, vocab: 50_257, tokens: 512, batch: 4 };

    fn training(&self) -> Outcome<Training> {
        let (graph, values) = (self.graph()?, Box::new(small_values));
        Ok(Training { graph, recipe: adam_w(), integers: among(self.vocab), values, bar: Bar::Ratio(0.9) })
    }

    fn graph(&self) -> Outcome<Graph> {
        let g = GraphBuilder::new("gpt");
        let rows = self.batch * self.tokens;
        let (ids, target) = (g.input("ids", i32([self.batch, self.tokens])), g.input("target", i32([rows])));
        let table = g.param("wte.weight", f32([self.vocab, self.width]));
        let places = g.param("wpe.weight", f32([self.tokens, self.width]));
        let mut x = g.add(g.embedding(table, ids), places);
        for layer in 0..self.layers {
            x = self.layer(&g, &format!("h.{layer}."), x);
        }
        let logits = g.linear(self.norm(&g, "ln_f.", x), table, None);
        let logits = g.reshape(logits, &[rows as i64, self.vocab as i64]);
        let (loss, weight) = g.softmax_cross_entropy(logits, target, None, Default::default());
        g.output("loss", loss);
        g.output("weight", weight);
        Ok(g.build()?)
    }

    fn layer(&self, g: &GraphBuilder, name: &str, x: Value) -> Value {
        let width = self.width;
        let linear = |part: &str, x: Value, to: u64, from: u64| {
            let weight = g.param(&format!("{name}{part}.weight"), f32([to, from]));
            g.linear(x, weight, Some(g.param(&format!("{name}{part}.bias"), f32([to]))))
        };
        let h = linear("attn", self.norm(g, &format!("{name}ln_1."), x), 3 * width, width);
        let heads = [self.batch, self.tokens, self.heads, width / self.heads].map(|n| n as i64);
        let parts: Vec<Value> =
            g.split(h, 2, &[width as i64; 3]).into_iter().map(|part| g.reshape(part, &heads)).collect();
        let op = Attention { layout: AttentionLayout::Bshd, causal: true, ..Attention::default() };
        let h = g.attention(parts[0], parts[1], parts[2], None, None, op);
        let h = g.reshape(h, &[self.batch, self.tokens, width].map(|n| n as i64));
        let x = g.add(x, linear("proj", h, width, width));
        let h = linear("fc", self.norm(g, &format!("{name}ln_2."), x), 4 * width, width);
        g.add(x, linear("out", g.gelu_tanh(h), width, 4 * width))
    }

    fn norm(&self, g: &GraphBuilder, name: &str, x: Value) -> Value {
        let param = |part: &str| g.param(&format!("{name}{part}"), f32([self.width]));
        g.layer_norm(x, param("weight"), Some(param("bias")), 1e-5)
    }
}

/// Two layers with a relu between them.
#[derive(Clone, Copy)]
struct Mlp {
    batch: u64,
    sizes: [u64; 3],
}

impl Mlp {
    fn training(&self) -> Outcome<Training> {
        let (graph, values) = (self.graph()?, Box::new(small_values));
        Ok(Training { graph, recipe: adam_w(), integers: among(self.sizes[2]), values, bar: Bar::Ratio(0.6) })
    }

    fn graph(&self) -> Outcome<Graph> {
        let g = GraphBuilder::new("mlp");
        let [from, hidden, to] = self.sizes;
        let (x, class) = (g.input("x", f32([self.batch, from])), g.input("target", i32([self.batch])));
        let linear = |name: &str, x: Value, to: u64, from: u64| {
            let weight = g.param(&format!("{name}.weight"), f32([to, from]));
            g.linear(x, weight, Some(g.param(&format!("{name}.bias"), f32([to]))))
        };
        let y = linear("fc2", g.relu(linear("fc1", x, hidden, from)), to, hidden);
        let (loss, weight) = g.softmax_cross_entropy(y, class, None, Default::default());
        g.output("loss", loss);
        g.output("weight", weight);
        Ok(g.build()?)
    }
}

impl Training {
    /// A guarded step; and the same in each of [`LESS`] of its memory, if there is a plan for it.
    fn measure(&self, rig: &Rig, name: &str) -> Outcome<Vec<Row>> {
        let graphs = step_graphs(&self.graph, &self.recipe)?;
        let options = Options::default().precision(rig.args.precision);
        let (row, needed) = self.row(rig, &graphs, (name, &options), self.bar.clone())?;
        let mut rows = vec![row];
        for share in LESS {
            let less = options.clone().memory((needed as f64 * share) as u64);
            let of = format!("{}.in_{:.0}_percent", name.replacen("G13", "G14", 1), 100.0 * share);
            match self.row(rig, &graphs, (&of, &less), Bar::TimesOf(name.to_owned(), 1.4)) {
                Ok((row, _)) => rows.push(row),
                Err(error) => println!("{of}: {error}"),
            }
        }
        Ok(rows)
    }

    /// A step compiled by these options, and the bytes that it takes.
    pub fn row(
        &self,
        rig: &Rig,
        graphs: &StepGraphs,
        (name, options): (&str, &Options),
        bar: Bar,
    ) -> Outcome<(Row, u64)> {
        let exe = pumice::compile_entries(&[("step", &graphs.step)], &rig.device, options)?;
        let mut run = Run { session: exe.session()?, graphs, updates: 0 };
        run.fill(&exe, &*self.values)?;
        run.bind(&exe, &*self.integers)?;
        let before = run.loss()?;
        let times = run.times(rig.gpu_pace())?;
        let after = run.loss()?;
        if after >= before || !after.is_finite() {
            return Err(format!("the loss went from {before} to {after}").into());
        }
        if rig.args.profile {
            run.step()?;
            print!("{name}\n{}", run.session.profile(&[], &RunOptions::default())?);
        }
        let kinds = [RegionKind::Weights, RegionKind::States, RegionKind::Scratch];
        let bytes: u64 = kinds.iter().map(|&kind| exe.plan().region_size(kind).0).sum();
        let again = exe.plan().runs.iter().filter_map(|run| run.stats.again);
        let again = again.map(|again| format!("{} steps again", again.steps));
        let said = format!("{:.1} MB on the device", bytes as f64 / 1e6);
        let row = Row {
            figures: Some(Figures::of(&exe, 0)),
            bar,
            judged: rig.judges_gpu(),
            checked: format!("the loss of one batch went from {before:.3} to {after:.3}"),
            notes: std::iter::once(said).chain(again).chain(rig::notes(times, rig.judges_gpu())).collect(),
            ..Row::new(name.to_owned(), times, "device")
        };
        Ok((row, bytes))
    }
}

/// A session that takes one step after the other over the same batch.
struct Run<'a> {
    session: Session,
    graphs: &'a StepGraphs,
    updates: u64,
}

impl Run<'_> {
    /// First values.
    fn fill(&mut self, exe: &Executable, values: &Values) -> Outcome {
        let is_trained = |name: &str| self.graphs.trained.iter().any(|t| t.name == name);
        let trained = exe.plan().states.iter().filter(|slot| is_trained(&slot.name));
        for (seed, slot) in (7..).zip(trained) {
            let count = slot.shape.iter().product::<u64>() as usize;
            let (low, high) = values(&slot.name);
            self.session.state(&slot.name)?.write_f32(&data::random(seed, count, low, high))?;
        }
        Ok(())
    }

    /// The batch.
    fn bind(&mut self, exe: &Executable, integers: &Values) -> Outcome {
        let own = |name: &str| name != names::NUMBERS && name != names::BASE;
        for (seed, input) in exe.inputs().into_iter().filter(|input| own(&input.name)).enumerate() {
            let shape: Vec<u64> = input.shape.iter().map(|extent| extent.max).collect();
            let count = shape.iter().product::<u64>() as usize;
            let drawn = |low, high| data::random(11 + seed as u64, count, low, high);
            if input.dtype() == DType::F32 {
                let drawn = Tensor::new(&drawn(-1.0, 1.0), &shape)?;
                self.session.bind_input(&input.name, drawn.view())?;
            } else {
                let (low, high) = integers(&input.name);
                let drawn: Vec<i32> = drawn(low, high).iter().map(|&v| v as i32).collect();
                self.session.bind_input(&input.name, Tensor::new(&drawn, &shape)?.view())?;
            }
        }
        Ok(())
    }

    /// The numbers of the next updates lie on the device.
    fn step(&mut self) -> Outcome {
        if self.updates.is_multiple_of(TABLE_ROWS) {
            let (table, columns) =
                (self.graphs.numbers.table(self.updates), self.graphs.numbers.columns() as u64);
            self.session.bind_input(names::NUMBERS, TensorView::f32(&table, [TABLE_ROWS, columns]))?;
            self.session.bind_input(names::BASE, TensorView::i32(&[self.updates as i32], []))?;
        }
        self.updates += 1;
        Ok(())
    }

    fn loss(&mut self) -> Outcome<f32> {
        self.step()?;
        Ok(self.session.run(&[])?.get("loss")?.to_vec::<f32>()?[0])
    }

    fn times(&mut self, pace: Pace) -> Outcome<Times> {
        let begin = Instant::now();
        let mut once = || {
            self.step()?;
            Ok(self.session.time(&[], &RunOptions::default())?)
        };
        while begin.elapsed().as_secs_f64() < pace.warm_s {
            once()?;
        }
        let samples = (0..3 * pace.samples).map(|_| once()).collect::<Outcome<Vec<f64>>>()?;
        Ok(Times::of(&samples))
    }
}
