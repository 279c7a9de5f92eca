//! Graphs that grow: compile time must grow with them and no faster, and has bars.

use pumice_compile::{Options, compile};
use pumice_cpu_ref::RefEval;
use pumice_ir::{Graph, GraphBuilder, Value, f32, sym};
use pumice_models::decoder::{DecoderConfig, decoder_graph};
use pumice_models::offline::OfflineEncoder;
use pumice_models::{EncoderOptions, specialize};
use pumice_opt::OptOptions;
use pumice_plan::CheckedPlan;
use pumice_types::Target;
use std::time::{Duration, Instant};

/// What a graph has many of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Elementwise nodes without names of their own, one after the other; they fuse.
    Nodes,
    /// The same with no pass that fuses: a dispatch each.
    Steps,
    /// Layers of a sum and a norm.
    Layers,
    /// Inputs, each with an extent of its own.
    Symbols,
    /// Inputs whose extents must be equal in pairs, with an operand that is expanded to them.
    Equalities,
    /// States, each updated from an input.
    States,
    /// Layers of a decoder with caches, in four ranges of new tokens.
    Decoder,
    /// MiniLM, of which there is one size, in the ranges that `pumice embed` compiles.
    MiniLm,
}

impl Growth {
    /// Every kind.
    pub const ALL: [Growth; 8] = [
        Growth::Nodes,
        Growth::Steps,
        Growth::Layers,
        Growth::Symbols,
        Growth::Equalities,
        Growth::States,
        Growth::Decoder,
        Growth::MiniLm,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Growth::Nodes => "nodes",
            Growth::Steps => "steps",
            Growth::Layers => "layers",
            Growth::Symbols => "symbols",
            Growth::Equalities => "equal",
            Growth::States => "states",
            Growth::Decoder => "decoder",
            Growth::MiniLm => "minilm",
        }
    }

    /// The sizes at which it is measured; most are twice the one before.
    pub const fn sizes(self) -> &'static [usize] {
        match self {
            Growth::Nodes | Growth::Steps => &[5_000, 10_000, 20_000, 40_000],
            Growth::Layers | Growth::Symbols | Growth::Equalities | Growth::States => {
                &[500, 1_000, 2_000, 4_000]
            }
            Growth::Decoder => &[16, 32, 50, 100],
            Growth::MiniLm => &[6],
        }
    }

    /// What that size may take in all.
    pub const fn bar(self, n: usize) -> Option<Duration> {
        match (self, n) {
            (Growth::Nodes | Growth::Steps, 20_000) => Some(Duration::from_millis(1500)),
            (Growth::Decoder, 32) => Some(Duration::from_millis(150)),
            (Growth::Decoder, 100) => Some(Duration::from_millis(500)),
            (Growth::MiniLm, _) => Some(Duration::from_millis(60)),
            _ => None,
        }
    }

    /// A graph of `n` of them.
    pub fn graph(self, n: usize) -> Graph {
        if self == Growth::MiniLm {
            return OfflineEncoder::new(0, &EncoderOptions::default()).expect("a sound encoder").model.graph;
        }
        let g = GraphBuilder::new(self.name());
        match self {
            Growth::Nodes | Growth::Steps => chain(&g, n),
            Growth::Layers => layers(&g, n),
            Growth::Symbols => symbols(&g, n),
            Growth::Equalities => equalities(&g, n),
            Growth::States => states(&g, n),
            Growth::Decoder => return decoder(n),
            Growth::MiniLm => {}
        }
        g.build().expect("a sound graph")
    }

    /// How it is compiled.
    pub fn options(self) -> Options {
        match self {
            Growth::Steps => Options::default().opt(OptOptions::none()),
            Growth::Decoder => Options::default().specialize("t", [1, 8, 64]),
            Growth::MiniLm => Options::default().specializations(specialize::encoder()),
            _ => Options::default(),
        }
    }

    /// Takes the time of building, compiling and checking a graph of `n`; of MiniLM, whose weights are made with its
    /// graph, that of compiling and checking.
    pub fn measure(self, n: usize) -> Taken {
        let (begin, target) = (Instant::now(), Target::h200());
        let graph = self.graph(n);
        let built = if self == Growth::MiniLm { Duration::ZERO } else { begin.elapsed() };
        let begin = Instant::now();
        let plan = compile(&graph, &target, &self.options(), &RefEval).expect("compiles");
        let compiled = begin.elapsed();
        let plan = CheckedPlan::new(plan).expect("sound");
        let steps = plan.runs.iter().map(|r| r.program.steps.len()).sum();
        Taken { n, built, compiled, checked: begin.elapsed() - compiled, steps }
    }
}

/// The least that each of some graphs took, measured in turns: what comes and goes on the machine then meets all of
/// them.
pub fn fastest<G: Copy>(graphs: &[G], rounds: usize, measure: impl Fn(G) -> Taken) -> Vec<Taken> {
    let mut best: Vec<Taken> = graphs.iter().map(|&graph| measure(graph)).collect();
    for _ in 1..rounds {
        for (taken, &graph) in best.iter_mut().zip(graphs) {
            let next = measure(graph);
            if next.total() < taken.total() {
                *taken = next;
            }
        }
    }
    best
}

/// What one graph took.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// How many.
    pub n: usize,
    /// Building the graph.
    pub built: Duration,
    /// From the graph to the plan.
    pub compiled: Duration,
    /// The checker.
    pub checked: Duration,
    /// Steps of the plan.
    pub steps: usize,
}

impl Taken {
    /// All of it.
    pub fn total(&self) -> Duration {
        self.built + self.compiled + self.checked
    }
}

/// x + w, times w, plus w, …: alternately, so that nothing is the same twice.
fn chain(g: &GraphBuilder, n: usize) {
    let x = g.input("x", f32([64u64]));
    let w = g.param("w", f32([64u64]));
    g.output("y", (0..n).fold(x, |c, i| if i % 2 == 0 { g.add(c, w) } else { g.mul(c, w) }));
}

fn layers(g: &GraphBuilder, n: usize) {
    let x = g.input("x", f32([sym("tokens", 1..=16), 64.into()]));
    let one = |c: Value, i: usize| {
        let scale = g.param(&format!("layer.{i}.scale"), f32([64u64]));
        g.rms_norm(g.add(c, x), scale, 1e-5)
    };
    g.output("y", (0..n).fold(x, one));
}

fn symbols(g: &GraphBuilder, n: usize) {
    for i in 0..n {
        let x = g.input(&format!("x{i}"), f32([sym(&format!("n{i}"), 1..=16), 4.into()]));
        g.output(&format!("y{i}"), g.relu(x));
    }
}

fn equalities(g: &GraphBuilder, n: usize) {
    let row = g.input("row", f32([4u64]));
    for i in 0..n {
        let [x, y] = ["x", "y"]
            .map(|x| g.input(&format!("{x}{i}"), f32([sym(&format!("n{x}{i}"), 2..=16), 4.into()])));
        let expanded = g.expand_to(row, vec![g.dim_of(x, 0), 4u64.into()]);
        g.output(&format!("z{i}"), g.select(g.less(x, y), y, expanded));
    }
}

fn states(g: &GraphBuilder, n: usize) {
    let rate = g.constant_scalar(pumice_types::DType::F32, 0.01);
    for i in 0..n {
        let (gradient, p) =
            (g.input(&format!("g{i}"), f32([64u64])), g.state(&format!("p{i}"), f32([64u64])));
        g.state_write(p, g.sub(g.state_read(p), g.mul(gradient, rate)));
    }
}

/// A decoder with the widths of a small one: compile time follows the number of its layers.
fn decoder(layers: usize) -> Graph {
    let config = DecoderConfig { capacity: 2048, max_new: 512, ..DecoderConfig::tiny() };
    let config = DecoderConfig { layers: vec![config.layers[0].clone(); layers], ..config };
    decoder_graph("decoder", &config).expect("a sound decoder")
}
