//! `BitShift`: bits moved left or right.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::elementwise::samples::{Fills, binary_samples};
use crate::ops::elementwise::{INTS, infer_broadcast};
use crate::ops::{Grad, OpDef, ScalarCx};
use crate::sample::{Fill, Sample};
use pumice_types::scalar::Reg;

crate::attr_enum! {
    /// Which way bits move.
    pub enum ShiftDirection {
        /// Toward the high end.
        Left = "left",
        /// Toward the low end; signed integers keep their sign.
        Right = "right",
    }
}

crate::op! {
    /// y = a shifted by b bits, with NumPy broadcasting (ONNX BitShift). An amount outside 0..width gives 0, or −1 for
    /// a negative value shifted right.
    pub struct BitShift {
        /// Which way.
        direction: ShiftDirection,
    }
}

impl OpDef for BitShift {
    const OPERANDS: &'static [&'static str] = &["a", "b"];
    const GRAD: Grad<Self> = Grad::Zero;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        infer_broadcast(cx, INTS, None)
    }

    fn samples() -> Vec<Sample> {
        let amounts = Fill::Ints(vec![0, 1, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, -1, 127, 2, 5]);
        let fills = Fills { a: Fill::Special, b: amounts.clone(), b_int: amounts };
        let both = [ShiftDirection::Left, ShiftDirection::Right];
        both.into_iter()
            .flat_map(|d| {
                let samples = binary_samples(INTS, fills.clone(), |g, x, y| g.bit_shift(x, y, d));
                samples.into_iter().map(move |s| Sample { label: format!("{d:?}: {}", s.label), ..s })
            })
            .collect()
    }

    fn scalar(&self, cx: &ScalarCx<'_>) -> Option<Reg> {
        let (b, x, by) = (cx.b, cx.arg(0)?, cx.arg(1)?);
        Some(match self.direction {
            ShiftDirection::Left => b.shift_left(x, by),
            ShiftDirection::Right => b.shift_right(x, by),
        })
    }

    fn is_elementwise(&self) -> bool {
        true
    }
}

impl GraphBuilder {
    /// Bits of a moved by b places: two integer tensors of one dtype that broadcast → that dtype.
    #[track_caller]
    pub fn bit_shift(&self, a: Value, b: Value, direction: ShiftDirection) -> Value {
        self.apply(BitShift { direction }, &[a, b])
    }
}
