//! Samples of what few attentions have: places of the first query, sinks, ALiBi, logarithms of sums, packed heads.

use crate::builder::GraphBuilder;
use crate::ops::attention::{Attention, AttentionLayout};
use crate::ops::attention_operands::AttentionOperands;
use crate::ops::steering_samples::{steering_list, steering_samples};
use crate::sample::{Fill, Sample};
use crate::shape::{DimSpec, i32, sym, tensor};
use pumice_types::DType::{self, *};

/// Batch; heads of queries and of keys; queries, keys; widths of keys and values.
type Size = [u64; 7];

const BASE: Size = [2, 4, 2, 5, 11, 16, 16];

/// What a sample has besides queries, keys and values.
#[derive(Clone, Debug, Default)]
struct With {
    mask: Option<(Vec<u64>, DType)>,
    kv_len: Vec<i64>,
    offset: Vec<i64>,
    sinks: Option<DType>,
    alibi: Option<DType>,
}

fn sinks() -> With {
    With { sinks: Some(F32), ..With::default() }
}

fn alibi() -> With {
    With { alibi: Some(F32), ..With::default() }
}

fn offset(places: &[i64]) -> With {
    With { offset: places.to_vec(), ..With::default() }
}

fn qkv(g: &GraphBuilder, n: Size, layout: AttentionLayout, dtype: DType) -> [crate::builder::Value; 3] {
    let [b, hq, hkv, sq, sk, d, dv] = n;
    [("q", [b, hq, sq, d]), ("k", [b, hkv, sk, d]), ("v", [b, hkv, sk, dv])].map(|(name, extents)| {
        let mut shape = [0; 4];
        layout.axes().into_iter().zip(extents).for_each(|(axis, extent)| shape[axis] = extent);
        g.input(name, tensor(dtype, shape))
    })
}

/// Both results are read.
fn both(n: Size, op: &Attention, dtype: DType, with: &With) -> Sample {
    results(n, op, dtype, with, [true, true])
}

/// The results that are asked for.
fn results(n: Size, op: &Attention, dtype: DType, with: &With, asked: [bool; 2]) -> Sample {
    let label = format!("{n:?} {op:?} {dtype} {with:?} results {asked:?}");
    let sample = Sample::graph(&label, |g| {
        let count = |name: &str, of: &[i64]| {
            let shape = if of.len() == 1 { vec![] } else { vec![of.len() as u64] };
            (!of.is_empty()).then(|| g.input(name, i32(shape)))
        };
        let of_heads = |name: &str, dtype: Option<DType>| dtype.map(|d| g.param(name, tensor(d, [n[1]])));
        let mask = with.mask.as_ref().map(|(shape, d)| g.input("mask", tensor(*d, shape.iter().copied())));
        let operands = AttentionOperands {
            mask,
            kv_len: count("kv_len", &with.kv_len),
            offset: count("offset", &with.offset),
            sinks: of_heads("sinks", with.sinks),
            alibi: of_heads("alibi", with.alibi),
            source: None,
        };
        let (y, lse) = g.attention_with(qkv(g, n, op.layout, dtype), operands, op.clone());
        let all = [("y", y), ("lse", lse)];
        all.iter().zip(asked).filter(|(_, asked)| *asked).for_each(|(&(name, v), _)| g.output(name, v));
    });
    let sample = sample.fill("sinks", Fill::Uniform(-2.0, 3.0)).fill("alibi", Fill::Uniform(-0.1, 0.6));
    let counts = [("kv_len", &with.kv_len), ("offset", &with.offset)];
    let given = counts.into_iter().filter(|(_, of)| !of.is_empty());
    given.fold(sample, |sample, (name, of)| sample.fill(name, Fill::Ints(of.clone())))
}

/// All samples.
pub fn samples() -> Vec<Sample> {
    let mut samples = Vec::new();
    for layout in [AttentionLayout::Bhsd, AttentionLayout::Bshd] {
        let op = Attention { layout, ..Attention::default() };
        let causal = Attention { causal: true, ..op.clone() };
        let all = [sums(&op), with_sinks(&op, &causal), with_alibi(&op, &causal), with_offset(&op, &causal)];
        // Of the other layout some of each.
        let step = if layout == AttentionLayout::Bhsd { 1 } else { 4 };
        samples.extend(all.into_iter().flat_map(|of| of.into_iter().step_by(step)));
    }
    samples.extend(extreme_offsets());
    samples.extend(unusual_sinks());
    samples.extend([1, 7, 24].map(symbolic));
    samples.extend([[2, 4, 2, 5, 9, 16, 16], [1, 2, 2, 1, 300, 64, 64], [1, 3, 1, 7, 7, 5, 3]].map(packed));
    samples.push(all_in_one());
    samples.push(in_a_cache());
    samples
}

fn sums(op: &Attention) -> Vec<Sample> {
    let none = With::default();
    let sizes: [Size; 13] = [
        BASE,
        [1, 1, 1, 1, 1, 1, 1],
        [1, 4, 2, 1, 600, 64, 64],
        [1, 2, 2, 70, 67, 128, 128],
        [2, 3, 3, 33, 50, 40, 24],
        [1, 2, 1, 17, 20, 300, 260],
        [1, 2, 2, 3, 0, 16, 16],
        [1, 2, 2, 0, 4, 16, 16],
        [0, 2, 2, 3, 4, 16, 16],
        [1, 2, 2, 3, 9, 16, 0],
        [2, 2, 2, 130, 5, 7, 5],
        [1, 6, 6, 130, 70, 64, 64],
        [1, 6, 6, 130, 30, 128, 128],
    ];
    let mut samples: Vec<Sample> = sizes.iter().map(|&n| both(n, op, F32, &none)).collect();
    samples.extend([[true, false], [false, true]].map(|asked| results(BASE, op, F32, &none, asked)));
    samples.extend([F16, BF16].map(|d| both(BASE, op, d, &none)));
    let windowed = Attention { left: 2, right: 1, softcap: 4.0, scale: Some(0.4), ..op.clone() };
    let lengths = With { kv_len: vec![7, 0], ..With::default() };
    samples.push(both(BASE, &windowed, F32, &lengths));
    let masked = |d| With { mask: Some((vec![5, 9], d)), ..With::default() };
    samples.extend([Bool, F32].map(|d| both(BASE, op, F32, &masked(d))));
    let relabelled =
        |what: &str, sample: Sample| Sample { label: format!("{what}: {}", sample.label), ..sample };
    let nothing = both(BASE, op, F32, &masked(Bool)).fill("mask", Fill::Constant(0.0));
    samples.push(relabelled("nothing is allowed", nothing));
    let low = Fill::Floats(vec![0.0, f64::NEG_INFINITY, 1.5]);
    samples.push(relabelled("minus infinity", both(BASE, op, F32, &masked(F32)).fill("mask", low)));
    samples
}

fn with_sinks(op: &Attention, causal: &Attention) -> Vec<Sample> {
    let few = With { kv_len: vec![3, 0], ..sinks() };
    vec![
        both(BASE, op, F32, &sinks()),
        results(BASE, causal, F32, &sinks(), [true, false]),
        results(BASE, op, F32, &sinks(), [false, true]),
        both(BASE, causal, F32, &few),
        both([1, 8, 2, 1, 700, 64, 64], causal, F32, &sinks()),
        both([1, 8, 1, 1, 300, 128, 96], op, F32, &With { kv_len: vec![77], ..sinks() }),
        both([1, 4, 4, 66, 66, 64, 64], causal, F16, &With { sinks: Some(F16), ..sinks() }),
        both(BASE, op, F32, &With { sinks: Some(BF16), mask: Some((vec![2, 1, 5, 11], Bool)), ..sinks() }),
        both(BASE, op, F32, &With { mask: Some((vec![1, 11], Bool)), ..sinks() })
            .fill("mask", Fill::Constant(0.0)),
    ]
}

fn with_alibi(op: &Attention, causal: &Attention) -> Vec<Sample> {
    let window = Attention { left: 4, softcap: 3.0, ..causal.clone() };
    vec![
        both(BASE, op, F32, &alibi()),
        results(BASE, causal, F32, &alibi(), [true, false]),
        both(BASE, &window, F32, &With { kv_len: vec![11, 6], ..alibi() }),
        both(BASE, op, F32, &With { alibi: Some(F16), mask: Some((vec![5, 11], F32)), ..alibi() }),
        both([1, 4, 4, 70, 140, 64, 64], causal, F32, &With { kv_len: vec![133], ..alibi() }),
        both([1, 8, 2, 1, 500, 128, 128], causal, F32, &With { kv_len: vec![444], ..alibi() }),
        results(BASE, causal, F32, &With { sinks: Some(F32), offset: vec![3], ..alibi() }, [true, false]),
    ]
}

fn with_offset(op: &Attention, causal: &Attention) -> Vec<Sample> {
    let window = Attention { left: 2, right: 1, ..op.clone() };
    let lengths = |places: &[i64], kv_len: &[i64]| With { kv_len: kv_len.to_vec(), ..offset(places) };
    vec![
        results(BASE, causal, F32, &offset(&[3]), [true, false]),
        both(BASE, causal, F32, &offset(&[0, 6])),
        both(BASE, causal, F32, &lengths(&[2, 4], &[9, 6])),
        both(BASE, &window, F32, &offset(&[-2, 9])),
        both(BASE, &window, F32, &lengths(&[4], &[8, 3])),
        both(BASE, op, F32, &offset(&[5])),
        both([1, 2, 1, 1, 400, 64, 64], causal, F32, &offset(&[250])),
        both([1, 2, 2, 40, 90, 32, 32], causal, F16, &offset(&[37])),
    ]
}

/// Places at the ends of i32 under every window.
fn extreme_offsets() -> Vec<Sample> {
    let n: Size = [7, 2, 1, 3, 12, 16, 16];
    let op = Attention::default();
    let windows = [
        Attention { causal: true, ..op.clone() },
        Attention { left: 2, right: 1, ..op.clone() },
        Attention { left: 1 << 30, right: 1 << 30, ..op.clone() },
        Attention { left: i64::MAX, right: i64::from(i32::MAX), ..op },
    ];
    let attend = |g: &GraphBuilder, n: Size, op: &Attention, place, alibi: bool| {
        let alibi = alibi.then(|| g.param("alibi", tensor(F32, [n[1]])));
        let operands = AttentionOperands { offset: Some(place), alibi, ..AttentionOperands::default() };
        let (y, _) = g.attention_with(qkv(g, n, op.layout, F32), operands, op.clone());
        g.output("y", y);
    };
    let one: Size = [1, 2, 1, 3, 12, 16, 16];
    let mut samples = Vec::new();
    for (i, op) in windows.iter().enumerate() {
        let what = format!("places under {op:?}");
        if i < 2 {
            samples.extend(steering_samples(
                &what,
                12,
                |_| false,
                |g, place| attend(g, one, op, place, false),
            ));
        }
        samples.push(steering_list(&what, I32, 12, &[7], |g, place| attend(g, n, op, place, false)));
    }
    let all = Attention::default();
    let sloped =
        steering_list("places under slopes", I32, 12, &[7], |g, place| attend(g, n, &all, place, true));
    // Slopes by which even the farthest place adds a whole number.
    samples.push(sloped.fill("alibi", Fill::Floats(vec![0.0, 2f64.powi(-31)])));
    samples
}

/// Sinks that are not finite, or so large that nothing else counts.
fn unusual_sinks() -> Vec<Sample> {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let values = [("none", [-inf; 4]), ("large", [80.0, 1e4, -1e4, 200.0]), ("odd", [0.0, nan, inf, -inf])];
    let sizes: [Size; 2] = [BASE, [1, 4, 2, 1, 600, 64, 64]];
    let with = With { kv_len: vec![0], ..sinks() };
    let mut samples = Vec::new();
    for (name, of_heads) in values {
        for n in sizes {
            for with in [&sinks(), &with] {
                let sample = both(n, &Attention::default(), F32, with);
                let label = format!("{name} sinks: {}", sample.label);
                samples.push(Sample { label, ..sample }.fill("sinks", Fill::Floats(of_heads.to_vec())));
            }
        }
    }
    samples
}

fn symbolic(s: u64) -> Sample {
    Sample::graph(&format!("everything over symbols, {s} of 24"), |g| {
        let size = |h: u64| -> [DimSpec; 4] { [sym("b", 1..=3), sym("s", 1..=24), h.into(), 16.into()] };
        let qkv = [("q", 4), ("k", 2), ("v", 2)].map(|(n, h)| g.input(n, tensor(F32, size(h))));
        let of_batch = |name: &str| Some(g.input(name, tensor(I32, [sym("b", 1..=3)])));
        let of_heads = |name: &str| Some(g.param(name, tensor(F32, [4u64])));
        let operands = AttentionOperands {
            mask: None,
            kv_len: of_batch("lengths"),
            offset: of_batch("places"),
            sinks: of_heads("sinks"),
            alibi: of_heads("alibi"),
            source: None,
        };
        let op = Attention { layout: AttentionLayout::Bshd, causal: true, ..Attention::default() };
        let (y, lse) = g.attention_with(qkv, operands, op);
        g.output("y", y);
        g.output("lse", lse);
    })
    .bind("b", 2)
    .bind("s", s)
    .fill("lengths", Fill::Ints(vec![s as i64, 1]))
    .fill("places", Fill::Ints(vec![0, 3]))
}

/// Heads side by side in rows.
fn packed([b, hq, hkv, sq, sk, d, dv]: Size) -> Sample {
    Sample::graph(&format!("packed {hq} heads of {d} over {hkv} of {dv}, {sk} keys"), |g| {
        let operand = |name: &str, s: u64, width: u64| g.input(name, tensor(F32, [b, s, width]));
        let qkv = [operand("q", sq, hq * d), operand("k", sk, hkv * d), operand("v", sk, hkv * dv)];
        let op = Attention { causal: true, ..Attention::default() };
        let operands =
            AttentionOperands { sinks: Some(g.param("sinks", tensor(F32, [hq]))), ..Default::default() };
        let (y, lse) = g.attention_packed(qkv, [hq, hkv], operands, op);
        g.output("y", y);
        g.output("lse", lse);
    })
}

fn all_in_one() -> Sample {
    let with = With {
        mask: Some((vec![2, 1, 7, 18], F32)),
        kv_len: vec![20, 9],
        offset: vec![11, 3],
        sinks: Some(BF16),
        alibi: Some(F16),
    };
    let op = Attention { scale: Some(0.3), causal: true, left: 9, softcap: 5.0, ..Attention::default() };
    both([2, 6, 2, 7, 21, 16, 16], &op, F32, &with)
}

/// Over a cache of which a scalar says how much is there: places are the scalar's.
fn in_a_cache() -> Sample {
    Sample::graph("over a cache, placed by a scalar", |g| {
        let caches = ["k", "v"].map(|n| g.state(&format!("{n}_cache"), tensor(F32, [1u64, 2, 24, 16])));
        let rows = ["k", "v"].map(|n| g.input(n, tensor(F32, [1u64, 2, 3, 16])));
        let q = g.input("q", tensor(F32, [1u64, 4, 3, 16]));
        let pos = g.scalar_advancing("pos", 0, 16, 0, pumice_types::DimExpr::constant(3));
        let mode = crate::ops::kv_append::AppendMode::Linear;
        let [k, v] = [0, 1].map(|i| g.kv_append(caches[i], rows[i], pos, 2, mode));
        let total = g.add(pos, g.constant_scalar(I32, 3.0));
        let sinks = Some(g.param("sinks", tensor(F32, [4u64])));
        let operands = AttentionOperands {
            kv_len: Some(total),
            offset: Some(pos),
            sinks,
            ..AttentionOperands::default()
        };
        let op = Attention { causal: true, ..Attention::default() };
        let (y, lse) = g.attention_with([q, k, v], operands, op);
        g.output("y", y);
        g.output("lse", lse);
    })
    .runs(3)
}
