//! `KvAppend`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx, Status};
use crate::index::{around, axis_of};
use crate::ops::elementwise::exact;
use pumice_ir::ops::KvAppend;
use pumice_ir::ops::kv_append::AppendMode;

/// Rows that are written from positions on, one for all or one for each batch entry.
pub(in crate::ops) struct Rows<'a> {
    pub axis: i64,
    pub mode: AppendMode,
    pub pos: &'a [i64],
}

impl Rows<'_> {
    /// Operand 0 with the rows of operand 1, in ascending order, so that of two rows on one place the later one stays.
    pub fn written(&self, cx: &EvalCx<'_>) -> Array {
        let (state, x, pos) = (cx.arg(0), cx.arg(1), self.pos);
        let axis = axis_of(self.axis, state.shape.len());
        let (outer, capacity, inner) = around(&state.shape, axis);
        let rows = x.shape[axis] as usize;
        let per_position = (outer / pos.len().max(1)).max(1);
        let (mut to, mut from) = (Vec::new(), Vec::new());
        for o in 0..outer {
            let b = (o / per_position).min(pos.len() - 1);
            for t in 0..rows {
                match self.place(pos[b], t, capacity) {
                    // Rows of no elements lose none.
                    None if inner == 0 => {}
                    None => cx.raise(Status::StateOverflow((o * rows + t) as u64)),
                    Some(place) => {
                        to.extend((0..inner).map(|i| (o * capacity + place) * inner + i));
                        from.extend((0..inner).map(|i| (o * rows + t) * inner + i));
                    }
                }
            }
        }
        let mut next = state.clone();
        next.scatter(&to, x, &from);
        next
    }

    /// Where row t goes; a position of more than 32 bits is past the end.
    fn place(&self, pos: i64, t: usize, capacity: usize) -> Option<usize> {
        let at = i64::from(i32::try_from(pos).ok()?) + t as i64;
        let at = match self.mode {
            AppendMode::Circular => at.rem_euclid((capacity as i64).max(1)),
            AppendMode::Linear => at,
        };
        usize::try_from(at).ok().filter(|&at| at < capacity)
    }
}

impl Eval for KvAppend {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        vec![Rows { axis: self.axis, mode: self.mode, pos: cx.arg(2).as_ints() }.written(cx)]
    }
    exact!();
}
