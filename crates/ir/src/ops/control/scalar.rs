//! `Scalar`: a number that changes from run to run without recompiling or re-recording.

use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::{Grad, OpDef};
use crate::sample::Sample;
use crate::shape::{ValueType, f32, i32};
use pumice_types::{DType, DimExpr};

crate::op! {
    /// A dynamic scalar: position, step, learning rate, temperature (OPS 2). It lives in the frame.
    pub struct Scalar {
        /// Rank 0; I32, U32 or F32.
        ty: ValueType,
        /// Smallest value allowed.
        min: f64 => ANY,
        /// Largest value allowed.
        max: f64 => ANY,
        /// Value until it is set.
        default: f64 => ANY,
        /// What is added to it, on the device, at the end of every replay; integers only.
        advance: Option<DimExpr>,
    }
}

impl OpDef for Scalar {
    const OPERANDS: &'static [&'static str] = &[];
    const GRAD: Grad<Self> = Grad::Zero;
    const TYPED: bool = true;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let wrong = |reason: &str| Err(OpError::Invalid(reason.to_owned()));
        if self.ty.rank() != 0 || !matches!(self.ty.dtype(), DType::I32 | DType::U32 | DType::F32) {
            return wrong("a dynamic scalar is a rank-0 i32, u32 or f32");
        }
        if self.min.is_nan() || self.max.is_nan() || self.min > self.max {
            return wrong("its range is empty");
        }
        if !(self.min..=self.max).contains(&self.default) {
            return wrong("its default is outside its range");
        }
        if self.ty.dtype() != DType::F32 {
            let whole = [self.min, self.max, self.default].iter().all(|v| v.fract() == 0.0);
            let (lo, hi) = if self.ty.dtype() == DType::I32 {
                (f64::from(i32::MIN), f64::from(i32::MAX))
            } else {
                (0.0, f64::from(u32::MAX))
            };
            if !whole || self.min < lo || self.max > hi {
                return wrong("its range or default is not of its integer type");
            }
        } else if self.advance.is_some() {
            return wrong("only an integer scalar advances on the device");
        }
        self.advance.iter().try_for_each(|by| cx.known_before(by, "what a scalar advances by"))?;
        Ok(smallvec::smallvec![self.ty.clone()])
    }

    fn samples() -> Vec<Sample> {
        let used = |label: &str, value: f64, dtype: DType| {
            Sample::graph(label, move |g| {
                let ty = crate::shape::tensor::<u64>(dtype, []);
                let lowest = if dtype == DType::U32 { 0.0 } else { -1000.0 };
                let s = g.scalar("s", ty, lowest, 1000.0, 1.0);
                let x = g.input("x", crate::shape::tensor(dtype, [3]));
                g.output("y", g.add(x, s));
            })
            .scalar("s", value)
        };
        let advance = Sample::graph("advances by an extent", |g| {
            let x = g.input("x", i32([4]));
            let s = g.scalar_advancing("pos", 0, 100, 0, DimExpr::constant(4));
            g.output("y", g.add(x, s));
        })
        .runs(3);
        let stops = Sample::graph("advances, and stops", |g| {
            let x = g.input("x", i32([4]));
            let s = g.scalar_advancing("pos", 0, 100, 0, DimExpr::constant(4));
            g.output("y", g.add(x, s));
            g.output("enough", g.greater(s, g.constant_scalar(DType::I32, 3.0)));
            g.stop("enough");
        })
        .runs(3);
        let output = Sample::graph("a scalar is an output", |g| {
            let s = g.scalar("s", f32::<u64>([]), 0.0, 10.0, 2.5);
            g.output("y", s);
        });
        vec![
            used("f32", 0.5, DType::F32),
            used("i32 at its lower end", -1000.0, DType::I32),
            used("u32 at its upper end", 1000.0, DType::U32),
            advance,
            stops,
            output,
        ]
    }
}
