//! `Concat`.

use crate::array::{Array, Data};
use crate::eval::{Eval, EvalCx};
use crate::index::{around, axis_of};
use crate::ops::elementwise::exact;
use pumice_ir::ops::Concat;

impl Eval for Concat {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (dtype, shape) = cx.out();
        let axis = axis_of(self.axis, shape.len());
        let (outer, ..) = around(shape, axis);
        let xs = cx.present();
        let rows: Vec<usize> =
            xs.iter().map(|x| around(&x.shape, axis)).map(|(_, n, inner)| n * inner).collect();
        let data = if dtype.is_float() {
            Data::Float(join(outer, &rows, &xs.iter().map(|x| x.as_floats()).collect::<Vec<_>>()))
        } else {
            Data::Int(join(outer, &rows, &xs.iter().map(|x| x.as_ints()).collect::<Vec<_>>()))
        };
        vec![Array { dtype, shape: shape.to_vec(), data }]
    }
    exact!();
}

/// Row by row, the rows of all parts one after the other.
fn join<T: Copy>(outer: usize, rows: &[usize], parts: &[&[T]]) -> Vec<T> {
    let pieces = (0..outer).flat_map(|o| parts.iter().zip(rows).map(move |(part, n)| &part[o * n..][..*n]));
    pieces.flatten().copied().collect()
}
