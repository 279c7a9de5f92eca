//! A layer of experts shaped as Qwen3-30B-A3B's (P8): a router takes 8 of 128 experts for each token, gate, up and down
//! are Q4_K. The layer of one token and of many, the way from logits to rows in the order of their experts, and each
//! grouped product beside a dense one of as many rows.
//!
//! Experts have one of few contents each, so that all of them are made quickly and the check still sees which was
//! taken.

use crate::data;
use crate::rig::{Rig, Spec, size};
use crate::row::{Bar, Outcome, Rate, Row};
use crate::{Case, Spelled};
use pumice::{Encoding, Graph, GraphBuilder, Outputs, Scheme, Value, f32, i32, tensor};
use pumice_ir::ops::glu::GluAct;
use pumice_ir::ops::{GroupedMatMul, TopKMoeRouter};

const STORED: Encoding = Encoding::Blocks(Scheme::Q4_K);
/// Contents of experts.
const CONTENTS: usize = 3;
/// f16 numbers of a block: its scale, 2^-13, and that of its minima, 7.5 times as much.
const BLOCK_SCALES: [u8; 4] = [0x00, 0x08, 0x80, 0x13];
/// What a result may be off by, of the size of its row: two products and a unit between them, in f32.
const TOLERANCE: f64 = 1e-4;

/// Extents of a layer.
#[derive(Clone, Copy)]
struct Layer {
    tokens: u64,
    width: u64,
    hidden: u64,
    experts: u64,
    taken: u64,
}

/// A matrix of each expert, \[n, k\].
#[derive(Clone, Copy)]
struct Matrix {
    name: &'static str,
    n: u64,
    k: u64,
}

/// The cases.
pub fn cases(full: bool) -> Vec<Case> {
    let (width, hidden, experts) = size(full, (2048, 768, 128), (256, 512, 16));
    let one = Layer { tokens: 1, width, hidden, experts, taken: size(full, 8, 4) };
    let many = Layer { tokens: size(full, 512, 16), ..one };
    let layer = |of: Layer, bar: Bar| {
        Case::new(of.name(), move |rig| Ok(vec![of.measure(rig, bar.clone())?]))
            .spelled(move || Ok(Spelled { graph: of.graph()?, fused: true }))
    };
    let mut cases = vec![layer(one, Bar::Us(30.0)), layer(many, Bar::None), sorted(many)];
    for (matrix, rows_alone) in [(many.gate(), false), (many.down(), true)] {
        let dense = Product { layer: many, matrix, grouped: false, rows_alone };
        let bar = Bar::ShareOf(dense.name(), 0.5);
        cases.extend([dense.case(Bar::None), Product { grouped: true, ..dense }.case(bar)]);
    }
    cases
}

/// The bytes of so many experts.
fn bytes_of(matrix: Matrix, experts: u64) -> Outcome<Vec<u8>> {
    let one = STORED.bytes(&[matrix.n, matrix.k])?.0 as usize;
    let unit = STORED.block().1 as usize;
    let content = |i: usize| {
        let mut bytes = data::bytes(100 * matrix.k + i as u64, one);
        bytes.chunks_mut(unit).for_each(|block| block[..4].copy_from_slice(&BLOCK_SCALES));
        bytes
    };
    let contents: Vec<Vec<u8>> = (0..CONTENTS).map(content).collect();
    Ok((0..experts as usize).flat_map(|e| &contents[e % CONTENTS]).copied().collect())
}

/// The values of one expert.
fn values_of(bytes: &[u8], matrix: Matrix, expert: usize) -> Outcome<Vec<f32>> {
    let one = STORED.bytes(&[matrix.n, matrix.k])?.0 as usize;
    Ok(STORED.decode(&bytes[expert * one..][..one]).ok_or("blocks without values")?)
}

/// The product of a row with a matrix whose rows lie side by side.
fn times(matrix: &[f32], x: &[f64]) -> Vec<f64> {
    matrix.chunks(x.len()).map(|row| row.iter().zip(x).map(|(w, x)| f64::from(*w) * x).sum()).collect()
}

/// The largest first, of so many.
fn largest(scores: &[f64], taken: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    order.truncate(taken as usize);
    order
}

impl Layer {
    fn name(&self) -> String {
        format!("P8.experts_layer_{}", self.tokens)
    }
    fn gate(&self) -> Matrix {
        Matrix { name: "gate", n: self.hidden, k: self.width }
    }
    fn up(&self) -> Matrix {
        Matrix { name: "up", ..self.gate() }
    }
    fn down(&self) -> Matrix {
        Matrix { name: "down", n: self.width, k: self.hidden }
    }

    fn rows(&self) -> u64 {
        self.tokens * self.taken
    }

    fn routed(&self, g: &GraphBuilder, logits: Value) -> (Value, Value) {
        let op = TopKMoeRouter { k: self.taken, norm: true, ..TopKMoeRouter::default() };
        g.top_k_moe_router(logits, None, op)
    }

    fn graph(&self) -> Outcome<Graph> {
        let g = GraphBuilder::new("experts_layer");
        let x = g.state_read(g.state("x", f32([self.tokens, self.width])));
        let logits = g.linear(x, g.param("router", f32([self.experts, self.width])), None);
        let (weights, ids) = self.routed(&g, logits);
        let by = |x: Value, m: Matrix, ids: Value| grouped(&g, x, (m, self.experts), ids);
        let inner = g.glu(by(x, self.gate(), ids), by(x, self.up(), ids), GluAct::Swish);
        let inner = g.reshape(inner, &[-1, self.hidden as i64]);
        let each = by(inner, self.down(), g.reshape(ids, &[-1]));
        let each = g.reshape(each, &[-1, self.taken as i64, self.width as i64]);
        let y = g.reduce_sum(g.mul(each, g.unsqueeze(weights, &[2])), &[1], false);
        g.output("first", g.slice(y, &[0], &[1], &[0], &[1]));
        Ok(g.build()?)
    }

    /// The first token's result.
    fn expected(&self, x: &[f32], router: &[f32], stored: &[Vec<u8>; 3]) -> Outcome<Vec<f64>> {
        let x: Vec<f64> = x[..self.width as usize].iter().map(|v| f64::from(*v)).collect();
        let shares: Vec<f64> = times(router, &x).into_iter().map(f64::exp).collect();
        let order = largest(&shares, self.taken);
        let sum: f64 = order.iter().map(|&e| shares[e]).sum();
        let mut y = vec![0.0; self.width as usize];
        for &e in &order {
            let [gate, up] = [(&stored[0], self.gate()), (&stored[1], self.up())]
                .map(|(bytes, m)| values_of(bytes, m, e).map(|w| times(&w, &x)));
            let inner: Vec<f64> = gate?.iter().zip(up?).map(|(v, u)| v / (1.0 + (-v).exp()) * u).collect();
            let down = times(&values_of(&stored[2], self.down(), e)?, &inner);
            y.iter_mut().zip(down).for_each(|(y, v)| *y += shares[e] / sum * v);
        }
        Ok(y)
    }

    /// Bytes of the experts that are taken at most, and of the router.
    fn bytes(&self) -> Outcome<u64> {
        let read = self.rows().min(self.experts);
        let of = |m: Matrix| STORED.bytes(&[read * m.n, m.k]).map(|bytes| bytes.0);
        Ok(of(self.gate())?
            + of(self.up())?
            + of(self.down())?
            + 4 * self.width * (self.experts + 2 * self.tokens))
    }

    fn measure(&self, rig: &Rig, bar: Bar) -> Outcome<Row> {
        let x = data::random(61, (self.tokens * self.width) as usize, -1.0, 1.0);
        let router = data::random(62, (self.experts * self.width) as usize, -0.05, 0.05);
        let stored = [self.gate(), self.up(), self.down()].map(|m| bytes_of(m, self.experts));
        let [gate, up, down] = stored;
        let stored = [gate?, up?, down?];
        let want = self.expected(&x, &router, &stored)?;
        let check = |outputs: &Outputs| checked(outputs, &want, rig.rounded());
        let spec = Spec {
            name: self.name(),
            graph: self.graph()?,
            fused: true,
            fill: vec![("x", &x), ("router", &router)],
            per: 1,
            rate: Rate::Tbps(self.bytes()? as f64),
            bar,
            check: &check,
        };
        let params = [("gate", &*stored[0]), ("up", &*stored[1]), ("down", &*stored[2])];
        Ok(with_levels(rig.measure_stored(&spec, &params)?))
    }
}

/// A row whose figures have notes: levels and steps.
fn with_levels(mut row: Row) -> Row {
    let text = row.figures.as_ref().map(|f| format!("{} levels, {} dispatches", f.levels, f.dispatches));
    row.notes.extend(text);
    row
}

/// One row, by its own size.
fn checked(outputs: &Outputs, want: &[f64], rounded: f64) -> Outcome<String> {
    let size = (want.iter().map(|v| v * v).sum::<f64>() / want.len() as f64).sqrt();
    let allowed = (TOLERANCE + 16.0 * rounded) * size;
    let worst = data::worst_within(&outputs.get("first")?.to_vec::<f32>()?, want, |_| allowed)?;
    Ok(format!("the first row against f64: {worst:.1e}"))
}

/// x by the experts that `ids` name.
fn grouped(g: &GraphBuilder, x: Value, (m, experts): (Matrix, u64), ids: Value) -> Value {
    let w = g.dequantize(g.param(m.name, tensor(STORED, [experts, m.n, m.k])));
    g.grouped_matmul(x, w, ids, GroupedMatMul { trans: true, ..GroupedMatMul::default() })
}

/// From logits to rows in the order of their experts, and counts.
fn sorted(of: Layer) -> Case {
    let graph = move || -> Outcome<Graph> {
        let g = GraphBuilder::new("sorted_rows");
        let logits = g.state_read(g.state("logits", f32([of.tokens, of.experts])));
        let (weights, ids) = of.routed(&g, logits);
        g.output("weights", weights);
        g.output("rows", g.expert_rows(ids, of.experts));
        Ok(g.build()?)
    };
    let name = format!("P8.sorted_rows_{}", of.rows());
    let measured = name.clone();
    let measure = move |rig: &Rig| -> Outcome<Vec<Row>> {
        let logits = data::random(63, (of.tokens * of.experts) as usize, -4.0, 4.0);
        let experts = of.experts as usize;
        let row = |row: &[f32]| largest(&row.iter().map(|v| f64::from(*v)).collect::<Vec<_>>(), of.taken);
        let ids: Vec<usize> = logits.chunks(experts).flat_map(row).collect();
        let mut want: Vec<i32> =
            (0..=experts).map(|e| ids.iter().filter(|&&id| id < e).count() as i32).collect();
        let mut order: Vec<usize> = (0..ids.len()).collect();
        order.sort_by_key(|&i| ids[i]);
        want.extend(order.into_iter().map(|i| i as i32));
        let check = |outputs: &Outputs| {
            let same = outputs.get("rows")?.to_vec::<i32>()? == want;
            same.then(|| "every count and row".to_owned())
                .ok_or_else(|| "other counts or rows: not timed".into())
        };
        let bytes = 4 * (of.tokens * of.experts + 3 * of.rows());
        let spec = Spec {
            name: measured.clone(),
            graph: graph()?,
            fused: true,
            fill: vec![("logits", &logits)],
            per: 1,
            rate: Rate::Tbps(bytes as f64),
            bar: Bar::None,
            check: &check,
        };
        Ok(vec![with_levels(rig.measure(&spec)?)])
    };
    Case::new(name, measure).spelled(move || Ok(Spelled { graph: graph()?, fused: true }))
}

/// One product of many rows: by experts, or all by one matrix of the same extents.
#[derive(Clone, Copy)]
struct Product {
    layer: Layer,
    matrix: Matrix,
    grouped: bool,
    /// Whether each row has an id of its own; else each token has several.
    rows_alone: bool,
}

impl Product {
    fn name(&self) -> String {
        let Matrix { n, k, .. } = self.matrix;
        let what = if self.grouped { "grouped" } else { "dense" };
        format!("P8.{what}_{}x{k}x{n}", self.layer.rows())
    }

    fn case(self, bar: Bar) -> Case {
        Case::new(self.name(), move |rig| Ok(vec![self.measure(rig, bar.clone())?]))
            .spelled(move || Ok(Spelled { graph: self.graph()?, fused: true }))
    }

    /// Rows of the left operand.
    fn given(&self) -> u64 {
        if self.grouped && !self.rows_alone { self.layer.tokens } else { self.layer.rows() }
    }

    fn graph(&self) -> Outcome<Graph> {
        let g = GraphBuilder::new("product");
        let (m, experts) = (self.matrix, self.layer.experts);
        let x = g.state_read(g.state("x", f32([self.given(), m.k])));
        let y = if self.grouped {
            let extents: &[u64] =
                if self.rows_alone { &[self.layer.rows()] } else { &[self.layer.tokens, self.layer.taken] };
            let ids = g.param("ids", i32(extents.iter().copied()));
            g.reshape(grouped(&g, x, (m, experts), ids), &[-1, m.n as i64])
        } else {
            g.linear(x, g.dequantize(g.param(m.name, tensor(STORED, [m.n, m.k]))), None)
        };
        g.output("first", g.slice(y, &[0], &[1], &[0], &[1]));
        Ok(g.build()?)
    }

    /// Unlike experts for each token, as a router takes them.
    fn ids(&self) -> Vec<usize> {
        let (experts, taken) = (self.layer.experts as usize, self.layer.taken);
        let scores = data::random(64, self.layer.tokens as usize * experts, 0.0, 1.0);
        let of_token = |row: &[f32]| largest(&row.iter().map(|v| f64::from(*v)).collect::<Vec<_>>(), taken);
        scores.chunks(experts).flat_map(of_token).collect()
    }

    fn measure(&self, rig: &Rig, bar: Bar) -> Outcome<Row> {
        let m = self.matrix;
        let x = data::random(65, (self.given() * m.k) as usize, -1.0, 1.0);
        let ids = self.ids();
        let stored = bytes_of(m, if self.grouped { self.layer.experts } else { 1 })?;
        let first: Vec<f64> = x[..m.k as usize].iter().map(|v| f64::from(*v)).collect();
        let want = times(&values_of(&stored, m, if self.grouped { ids[0] } else { 0 })?, &first);
        let check = |outputs: &Outputs| checked(outputs, &want, rig.rounded());
        let spec = Spec {
            name: self.name(),
            graph: self.graph()?,
            fused: true,
            fill: vec![("x", &x)],
            per: 1,
            rate: Rate::Tflops((2 * self.layer.rows() * m.n * m.k) as f64),
            bar,
            check: &check,
        };
        let ids: Vec<u8> = ids.iter().flat_map(|&id| (id as i32).to_le_bytes()).collect();
        let mut params = vec![(m.name, stored.as_slice())];
        if self.grouped {
            params.push(("ids", &ids));
        }
        rig.measure_stored(&spec, &params)
    }
}
