//! Samples of `Attention`: both layouts, grouped heads, unequal lengths and widths, every mask, windows, lengths,
//! caches with unused rows of NaN.

use crate::builder::{GraphBuilder, Value};
use crate::ops::attention::{Attention, AttentionLayout};
use crate::ops::attention_parts::AttentionParts;
use crate::ops::kv_append::AppendMode;
use crate::ops::steering_samples::{steering_list, steering_samples};
use crate::sample::{Fill, Sample};
use crate::shape::{DimSpec, i32, sym, tensor};
use pumice_types::DType::{self, *};

/// Extents of one sample.
#[derive(Clone, Copy, Debug)]
struct Size {
    b: u64,
    hq: u64,
    hkv: u64,
    sq: u64,
    sk: u64,
    d: u64,
    dv: u64,
}

const BASE: Size = Size { b: 2, hq: 4, hkv: 4, sq: 9, sk: 9, d: 16, dv: 16 };

fn shape(layout: AttentionLayout, b: u64, h: u64, s: u64, d: u64) -> [u64; 4] {
    match layout {
        AttentionLayout::Bhsd => [b, h, s, d],
        AttentionLayout::Bshd => [b, s, h, d],
    }
}

fn qkv(g: &GraphBuilder, n: Size, layout: AttentionLayout, dtype: DType) -> [Value; 3] {
    [
        g.input("q", tensor(dtype, shape(layout, n.b, n.hq, n.sq, n.d))),
        g.input("k", tensor(dtype, shape(layout, n.b, n.hkv, n.sk, n.d))),
        g.input("v", tensor(dtype, shape(layout, n.b, n.hkv, n.sk, n.dv))),
    ]
}

fn plain(n: Size, op: Attention, dtype: DType) -> Sample {
    Sample::graph(&format!("{dtype} {n:?} {op:?}"), |g| {
        let [q, k, v] = qkv(g, n, op.layout, dtype);
        g.output("y", g.attention(q, k, v, None, None, op.clone()));
    })
}

fn masked(n: Size, op: Attention, mask: &[u64], kind: DType, fill: Fill) -> Sample {
    Sample::graph(&format!("{n:?} {op:?} mask {kind} {mask:?} {fill:?}"), |g| {
        let [q, k, v] = qkv(g, n, op.layout, F32);
        let mask = g.input("mask", tensor(kind, mask.iter().copied()));
        g.output("y", g.attention(q, k, v, Some(mask), None, op.clone()));
    })
    .fill("mask", fill)
}

fn lengths(n: Size, op: Attention, kv_len: &[i64]) -> Sample {
    Sample::graph(&format!("{n:?} {op:?} lengths {kv_len:?}"), |g| {
        let [q, k, v] = qkv(g, n, op.layout, F32);
        let rank0 = kv_len.len() == 1;
        let len = g.input("kv_len", i32(if rank0 { vec![] } else { vec![kv_len.len() as u64] }));
        g.output("y", g.attention(q, k, v, None, Some(len), op.clone()));
    })
    .fill("kv_len", Fill::Ints(kv_len.to_vec()))
}

/// All samples.
pub fn samples() -> Vec<Sample> {
    let mut samples = Vec::new();
    for layout in [AttentionLayout::Bhsd, AttentionLayout::Bshd] {
        let op = Attention { layout, ..Attention::default() };
        samples.extend(sizes(&op));
        samples.extend(many_keys(&op));
        samples.extend(rules(&op));
        samples.extend(masks(&op));
        samples.extend(with_lengths(&op));
    }
    samples.extend([F16, BF16].map(|d| plain(BASE, Attention { causal: true, ..Attention::default() }, d)));
    samples.extend([F32, F16, BF16].map(cache));
    samples.push(unused_rows_are_nan());
    samples.extend([1, 5, 24].map(symbolic));
    samples.extend([0, 5, 13].map(|m| symbolic_mask(F32, m)));
    samples.push(symbolic_mask(Bool, 7));
    samples.push(all_in_one());
    samples.extend(extreme_lengths());
    samples.extend(values_that_are_not_finite());
    samples.extend([(1, 64), (20, 16), (9, 150)].map(|(queries, width)| equal_keys(queries, width)));
    samples.extend(super::attention_extended_samples::samples());
    samples.extend(super::attention_dropout_samples::samples());
    samples
}

/// Equal keys and equal values of one sign, whose roundings add up.
fn equal_keys(queries: u64, width: u64) -> Sample {
    let n = Size { b: 1, hq: 1, hkv: 1, sq: queries, sk: 1500, d: width, dv: width };
    let sample = plain(n, Attention::default(), F32);
    let label = format!("equal terms: {}", sample.label);
    let third = || Fill::Constant(1.0 / 3.0);
    Sample { label, ..sample }.fill("q", third()).fill("k", third()).fill("v", third())
}

/// Samples of attention in parts: few queries over keys of one part, of some and of more than there are; every rule.
pub fn samples_in_parts() -> Vec<Sample> {
    let mut samples = Vec::new();
    let base = Size { b: 2, hq: 4, hkv: 2, sq: 1, sk: 70, d: 64, dv: 64 };
    let case = |n: Size,
                op: Attention,
                parts: u64,
                mask: Option<(&[u64], DType, Fill)>,
                len: &[i64],
                dtype: DType| {
        let label = format!("{n:?} {op:?} in {parts} parts, mask {mask:?}, lengths {len:?}, {dtype}");
        let mut sample = Sample::graph(&label, |g| {
            let q = g.input("q", tensor(F32, shape(op.layout, n.b, n.hq, n.sq, n.d)));
            let k = g.input("k", tensor(dtype, shape(op.layout, n.b, n.hkv, n.sk, n.d)));
            let v = g.input("v", tensor(dtype, shape(op.layout, n.b, n.hkv, n.sk, n.dv)));
            let mask =
                mask.as_ref().map(|(shape, kind, _)| g.input("mask", tensor(*kind, shape.iter().copied())));
            let rank0 = len.len() == 1;
            let len = (!len.is_empty())
                .then(|| g.input("kv_len", i32(if rank0 { vec![] } else { vec![len.len() as u64] })));
            g.output("y", g.attention_parts(q, k, v, mask, len, AttentionParts::of(&op, parts)));
        });
        if let Some((_, _, fill)) = mask {
            sample = sample.fill("mask", fill);
        }
        if len.is_empty() { sample } else { sample.fill("kv_len", Fill::Ints(len.to_vec())) }
    };
    for layout in [AttentionLayout::Bhsd, AttentionLayout::Bshd] {
        let op = Attention { layout, ..Attention::default() };
        let causal = Attention { causal: true, ..op.clone() };
        samples.extend(sizes_in_parts(base).map(|n| case(n, op.clone(), 3, None, &[], F32)));
        samples.push(case(base, op.clone(), 1, None, &[], F32));
        samples.extend([F16, BF16].map(|dtype| case(base, op.clone(), 2, None, &[], dtype)));
        let two = Size { sq: 2, ..base };
        samples.extend([
            case(two, causal.clone(), 2, None, &[], F32),
            case(two, causal.clone(), 3, None, &[65, 2], F32),
            case(two, Attention { left: 20, right: 3, ..op.clone() }, 2, None, &[69], F32),
            case(base, Attention { softcap: 2.0, scale: Some(0.7), ..op.clone() }, 2, None, &[0, 66], F32),
            case(two, op.clone(), 3, Some((&[2, 4, 2, 70], Bool, Fill::Any)), &[], F32),
            case(two, causal, 3, Some((&[1, 66], F32, Fill::Normal)), &[68], F32),
            case(base, op.clone(), 2, Some((&[1, 70], F32, Fill::Constant(f64::NEG_INFINITY))), &[], F32),
        ]);
    }
    samples.extend(extreme_lengths_in_parts(base));
    samples
}

/// Rows and widths for each kernel: one row or several of a head, keys of one part and of some.
fn sizes_in_parts(base: Size) -> [Size; 10] {
    [
        base,
        Size { sk: 64, ..base },
        Size { sk: 1, ..base },
        Size { hq: 2, sk: 200, ..base },
        Size { hq: 2, sk: 129, d: 128, dv: 128, ..base },
        Size { hq: 14, sq: 1, sk: 300, d: 80, dv: 96, ..base },
        Size { hq: 8, sq: 2, d: 128, dv: 64, ..base },
        Size { d: 12, dv: 8, ..base },
        Size { sk: 0, ..base },
        Size { b: 0, ..base },
    ]
}

/// Lengths at the ends of i32 for attention in parts.
fn extreme_lengths_in_parts(size: Size) -> Vec<Sample> {
    let in_three = || AttentionParts::of(&Attention::default(), 3);
    steering_samples(
        "lengths of keys in three parts",
        size.sk as i64,
        |_| false,
        |g, len| {
            let [q, k, v] = qkv(g, Size { b: 1, ..size }, AttentionLayout::Bhsd, F32);
            g.output("y", g.attention_parts(q, k, v, None, Some(len), in_three()));
        },
    )
}

/// Lengths at the ends of i32 under every window; windows at the ends of theirs.
fn extreme_lengths() -> Vec<Sample> {
    let n = Size { b: 7, hq: 2, hkv: 1, sq: 3, sk: 12, ..BASE };
    let op = Attention::default();
    let windows = [
        op.clone(),
        Attention { causal: true, ..op.clone() },
        Attention { left: 2, right: 1, ..op.clone() },
        Attention { left: 1 << 30, right: 1 << 30, ..op.clone() },
        Attention { left: i64::MAX, right: i64::from(i32::MAX), ..op.clone() },
        Attention { left: 0, ..op },
    ];
    let mut samples = Vec::new();
    for (i, op) in windows.into_iter().enumerate() {
        let attend = |g: &GraphBuilder, len: Value, n: Size| {
            let [q, k, v] = qkv(g, n, op.layout, F32);
            g.output("y", g.attention(q, k, v, None, Some(len), op.clone()));
        };
        // As a list under every window; one by one, where each needs a plan, under three.
        if i < 3 {
            samples.extend(steering_samples(
                &format!("{op:?}"),
                12,
                |_| false,
                |g, len| {
                    attend(g, len, Size { b: 1, ..n });
                },
            ));
        }
        samples.push(steering_list(&format!("{op:?}"), I32, 12, &[7], |g, len| attend(g, len, n)));
        if i == 1 {
            // A sum that wraps, where a scalar's range allows it.
            samples.extend(steering_samples(
                "a length and one more, at most 9",
                12,
                |_| false,
                |g, len| {
                    let more = g.add(len, g.constant_scalar(I32, 1.0));
                    attend(g, g.min(&[more, g.constant_scalar(I32, 9.0)]), Size { b: 1, ..n });
                },
            ));
        }
        let wide = Size { d: 64, dv: 64, sq: 1, ..n };
        samples
            .push(steering_list(&format!("{op:?} {wide:?}"), I32, 12, &[7], |g, len| attend(g, len, wide)));
    }
    samples
}

/// Values and scores that are not finite: seen, they spread; not seen, by length, window or mask, they have no effect.
fn values_that_are_not_finite() -> Vec<Sample> {
    let n = Size { b: 2, hq: 2, hkv: 2, sq: 5, sk: 6, ..BASE };
    let rows = |odd: &[(usize, f64)]| {
        // Of each of the four key heads, whole rows.
        let mut values: Vec<f64> = (0..4 * 6 * 16).map(|i| f64::from(i % 11) * 0.25 - 1.25).collect();
        for &(row, v) in odd {
            (0..4).for_each(|h| values[h * 96 + row * 16..][..16].fill(v));
        }
        Fill::Floats(values)
    };
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let values =
        [("nan", vec![(4, nan)]), ("inf", vec![(1, inf), (5, -inf)]), ("both", vec![(0, inf), (3, nan)])];
    let mut samples = Vec::new();
    for d in [16, 40, 130] {
        for (name, odd) in &values {
            for masked in [false, true] {
                let label = format!("values {name}, width {d}, masked {masked}");
                let sample = Sample::graph(&label, |g| {
                    let [q, k, v] = qkv(g, Size { d, ..n }, AttentionLayout::Bhsd, F32);
                    let mask = masked.then(|| g.input("mask", tensor(Bool, [5u64, 6])));
                    for (name, causal) in [("all", false), ("causal", true)] {
                        let op = Attention { causal, ..Attention::default() };
                        g.output(name, g.attention(q, k, v, mask, None, op));
                    }
                });
                let bits = (0..30).map(|i| i64::from(i % 3 != 1)).collect();
                samples.push(sample.fill("v", rows(odd)).fill("mask", Fill::Ints(bits)));
            }
        }
    }
    samples
}

/// Wide rows and prompts over so many keys that devices may split them.
fn many_keys(op: &Attention) -> [Sample; 3] {
    let base = Size { b: 1, hq: 2, hkv: 1, sq: 1, sk: 300, d: 256, dv: 256 };
    let sizes = [
        Size { hkv: 2, ..base },
        Size { hq: 4, sq: 2, d: 132, ..base },
        Size { sq: 12, sk: 1030, d: 64, dv: 48, ..base },
    ];
    sizes.map(|n| plain(n, Attention { causal: true, ..op.clone() }, F32))
}

fn sizes(op: &Attention) -> Vec<Sample> {
    let base = BASE;
    let sizes = [
        base,
        Size { b: 1, hq: 1, hkv: 1, sq: 1, sk: 1, d: 1, dv: 1 },
        Size { sq: 4, hq: 4, hkv: 4, sk: 4, ..base },
        Size { sq: 1, sk: 33, ..base },
        Size { sq: 1, sk: 257, d: 64, dv: 64, ..base },
        Size { sq: 2, hq: 8, hkv: 2, sk: 333, d: 128, dv: 96, b: 1 },
        Size { b: 1, hq: 6, hkv: 6, sq: 130, sk: 70, d: 64, dv: 64 },
        Size { b: 1, hq: 4, hkv: 4, sq: 70, sk: 67, d: 128, dv: 128 },
        Size { b: 1, hq: 2, hkv: 2, sq: 33, sk: 50, d: 96, dv: 96 },
        Size { sq: 33, sk: 17, ..base },
        Size { sq: 17, sk: 65, ..base },
        Size { dv: 24, ..base },
        Size { d: 40, dv: 40, ..base },
        Size { d: 64, dv: 64, ..base },
        Size { d: 80, dv: 80, ..base },
        Size { d: 96, dv: 96, ..base },
        Size { d: 128, dv: 128, ..base },
        Size { d: 256, dv: 256, sq: 3, ..base },
        Size { d: 32, dv: 32, sq: 64, sk: 64, ..base },
        Size { d: 32, dv: 32, sq: 65, sk: 129, ..base },
        Size { d: 7, dv: 5, ..base },
        Size { hq: 8, hkv: 1, ..base },
        Size { hq: 8, hkv: 2, sq: 1, sk: 40, ..base },
        Size { hq: 6, hkv: 3, b: 3, ..base },
        Size { sk: 0, ..base },
        Size { sq: 0, ..base },
        Size { b: 0, ..base },
        Size { dv: 0, ..base },
        Size { d: 0, ..base },
    ];
    sizes.into_iter().map(|n| plain(n, op.clone(), F32)).collect()
}

fn rules(op: &Attention) -> Vec<Sample> {
    let wide = Size { sq: 13, sk: 29, ..BASE };
    let tall = Size { sq: 29, sk: 13, ..BASE };
    let ops = [
        Attention { causal: true, ..op.clone() },
        Attention { causal: true, left: 3, ..op.clone() },
        Attention { left: 2, right: 1, ..op.clone() },
        Attention { left: 0, right: 0, ..op.clone() },
        Attention { right: 4, ..op.clone() },
        Attention { scale: Some(0.5), ..op.clone() },
        Attention { scale: Some(0.0), ..op.clone() },
        Attention { softcap: 2.0, ..op.clone() },
        Attention { softcap: 0.7, scale: Some(1.5), causal: true, ..op.clone() },
    ];
    ops.into_iter().flat_map(|op| [BASE, wide, tall].map(|n| plain(n, op.clone(), F32))).collect()
}

fn masks(op: &Attention) -> Vec<Sample> {
    let n = Size { sq: 5, sk: 11, hq: 4, hkv: 2, ..BASE };
    let shapes: [&[u64]; 8] = [
        &[5, 11],
        &[1, 11],
        &[4, 5, 11],
        &[1, 5, 11],
        &[2, 4, 5, 11],
        &[2, 1, 1, 11],
        &[5, 7],
        &[2, 1, 5, 1],
    ];
    let mut samples = Vec::new();
    for shape in shapes {
        samples.push(masked(n, op.clone(), shape, Bool, Fill::Any));
        samples.push(masked(n, op.clone(), shape, F32, Fill::Normal));
    }
    let capped = Attention { softcap: 3.0, causal: true, ..op.clone() };
    samples.push(masked(n, op.clone(), &[5, 11], Bool, Fill::Constant(0.0)));
    samples.push(masked(n, op.clone(), &[5, 11], F32, Fill::Constant(f64::NEG_INFINITY)));
    samples.push(masked(n, op.clone(), &[5, 11], F32, Fill::Floats(vec![0.0, f64::NEG_INFINITY, 1.5])));
    samples.push(masked(n, capped.clone(), &[5, 11], Bool, Fill::Any));
    samples.push(masked(n, capped, &[4, 5, 11], F32, Fill::Normal));
    samples
}

fn with_lengths(op: &Attention) -> Vec<Sample> {
    let n = Size { b: 3, sq: 4, sk: 12, hq: 4, hkv: 2, ..BASE };
    let causal = Attention { causal: true, ..op.clone() };
    let window = Attention { causal: true, left: 2, ..op.clone() };
    let one = Size { sq: 1, ..n };
    vec![
        lengths(n, op.clone(), &[12, 7, 1]),
        lengths(n, op.clone(), &[0, 12, 3]),
        lengths(n, op.clone(), &[5]),
        lengths(n, causal.clone(), &[12, 7, 4]),
        lengths(n, causal.clone(), &[2, 0, 5]),
        lengths(n, causal.clone(), &[9]),
        lengths(n, window.clone(), &[12, 8, 4]),
        lengths(one, causal.clone(), &[1, 12, 6]),
        lengths(one, causal, &[0]),
        lengths(one, window, &[12, 2, 1]),
        lengths(Size { sk: 300, d: 64, dv: 64, ..one }, op.clone(), &[300, 77, 129]),
    ]
}

/// A cache of capacity 24 in the state's dtype, rows beyond its length poisoned: 5 rows at `pos`, then attention over
/// pos + 5.
fn cache(dtype: DType) -> Sample {
    Sample::graph(&format!("over a {dtype} cache with unused rows of NaN"), |g| {
        let caches = ["k", "v"].map(|n| {
            let init = g.param(&format!("{n}_init"), tensor(dtype, [2u64, 2, 24, 16]));
            g.state_from(&format!("{n}_cache"), init)
        });
        let rows = ["k", "v"].map(|n| g.input(n, tensor(F32, [2u64, 2, 5, 16])));
        let q = g.input("q", tensor(F32, [2u64, 4, 5, 16]));
        let pos = g.input("pos", i32::<u64>([]));
        let k = g.kv_append(caches[0], rows[0], pos, 2, AppendMode::Linear);
        let v = g.kv_append(caches[1], rows[1], pos, 2, AppendMode::Linear);
        let total = g.add(pos, g.constant_scalar(I32, 5.0));
        g.output(
            "y",
            g.attention(q, k, v, None, Some(total), Attention { causal: true, ..Attention::default() }),
        );
    })
    .fill("pos", Fill::Constant(0.0))
    .fill("k_init", Fill::Constant(f64::NAN))
    .fill("v_init", Fill::Constant(f64::NAN))
    .runs(2)
}

/// Keys and values after the length are NaN; so are those that a causal query does not see.
fn unused_rows_are_nan() -> Sample {
    Sample::graph("rows beyond the length are NaN", |g| {
        let q = g.input("q", tensor(F32, [1u64, 2, 3, 8]));
        let nan = g.expand(g.constant_scalar(F32, f64::NAN), &[1, 2, 4, 8]);
        let [k, v] = ["k", "v"].map(|n| g.concat(&[g.input(n, tensor(F32, [1u64, 2, 5, 8])), nan], 2));
        let len = g.constant_scalar(I32, 5.0);
        g.output("all", g.attention(q, k, v, None, Some(len), Attention::default()));
        g.output(
            "causal",
            g.attention(q, k, v, None, Some(len), Attention { causal: true, ..Attention::default() }),
        );
    })
}

fn symbolic(s: u64) -> Sample {
    Sample::graph(&format!("symbolic lengths, {s} of 24"), |g| {
        let size = |h: u64| -> [DimSpec; 4] { [sym("b", 1..=3), sym("s", 1..=24), h.into(), 16.into()] };
        let [q, k, v] = [("q", 4), ("k", 2), ("v", 2)].map(|(n, h)| g.input(n, tensor(F32, size(h))));
        let len = g.input("lengths", tensor(I32, [sym("b", 1..=3)]));
        let op = Attention { layout: AttentionLayout::Bshd, ..Attention::default() };
        g.output("y", g.attention(q, k, v, None, Some(len), op));
    })
    .bind("b", 2)
    .bind("s", s)
    .fill("lengths", Fill::Ints(vec![s as i64, 1]))
}

/// A mask of `m` keys beside `s` keys, each a symbol: whatever the mask leaves out is not allowed.
fn symbolic_mask(dtype: DType, m: u64) -> Sample {
    Sample::graph(&format!("symbolic {dtype} mask of {m} keys, 13 there"), |g| {
        let size = |rows: DimSpec, h: u64| -> [DimSpec; 4] { [2.into(), h.into(), rows, 16.into()] };
        let q = g.input("q", tensor(F32, size(5.into(), 4)));
        let [k, v] = ["k", "v"].map(|n| g.input(n, tensor(F32, size(sym("s", 1..=24), 2))));
        let mask = g.input("mask", tensor(dtype, [DimSpec::from(5), sym("m", 0..=24)]));
        g.output("y", g.attention(q, k, v, Some(mask), None, Attention::default()));
    })
    .bind("s", 13)
    .bind("m", m)
}

fn all_in_one() -> Sample {
    Sample::graph("mask, length, window, scale and softcap at once", |g| {
        let n = Size { sq: 7, sk: 21, hq: 6, hkv: 2, ..BASE };
        let [q, k, v] = qkv(g, n, AttentionLayout::Bhsd, F32);
        let mask = g.input("mask", tensor(F32, [2u64, 1, 7, 18]));
        let len = g.input("kv_len", tensor(I32, [2u64]));
        let op = Attention { scale: Some(0.3), causal: true, left: 9, softcap: 5.0, ..Attention::default() };
        g.output("y", g.attention(q, k, v, Some(mask), Some(len), op));
    })
    .fill("kv_len", Fill::Ints(vec![20, 9]))
}
