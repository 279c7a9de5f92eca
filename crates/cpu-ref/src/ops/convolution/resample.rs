//! `Resample`.

use crate::array::{Array, Data};
use crate::eval::{Eval, EvalCx};
use crate::index::{offsets, strides};
use crate::tolerance::Tolerance;
use pumice_ir::ops::Resample;

/// Elements of an axis that a place is made of, with their weights.
type Taps = Vec<(usize, f64)>;

/// For each place of an axis of n elements its taps, by the operands at these numbers.
fn taps(cx: &EvalCx<'_>, n: u64, operand: usize, weights: usize) -> Vec<Taps> {
    let index = cx.arg(operand);
    let each = index.shape.get(1).map_or(1, |&taps| taps as usize);
    let weights = cx.opt(weights).map(Array::as_floats);
    let tap = |k: usize| {
        let at = index.as_ints()[k].clamp(0, (n as i64 - 1).max(0)) as usize;
        (at, weights.map_or(1.0, |weights| weights[k]))
    };
    (0..index.shape[0] as usize).map(|i| (i * each..(i + 1) * each).map(tap).collect()).collect()
}

/// For each result the elements of x that it is made of, with their weights.
fn terms(op: &Resample, cx: &EvalCx<'_>) -> Vec<Taps> {
    let (x, shape) = (cx.arg(0), cx.out().1);
    let axes = op.axes(x.shape.len()).expect("inference has accepted the axes");
    let (walk, own) = (strides(&x.shape), strides(shape));
    let mut base = walk.clone();
    axes.iter().for_each(|&axis| base[axis] = 0);
    let tables = [(2, 4), (1, 3)];
    let tables: Vec<(usize, Vec<Taps>)> = axes
        .iter()
        .zip(&tables[2 - axes.len()..])
        .map(|(&axis, &(operand, weights))| (axis, taps(cx, x.shape[axis], operand, weights)))
        .collect();
    let of = |(i, base): (usize, usize)| {
        let mut all: Taps = if x.is_empty() { Vec::new() } else { vec![(base, 1.0)] };
        for (axis, places) in &tables {
            let place = (i as i64 / own[*axis].max(1)) as usize % places.len();
            let step = walk[*axis] as usize;
            let taps = |(at, weight): (usize, f64)| {
                places[place].iter().map(move |tap| (at + tap.0 * step, weight * tap.1))
            };
            all = all.into_iter().flat_map(taps).collect();
        }
        all
    };
    offsets(shape, &base, 0).into_iter().enumerate().map(of).collect()
}

impl Eval for Resample {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (terms, (dtype, shape)) = (terms(self, cx), cx.out());
        let first = |of: &Taps| of.first().map(|tap| tap.0);
        let data = match &cx.arg(0).data {
            Data::Float(v) if self.taps == 0 => {
                Data::Float(terms.iter().map(|of| first(of).map_or(0.0, |at| v[at])).collect())
            }
            Data::Int(v) => Data::Int(terms.iter().map(|of| first(of).map_or(0, |at| v[at])).collect()),
            Data::Float(v) => {
                let sum = |of: &Taps| of.iter().map(|tap| tap.1 * v[tap.0]).sum::<f64>();
                return vec![Array::floats(dtype, shape, terms.iter().map(sum).collect())];
            }
        };
        vec![Array { dtype, shape: shape.to_vec(), data }]
    }

    /// Of a sum whose terms are products of three.
    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        let terms = (self.taps as u64).pow(self.axes.len() as u32);
        if self.taps == 0 { Tolerance::Exact } else { Tolerance::sum(cx.out().0, terms + 4) }
    }

    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        if self.taps == 0 {
            return Vec::new();
        }
        let v = cx.arg(0).as_floats();
        let sum = |of: &Taps| of.iter().map(|tap| (tap.1 * v[tap.0]).abs()).sum::<f64>();
        terms(self, cx).iter().map(sum).collect()
    }
}
