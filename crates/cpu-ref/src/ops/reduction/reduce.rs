//! What reductions share: the groups of elements of each result.

use crate::array::Array;
use crate::eval::EvalCx;
use crate::index::{count, offsets, strides};
use pumice_ir::ops::reduce::reduced_axes;

/// Offsets of the operand: `(base of every result, steps over one group)`. Element j of group i is base\[i\] + steps\[j\].
pub struct Groups {
    /// First element of every group, in the order of the results.
    pub bases: Vec<usize>,
    /// Distances of the group's elements from its first, row-major.
    pub steps: Vec<usize>,
}

/// The groups that a reduction over these axes makes of its operand.
pub fn groups(x: &Array, axes: &[i64], noop: bool) -> Groups {
    let axes = reduced_axes(axes, noop, x.shape.len()).expect("inference has accepted the axes");
    let walk = strides(&x.shape);
    let (mut kept, mut reduced) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
    for (i, (&d, &s)) in x.shape.iter().zip(&walk).enumerate() {
        let side = if axes.contains(&i) { &mut reduced } else { &mut kept };
        side.0.push(d);
        side.1.push(s);
    }
    Groups { bases: offsets(&kept.0, &kept.1, 0), steps: offsets(&reduced.0, &reduced.1, 0) }
}

impl Groups {
    /// One value per group of floats.
    pub fn fold(&self, v: &[f64], start: f64, f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        self.bases.iter().map(|b| self.steps.iter().fold(start, |acc, s| f(acc, v[b + s]))).collect()
    }

    /// One value per group of integers.
    pub fn fold_int(&self, v: &[i64], start: i64, f: impl Fn(i64, i64) -> i64) -> Vec<i64> {
        self.bases.iter().map(|b| self.steps.iter().fold(start, |acc, s| f(acc, v[b + s]))).collect()
    }
}

/// A reduction with a float and an integer form.
pub fn reduce(
    cx: &EvalCx<'_>,
    (axes, noop): (&[i64], bool),
    (float_start, float): (f64, impl Fn(f64, f64) -> f64),
    (int_start, int): (i64, impl Fn(i64, i64) -> i64),
) -> Vec<Array> {
    let x = cx.arg(0);
    let (dtype, shape) = cx.out();
    let groups = groups(x, axes, noop);
    debug_assert_eq!(groups.bases.len(), count(shape));
    vec![if dtype.is_float() {
        Array::floats(dtype, shape, groups.fold(x.as_floats(), float_start, float))
    } else {
        Array::ints(dtype, shape, groups.fold_int(x.as_ints(), int_start, int))
    }]
}
