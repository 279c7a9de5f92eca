//! Cases bound by memory (S1): a sum of long vectors, row kernels, a column sum, a chain of elementwise ops. Operands
//! and results are larger than any cache.

use crate::data;
use crate::rig::{Rig, Spec, size};
use crate::row::{Bar, Outcome, Rate, Row};
use crate::{Case, Spelled};
use pumice::{Graph, GraphBuilder, Outputs, Value, f32};

const EPSILON: f32 = 1e-5;

/// An op over an n × n matrix that keeps its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rows {
    Softmax,
    LayerNorm,
    /// gelu(2x + 1) · x.
    Gelu,
}

/// The cases.
pub fn cases(full: bool) -> Vec<Case> {
    let elements = size(full, 1u64 << 28, 1 << 20);
    let n = size(full, 8192u64, 256);
    let fused = |graph| Ok(Spelled { graph, fused: true });
    let rows = |name: &str, op, bar: Bar| {
        let name = format!("S1.{name}_{n}");
        Case::new(name.clone(), move |rig| Ok(vec![over_rows(rig, &name, op, n, bar.clone())?]))
            .spelled(move || fused(graph_of_rows(op, n)?))
    };
    vec![
        Case::new(format!("S1.add_{}Mi", elements >> 20), move |rig| Ok(vec![add(rig, elements)?]))
            .spelled(move || fused(graph_of_add(elements)?)),
        rows("softmax", Rows::Softmax, Bar::Ratio(1.3)),
        rows("layer_norm", Rows::LayerNorm, Bar::Ratio(1.3)),
        Case::new(format!("S1.column_sum_{n}"), move |rig| Ok(vec![column_sum(rig, n)?]))
            .spelled(move || fused(graph_of_column_sum(n)?)),
        rows("gelu_chain", Rows::Gelu, Bar::None),
    ]
}

/// x + y of `n` elements. 3 · 4 n bytes.
fn add(rig: &Rig, n: u64) -> Outcome<Row> {
    let (x, y) = (data::random(11, n as usize, -1.0, 1.0), data::random(12, n as usize, -1.0, 1.0));
    let check = |outputs: &Outputs| {
        for at in places_of_add(n) {
            let got = outputs.get(&format!("at{at}"))?.to_vec::<f32>()?;
            let range = at as usize..(at + COMPARED) as usize;
            let terms = x[range.clone()].iter().zip(&y[range]);
            let want: Vec<f64> = terms.map(|(a, b)| f64::from(a + b)).collect();
            data::worst(&got, &want, 0.0)?;
        }
        Ok(format!("3 x {COMPARED} elements: equal to f32 sums"))
    };
    rig.measure(&Spec {
        name: format!("S1.add_{}Mi", n >> 20),
        fill: vec![("x", &x), ("y", &y)],
        rate: Rate::Tbps(12.0 * n as f64),
        bar: Bar::Rate(3.5),
        ..plain(graph_of_add(n)?, &check)
    })
}

/// Elements of a sum that are looked at in one place.
const COMPARED: u64 = 256;

/// The first, middle and last elements.
fn places_of_add(n: u64) -> [u64; 3] {
    [0, n / 2 - COMPARED / 2, n - COMPARED]
}

fn graph_of_add(n: u64) -> Outcome<Graph> {
    let g = GraphBuilder::new("add");
    let state = |name| g.state_read(g.state(name, f32([n])));
    let sum = g.add(state("x"), state("y"));
    for at in places_of_add(n) {
        g.output(&format!("at{at}"), g.slice(sum, &[at as i64], &[(at + COMPARED) as i64], &[0], &[1]));
    }
    Ok(g.build()?)
}

/// A case of one op that is fused and not judged, until its fields say otherwise.
fn plain<'a>(graph: Graph, check: &'a dyn Fn(&Outputs) -> Outcome<String>) -> Spec<'a> {
    let (name, fill) = (String::new(), Vec::new());
    Spec { name, graph, fused: true, fill, per: 1, rate: Rate::None, bar: Bar::None, check }
}

fn over_rows(rig: &Rig, name: &str, op: Rows, n: u64, bar: Bar) -> Outcome<Row> {
    let x = data::random(13, (n * n) as usize, -2.0, 2.0);
    let (gamma, beta) = (data::random(14, n as usize, 0.5, 1.5), data::random(15, n as usize, -1.0, 1.0));
    let mut fill: Vec<(&str, &[f32])> = vec![("x", &x)];
    if op == Rows::LayerNorm {
        fill.extend([("gamma", gamma.as_slice()), ("beta", &beta)]);
    }
    let check = |outputs: &Outputs| {
        let mut worst = 0.0f64;
        for row in rows_compared(n) {
            let got = outputs.get(&format!("row{row}"))?.to_vec::<f32>()?;
            let line: Vec<f64> =
                x[(row * n) as usize..((row + 1) * n) as usize].iter().map(|&v| f64::from(v)).collect();
            worst = worst.max(data::worst(&got, &expected(op, &line, &gamma, &beta), 1e-5)?);
        }
        Ok(format!("three rows against f64: {worst:.1e}"))
    };
    let rate = Rate::Tbps(8.0 * (n * n) as f64);
    rig.measure(&Spec { name: name.to_owned(), fill, rate, bar, ..plain(graph_of_rows(op, n)?, &check) })
}

/// First, middle, last.
fn rows_compared(n: u64) -> [u64; 3] {
    [0, n / 2, n - 1]
}

fn graph_of_rows(op: Rows, n: u64) -> Outcome<Graph> {
    let g = GraphBuilder::new("rows");
    let y = apply(&g, op, g.state_read(g.state("x", f32([n, n]))), n);
    for row in rows_compared(n) {
        g.output(&format!("row{row}"), g.slice(y, &[row as i64], &[row as i64 + 1], &[0], &[1]));
    }
    Ok(g.build()?)
}

fn apply(g: &GraphBuilder, op: Rows, x: Value, n: u64) -> Value {
    match op {
        Rows::Softmax => g.softmax(x, -1),
        Rows::LayerNorm => {
            g.layer_norm(x, g.param("gamma", f32([n])), Some(g.param("beta", f32([n]))), EPSILON)
        }
        Rows::Gelu => {
            let number = |v| g.constant_scalar(pumice::DType::F32, v);
            let inner = g.add(g.mul(x, number(2.0)), number(1.0));
            g.mul(g.gelu(inner), x)
        }
    }
}

fn expected(op: Rows, line: &[f64], gamma: &[f32], beta: &[f32]) -> Vec<f64> {
    let n = line.len() as f64;
    match op {
        Rows::Softmax => {
            let top = line.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = line.iter().map(|v| (v - top).exp()).sum();
            line.iter().map(|v| (v - top).exp() / sum).collect()
        }
        Rows::LayerNorm => {
            let mean = line.iter().sum::<f64>() / n;
            let variance = line.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
            let scale = 1.0 / (variance + f64::from(EPSILON)).sqrt();
            let affine = gamma.iter().zip(beta);
            let one = |(v, (g, b)): (&f64, (&f32, &f32))| (v - mean) * scale * f64::from(*g) + f64::from(*b);
            line.iter().zip(affine).map(one).collect()
        }
        Rows::Gelu => line.iter().map(|&v| data::gelu(2.0 * v + 1.0) * v).collect(),
    }
}

/// The sum over the first axis. 4 n² bytes.
fn column_sum(rig: &Rig, n: u64) -> Outcome<Row> {
    let x = data::random(16, (n * n) as usize, -1.0, 1.0);
    let check = |outputs: &Outputs| {
        let got = outputs.get("sums")?.to_vec::<f32>()?;
        let want = data::row_times(&vec![1.0; n as usize], &x, n as usize);
        // n terms below 1, added in any order: each addition may be off by half of what a partial sum can resolve.
        let tolerance = n as f64 * f64::from(f32::EPSILON);
        Ok(format!("every sum against f64: {:.1e}", data::worst(&got, &want, tolerance)?))
    };
    rig.measure(&Spec {
        name: format!("S1.column_sum_{n}"),
        fill: vec![("x", &x)],
        rate: Rate::Tbps(4.0 * (n * n) as f64),
        ..plain(graph_of_column_sum(n)?, &check)
    })
}

fn graph_of_column_sum(n: u64) -> Outcome<Graph> {
    let g = GraphBuilder::new("column_sum");
    g.output("sums", g.reduce_sum(g.state_read(g.state("x", f32([n, n]))), &[0], false));
    Ok(g.build()?)
}
