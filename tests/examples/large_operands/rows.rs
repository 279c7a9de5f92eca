//! Reductions, first places, softmax and norms over the rows and the columns of a large operand.

use crate::data::{Outcome, at, floats, judge, judge_all, sum, wide, window_starts};
use crate::streams::state;
use crate::{Case, Check, Maker, Size};
use pumice_ir::{GraphBuilder, Value};
use pumice_runtime::Outputs;
use pumice_types::{DType, Tensor};

/// Name and maker of each.
pub const CASES: &[Maker] = &[
    ("reduce.rows", sum_rows),
    ("reduce.columns", sum_columns),
    ("reduce.strided", sum_strided),
    ("reduce.all", sum_all),
    ("reduce.max", max_all),
    ("arg.rows", arg_rows),
    ("arg.all", arg_all),
    ("softmax.rows", softmax_rows),
    ("softmax.columns", softmax_columns),
    ("layer_norm", layer_norm),
    ("rms_norm", rms_norm),
];

const EPSILON: f32 = 1e-5;

fn over(
    size: Size,
    name: &'static str,
    build: impl FnOnce(&GraphBuilder, Value),
    check: impl Fn(&Outputs) -> Outcome<f64> + 'static,
) -> Outcome<Case> {
    let g = GraphBuilder::new(name);
    let x = state(&g, "x", [size.rows, size.columns]);
    build(&g, x);
    Ok(Case { graph: g.build()?, inputs: Vec::new(), patch: None, check: Box::new(check) })
}

/// Places spread over `n`, the ends among them.
fn places(n: u64) -> impl Iterator<Item = u64> {
    (0..8).map(move |k| k * (n - 1) / 7)
}

/// Sums of multiples of 1/32 are exact in any order as long as they stay small.
fn sum_rows(size: Size) -> Outcome<Case> {
    let columns = size.columns;
    over(
        size,
        "reduce.rows",
        |g, x| g.output("y", g.reduce_sum(x, &[1], false)),
        move |outputs| {
            let got = floats(outputs, "y")?;
            let row = |r: u64| (r * columns..(r + 1) * columns).map(wide).sum();
            judge_all(places(size.rows).map(|r| (r, &got[r as usize], row(r), 0.0)))
        },
    )
}

fn sum_columns(size: Size) -> Outcome<Case> {
    over(
        size,
        "reduce.columns",
        |g, x| g.output("y", g.reduce_sum(x, &[0], false)),
        move |outputs| {
            let got = floats(outputs, "y")?;
            let column = |c: u64| sum(0..size.rows, |r| wide(r * size.columns + c));
            judge_all(places(size.columns).map(|c| (c, &got[c as usize], column(c), 0.0)))
        },
    )
}

/// The outer and the inner axis of three, most of the elements in the middle one.
fn sum_strided(size: Size) -> Outcome<Case> {
    const OUTER: u64 = 8;
    let (inner, middle) = (16, size.elements / OUTER / 16);
    let g = GraphBuilder::new("strided");
    let x = state(&g, "x", [OUTER, middle, inner]);
    let sums = g.reduce_sum(x, &[0, 2], false);
    let compared = window_starts(middle, 8);
    for (k, from) in compared.into_iter().enumerate() {
        let window = g.slice(sums, &[from as i64], &[(from + 8) as i64], &[0], &[1]);
        g.output(&format!("at{k}"), window);
    }
    let check = move |outputs: &Outputs| {
        let mut worst = 0.0f64;
        let one = |m: u64| -> f64 {
            let line = |o: u64| (0..inner).map(move |i| wide((o * middle + m) * inner + i));
            (0..OUTER).flat_map(line).sum()
        };
        for (k, from) in compared.into_iter().enumerate() {
            let got = floats(outputs, &format!("at{k}"))?;
            worst = worst.max(judge_all((from..).zip(&got).map(|(m, got)| (m, got, one(m), 0.0)))?);
        }
        Ok(worst)
    };
    let check: Check = Box::new(check);
    Ok(Case { graph: g.build()?, inputs: Vec::new(), patch: None, check })
}

fn sum_all(size: Size) -> Outcome<Case> {
    over(
        size,
        "reduce.all",
        |g, x| g.output("y", g.reduce_sum(x, &[], false)),
        move |outputs| {
            // What parts of it are is exact; the sum itself is rounded.
            let want = sum(0..size.elements, wide);
            judge("the sum", floats(outputs, "y")?[0], want, want.abs() * 2f64.powi(-24))
        },
    )
}

/// Row-wise maximum of the last element alone: everything else is smaller.
fn max_all(size: Size) -> Outcome<Case> {
    let g = GraphBuilder::new("max");
    g.output("y", g.reduce_max(state(&g, "x", [size.elements]), &[0], false));
    Ok(Case {
        graph: g.build()?,
        inputs: Vec::new(),
        patch: Some((size.elements - 1, vec![100.0])),
        check: Box::new(|outputs: &Outputs| judge("the maximum", floats(outputs, "y")?[0], 100.0, 0.0)),
    })
}

fn arg_rows(size: Size) -> Outcome<Case> {
    let columns = size.columns;
    over(
        size,
        "arg.rows",
        |g, x| g.output("y", g.cast(g.arg_max_i32(x, 1, false), DType::F32)),
        move |outputs| {
            let got = floats(outputs, "y")?;
            let first = |r: u64| {
                let better =
                    |best: u64, c: u64| if at(r * columns + c) > at(r * columns + best) { c } else { best };
                (0..columns).fold(0, better) as f64
            };
            judge_all(places(size.rows).map(|r| (r, &got[r as usize], first(r), 0.0)))
        },
    )
}

fn arg_all(size: Size) -> Outcome<Case> {
    let g = GraphBuilder::new("arg");
    g.output("y", g.arg_max(state(&g, "x", [size.elements]), 0, false));
    let last = size.elements - 1;
    let check = move |outputs: &Outputs| match outputs.get("y")?.to_vec::<i64>()?[..] {
        [place] if place == last as i64 => Ok(0.0),
        ref other => Err(format!("the largest is at {other:?}, not at {last}").into()),
    };
    let patch = Some((last, vec![100.0]));
    Ok(Case { graph: g.build()?, inputs: Vec::new(), patch, check: Box::new(check) })
}

/// Rows of the result at both ends and in the middle.
fn three_rows(g: &GraphBuilder, y: Value, rows: u64) {
    for (k, r) in window_starts(rows, 1).into_iter().enumerate() {
        g.output(&format!("row{k}"), g.slice(y, &[r as i64], &[r as i64 + 1], &[0], &[1]));
    }
}

/// Rows against a formula of the whole row: values, each with what it may be off by.
fn by_row(
    size: Size,
    row: impl Fn(&[f64]) -> Vec<(f64, f64)> + 'static,
) -> impl Fn(&Outputs) -> Outcome<f64> {
    move |outputs| {
        let mut worst = 0.0f64;
        for (k, r) in window_starts(size.rows, 1).into_iter().enumerate() {
            let got = floats(outputs, &format!("row{k}"))?;
            let x: Vec<f64> = (r * size.columns..(r + 1) * size.columns).map(wide).collect();
            let want = row(&x);
            let each = (r * size.columns..).zip(&got).zip(want);
            worst = worst.max(judge_all(each.map(|((i, got), (want, allowed))| (i, got, want, allowed)))?);
        }
        Ok(worst)
    }
}

fn softmax_rows(size: Size) -> Outcome<Case> {
    let row = |x: &[f64]| {
        let sum: f64 = x.iter().map(|v| v.exp()).sum();
        x.iter().map(|v| (v.exp() / sum, 4e-6 * v.exp() / sum)).collect()
    };
    over(size, "softmax.rows", |g, x| three_rows(g, g.softmax(x, 1), size.rows), by_row(size, row))
}

/// Along the first axis: the first and the last eight columns of three rows.
fn softmax_columns(size: Size) -> Outcome<Case> {
    let columns = size.columns;
    over(
        size,
        "softmax.columns",
        |g, x| three_rows(g, g.softmax(x, 0), size.rows),
        move |outputs| {
            let compared: Vec<u64> = (0..4).chain(columns - 4..columns).collect();
            let sums = compared.iter().map(|&c| (c, sum(0..size.rows, |r| wide(r * columns + c).exp())));
            let sums: Vec<(u64, f64)> = sums.collect();
            let mut worst = 0.0f64;
            for (k, r) in window_starts(size.rows, 1).into_iter().enumerate() {
                let got = floats(outputs, &format!("row{k}"))?;
                let each = sums.iter().map(|&(c, sum)| {
                    let want = wide(r * columns + c).exp() / sum;
                    (r * columns + c, &got[c as usize], want, 1e-5 * want)
                });
                worst = worst.max(judge_all(each)?);
            }
            Ok(worst)
        },
    )
}

fn ones(g: &GraphBuilder, n: u64) -> Outcome<Value> {
    Ok(g.constant(Tensor::new(&vec![1f32; n as usize], &[n])?))
}

fn layer_norm(size: Size) -> Outcome<Case> {
    let row = |x: &[f64]| {
        let n = x.len() as f64;
        let mean = x.iter().sum::<f64>() / n;
        let variance = x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
        let scale = 1.0 / (variance + f64::from(EPSILON)).sqrt();
        x.iter().map(|v| ((v - mean) * scale, 1e-5)).collect()
    };
    let g = GraphBuilder::new("layer_norm");
    let gamma = ones(&g, size.columns)?;
    three_rows(&g, g.layer_norm(state(&g, "x", [size.rows, size.columns]), gamma, None, EPSILON), size.rows);
    let check = Box::new(by_row(size, row));
    Ok(Case { graph: g.build()?, inputs: Vec::new(), patch: None, check })
}

fn rms_norm(size: Size) -> Outcome<Case> {
    let row = |x: &[f64]| {
        let square = x.iter().map(|v| v * v).sum::<f64>() / x.len() as f64;
        let scale = 1.0 / (square + f64::from(EPSILON)).sqrt();
        x.iter().map(|v| (v * scale, 1e-5)).collect()
    };
    let g = GraphBuilder::new("rms_norm");
    let gamma = ones(&g, size.columns)?;
    three_rows(&g, g.rms_norm(state(&g, "x", [size.rows, size.columns]), gamma, EPSILON), size.rows);
    let check = Box::new(by_row(size, row));
    Ok(Case { graph: g.build()?, inputs: Vec::new(), patch: None, check })
}
