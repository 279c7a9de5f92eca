//! `DequantizeLinear`: element by element, its scale found by its index along every axis.

use crate::array::{Array, round};
use crate::eval::{Eval, EvalCx};
use crate::index::axis_of;
use crate::ops::elementwise::exact;
use pumice_ir::ops::DequantizeLinear;
use pumice_types::DType;

impl Eval for DequantizeLinear {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (q, scale) = (cx.arg(0), cx.arg(1));
        let (codes, scales) = (q.to_f64(), scale.to_f64());
        let zeros = cx.opt(2).map(Array::to_f64);
        let (dtype, shape) = cx.out();
        let values = (0..codes.len()).map(|i| {
            let at = scale_of(self, i, shape, &scale.shape);
            let difference = codes[i] - zeros.as_ref().map_or(0.0, |z| z[at]);
            // An i32 is rounded to f32 before it is multiplied.
            let product = round(DType::F32, round(DType::F32, difference) * scales[at]);
            round(dtype, product)
        });
        vec![Array::floats(dtype, shape, values.collect())]
    }
    exact!();
}

/// The index of the scale that an element has.
fn scale_of(op: &DequantizeLinear, i: usize, shape: &[u64], scale: &[u64]) -> usize {
    if op.block_size == 0 && scale.iter().product::<u64>() == 1 {
        return 0;
    }
    let axis = axis_of(op.axis, shape.len());
    let (mut index, mut rest) = (vec![0; shape.len()], i as u64);
    for (at, &extent) in index.iter_mut().zip(shape).rev() {
        (*at, rest) = (rest % extent, rest / extent);
    }
    if op.block_size == 0 {
        return index[axis] as usize;
    }
    index[axis] /= op.block_size;
    index.iter().zip(scale).fold(0, |at, (&i, &extent)| at * extent + i) as usize
}
