//! What the scatters share: updates that go to places of the data, one after the other.

use crate::array::{Array, Data};
use crate::eval::EvalCx;
use crate::ops::elementwise::{int_lt, max, min};
use crate::tolerance::{EPS32, Tolerance};
use pumice_ir::ops::scatter::ScatterReduction;
use pumice_types::DType;
use std::borrow::Cow;

/// Where each element of the updates goes, in row-major order; nowhere where an index is outside.
pub(super) type Places = Vec<Option<usize>>;

/// Data with the updates that go to its places.
pub(super) struct Scattered<'a> {
    pub data: &'a Array,
    pub updates: Cow<'a, Array>,
    pub places: Places,
    pub reduction: ScatterReduction,
}

impl<'a> Scattered<'a> {
    /// Of operands 0 and 2.
    pub fn new(cx: &EvalCx<'a>, reduction: ScatterReduction, places: Places) -> Scattered<'a> {
        Scattered { data: cx.arg(0), updates: Cow::Borrowed(cx.arg(2)), places, reduction }
    }

    pub fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (dtype, shape) = cx.out();
        vec![match (&self.data.data, &self.updates.data) {
            (Data::Float(data), Data::Float(updates)) => {
                let met = |a, u| float(self.reduction, a, u);
                Array::floats(dtype, shape, applied(data, updates, &self.places, met))
            }
            _ => {
                let met = |a, u| int(dtype, self.reduction, a, u);
                Array::ints(
                    dtype,
                    shape,
                    applied(self.data.as_ints(), self.updates.as_ints(), &self.places, met),
                )
            }
        }]
    }

    /// Exact where nothing is added or multiplied, but for the sign of a zero that is compared.
    pub fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        match self.reduction {
            ScatterReduction::Set => Tolerance::Exact,
            ScatterReduction::Max | ScatterReduction::Min => Tolerance::chosen(cx.out().0),
            ScatterReduction::Add | ScatterReduction::Mul => Tolerance::sum(cx.out().0, self.most_terms()),
        }
    }

    /// Of a sum the magnitudes of its terms. Of a product, whose factors round as often as there are any that are no
    /// power of two, that many roundings, in units of what the class gives for each unit of magnitude.
    pub fn magnitude(&self) -> Vec<f64> {
        let (data, updates, places) = (self.data.as_floats(), self.updates.as_floats(), &self.places);
        match self.reduction {
            ScatterReduction::Add => {
                let data: Vec<f64> = data.iter().map(|a| a.abs()).collect();
                applied(&data, updates, places, |a, u| a + u.abs())
            }
            ScatterReduction::Mul => self.of_products(),
            _ => Vec::new(),
        }
    }

    fn of_products(&self) -> Vec<f64> {
        let (data, updates, places) = (self.data.as_floats(), self.updates.as_floats(), &self.places);
        let class = Tolerance::of_sum(self.most_terms());
        let roundings = applied(&vec![2.0; data.len()], updates, places, |r: f64, _| r + 1.0);
        let products = applied(data, updates, places, |a, u| a * u);
        products.into_iter().zip(roundings).map(|(p, r)| p.abs() * r * EPS32 / class).collect()
    }

    /// The most terms that one element is made of.
    fn most_terms(&self) -> u64 {
        let mut terms = vec![1u64; self.data.len()];
        self.places.iter().flatten().for_each(|&place| terms[place] += 1);
        terms.into_iter().max().unwrap_or(1)
    }
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

pub(super) fn float(reduction: ScatterReduction, a: f64, u: f64) -> f64 {
    match reduction {
        ScatterReduction::Set => u,
        ScatterReduction::Add => a + u,
        ScatterReduction::Mul => a * u,
        ScatterReduction::Max => max(a, u),
        ScatterReduction::Min => min(a, u),
    }
}

pub(super) fn int(dtype: DType, reduction: ScatterReduction, a: i64, u: i64) -> i64 {
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
