//! A toy vision transformer, as somebody writes it who tries the library: 16 patches of 48 numbers and a class token,
//! two layers of width 64 with four heads, ten classes.

use pumice_ir::ops::Attention;
use pumice_ir::ops::attention::AttentionLayout;
use pumice_ir::{Graph, GraphBuilder, Value, f32};

const TOKENS: i64 = 17;
const WIDTH: i64 = 64;
const HEADS: i64 = 4;

/// How the attention of a layer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heads {
    /// As one op.
    Attention,
    /// As products, a scale and a softmax.
    ByHand,
}

/// The transformer: `patches` f32\[16, 48\] → `classes` f32\[1, 10\].
pub fn vit(heads: Heads) -> Graph {
    let g = GraphBuilder::new("toy_vit");
    let patches = g.input("patches", f32([16u64, 48]));
    let embedded = linear(&g, "embed", patches, 48, WIDTH);
    let tokens = g.concat(&[g.param("class", f32([1u64, 64])), embedded], 0);
    let mut x = g.add(tokens, g.param("positions", f32([17u64, 64])));
    for layer in 0..2 {
        x = block(&g, &format!("layer.{layer}"), x, heads);
    }
    let class = g.slice(norm(&g, "norm", x), &[0], &[1], &[0], &[1]);
    g.output("classes", g.softmax(linear(&g, "head", class, WIDTH, 10), -1));
    g.build().expect("sound")
}

/// One linear layer with a residual sum: `x` f32\[17, 64\] → `y` f32\[17, 64\].
pub fn linear_residual() -> Graph {
    let g = GraphBuilder::new("linear_residual");
    let x = g.input("x", f32([17u64, 64]));
    g.output("y", g.add(x, linear(&g, "linear", x, WIDTH, WIDTH)));
    g.build().expect("sound")
}

fn block(g: &GraphBuilder, layer: &str, x: Value, heads: Heads) -> Value {
    let linear = |name: &str, x, from, to| linear(g, &format!("{layer}.{name}"), x, from, to);
    let norm = |name: &str, x| norm(g, &format!("{layer}.{name}"), x);
    let qkv = linear("qkv", norm("norm1", x), WIDTH, 3 * WIDTH);
    let qkv = g.reshape(qkv, &[1, TOKENS, 3 * HEADS, WIDTH / HEADS]);
    let parts = g.split(qkv, 2, &[HEADS; 3]);
    let seen = match heads {
        Heads::Attention => {
            let op = Attention { layout: AttentionLayout::Bshd, ..Attention::default() };
            g.attention(parts[0], parts[1], parts[2], None, None, op)
        }
        Heads::ByHand => by_hand(g, &parts),
    };
    let seen = g.reshape(seen, &[TOKENS, WIDTH]);
    let x = g.add(x, linear("projection", seen, WIDTH, WIDTH));
    let wide = g.gelu(linear("up", norm("norm2", x), WIDTH, 4 * WIDTH));
    g.add(x, linear("down", wide, 4 * WIDTH, WIDTH))
}

fn by_hand(g: &GraphBuilder, parts: &[Value]) -> Value {
    let heads = |v: Value| g.transpose(v, &[0, 2, 1, 3]);
    let scale = g.constant_scalar(pumice_types::DType::F32, 0.25);
    let scores = g.mul(g.matmul(heads(parts[0]), g.transpose(parts[1], &[0, 2, 3, 1])), scale);
    g.transpose(g.matmul(g.softmax(scores, -1), heads(parts[2])), &[0, 2, 1, 3])
}

fn linear(g: &GraphBuilder, name: &str, x: Value, from: i64, to: i64) -> Value {
    let w = g.param(&format!("{name}.weight"), f32([to as u64, from as u64]));
    let b = g.param(&format!("{name}.bias"), f32([to as u64]));
    g.linear(x, w, Some(b))
}

fn norm(g: &GraphBuilder, name: &str, x: Value) -> Value {
    let gamma = g.param(&format!("{name}.weight"), f32([WIDTH as u64]));
    let beta = g.param(&format!("{name}.bias"), f32([WIDTH as u64]));
    g.layer_norm(x, gamma, Some(beta), 1e-5)
}
