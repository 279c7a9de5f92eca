//! What elementwise ops share: their type rules, their samples, and the macros that declare one in a few lines.

use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::sample::{Fill, Sample};
use crate::shape::tensor;
use pumice_types::DType::{self, *};

/// Float types.
pub const FLOATS: &[DType] = &[F32, F16, BF16];
/// Integer types.
pub const INTS: &[DType] = &[I8, U8, I16, U16, I32, U32, I64, U64];
/// Floats and integers.
pub const NUMERIC: &[DType] = &[F32, F16, BF16, I8, U8, I16, U16, I32, U32, I64, U64];
/// Every dtype.
pub const ANY: &[DType] = &DType::ALL;
/// Booleans.
pub const BOOL: &[DType] = &[Bool];

/// Type rule of a unary op: the result is the operand's type.
pub fn infer_unary(cx: &Infer<'_>, dtypes: &[DType]) -> Result<Types, OpError> {
    cx.expect_dtype(0, dtypes)?;
    Ok(smallvec::smallvec![cx.ty(0)?.clone()])
}

/// Type rule of an op over operands of one dtype that broadcast together.
pub fn infer_broadcast(cx: &Infer<'_>, dtypes: &[DType], result: Option<DType>) -> Result<Types, OpError> {
    let dtype = cx.expect_dtype(0, dtypes)?;
    let mut shape = cx.ty(0)?.shape.clone();
    for i in 1..cx.len() {
        cx.same_dtype(0, i)?;
        shape = cx.broadcast(&shape, &cx.ty(i)?.shape)?;
    }
    one(result.unwrap_or(dtype), shape)
}

/// The working-axis sizes of OPS E0.
pub const E0_SIZES: &[u64] = &[0, 1, 2, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1023, 1025];

/// Samples of a unary op (OPS E0): every size, every dtype, ranks 0 to 8, a transposed operand.
pub fn unary_samples(
    dtypes: &[DType],
    fill: Fill,
    apply: impl Fn(&crate::GraphBuilder, crate::Value) -> crate::Value,
) -> Vec<Sample> {
    let case = |label: String, dtype: DType, shape: &[u64], transposed: bool| {
        Sample::graph(&label, |g| {
            let x = g.input("x", tensor(dtype, shape.iter().copied()));
            let x = if transposed { g.transpose(x, &[1, 0]) } else { x };
            g.output("y", apply(g, x));
        })
        .fill("x", fill.clone())
    };
    let mut samples: Vec<Sample> =
        E0_SIZES.iter().map(|&n| case(format!("{} [{n}]", dtypes[0]), dtypes[0], &[n], false)).collect();
    samples.extend(dtypes.iter().map(|&d| case(format!("{d} [7, 37]"), d, &[7, 37], false)));
    samples.push(case("rank 0".into(), dtypes[0], &[], false));
    samples.push(case("rank 8".into(), dtypes[0], &[1, 2, 1, 3, 2, 1, 2, 2], false));
    samples.push(case("transposed".into(), dtypes[0], &[13, 17], true));
    samples
}

/// Samples of a binary op: unary's, and broadcasting on every side.
pub fn binary_samples(
    dtypes: &[DType],
    fill: Fill,
    apply: impl Fn(&crate::GraphBuilder, crate::Value, crate::Value) -> crate::Value,
) -> Vec<Sample> {
    let case = |label: String, dtype: DType, a: &[u64], b: &[u64]| {
        Sample::graph(&label, |g| {
            let x = g.input("a", tensor(dtype, a.iter().copied()));
            let y = g.input("b", tensor(dtype, b.iter().copied()));
            g.output("y", apply(g, x, y));
        })
        .fill("a", fill.clone())
        .fill("b", fill.clone())
    };
    let first = dtypes[0];
    let mut samples: Vec<Sample> =
        E0_SIZES.iter().map(|&n| case(format!("{first} [{n}]"), first, &[n], &[n])).collect();
    samples.extend(dtypes.iter().map(|&d| case(format!("{d} [7, 37]"), d, &[7, 37], &[7, 37])));
    let broadcasts: &[(&[u64], &[u64])] = &[
        (&[], &[]),
        (&[5], &[]),
        (&[], &[5]),
        (&[3, 5], &[5]),
        (&[3, 5], &[3, 1]),
        (&[3, 1], &[1, 5]),
        (&[2, 3, 4, 5], &[3, 1, 5]),
        (&[2, 1, 4, 1], &[1, 3, 1, 5]),
        (&[4, 1, 3], &[4, 0, 3]),
        (&[1, 2, 1, 3, 2, 1, 2, 2], &[2, 1, 2, 1]),
    ];
    samples.extend(broadcasts.iter().map(|(a, b)| case(format!("{first} {a:?} with {b:?}"), first, a, b)));
    samples
}

/// Declares a unary op with its builder method.
macro_rules! unary {
    ($(#[$doc:meta])* $Name:ident $method:ident, $dtypes:ident, |$b:ident, $x:ident| $body:expr, $fill:expr) => {
        $crate::op! { $(#[$doc])* pub struct $Name {} }

        impl $crate::ops::OpDef for $Name {
            const OPERANDS: &'static [&'static str] = &["x"];
            fn infer(&self, cx: &$crate::infer::Infer<'_>) -> Result<$crate::infer::Types, $crate::error::OpError> {
                $crate::ops::elementwise::infer_unary(cx, $crate::ops::elementwise::$dtypes)
            }
            fn samples() -> Vec<$crate::sample::Sample> {
                $crate::ops::elementwise::unary_samples($crate::ops::elementwise::$dtypes, $fill, |g, x| g.$method(x))
            }
            fn scalar(&self, cx: &$crate::ops::ScalarCx<'_>) -> Option<pumice_types::scalar::Reg> {
                let ($b, $x) = (cx.b, cx.arg(0)?);
                Some($body)
            }
            fn is_elementwise(&self) -> bool {
                true
            }
        }

        impl $crate::builder::GraphBuilder {
            $(#[$doc])*
            pub fn $method(&self, x: $crate::builder::Value) -> $crate::builder::Value {
                self.apply($Name {}, &[x])
            }
        }
    };
}
pub(crate) use unary;

/// Declares a binary op of one dtype with its builder method.
macro_rules! binary {
    ($(#[$doc:meta])* $Name:ident $method:ident, $dtypes:ident $(-> $result:ident)?, |$b:ident, $x:ident, $y:ident| $body:expr, $fill:expr) => {
        $crate::op! { $(#[$doc])* pub struct $Name {} }

        impl $crate::ops::OpDef for $Name {
            const OPERANDS: &'static [&'static str] = &["a", "b"];
            fn infer(&self, cx: &$crate::infer::Infer<'_>) -> Result<$crate::infer::Types, $crate::error::OpError> {
                let result = [$(pumice_types::DType::$result)?].first().copied();
                $crate::ops::elementwise::infer_broadcast(cx, $crate::ops::elementwise::$dtypes, result)
            }
            fn samples() -> Vec<$crate::sample::Sample> {
                $crate::ops::elementwise::binary_samples($crate::ops::elementwise::$dtypes, $fill, |g, x, y| g.$method(x, y))
            }
            fn scalar(&self, cx: &$crate::ops::ScalarCx<'_>) -> Option<pumice_types::scalar::Reg> {
                let ($b, $x, $y) = (cx.b, cx.arg(0)?, cx.arg(1)?);
                Some($body)
            }
            fn is_elementwise(&self) -> bool {
                true
            }
        }

        impl $crate::builder::GraphBuilder {
            $(#[$doc])*
            pub fn $method(&self, a: $crate::builder::Value, b: $crate::builder::Value) -> $crate::builder::Value {
                self.apply($Name {}, &[a, b])
            }
        }
    };
}
pub(crate) use binary;
