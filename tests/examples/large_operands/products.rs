//! Matrix products with one large operand or a large result, attention over many keys, rotary embeddings.

use crate::data::{self, Outcome, at, floats, judge_all, of_sum, wide, window_starts};
use crate::streams::state;
use crate::{Case, Check, Maker, Size};
use pumice_ir::ops::{Attention, Rotary};
use pumice_ir::{GraphBuilder, Value, f32, i32, tensor};
use pumice_runtime::Outputs;
use pumice_types::{DType, Tensor};

/// Name and maker of each.
pub const CASES: &[Maker] = &[
    ("product.dot", |size| dot("product.dot", size, DType::F32)),
    ("product.dot.halves", |size| dot("product.dot.halves", size, DType::BF16)),
    ("product.columns", |size| columns("product.columns", size, DType::F32)),
    ("product.columns.halves", |size| columns("product.columns.halves", size, DType::BF16)),
    ("product.tile.left", tile_left),
    ("product.tile.right", tile_right),
    ("product.tile.result", tile_result),
    ("attention", attention),
    ("rotary", rotary),
];

fn case(
    g: GraphBuilder,
    inputs: Vec<(&'static str, Tensor)>,
    check: impl Fn(&Outputs) -> Outcome<f64> + 'static,
) -> Outcome<Case> {
    let check: Check = Box::new(check);
    Ok(Case { graph: g.build()?, inputs, patch: None, check })
}

/// Small operands are inputs, by the same formula.
fn small(shape: &[u64]) -> Outcome<Tensor> {
    let values: Vec<f32> = (0..shape.iter().product()).map(at).collect();
    Ok(Tensor::new(&values, shape)?)
}

/// Σ a(i)·b(j) with what it may be off by.
fn product(terms: impl Iterator<Item = (u64, u64)>) -> (f64, f64) {
    let add = |(sum, size, k): (f64, f64, u64), (i, j): (u64, u64)| {
        let term = wide(i) * wide(j);
        (sum + term, size + term.abs(), k + 1)
    };
    let (sum, size, k) = terms.fold((0.0, 0.0, 0), add);
    (sum, of_sum(k, size))
}

fn places(n: u64) -> impl Iterator<Item = u64> {
    (0..8).map(move |k| k * (n - 1) / 7)
}

/// The large operand: a state of words, or a weight of halves with twice the rows.
fn weight(g: &GraphBuilder, size: Size, dtype: DType) -> (Value, u64) {
    if dtype == DType::F32 {
        return (state(g, "x", [size.rows, size.columns]), size.rows);
    }
    let rows = 2 * size.rows;
    (g.param("w", tensor(dtype, [rows, size.columns])), rows)
}

/// One row of that dtype, by the formula.
fn row(n: u64, dtype: DType) -> Outcome<Vec<(&'static str, Tensor)>> {
    let bytes = if dtype == DType::F32 { data::words(n) } else { data::halves(n) };
    Ok(vec![("a", Tensor::from_bytes(dtype, &[1, n], bytes)?)])
}

/// What rounding a result to the dtype may add: a unit in the last place.
fn rounding(dtype: DType, want: f64) -> f64 {
    if dtype == DType::F32 { 0.0 } else { want.abs() / 128.0 }
}

/// One row times many: y\[1, rows\] = a\[1, columns\] · wᵀ.
fn dot(name: &'static str, size: Size, dtype: DType) -> Outcome<Case> {
    let columns = size.columns;
    let g = GraphBuilder::new(name);
    let (w, rows) = weight(&g, size, dtype);
    let y = g.linear(g.input("a", tensor(dtype, [1, columns])), w, None);
    g.output("y", g.cast(y, DType::F32));
    case(g, row(columns, dtype)?, move |outputs| {
        let got = floats(outputs, "y")?;
        let one = |r: u64| product((0..columns).map(|k| (k, r * columns + k)));
        judge_all(places(rows).map(|r| {
            let (want, allowed) = one(r);
            (r, &got[r as usize], want, allowed + rounding(dtype, want))
        }))
    })
}

/// One row times a matrix of many rows: y\[1, columns\] = a\[1, rows\] · w.
fn columns(name: &'static str, size: Size, dtype: DType) -> Outcome<Case> {
    let columns = size.columns;
    let g = GraphBuilder::new(name);
    let (w, rows) = weight(&g, size, dtype);
    let y = g.matmul(g.input("a", tensor(dtype, [1, rows])), w);
    g.output("y", g.cast(y, DType::F32));
    case(g, row(rows, dtype)?, move |outputs| {
        let got = floats(outputs, "y")?;
        let one = |c: u64| product((0..rows).map(|k| (k, k * columns + c)));
        judge_all(places(columns).map(|c| {
            let (want, allowed) = one(c);
            (c, &got[c as usize], want, allowed + rounding(dtype, want))
        }))
    })
}

/// Rows of a result of `width` columns at both ends and in the middle.
fn three_rows(g: &GraphBuilder, y: Value, rows: u64) {
    for (k, r) in window_starts(rows, 1).into_iter().enumerate() {
        g.output(&format!("row{k}"), g.slice(y, &[r as i64], &[r as i64 + 1], &[0], &[1]));
    }
}

fn judge_rows(
    outputs: &Outputs,
    rows: u64,
    width: u64,
    one: impl Fn(u64, u64) -> (f64, f64),
) -> Outcome<f64> {
    let mut worst = 0.0f64;
    for (k, r) in window_starts(rows, 1).into_iter().enumerate() {
        let got = floats(outputs, &format!("row{k}"))?;
        let each = places(width).map(|c| (r * width + c, &got[c as usize], one(r, c).0, one(r, c).1));
        worst = worst.max(judge_all(each)?);
    }
    Ok(worst)
}

fn tile_left(size: Size) -> Outcome<Case> {
    const WIDTH: u64 = 64;
    let (rows, depth) = (size.rows, size.columns);
    let g = GraphBuilder::new("left");
    let b = g.input("b", f32([depth, WIDTH]));
    three_rows(&g, g.matmul(state(&g, "x", [rows, depth]), b), rows);
    case(g, vec![("b", small(&[depth, WIDTH])?)], move |outputs| {
        let one = |r: u64, c: u64| product((0..depth).map(|k| (r * depth + k, k * WIDTH + c)));
        judge_rows(outputs, rows, WIDTH, one)
    })
}

fn tile_right(size: Size) -> Outcome<Case> {
    const ROWS: u64 = 48;
    let (depth, columns) = (size.rows, size.columns);
    let g = GraphBuilder::new("right");
    let a = g.input("a", f32([ROWS, depth]));
    three_rows(&g, g.matmul(a, state(&g, "x", [depth, columns])), ROWS);
    case(g, vec![("a", small(&[ROWS, depth])?)], move |outputs| {
        let one = |r: u64, c: u64| product((0..depth).map(|k| (r * depth + k, k * columns + c)));
        judge_rows(outputs, ROWS, columns, one)
    })
}

/// A large result of two small operands.
fn tile_result(size: Size) -> Outcome<Case> {
    const DEPTH: u64 = 32;
    let (rows, columns) = (size.rows, size.columns);
    let g = GraphBuilder::new("result");
    let (a, b) = (g.input("a", f32([rows, DEPTH])), g.input("b", f32([DEPTH, columns])));
    three_rows(&g, g.matmul(a, b), rows);
    let inputs = vec![("a", small(&[rows, DEPTH])?), ("b", small(&[DEPTH, columns])?)];
    case(g, inputs, move |outputs| {
        let one = |r: u64, c: u64| product((0..DEPTH).map(|k| (r * DEPTH + k, k * columns + c)));
        judge_rows(outputs, rows, columns, one)
    })
}

/// Many keys and values of eight heads, of which queries see a window at the end: of millions, terms added one after
/// the other would be off by more than shows a wrong index.
fn attention(size: Size) -> Outcome<Case> {
    const HEADS: u64 = 8;
    const QUERIES: u64 = 32;
    const WIDTH: u64 = 64;
    const SCALE: f32 = 1.0 / 256.0;
    const WINDOW: u64 = 1024;
    let keys = size.elements / HEADS / WIDTH;
    let g = GraphBuilder::new("attention");
    let q = g.input("q", f32([1, HEADS, QUERIES, WIDTH]));
    let (k, v) = (state(&g, "x", [1, HEADS, keys, WIDTH]), state(&g, "z", [1, HEADS, keys, WIDTH]));
    let op = Attention { scale: Some(SCALE), left: WINDOW as i64 - 1, ..Attention::default() };
    let len = g.input("len", i32::<u64>([]));
    let y = g.attention(q, k, v, None, Some(len), op);
    let (h, i) = (HEADS - 1, QUERIES - 1);
    g.output("y", g.slice(y, &[h as i64, i as i64], &[h as i64 + 1, i as i64 + 1], &[1, 2], &[1, 1]));
    let len = Tensor::new(&[i32::try_from(keys)?], &[])?;
    let inputs = vec![("q", small(&[1, HEADS, QUERIES, WIDTH])?), ("len", len)];
    case(g, inputs, move |outputs| {
        let got = floats(outputs, "y")?;
        let query = (h * QUERIES + i) * WIDTH;
        let (mut total, mut sums, mut sizes) = (0.0, [0.0f64; WIDTH as usize], [0.0f64; WIDTH as usize]);
        for j in keys.saturating_sub(WINDOW)..keys {
            let key = (h * keys + j) * WIDTH;
            let score: f64 = (0..WIDTH).map(|d| wide(query + d) * wide(key + d)).sum();
            let p = (score * f64::from(SCALE)).exp();
            total += p;
            for d in 0..WIDTH as usize {
                let term = p * wide(key + d as u64);
                sums[d] += term;
                sizes[d] += term.abs();
            }
        }
        let each = (0..).zip(&got).map(|(d, got)| {
            let (sum, size) = (sums[d as usize] / total, sizes[d as usize] / total);
            // The largest sum of |q·k|·scale is below 2.
            (d, got, sum, of_sum(WINDOW, 5.0 * size))
        });
        judge_all(each)
    })
}

/// Angles of positions in the millions.
fn rotary(size: Size) -> Outcome<Case> {
    const HEADS: u64 = 8;
    const WIDTH: u64 = 64;
    const START: i32 = 5;
    let rows = size.elements / HEADS / WIDTH;
    let g = GraphBuilder::new("rotary");
    let x = state(&g, "x", [1, HEADS, rows, WIDTH]);
    let y = g.rotary(x, g.input("pos", i32::<u64>([])), Rotary::default());
    let compared = window_starts(rows, 1);
    for (k, r) in compared.into_iter().enumerate() {
        let (from, to) = ([HEADS as i64 - 1, r as i64], [HEADS as i64, r as i64 + 1]);
        g.output(&format!("row{k}"), g.slice(y, &from, &to, &[1, 2], &[1, 1]));
    }
    case(g, vec![("pos", Tensor::new(&[START], &[])?)], move |outputs| {
        let mut worst = 0.0f64;
        for (k, r) in compared.into_iter().enumerate() {
            let got = floats(outputs, &format!("row{k}"))?;
            let row = ((HEADS - 1) * rows + r) * WIDTH;
            let one = |c: u64| {
                let i = c % (WIDTH / 2);
                let turn = f64::from(10_000f32).powf(-2.0 * i as f64 / WIDTH as f64);
                let (sin, cos) = ((i64::from(START) + r as i64) as f64 * turn).sin_cos();
                let (a, b) = (wide(row + i), wide(row + i + WIDTH / 2));
                let want = if c < WIDTH / 2 { cos * a - sin * b } else { sin * a + cos * b };
                (want, of_sum(2, a.abs() + b.abs()))
            };
            let each = (0..WIDTH).zip(&got).map(|(c, got)| (row + c, got, one(c).0, one(c).1));
            worst = worst.max(judge_all(each)?);
        }
        Ok(worst)
    })
}
