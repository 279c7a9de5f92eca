//! The models of `tests/reference/curves.py`, with their batches and recipes.

use super::golden::{DIGITS_THERE_ARE, Golden, Param, digits, text};
use pumice::ops::attention::AttentionLayout;
use pumice::ops::{Attention, BatchNormTraining, Conv, MaxPool};
use pumice::train::{AdamW, Batch, Recipe, Schedule, Sgd};
use pumice::{Graph, GraphBuilder, Tensor, Value, f32, i32};
use std::collections::BTreeMap;
use std::f64::consts::PI;

/// A model that is trained beside PyTorch's.
pub trait Model {
    /// Under which the script wrote it.
    fn name(&self) -> &'static str;
    /// Steps of its curve.
    fn steps(&self) -> usize {
        200
    }
    /// Its loss over its batch's inputs.
    fn loss(&self, g: &GraphBuilder, golden: &Golden, params: &Params<'_>) -> Value;
    /// The batch of a step.
    fn batch(&self, golden: &Golden, step: u32) -> Batch;
    /// How it is trained.
    fn recipe(&self) -> Recipe;

    /// Its graph, with the loss as output.
    fn graph(&self, golden: &Golden) -> Graph {
        let g = GraphBuilder::new(self.name());
        g.output("loss", self.loss(&g, golden, &Params::new(&g, golden)));
        g.build().unwrap_or_else(|e| panic!("{e}"))
    }
}

/// The params of a model by name.
pub struct Params<'g> {
    g: &'g GraphBuilder,
    all: BTreeMap<String, Value>,
}

impl Params<'_> {
    fn new<'g>(g: &'g GraphBuilder, golden: &Golden) -> Params<'g> {
        let param =
            |Param(name, shape, ..): &Param| (name.clone(), g.param(name, f32(shape.iter().copied())));
        Params { g, all: golden.tensors.iter().map(param).collect() }
    }

    /// The param of this name.
    pub fn get(&self, name: &str) -> Value {
        self.all[name]
    }

    fn linear(&self, name: &str, x: Value) -> Value {
        let bias = self.all.get(&format!("{name}.bias")).copied();
        self.g.linear(x, self.get(&format!("{name}.weight")), bias)
    }

    fn layer_norm(&self, name: &str, x: Value) -> Value {
        let [scale, shift] = ["weight", "bias"].map(|part| self.get(&format!("{name}.{part}")));
        self.g.layer_norm(x, scale, Some(shift), 1e-5)
    }
}

/// The output that is the gradient by a param.
pub fn gradient_of(param: &str) -> String {
    format!("gradient by {param}")
}

/// The model with its gradients by every param as outputs.
pub fn with_gradients(model: &dyn Model, golden: &Golden) -> Graph {
    let g = GraphBuilder::new(model.name());
    let params = Params::new(&g, golden);
    let loss = model.loss(&g, golden, &params);
    let wanted: Vec<Value> = golden.tensors.iter().map(|p| params.get(&p.0)).collect();
    for (param, gradient) in golden.tensors.iter().zip(g.grad(loss, &wanted)) {
        g.output(&gradient_of(&param.0), gradient);
    }
    g.build().unwrap_or_else(|e| panic!("{e}"))
}

/// Digits of a step, as rows of pixels and classes.
fn digits_of(golden: &Golden, step: u32) -> Batch {
    let (x, y) = digits(&golden.places(step, DIGITS_THERE_ARE));
    let rows = golden.rows as u64;
    let x = Tensor::new(&x, &[rows, 64]).expect("rows of pixels");
    Batch::new().with("x", x).with("y", Tensor::new(&y, &[rows]).expect("a class a row"))
}

fn of_classes(g: &GraphBuilder, logits: Value, y: Value) -> Value {
    g.softmax_cross_entropy(logits, y, None, Default::default()).0
}

/// 64-128-10 with relu; AdamW.
pub struct Mlp;

impl Model for Mlp {
    fn name(&self) -> &'static str {
        "mlp"
    }

    fn loss(&self, g: &GraphBuilder, golden: &Golden, params: &Params<'_>) -> Value {
        let rows = golden.rows as u64;
        let (x, y) = (g.input("x", f32([rows, 64])), g.input("y", i32([rows])));
        of_classes(g, params.linear("fc2", g.relu(params.linear("fc1", x))), y)
    }

    fn batch(&self, golden: &Golden, step: u32) -> Batch {
        digits_of(golden, step)
    }

    fn recipe(&self) -> Recipe {
        Recipe::new(AdamW { weight_decay: 0.01, ..AdamW::default() }).schedule(Schedule::constant(1e-3))
    }
}

/// Two convolutions with batch norm, a pool, a linear layer; SGD with momentum.
pub struct Cnn;

impl Model for Cnn {
    fn name(&self) -> &'static str {
        "cnn"
    }

    fn loss(&self, g: &GraphBuilder, golden: &Golden, params: &Params<'_>) -> Value {
        let rows = golden.rows as u64;
        let (x, y) = (g.input("x", f32([rows, 64])), g.input("y", i32([rows])));
        let mut x = g.reshape(x, &[-1, 1, 8, 8]);
        for (i, channels) in [(1, 8u64), (2, 16)] {
            let op = Conv { pads: vec![1; 4], ..Conv::default() };
            x = g.conv(x, params.get(&format!("conv{i}.weight")), None, op);
            let [scale, shift] = ["weight", "bias"].map(|part| params.get(&format!("norm{i}.{part}")));
            let [mean, var] =
                ["mean", "var"].map(|what| g.state(&format!("norm{i}.{what}"), f32([channels])));
            x = g.relu(g.batch_norm_training(x, scale, shift, mean, var, BatchNormTraining::default()));
        }
        let x = g.max_pool(x, MaxPool { kernel: vec![2, 2], strides: vec![2, 2], ..MaxPool::default() });
        of_classes(g, params.linear("fc", g.reshape(x, &[-1, 256])), y)
    }

    fn batch(&self, golden: &Golden, step: u32) -> Batch {
        digits_of(golden, step)
    }

    fn recipe(&self) -> Recipe {
        Recipe::new(Sgd { momentum: 0.9, ..Sgd::default() }).schedule(Schedule::constant(0.02))
    }
}

/// Two layers of four heads, width 64, a context of 64 characters, tied embeddings; AdamW with warm-up, cosine and
/// clipping.
pub struct Gpt;

const CONTEXT: usize = 64;
const WIDTH: i64 = 64;
const HEADS: i64 = 4;

impl Gpt {
    fn block(g: &GraphBuilder, params: &Params<'_>, layer: usize, x: Value) -> Value {
        let name = |part: &str| format!("{layer}.{part}");
        let qkv = params.linear(&name("qkv"), params.layer_norm(&name("norm1"), x));
        let qkv = g.reshape(qkv, &[-1, CONTEXT as i64, 3 * HEADS, WIDTH / HEADS]);
        let parts = g.split(qkv, 2, &[HEADS; 3]);
        let op = Attention { layout: AttentionLayout::Bshd, causal: true, ..Attention::default() };
        let seen = g.attention(parts[0], parts[1], parts[2], None, None, op);
        let seen = g.reshape(seen, &[-1, CONTEXT as i64, WIDTH]);
        let x = g.add(x, params.linear(&name("out"), seen));
        let wide = g.gelu(params.linear(&name("up"), params.layer_norm(&name("norm2"), x)));
        g.add(x, params.linear(&name("down"), wide))
    }
}

impl Model for Gpt {
    fn name(&self) -> &'static str {
        "gpt"
    }

    fn loss(&self, g: &GraphBuilder, golden: &Golden, params: &Params<'_>) -> Value {
        let shape = [golden.rows as u64, CONTEXT as u64];
        let (x, y) = (g.input("x", i32(shape)), g.input("y", i32(shape)));
        let tokens = params.get("tokens");
        let mut x = g.add(g.embedding(tokens, x), params.get("places"));
        for layer in 0..2 {
            x = Gpt::block(g, params, layer, x);
        }
        let x = g.reshape(params.layer_norm("norm", x), &[-1, WIDTH]);
        of_classes(g, g.linear(x, tokens, None), g.reshape(y, &[-1]))
    }

    fn batch(&self, golden: &Golden, step: u32) -> Batch {
        let text = text(&golden.letters);
        let places = golden.places(step, text.len() - CONTEXT);
        let take = |by: usize| {
            let ids: Vec<i32> = places.iter().flat_map(|at| &text[at + by..][..CONTEXT]).copied().collect();
            Tensor::new(&ids, &[golden.rows as u64, CONTEXT as u64]).expect("rows of characters")
        };
        Batch::new().with("x", take(0)).with("y", take(1))
    }

    fn recipe(&self) -> Recipe {
        let rate = |n: u64| {
            let n = n as f64;
            3e-3 * if n < 20.0 { (n + 1.0) / 20.0 } else { (1.0 + (PI * (n - 20.0) / 180.0).cos()) / 2.0 }
        };
        let adam = AdamW { weight_decay: 0.01, ..AdamW::default() };
        Recipe::new(adam).schedule(Schedule::by(rate)).clip_norm(1.0)
    }
}
