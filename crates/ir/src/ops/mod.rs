//! The op set: one line here, one file beside this one.
//!
//! [`for_each_op!`](crate::for_each_op) is the one list. Every crate expands it into its own exhaustive dispatch, so that a forgotten duty
//! is a compile error that names the op. What a pass or a lowering must know of an op is a method of [`OpDef`]: nothing is
//! matched by hand on [`Op`] but the leaves of a program and, in a pass, the ops that its header names
//! (`cargo xtask tidy --rule duties`).

pub use def::{OpDef, ScalarCx};

use crate::attr::{AttrError, AttrReader, AttrValue, Attrs};
use crate::error::OpError;
use crate::graph::Graph;
use crate::infer::{Infer, Types};
use crate::sample::Sample;
use pumice_types::scalar::Reg;
use pumice_types::{DimExpr, Encoding};
use reduce::Reduction;
use std::sync::Arc;

/// Calls `$m!` with every op: `file Type "name"`, grouped as in OPS. The attributes of a `boxed` one are many, so that an
/// [`Op`](crate::Op) points to them: graphs hold very many ops, and most have none.
#[macro_export]
macro_rules! for_each_op {
    ($m:ident) => {
        $m! {
            // 2 Leaves, states, control
            input Input "input";
            param Param "param";
            constant Constant "constant";
            state State "state";
            scalar Scalar "scalar" boxed;
            extent Extent "extent";
            identity Identity "identity";
            fused Fused "fused";
            state_read StateRead "state_read";
            state_write StateWrite "state_write";
            kv_append KvAppend "kv_append";
            // 3.1 Elementwise
            abs Abs "abs";
            neg Neg "neg";
            sign Sign "sign";
            reciprocal Reciprocal "reciprocal";
            sqrt Sqrt "sqrt";
            rsqrt Rsqrt "rsqrt";
            square Square "square";
            exp Exp "exp";
            exp2 Exp2 "exp2";
            expm1 Expm1 "expm1";
            log Log "log";
            log1p Log1p "log1p";
            log2 Log2 "log2";
            sin Sin "sin";
            cos Cos "cos";
            tan Tan "tan";
            asin Asin "asin";
            acos Acos "acos";
            atan Atan "atan";
            atan2 Atan2 "atan2";
            sinh Sinh "sinh";
            cosh Cosh "cosh";
            tanh Tanh "tanh";
            asinh Asinh "asinh";
            acosh Acosh "acosh";
            atanh Atanh "atanh";
            erf Erf "erf";
            floor Floor "floor";
            ceil Ceil "ceil";
            trunc Trunc "trunc";
            round Round "round";
            sigmoid Sigmoid "sigmoid";
            log_sigmoid LogSigmoid "log_sigmoid";
            hard_sigmoid HardSigmoid "hard_sigmoid";
            relu Relu "relu";
            leaky_relu LeakyRelu "leaky_relu";
            thresholded_relu ThresholdedRelu "thresholded_relu";
            p_relu PRelu "p_relu";
            elu Elu "elu";
            celu Celu "celu";
            selu Selu "selu";
            gelu Gelu "gelu";
            swish Swish "swish";
            hard_swish HardSwish "hard_swish";
            mish Mish "mish";
            softplus Softplus "softplus";
            softsign Softsign "softsign";
            shrink Shrink "shrink";
            affine Affine "affine";
            pow_scalar PowScalar "pow_scalar";
            is_nan IsNan "is_nan";
            is_inf IsInf "is_inf";
            not Not "not";
            bitwise_not BitwiseNot "bitwise_not";
            add Add "add";
            sub Sub "sub";
            mul Mul "mul";
            div Div "div";
            pow Pow "pow";
            max Max "max";
            min Min "min";
            sum Sum "sum";
            mean Mean "mean";
            modulo Mod "mod";
            bitwise_and BitwiseAnd "bitwise_and";
            bitwise_or BitwiseOr "bitwise_or";
            bitwise_xor BitwiseXor "bitwise_xor";
            and And "and";
            or Or "or";
            xor Xor "xor";
            bit_shift BitShift "bit_shift";
            equal Equal "equal";
            not_equal NotEqual "not_equal";
            less Less "less";
            less_or_equal LessOrEqual "less_or_equal";
            greater Greater "greater";
            greater_or_equal GreaterOrEqual "greater_or_equal";
            select Where "where";
            clip Clip "clip";
            fma Fma "fma";
            cast Cast "cast";
            dequantize Dequantize "dequantize";
            cast_like CastLike "cast_like";
            bit_cast BitCast "bit_cast";
            glu Glu "glu";
            bias_add BiasAdd "bias_add";
            dropout Dropout "dropout";
            // 3.2 Movement
            reshape Reshape "reshape";
            flatten Flatten "flatten";
            squeeze Squeeze "squeeze";
            unsqueeze Unsqueeze "unsqueeze";
            transpose Transpose "transpose";
            expand Expand "expand";
            slice Slice "slice" boxed;
            split Split "split" boxed;
            concat Concat "concat";
            gather Gather "gather";
            // 3.3 Reductions
            reduce_sum ReduceSum "reduce_sum";
            reduce_mean ReduceMean "reduce_mean";
            reduce_max ReduceMax "reduce_max";
            reduce_min ReduceMin "reduce_min";
            reduce_prod ReduceProd "reduce_prod";
            arg_max ArgMax "arg_max";
            // 3.4 Matrix products
            matmul MatMul "matmul";
            linear Linear "linear";
            // 3.6 Normalisation
            layer_norm LayerNorm "layer_norm";
            rms_norm RmsNorm "rms_norm";
            // 3.7 Softmax, attention, position
            softmax Softmax "softmax";
            log_softmax LogSoftmax "log_softmax";
            attention Attention "attention";
            attention_parts AttentionParts "attention_parts";
            attention_merge AttentionMerge "attention_merge";
            rotary Rotary "rotary";
            // 3.9 Signal
            fft Fft "fft";
        }
    };
}

pub mod abs;
pub mod acos;
pub mod acosh;
pub mod add;
pub mod affine;
pub mod and;
pub mod arg_max;
pub mod asin;
pub mod asinh;
pub mod atan;
pub mod atan2;
pub mod atanh;
pub mod attention;
pub mod attention_merge;
pub mod attention_parts;
mod attention_samples;
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
pub mod concat;
pub mod constant;
pub mod cos;
pub mod cosh;
mod def;
pub mod dequantize;
mod dequantize_samples;
pub mod div;
pub mod dropout;
pub mod elementwise;
pub mod elementwise_samples;
pub mod elu;
pub mod equal;
pub mod erf;
pub mod exp;
pub mod exp2;
pub mod expand;
pub mod expm1;
pub mod extent;
pub mod fft;
pub mod flatten;
pub mod floor;
pub mod fma;
pub mod fused;
pub mod gather;
pub mod gelu;
pub mod glu;
pub mod greater;
pub mod greater_or_equal;
pub mod hard_sigmoid;
pub mod hard_swish;
pub mod identity;
pub mod input;
pub mod is_inf;
pub mod is_nan;
pub mod kv_append;
pub mod layer_norm;
pub mod leaky_relu;
pub mod less;
pub mod less_or_equal;
pub mod linear;
pub mod log;
pub mod log1p;
pub mod log2;
pub mod log_sigmoid;
pub mod log_softmax;
pub mod matmul;
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
pub mod param;
pub mod pow;
pub mod pow_scalar;
pub mod reciprocal;
pub mod reduce;
pub mod reduce_max;
pub mod reduce_mean;
pub mod reduce_min;
pub mod reduce_prod;
pub mod reduce_sum;
pub mod relu;
pub mod reshape;
pub mod rms_norm;
pub mod rotary;
mod rotary_samples;
pub mod round;
pub mod rsqrt;
pub mod scalar;
pub mod select;
pub mod selu;
pub mod shrink;
pub mod sigmoid;
pub mod sign;
pub mod sin;
pub mod sinh;
pub mod slice;
mod slice_samples;
pub mod softmax;
pub mod softplus;
pub mod softsign;
pub mod split;
pub mod sqrt;
pub mod square;
pub mod squeeze;
pub mod state;
pub mod state_read;
pub mod state_write;
pub mod steering_samples;
pub mod sub;
pub mod sum;
pub mod swish;
pub mod tan;
pub mod tanh;
pub mod thresholded_relu;
pub mod transpose;
pub mod trunc;
pub mod unsqueeze;
pub mod xor;

/// What an `Op` holds of an op's attributes.
macro_rules! held {
    ($Name:ident) => { $Name };
    ($Name:ident boxed) => { Box<$Name> };
}

macro_rules! define_op {
    ($($file:ident $Name:ident $text:literal $($boxed:ident)?;)*) => {
        $(pub use $file::$Name;)*

        /// Any op with its attributes. Equality and hash go by what the op is: floats by their bits (−0 is not +0, every
        /// NaN is one), constants by a digest that is made once, and then by their bytes.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum Op { $($Name(held!($Name $($boxed)?))),* }

        $(impl From<$Name> for Op {
            fn from(op: $Name) -> Op {
                Op::$Name(op.into())
            }
        })*

        impl Op {
            /// Names of all ops, in list order.
            pub const NAMES: &'static [&'static str] = &[$($text),*];

            /// Its name in `.ir` text.
            pub fn name(&self) -> &'static str {
                match self { $(Op::$Name(_) => $text),* }
            }

            /// Whether the type of the result is an attribute of the op of that name.
            pub fn is_typed(name: &str) -> bool {
                match name { $($text => <$Name as OpDef>::TYPED,)* _ => false }
            }

            /// Names of its operands.
            pub fn operand_names(&self) -> &'static [&'static str] {
                match self { $(Op::$Name(_) => <$Name as OpDef>::OPERANDS),* }
            }

            /// Names of its integer operands that steer.
            pub fn steering_operands(&self) -> &'static [&'static str] {
                match self { $(Op::$Name(_) => <$Name as OpDef>::STEERS),* }
            }

            /// Whether it is defined by other ops.
            pub fn is_composite(&self) -> bool {
                match self { $(Op::$Name(_) => <$Name as OpDef>::COMPOSITE),* }
            }

            /// Types of its results; float attributes must be in the ranges that the op states.
            pub fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
                match self { $(Op::$Name(op) => {
                    op.check_floats()?;
                    op.infer(cx)
                }),* }
            }

            /// Its scalar form, if it is elementwise.
            pub fn scalar(&self, cx: &ScalarCx<'_>) -> Option<Reg> {
                match self { $(Op::$Name(op) => op.scalar(cx)),* }
            }

            /// Whether it maps elements to elements.
            pub fn is_elementwise(&self) -> bool {
                match self { $(Op::$Name(op) => op.is_elementwise()),* }
            }

            /// Whether an element divides an integer by 0, where it may.
            pub fn zero_divisor(&self, cx: &ScalarCx<'_>) -> Option<Reg> {
                match self { $(Op::$Name(op) => op.zero_divisor(cx)),* }
            }

            /// Its rank-0 integer value as an expression of the frame.
            pub fn frame_value(&self, operands: &[DimExpr]) -> Option<DimExpr> {
                match self { $(Op::$Name(op) => op.frame_value(operands)),* }
            }

            /// Whether it only renames or moves elements.
            pub fn is_movement(&self) -> bool {
                match self { $(Op::$Name(op) => op.is_movement()),* }
            }

            /// Whether elements of the first result are elements of operands, to the bit.
            pub fn moves_bits(&self) -> bool {
                match self { $(Op::$Name(op) => op.moves_bits()),* }
            }

            /// Whether kernels take its operands under any strides.
            pub fn reads_strides(&self) -> bool {
                match self { $(Op::$Name(op) => op.reads_strides()),* }
            }

            /// Whether its operands and results may be in blocks.
            pub fn handles_blocks(&self) -> bool {
                match self { $(Op::$Name(op) => op.handles_blocks()),* }
            }

            /// Whether its result of this shape is its operands one after the other.
            pub fn is_joining(&self, shape: &[DimExpr]) -> bool {
                match self { $(Op::$Name(op) => op.is_joining(shape)),* }
            }

            /// Whether it decodes the elements of an operand that is stored so, one for one.
            pub fn is_decoding(&self, operand: Encoding) -> bool {
                match self { $(Op::$Name(op) => op.is_decoding(operand)),* }
            }

            /// The operand that is the state version it consumes.
            pub fn state_operand(&self) -> Option<usize> {
                match self { $(Op::$Name(op) => op.state_operand()),* }
            }

            /// The operand that becomes the whole of a state.
            pub fn whole_state(&self) -> Option<usize> {
                match self { $(Op::$Name(op) => op.whole_state()),* }
            }

            /// The operand that is read as a state.
            pub fn state_read(&self) -> Option<usize> {
                match self { $(Op::$Name(op) => op.state_read()),* }
            }

            /// As a reduction, if it is one.
            pub fn as_reduction(&self) -> Option<&dyn Reduction> {
                match self { $(Op::$Name(op) => op.as_reduction()),* }
            }

            /// The graph that it means, if it holds one.
            pub fn body(&self) -> Option<&Arc<Graph>> {
                match self { $(Op::$Name(op) => op.body()),* }
            }

            /// Attributes that are not at their defaults.
            pub fn attrs(&self) -> Vec<(&'static str, AttrValue)> {
                match self { $(Op::$Name(op) => op.write()),* }
            }

            /// Shows the integer expressions in its attributes; those of a graph that it holds are the graph's.
            pub fn visit_dims(&self, visit: &mut dyn FnMut(&DimExpr)) {
                match self { $(Op::$Name(op) => op.visit_dims(visit)),* }
            }

            /// The op of that name with these attributes; `None` if there is no such op.
            pub fn read(name: &str, mut attrs: AttrReader) -> Option<Result<Op, AttrError>> {
                let read = match name {
                    $($text => <$Name as Attrs>::read(&mut attrs).map(Op::from),)*
                    _ => return None,
                };
                Some(read.and_then(|op| attrs.finish().map(|()| op)))
            }

            /// Samples of the op of that name.
            pub fn samples(name: &str) -> Vec<Sample> {
                match name { $($text => <$Name as OpDef>::samples(),)* _ => Vec::new() }
            }
        }
    };
}
for_each_op!(define_op);

impl Op {
    /// Whether it is part of the program's interface and stays when nothing uses it.
    pub fn is_leaf_interface(&self) -> bool {
        matches!(self, Op::Input(_) | Op::Param(_) | Op::State(_) | Op::Scalar(_))
    }

    /// Whether it has no operands to compute from: its value comes from outside, or is written in the graph.
    pub fn is_leaf(&self) -> bool {
        self.is_leaf_interface() || matches!(self, Op::Constant(_))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Node, Op};

    /// Every node of every graph takes the room of the largest op: one with more attributes is `boxed` in the list.
    #[test]
    fn ops_and_nodes_are_small() {
        assert!(size_of::<Op>() <= 48, "{}", size_of::<Op>());
        assert!(size_of::<Node>() <= 96, "{}", size_of::<Node>());
    }
}
