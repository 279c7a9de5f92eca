//! `NormGrad`: row by row.

use super::layer_norm::{Stats, inverse, inverse_size, of_rows, row_length, row_tolerance};
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::ops::NormGrad;
use pumice_types::DType;

impl Eval for NormGrad {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (dtype, shape) = cx.out();
        let dx = Array::floats(dtype, shape, rows(cx, self, |row| gradient(self, row)));
        let statistic = |(i, (dtype, shape)): (usize, &(DType, Vec<u64>))| {
            let of_mean = i == 0 && self.centred;
            let values = of_rows(cx, self.axis, |row| {
                if of_mean { row.mean } else { inverse(spread(self, row), self.epsilon) }
            });
            Array::floats(*dtype, shape, values)
        };
        std::iter::once(dx).chain(cx.outputs.iter().skip(1).enumerate().map(statistic)).collect()
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        row_tolerance(cx, self.axis)
    }

    /// Statistics as of the norms.
    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        if cx.result == 0 {
            return rows(cx, self, size);
        }
        if cx.result == 1 && self.centred {
            return of_rows(cx, self.axis, |row| row.mean_abs);
        }
        let share = if self.centred { Tolerance::of_sum(row_length(cx, self.axis) as u64) } else { 0.0 };
        of_rows(cx, self.axis, |row| {
            let v = spread(self, row);
            inverse_size(v, v + (row.mean_abs * share).powi(2), self.epsilon)
        })
    }
}

/// r·(u − mean u − x̂·mean(u·x̂)).
fn gradient(op: &NormGrad, row: &Row<'_>) -> Vec<f64> {
    let normal = |x: f64| (x - row.mean) * row.inverse;
    let level = if op.centred { row.mean_of(&|_, u| u) } else { 0.0 };
    let along = row.mean_of(&|x, u| u * normal(x));
    row.each(|x, u| row.inverse * (u - level - normal(x) * along))
}

/// With h = r·(mean|x| + |x − μ|), the size of x̂ and of its error (as of `LayerNorm`), not centred h = r·|x|: r·(|u| +
/// mean|u| + h·mean(|u|·h)).
fn size(row: &Row<'_>) -> Vec<f64> {
    let size = |x: f64| row.inverse * (row.mean_abs + (x - row.mean).abs());
    let level = row.mean_of(&|_, u| u.abs());
    let along = row.mean_of(&|x, u| u.abs() * size(x));
    row.each(|x, u| row.inverse * (u.abs() + level + size(x) * along))
}

/// σ², not centred mean x².
fn spread(op: &NormGrad, row: &Stats) -> f64 {
    if op.centred { row.variance } else { row.mean_square }
}

/// A row of x and of u.
struct Row<'a> {
    pairs: &'a [(f64, f64)],
    /// 0 where it is not taken off.
    mean: f64,
    /// Of |x|; 0 where the mean is not taken off.
    mean_abs: f64,
    inverse: f64,
}

impl Row<'_> {
    fn mean_of(&self, f: &dyn Fn(f64, f64) -> f64) -> f64 {
        self.pairs.iter().map(|&(x, u)| f(x, u)).sum::<f64>() / self.pairs.len() as f64
    }

    fn each(&self, f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        self.pairs.iter().map(|&(x, u)| f(x, u)).collect()
    }
}

/// One value for each element, row by row.
fn rows(cx: &EvalCx<'_>, op: &NormGrad, f: impl Fn(&Row<'_>) -> Vec<f64>) -> Vec<f64> {
    let n = row_length(cx, op.axis);
    let factor = cx.opt(2).map(Array::as_floats);
    let values = cx.arg(0).as_floats().chunks(n.max(1)).zip(cx.arg(1).as_floats().chunks(n.max(1)));
    let row = |(x, dy): (&[f64], &[f64])| {
        let u = |(i, &dy): (usize, &f64)| factor.map_or(dy, |factor| dy * factor[i]);
        let pairs: Vec<(f64, f64)> = x.iter().copied().zip(dy.iter().enumerate().map(u)).collect();
        let stats = Stats::of(n, x.iter().copied());
        let (mean, mean_abs) = if op.centred { (stats.mean, stats.mean_abs) } else { (0.0, 0.0) };
        f(&Row { pairs: &pairs, mean, mean_abs, inverse: inverse(spread(op, &stats), op.epsilon) })
    };
    values.flat_map(row).collect()
}
