//! `MatMul`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::index::{broadcast_strides, count, offsets};
use crate::tolerance::Tolerance;
use pumice_ir::ops::MatMul;

impl Eval for MatMul {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (dtype, shape) = cx.out();
        vec![Array::floats(dtype, shape, product(self, cx, |v| v))]
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::sum(cx.out().0, Matrix::a(self, cx.arg(0)).cols as u64)
    }

    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        product(self, cx, f64::abs)
    }
}

/// One operand as a batch of matrices with strides.
struct Matrix<'a> {
    data: &'a [f64],
    batch: &'a [u64],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<'a> Matrix<'a> {
    fn a(op: &MatMul, x: &'a Array) -> Matrix<'a> {
        match &x.shape[..] {
            [k] => Matrix::new(x, &[], 1, *k as usize, false),
            _ => Matrix::of(x, op.trans_a),
        }
    }

    fn b(op: &MatMul, x: &'a Array) -> Matrix<'a> {
        match &x.shape[..] {
            [k] => Matrix::new(x, &[], *k as usize, 1, false),
            _ => Matrix::of(x, op.trans_b),
        }
    }

    fn of(x: &'a Array, swapped: bool) -> Matrix<'a> {
        let (batch, matrix) = x.shape.split_at(x.shape.len() - 2);
        let (r, c) = (matrix[0] as usize, matrix[1] as usize);
        if swapped { Matrix::new(x, batch, c, r, true) } else { Matrix::new(x, batch, r, c, false) }
    }

    fn new(x: &'a Array, batch: &'a [u64], rows: usize, cols: usize, swapped: bool) -> Matrix<'a> {
        let (row_stride, col_stride) = if swapped { (1, rows) } else { (cols, 1) };
        Matrix { data: x.as_floats(), batch, rows, cols, row_stride, col_stride }
    }

    /// Offsets of the matrices, for a batch shape that this one's broadcasts to.
    fn starts(&self, batch: &[u64]) -> Vec<usize> {
        let size = self.rows * self.cols;
        let walk = broadcast_strides(self.batch, batch);
        offsets(batch, &walk, 0).into_iter().map(|i| i * size).collect()
    }
}

/// Σ f(a)·f(b) for every element of the result, unrounded.
fn product(op: &MatMul, cx: &EvalCx<'_>, f: impl Fn(f64) -> f64) -> Vec<f64> {
    let (a, b) = (Matrix::a(op, cx.arg(0)), Matrix::b(op, cx.arg(1)));
    let (_, shape) = cx.out();
    let free = usize::from(cx.arg(0).shape.len() > 1) + usize::from(cx.arg(1).shape.len() > 1);
    let batch = &shape[..shape.len() - free];
    let mut y = vec![0.0; count(shape)];
    let (m, n) = (a.rows, b.cols);
    for (i, (a0, b0)) in a.starts(batch).into_iter().zip(b.starts(batch)).enumerate() {
        let y = &mut y[i * m * n..][..m * n];
        for r in 0..m {
            for k in 0..a.cols {
                let x = f(a.data[a0 + r * a.row_stride + k * a.col_stride]);
                let row = b0 + k * b.row_stride;
                for (c, y) in y[r * n..][..n].iter_mut().enumerate() {
                    *y += x * f(b.data[row + c * b.col_stride]);
                }
            }
        }
    }
    y
}
