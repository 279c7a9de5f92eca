//! `Where`.

use crate::array::{Array, Data};
use crate::eval::{Eval, EvalCx};
use crate::index::expand;
use crate::ops::elementwise::exact;
use pumice_ir::ops::Where;

impl Eval for Where {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (dtype, shape) = cx.out();
        let [c, x, y] = [0, 1, 2].map(|i| expand(cx.arg(i), shape));
        let c = c.as_ints();
        let data = match (&x.data, &y.data) {
            (Data::Float(x), Data::Float(y)) => Data::Float(pick(c, x, y)),
            _ => Data::Int(pick(c, x.as_ints(), y.as_ints())),
        };
        vec![Array { dtype, shape: shape.to_vec(), data }]
    }
    exact!();

    fn gradient(&self, by: usize, x: &[Option<f64>], dy: f64) -> Option<f64> {
        let chosen = if x.first().copied().flatten()? != 0.0 { 1 } else { 2 };
        Some(if by == chosen { dy } else { 0.0 })
    }
}

fn pick<T: Copy>(c: &[i64], x: &[T], y: &[T]) -> Vec<T> {
    c.iter().zip(x.iter().zip(y)).map(|(&c, (&x, &y))| if c != 0 { x } else { y }).collect()
}
