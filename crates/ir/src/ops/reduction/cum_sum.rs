//! `CumSum`: sums of what comes before.

use super::cumulative::{Cumulation, cumulative_samples, infer_cumulative};
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::{Grad, GradCx, Grads, NoGrad, OpDef};
use crate::sample::Sample;
use crate::{Graph, NodeId, Patch};

crate::op! {
    /// y\[i\] = Σ x\[j\] over j ≤ i along an axis (ONNX CumSum); `exclusive`: j < i, 0 first; `reverse`: j ≥ i. Sums
    /// are made in a tree of fixed form. NaN and infinities go on to what comes after; integers wrap; 16-bit floats are
    /// summed in f32 and rounded once.
    pub struct CumSum {
        /// The axis.
        axis: i64 = -1,
        /// Whether an element is left out of its own result.
        exclusive: bool = false,
        /// Whether the axis is walked from its end.
        reverse: bool = false,
    }
}

impl Default for CumSum {
    /// Along the last axis, from its beginning, each element with itself.
    fn default() -> CumSum {
        CumSum { axis: -1, exclusive: false, reverse: false }
    }
}

impl OpDef for CumSum {
    const OPERANDS: &'static [&'static str] = &["x"];
    const GRAD: Grad<Self> = Grad::Rule(rule);

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        infer_cumulative(cx, self.axis)
    }

    fn samples() -> Vec<Sample> {
        cumulative_samples(|axis, exclusive, reverse| CumSum { axis, exclusive, reverse }.into(), false)
    }

    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let &CumSum { axis, exclusive, reverse } = self;
        Cumulation { axis, product: false, exclusive, reverse }.expand(graph, id)
    }
}

/// dx = the cumulative sum of dy from the other end, with the same `exclusive`.
fn rule(op: &CumSum, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let back = CumSum { reverse: !op.reverse, ..op.clone() };
    Ok(vec![cx.wanted(0, || cx.g.cum_sum(cx.dy(), back))])
}

impl GraphBuilder {
    /// Cumulative sums along an axis: x\[…\] → x's type.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::cum_sum::CumSum;
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([8, 100]));
    /// g.output("y", g.cum_sum(x, CumSum { axis: -1, exclusive: true, ..CumSum::default() }));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn cum_sum(&self, x: Value, op: CumSum) -> Value {
        self.apply(op, &[x])
    }
}
