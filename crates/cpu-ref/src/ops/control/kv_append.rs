//! `KvAppend`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx, Status};
use crate::index::{around, axis_of};
use crate::ops::elementwise::exact;
use pumice_ir::ops::KvAppend;
use pumice_ir::ops::kv_append::AppendMode;

impl Eval for KvAppend {
    /// Rows in ascending order, so that of two rows on one place the later one stays.
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (state, x, pos) = (cx.arg(0), cx.arg(1), cx.arg(2).as_ints());
        let axis = axis_of(self.axis, state.shape.len());
        let (outer, capacity, inner) = around(&state.shape, axis);
        let rows = x.shape[axis] as usize;
        let per_position = (outer / pos.len().max(1)).max(1);
        let (mut to, mut from) = (Vec::new(), Vec::new());
        for o in 0..outer {
            let b = (o / per_position).min(pos.len() - 1);
            for t in 0..rows {
                let at = pos[b].saturating_add(t as i64);
                let place = match self.mode {
                    AppendMode::Circular => at.rem_euclid((capacity as i64).max(1)),
                    AppendMode::Linear => at,
                };
                if place < 0 || place >= capacity as i64 {
                    cx.raise(Status::StateOverflow((o * rows + t) as u64));
                    continue;
                }
                for i in 0..inner {
                    to.push((o * capacity + place as usize) * inner + i);
                    from.push((o * rows + t) * inner + i);
                }
            }
        }
        let mut next = state.clone();
        next.scatter(&to, x, &from);
        vec![next]
    }
    exact!();
}
