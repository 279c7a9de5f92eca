//! `Shrink`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::map;
use crate::tolerance::Tolerance;
use pumice_ir::ops::Shrink;
use pumice_types::DType;

impl Eval for Shrink {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (lambd, bias) = (f64::from(self.lambd), f64::from(self.bias));
        let float = |x: f64| match x {
            x if x < -lambd => x + bias,
            x if x > lambd => x - bias,
            _ => 0.0,
        };
        let int = |d: DType, i: i64| {
            let x = if d == DType::U64 { i as u64 as f32 } else { i as f32 };
            match x {
                x if x < -self.lambd => i.wrapping_add(self.bias as i64),
                x if x > self.lambd => i.wrapping_sub(self.bias as i64),
                _ => 0,
            }
        };
        map(cx, float, int)
    }

    /// The bias is any f32, so a 16-bit sum is rounded to f32 first.
    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::ulps(cx.out().0, 1.0)
    }

    fn gradient(&self, _by: usize, x: &[Option<f64>], dy: f64) -> Option<f64> {
        let outside = x.first().copied().flatten()?.abs() > f64::from(self.lambd);
        Some(if outside { dy } else { 0.0 })
    }
}
