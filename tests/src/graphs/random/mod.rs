//! Random programs: a pure function of the seed.
//!
//! 5 to 60 nodes besides leaves, of every op, values used more than once, a fifth with symbols, a fifth with states,
//! some with host steps, an eighth with extents of tens instead of ones, which other kernels compute. What has jumps
//! (comparisons, rounding, casts to integers) is fed with exact values alone: integers small enough that every device
//! computes the same. Everything else is continuous, so that a device's last digits stay last digits.
//!
//! How far last digits may go is measured and not guessed, by evaluations whose results are perturbed (see
//! [`super::trial`]): sums of exact values have few bits, so that perturbation leaves them alone.

mod attention;
mod branches;
mod chance;
mod collected;
mod data;
mod found;
mod histogram;
mod movement;
mod numbers;
mod order;
mod products;
mod recurrent;
mod rounded;
mod states;
mod windows;

pub use histogram::Histogram;

use pumice_ir::ops::DequantizeLinear;
use pumice_ir::sample::random as draw;
use pumice_ir::shape::{DimSpec, tensor};
use pumice_ir::{Fill, Graph, GraphBuilder, Sample, Value, ValueType, bool_, f32, i32, sym};
use pumice_types::{Code, DType, Encoding, Scheme};

/// Nodes besides leaves that a program has at most.
const MOST: usize = 60;
/// And at least.
const FEWEST: usize = 5;

/// A value with what the generator knows of it.
#[derive(Clone, Copy)]
pub(super) struct Item {
    pub value: Value,
    /// About how large its elements are.
    pub size: f64,
    /// Whether every device computes it to the bit.
    pub exact: bool,
}

/// A program under construction.
pub(super) struct Garden<'g> {
    pub g: &'g GraphBuilder,
    seed: u64,
    draws: u64,
    pub pool: Vec<Item>,
    leaves: u32,
    fills: Vec<(String, Fill)>,
    /// Rows of most values: a symbol in a fifth of the programs.
    pub symbolic: bool,
    stateful: bool,
    /// Extents of tens.
    large: bool,
    /// Whether an extent is found while the program runs.
    finds: bool,
    /// Branches in branches.
    depth: u32,
    /// Whether nodes are of a loop: the host takes no part in it.
    looping: bool,
    /// Rank-0 i32 between 0 and 6; advances by 1 in programs with states.
    pub position: Value,
}

/// The program of a seed with its data, run twice in a session.
pub fn sample(seed: u64) -> Sample {
    grow(seed, steps(seed))
}

/// Nodes of a graph besides its leaves.
pub fn inner_nodes(graph: &Graph) -> usize {
    graph.nodes().filter(|(_, node)| !node.op.is_leaf()).count()
}

/// How often something is added: some additions are of several nodes, some of none, so fewer or more until the size of
/// the program is right.
fn steps(seed: u64) -> usize {
    let mut steps = 4 + (draw(seed, 1 << 41) % 36) as usize;
    while grow(seed, steps).graph.is_ok_and(|g| inner_nodes(&g) < FEWEST) {
        steps += 1;
    }
    while steps > 1 && grow(seed, steps).graph.is_ok_and(|g| inner_nodes(&g) > MOST) {
        steps -= steps.div_ceil(6);
    }
    steps
}

fn grow(seed: u64, steps: usize) -> Sample {
    let (symbolic, stateful) = (seed % 5 == 1, seed % 5 == 2);
    let mut fills = Vec::new();
    let mut sample = Sample::graph("random", |g| {
        let position = match stateful {
            true => g.scalar_advancing("position", 0, 6, 0, pumice_types::DimExpr::constant(1)),
            false => g.scalar("position", i32::<u64>([]), 0.0, 6.0, (seed % 6) as f64),
        };
        let mut garden = Garden {
            g,
            seed,
            draws: 0,
            pool: Vec::new(),
            leaves: 0,
            fills: Vec::new(),
            symbolic,
            stateful,
            large: seed % 8 == 3,
            finds: false,
            depth: 0,
            looping: false,
            position,
        };
        garden.leaves();
        for step in 0..steps {
            garden.node();
            if stateful && step == steps / 2 {
                garden.stateful_node();
            }
        }
        garden.outputs();
        fills = garden.fills;
    });
    sample.fills = fills;
    let rows = sample.graph.as_ref().ok().and_then(|g| g.symbols().get(g.symbols().find("n")?).cloned());
    let sample = match rows {
        Some(n) => sample.bind("n", n.min + draw(seed, 1 << 40) % n.max),
        None => sample,
    };
    sample.runs(2)
}

impl Garden<'_> {
    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.draws += 1;
        (draw(self.seed, self.draws) % n as u64) as usize
    }

    /// One of a list.
    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// A name no other leaf has.
    pub fn name(&mut self, what: &str) -> String {
        self.leaves += 1;
        format!("{what}{}", self.leaves)
    }

    /// Sets how a leaf is filled.
    pub fn fill(&mut self, name: &str, fill: Fill) {
        self.fills.push((name.to_owned(), fill));
    }

    /// The type of a value.
    pub fn ty(&self, v: Value) -> ValueType {
        self.g.type_of(v).unwrap_or_else(|| ValueType::new(DType::F32, []))
    }

    /// A value of the pool that satisfies a condition, recent ones preferred.
    pub fn find(&mut self, wanted: impl Fn(&Self, &Item) -> bool) -> Option<Item> {
        let found: Vec<Item> = self.pool.iter().copied().filter(|i| wanted(self, i)).collect();
        if found.is_empty() {
            return None;
        }
        let back = self.below(found.len()).min(self.below(found.len()));
        Some(found[found.len() - 1 - back])
    }

    /// An f32 value of moderate size with at least one axis.
    pub fn real(&mut self) -> Item {
        let item = self.find(|s, i| {
            let ty = s.ty(i.value);
            ty.dtype() == DType::F32 && ty.rank() > 0
        });
        self.calm(item.expect("the first leaf is one"))
    }

    /// The extent that a symbol stands for in some programs.
    pub fn rows(&self) -> DimSpec {
        match (self.symbolic, self.large) {
            (true, false) => sym("n", 1..=5),
            (true, true) => sym("n", 1..=48),
            (false, false) => 3u64.into(),
            (false, true) => 37u64.into(),
        }
    }

    /// The value, squeezed if it is large.
    pub fn calm(&mut self, x: Item) -> Item {
        if x.size > 20.0 && self.ty(x.value).dtype() == DType::F32 {
            Item { value: self.g.tanh(x.value), size: 1.0, exact: false }
        } else {
            x
        }
    }

    /// An f32 value of the same shape as another.
    pub fn twin(&mut self, of: Item) -> Item {
        let ty = self.ty(of.value);
        let item = self.find(|s, i| s.ty(i.value) == ty).expect("it is its own twin");
        self.calm(item)
    }

    /// A param of f32 numbers about 1 in size.
    pub fn param(&mut self, shape: &[u64]) -> Value {
        let name = self.name("w");
        self.g.param(&name, f32(shape.iter().copied()))
    }

    /// A weight whose rows are whole blocks lies in blocks, any other is f32 or codes beside scales.
    pub fn weight(&mut self, shape: &[u64]) -> Value {
        let scheme = if shape[0].is_multiple_of(2) { Scheme::Q4_0 } else { Scheme::Q4_1 };
        if shape.last().is_none_or(|n| !n.is_multiple_of(scheme.elements())) {
            return if self.below(3) == 0 { self.codes(shape) } else { self.param(shape) };
        }
        let name = self.name("w");
        self.g.dequantize(self.g.param(&name, tensor(scheme, shape.iter().copied())))
    }

    /// A weight that is codes, each pair along the last axis under one scale; some with zero points.
    fn codes(&mut self, shape: &[u64]) -> Value {
        let code = self.pick(&[Encoding::Codes(Code::I4), Encoding::Codes(Code::F4E2M1), DType::I8.into()]);
        let [q, scale, zero] = ["q", "scale", "zero"].map(|what| self.name(what));
        let mut scales = shape.to_vec();
        if let Some(last) = scales.last_mut() {
            *last = last.div_ceil(2);
        }
        let size = if code == DType::I8 { 0.01 } else { 0.1 };
        self.fill(&scale, Fill::Uniform(-size, size));
        let param =
            |name: &str, ty: Encoding, shape: &[u64]| self.g.param(name, tensor(ty, shape.iter().copied()));
        let (q, scale) = (param(&q, code, shape), param(&scale, DType::F32.into(), &scales));
        let has_zero = code == Encoding::Codes(Code::I4) && self.seed.is_multiple_of(2);
        let zero = has_zero.then(|| param(&zero, code, &scales));
        let op = DequantizeLinear { axis: -1, block_size: 2, ..DequantizeLinear::default() };
        self.g.dequantize_linear(q, scale, zero, op)
    }

    /// The constant innermost extent of a value with at least one axis.
    pub fn width(&self, x: Value) -> u64 {
        self.ty(x)
            .shape
            .last()
            .and_then(pumice_types::DimExpr::as_extent)
            .expect("innermost extents are constant")
    }

    /// A result that is the same on every device.
    pub fn exact(&self, value: Value, size: f64) -> Item {
        Item { value, size, exact: true }
    }

    /// A result whose last digits are a device's own.
    pub fn about(&self, value: Value, size: f64) -> Item {
        Item { value, size, exact: false }
    }

    fn leaves(&mut self) {
        let rows = || self.rows();
        let g = self.g;
        let widths = if self.large { [64, 132] } else { [4, 8] };
        let c: u64 = widths[(self.seed / 7 % 2) as usize];
        let x = g.input("x", f32([rows(), c.into()]));
        let y = g.input("y", f32([2.into(), rows(), c.into()]));
        let e = g.input("e", f32([rows(), c.into()]));
        let i = g.input("i", i32([rows(), c.into()]));
        let b = g.input("b", bool_([rows(), c.into()]));
        self.fill("e", Fill::Range(-4, 5));
        self.fill("i", Fill::Range(-4, 5));
        self.fill("b", Fill::Range(0, 2));
        self.pool = vec![self.about(x, 3.0), self.about(y, 3.0)];
        self.pool.extend([self.exact(e, 4.0), self.exact(i, 4.0), self.exact(b, 1.0)]);
    }

    /// One more node, or a few that belong together.
    fn node(&mut self) {
        let family = self.below(29);
        let made = match family {
            0..=2 => self.unary(),
            3..=5 => self.binary(),
            6 => self.activation(),
            7 => self.whole(),
            8 => self.compare(),
            9 => self.logic(),
            10 => self.convert(),
            11 | 12 => self.movement(),
            13 => self.joined(),
            14 => self.gathered(),
            15 => self.reduced(),
            16 => self.row_op(),
            17 | 18 if self.below(4) == 0 => self.rounded_product(),
            17 | 18 => self.product(),
            19 => self.attention(),
            20 | 22 if self.looping => self.unary(),
            20 if self.below(3) == 0 => self.woven(),
            20 => self.composite(),
            21 => self.counted(),
            22 if self.stateful => self.state(),
            22 => self.transformed(),
            23 => self.ordered(),
            24 => self.chance(),
            25 => self.windowed(),
            26 => self.rounded(),
            27 if self.below(3) == 0 => self.looped(),
            27 if self.below(2) == 0 => self.collected(),
            27 => self.branched(),
            _ if self.below(2) == 0 => self.windowed(),
            _ => self.residual(),
        };
        if let Some(item) = made {
            self.keep(item);
        }
    }

    /// A state that no chance leaves out.
    fn stateful_node(&mut self) {
        if let Some(item) = self.state() {
            self.keep(item);
        }
    }

    /// Takes a result into the pool if it is small enough.
    pub fn keep(&mut self, item: Item) {
        let ty = self.ty(item.value);
        let (widest, elements) = if self.large { (300, 40_000.0) } else { (64, 3000.0) };
        let large = self.g.type_of(item.value).is_none()
            || ty.rank() > 5
            || ty.shape.last().is_some_and(|d| d.as_extent().is_none_or(|d| d == 0 || d > widest));
        let most: f64 = ty.shape.iter().map(|d| d.as_extent().unwrap_or(8) as f64).product();
        if !large && most <= elements {
            self.pool.push(item);
        }
    }

    fn outputs(&mut self) {
        let last = self.pool[self.pool.len() - 1];
        self.g.output("last", last.value);
        for k in 0..1 + self.below(4) {
            let i = self.below(self.pool.len());
            self.g.output(&format!("y{k}"), self.pool[i].value);
        }
        // A program that finds extents does not stop.
        if self.below(4) == 0 && !self.finds {
            self.stop();
        }
    }

    /// Replays stop where the largest element of a value is above a number that no exact value is: about 0 there are
    /// often many, which are 0 and rounded.
    fn stop(&mut self) {
        let x = self.real();
        let axes: Vec<i64> = (0..self.ty(x.value).rank() as i64).collect();
        let most = self.g.reduce_max(x.value, &axes, false);
        self.g.output("enough", self.g.greater(most, self.g.constant_scalar(DType::F32, 0.037)));
        self.g.stop("enough");
    }
}
