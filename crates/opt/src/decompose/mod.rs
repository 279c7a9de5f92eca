//! Decompositions: one file per op that is replaced by other ops; every other op is listed in `keep!`.

use pumice_ir::{Graph, NodeId, Op, Patch, ops};
use pumice_types::Target;

mod bias_add;
mod cast_like;
mod dropout;
mod extremum;
mod fma;
mod glu;
mod linear;
mod mean;
mod norm;
mod reshapes;
mod split;
mod sum;

/// How an op becomes other ops on a target; `None` keeps it.
pub trait Decompose {
    /// The patch that replaces the node.
    fn decompose(&self, graph: &Graph, id: NodeId, target: &Target) -> Option<Patch>;
}

macro_rules! keep {
    ($($Name:ident)*) => {$(
        impl Decompose for ops::$Name {
            fn decompose(&self, _: &Graph, _: NodeId, _: &Target) -> Option<Patch> {
                None
            }
        }
    )*};
}

keep! {
    Input Param Constant State Scalar Extent Identity Fused StateRead StateWrite KvAppend
    Abs Neg Sign Reciprocal Sqrt Rsqrt Square Exp Exp2 Expm1 Log Log1p Log2 Sin Cos Tan Asin Acos Atan Atan2 Sinh Cosh
    Tanh Asinh Acosh Atanh Erf Floor Ceil Trunc Round Sigmoid LogSigmoid HardSigmoid Relu LeakyRelu ThresholdedRelu PRelu
    Elu Celu Selu Gelu Swish HardSwish Mish Softplus Softsign Shrink Affine PowScalar IsNan IsInf Not BitwiseNot
    Add Sub Mul Div Pow Mod BitwiseAnd BitwiseOr BitwiseXor And Or Xor BitShift
    Equal NotEqual Less LessOrEqual Greater GreaterOrEqual Where Clip Cast Dequantize BitCast
    Reshape Transpose Expand Slice Concat Gather
    ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ArgMax
    MatMul
    Softmax LogSoftmax Attention AttentionParts AttentionMerge Rotary
    Fft
}

macro_rules! dispatch {
    ($($file:ident $Name:ident $text:literal $($boxed:ident)?;)*) => {
        /// The patch that replaces a node, if its op is not kept.
        pub fn decompose_node(graph: &Graph, id: NodeId, target: &Target) -> Option<Patch> {
            match &graph.node(id).op { $(Op::$Name(op) => <ops::$Name as Decompose>::decompose(op, graph, id, target)),* }
        }
    };
}
pumice_ir::for_each_op!(dispatch);

/// A patch for a node, labelled with its op and name.
fn patch_for(graph: &Graph, id: NodeId) -> Patch {
    Patch::new(format!("decompose {} {}", graph.node(id).op.name(), graph.node_name(id)))
}
