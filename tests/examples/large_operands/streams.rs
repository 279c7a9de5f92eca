//! Elementwise steps, copies, gathers, and rows appended to a cache.

use crate::data::{self, Outcome, at, floats, judge_all, wide, window_starts};
use crate::{Case, Maker, Size};
use pumice_ir::ops::kv_append::AppendMode;
use pumice_ir::{GraphBuilder, Value, f32, i32, tensor};
use pumice_runtime::Outputs;
use pumice_types::{DType, Tensor};

/// Name and maker of each.
pub const CASES: &[Maker] = &[
    ("elementwise.flat", flat),
    ("elementwise.strided", strided),
    ("elementwise.concat", concat),
    ("copy.transpose", transpose),
    ("gather.words", gather),
    ("gather.halves", gather_halves),
    ("kv_append", kv_append),
];

/// Elements of a window that is looked at.
const COMPARED: u64 = 64;

/// The state `x` of this shape.
pub fn state<const R: usize>(g: &GraphBuilder, name: &str, shape: [u64; R]) -> Value {
    g.state_read(g.state(name, f32(shape)))
}

/// Outputs `at0`, `at1`, `at2`: windows of a value of one axis.
fn windows(g: &GraphBuilder, y: Value, n: u64) {
    for (k, from) in window_starts(n, COMPARED).into_iter().enumerate() {
        let window = g.slice(y, &[from as i64], &[(from + COMPARED) as i64], &[0], &[1]);
        g.output(&format!("at{k}"), window);
    }
}

/// Every element of the windows against a formula of its index.
fn equal(n: u64, want: impl Fn(u64) -> f32 + 'static) -> crate::Check {
    Box::new(move |outputs: &Outputs| {
        let mut worst = 0.0f64;
        for (k, from) in window_starts(n, COMPARED).into_iter().enumerate() {
            let got = floats(outputs, &format!("at{k}"))?;
            let each = (from..).zip(&got).map(|(i, got)| (i, got, f64::from(want(i)), 0.0));
            worst = worst.max(judge_all(each)?);
        }
        Ok(worst)
    })
}

fn case(g: GraphBuilder, check: crate::Check) -> Outcome<Case> {
    Ok(Case { graph: g.build()?, inputs: Vec::new(), patch: None, check })
}

fn flat(size: Size) -> Outcome<Case> {
    let g = GraphBuilder::new("flat");
    let x = state(&g, "x", [size.elements]);
    let number = |v| g.constant_scalar(DType::F32, v);
    windows(&g, g.add(g.mul(x, number(2.0)), number(1.0)), size.elements);
    case(g, equal(size.elements, |i| 2.0 * at(i) + 1.0))
}

/// x\[a, b, 8\] with its first two axes exchanged, plus one number a column.
fn strided(size: Size) -> Outcome<Case> {
    const WIDTH: u64 = 8;
    let (a, b) = (64, size.elements / 64 / WIDTH);
    let g = GraphBuilder::new("strided");
    let x = g.transpose(state(&g, "x", [a, b, WIDTH]), &[1, 0, 2]);
    let offsets: Vec<f32> = (0..WIDTH).map(|i| i as f32 * 16.0).collect();
    let y = g.add(x, g.constant(Tensor::new(&offsets, &[WIDTH])?));
    windows(&g, g.reshape(y, &[-1]), size.elements);
    let from = move |i: u64| {
        let (row, column, c) = (i / (a * WIDTH), i / WIDTH % a, i % WIDTH);
        at((column * b + row) * WIDTH + c) + c as f32 * 16.0
    };
    case(g, equal(size.elements, from))
}

fn concat(size: Size) -> Outcome<Case> {
    let half = size.elements / 2;
    let g = GraphBuilder::new("concat");
    let (x, z) = (state(&g, "x", [half]), state(&g, "z", [half]));
    windows(&g, g.concat(&[x, z], 0), size.elements);
    case(g, equal(size.elements, move |i| at(i % half)))
}

fn transpose(size: Size) -> Outcome<Case> {
    let (rows, columns) = (size.rows, size.columns);
    let g = GraphBuilder::new("transpose");
    let y = g.transpose(state(&g, "x", [rows, columns]), &[1, 0]);
    windows(&g, g.reshape(y, &[-1]), size.elements);
    case(g, equal(size.elements, move |i| at(i % rows * columns + i / rows)))
}

/// Rows at both ends and in the middle, from the end too.
fn picked(rows: u64) -> ([i32; 5], [u64; 5]) {
    let rows = rows as i32;
    let ids = [0, rows - 1, rows / 2, -1, -rows];
    (ids, ids.map(|i| i.rem_euclid(rows) as u64))
}

fn gathered(g: GraphBuilder, rows: u64, columns: u64) -> Outcome<Case> {
    let (ids, picked) = picked(rows);
    let check = move |outputs: &Outputs| {
        let got = floats(outputs, "y")?;
        let want = picked.iter().flat_map(|r| (0..columns).map(move |c| r * columns + c));
        judge_all(want.zip(&got).map(|(i, got)| (i, got, wide(i), 0.0)))
    };
    Ok(Case { inputs: vec![("ids", Tensor::new(&ids, &[5])?)], ..case(g, Box::new(check))? })
}

fn gather(size: Size) -> Outcome<Case> {
    let g = GraphBuilder::new("gather");
    let x = state(&g, "x", [size.rows, size.columns]);
    g.output("y", g.gather(x, g.input("ids", i32([5u64])), 0));
    gathered(g, size.rows, size.columns)
}

/// Twice as many elements, of 16 bits: a table as models have it.
fn gather_halves(size: Size) -> Outcome<Case> {
    let rows = 2 * size.rows;
    let g = GraphBuilder::new("gather_halves");
    let table = g.param("table", tensor(DType::BF16, [rows, size.columns]));
    let y = g.embedding(table, g.input("ids", i32([5u64])));
    g.output("y", g.cast(y, DType::F32));
    gathered(g, rows, size.columns)
}

/// Four rows into the last places of a cache; the four before them stay.
fn kv_append(size: Size) -> Outcome<Case> {
    const ROWS: u64 = 4;
    let (rows, columns) = (size.rows, size.columns);
    let g = GraphBuilder::new("kv_append");
    let cache = g.cache("x", f32([1, rows, columns]), 1);
    let (x, pos) = (g.input("rows", f32([1, ROWS, columns])), g.input("pos", i32::<u64>([])));
    let after = g.kv_append(cache, x, pos, 1, AppendMode::Linear);
    let first = rows - 2 * ROWS;
    g.output("y", g.slice(g.state_read(after), &[first as i64], &[rows as i64], &[1], &[1]));
    let appended: Vec<f32> = (0..ROWS * columns).map(|i| 100.0 + i as f32).collect();
    let inputs = vec![
        ("rows", Tensor::new(&appended, &[1, ROWS, columns])?),
        ("pos", Tensor::new(&[(rows - ROWS) as i32], &[])?),
    ];
    let check = move |outputs: &Outputs| {
        let got = floats(outputs, "y")?;
        let kept = (first * columns..(first + ROWS) * columns).map(data::wide);
        let want = kept.chain(appended.iter().map(|&v| f64::from(v)));
        judge_all((0..).zip(want.zip(&got)).map(|(i, (want, got))| (i, got, want, 0.0)))
    };
    Ok(Case { inputs, ..case(g, Box::new(check))? })
}
