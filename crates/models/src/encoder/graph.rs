//! The encoder as a graph: embeddings, layers of attention and feed-forward, pooling.
//!
//! Inputs are `ids` i32[batch, seq] and `lengths` i32[batch]; the output is `embedding` f32[batch, hidden]. Positions
//! after a row's length hold any valid id: attention and pooling do not read them as values.

use super::attention::self_attention;
use super::names::LayerNames;
use super::{EncoderOptions, pool};
use crate::config::EncoderConfig;
use crate::error::ModelError;
use crate::sentence::SentenceSpec;
use pumice_ir::shape::{i32, sym, tensor};
use pumice_ir::{Graph, GraphBuilder, Value};
use pumice_types::{DType, DimExpr};

/// What the parts of the graph share while it is built.
pub(super) struct Cx<'a> {
    pub g: &'a GraphBuilder,
    pub config: &'a EncoderConfig,
    /// Dtype in which a parameter is stored.
    pub stored: &'a dyn Fn(&str) -> DType,
    /// i32[batch]: tokens of each row.
    pub lengths: Value,
    pub batch: DimExpr,
    pub seq: DimExpr,
}

/// Builds the graph. `stored` gives the dtype of each parameter by its name.
pub fn encoder_graph(
    name: &str,
    config: &EncoderConfig,
    spec: &SentenceSpec,
    options: &EncoderOptions,
    stored: &dyn Fn(&str) -> DType,
) -> Result<Graph, ModelError> {
    if options.max_batch == 0 {
        return Err(ModelError::Option {
            option: "max_batch",
            problem: "is 0; a run has at least one text".into(),
        });
    }
    let g = GraphBuilder::new(name);
    let batch = || sym("batch", 1..=options.max_batch);
    let ids = g.input("ids", i32([batch(), sym("seq", 1..=spec.max_tokens)]));
    let lengths = g.input("lengths", i32([batch()]));
    let (batch, seq) = (g.dim_of(ids, 0), g.dim_of(ids, 1));
    let cx = Cx { g: &g, config, stored, lengths, batch, seq };

    let mut x = g.scoped("embeddings", |_| embeddings(&cx, ids));
    for i in 0..config.layers {
        x = g.scoped(&format!("layer.{i}"), |_| layer(&cx, &LayerNames::of(config.family, i), x));
    }
    let y = g.scoped("pooling", |_| pool::pool(&cx, spec, x));
    g.output("embedding", y);
    Ok(g.build()?)
}

/// LayerNorm(words[ids] + positions[0..seq] + types[0]): f32[batch, seq, hidden].
fn embeddings(cx: &Cx<'_>, ids: Value) -> Value {
    let (g, c) = (cx.g, cx.config);
    let table = |name: &str, rows: u64| {
        let name = format!("embeddings.{name}.weight");
        g.param(&name, tensor((cx.stored)(&name), [rows, c.hidden]))
    };
    let words = g.embedding(table("word_embeddings", c.vocab), ids);
    let mut x = cx.widened(words);

    let positions = g.narrow(table("position_embeddings", c.positions), 0, c.first_position, cx.seq.clone());
    x = g.add(x, cx.widened(positions));

    if c.token_types > 0 {
        let types = table("token_type_embeddings", c.token_types);
        let first_type = g.narrow(types, 0, 0, 1);
        x = g.add(x, cx.widened(first_type));
    }
    cx.norm("embeddings.LayerNorm", x)
}

/// One layer, norms after the residual sums (post-norm): f32[batch, seq, hidden] → the same.
fn layer(cx: &Cx<'_>, names: &LayerNames, x: Value) -> Value {
    let g = cx.g;
    let a = self_attention(cx, names, x);
    let a = cx.linear(&names.attention_output, a, cx.config.hidden, cx.config.hidden);
    let x = cx.norm(&names.attention_norm, g.add(a, x));

    let h = cx.linear(&names.feed_in, x, cx.config.intermediate, cx.config.hidden);
    let h = cx.config.activation.of(g, h);
    let h = cx.linear(&names.feed_out, h, cx.config.hidden, cx.config.intermediate);
    cx.norm(&names.output_norm, g.add(h, x))
}

impl Cx<'_> {
    /// A parameter as f32, whatever it is stored as.
    pub fn param(&self, name: &str, shape: &[u64]) -> Value {
        let value = self.g.param(name, tensor((self.stored)(name), shape.iter().copied()));
        self.widened(value)
    }

    /// The value as f32.
    pub fn widened(&self, x: Value) -> Value {
        match self.g.type_of(x) {
            Some(ty) if ty.dtype() != DType::F32 => self.g.cast(x, DType::F32),
            _ => x,
        }
    }

    /// x·Wᵀ + b with W [out, into] and b [out].
    pub fn linear(&self, name: &str, x: Value, out: u64, into: u64) -> Value {
        let w = self.param(&format!("{name}.weight"), &[out, into]);
        let b = self.param(&format!("{name}.bias"), &[out]);
        self.g.linear(x, w, Some(b))
    }

    /// (x − μ)/√(σ² + ε)·γ + β over the last axis.
    pub fn norm(&self, name: &str, x: Value) -> Value {
        let gamma = self.param(&format!("{name}.weight"), &[self.config.hidden]);
        let beta = self.param(&format!("{name}.bias"), &[self.config.hidden]);
        self.g.layer_norm(x, gamma, Some(beta), self.config.norm_eps as f32)
    }
}
