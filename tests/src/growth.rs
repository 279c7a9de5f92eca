//! Graphs that grow: compile time must grow with them and no faster.

use pumice_compile::{Options, compile};
use pumice_cpu_ref::RefEval;
use pumice_ir::{Graph, GraphBuilder, Value, f32, sym};
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
    /// States, each updated from an input.
    States,
}

impl Growth {
    /// Every kind.
    pub const ALL: [Growth; 5] =
        [Growth::Nodes, Growth::Steps, Growth::Layers, Growth::Symbols, Growth::States];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Growth::Nodes => "nodes",
            Growth::Steps => "steps",
            Growth::Layers => "layers",
            Growth::Symbols => "symbols",
            Growth::States => "states",
        }
    }

    /// The sizes at which it is measured, each twice the one before.
    pub const fn sizes(self) -> [usize; 4] {
        match self {
            Growth::Nodes | Growth::Steps => [5_000, 10_000, 20_000, 40_000],
            Growth::Layers | Growth::Symbols | Growth::States => [500, 1_000, 2_000, 4_000],
        }
    }

    /// A graph of `n` of them.
    pub fn graph(self, n: usize) -> Graph {
        let g = GraphBuilder::new(self.name());
        match self {
            Growth::Nodes | Growth::Steps => chain(&g, n),
            Growth::Layers => layers(&g, n),
            Growth::Symbols => symbols(&g, n),
            Growth::States => states(&g, n),
        }
        g.build().expect("a sound graph")
    }

    /// How it is compiled.
    pub fn options(self) -> Options {
        let opt = if self == Growth::Steps { OptOptions::none() } else { OptOptions::default() };
        Options::default().opt(opt)
    }

    /// Takes the time of building, compiling and checking a graph of `n`.
    pub fn measure(self, n: usize) -> Taken {
        let (begin, target) = (Instant::now(), Target::h200());
        let graph = self.graph(n);
        let built = begin.elapsed();
        let plan = compile(&graph, &target, &self.options(), &RefEval).expect("compiles");
        let compiled = begin.elapsed() - built;
        let plan = CheckedPlan::new(plan).expect("sound");
        let steps = plan.runs.iter().map(|r| r.program.steps.len()).sum();
        Taken { n, built, compiled, checked: begin.elapsed() - built - compiled, steps }
    }
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

fn states(g: &GraphBuilder, n: usize) {
    let rate = g.constant_scalar(pumice_types::DType::F32, 0.01);
    for i in 0..n {
        let (gradient, p) =
            (g.input(&format!("g{i}"), f32([64u64])), g.state(&format!("p{i}"), f32([64u64])));
        g.state_write(p, g.sub(g.state_read(p), g.mul(gradient, rate)));
    }
}
