//! `BitShift`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::{exact, zip};
use pumice_ir::ops::BitShift;
use pumice_ir::ops::bit_shift::ShiftDirection;
use pumice_types::DType;

impl Eval for BitShift {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        zip(cx, |x, _| x, |d, x, by| shifted(self.direction, d, x, by))
    }
    exact!();
}

/// An amount outside 0..width leaves nothing of the value but, to the right, its sign.
fn shifted(direction: ShiftDirection, dtype: DType, x: i64, by: i64) -> i64 {
    let inside = (0..i64::from(dtype.bits())).contains(&by);
    match direction {
        ShiftDirection::Left => {
            if inside {
                x << by
            } else {
                0
            }
        }
        ShiftDirection::Right if dtype == DType::U64 => {
            if inside {
                (x as u64 >> by) as i64
            } else {
                0
            }
        }
        ShiftDirection::Right if inside => x >> by,
        ShiftDirection::Right => {
            if dtype.is_signed() && x < 0 {
                -1
            } else {
                0
            }
        }
    }
}
