//! Lowering: one file per op that has its own kernel; elementwise ops, views, and what the host runs are listed.

use crate::cx::{LowerCx, LowerResult};
use crate::fused_body::FusedBody;
use pumice_ir::{Graph, Node, NodeId, Op, ops};

mod anchor;
mod arg_reduce;
mod arg_sort_runs;
mod attention;
mod attention_extended;
mod attention_grad;
mod attention_merge;
mod convolution;
mod decode;
mod dequantize_linear;
mod expert_rows;
mod extent_of;
mod fft_chirp;
mod fft_pass;
mod found_count;
mod fused;
mod gather;
mod gather_elements;
mod gather_nd;
mod grouped_matmul;
mod host;
mod if_;
mod in_place;
mod kv_append;
mod leaf;
mod linear_recurrence;
mod loop_;
mod matmul;
mod movement;
mod norm;
mod norm_grad;
mod norm_sums;
mod pad;
mod pointwise;
mod pool;
mod pool_places;
mod pool_spread;
mod random_numbers;
mod range;
mod recurrent_layer;
mod reduce;
mod reduce_groups;
mod resample;
mod rotary;
mod sample_sorted;
mod scan_runs;
mod scatter;
mod scatter_elements;
mod scatter_nd;
mod scatter_partials;
mod scatter_places;
mod scatter_sorted;
mod search_sorted;
mod softmax;
mod tensor_scatter;
mod top_k_moe_router;
mod two_axes;
mod views;

use anchor::Hole;
pub use anchor::{accepts, addends, anchor, takes};
pub use if_::made_in_place;

/// Turns one node into steps. The node's operands have places; afterwards its results have.
pub trait Lower {
    /// Lowers the node; `Err` is why it cannot be.
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult;

    /// What its kernel takes in; none where it takes nothing in.
    fn hole(&self, _: &Graph, _: &Node) -> Option<Hole> {
        None
    }

    /// Lowers a node that is this op and the elementwise nodes that its kernel takes in.
    fn lower_fused(&self, _: &mut LowerCx<'_>, _: NodeId, _: &FusedBody<'_>) -> LowerResult {
        Err("its kernel takes no other nodes in".into())
    }
}

/// What an op's kind says of its lowering: ops of kind `lowered` have files of their own, leaves one for all.
macro_rules! lower_by_kind {
    (leaf $Name:ident) => {};
    (lowered $Name:ident) => {};
    (elementwise $Name:ident) => {
        impl Lower for ops::$Name {
            fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
                pointwise::lower(cx, id)
            }
        }
    };
    (host $Name:ident) => {
        impl Lower for ops::$Name {
            fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
                host::lower(cx, id)
            }
        }
    };
    (composite $Name:ident) => {
        impl Lower for ops::$Name {
            fn lower(&self, _: &mut LowerCx<'_>, _: NodeId) -> LowerResult {
                Err("it is defined by other ops and should have been replaced".into())
            }
        }
    };
}

macro_rules! reductions {
    ($($Name:ident $code:ident)*) => {$(
        impl Lower for pumice_ir::ops::$Name {
            fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
                self.lower_fused(cx, id, &FusedBody::alone(cx, id))
            }

            fn hole(&self, graph: &Graph, node: &Node) -> Option<Hole> {
                let rank = graph.ty(node.input(0)?).rank();
                reduce_groups::hole(graph, node, &pumice_ir::ops::reduce::Reduction::axes(self, rank).ok()?)
            }

            fn lower_fused(&self, cx: &mut LowerCx<'_>, id: NodeId, fused: &FusedBody<'_>) -> LowerResult {
                let rank = cx.graph.ty(fused.operand(0)?).rank();
                let axes = pumice_ir::ops::reduce::Reduction::axes(self, rank).map_err(|e| e.to_string())?;
                reduce::lower(cx, id, (pumice_plan::kernels::reduce::op::$code, &axes), fused)
            }
        }
    )*};
}
reductions! { ReduceSum SUM ReduceMean MEAN ReduceMax MAX ReduceMin MIN ReduceProd PROD }

impl Lower for pumice_ir::ops::ArgMax {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        arg_reduce::lower(cx, id, self.axis, self.select_last_index, false)
    }
}

impl Lower for pumice_ir::ops::ArgMin {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        arg_reduce::lower(cx, id, self.axis, self.select_last_index, true)
    }
}

impl Lower for pumice_ir::ops::Gather {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        gather::lower(cx, id, self.axis)
    }
}

impl Lower for pumice_ir::ops::LogSoftmax {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        softmax::lower(cx, id, self.axis, true)
    }
}

macro_rules! norms {
    ($($Name:ident)*) => {$(
        impl Lower for pumice_ir::ops::$Name {
            fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
                self.lower_fused(cx, id, &FusedBody::alone(cx, id))
            }

            fn hole(&self, graph: &Graph, node: &Node) -> Option<Hole> {
                if self.statistics { None } else { norm::hole(graph, node, self.axis) }
            }

            fn lower_fused(&self, cx: &mut LowerCx<'_>, id: NodeId, fused: &FusedBody<'_>) -> LowerResult {
                norm::lower(cx, id, &self.into(), fused)
            }
        }
    )*};
}
norms! { LayerNorm RmsNorm }

macro_rules! dispatch {
    ($($section:ident { $($file:ident $Name:ident $text:literal $kind:ident $($boxed:ident)?;)* })*) => {
        $($(lower_by_kind! { $kind $Name })*)*

        /// Lowers any node.
        pub fn lower(cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
            let graph = cx.graph;
            match &graph.node(id).op { $($(Op::$Name(op) => <ops::$Name as Lower>::lower(op, cx, id),)*)* }
        }

        /// The hole of any node's kernel.
        fn hole_of(graph: &Graph, node: &Node) -> Option<Hole> {
            match &node.op { $($(Op::$Name(op) => <ops::$Name as Lower>::hole(op, graph, node),)*)* }
        }

        /// Lowers a fused node around any op.
        fn lower_fused(cx: &mut LowerCx<'_>, id: NodeId, fused: &FusedBody<'_>, anchor: &Node) -> LowerResult {
            match &anchor.op { $($(Op::$Name(op) => <ops::$Name as Lower>::lower_fused(op, cx, id, fused),)*)* }
        }
    };
}
pumice_ir::for_each_op!(dispatch);
