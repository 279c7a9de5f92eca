//! Results that nobody reads cost nothing: the plan of an op that could give them is that of the same op without.

use pumice_compile::{Options, compile};
use pumice_cpu_ref::RefEval;
use pumice_ir::ops::attention_operands::AttentionOperands;
use pumice_ir::ops::{Attention, LayerNorm, RmsNorm};
use pumice_ir::{GraphBuilder, Value, f32};
use pumice_types::Target;

fn plan(target: &Target, build: &dyn Fn(&GraphBuilder) -> Value) -> String {
    let g = GraphBuilder::new("unread");
    g.output("y", build(&g));
    let graph = g.build().expect("sound");
    compile(&graph, target, &Options::default(), &RefEval).expect("it compiles").to_string()
}

/// Both make the same plan, for a GPU and for a CPU driver.
fn same(with: &dyn Fn(&GraphBuilder) -> Value, without: &dyn Fn(&GraphBuilder) -> Value) {
    for target in [Target::h200(), Target::lavapipe()] {
        assert_eq!(plan(&target, with), plan(&target, without));
    }
}

fn row(g: &GraphBuilder) -> (Value, Value) {
    let (x, r) = (g.input("x", f32([40, 384])), g.input("r", f32([40, 384])));
    (g.add(x, r), g.param("gamma", f32([384])))
}

#[test]
fn statistics_of_norms() {
    same(
        &|g| {
            let (x, gamma) = row(g);
            g.layer_norm_with_statistics(x, Some(gamma), None, LayerNorm::default()).0
        },
        &|g| {
            let (x, gamma) = row(g);
            g.layer_norm(x, gamma, None, 1e-5)
        },
    );
    same(
        &|g| {
            let (x, gamma) = row(g);
            g.rms_norm_with_statistics(x, gamma, None, RmsNorm::default()).0
        },
        &|g| {
            let (x, gamma) = row(g);
            g.rms_norm(x, gamma, 1e-5)
        },
    );
}

#[test]
fn sums_of_attention() {
    for [queries, keys] in [[1, 4096], [200, 200]] {
        let qkv = |g: &GraphBuilder| {
            [("q", queries, 8), ("k", keys, 2), ("v", keys, 2)]
                .map(|(name, rows, heads)| g.input(name, f32([1, heads, rows, 64])))
        };
        same(&|g| g.attention_with(qkv(g), AttentionOperands::default(), Attention::default()).0, &|g| {
            let [q, k, v] = qkv(g);
            g.attention(q, k, v, None, None, Attention::default())
        });
    }
}

/// Of few queries over many keys, sinks and sums are the merge's.
#[test]
fn a_split_attention_stays_one() {
    let text = plan(&Target::h200(), &|g| {
        let q = g.input("q", f32([1, 32, 1, 128]));
        let [k, v] = ["k", "v"].map(|name| g.input(name, f32([1, 8, 4096, 128])));
        let operands = AttentionOperands { sinks: Some(g.param("sinks", f32([32]))), ..Default::default() };
        let (y, lse) = g.attention_with([q, k, v], operands, Attention::default());
        g.output("lse", lse);
        y
    });
    let parts = text.contains("attention_parts.") && text.contains("attention_merge_extended.");
    assert!(parts && !text.contains("attention_extended."), "{text}");
}
