//! `Mod`: the remainder.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::div::{division_fills, division_samples};
use crate::ops::elementwise::samples::binary_samples;
use crate::ops::elementwise::{NUMERIC, infer_broadcast};
use crate::ops::{Grad, OpDef, ScalarCx};
use crate::sample::Sample;
use pumice_types::scalar::{Reg, RegType};

crate::op! {
    /// The remainder of a by b with NumPy broadcasting (ONNX Mod). x mod 0 is NaN for floats, and 0 with the status
    /// INT_DIV_ZERO for integers.
    pub struct Mod {
        /// False: a − ⌊a/b⌋·b, with the sign of b. True: C fmod, with the sign of a.
        fmod: bool = false,
    }
}

impl OpDef for Mod {
    const OPERANDS: &'static [&'static str] = &["a", "b"];
    const GRAD: Grad<Self> = Grad::Scalar;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        infer_broadcast(cx, NUMERIC, None)
    }

    fn samples() -> Vec<Sample> {
        let mut samples = Vec::new();
        for fmod in [false, true] {
            let apply = |g: &GraphBuilder, x: Value, y: Value| g.modulo(x, y, fmod);
            let both =
                binary_samples(NUMERIC, division_fills(), apply).into_iter().chain(division_samples(apply));
            samples.extend(both.map(|s| Sample { label: format!("fmod {fmod}: {}", s.label), ..s }));
        }
        samples
    }

    fn scalar(&self, cx: &ScalarCx<'_>) -> Option<Reg> {
        let (b, x, y) = (cx.b, cx.arg(0)?, cx.arg(1)?);
        Some(match (x.ty() == RegType::F32, self.fmod) {
            (true, true) => b.fmod(x, y),
            (true, false) => b.floor_mod(x, y),
            (false, true) => b.rem(x, y),
            (false, false) => b.modulo(x, y),
        })
    }

    fn is_elementwise(&self) -> bool {
        true
    }

    fn zero_divisor(&self, cx: &ScalarCx<'_>) -> Option<Reg> {
        crate::ops::div::zero_divisor(cx)
    }
}

impl GraphBuilder {
    /// The remainder of a by b, with b's sign or (`fmod`) a's: two tensors of one dtype that broadcast → that dtype.
    #[track_caller]
    pub fn modulo(&self, a: Value, b: Value, fmod: bool) -> Value {
        self.apply(Mod { fmod }, &[a, b])
    }
}
