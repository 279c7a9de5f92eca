//! Tensors of one shape along a new axis, as a composition.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, normalize_axis};
use crate::ops::Concat;
use pumice_types::MAX_RANK;

impl GraphBuilder {
    /// Tensors one after the other along a new axis (PyTorch stack; ONNX ConcatFromSequence with new_axis 1): each
    /// x\[…\] → \[…, k, …\], where `axis` counts in the result. Any dtype, one for all; equal extents.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("g");
    /// let (re, im) = (g.input("re", f32([8])), g.input("im", f32([8])));
    /// g.output("pairs", g.stack(&[re, im], -1));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn stack(&self, xs: &[Value], axis: i64) -> Value {
        let types = match self.checked_operands("stack", &["xs*"], xs, alike) {
            Ok(types) => types,
            Err(mistake) => return mistake,
        };
        let rank = types[0].rank() + 1;
        if rank > MAX_RANK {
            return self.wrong_call("stack", OpError::RankTooHigh(rank));
        }
        let axis = match normalize_axis(axis, rank) {
            Ok(axis) => axis as i64,
            Err(e) => return self.wrong_call("stack", e),
        };
        let g = self.composition("stack");
        let rows: Vec<Value> = xs.iter().map(|&x| g.unsqueeze(x, &[axis])).collect();
        g.last().apply(Concat { axis }, &rows)
    }
}

/// Operands of one type.
fn alike(cx: &Infer<'_>) -> Result<(), OpError> {
    let first = cx.ty(0)?;
    for i in 1..cx.len() {
        cx.same_dtype(0, i)?;
        cx.expect_rank(i, first.rank())?;
        for (a, b) in first.shape.iter().zip(cx.ty(i)?.shape.iter()) {
            cx.equal(a, b, "extents of all operands")?;
        }
    }
    Ok(())
}
