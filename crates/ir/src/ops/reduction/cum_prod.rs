//! `CumProd`: products of what comes before.

use super::cumulative::{Cumulation, cumulative_samples, infer_cumulative};
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::{Grad, OpDef};
use crate::sample::Sample;
use crate::{Graph, NodeId, Patch};

crate::op! {
    /// y\[i\] = Π x\[j\] over j ≤ i along an axis (ONNX CumProd); `exclusive`: j < i, 1 first; `reverse`: j ≥ i. All
    /// else is as of [`CumSum`](super::cum_sum::CumSum).
    pub struct CumProd {
        /// The axis.
        axis: i64 = -1,
        /// Whether an element is left out of its own result.
        exclusive: bool = false,
        /// Whether the axis is walked from its end.
        reverse: bool = false,
    }
}

impl Default for CumProd {
    /// Along the last axis, from its beginning, each element with itself.
    fn default() -> CumProd {
        CumProd { axis: -1, exclusive: false, reverse: false }
    }
}

impl OpDef for CumProd {
    const OPERANDS: &'static [&'static str] = &["x"];
    const GRAD: Grad<Self> = Grad::No("products of all values before have no rule yet");

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        infer_cumulative(cx, self.axis)
    }

    fn samples() -> Vec<Sample> {
        cumulative_samples(|axis, exclusive, reverse| CumProd { axis, exclusive, reverse }.into(), true)
    }

    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let &CumProd { axis, exclusive, reverse } = self;
        Cumulation { axis, product: true, exclusive, reverse }.expand(graph, id)
    }
}

impl GraphBuilder {
    /// Cumulative products along an axis: x\[…\] → x's type.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::cum_prod::CumProd;
    /// let g = GraphBuilder::new("g");
    /// // What is left of light behind each of 100 layers.
    /// let passes = g.input("passes", f32([8, 100]));
    /// g.output("left", g.cum_prod(passes, CumProd { exclusive: true, ..CumProd::default() }));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn cum_prod(&self, x: Value, op: CumProd) -> Value {
        self.apply(op, &[x])
    }
}
