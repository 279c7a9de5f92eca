//! `PRelu`: a line with a bend, its slope a tensor.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::elementwise::FLOATS;
use crate::ops::elementwise::samples::{Fills, binary_case};
use crate::ops::{Grad, OpDef, ScalarCx};
use crate::sample::{Fill, Sample};
use pumice_types::DType;
use pumice_types::scalar::Reg;

crate::op! {
    /// y = x < 0 ? slope·x : x (ONNX PRelu); the slope broadcasts to x.
    pub struct PRelu {}
}

impl OpDef for PRelu {
    const OPERANDS: &'static [&'static str] = &["x", "slope"];
    const GRAD: Grad<Self> = Grad::Scalar;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        cx.expect_dtype(0, FLOATS)?;
        cx.same_dtype(0, 1)?;
        cx.broadcast_to(&cx.ty(1)?.shape, &cx.ty(0)?.shape)?;
        Ok(smallvec::smallvec![cx.ty(0)?.clone()])
    }

    fn samples() -> Vec<Sample> {
        let fills = Fills::from(Fill::Special);
        let case = |d: DType, x: &[u64], slope: &[u64]| {
            let label = format!("{d} {x:?} slope {slope:?}");
            binary_case(&label, (d, x), (d, slope), &fills, &|g, x, s| g.p_relu(x, s))
        };
        let f = DType::F32;
        let shapes: &[(&[u64], &[u64])] = &[
            (&[], &[]),
            (&[5], &[1]),
            (&[2, 3, 4, 5], &[3, 1, 1]),
            (&[2, 3, 4, 5], &[]),
            (&[2, 7], &[7]),
            (&[2, 7], &[2, 7]),
            (&[64, 33], &[64, 1]),
            (&[0, 3], &[3]),
        ];
        let mut samples: Vec<Sample> = shapes.iter().map(|(x, s)| case(f, x, s)).collect();
        samples.extend(super::samples::E0_SIZES.iter().map(|&n| case(f, &[2, n], &[n])));
        samples.extend(FLOATS.iter().map(|&d| case(d, &[3, 5, 37], &[5, 1])));
        samples
    }

    fn scalar(&self, cx: &ScalarCx<'_>) -> Option<Reg> {
        let (b, x, slope) = (cx.b, cx.arg(0)?, cx.arg(1)?);
        // At 0 the slope counts for gradients, and an infinite one must not make a NaN of it.
        let (zero, infinite) = (b.f32(0.0), b.or(b.is_inf(slope), b.is_nan(slope)));
        let slope = b.select(b.and(b.eq(x, zero), infinite), zero, slope);
        Some(b.select(b.zero_or_below(x), b.mul(slope, x), x))
    }

    fn is_elementwise(&self) -> bool {
        true
    }
}

impl GraphBuilder {
    /// A line with a bend: x\[…\], a slope that broadcasts to x → x's type.
    #[track_caller]
    pub fn p_relu(&self, x: Value, slope: Value) -> Value {
        self.apply(PRelu {}, &[x, slope])
    }
}
