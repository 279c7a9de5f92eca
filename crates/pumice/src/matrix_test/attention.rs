//! One attention whose result says whether both of its products are right.
//!
//! In even heads every query meets the key of its own number alone, so that the result is that key's value, rounded. In
//! odd ones all keys have weights, and the result is near their mean of values.

use super::numbers::{dtype, number, rounded};
use crate::device::Device;
use pumice_ir::ops::Attention;
use pumice_ir::{Graph, GraphBuilder, f32};
use pumice_runtime::Executable;
use pumice_types::{DType, Precision, TensorView};

/// Queries of a head, and keys: numbers of [`BITS`] bits.
const ROWS: usize = 1 << BITS;
const BITS: usize = 6;
/// Widths of queries, keys and values, of which the first is taken that the table has a kernel of units for.
const WIDTHS: [usize; 3] = [32, 64, 128];
/// Heads at most, on a device of however many compute units.
const MOST_HEADS: usize = 1024;
/// What weights of odd heads are near to: values are at most this large.
const LARGEST: f64 = 6.0;

/// None where no kernel of units makes it, or something refuses.
pub(super) fn is_right_by_units(device: &Device, precision: Precision) -> Option<bool> {
    // Tables take units where tiles of 32 queries, of which a head has two, fill all compute units more than twice.
    let heads = (device.target().tuning.compute_units as usize + 1).clamp(2, MOST_HEADS);
    let compiled = |width| Some((width, super::by_units(&graph(heads, width)?, device, precision)?));
    let (width, exe) = WIDTHS.into_iter().find_map(compiled)?;
    Some(is_right(dtype(precision), width, &run(&exe, heads, width)?))
}

fn graph(heads: usize, width: usize) -> Option<Graph> {
    let g = GraphBuilder::new("matrix units");
    let input = |name: &str| g.input(name, f32([1, heads as u64, ROWS as u64, width as u64]));
    let (q, k, v) = (input("q"), input("k"), input("v"));
    let op = Attention { scale: Some(1.0), ..Attention::default() };
    g.output("y", g.attention(q, k, v, None, None, op));
    g.build().ok()
}

fn run(exe: &Executable, heads: usize, width: usize) -> Option<Vec<f32>> {
    let tensor = |element: fn(usize, usize, usize, usize) -> f32| -> Vec<f32> {
        let at = |i: usize| (i / width / ROWS, i / width % ROWS, i % width);
        (0..heads * ROWS * width).map(at).map(|(head, row, d)| element(width, head, row, d)).collect()
    };
    let (q, k, v) = (tensor(query), tensor(key), tensor(value));
    let shape = [1, heads as u64, ROWS as u64, width as u64];
    let views = [("q", &q), ("k", &k), ("v", &v)].map(|(name, data)| (name, TensorView::f32(data, shape)));
    exe.session().ok()?.run(&views).ok()?.get("y").ok()?.to_vec::<f32>().ok()
}

/// 1 or -1 by a bit of a row's number. Two rows differ in a sixth of their elements or more.
fn code(row: usize, d: usize) -> f32 {
    if row >> (d % BITS) & 1 == 0 { 1.0 } else { -1.0 }
}

/// In even heads the score of another key is less by 160 at least, so that its weight is 0.
fn query(_: usize, head: usize, row: usize, d: usize) -> f32 {
    match head % 2 {
        0 => 16.0 * code(row, d),
        _ => ((row * 7 + d * 3) % 5) as f32 / 4.0 - 0.5,
    }
}

fn key(_: usize, head: usize, row: usize, d: usize) -> f32 {
    match head % 2 {
        0 => code(row, d),
        _ => ((row * 5 + d) % 7) as f32 / 4.0 - 0.75,
    }
}

fn value(width: usize, head: usize, row: usize, d: usize) -> f32 {
    match head % 2 {
        0 => number(row * width + d),
        _ => ((row * 3 + d * 5) % 13) as f32 - LARGEST as f32,
    }
}

/// Whether that is the attention of all heads.
fn is_right(dtype: DType, width: usize, y: &[f32]) -> bool {
    let values: Vec<f32> = (0..ROWS * width).map(number).collect();
    let (values, means) = (rounded(&values, dtype), means(width));
    // Weights and their sum are rounded; quotients have a few units in the last place.
    let roundoff = if dtype == DType::BF16 { 2f64.powi(-8) } else { 2f64.powi(-11) };
    let element = |(i, &y): (usize, &f32)| {
        let (head, i) = (i / (ROWS * width), i % (ROWS * width));
        let (expected, off) = match head % 2 {
            0 => (values[i], values[i].abs() * 2f64.powi(-16)),
            _ => (means[i], 4.0 * LARGEST * roundoff),
        };
        (f64::from(y) - expected).abs() <= off
    };
    y.iter().enumerate().all(element)
}

/// The result of an odd head.
fn means(width: usize) -> Vec<f64> {
    let score = |i: usize, j: usize| {
        (0..width).map(|d| f64::from(query(width, 1, i, d) * key(width, 1, j, d))).sum::<f64>()
    };
    let of_query = |i: usize| {
        let scores: Vec<f64> = (0..ROWS).map(|j| score(i, j)).collect();
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
        let all: f64 = weights.iter().sum();
        let of_column = move |d: usize| {
            let terms = weights.iter().enumerate().map(|(j, w)| w * f64::from(value(width, 1, j, d)));
            terms.sum::<f64>() / all
        };
        (0..width).map(of_column)
    };
    (0..ROWS).flat_map(of_query).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;

    /// The interpreter rounds as units should; nothing else passes.
    #[test]
    fn an_attention_that_rounds_as_it_should_is_right() {
        for precision in [Precision::F16, Precision::Bf16] {
            for width in [32, 64] {
                let options = Options::default().precision(precision);
                let graph = graph(2, width).expect("sound");
                let exe = crate::compile(&graph, &Device::cpu(), &options).expect("compiles");
                let y = run(&exe, 2, width).expect("runs");
                assert!(is_right(dtype(precision), width, &y), "{precision} of width {width}");
                for (i, wrong) in [(0, 1.0), (ROWS * width + 7, 0.2), (2 * ROWS * width - 1, f32::NAN)] {
                    let mut y = y.clone();
                    y[i] += wrong;
                    assert!(!is_right(dtype(precision), width, &y), "element {i}");
                }
                let other = if precision == Precision::F16 { DType::BF16 } else { DType::F16 };
                assert!(!is_right(other, width, &y), "another rounding");
            }
        }
    }
}
