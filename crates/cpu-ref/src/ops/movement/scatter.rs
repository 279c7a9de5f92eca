//! What the scatters share: updates that go to places of the data, one after the other.

use crate::array::{Array, Data};
use crate::eval::EvalCx;
use crate::ops::elementwise::{int_lt, max, min};
use crate::tolerance::{EPS32, Tolerance};
use pumice_ir::ops::scatter::ScatterReduction;
use pumice_types::DType;

/// Where each element of the updates goes, in row-major order; nowhere where an index is outside.
pub(super) type Places = Vec<Option<usize>>;

/// Data (operand 0) with its updates (operand 2).
pub(super) fn scatter(cx: &EvalCx<'_>, reduction: ScatterReduction, places: &Places) -> Vec<Array> {
    let (data, updates) = (cx.arg(0), cx.arg(2));
    let (dtype, shape) = cx.out();
    vec![match (&data.data, &updates.data) {
        (Data::Float(data), Data::Float(updates)) => {
            let met = |a, u| float(reduction, a, u);
            Array::floats(dtype, shape, applied(data, updates, places, met))
        }
        _ => {
            let met = |a, u| int(dtype, reduction, a, u);
            Array::ints(dtype, shape, applied(data.as_ints(), updates.as_ints(), places, met))
        }
    }]
}

fn applied<T: Copy>(data: &[T], updates: &[T], places: &Places, met: impl Fn(T, T) -> T) -> Vec<T> {
    let mut out = data.to_vec();
    for (update, place) in updates.iter().zip(places) {
        if let Some(place) = *place {
            out[place] = met(out[place], *update);
        }
    }
    out
}

fn float(reduction: ScatterReduction, a: f64, u: f64) -> f64 {
    match reduction {
        ScatterReduction::Set => u,
        ScatterReduction::Add => a + u,
        ScatterReduction::Mul => a * u,
        ScatterReduction::Max => max(a, u),
        ScatterReduction::Min => min(a, u),
    }
}

fn int(dtype: DType, reduction: ScatterReduction, a: i64, u: i64) -> i64 {
    match reduction {
        ScatterReduction::Set => u,
        ScatterReduction::Add => a.wrapping_add(u),
        ScatterReduction::Mul => a.wrapping_mul(u),
        ScatterReduction::Max => {
            if int_lt(dtype, a, u) {
                u
            } else {
                a
            }
        }
        ScatterReduction::Min => {
            if int_lt(dtype, u, a) {
                u
            } else {
                a
            }
        }
    }
}

/// Exact where nothing is added or multiplied, but for the sign of a zero that is compared.
pub(super) fn tolerance(cx: &EvalCx<'_>, reduction: ScatterReduction, places: &Places) -> Tolerance {
    match reduction {
        ScatterReduction::Set => Tolerance::Exact,
        ScatterReduction::Max | ScatterReduction::Min => Tolerance::ulps(cx.out().0, 0.5),
        ScatterReduction::Add | ScatterReduction::Mul => Tolerance::sum(cx.out().0, most_terms(cx, places)),
    }
}

/// Of a sum the magnitudes of its terms. Of a product, whose factors round as often as there are any that are no power
/// of two, that many roundings, in units of what the class gives for each unit of magnitude.
pub(super) fn magnitude(cx: &EvalCx<'_>, reduction: ScatterReduction, places: &Places) -> Vec<f64> {
    let (data, updates) = (cx.arg(0).as_floats(), cx.arg(2).as_floats());
    match reduction {
        ScatterReduction::Add => {
            let data: Vec<f64> = data.iter().map(|a| a.abs()).collect();
            applied(&data, updates, places, |a, u| a + u.abs())
        }
        ScatterReduction::Mul => {
            let class = Tolerance::of_sum(most_terms(cx, places));
            let roundings = applied(&vec![2.0; data.len()], updates, places, |r: f64, _| r + 1.0);
            let products = applied(data, updates, places, |a, u| a * u);
            products.into_iter().zip(roundings).map(|(p, r)| p.abs() * r * EPS32 / class).collect()
        }
        _ => Vec::new(),
    }
}

/// The most terms that one element is made of.
fn most_terms(cx: &EvalCx<'_>, places: &Places) -> u64 {
    let mut terms = vec![1u64; cx.arg(0).len()];
    places.iter().flatten().for_each(|&place| terms[place] += 1);
    terms.into_iter().max().unwrap_or(1)
}
