//! Matrix products (S1): aligned, one off alignment on every side, small, and with a filled epilogue. And products of
//! stored weights (D7), whose factors `--precision f16` rounds: weights in f32, f16 and bf16, along n and along k.
//!
//! Two matmuls of one run are dependent (the second takes the first's result), so nothing overlaps. Entries are uniform
//! in ±1 and ±√(3/k), which keeps every product's entries in ±1 or so.

use crate::data;
use crate::rig::{Rig, Spec, size};
use crate::row::{Bar, Outcome, Rate, Row};
use crate::{Case, Spelled};
use pumice::{DType, Graph, GraphBuilder, Outputs, f32, tensor};

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
    /// In what b is stored; none: it is an operand of S1.
    stored: Option<DType>,
    /// Whether b is stored along k.
    along_k: bool,
}

impl Product {
    fn square(n: u64, chain: u32) -> Product {
        Product { m: n, k: n, n, chain, filled: false, stored: None, along_k: false }
    }

    fn name(&self) -> String {
        let size = match self.m == self.n && self.n == self.k {
            true => self.n.to_string(),
            false => format!("{}x{}x{}", self.m, self.k, self.n),
        };
        match self.stored {
            Some(dtype) => format!("D7.gemm_{size}_{dtype}{}", if self.along_k { "_t" } else { "" }),
            None => format!("S1.gemm_{size}{}", if self.filled { "_epilogue" } else { "" }),
        }
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
    let odd = Product { m, k, n, ..large };
    let small = Product::square(size(full, 1024, 128), 8);
    let filled = Product { filled: true, ..large };
    let of_large = |share| Bar::ShareOf(large.name(), share);
    let of_s1 =
        [(large, Bar::Rate(42.0)), (odd, of_large(0.9)), (small, Bar::Rate(24.0)), (filled, of_large(0.95))];
    let spelled = of_s1.into_iter().map(|(product, bar)| {
        case(product, bar).spelled(move || Ok(Spelled { graph: graph(product)?, fused: true }))
    });
    spelled.chain(stored(full).into_iter().map(|product| case(product, Bar::None))).collect()
}

fn case(product: Product, bar: Bar) -> Case {
    Case::new(product.name(), move |rig| Ok(vec![measure(rig, product, bar.clone())?]))
}

/// Products of stored weights: squares, prompts of a decoder and the layers of an encoder.
fn stored(full: bool) -> Vec<Product> {
    let extents: &[[u64; 3]] = match full {
        true => &[
            [4096, 4096, 4096],
            [1024, 1024, 1024],
            [512, 4096, 4096],
            [512, 14336, 4096],
            [512, 4096, 14336],
            [64, 4096, 4096],
            [128, 384, 1536],
            [128, 1536, 384],
            [128, 384, 384],
            [4096, 384, 1536],
        ],
        false => &[[64, 128, 96]],
    };
    let of = |&[m, k, n]: &[u64; 3]| {
        let all =
            [DType::F32, DType::F16, DType::BF16].map(|dtype| [false, true].map(|along_k| (dtype, along_k)));
        let product = move |(dtype, along_k)| Product {
            m,
            k,
            n,
            chain: if m == k && k == n && m < 4096 { 8 } else { 1 },
            filled: false,
            stored: Some(dtype),
            along_k,
        };
        all.concat().into_iter().map(product)
    };
    extents.iter().flat_map(of).collect()
}

fn graph(p: Product) -> Outcome<Graph> {
    let g = GraphBuilder::new("product");
    let extents = if p.along_k { [p.n, p.k] } else { [p.k, p.n] };
    let mut b = g.param("b", tensor(p.stored.unwrap_or(DType::F32), extents));
    if p.stored.is_some_and(|dtype| dtype != DType::F32) {
        b = g.cast(b, DType::F32);
    }
    if p.along_k {
        b = g.transpose(b, &[1, 0]);
    }
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
    let mut b = data::random(2, (p.k * p.n) as usize, -scale, scale);
    if p.stored.is_some() {
        // Seven bits of a number, which every float dtype holds.
        let step = (scale.log2().ceil() - 7.0).exp2();
        b.iter_mut().for_each(|x| *x = (*x / step).round() * step);
    }
    let lies = if p.along_k { transposed(&b, p.k, p.n) } else { Vec::new() };
    let given = if p.along_k { &lies } else { &b };
    let bias = data::random(3, p.n as usize, -1.0, 1.0);
    let residual = data::random(4, if p.filled { (p.m * p.n) as usize } else { 0 }, -1.0, 1.0);
    let mut fill: Vec<(&str, &[f32])> = vec![("a", &a), ("b", given)];
    if p.filled {
        fill.extend([("bias", bias.as_slice()), ("residual", &residual)]);
    }
    let rounded = rig.rounded();
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
                let added = bias.iter().zip(line(&residual, row, p.n));
                let filled = want.iter().zip(added);
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

/// A matrix of `k` rows and `n` columns, column after column.
fn transposed(b: &[f32], k: u64, n: u64) -> Vec<f32> {
    (0..k * n).map(|i| b[(i % k * n + i / k) as usize]).collect()
}

/// Row `row` of a matrix of `n` columns.
fn line(matrix: &[f32], row: u64, n: u64) -> &[f32] {
    &matrix[(row * n) as usize..((row + 1) * n) as usize]
}
