//! Graphs that suites share: small ones written by hand, random ones, and the corpus of wide ones.

pub mod corpus;
pub mod differentiated;
pub mod eight_billion;
pub mod heat;
pub mod invalid;
pub mod random;
pub mod series;
pub mod training;
pub mod trial;
pub mod vit;
pub mod windows;

use pumice_ir::{Graph, GraphBuilder, f32, sym};

/// Three dependent steps that no pass joins: y = softmax(x·x)·x over f32\[64, 64\].
pub fn chain() -> Graph {
    let g = GraphBuilder::new("chain");
    let x = g.input("x", f32([64u64, 64]));
    let s = g.softmax(g.matmul(x, x), -1);
    g.output("y", g.matmul(s, x));
    g.build().expect("sound")
}

/// The two-layer perceptron: `x` f32\[batch, 12\], `w1`, `b1`, `w2`, `b2` → `y` f32\[batch, 5\]; batch is 1 to 8.
pub fn perceptron() -> Graph {
    let g = GraphBuilder::new("perceptron");
    let x = g.input("x", f32([sym("batch", 1..=8), 12.into()]));
    let (w1, b1) = (g.param("w1", f32([16u64, 12])), g.param("b1", f32([16u64])));
    let (w2, b2) = (g.param("w2", f32([5u64, 16])), g.param("b2", f32([5u64])));
    let h = g.relu(g.linear(x, w1, Some(b1)));
    g.output("y", g.linear(h, w2, Some(b2)));
    g.build().expect("sound")
}
