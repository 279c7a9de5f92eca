//! Lowering: one file per op that has its own kernel; elementwise ops, views, and what the host runs are listed.

use crate::cx::{LowerCx, LowerResult};
use pumice_ir::{Graph, Node, NodeId, Op, ops};

mod arg_reduce;
mod attention;
mod attention_merge;
mod convolution;
mod decode;
mod epilogue;
mod fused;
mod gather;
mod host;
mod in_place;
mod kv_append;
mod leaf;
mod matmul;
mod movement;
mod norm;
mod pointwise;
mod pool;
mod reduce;
mod rotary;
mod softmax;
mod views;

use epilogue::Epilogue;
pub use epilogue::{accepts, name as epilogue, takes};

/// Turns one node into steps. The node's operands have places; afterwards its results have.
pub trait Lower {
    /// Lowers the node; `Err` is why it cannot be.
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult;

    /// What its kernel takes in after its result; none where it takes nothing in.
    fn epilogue(&self, _: &Graph, _: &Node) -> Option<Epilogue> {
        None
    }

    /// Lowers a fused node whose body is this op (`anchor`) and elementwise nodes that its kernel takes in.
    fn lower_fused(&self, _: &mut LowerCx<'_>, _: NodeId, _: &Graph, anchor: &Node) -> LowerResult {
        Err(format!("no kernel of {} takes other nodes in", anchor.op.name()).into())
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
                let rank = operand_rank(cx, id)?;
                let axes = pumice_ir::ops::reduce::Reduction::axes(self, rank).map_err(|e| e.to_string())?;
                reduce::lower(cx, id, pumice_plan::kernels::reduce::op::$code, &axes)
            }
        }
    )*};
}
reductions! { ReduceSum SUM ReduceMean MEAN ReduceMax MAX ReduceMin MIN ReduceProd PROD }

fn operand_rank(cx: &LowerCx<'_>, id: NodeId) -> LowerResult<usize> {
    let v = cx.graph.node(id).input(0).ok_or("it has no operand")?;
    Ok(cx.graph.ty(v).rank())
}

impl Lower for pumice_ir::ops::ArgMax {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        arg_reduce::lower(cx, id, self.axis, self.select_last_index, false)
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
                norm::lower(cx, id, &self.into())
            }

            fn lower_fused(&self, cx: &mut LowerCx<'_>, id: NodeId, body: &Graph, anchor: &Node) -> LowerResult {
                norm::lower_body(cx, id, &self.into(), body, anchor)
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

        /// The epilogue of any node's kernel.
        fn epilogue_of(graph: &Graph, id: NodeId) -> Option<Epilogue> {
            let node = graph.node(id);
            match &node.op { $($(Op::$Name(op) => <ops::$Name as Lower>::epilogue(op, graph, node),)*)* }
        }

        /// Lowers a fused node around any op.
        fn lower_fused(cx: &mut LowerCx<'_>, id: NodeId, body: &Graph, anchor: &Node) -> LowerResult {
            match &anchor.op { $($(Op::$Name(op) => <ops::$Name as Lower>::lower_fused(op, cx, id, body, anchor),)*)* }
        }
    };
}
pumice_ir::for_each_op!(dispatch);
