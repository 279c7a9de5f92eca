//! `ArgMax`: where the largest element is.

use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::OpDef;
use crate::ops::elementwise::NUMERIC;
use crate::ops::reduce::reduced_shape;
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use pumice_types::DType;

crate::op! {
    /// The index of the first (or last) largest element along an axis (ONNX ArgMax); the first NaN wins. An empty axis is
    /// an error.
    pub struct ArgMax {
        /// The axis.
        axis: i64 = 0,
        /// Whether the axis stays, with extent 1.
        keepdims: bool = true,
        /// Whether of equal elements the last counts.
        select_last_index: bool = false,
        /// I64 or I32.
        index_dtype: DType = DType::I64,
    }
}

impl OpDef for ArgMax {
    const OPERANDS: &'static [&'static str] = &["x"];

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        cx.expect_dtype(0, NUMERIC)?;
        let x = cx.ty(0)?;
        let axis = cx.axis(self.axis, x.rank())?;
        if x.shape[axis].lower(cx.symbols()) == 0 {
            return Err(OpError::Invalid(format!("axis {axis} of {} may be empty", cx.show(&x.shape))));
        }
        if !matches!(self.index_dtype, DType::I64 | DType::I32) {
            return Err(
                AttrError::Value { name: "index_dtype", reason: "an index is i64 or i32".into() }.into()
            );
        }
        one(self.index_dtype, reduced_shape(&x.shape, &[axis], self.keepdims))
    }

    fn samples() -> Vec<Sample> {
        let mut samples = Vec::new();
        for &n in crate::ops::elementwise::samples::E0_SIZES.iter().filter(|&&n| n > 0) {
            samples.push(case(DType::F32, &[3, n], op(-1, n % 2 == 0), Fill::Normal));
            samples.push(case(DType::F32, &[n, 5], op(0, n % 2 == 1), Fill::Range(-3, 3)));
        }
        for last in [false, true] {
            let base = ArgMax { select_last_index: last, ..op(1, false) };
            samples.extend(NUMERIC.iter().map(|&d| case(d, &[4, 37], base.clone(), Fill::Special)));
            samples.extend(
                [DType::I64, DType::U64, DType::BF16]
                    .map(|d| case(d, &[4, 370], base.clone(), Fill::Range(0, 3))),
            );
            samples.extend([
                case(DType::F32, &[2, 3000], base.clone(), Fill::Constant(1.0)),
                case(DType::F32, &[2, 300], base.clone(), Fill::Constant(f64::NEG_INFINITY)),
                case(DType::F32, &[2, 70_001], base.clone(), Fill::Range(0, 9)),
                // Few long rows: groups of 1024 threads on GPUs.
                case(DType::F32, &[1, 5003], base.clone(), Fill::Range(0, 9)),
                case(DType::F32, &[2, 8192], base.clone(), Fill::Special),
                case(DType::I64, &[1, 4099], base.clone(), Fill::Special),
                case(
                    DType::F32,
                    &[2, 5, 3],
                    base.clone(),
                    Fill::Floats(vec![1.0, f64::NAN, 2.0, f64::INFINITY, f64::NAN, 3.0, 0.5]),
                ),
                case(DType::F32, &[2, 3], base, Fill::Floats(vec![-0.0, 0.0, -0.0])),
            ]);
        }
        let i32 = ArgMax { index_dtype: DType::I32, ..op(-1, false) };
        samples.extend([
            case(DType::F32, &[7, 129], i32.clone(), Fill::Normal),
            case(DType::F32, &[1, 32_000], i32, Fill::Normal),
            case(DType::F32, &[0, 4], op(1, true), Fill::Normal),
            case(DType::F32, &[7], op(0, false), Fill::Normal),
            case(DType::F32, &[2, 3, 4, 5], op(-2, true), Fill::Normal),
            case(DType::F32, &[70_000, 3], op(1, false), Fill::Normal),
            case(DType::F32, &[1, 2, 1, 3, 2, 1, 2, 2], op(3, true), Fill::Normal),
        ]);
        samples.extend([1, 33].map(|n| {
            Sample::graph(&format!("symbolic, {n} of 70"), |g| {
                let x = g.input("x", tensor(DType::F32, [sym("n", 1..=70), 9.into()]));
                g.output("rows", g.arg_max(x, 1, false));
                g.output("columns", g.arg_max(x, 0, false));
            })
            .bind("n", n)
        }));
        samples
    }
}

fn op(axis: i64, keepdims: bool) -> ArgMax {
    ArgMax { axis, keepdims, select_last_index: false, index_dtype: DType::I64 }
}

fn case(d: DType, shape: &[u64], op: ArgMax, fill: Fill) -> Sample {
    Sample::graph(&format!("{d} {shape:?} {op:?} {fill:?}"), |g| {
        let x = g.input("x", tensor(d, shape.iter().copied()));
        g.output("y", g.apply(op.clone(), &[x]));
    })
    .fill("x", fill)
}

impl GraphBuilder {
    /// The index of the first largest element along an axis: x\[…\] → i64, without the axis or with 1 in its place.
    #[track_caller]
    pub fn arg_max(&self, x: Value, axis: i64, keepdims: bool) -> Value {
        self.apply(op(axis, keepdims), &[x])
    }

    /// As [`GraphBuilder::arg_max`], with an i32 result.
    #[track_caller]
    pub fn arg_max_i32(&self, x: Value, axis: i64, keepdims: bool) -> Value {
        self.apply(ArgMax { index_dtype: DType::I32, ..op(axis, keepdims) }, &[x])
    }
}
