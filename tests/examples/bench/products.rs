//! Matrix products (S1): aligned, one off alignment on every side, small, and with a filled epilogue.
//!
//! Two matmuls of one run are dependent (the second takes the first's result), so nothing overlaps. Entries are uniform
//! in ±1 and ±√(3/k), which keeps every product's entries in ±1 or so.

use crate::data;
use crate::rig::{Rig, Spec, size};
use crate::row::{Bar, Outcome, Rate, Row};
use crate::{Case, Spelled};
use pumice::{Graph, GraphBuilder, Outputs, f32};

/// No slope of gelu is larger.
const STEEPEST: f64 = 1.13;

/// a\[m, k\] · b\[k, n\], `chain` times over for a square b.
#[derive(Clone, Copy)]
struct Product {
    m: u64,
    k: u64,
    n: u64,
    chain: u32,
    /// gelu(a·b + bias) + residual.
    filled: bool,
}

impl Product {
    fn square(n: u64, chain: u32) -> Product {
        Product { m: n, k: n, n, chain, filled: false }
    }

    fn name(&self) -> String {
        let size = match self.m == self.n && self.n == self.k {
            true => self.n.to_string(),
            false => format!("{}x{}x{}", self.m, self.k, self.n),
        };
        format!("S1.gemm_{size}{}", if self.filled { "_epilogue" } else { "" })
    }

    /// The rows that are looked at: first, middle, last.
    fn rows(&self) -> [u64; 3] {
        [0, self.m / 2, self.m - 1]
    }
}

/// The cases.
pub fn cases(full: bool) -> Vec<Case> {
    let large = Product::square(size(full, 4096, 256), 1);
    let (m, k, n) = size(full, (4095, 4097, 4093), (255, 257, 253));
    let odd = Product { m, k, n, chain: 1, filled: false };
    let small = Product::square(size(full, 1024, 128), 8);
    let filled = Product { filled: true, ..large };
    let of_large = |share| Bar::ShareOf(large.name(), share);
    [(large, Bar::Rate(42.0)), (odd, of_large(0.9)), (small, Bar::Rate(24.0)), (filled, of_large(0.95))]
        .map(|(product, bar)| {
            Case::new(product.name(), move |rig| Ok(vec![measure(rig, product, bar.clone())?]))
                .spelled(move || Ok(Spelled { graph: graph(product)?, fused: true }))
        })
        .into()
}

fn graph(p: Product) -> Outcome<Graph> {
    let g = GraphBuilder::new("product");
    let b = g.param("b", f32([p.k, p.n]));
    let mut c = g.state_read(g.state("a", f32([p.m, p.k])));
    for _ in 0..p.chain {
        c = g.matmul(c, b);
    }
    if p.filled {
        let biased = g.add(c, g.param("bias", f32([p.n])));
        // A param: epilogues take no state.
        c = g.add(g.gelu(biased), g.param("residual", f32([p.m, p.n])));
    }
    for row in p.rows() {
        g.output(&format!("row{row}"), g.slice(c, &[row as i64], &[row as i64 + 1], &[0], &[1]));
    }
    Ok(g.build()?)
}

fn measure(rig: &Rig, p: Product, bar: Bar) -> Outcome<Row> {
    let scale = (3.0 / p.k as f32).sqrt();
    let a = data::random(1, (p.m * p.k) as usize, -1.0, 1.0);
    let b = data::random(2, (p.k * p.n) as usize, -scale, scale);
    let bias = data::random(3, p.n as usize, -1.0, 1.0);
    let residual = data::random(4, if p.filled { (p.m * p.n) as usize } else { 0 }, -1.0, 1.0);
    let mut fill: Vec<(&str, &[f32])> = vec![("a", &a), ("b", &b)];
    if p.filled {
        fill.extend([("bias", bias.as_slice()), ("residual", &residual)]);
    }
    // Each factor may be off by half a unit of f16.
    let rounded = if rig.args.precision.is_exact() { 0.0 } else { 2f64.powi(-10) };
    let check = |outputs: &Outputs| {
        let mut worst = 0.0f64;
        for row in p.rows() {
            let mut want: Vec<f64> = line(&a, row, p.k).iter().map(|&x| f64::from(x)).collect();
            // What each element may be off by: its own terms', and those of the elements it is made of.
            let mut allowed = vec![0.0; want.len()];
            for _ in 0..p.chain {
                let size: Vec<f64> = want.iter().map(|x| x.abs()).collect();
                let own = data::row_times_abs(&size, &b, p.n as usize);
                let carried = data::row_times_abs(&allowed, &b, p.n as usize);
                let of_terms = |t: f64| data::of_sum(p.k, t) + rounded * t;
                allowed = own.iter().zip(carried).map(|(t, c)| of_terms(*t) + c).collect();
                want = data::row_times(&want, &b, p.n as usize);
            }
            if p.filled {
                let ends = bias.iter().zip(line(&residual, row, p.n));
                let filled = want.iter().zip(ends);
                want = filled.map(|(c, (b, r))| data::gelu(c + f64::from(*b)) + f64::from(*r)).collect();
                // 1e-6: the function's own 16 units, and the roundings of two sums of numbers below 4.
                allowed.iter_mut().for_each(|a| *a = STEEPEST * *a + 1e-6 + 8.0 * f64::from(f32::EPSILON));
            }
            let got = outputs.get(&format!("row{row}"))?.to_vec::<f32>()?;
            worst = worst.max(data::worst_within(&got, &want, |i| allowed[i])?);
        }
        Ok(format!("three rows against f64, each element by its own terms: {worst:.1e}"))
    };
    rig.measure(&Spec {
        name: p.name(),
        graph: graph(p)?,
        fused: true,
        fill,
        per: p.chain,
        rate: Rate::Tflops(2.0 * (p.m * p.k * p.n) as f64),
        bar,
        check: &check,
    })
}

/// Row `row` of a matrix of `n` columns.
fn line(matrix: &[f32], row: u64, n: u64) -> &[f32] {
    &matrix[(row * n) as usize..((row + 1) * n) as usize]
}
