//! The layers of a decoder: values in, values out, with weights from wherever [`DecoderWeights`](super::DecoderWeights)
//! says.

use super::config::{
    DecoderConfig, Factors, FeedForward, Growth, Layer, Norm, NormKind, NormOver, QueryKeyNorm, Rotation,
    SelfAttention,
};
use super::weights::{LayerWeight, WeightRole, Weights};
use pumice_ir::ops::attention::{Attention, AttentionLayout};
use pumice_ir::ops::rotary::Rotary;
use pumice_ir::{GraphBuilder, Value};
use pumice_types::{DType, DimExpr, Tensor};
use std::cell::OnceCell;

/// Keys and values that attention reads, and how many of them are valid.
pub(super) struct KeyValues {
    pub k: Value,
    pub v: Value,
    pub len: Option<Value>,
}

/// A decoder whose graph is being built.
pub(super) struct Decoder<'d, R: Fn(u64, Value, Value) -> KeyValues> {
    pub config: &'d DecoderConfig,
    pub weights: Weights<'d>,
    /// The position of the first new token, an i32 of rank 0.
    pub position: Value,
    /// The tensor of factors of rotary angles, which all layers that rotate by one share.
    pub factors: OnceCell<Value>,
    /// What a layer attends to, of its number and the new keys and values.
    pub remember: R,
}

impl<R: Fn(u64, Value, Value) -> KeyValues> Decoder<'_, R> {
    /// Token table, layers, last norm: i32\[1, t\] → f32\[1, t, hidden\].
    pub fn decode(&self, table: Value, ids: Value) -> Value {
        let (c, g) = (self.config, self.weights.g);
        let mut x = scaled(g, g.embedding(table, ids), c.embedding_scale);
        if let Some(rows) = c.positions {
            let table = self.weights.weight(WeightRole::Positions, &[rows, c.hidden]);
            x = g.add(x, g.embedding(table, self.positions(ids)));
        }
        for (i, layer) in (0..).zip(&c.layers) {
            x = g.scoped(&format!("layer.{i}"), |_| self.layer(i, layer, x));
        }
        self.norm(&c.norm, WeightRole::Norm, x)
    }

    /// The position of each new token, of values \[1, t, …\]: i32\[t\].
    fn positions(&self, x: Value) -> Value {
        let g = self.weights.g;
        g.add(g.range(0u64, g.dim_of(x, 1), 1, DType::I32), self.position)
    }

    fn layer(&self, i: u64, layer: &Layer, x: Value) -> Value {
        let (g, of) = (self.weights.g, |weight| WeightRole::Layer(i, weight));
        let normed = |norm: &Option<Norm>, weight, x| match norm {
            Some(norm) => self.norm(norm, of(weight), x),
            None => x,
        };
        let h = normed(&layer.before_attention, LayerWeight::AttentionNorm, x);
        let a = self.attention(i, &layer.attention, h);
        let a = normed(&layer.after_attention, LayerWeight::AfterAttention, a);
        let after = g.add(x, scaled(g, a, layer.residual_scale));
        let h = match (layer.parallel, &layer.before_feed) {
            (true, None) => h,
            (true, norm) => normed(norm, LayerWeight::FeedNorm, x),
            (false, norm) => normed(norm, LayerWeight::FeedNorm, after),
        };
        let f = self.feed_forward(i, &layer.feed, h);
        let f = normed(&layer.after_feed, LayerWeight::AfterFeed, f);
        g.add(after, scaled(g, f, layer.residual_scale))
    }

    fn norm(&self, norm: &Norm, role: WeightRole, x: Value) -> Value {
        self.norm_by(norm, role, x, &[self.config.hidden])
    }

    /// A norm over the last axis, with weights of these extents.
    fn norm_by(&self, norm: &Norm, role: WeightRole, x: Value, shape: &[u64]) -> Value {
        let g = self.weights.g;
        let mut weight = match *shape {
            [heads, width] => self.weights.of_heads(role, [heads, width]),
            _ => self.weights.weight(role, shape),
        };
        if norm.less_one {
            weight = g.add(weight, g.constant_scalar(DType::F32, 1.0));
        }
        let bias = norm.bias.then(|| self.weights.bias(role, shape));
        match norm.kind {
            NormKind::Layer => g.layer_norm(x, weight, bias, norm.eps),
            NormKind::Rms => {
                let y = g.rms_norm(x, weight, norm.eps);
                bias.map_or(y, |bias| g.add(y, bias))
            }
        }
    }

    /// D·(act(G·x)·(U·x)), or D·act(U·x).
    fn feed_forward(&self, i: u64, feed: &FeedForward, x: Value) -> Value {
        let (g, hidden, width) = (self.weights.g, self.config.hidden, feed.width);
        let product =
            |weight, x, extents| self.weights.linear(WeightRole::Layer(i, weight), x, extents, feed.bias);
        let inner = match (feed.gated, feed.fused) {
            (true, true) => {
                let both = product(LayerWeight::GateUp, x, [2 * width, hidden]);
                let both = g.split(both, -1, &[width as i64; 2]);
                g.mul(feed.activation.of(g, both[0]), both[1])
            }
            (true, false) => {
                let gate = feed.activation.of(g, product(LayerWeight::Gate, x, [width, hidden]));
                g.mul(gate, product(LayerWeight::Up, x, [width, hidden]))
            }
            (false, _) => feed.activation.of(g, product(LayerWeight::Up, x, [width, hidden])),
        };
        product(LayerWeight::Down, inner, [hidden, width])
    }

    /// Causal attention over what the layer remembers: f32\[1, t, hidden\] → the same type.
    fn attention(&self, i: u64, a: &SelfAttention, x: Value) -> Value {
        let g = self.weights.g;
        let [q, k, v] = self.queries_keys_values(i, a, x);
        let q = self.rotated(a, self.normed_heads(i, a, LayerWeight::QueryNorm, q, a.heads));
        let k = self.rotated(a, self.normed_heads(i, a, LayerWeight::KeyNorm, k, a.kv_heads));
        let q = a.growth.map_or(q, |growth| self.grown(growth, q));
        let KeyValues { k, v, len } = (self.remember)(i, k, self.heads(v, a.kv_heads, a.width));
        let op = Attention {
            layout: AttentionLayout::Bshd,
            causal: true,
            scale: a.scale,
            softcap: a.softcap,
            left: a.window.map_or(-1, |keys| keys as i64 - 1),
            ..Attention::default()
        };
        let y = g.attention(q, k, v, None, len, op);
        let width = a.heads * a.width;
        let shape = vec![DimExpr::constant(1), g.dim_of(x, 1), DimExpr::constant(width as i64)];
        let role = WeightRole::Layer(i, LayerWeight::AttentionOutput);
        self.weights.linear(role, g.reshape_to(y, shape), [self.config.hidden, width], a.output_bias)
    }

    /// Queries, keys and values, each f32\[1, t, heads·width\].
    fn queries_keys_values(&self, i: u64, a: &SelfAttention, x: Value) -> [Value; 3] {
        let widths = [a.heads, a.kv_heads, a.kv_heads].map(|heads| heads * a.width);
        let product = |weight, out| {
            self.weights.linear(WeightRole::Layer(i, weight), x, [out, self.config.hidden], a.bias)
        };
        if a.fused {
            let all = product(LayerWeight::QueryKeyValue, widths.iter().sum());
            let parts = self.weights.g.split(all, -1, &widths.map(|width| width as i64));
            return [parts[0], parts[1], parts[2]];
        }
        let [q, k, v] = widths;
        [product(LayerWeight::Query, q), product(LayerWeight::Key, k), product(LayerWeight::Value, v)]
    }

    /// f32\[1, t, heads·width\] → f32\[1, t, heads, width\].
    fn heads(&self, x: Value, heads: u64, width: u64) -> Value {
        let [one, heads, width] = [1, heads as i64, width as i64].map(DimExpr::constant);
        let g = self.weights.g;
        g.reshape_to(x, vec![one, g.dim_of(x, 1), heads, width])
    }

    /// Queries or keys by heads, under their norm.
    fn normed_heads(&self, i: u64, a: &SelfAttention, weight: LayerWeight, x: Value, heads: u64) -> Value {
        let role = WeightRole::Layer(i, weight);
        match a.query_key_norm {
            None => self.heads(x, heads, a.width),
            Some(QueryKeyNorm { norm, over: NormOver::All }) => {
                self.heads(self.norm_by(&norm, role, x, &[heads * a.width]), heads, a.width)
            }
            Some(QueryKeyNorm { norm, over: NormOver::Head }) => {
                self.norm_by(&norm, role, self.heads(x, heads, a.width), &[a.width])
            }
            Some(QueryKeyNorm { norm, over: NormOver::OwnHead }) => {
                self.norm_by(&norm, role, self.heads(x, heads, a.width), &[heads, a.width])
            }
        }
    }

    fn rotated(&self, a: &SelfAttention, x: Value) -> Value {
        let Some(rotation) = &a.rotary else { return x };
        let (g, op) = (self.weights.g, rotary(rotation, a.width));
        match &rotation.factors {
            Factors::None => g.rotary(x, self.position, op),
            Factors::Given(factors) => {
                let factors = Tensor::new(factors, &[factors.len() as u64]);
                // As many numbers as the shape says.
                factors.map_or(x, |factors| g.rotary_by_factors(x, self.position, g.constant(factors), op))
            }
            Factors::Stored(which) => {
                let role = WeightRole::RotaryFactors(*which);
                let factors = self.factors.get_or_init(|| self.weights.weight(role, &[rotation.rotated / 2]));
                g.rotary_by_factors(x, self.position, *factors, op)
            }
        }
    }

    /// Queries f32\[1, t, heads, width\], each by the factor of its position.
    fn grown(&self, growth: Growth, q: Value) -> Value {
        let g = self.weights.g;
        let steps = g.div(self.positions(q), g.constant_scalar(DType::I32, growth.original as f64));
        let logarithm = g.log1p(g.cast(steps, DType::F32));
        let factor = g.add(scaled(g, logarithm, growth.beta), g.constant_scalar(DType::F32, 1.0));
        g.mul(q, g.unsqueeze(factor, &[0, 2, 3]))
    }
}

fn rotary(rotation: &Rotation, width: u64) -> Rotary {
    Rotary {
        layout: AttentionLayout::Bshd,
        theta: rotation.theta,
        interleaved: rotation.interleaved,
        n_rot: (rotation.rotated != width).then_some(rotation.rotated as i64),
        freq_scale: rotation.freq_scale,
        magnitude: rotation.magnitude,
    }
}

/// x times a factor, which is left out where it is 1.
fn scaled(g: &GraphBuilder, x: Value, factor: f32) -> Value {
    if factor == 1.0 { x } else { g.mul(x, g.constant_scalar(DType::F32, f64::from(factor))) }
}

/// The token table as f32\[vocab, hidden\].
pub(super) fn table(c: &DecoderConfig, w: &Weights<'_>) -> Value {
    w.weight(WeightRole::Embedding, &[c.vocab, c.hidden])
}

/// x·Oᵀ, or x·Oᵀ + b, with the output matrix O, which may be the token table: f32\[n, hidden\] → f32\[n, vocab\].
pub(super) fn logits(c: &DecoderConfig, w: &Weights<'_>, table: Value, x: Value) -> Value {
    let (g, shape) = (w.g, [c.vocab, c.hidden]);
    let output = if c.tied { table } else { w.weight(WeightRole::Output, &shape) };
    let bias = c.output_bias.then(|| w.bias(WeightRole::Output, &[c.vocab]));
    let logits = scaled(g, g.linear(x, output, bias), c.logit_scale);
    if c.logit_softcap == 0.0 {
        return logits;
    }
    scaled(g, g.tanh(scaled(g, logits, 1.0 / c.logit_softcap)), c.logit_softcap)
}

/// The index of the largest: f32\[n, vocab\] → i32 of that shape.
pub(super) fn choose(g: &GraphBuilder, logits: Value, shape: &[i64]) -> Value {
    g.reshape(g.arg_max_i32(logits, -1, false), shape)
}
