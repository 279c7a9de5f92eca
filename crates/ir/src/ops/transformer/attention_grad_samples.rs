//! Samples of `AttentionGrad`: both layouts, grouped heads, unequal lengths and widths, every mask, windows, lengths,
//! places, queries that see nothing, unused rows of NaN.

use super::attention_grad::{AttentionFactor, AttentionGrad};
use crate::builder::{GraphBuilder, Value};
use crate::ops::attention::{Attention, AttentionLayout};
use crate::ops::steering_samples::{steering_list, steering_samples};
use crate::sample::{Fill, Sample};
use crate::shape::{DimSpec, i32, sym, tensor};
use pumice_types::DType::{self, *};

/// Batch; heads of queries and of keys; queries, keys; widths of keys and values.
type Size = [u64; 7];

const BASE: Size = [2, 4, 2, 5, 11, 16, 16];

/// What a sample has besides the six operands that there always are.
#[derive(Clone, Debug, Default)]
struct With {
    mask: Option<(Vec<u64>, DType)>,
    kv_len: Vec<i64>,
    offset: Vec<i64>,
}

impl With {
    fn mask(shape: &[u64], dtype: DType) -> With {
        With { mask: Some((shape.to_vec(), dtype)), ..With::default() }
    }

    fn length(kv_len: &[i64]) -> With {
        With { kv_len: kv_len.to_vec(), ..With::default() }
    }

    fn offset(offset: &[i64]) -> With {
        With { offset: offset.to_vec(), ..With::default() }
    }
}

/// Inputs q, k, v, dy, lse, delta.
fn factors(g: &GraphBuilder, [b, hq, hkv, sq, sk, d, dv]: Size, layout: AttentionLayout) -> [Value; 6] {
    let of_rows = |name: &str, extents: [u64; 4]| {
        let mut shape = [0; 4];
        layout.axes().into_iter().zip(extents).for_each(|(axis, extent)| shape[axis] = extent);
        g.input(name, tensor(F32, shape))
    };
    let sums = |name: &str| g.input(name, tensor(F32, [b, hq, sq]));
    [
        of_rows("q", [b, hq, sq, d]),
        of_rows("k", [b, hkv, sk, d]),
        of_rows("v", [b, hkv, sk, dv]),
        of_rows("dy", [b, hq, sq, dv]),
        sums("lse"),
        sums("delta"),
    ]
}

/// Gradients of both kinds, as outputs.
fn both(g: &GraphBuilder, op: &Attention, factors: [Value; 6], rules: [Option<Value>; 3]) {
    let operands: Vec<Option<Value>> = factors.into_iter().map(Some).chain(rules).collect();
    let of = |factor| g.attention_grad(AttentionGrad::of(op, factor), &operands);
    let queries = of(AttentionFactor::Queries);
    let results = queries.into_iter().chain(of(AttentionFactor::KeysAndValues));
    results.zip(["dq", "dk", "dv"]).for_each(|(v, name)| g.output(name, v));
}

/// Logarithms of sums as they are for scores of about 1.
fn filled(sample: Sample) -> Sample {
    sample.fill("lse", Fill::Uniform(0.5, 3.0)).fill("delta", Fill::Uniform(-1.0, 1.0))
}

fn case(n: Size, op: &Attention, with: &With) -> Sample {
    let sample = Sample::graph(&format!("{n:?} {op:?} {with:?}"), |g| {
        let count = |name: &str, of: &[i64]| {
            let shape = if of.len() == 1 { vec![] } else { vec![of.len() as u64] };
            (!of.is_empty()).then(|| g.input(name, i32(shape)))
        };
        let mask = with.mask.as_ref().map(|(shape, d)| g.input("mask", tensor(*d, shape.iter().copied())));
        let rules = [mask, count("kv_len", &with.kv_len), count("offset", &with.offset)];
        both(g, op, factors(g, n, op.layout), rules);
    });
    let counts = [("kv_len", &with.kv_len), ("offset", &with.offset)];
    let given = counts.into_iter().filter(|(_, of)| !of.is_empty());
    given.fold(filled(sample), |sample, (name, of)| sample.fill(name, Fill::Ints(of.clone())))
}

/// All samples.
pub fn samples() -> Vec<Sample> {
    let mut samples = Vec::new();
    for layout in [AttentionLayout::Bhsd, AttentionLayout::Bshd] {
        let op = Attention { layout, ..Attention::default() };
        // Of the other layout some of each.
        let step = if layout == AttentionLayout::Bhsd { 1 } else { 4 };
        let all = [sizes(&op), windows(&op), masks(&op), lengths(&op), places(&op)];
        samples.extend(all.into_iter().flat_map(|of| of.into_iter().step_by(step)));
    }
    samples.extend(unseen());
    samples.extend(extremes());
    samples.extend([1, 7, 24].map(symbolic));
    samples.push(equal_terms());
    samples.push(all_in_one());
    samples
}

/// One of everything, unlike numbers of heads, rows and columns at the edges of tiles, every width, nothing.
const SIZES: [Size; 27] = [
    BASE,
    [1, 1, 1, 1, 1, 1, 1],
    [2, 4, 4, 9, 9, 16, 16],
    [2, 8, 1, 9, 9, 16, 16],
    [3, 6, 3, 9, 9, 16, 16],
    [2, 2, 2, 4, 4, 7, 5],
    [1, 2, 2, 1, 33, 16, 24],
    [1, 2, 1, 33, 1, 24, 16],
    [1, 8, 2, 2, 333, 128, 96],
    [1, 6, 6, 130, 70, 64, 64],
    [1, 2, 2, 70, 130, 64, 64],
    [1, 4, 4, 70, 67, 128, 128],
    [1, 2, 1, 150, 40, 128, 128],
    [1, 2, 2, 33, 50, 96, 96],
    [2, 4, 4, 64, 64, 32, 32],
    [1, 4, 2, 65, 129, 32, 32],
    [1, 3, 3, 300, 9, 12, 20],
    [1, 2, 2, 9, 300, 12, 20],
    [1, 2, 1, 17, 20, 300, 260],
    [1, 2, 1, 17, 20, 40, 260],
    [1, 2, 1, 17, 20, 260, 40],
    [1, 2, 2, 3, 0, 16, 16],
    [1, 2, 2, 0, 4, 16, 16],
    [0, 2, 2, 3, 4, 16, 16],
    [1, 2, 2, 3, 9, 16, 0],
    [1, 2, 2, 3, 9, 0, 16],
    [1, 150, 150, 2, 2, 4, 4],
];

fn sizes(op: &Attention) -> Vec<Sample> {
    SIZES.iter().map(|&n| case(n, op, &With::default())).collect()
}

fn windows(op: &Attention) -> Vec<Sample> {
    let ops = [
        Attention { causal: true, ..op.clone() },
        Attention { causal: true, left: 3, ..op.clone() },
        Attention { left: 2, right: 1, ..op.clone() },
        Attention { left: 0, right: 0, ..op.clone() },
        Attention { right: 4, ..op.clone() },
        // Small: probabilities of 1,000 and more, as of scores above `lse`, leave what f16 holds.
        Attention { scale: Some(0.1), ..op.clone() },
        Attention { scale: Some(0.0), ..op.clone() },
        Attention { softcap: 2.0, ..op.clone() },
        Attention { softcap: 0.7, scale: Some(1.5), causal: true, ..op.clone() },
    ];
    let sizes: [Size; 4] =
        [BASE, [2, 4, 4, 13, 29, 16, 16], [2, 4, 4, 29, 13, 16, 16], [1, 2, 1, 140, 140, 64, 64]];
    ops.into_iter().flat_map(|op| sizes.map(|n| case(n, &op, &With::default()))).collect()
}

/// Masks of every rank, broadcast or shorter than the keys.
const MASKS: [&[u64]; 8] =
    [&[5, 11], &[1, 11], &[4, 5, 11], &[1, 5, 11], &[2, 4, 5, 11], &[2, 1, 1, 11], &[5, 7], &[2, 1, 5, 1]];

fn masks(op: &Attention) -> Vec<Sample> {
    let of = |shape: &[u64], dtype| case(BASE, op, &With::mask(shape, dtype));
    let mut samples: Vec<Sample> = MASKS.iter().flat_map(|shape| [Bool, F32].map(|d| of(shape, d))).collect();
    let low = Fill::Floats(vec![0.0, f64::NEG_INFINITY, 1.5]);
    samples.push(relabelled("minus infinity", of(&[5, 11], F32).fill("mask", low)));
    let capped = Attention { softcap: 3.0, causal: true, ..op.clone() };
    samples.push(case(BASE, &capped, &With::mask(&[4, 5, 11], F32)));
    samples.push(case([1, 2, 2, 70, 70, 64, 64], &capped, &With::mask(&[70, 70], Bool)));
    samples
}

/// Three batch entries of four queries over twelve keys.
const FEW: Size = [3, 4, 2, 4, 12, 16, 16];

fn lengths(op: &Attention) -> Vec<Sample> {
    let causal = Attention { causal: true, ..op.clone() };
    let window = Attention { left: 2, right: 1, ..op.clone() };
    vec![
        case(FEW, op, &With::length(&[12, 7, 1])),
        case(FEW, op, &With::length(&[0, 12, 3])),
        case(FEW, op, &With::length(&[5])),
        case(FEW, &causal, &With::length(&[12, 7, 4])),
        case(FEW, &causal, &With::length(&[2, 0, 5])),
        case(FEW, &window, &With::length(&[12, 8, 4])),
        case([1, 2, 1, 70, 200, 64, 64], &causal, &With::length(&[177])),
    ]
}

fn places(op: &Attention) -> Vec<Sample> {
    let causal = Attention { causal: true, ..op.clone() };
    let window = Attention { left: 2, right: 1, ..op.clone() };
    vec![
        case(FEW, &causal, &With::offset(&[3])),
        case(FEW, &causal, &With::offset(&[0, 6, 2])),
        case(FEW, &window, &With::offset(&[-2, 9, 4])),
        case(FEW, &window, &With { kv_len: vec![8, 3, 0], ..With::offset(&[4]) }),
    ]
}

fn relabelled(what: &str, sample: Sample) -> Sample {
    Sample { label: format!("{what}: {}", sample.label), ..sample }
}

/// Queries that see nothing, whose sums are of nothing; keys that nobody sees and that are NaN.
fn unseen() -> Vec<Sample> {
    let sizes: [Size; 2] = [[2, 4, 4, 5, 11, 16, 16], [1, 4, 4, 70, 90, 64, 64]];
    sizes.into_iter().flat_map(|n| nothing(n).into_iter().chain(of_nan(n))).collect()
}

/// All queries see nothing, or the first of each head does.
fn nothing(n: Size) -> [Sample; 2] {
    let [_, _, _, sq, sk, ..] = n;
    let op = Attention { right: 0, ..Attention::default() };
    let all = case(n, &op, &With::mask(&[sq, sk], Bool)).fill("mask", Fill::Constant(0.0));
    let all = relabelled("nothing", all.fill("lse", Fill::Constant(f64::NEG_INFINITY)));
    let of_first = [vec![f64::NEG_INFINITY], vec![1.0; sq as usize - 1]].concat();
    let first = case(n, &op, &With::offset(&[-1])).fill("lse", Fill::Floats(of_first));
    [all, relabelled("the first query sees nothing", first)]
}

/// Keys beyond a length, or not allowed by a mask.
fn of_nan(n: Size) -> [Sample; 2] {
    let (op, sk) = (Attention::default(), n[4]);
    let beyond = case(n, &op, &With::length(&[sk as i64 / 2]));
    let bits = (0..sk).map(|j| i64::from(j < sk / 3)).collect();
    let masked = case(n, &op, &With::mask(&[1, sk], Bool)).fill("mask", Fill::Ints(bits));
    let beyond = relabelled("keys beyond the length are NaN", nan_from(beyond, n, sk / 2));
    [beyond, relabelled("masked keys are NaN", nan_from(masked, n, sk / 3))]
}

/// The sample with NaN for keys and values from one on.
fn nan_from(sample: Sample, [b, _, heads, _, sk, d, dv]: Size, from: u64) -> Sample {
    let rows = |width: u64| {
        let of = |i: u64| if i / width % sk >= from { f64::NAN } else { (i % 11) as f64 * 0.25 - 1.25 };
        Fill::Floats((0..b * heads * sk * width).map(of).collect())
    };
    sample.fill("k", rows(d)).fill("v", rows(dv))
}

/// Mask, length and place, of an operand that steers.
type Rule = fn(Value) -> [Option<Value>; 3];

/// Lengths and places at the ends of i32 under windows.
fn extremes() -> Vec<Sample> {
    let op = Attention::default();
    let windows = [
        Attention { causal: true, ..op.clone() },
        Attention { left: 2, right: 1, ..op.clone() },
        Attention { left: 1 << 30, right: 1 << 30, ..op.clone() },
        Attention { left: i64::MAX, right: i64::from(i32::MAX), ..op },
    ];
    let steered = windows.iter().enumerate().flat_map(|(i, op)| {
        let rules: [(&str, Rule); 2] =
            [("lengths", |length| [None, Some(length), None]), ("places", |place| [None, None, Some(place)])];
        rules
            .into_iter()
            .flat_map(move |(what, rule)| ends(&format!("{what} under {op:?}"), op, rule, i == 0))
    });
    steered.map(filled).collect()
}

/// An operand that steers, all ends at once and maybe one by one.
fn ends(what: &str, op: &Attention, rule: Rule, each: bool) -> Vec<Sample> {
    let of = |g: &GraphBuilder, b: u64, steer: Value| {
        both(g, op, factors(g, [b, 2, 1, 3, 12, 16, 16], op.layout), rule(steer));
    };
    let mut samples = vec![steering_list(what, I32, 12, &[7], |g, steer| of(g, 7, steer))];
    if each {
        samples.extend(steering_samples(what, 12, |_| false, |g, steer| of(g, 1, steer)));
    }
    samples
}

fn symbolic(s: u64) -> Sample {
    let sample = Sample::graph(&format!("everything over symbols, {s} of 24"), |g| {
        let size = |h: u64| -> [DimSpec; 4] { [sym("b", 1..=3), sym("s", 1..=24), h.into(), 16.into()] };
        let [q, k, v, dy] =
            [("q", 4), ("k", 2), ("v", 2), ("dy", 4)].map(|(n, h)| g.input(n, tensor(F32, size(h))));
        let sums = |name: &str| g.input(name, tensor(F32, [sym("b", 1..=3), 4.into(), sym("s", 1..=24)]));
        let of_batch = |name: &str| Some(g.input(name, tensor(I32, [sym("b", 1..=3)])));
        let op = Attention { layout: AttentionLayout::Bshd, causal: true, ..Attention::default() };
        let rules = [None, of_batch("lengths"), of_batch("places")];
        both(g, &op, [q, k, v, dy, sums("lse"), sums("delta")], rules);
    });
    filled(sample.bind("b", 2).bind("s", s))
        .fill("lengths", Fill::Ints(vec![s as i64, 1]))
        .fill("places", Fill::Ints(vec![0, 3]))
}

/// Equal factors of one sign, whose roundings add up.
fn equal_terms() -> Sample {
    let sample = case([1, 2, 1, 150, 700, 4, 4], &Attention::default(), &With::default());
    let third = |sample: Sample, name: &str| sample.fill(name, Fill::Constant(1.0 / 3.0));
    let sample = ["q", "k", "v", "dy"].into_iter().fold(relabelled("equal terms", sample), third);
    sample.fill("delta", Fill::Constant(0.0))
}

fn all_in_one() -> Sample {
    let with = With { mask: Some((vec![2, 1, 7, 18], F32)), kv_len: vec![20, 9], offset: vec![11, 3] };
    let op = Attention { scale: Some(0.3), causal: true, left: 9, softcap: 5.0, ..Attention::default() };
    case([2, 6, 2, 7, 21, 16, 16], &op, &with)
}
