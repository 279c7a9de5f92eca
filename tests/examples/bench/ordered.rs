//! Sorts, largest elements, cumulative sums, rows added by index: shapes for fresh lists.

use crate::data;
use crate::shapes::{Shape, joined};
use pumice::{GraphBuilder, Value};
use pumice_ir::ops::cum_sum::CumSum;
use pumice_types::DType;

/// The middle axis in order.
pub struct Sorted(pub [u64; 3]);

impl Shape for Sorted {
    fn name(&self) -> String {
        format!("sort_{}", joined(&self.0))
    }
    fn operands(&self) -> Vec<Vec<u64>> {
        vec![self.0.to_vec()]
    }
    fn result(&self) -> Vec<u64> {
        self.0.to_vec()
    }
    fn apply(&self, g: &GraphBuilder, x: &[Value]) -> Value {
        g.sort(x[0], 1, false).0
    }
    fn expected(&self, x: &[Vec<f32>], places: &[usize]) -> Vec<(f64, f64)> {
        along(self.0, &x[0], places, |line| line.sort_by(f32::total_cmp))
            .into_iter()
            .map(|v| (v, 0.0))
            .collect()
    }
}

/// The k largest of each row of n.
pub struct Largest {
    pub rows: u64,
    pub n: u64,
    pub k: u64,
}

impl Shape for Largest {
    fn name(&self) -> String {
        format!("top_{}_of_{}x{}", self.k, self.rows, self.n)
    }
    fn operands(&self) -> Vec<Vec<u64>> {
        vec![vec![self.rows, self.n]]
    }
    fn result(&self) -> Vec<u64> {
        vec![self.rows, self.k]
    }
    fn apply(&self, g: &GraphBuilder, x: &[Value]) -> Value {
        g.top_k(x[0], self.k, 1, true).0
    }
    fn expected(&self, x: &[Vec<f32>], places: &[usize]) -> Vec<(f64, f64)> {
        // Places of the k largest, in rows that are sorted whole.
        let (n, k) = (self.n as usize, self.k as usize);
        let whole: Vec<usize> = places.iter().map(|i| i / k * n + i % k).collect();
        let down = |line: &mut Vec<f32>| line.sort_by(|a, b| b.total_cmp(a));
        along([self.rows, self.n, 1], &x[0], &whole, down).into_iter().map(|v| (v, 0.0)).collect()
    }
}

/// Sums along the middle axis.
pub struct Cumulated(pub [u64; 3]);

impl Shape for Cumulated {
    fn name(&self) -> String {
        format!("cumulated_{}", joined(&self.0))
    }
    fn operands(&self) -> Vec<Vec<u64>> {
        vec![self.0.to_vec()]
    }
    fn result(&self) -> Vec<u64> {
        self.0.to_vec()
    }
    fn apply(&self, g: &GraphBuilder, x: &[Value]) -> Value {
        g.cum_sum(x[0], CumSum { axis: 1, ..CumSum::default() })
    }
    fn expected(&self, x: &[Vec<f32>], places: &[usize]) -> Vec<(f64, f64)> {
        let [_, n, inner] = self.0.map(|e| e as usize);
        let mut last: (usize, Vec<(f64, f64)>) = (usize::MAX, Vec::new());
        let one = |&i: &usize| {
            let column = i / (n * inner) * n * inner + i % inner;
            if last.0 != column {
                let mut sum = (0.0, 0.0);
                let sums = (0..n).map(|r| {
                    let v = f64::from(x[0][column + r * inner]);
                    sum = (sum.0 + v, sum.1 + v.abs());
                    (sum.0, data::of_sum(n as u64, sum.1))
                });
                last = (column, sums.collect());
            }
            last.1[i / inner % n]
        };
        places.iter().map(one).collect()
    }
}

/// Rows of `width` added up where numbers between 0 and 1 say.
pub struct Added {
    pub rows: u64,
    pub width: u64,
    pub updates: u64,
}

impl Added {
    /// The row that a number means: the same in f32 everywhere.
    fn row(&self, v: f32) -> usize {
        (v.abs() * self.rows as f32).min(self.rows as f32 - 1.0) as usize
    }
}

impl Shape for Added {
    fn name(&self) -> String {
        format!("added_{}_rows_of_{}_to_{}", self.updates, self.width, self.rows)
    }
    fn operands(&self) -> Vec<Vec<u64>> {
        vec![vec![self.updates, self.width], vec![self.updates]]
    }
    fn result(&self) -> Vec<u64> {
        vec![self.rows, self.width]
    }
    fn apply(&self, g: &GraphBuilder, x: &[Value]) -> Value {
        let number = |v: f64| g.constant_scalar(DType::F32, v);
        let scaled = g.mul(g.abs(x[1]), number(self.rows as f64));
        let last = number(self.rows as f64 - 1.0);
        let index = g.cast(g.select(g.less(scaled, last), scaled, last), DType::I32);
        g.scatter_add(x[0], index, self.rows)
    }
    fn expected(&self, x: &[Vec<f32>], places: &[usize]) -> Vec<(f64, f64)> {
        let width = self.width as usize;
        let mut sums = vec![(0.0, 0.0, 0u64); self.rows as usize * width];
        for (u, &v) in x[1].iter().enumerate() {
            let row = self.row(v);
            for c in 0..width {
                let (at, term) = (&mut sums[row * width + c], f64::from(x[0][u * width + c]));
                *at = (at.0 + term, at.1 + term.abs(), at.2 + 1);
            }
        }
        places.iter().map(|&i| (sums[i].0, data::of_sum(sums[i].2.max(1), sums[i].1))).collect()
    }
}

/// Elements of \[outer, n, inner\] at these places after each line along n is changed.
fn along([_, n, inner]: [u64; 3], x: &[f32], places: &[usize], change: impl Fn(&mut Vec<f32>)) -> Vec<f64> {
    let (n, inner) = (n as usize, inner as usize);
    let mut last: (usize, Vec<f32>) = (usize::MAX, Vec::new());
    let one = |&i: &usize| {
        let column = i / (n * inner) * n * inner + i % inner;
        if last.0 != column {
            last = (column, (0..n).map(|r| x[column + r * inner]).collect());
            change(&mut last.1);
        }
        f64::from(last.1[i / inner % n])
    };
    places.iter().map(one).collect()
}
