//! The op of samples and random programs, registered everywhere: what it computes is said at its name in
//! `ir/src/ops/control/custom.rs`. Reference and function are written twice, as a user would.

use super::{CustomCall, CustomFailure, CustomOp, CustomTypes};
use crate::array::{Array, Data};
use crate::index::count;
use pumice_ir::ValueType;
use pumice_types::{DType, Tensor};

pub(super) struct Weave;

impl CustomOp for Weave {
    fn types(&self, call: &CustomTypes<'_>) -> Result<Vec<ValueType>, CustomFailure> {
        factor(call.attributes)?;
        Ok(call.stated.to_vec())
    }

    fn run(&self, call: &CustomCall<'_>) -> Result<Vec<Tensor>, CustomFailure> {
        let by = factor(call.attributes)?;
        let all = call.operands.iter().map(|x| Array::from_natural(x.dtype(), x.shape(), x.bytes()).to_f64());
        let operands: Vec<Vec<f64>> = all.filter(|values| !values.is_empty()).collect();
        let made = call.results.iter().enumerate().map(|(r, (dtype, shape))| {
            let mut sums = vec![0.0; count(shape)];
            operands.iter().for_each(|values| add(&mut sums, values, r));
            Ok(rounded(*dtype, shape, sums.into_iter().map(|sum| by * sum).collect()).to_tensor()?)
        });
        made.collect()
    }

    fn reference(&self, call: &CustomCall<'_>) -> Result<Vec<Tensor>, CustomFailure> {
        let by = factor(call.attributes)?;
        let mut made = Vec::new();
        for (r, (dtype, shape)) in call.results.iter().enumerate() {
            let element = |i: usize| {
                let mut sum = 0.0;
                for x in call.operands {
                    let x = Array::from_natural(x.dtype(), x.shape(), x.bytes());
                    if !x.is_empty() {
                        sum += value(&x, (i + r) % x.len());
                    }
                }
                by * sum
            };
            let values = (0..count(shape)).map(element).collect();
            made.push(rounded(*dtype, shape, values).to_tensor()?);
        }
        Ok(made)
    }
}

/// Adds the values in turn, from that one on.
fn add(sums: &mut [f64], values: &[f64], first: usize) {
    let from = values.iter().cycle().skip(first % values.len());
    sums.iter_mut().zip(from).for_each(|(sum, value)| *sum += value);
}

fn value(x: &Array, i: usize) -> f64 {
    match &x.data {
        Data::Float(v) => v[i],
        Data::Int(v) if x.dtype == DType::U64 => v[i] as u64 as f64,
        Data::Int(v) => v[i] as f64,
    }
}

fn factor(attributes: &str) -> Result<f64, CustomFailure> {
    match attributes {
        "" => Ok(1.0),
        text => text.parse().map_err(|_| format!("the attribute `{text}` is no number").into()),
    }
}

/// Rounded once to floats; integers are cut and wrapped, booleans say what is not 0.
fn rounded(dtype: DType, shape: &[u64], values: Vec<f64>) -> Array {
    match dtype {
        _ if dtype.is_float() => Array::floats(dtype, shape, values),
        DType::Bool => Array::ints(dtype, shape, values.iter().map(|v| i64::from(*v != 0.0)).collect()),
        _ => Array::ints(dtype, shape, values.iter().map(|v| *v as i64).collect()),
    }
}
