//! Samples of attentions that drop probabilities: with everything else that an attention takes, two runs each.

use crate::builder::GraphBuilder;
use crate::ops::attention::{Attention, AttentionLayout};
use crate::ops::attention_operands::AttentionOperands;
use crate::ops::source::RandomSource;
use crate::sample::{Fill, Sample};
use crate::shape::{DimSpec, i32, sym, tensor};
use pumice_types::DType::{self, *};

/// Batch; heads of queries and of keys; queries, keys; widths of keys and values.
type Size = [u64; 7];

const BASE: Size = [2, 4, 2, 5, 11, 16, 12];

fn op() -> Attention {
    Attention { dropout: 0.25, ..Attention::default() }
}

/// All samples.
pub fn samples() -> Vec<Sample> {
    let sizes =
        [[1, 1, 1, 1, 1, 1, 1], [1, 3, 3, 33, 50, 8, 8], [1, 2, 1, 3, 0, 4, 4], [0, 2, 2, 3, 4, 4, 4]];
    let mut samples = vec![plain(BASE, op(), F32)];
    samples.extend(sizes.map(|n| plain(n, op(), F32)));
    samples.extend([F16, BF16].map(|dtype| plain(BASE, op(), dtype)));
    let ratios = [0.9, 1.0].map(|dropout| Attention { dropout, ..op() });
    let windowed = Attention { causal: true, left: 3, softcap: 3.0, scale: Some(0.4), ..op() };
    let other = Attention { layout: AttentionLayout::Bshd, causal: true, ..op() };
    samples.extend(ratios.into_iter().chain([windowed, other]).map(|op| plain(BASE, op, F32)));
    samples.extend([all_in_one(), with_slopes(), by_batch_entries(), two_of_them(), symbolic(7)]);
    samples
}

fn qkv(g: &GraphBuilder, n: Size, layout: AttentionLayout, dtype: DType) -> [crate::builder::Value; 3] {
    let [b, hq, hkv, sq, sk, d, dv] = n;
    [("q", [b, hq, sq, d]), ("k", [b, hkv, sk, d]), ("v", [b, hkv, sk, dv])].map(|(name, extents)| {
        let mut shape = [0; 4];
        layout.axes().into_iter().zip(extents).for_each(|(axis, extent)| shape[axis] = extent);
        g.input(name, tensor(dtype, shape))
    })
}

/// Two runs drop unlike probabilities.
fn runs_twice(label: &str, build: impl FnOnce(&GraphBuilder)) -> Sample {
    Sample::graph(&format!("dropout: {label}"), build).scalar("seed_high", 12.0).runs(2)
}

fn plain(n: Size, op: Attention, dtype: DType) -> Sample {
    runs_twice(&format!("{n:?} {op:?} {dtype}"), |g| {
        let [q, k, v] = qkv(g, n, op.layout, dtype);
        g.output("y", g.attention(q, k, v, None, None, op));
    })
}

/// A mask shorter than the keys, lengths, places, sinks; both results.
fn all_in_one() -> Sample {
    runs_twice("mask, lengths, places, sinks, sums", |g| {
        let operands = AttentionOperands {
            mask: Some(g.input("mask", tensor(Bool, [5u64, 9]))),
            kv_len: Some(g.input("kv_len", i32([2]))),
            offset: Some(g.input("offset", i32([2]))),
            sinks: Some(g.param("sinks", tensor(F32, [4u64]))),
            ..AttentionOperands::default()
        };
        let op = Attention { right: 6, ..op() };
        let (y, lse) = g.attention_with(qkv(g, BASE, op.layout, F32), operands, op);
        g.output("y", y);
        g.output("lse", lse);
    })
    .fill("kv_len", Fill::Ints(vec![8, 0]))
    .fill("offset", Fill::Ints(vec![1, 3]))
}

/// Slopes with the sums as a result, and without.
fn with_slopes() -> Sample {
    runs_twice("a float mask and slopes", |g| {
        let operands = AttentionOperands {
            mask: Some(g.input("mask", tensor(F32, [2u64, 1, 5, 11]))),
            alibi: Some(g.param("alibi", tensor(F32, [4u64]))),
            ..AttentionOperands::default()
        };
        let qkv = qkv(g, BASE, AttentionLayout::Bhsd, F32);
        let (y, _) = g.attention_with(qkv, operands, Attention { causal: true, ..op() });
        let (z, lse) = g.attention_with(qkv, operands, op());
        g.output("y", y);
        g.output("z", z);
        g.output("lse", lse);
    })
    .fill("alibi", Fill::Uniform(-0.1, 0.6))
}

/// Every batch entry has a step of its own.
fn by_batch_entries() -> Sample {
    runs_twice("a source for each batch entry", |g| {
        let RandomSource { seed_low, seed_high, .. } = g.random_source();
        let source = RandomSource { seed_low, seed_high, step: g.input("steps", tensor(U32, [2u64])) };
        let operands = AttentionOperands { source: Some(source), ..AttentionOperands::default() };
        let op = Attention { stream: 5, ..op() };
        g.output("y", g.attention_with(qkv(g, BASE, op.layout, F32), operands, op).0);
    })
}

/// Each node has a stream of its own.
fn two_of_them() -> Sample {
    runs_twice("two of them", |g| {
        let [q, k, v] = qkv(g, [1, 2, 2, 6, 6, 8, 8], AttentionLayout::Bhsd, F32);
        let y = g.attention(q, k, v, None, None, op());
        g.output("y", g.attention(y, k, v, None, None, Attention { causal: true, ..op() }));
    })
}

fn symbolic(s: u64) -> Sample {
    let sample = runs_twice("symbolic", |g| {
        let size = |h: u64| -> [DimSpec; 4] { [sym("b", 1..=3), sym("s", 1..=24), h.into(), 16.into()] };
        let [q, k, v] = [("q", 4), ("k", 2), ("v", 2)].map(|(n, h)| g.input(n, tensor(F32, size(h))));
        let op = Attention { layout: AttentionLayout::Bshd, causal: true, ..op() };
        g.output("y", g.attention(q, k, v, None, None, op));
    });
    sample.bind("b", 2).bind("s", s)
}
