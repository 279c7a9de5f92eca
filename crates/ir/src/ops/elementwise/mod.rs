//! What elementwise ops share: their type rules and the macros that declare one in a few lines. Their samples are in
//! `samples.rs`.

use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use pumice_types::DType::{self, *};

pub mod abs;
pub mod acos;
pub mod acosh;
pub mod add;
pub mod affine;
pub mod and;
pub mod asin;
pub mod asinh;
pub mod atan;
pub mod atan2;
pub mod atanh;
pub mod bias_add;
pub mod bit_cast;
pub mod bit_shift;
pub mod bitwise_and;
pub mod bitwise_not;
pub mod bitwise_or;
pub mod bitwise_xor;
pub mod cast;
pub mod cast_like;
pub mod ceil;
pub mod celu;
pub mod clip;
pub mod cos;
pub mod cosh;
pub mod dequantize;
pub(crate) mod dequantize_samples;
pub mod div;
pub mod dropout;
pub mod elementwise_grad;
pub mod elu;
pub mod equal;
pub mod erf;
pub mod exp;
pub mod exp2;
pub mod expm1;
pub(crate) mod extremum;
pub mod floor;
pub mod fma;
pub mod gelu;
pub mod glu;
pub(crate) mod glu_packed;
pub mod greater;
pub mod greater_or_equal;
pub mod hard_sigmoid;
pub mod hard_swish;
pub mod in_both;
pub mod is_inf;
pub mod is_nan;
pub mod leaky_relu;
pub mod less;
pub mod less_or_equal;
pub mod log;
pub mod log1p;
pub mod log2;
pub mod log_sigmoid;
pub mod max;
pub mod mean;
pub mod min;
pub mod mish;
pub mod modulo;
pub mod mul;
pub mod neg;
pub mod not;
pub mod not_equal;
pub mod or;
pub mod p_relu;
pub mod pow;
pub mod pow_scalar;
pub mod reciprocal;
pub mod relu;
pub mod round;
pub mod rsqrt;
pub(crate) mod samples;
pub mod select;
pub mod selu;
pub mod shrink;
pub mod sigmoid;
pub mod sign;
pub mod sin;
pub mod sinh;
pub mod softplus;
pub mod softsign;
pub mod sqrt;
pub mod square;
pub mod sub;
pub mod sum;
pub mod swish;
pub mod tan;
pub mod tanh;
pub mod thresholded_relu;
pub mod trunc;
pub mod xor;

/// Float types.
pub const FLOATS: &[DType] = &[F32, F16, BF16];
/// Integer types.
pub const INTS: &[DType] = &[I32, I8, U8, I16, U16, U32, I64, U64];
/// Floats and integers.
pub const NUMERIC: &[DType] = &[F32, F16, BF16, I8, U8, I16, U16, I32, U32, I64, U64];
/// Every dtype.
pub const ANY: &[DType] = &DType::ALL;
/// Booleans.
pub const BOOL: &[DType] = &[Bool];

/// Type rule of a unary op: the result is the operand's type, or its shape in another dtype.
pub fn infer_unary(cx: &Infer<'_>, dtypes: &[DType], result: Option<DType>) -> Result<Types, OpError> {
    let dtype = cx.expect_dtype(0, dtypes)?;
    one(result.unwrap_or(dtype), cx.ty(0)?.shape.clone())
}

/// Type rule of an op over operands of one dtype that broadcast together.
pub fn infer_broadcast(cx: &Infer<'_>, dtypes: &[DType], result: Option<DType>) -> Result<Types, OpError> {
    let dtype = cx.expect_dtype(0, dtypes)?;
    let mut shape = cx.ty(0)?.shape.clone();
    for i in 1..cx.len() {
        cx.same_dtype(0, i)?;
        shape = cx.broadcast_shapes(&shape, &cx.ty(i)?.shape)?;
    }
    one(result.unwrap_or(dtype), shape)
}

/// How gradients pass an elementwise op: by its scalar form, unless it says otherwise.
macro_rules! differentiated {
    () => {
        $crate::ops::Grad::Scalar
    };
    ($kind:ident) => {
        $crate::ops::Grad::$kind
    };
}
pub(crate) use differentiated;

/// Declares a unary op with its builder method: `Name method, DTYPES [-> Dtype], |builder, x| scalar form, fill`, and
/// optionally `also` a function of further samples and `duties`, further methods of [`OpDef`](crate::ops::OpDef).
macro_rules! unary {
    ($(#[$doc:meta])* $Name:ident $method:ident, $dtypes:ident $(-> $result:ident)?, |$b:ident, $x:ident| $body:expr, $fill:expr $(, also $also:expr)? $(, duties { $($duty:tt)* })? $(, grad $grad:ident)?) => {
        $crate::op! { $(#[$doc])* pub struct $Name {} }

        impl $crate::ops::OpDef for $Name {
            const OPERANDS: &'static [&'static str] = &["x"];
            const GRAD: $crate::ops::Grad<Self> = $crate::ops::elementwise::differentiated!($($grad)?);
            fn infer(&self, cx: &$crate::infer::Infer<'_>) -> Result<$crate::infer::Types, $crate::error::OpError> {
                let result = [$(pumice_types::DType::$result)?].first().copied();
                $crate::ops::elementwise::infer_unary(cx, $crate::ops::elementwise::$dtypes, result)
            }
            fn samples() -> Vec<$crate::sample::Sample> {
                #[allow(unused_mut)]
                let mut samples = $crate::ops::elementwise::samples::unary_samples(
                    $crate::ops::elementwise::$dtypes, $fill, |g, x| g.$method(x));
                $(samples.extend(($also)());)?
                samples
            }
            fn scalar(&self, cx: &$crate::ops::ScalarCx<'_>) -> Option<pumice_types::scalar::Reg> {
                let ($b, $x) = (cx.b, cx.arg(0)?);
                Some($body)
            }
            fn is_elementwise(&self) -> bool {
                true
            }
            $($($duty)*)?
        }

        impl $crate::builder::GraphBuilder {
            $(#[$doc])*
            #[track_caller]
            pub fn $method(&self, x: $crate::builder::Value) -> $crate::builder::Value {
                self.apply($Name {}, &[x])
            }
        }
    };
}
pub(crate) use unary;

/// Declares a unary op with attributes: as [`unary`], with the attributes after the method's name, the op and its
/// [`ScalarCx`](crate::ops::ScalarCx) before the builder, the settings that samples are made of, the main one first,
/// and optionally the setting that is refused, with the attribute and the reason.
macro_rules! unary_with {
    ($(#[$doc:meta])* $Name:ident $method:ident { $($(#[$fdoc:meta])* $field:ident : $ty:ty $(= $default:expr)? $(=> $range:ident)?),* $(,)? },
        $dtypes:ident $(-> $result:ident)?, |$op:ident, $cx:ident, $b:ident, $x:ident| $body:expr, $fill:expr,
        settings $settings:expr $(, refuses |$bad:ident| $wrong:expr => ($attr:literal, $reason:literal))? $(, grad $grad:ident)?) => {
        $crate::op! { $(#[$doc])* pub struct $Name { $($(#[$fdoc])* $field : $ty $(= $default)? $(=> $range)?),* } }

        impl $crate::ops::OpDef for $Name {
            const OPERANDS: &'static [&'static str] = &["x"];
            const GRAD: $crate::ops::Grad<Self> = $crate::ops::elementwise::differentiated!($($grad)?);
            fn infer(&self, cx: &$crate::infer::Infer<'_>) -> Result<$crate::infer::Types, $crate::error::OpError> {
                $({
                    let $bad = self;
                    if $wrong {
                        let reason = $reason.to_owned();
                        return Err($crate::attr::AttrError::Value { name: $attr, reason }.into());
                    }
                })?
                let result = [$(pumice_types::DType::$result)?].first().copied();
                $crate::ops::elementwise::infer_unary(cx, $crate::ops::elementwise::$dtypes, result)
            }
            fn samples() -> Vec<$crate::sample::Sample> {
                $crate::ops::elementwise::samples::setting_samples(
                    $crate::ops::elementwise::$dtypes, $fill, &$settings.map($crate::ops::Op::from))
            }
            fn scalar(&self, $cx: &$crate::ops::ScalarCx<'_>) -> Option<pumice_types::scalar::Reg> {
                let ($op, $b, $x) = (self, $cx.b, $cx.arg(0)?);
                Some($body)
            }
            fn is_elementwise(&self) -> bool {
                true
            }
        }

        impl $crate::builder::GraphBuilder {
            $(#[$doc])*
            #[track_caller]
            pub fn $method(&self, x: $crate::builder::Value, $($field: $ty),*) -> $crate::builder::Value {
                self.apply($Name { $($field),* }, &[x])
            }
        }
    };
}
pub(crate) use unary_with;

/// Declares a binary op of one dtype with its builder method; `fill` is a `Fill` or a
/// [`Fills`](crate::ops::elementwise::samples::Fills), `duties` are further methods of [`OpDef`](crate::ops::OpDef).
macro_rules! binary {
    ($(#[$doc:meta])* $Name:ident $method:ident, $dtypes:ident $(-> $result:ident)?, |$b:ident, $x:ident, $y:ident| $body:expr, $fill:expr $(, also $also:expr)? $(, duties { $($duty:tt)* })? $(, grad $grad:ident)?) => {
        $crate::op! { $(#[$doc])* pub struct $Name {} }

        impl $crate::ops::OpDef for $Name {
            const OPERANDS: &'static [&'static str] = &["a", "b"];
            const GRAD: $crate::ops::Grad<Self> = $crate::ops::elementwise::differentiated!($($grad)?);
            fn infer(&self, cx: &$crate::infer::Infer<'_>) -> Result<$crate::infer::Types, $crate::error::OpError> {
                let result = [$(pumice_types::DType::$result)?].first().copied();
                $crate::ops::elementwise::infer_broadcast(cx, $crate::ops::elementwise::$dtypes, result)
            }
            fn samples() -> Vec<$crate::sample::Sample> {
                #[allow(unused_mut)]
                let mut samples = $crate::ops::elementwise::samples::binary_samples(
                    $crate::ops::elementwise::$dtypes, $fill.into(), |g, x, y| g.$method(x, y));
                $(samples.extend(($also)());)?
                samples
            }
            fn scalar(&self, cx: &$crate::ops::ScalarCx<'_>) -> Option<pumice_types::scalar::Reg> {
                let ($b, $x, $y) = (cx.b, cx.arg(0)?, cx.arg(1)?);
                Some($body)
            }
            fn is_elementwise(&self) -> bool {
                true
            }
            $($($duty)*)?
        }

        impl $crate::builder::GraphBuilder {
            $(#[$doc])*
            #[track_caller]
            pub fn $method(&self, a: $crate::builder::Value, b: $crate::builder::Value) -> $crate::builder::Value {
                self.apply($Name {}, &[a, b])
            }
        }
    };
}
pub(crate) use binary;

/// Declares an op over any number of operands of one dtype, at least one, with its builder method.
macro_rules! variadic {
    ($(#[$doc:meta])* $Name:ident $method:ident, $dtypes:ident, elementwise $elementwise:literal, |$b:ident, $xs:ident| $body:expr, $fill:expr, grad $grad:expr $(, duties { $($duty:tt)* })?) => {
        $crate::op! { $(#[$doc])* pub struct $Name {} }

        impl $crate::ops::OpDef for $Name {
            const OPERANDS: &'static [&'static str] = &["xs*"];
            const GRAD: $crate::ops::Grad<Self> = $grad;
            fn infer(&self, cx: &$crate::infer::Infer<'_>) -> Result<$crate::infer::Types, $crate::error::OpError> {
                $crate::ops::elementwise::infer_broadcast(cx, $crate::ops::elementwise::$dtypes, None)
            }
            fn samples() -> Vec<$crate::sample::Sample> {
                $crate::ops::elementwise::samples::variadic_samples(
                    $crate::ops::elementwise::$dtypes, $fill, |g, xs| g.$method(xs))
            }
            fn scalar(&self, cx: &$crate::ops::ScalarCx<'_>) -> Option<pumice_types::scalar::Reg> {
                let ($b, $xs) = (cx.b, cx.present());
                $body
            }
            fn is_elementwise(&self) -> bool {
                $elementwise
            }
            $($($duty)*)?
        }

        impl $crate::builder::GraphBuilder {
            $(#[$doc])*
            #[track_caller]
            pub fn $method(&self, xs: &[$crate::builder::Value]) -> $crate::builder::Value {
                self.apply($Name {}, xs)
            }
        }
    };
}
pub(crate) use variadic;

/// Floats, integers and Bool, floats first.
pub const ORDERED: &[DType] = &[F32, F16, BF16, I8, U8, I16, U16, I32, U32, I64, U64, Bool];
