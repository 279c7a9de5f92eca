//! The op set: one line here, one file beside this one.
//!
//! [`for_each_op!`] is the one list. Every crate expands it into its own exhaustive dispatch, so that a forgotten duty
//! is a compile error that names the op. Nothing is matched by hand on [`Op`] except the leaves that make up a
//! program's interface.

use crate::attr::{AttrError, AttrReader, AttrValue, Attrs};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::sample::Sample;
use pumice_types::DType;
use pumice_types::scalar::{Reg, ScalarBuilder};
use std::fmt;

/// Calls `$m!` with every op: `file Type "name"`, grouped as in OPS.
#[macro_export]
macro_rules! for_each_op {
    ($m:ident) => {
        $m! {
            // 2 Leaves, states, control
            input Input "input";
            param Param "param";
            constant Constant "constant";
            state State "state";
            scalar Scalar "scalar";
            extent Extent "extent";
            identity Identity "identity";
            fused Fused "fused";
            state_read StateRead "state_read";
            state_write StateWrite "state_write";
            kv_append KvAppend "kv_append";
            // 3.1 Elementwise
            abs Abs "abs";
            add Add "add";
            // 3.2 Movement
            reshape Reshape "reshape";
            transpose Transpose "transpose";
            // 3.3 Reductions
            // 3.4 Matrix products
            matmul MatMul "matmul";
            // 3.6 Normalisation
            // 3.7 Softmax, attention, position
            softmax Softmax "softmax";
            // 3.9 Signal
        }
    };
}

pub mod abs;
pub mod add;
pub mod constant;
pub mod elementwise;
pub mod extent;
pub mod fused;
pub mod identity;
pub mod input;
pub mod kv_append;
pub mod matmul;
pub mod param;
pub mod reshape;
pub mod scalar;
pub mod softmax;
pub mod state;
pub mod state_read;
pub mod state_write;
pub mod transpose;

/// What an op is: its declaration. Evaluation, decomposition and lowering are other crates' duties.
pub trait OpDef: Attrs + Clone + PartialEq + fmt::Debug + Into<Op> {
    /// Names of the operands, in order. `?` marks an optional one, `*` on the last any number of them.
    const OPERANDS: &'static [&'static str];
    /// Whether the op is defined by other ops and never reaches lowering.
    const COMPOSITE: bool = false;

    /// Types of the results, or what is wrong.
    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError>;

    /// Graphs that every suite runs: every edge case of the op's row in OPS.
    fn samples() -> Vec<Sample>;

    /// For an elementwise op, its result from its operands' elements, in compute registers (floats as f32, narrow
    /// integers as 32-bit). Rounding to the result's dtype is the caller's.
    fn scalar(&self, _cx: &ScalarCx<'_>) -> Option<Reg> {
        None
    }

    /// Whether `scalar` gives a result: the op maps elements to elements and broadcasts its operands.
    fn is_elementwise(&self) -> bool {
        false
    }

    /// Whether the op only renames or moves elements: its lowering may be a view.
    fn is_movement(&self) -> bool {
        false
    }

    /// For an op that writes a state in place, the operand that is the version it consumes.
    fn state_operand(&self) -> Option<usize> {
        None
    }
}

/// What an elementwise op sees while its scalar form is made.
pub struct ScalarCx<'a> {
    /// Where instructions go.
    pub b: &'a ScalarBuilder,
    /// Operands in compute registers; `None` where an optional one is absent.
    pub args: &'a [Option<Reg>],
    /// Dtypes of the operands, absent ones as the result's.
    pub dtypes: &'a [DType],
    /// Dtype of the result.
    pub out: DType,
}

impl ScalarCx<'_> {
    /// An operand that the verifier has seen to be there.
    pub fn arg(&self, i: usize) -> Option<Reg> {
        self.args.get(i).copied().flatten()
    }

    /// All operands that are there, in order.
    pub fn present(&self) -> Vec<Reg> {
        self.args.iter().flatten().copied().collect()
    }
}

macro_rules! define_op {
    ($($file:ident $Name:ident $text:literal;)*) => {
        $(pub use $file::$Name;)*

        /// Any op with its attributes.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs)]
        pub enum Op { $($Name($Name)),* }

        $(impl From<$Name> for Op {
            fn from(op: $Name) -> Op {
                Op::$Name(op)
            }
        })*

        impl Op {
            /// Names of all ops, in list order.
            pub const NAMES: &'static [&'static str] = &[$($text),*];

            /// Its name in `.ir` text.
            pub fn name(&self) -> &'static str {
                match self { $(Op::$Name(_) => $text),* }
            }

            /// Names of its operands.
            pub fn operand_names(&self) -> &'static [&'static str] {
                match self { $(Op::$Name(_) => <$Name as OpDef>::OPERANDS),* }
            }

            /// Whether it is defined by other ops.
            pub fn is_composite(&self) -> bool {
                match self { $(Op::$Name(_) => <$Name as OpDef>::COMPOSITE),* }
            }

            /// Types of its results.
            pub fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
                match self { $(Op::$Name(op) => op.infer(cx)),* }
            }

            /// Its scalar form, if it is elementwise.
            pub fn scalar(&self, cx: &ScalarCx<'_>) -> Option<Reg> {
                match self { $(Op::$Name(op) => op.scalar(cx)),* }
            }

            /// Whether it maps elements to elements.
            pub fn is_elementwise(&self) -> bool {
                match self { $(Op::$Name(op) => op.is_elementwise()),* }
            }

            /// Whether it only renames or moves elements.
            pub fn is_movement(&self) -> bool {
                match self { $(Op::$Name(op) => op.is_movement()),* }
            }

            /// The operand that is the state version it consumes.
            pub fn state_operand(&self) -> Option<usize> {
                match self { $(Op::$Name(op) => op.state_operand()),* }
            }

            /// Attributes that are not at their defaults.
            pub fn attrs(&self) -> Vec<(&'static str, AttrValue)> {
                match self { $(Op::$Name(op) => op.write()),* }
            }

            /// The op of that name with these attributes; `None` if there is no such op.
            pub fn read(name: &str, mut attrs: AttrReader) -> Option<Result<Op, AttrError>> {
                let read = match name {
                    $($text => <$Name as Attrs>::read(&mut attrs).map(Op::$Name),)*
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
