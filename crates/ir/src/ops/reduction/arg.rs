//! What the places of extrema share: their type rule, their samples, and the macro that declares one.

use crate::attr::AttrError;
use crate::builder::GraphBuilder;
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::Op;
use crate::ops::elementwise::NUMERIC;
use crate::ops::reduce::reduced_shape;
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use pumice_types::DType;
use std::fmt::Debug;

/// Type rule: an index for each row, of which every one has an element.
pub fn infer_arg(cx: &Infer<'_>, axis: i64, keepdims: bool, index_dtype: DType) -> Result<Types, OpError> {
    cx.expect_dtype(0, NUMERIC)?;
    let x = cx.ty(0)?;
    let axis = cx.axis(axis, x.rank())?;
    if x.shape[axis].lower(cx.symbols()) == 0 {
        return Err(OpError::Invalid(format!("axis {axis} of {} may be empty", cx.show(&x.shape))));
    }
    if !matches!(index_dtype, DType::I64 | DType::I32) {
        return Err(AttrError::Value { name: "index_dtype", reason: "an index is i64 or i32".into() }.into());
    }
    one(index_dtype, reduced_shape(&x.shape, &[axis], keepdims))
}

/// Attributes of a sample's op.
#[derive(Clone, Copy)]
pub struct Arg {
    /// The axis.
    pub axis: i64,
    /// Whether it stays.
    pub keepdims: bool,
    /// Whether the last of equal elements counts.
    pub last: bool,
    /// Of the result.
    pub index_dtype: DType,
}

fn arg(axis: i64, keepdims: bool) -> Arg {
    Arg { axis, keepdims, last: false, index_dtype: DType::I64 }
}

fn case<O: Into<Op> + Debug>(d: DType, shape: &[u64], op: O, fill: Fill) -> Sample {
    Sample::graph(&format!("{d} {shape:?} {op:?} {fill:?}"), |g| {
        let x = g.input("x", tensor(d, shape.iter().copied()));
        g.output("y", g.apply(op, &[x]));
    })
    .fill("x", fill)
}

/// Samples of the op that `of` makes: every size along and across the axis, ties, NaN and infinities, the extremes of
/// every dtype, few long rows and many short ones, symbolic extents.
pub fn arg_samples<O: Into<Op> + Debug>(of: impl Fn(Arg) -> O) -> Vec<Sample> {
    let mut samples = Vec::new();
    for &n in crate::ops::elementwise::samples::E0_SIZES.iter().filter(|&&n| n > 0) {
        samples.push(case(DType::F32, &[3, n], of(arg(-1, n % 2 == 0)), Fill::Normal));
        samples.push(case(DType::F32, &[n, 5], of(arg(0, n % 2 == 1)), Fill::Range(-3, 3)));
    }
    for last in [false, true] {
        samples.extend(ties(|| of(Arg { last, ..arg(1, false) })));
    }
    let i32 = Arg { index_dtype: DType::I32, ..arg(-1, false) };
    samples.extend([
        case(DType::F32, &[7, 129], of(i32), Fill::Normal),
        case(DType::F32, &[1, 32_000], of(i32), Fill::Normal),
        case(DType::F32, &[0, 4], of(arg(1, true)), Fill::Normal),
        case(DType::F32, &[7], of(arg(0, false)), Fill::Normal),
        case(DType::F32, &[2, 3, 4, 5], of(arg(-2, true)), Fill::Normal),
        case(DType::F32, &[70_000, 3], of(arg(1, false)), Fill::Normal),
        case(DType::F32, &[1, 2, 1, 3, 2, 1, 2, 2], of(arg(3, true)), Fill::Normal),
    ]);
    samples.extend([1, 33].map(|n| {
        Sample::graph(&format!("symbolic, {n} of 70"), |g: &GraphBuilder| {
            let x = g.input("x", tensor(DType::F32, [sym("n", 1..=70), 9.into()]));
            g.output("rows", g.apply(of(arg(1, false)), &[x]));
            g.output("columns", g.apply(of(arg(0, false)), &[x]));
        })
        .bind("n", n)
    }));
    samples
}

/// Equal elements far apart, of which the first or the last counts, and values at the ends of dtypes.
fn ties<O: Into<Op> + Debug>(of: impl Fn() -> O) -> Vec<Sample> {
    let row = |d: DType, shape: [u64; 2], fill: Fill| case(d, &shape, of(), fill);
    let (f, inf) = (DType::F32, f64::INFINITY);
    let mut samples: Vec<Sample> = NUMERIC.iter().map(|&d| row(d, [4, 37], Fill::Special)).collect();
    let wide = [DType::I64, DType::U64, DType::BF16];
    samples.extend(wide.map(|d| row(d, [4, 370], Fill::Range(0, 3))));
    let mixed = vec![1.0, f64::NAN, 2.0, inf, f64::NAN, 3.0, 0.5];
    samples.extend([
        row(f, [2, 3000], Fill::Constant(1.0)),
        row(f, [2, 300], Fill::Constant(-inf)),
        row(f, [2, 300], Fill::Constant(inf)),
        row(f, [2, 70_001], Fill::Range(0, 9)),
        // Few long rows: groups of 1024 threads on GPUs.
        row(f, [1, 5003], Fill::Range(0, 9)),
        row(f, [2, 8192], Fill::Special),
        row(DType::I64, [1, 4099], Fill::Special),
        case(f, &[2, 5, 3], of(), Fill::Floats(mixed)),
        row(f, [2, 3], Fill::Floats(vec![-0.0, 0.0, -0.0])),
        // The smallest integer has no negative.
        row(DType::I32, [3, 5], Fill::Ints(vec![0, i64::from(i32::MIN), 7, i64::from(i32::MAX)])),
        row(DType::U32, [3, 5], Fill::Ints(vec![3, 0, i64::from(u32::MAX), 1])),
    ]);
    samples
}

/// Declares the place of an extremum with its two builder methods.
macro_rules! arg_extremum {
    ($(#[$doc:meta])* $Name:ident $method:ident $narrow:ident, $(#[$method_doc:meta])*) => {
        $crate::op! {
            $(#[$doc])*
            pub struct $Name {
                /// The axis.
                axis: i64 = 0,
                /// Whether the axis stays, with extent 1.
                keepdims: bool = true,
                /// Whether of equal elements the last counts.
                select_last_index: bool = false,
                /// I64 or I32.
                index_dtype: pumice_types::DType = pumice_types::DType::I64,
            }
        }

        impl $crate::ops::OpDef for $Name {
            const OPERANDS: &'static [&'static str] = &["x"];
            const GRAD: $crate::ops::Grad<Self> = $crate::ops::Grad::Zero;
            fn infer(&self, cx: &$crate::infer::Infer<'_>) -> Result<$crate::infer::Types, $crate::error::OpError> {
                super::arg::infer_arg(cx, self.axis, self.keepdims, self.index_dtype)
            }
            fn samples() -> Vec<$crate::sample::Sample> {
                super::arg::arg_samples(|a| $Name {
                    axis: a.axis,
                    keepdims: a.keepdims,
                    select_last_index: a.last,
                    index_dtype: a.index_dtype,
                })
            }
        }

        impl $crate::builder::GraphBuilder {
            $(#[$method_doc])*
            #[track_caller]
            pub fn $method(&self, x: $crate::builder::Value, axis: i64, keepdims: bool) -> $crate::builder::Value {
                let index_dtype = pumice_types::DType::I64;
                self.apply($Name { axis, keepdims, select_last_index: false, index_dtype }, &[x])
            }

            #[doc = concat!("As [`GraphBuilder::", stringify!($method), "`](crate::GraphBuilder::", stringify!($method), "), with an i32 result.")]
            #[track_caller]
            pub fn $narrow(&self, x: $crate::builder::Value, axis: i64, keepdims: bool) -> $crate::builder::Value {
                let index_dtype = pumice_types::DType::I32;
                self.apply($Name { axis, keepdims, select_last_index: false, index_dtype }, &[x])
            }
        }
    };
}
pub(crate) use arg_extremum;
