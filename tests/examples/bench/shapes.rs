//! Shapes for which kernels are easily chosen badly (F8): few long rows, inner and separated axes, transposed operands,
//! one query over many keys, long k, few rows. Several sizes each; PyTorch beside them is the bar.

use crate::data;
use crate::forward;
use crate::ordered::{Added, Cumulated, Largest, Sorted};
use crate::rig::{Rig, Spec};
use crate::row::{Bar, Outcome, Rate, Row};
use crate::{Case, Spelled};
use pumice::{Graph, GraphBuilder, Outputs, Value, f32};
use pumice_ir::ops::Attention;
use serde::Deserialize;
use std::rc::Rc;

/// Elements of a result that are looked at, at its beginning and at its end.
const COMPARED: usize = 256;

/// A graph over states, and what it must give.
pub trait Shape {
    /// The part of the name after `F8.`.
    fn name(&self) -> String;
    /// Extents of the operands.
    fn operands(&self) -> Vec<Vec<u64>>;
    /// The result.
    fn apply(&self, g: &GraphBuilder, x: &[Value]) -> Value;
    /// Extents of the result.
    fn result(&self) -> Vec<u64>;
    /// The elements of the result at these places, by the operands in f64, and what each may be off by.
    fn expected(&self, x: &[Vec<f32>], places: &[usize]) -> Vec<(f64, f64)>;
    /// Bytes of operands and result, or operations where they say more.
    fn rate(&self) -> Rate {
        let all = self.operands().iter().chain([&self.result()]).map(|s| elements(s)).sum::<usize>();
        Rate::Tbps(4.0 * all as f64)
    }
}

fn elements(shape: &[u64]) -> usize {
    shape.iter().product::<u64>() as usize
}

/// The cases of the committed lists.
pub fn cases(full: bool) -> Outcome<Vec<Case>> {
    Ok(of(Lists::committed(full)?))
}

/// The cases of some lists.
pub fn of(lists: Lists) -> Vec<Case> {
    let case = |shape: Rc<dyn Shape>| {
        let measured = shape.clone();
        Case::new(format!("F8.{}", shape.name()), move |rig| measure(rig, &*measured))
            .spelled(move || Ok(Spelled { graph: graph(&*shape)?, fused: true }))
    };
    lists.shapes().into_iter().map(case).collect()
}

/// The committed lists.
const COMMITTED: &str = include_str!("../../data/shapes.json");

/// Lists of shapes.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Lists {
    /// Outer, softmax axis, inner.
    softmax: Vec<[u64; 3]>,
    /// Extents, axes.
    sums: Vec<(Vec<u64>, Vec<i64>)>,
    /// Extents, permutation.
    transposed: Vec<(Vec<u64>, Vec<usize>)>,
    /// Elements.
    odd: Vec<u64>,
    /// Batches, heads, key heads, queries, keys, width.
    attention: Vec<[u64; 6]>,
    /// m, k, n.
    products: Vec<[u64; 3]>,
    /// Outer, sorted axis, inner.
    sorts: Vec<[u64; 3]>,
    /// Rows, n, k.
    largest: Vec<[u64; 3]>,
    /// Outer, cumulated axis, inner.
    cumulated: Vec<[u64; 3]>,
    /// Rows, width, updates.
    added: Vec<[u64; 3]>,
    #[serde(flatten)]
    forward: forward::Lists,
}

/// The committed lists: full sizes are for GPUs, the same kinds in small elsewhere.
#[derive(Debug, Deserialize)]
struct Committed {
    full: Lists,
    small: Lists,
}

impl Lists {
    fn committed(full: bool) -> Outcome<Lists> {
        let lists: Committed = serde_json::from_str(COMMITTED)?;
        Ok(if full { lists.full } else { lists.small })
    }

    fn shapes(self) -> Vec<Rc<dyn Shape>> {
        let mut all: Vec<Rc<dyn Shape>> = Vec::new();
        all.extend(self.softmax.into_iter().map(|shape| Rc::new(Softmax(shape)) as _));
        all.extend(self.sums.into_iter().map(|(shape, axes)| Rc::new(Sum { shape, axes }) as _));
        let transposed = self.transposed.into_iter();
        all.extend(transposed.map(|(shape, perm)| Rc::new(Transposed { shape, perm }) as _));
        all.extend(self.odd.into_iter().map(|n| Rc::new(Odd(n)) as _));
        let attend = |[batch, heads, key_heads, queries, keys, width]: [u64; 6]| {
            Rc::new(Attend { batch, heads, key_heads, queries, keys, width }) as _
        };
        all.extend(self.attention.into_iter().map(attend));
        for along_k in [false, true] {
            all.extend(self.products.iter().map(|&[m, k, n]| Rc::new(Product { m, k, n, along_k }) as _));
        }
        all.extend(self.sorts.into_iter().map(|shape| Rc::new(Sorted(shape)) as _));
        all.extend(self.largest.into_iter().map(|[rows, n, k]| Rc::new(Largest { rows, n, k }) as _));
        all.extend(self.cumulated.into_iter().map(|shape| Rc::new(Cumulated(shape)) as _));
        let added = self.added.into_iter();
        all.extend(added.map(|[rows, width, updates]| Rc::new(Added { rows, width, updates }) as _));
        all.extend(self.forward.shapes());
        all
    }
}

fn graph(shape: &dyn Shape) -> Outcome<Graph> {
    let g = GraphBuilder::new("shape");
    let operands = shape.operands();
    let read = |(i, extents): (usize, &Vec<u64>)| {
        g.state_read(g.state(&format!("x{i}"), f32(extents.iter().copied())))
    };
    let x: Vec<Value> = operands.iter().enumerate().map(read).collect();
    let y = shape.apply(&g, &x);
    let n = elements(&shape.result());
    // Outputs lie where the host sees them: of larger results only the looked-at elements are one.
    if n <= 2 * COMPARED {
        g.output("y", y);
    } else {
        let flat = g.reshape(y, &[n as i64]);
        g.output("first", g.slice(flat, &[0], &[COMPARED as i64], &[0], &[1]));
        g.output("last", g.slice(flat, &[(n - COMPARED) as i64], &[n as i64], &[0], &[1]));
    }
    Ok(g.build()?)
}

fn measure(rig: &Rig, shape: &dyn Shape) -> Outcome<Vec<Row>> {
    let operands = shape.operands();
    let x: Vec<Vec<f32>> = operands
        .iter()
        .enumerate()
        .map(|(i, s)| data::random(31 + i as u64, elements(s), -1.0, 1.0))
        .collect();
    let names: Vec<String> = (0..x.len()).map(|i| format!("x{i}")).collect();
    let n = elements(&shape.result());
    let places: Vec<usize> =
        if n <= 2 * COMPARED { (0..n).collect() } else { (0..COMPARED).chain(n - COMPARED..n).collect() };
    let want = shape.expected(&x, &places);
    let check = |outputs: &Outputs| {
        let got: Vec<f32> = if n <= 2 * COMPARED {
            outputs.get("y")?.to_vec::<f32>()?
        } else {
            [outputs.get("first")?.to_vec::<f32>()?, outputs.get("last")?.to_vec::<f32>()?].concat()
        };
        let values: Vec<f64> = want.iter().map(|w| w.0).collect();
        let worst = data::worst_within(&got, &values, |i| want[i].1)?;
        Ok(format!("{} elements against f64: {worst:.1e}", places.len()))
    };
    let row = rig.measure(&Spec {
        name: format!("F8.{}", shape.name()),
        graph: graph(shape)?,
        fused: true,
        fill: names.iter().map(String::as_str).zip(x.iter().map(Vec::as_slice)).collect(),
        per: 1,
        rate: shape.rate(),
        bar: Bar::RatioBeyond(0.7, 5.0),
        check: &check,
    })?;
    Ok(vec![row])
}

pub fn joined(extents: &[u64]) -> String {
    extents.iter().map(u64::to_string).collect::<Vec<_>>().join("x")
}

/// Along the middle axis.
struct Softmax([u64; 3]);

impl Shape for Softmax {
    fn name(&self) -> String {
        let what = if self.0[2] == 1 { "rows" } else { "inner" };
        format!("softmax_{what}_{}", joined(&self.0[..if self.0[2] == 1 { 2 } else { 3 }]))
    }
    fn operands(&self) -> Vec<Vec<u64>> {
        vec![self.0.to_vec()]
    }
    fn result(&self) -> Vec<u64> {
        self.0.to_vec()
    }
    fn apply(&self, g: &GraphBuilder, x: &[Value]) -> Value {
        g.softmax(x[0], 1)
    }
    fn expected(&self, x: &[Vec<f32>], places: &[usize]) -> Vec<(f64, f64)> {
        let [_, n, inner] = self.0.map(|e| e as usize);
        let mut last = (usize::MAX, 0.0);
        let one = |&i: &usize| {
            let column = i / (n * inner) * n * inner + i % inner;
            if last.0 != column {
                last = (column, (0..n).map(|r| f64::from(x[0][column + r * inner]).exp()).sum());
            }
            let y = f64::from(x[0][i]).exp() / last.1;
            (y, 1e-5 * y)
        };
        places.iter().map(one).collect()
    }
}

/// Over axes with others between them.
struct Sum {
    shape: Vec<u64>,
    axes: Vec<i64>,
}

impl Sum {
    fn is_reduced(&self, axis: usize) -> bool {
        self.axes.contains(&(axis as i64))
    }
}

impl Shape for Sum {
    fn name(&self) -> String {
        let axes: Vec<String> = self.axes.iter().map(i64::to_string).collect();
        format!("sum_{}_over_{}", joined(&self.shape), axes.join("_"))
    }
    fn operands(&self) -> Vec<Vec<u64>> {
        vec![self.shape.to_vec()]
    }
    fn result(&self) -> Vec<u64> {
        (0..self.shape.len()).filter(|&a| !self.is_reduced(a)).map(|a| self.shape[a]).collect()
    }
    fn apply(&self, g: &GraphBuilder, x: &[Value]) -> Value {
        g.reduce_sum(x[0], &self.axes, false)
    }
    fn expected(&self, x: &[Vec<f32>], places: &[usize]) -> Vec<(f64, f64)> {
        let mut sums = vec![0.0f64; elements(&self.result())];
        let mut sizes = sums.clone();
        let mut at = vec![0u64; self.shape.len()];
        for &v in &x[0] {
            let kept = (0..at.len()).filter(|&a| !self.is_reduced(a));
            let place = kept.fold(0, |p, a| p * self.shape[a] + at[a]) as usize;
            sums[place] += f64::from(v);
            sizes[place] += f64::from(v.abs());
            for axis in (0..at.len()).rev() {
                at[axis] += 1;
                if at[axis] < self.shape[axis] {
                    break;
                }
                at[axis] = 0;
            }
        }
        let terms = (x[0].len() / sums.len()) as u64;
        places.iter().map(|&i| (sums[i], data::of_sum(terms, sizes[i]))).collect()
    }
}

/// x under another order of its axes, plus y.
struct Transposed {
    shape: Vec<u64>,
    perm: Vec<usize>,
}

impl Shape for Transposed {
    fn name(&self) -> String {
        let perm: Vec<String> = self.perm.iter().map(usize::to_string).collect();
        format!("add_{}_as_{}", joined(&self.shape), perm.join(""))
    }
    fn operands(&self) -> Vec<Vec<u64>> {
        vec![self.shape.to_vec(), self.result()]
    }
    fn result(&self) -> Vec<u64> {
        self.perm.iter().map(|&a| self.shape[a]).collect()
    }
    fn apply(&self, g: &GraphBuilder, x: &[Value]) -> Value {
        let perm: Vec<i64> = self.perm.iter().map(|&a| a as i64).collect();
        g.add(g.transpose(x[0], &perm), x[1])
    }
    fn expected(&self, x: &[Vec<f32>], places: &[usize]) -> Vec<(f64, f64)> {
        let strides: Vec<usize> = (0..self.shape.len()).map(|a| elements(&self.shape[a + 1..])).collect();
        let result = self.result();
        let one = |&i: &usize| {
            let mut rest = i;
            let mut from = 0;
            for axis in (0..result.len()).rev() {
                from += rest % result[axis] as usize * strides[self.perm[axis]];
                rest /= result[axis] as usize;
            }
            (f64::from(x[0][from] + x[1][i]), 0.0)
        };
        places.iter().map(one).collect()
    }
}

/// Vectors without their first elements.
struct Odd(u64);

impl Shape for Odd {
    fn name(&self) -> String {
        format!("odd_offset_{}", self.0)
    }
    fn operands(&self) -> Vec<Vec<u64>> {
        vec![vec![self.0], vec![self.0]]
    }
    fn result(&self) -> Vec<u64> {
        vec![self.0 - 1]
    }
    fn apply(&self, g: &GraphBuilder, x: &[Value]) -> Value {
        let n = self.0 as i64;
        g.add(g.slice(x[0], &[1], &[n], &[0], &[1]), g.slice(x[1], &[0], &[n - 1], &[0], &[1]))
    }
    fn expected(&self, x: &[Vec<f32>], places: &[usize]) -> Vec<(f64, f64)> {
        places.iter().map(|&i| (f64::from(x[0][i + 1] + x[1][i]), 0.0)).collect()
    }
}

/// softmax(q·kᵀ/√width)·v.
struct Attend {
    batch: u64,
    heads: u64,
    key_heads: u64,
    queries: u64,
    keys: u64,
    width: u64,
}

impl Shape for Attend {
    fn name(&self) -> String {
        let Attend { batch, heads, key_heads, queries, keys, width } = self;
        format!("attention_{batch}x{heads}of{key_heads}_{queries}x{keys}x{width}")
    }
    fn operands(&self) -> Vec<Vec<u64>> {
        let keys = vec![self.batch, self.key_heads, self.keys, self.width];
        vec![self.result(), keys.clone(), keys]
    }
    fn result(&self) -> Vec<u64> {
        vec![self.batch, self.heads, self.queries, self.width]
    }
    fn apply(&self, g: &GraphBuilder, x: &[Value]) -> Value {
        g.attention(x[0], x[1], x[2], None, None, Attention::default())
    }
    fn expected(&self, x: &[Vec<f32>], places: &[usize]) -> Vec<(f64, f64)> {
        let (keys, width) = (self.keys as usize, self.width as usize);
        let mut last: (usize, Vec<f64>) = (usize::MAX, Vec::new());
        let one = |&i: &usize| {
            let (row, column) = (i / width, i % width);
            let head = row / self.queries as usize;
            let (batch, head) = (head / self.heads as usize, head % self.heads as usize);
            let key_head =
                batch * self.key_heads as usize + head * self.key_heads as usize / self.heads as usize;
            let at = |key: usize| (key_head * keys + key) * width;
            if last.0 != row {
                let product = |key: usize| -> f64 {
                    let terms = x[0][row * width..].iter().zip(&x[1][at(key)..]).take(width);
                    terms.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
                };
                let mut p: Vec<f64> = (0..keys).map(|k| (product(k) / (width as f64).sqrt()).exp()).collect();
                let sum: f64 = p.iter().sum();
                p.iter_mut().for_each(|p| *p /= sum);
                last = (row, p);
            }
            (last.1.iter().enumerate().map(|(k, p)| p * f64::from(x[2][at(k) + column])).sum(), 2e-6)
        };
        places.iter().map(one).collect()
    }
    fn rate(&self) -> Rate {
        if self.queries > 1 {
            let pairs = self.batch * self.heads * self.queries * self.keys;
            return Rate::Tflops(4.0 * (pairs * self.width) as f64);
        }
        Rate::Tbps(8.0 * (self.batch * self.key_heads * self.keys * self.width) as f64)
    }
}

/// a\[m, k\] · b\[k, n\], or · b\[n, k\]ᵀ.
struct Product {
    m: u64,
    k: u64,
    n: u64,
    along_k: bool,
}

impl Shape for Product {
    fn name(&self) -> String {
        let what = if self.k >= 16_384 { "long_k" } else { "skinny" };
        format!("{what}_{}x{}x{}{}", self.m, self.k, self.n, if self.along_k { "_t" } else { "" })
    }
    fn operands(&self) -> Vec<Vec<u64>> {
        let b = if self.along_k { vec![self.n, self.k] } else { vec![self.k, self.n] };
        vec![vec![self.m, self.k], b]
    }
    fn result(&self) -> Vec<u64> {
        vec![self.m, self.n]
    }
    fn apply(&self, g: &GraphBuilder, x: &[Value]) -> Value {
        let b = if self.along_k { g.transpose(x[1], &[1, 0]) } else { x[1] };
        g.matmul(x[0], b)
    }
    fn expected(&self, x: &[Vec<f32>], places: &[usize]) -> Vec<(f64, f64)> {
        let (k, n) = (self.k as usize, self.n as usize);
        let one = |&i: &usize| {
            let (row, column) = (i / n, i % n);
            let b = |t: usize| x[1][if self.along_k { column * k + t } else { t * n + column }];
            let terms = (0..k).map(|t| f64::from(x[0][row * k + t]) * f64::from(b(t)));
            let (sum, size) = terms.fold((0.0, 0.0), |(s, a): (f64, f64), t| (s + t, a + t.abs()));
            (sum, data::of_sum(self.k, size))
        };
        places.iter().map(one).collect()
    }
    fn rate(&self) -> Rate {
        Rate::Tflops(2.0 * (self.m * self.k * self.n) as f64)
    }
}
