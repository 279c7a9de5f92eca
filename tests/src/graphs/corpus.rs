//! The corpus: 200 wide programs on which placement is measured.
//!
//! Seven families of programs as models have them: layers that take from several earlier ones, inception blocks, nets
//! with skips, dense blocks, heads of attention side by side, towers that meet, and graphs without any order. Committed
//! as text in `tests/data/corpus`, one file per family, the graphs divided by a line `// ---`; what wrote them is here.

use crate::files;
use pumice_ir::sample::random as draw;
use pumice_ir::shape::DimSpec;
use pumice_ir::{Graph, GraphBuilder, Value, f32, sym};

/// Programs of the corpus.
pub const COUNT: u64 = 200;
/// Nodes besides leaves that each has at least.
pub const LEAST_NODES: usize = 64;
/// Nodes of one depth that each has at least.
pub const LEAST_WIDTH: usize = 4;

const BORDER: &str = "// ---\n";

/// The families, in the order of their files.
pub const FAMILIES: [&str; 7] = ["layered", "inception", "skips", "dense", "heads", "towers", "loose"];

/// Widths of values.
const WIDTHS: [u64; 10] = [32, 48, 64, 100, 128, 192, 250, 384, 512, 768];

/// What is committed, by family.
///
/// # Panics
/// If a file is not there or no graph.
pub fn committed() -> Vec<(&'static str, Vec<Graph>)> {
    FAMILIES.iter().map(|&family| (family, read(family))).collect()
}

fn read(family: &str) -> Vec<Graph> {
    let path = files::data().join(format!("corpus/{family}.ir"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let graphs = text.split(BORDER).filter(|t| !t.trim().is_empty());
    graphs.map(|t| pumice_ir::text::read(t).unwrap_or_else(|e| panic!("{family}.ir: {e}"))).collect()
}

/// The text of a family's file.
pub fn text(family: usize) -> String {
    let graphs = (0..COUNT).filter(|i| i % 7 == family as u64).map(|i| pumice_ir::text::print(&program(i)));
    graphs.collect::<Vec<_>>().join(BORDER)
}

/// Nodes besides leaves, and the most of them that have one depth: the length of the longest way from a leaf.
pub fn size(graph: &Graph) -> (usize, usize) {
    let mut depth = vec![0usize; graph.value_count()];
    let mut of_depth = Vec::new();
    for (_, node) in graph.nodes().filter(|(_, n)| !n.op.is_leaf()) {
        let d = node.operands().map(|v| depth[v.index()]).max().unwrap_or(0) + 1;
        node.outputs.iter().for_each(|v| depth[v.index()] = d);
        of_depth.resize(of_depth.len().max(d + 1), 0);
        of_depth[d] += 1;
    }
    (of_depth.iter().sum(), of_depth.into_iter().max().unwrap_or(0))
}

/// Program `i`.
///
/// # Panics
/// If this file is wrong.
pub fn program(i: u64) -> Graph {
    let g = GraphBuilder::new(&format!("{}_{i}", FAMILIES[(i % 7) as usize]));
    let rows = if i.is_multiple_of(5) { 96 } else { [16, 40, 64, 128][(draw(i, 0) % 4) as usize] };
    let mut weaver =
        Weaver { g: &g, seed: i, draws: 0, names: 0, rows, symbolic: i.is_multiple_of(5), made: 0 };
    let last = match i % 7 {
        0 => weaver.layered(),
        1 => weaver.inception(),
        2 => weaver.skips(),
        3 => weaver.dense(),
        4 => weaver.attention(),
        5 => weaver.towers(),
        _ => weaver.loose(),
    };
    last.iter().enumerate().for_each(|(k, v)| g.output(&format!("y{k}"), *v));
    g.build().unwrap_or_else(|e| panic!("program {i}: {e}"))
}

struct Weaver<'g> {
    g: &'g GraphBuilder,
    seed: u64,
    draws: u64,
    names: u64,
    rows: u64,
    symbolic: bool,
    /// Nodes besides leaves made so far, at least.
    made: usize,
}

impl Weaver<'_> {
    fn below(&mut self, n: usize) -> usize {
        self.draws += 1;
        (draw(self.seed, self.draws) % n.max(1) as u64) as usize
    }

    fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most - least + 1)
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    fn wide(&mut self) -> u64 {
        self.pick(&WIDTHS)
    }

    fn input(&mut self) -> Value {
        self.names += 1;
        let rows: DimSpec = if self.symbolic { sym("n", 1..=self.rows) } else { self.rows.into() };
        let width = self.wide();
        self.g.input(&format!("x{}", self.names), f32([rows, width.into()]))
    }

    fn param(&mut self, shape: &[u64]) -> Value {
        self.names += 1;
        self.g.param(&format!("w{}", self.names), f32(shape.iter().copied()))
    }

    fn width(&self, x: Value) -> u64 {
        self.g.dim_of(x, 1).as_extent().expect("widths are constant")
    }

    /// x\[·, a\] → \[·, b\].
    fn project(&mut self, x: Value, to: u64) -> Value {
        self.made += 1;
        let from = self.width(x);
        let w = self.param(&[to, from]);
        self.g.linear(x, w, None)
    }

    /// A step that keeps the width and cannot be joined with what follows.
    fn step(&mut self, x: Value) -> Value {
        let g = self.g;
        self.made += 1;
        match self.below(5) {
            0 => g.softmax(x, -1),
            1 => {
                let gamma = self.param(&[self.width(x)]);
                g.rms_norm(x, gamma, 1e-5)
            }
            2 => {
                let gamma = self.param(&[self.width(x)]);
                g.layer_norm(x, gamma, None, 1e-5)
            }
            _ => {
                let to = self.width(x);
                let y = self.project(x, to);
                g.gelu(y)
            }
        }
    }

    /// One of several that were made.
    fn one_of(&mut self, values: &[Value]) -> Value {
        let i = self.below(values.len());
        values[i]
    }

    /// Two values as one of a width.
    fn joined(&mut self, a: Value, b: Value, to: u64) -> Value {
        self.made += 1;
        if self.below(2) == 0 {
            let wide = self.g.concat(&[a, b], -1);
            return self.project(wide, to);
        }
        let (a, b) = (self.project(a, to), self.project(b, to));
        self.g.add(a, b)
    }

    /// Layers of several values, each from one or two of the layer before or of any before.
    fn layered(&mut self) -> Vec<Value> {
        let mut all = vec![self.input(), self.input()];
        let mut layer = all.clone();
        for _ in 0..self.between(5, 6) {
            let mut next = Vec::new();
            for _ in 0..self.between(4, 7) {
                let (a, to) = (self.one_of(&layer), self.wide());
                let v = match self.below(3) {
                    0 => self.project(a, to),
                    1 => {
                        let b = self.one_of(&all);
                        self.joined(a, b, to)
                    }
                    _ => self.step(a),
                };
                next.push(v);
            }
            all.extend(&next);
            layer = next;
        }
        while self.made < LEAST_NODES {
            let (a, b, to) = (self.one_of(&layer), self.one_of(&all), self.wide());
            let v = self.joined(a, b, to);
            all.push(v);
            layer.push(v);
        }
        layer
    }

    /// Blocks of branches of different depth that are joined along the width.
    fn inception(&mut self) -> Vec<Value> {
        let mut x = self.input();
        for _ in 0..self.between(4, 5) {
            let mut branches = Vec::new();
            for depth in 0..self.between(4, 6) {
                let to = self.wide() / 2;
                let mut b = self.project(x, to);
                for _ in 0..1 + depth / 2 {
                    b = self.step(b);
                }
                branches.push(b);
            }
            let wide = self.g.concat(&branches, -1);
            let to = self.wide();
            x = self.project(wide, to);
        }
        let more = (0..8).map(|_| self.step(x)).collect::<Vec<_>>();
        let mut last = vec![x];
        last.extend(more);
        last
    }

    /// Nets that narrow and widen again, four side by side, with a skip at every width, and what they say together.
    fn skips(&mut self) -> Vec<Value> {
        let x = self.input();
        let depth = self.between(3, 4);
        let mut branches = Vec::new();
        for _ in 0..4 {
            let mut width = self.pick(&[384u64, 512, 768]);
            let mut v = self.project(x, width);
            let mut skips = Vec::new();
            for _ in 0..depth {
                v = self.step(v);
                skips.push(v);
                width /= 2;
                v = self.project(v, width);
            }
            v = self.step(v);
            for skip in skips.into_iter().rev() {
                width *= 2;
                let up = self.project(v, width);
                let both = self.g.concat(&[up, skip], -1);
                v = self.project(both, width);
            }
            branches.push(v);
        }
        let wide = self.g.concat(&branches, -1);
        let to = self.wide();
        vec![self.project(wide, to)]
    }

    /// Four blocks side by side in each of which every layer takes everything before it.
    fn dense(&mut self) -> Vec<Value> {
        let x = self.input();
        let growth = self.pick(&[32u64, 48, 64]);
        let mut branches = Vec::new();
        for _ in 0..4 {
            let first = self.project(x, 2 * growth);
            let mut all = vec![first];
            for _ in 0..self.between(5, 6) {
                let wide = if all.len() == 1 { all[0] } else { self.g.concat(&all, -1) };
                let narrow = self.project(wide, growth);
                all.push(self.step(narrow));
            }
            branches.push(self.g.concat(&all, -1));
        }
        branches.iter().map(|&e| self.project(e, growth)).collect()
    }

    /// Layers of heads side by side, each with products of its own, then a gated product.
    fn attention(&mut self) -> Vec<Value> {
        let first = self.input();
        let (model, head) = (self.pick(&[128u64, 192, 256]), self.pick(&[32u64, 48, 64]));
        let mut x = self.project(first, model);
        for _ in 0..2 {
            let gamma = self.param(&[model]);
            let normal = self.g.layer_norm(x, gamma, None, 1e-5);
            let mut heads = Vec::new();
            for _ in 0..self.between(4, 6) {
                let [q, k, v] = [(); 3].map(|()| self.project(normal, head));
                let scores = self.g.matmul(q, self.g.transpose(k, &[1, 0]));
                heads.push(self.g.matmul(self.g.softmax(scores, -1), v));
            }
            let wide = self.g.concat(&heads, -1);
            let y = self.g.add(x, self.project(wide, model));
            let (gate, up) = (self.project(y, 3 * model), self.project(y, 3 * model));
            let down = self.g.mul(self.g.silu(gate), up);
            x = self.g.add(y, self.project(down, model));
        }
        vec![x]
    }

    /// Many towers of different height and width that meet two by two.
    fn towers(&mut self) -> Vec<Value> {
        let inputs = [self.input(), self.input(), self.input()];
        let mut open = Vec::new();
        for _ in 0..self.between(7, 9) {
            let (x, to) = (self.one_of(&inputs), self.wide());
            let mut v = self.project(x, to);
            for _ in 0..self.between(2, 7) {
                v = self.step(v);
                if self.below(3) == 0 {
                    let to = self.wide();
                    v = self.project(v, to);
                }
            }
            open.push(v);
        }
        while open.len() > 1 {
            let i = self.below(open.len());
            let a = open.swap_remove(i);
            let i = self.below(open.len());
            let b = open.swap_remove(i);
            let to = self.wide();
            let both = self.joined(a, b, to);
            open.push(self.step(both));
        }
        open
    }

    /// Each node from any of the last twelve values.
    fn loose(&mut self) -> Vec<Value> {
        let mut all = vec![self.input(), self.input()];
        for k in 0..self.between(40, 60) {
            let recent = all.len().saturating_sub(12);
            let (a, b, to) = (self.one_of(&all[recent..]), self.one_of(&all[recent..]), self.wide());
            let v = match self.below(4) {
                // Something of every stretch stays alive for long.
                _ if k % 9 == 8 => self.joined(a, all[k / 2], to),
                0 => self.joined(a, b, to),
                1 => self.project(a, to),
                _ => self.step(a),
            };
            all.push(v);
        }
        while self.made < LEAST_NODES {
            let (a, b, to) = (self.one_of(&all), self.one_of(&all), self.wide());
            all.push(self.joined(a, b, to));
        }
        all.split_off(all.len() - 6)
    }
}
