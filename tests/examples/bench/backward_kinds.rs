//! The kinds of gradients that G15 measures, as `tests/reference/backward_shapes.py` draws them: a forward op over
//! states, and by which of its operands the gradient is wanted.

use pumice::ops::conv::Conv;
use pumice::ops::{Attention, BatchNormTraining, MaxPool};
use pumice::{GraphBuilder, Value, f32, i32};
use pumice_ir::ops::average_pool::AveragePool;
use serde::Deserialize;

/// ε of norms.
const EPSILON: f32 = 1e-5;

/// A drawn case.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// dy·bᵀ.
    Nt(Product),
    /// aᵀ·dy.
    Tn(Product),
    Attention(Attend),
    LayerNorm(Rows),
    RmsNorm(Rows),
    /// By the statistics of the batch.
    BatchNorm {
        shape: [u64; 4],
    },
    CrossEntropy {
        rows: u64,
        classes: u64,
    },
    Embedding {
        rows: u64,
        width: u64,
        tokens: u64,
    },
    ConvInput(Convolution),
    ConvWeight(Convolution),
    MaxPool(Pool),
    AveragePool(Pool),
}

/// a\[m, k\] · b\[k, n\].
#[derive(Clone, Debug, Deserialize)]
pub struct Product {
    m: u64,
    k: u64,
    n: u64,
}

/// As many keys as queries.
#[derive(Clone, Debug, Deserialize)]
pub struct Attend {
    batch: u64,
    heads: u64,
    key_heads: u64,
    tokens: u64,
    width: u64,
    causal: bool,
}

/// Rows that are normalized.
#[derive(Clone, Debug, Deserialize)]
pub struct Rows {
    rows: u64,
    width: u64,
}

/// Over two axes alike in kernel, stride and padding.
#[derive(Clone, Debug, Deserialize)]
pub struct Convolution {
    batch: u64,
    channels: u64,
    outputs: u64,
    extents: [u64; 2],
    kernel: u64,
    stride: u64,
    pad: u64,
    groups: u64,
}

/// A square window without padding.
#[derive(Clone, Debug, Deserialize)]
pub struct Pool {
    shape: [u64; 4],
    kernel: u64,
    stride: u64,
}

/// What is timed as the gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Timed {
    /// The gradient's graph: it reads operands alone.
    Alone,
    /// What a graph of both takes beyond the forward one: the gradient reads what the forward pass found.
    Beyond,
    /// Both at once.
    Whole,
}

/// The forward op in a graph.
pub struct Forward {
    /// Its result; of a loss, the loss.
    pub y: Value,
    /// By what the gradient is wanted.
    pub wanted: Vec<Value>,
}

impl Forward {
    fn new(y: Value, wanted: &[Value]) -> Forward {
        Forward { y, wanted: wanted.to_vec() }
    }
}

/// A state that is read.
pub fn read<const N: usize>(g: &GraphBuilder, name: &str, shape: [u64; N]) -> Value {
    g.state_read(g.state(name, f32(shape)))
}

fn read_integers(g: &GraphBuilder, name: &str, count: u64) -> Value {
    g.state_read(g.state(name, i32([count])))
}

impl Kind {
    pub fn timed(&self) -> Timed {
        match self {
            Kind::CrossEntropy { .. } => Timed::Whole,
            Kind::Attention(_)
            | Kind::LayerNorm(_)
            | Kind::RmsNorm(_)
            | Kind::BatchNorm { .. }
            | Kind::MaxPool(_) => Timed::Beyond,
            _ => Timed::Alone,
        }
    }

    /// Integers among the operands are drawn among so many.
    pub fn among(&self) -> u64 {
        match self {
            Kind::CrossEntropy { classes, .. } => *classes,
            Kind::Embedding { rows, .. } => *rows,
            _ => 1,
        }
    }

    pub fn forward(&self, g: &GraphBuilder) -> Forward {
        match self {
            Kind::Nt(p) => p.forward(g, 0),
            Kind::Tn(p) => p.forward(g, 1),
            Kind::Attention(a) => a.forward(g),
            Kind::LayerNorm(rows) => {
                let [x, scale, shift] = rows.operands(g);
                Forward::new(g.layer_norm(x, scale, Some(shift), EPSILON), &[x, scale, shift])
            }
            Kind::RmsNorm(rows) => {
                let [x, scale, _] = rows.operands(g);
                Forward::new(g.rms_norm(x, scale, EPSILON), &[x, scale])
            }
            Kind::BatchNorm { shape } => batch_norm(g, *shape),
            Kind::CrossEntropy { rows, classes } => {
                let (x, target) = (read(g, "x", [*rows, *classes]), read_integers(g, "target", *rows));
                Forward::new(g.softmax_cross_entropy(x, target, None, Default::default()).0, &[x])
            }
            Kind::Embedding { rows, width, tokens } => {
                let (table, ids) = (read(g, "table", [*rows, *width]), read_integers(g, "ids", *tokens));
                Forward::new(g.embedding(table, ids), &[table])
            }
            Kind::ConvInput(c) => c.forward(g, 0),
            Kind::ConvWeight(c) => c.forward(g, 1),
            Kind::MaxPool(p) => {
                let (x, kernel, strides) = p.operands(g);
                Forward::new(g.max_pool(x, MaxPool { kernel, strides, ..MaxPool::default() }), &[x])
            }
            Kind::AveragePool(p) => {
                let (x, kernel, strides) = p.operands(g);
                Forward::new(
                    g.average_pool(x, AveragePool { kernel, strides, ..AveragePool::default() }),
                    &[x],
                )
            }
        }
    }
}

fn batch_norm(g: &GraphBuilder, shape: [u64; 4]) -> Forward {
    let x = read(g, "x", shape);
    let [scale, shift] = ["scale", "shift"].map(|name| read(g, name, [shape[1]]));
    let [mean, variance] = ["mean", "variance"].map(|name| g.state(name, f32([shape[1]])));
    let y = g.batch_norm_training(x, scale, shift, mean, variance, BatchNormTraining::default());
    Forward::new(y, &[x, scale, shift])
}

impl Product {
    fn forward(&self, g: &GraphBuilder, wanted: usize) -> Forward {
        let operands = [read(g, "a", [self.m, self.k]), read(g, "b", [self.k, self.n])];
        Forward::new(g.matmul(operands[0], operands[1]), &[operands[wanted]])
    }
}

impl Attend {
    fn forward(&self, g: &GraphBuilder) -> Forward {
        let of = |heads| [self.batch, heads, self.tokens, self.width];
        let q = read(g, "q", of(self.heads));
        let [k, v] = ["k", "v"].map(|name| read(g, name, of(self.key_heads)));
        let op = Attention { causal: self.causal, ..Attention::default() };
        Forward::new(g.attention(q, k, v, None, None, op), &[q, k, v])
    }
}

impl Rows {
    fn operands(&self, g: &GraphBuilder) -> [Value; 3] {
        let of_columns = |name| read(g, name, [self.width]);
        [read(g, "x", [self.rows, self.width]), of_columns("scale"), of_columns("shift")]
    }
}

impl Convolution {
    fn forward(&self, g: &GraphBuilder, wanted: usize) -> Forward {
        let [h, w] = self.extents;
        let x = read(g, "x", [self.batch, self.channels, h, w]);
        let weight = read(g, "weight", [self.outputs, self.channels / self.groups, self.kernel, self.kernel]);
        let (strides, pads) = (vec![self.stride; 2], vec![self.pad; 4]);
        let op = Conv { strides, pads, groups: self.groups, ..Conv::default() };
        Forward::new(g.conv(x, weight, None, op), &[[x, weight][wanted]])
    }
}

impl Pool {
    fn operands(&self, g: &GraphBuilder) -> (Value, Vec<u64>, Vec<u64>) {
        (read(g, "x", self.shape), vec![self.kernel; 2], vec![self.stride; 2])
    }
}
