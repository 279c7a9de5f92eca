//! Rows that are one value but in one place, as a composition.

use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, normalize_axis};
use crate::ops::Where;
use pumice_types::{DType, DimExpr, MAX_RANK};

/// What counts places.
const INDICES: &[DType] = &[DType::I8, DType::U8, DType::I16, DType::U16, DType::I32, DType::U32, DType::I64];

impl GraphBuilder {
    /// Indices as rows (ONNX OneHot): indices\[…\], values\[2\] → \[…, depth, …\], where `axis` counts in the result:
    /// values\[1\] in the place of the index, values\[0\] elsewhere. Negative indices wrap once; a row whose index is
    /// outside [−depth, depth − 1] is values\[0\] throughout, and nothing is reported. Values of any dtype, indices of
    /// integers but u64. Without values: 0 and 1 in f32.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, i32};
    /// let g = GraphBuilder::new("g");
    /// let labels = g.input("labels", i32([32]));
    /// g.output("rows", g.one_hot(labels, 10, None, -1));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn one_hot(
        &self,
        indices: Value,
        depth: impl Into<DimExpr>,
        values: Option<Value>,
        axis: i64,
    ) -> Value {
        let depth = depth.into();
        let operands: Vec<Value> = [Some(indices), values].into_iter().flatten().collect();
        let types = match self.checked_operands("one_hot", &["indices", "values"], &operands, rule) {
            Ok(types) => types,
            Err(mistake) => return mistake,
        };
        let (least, most) = depth.bounds(&self.symbols().unwrap_or_default());
        if most < 0 || least > i64::from(i32::MAX) {
            let reason = "a depth is an extent: neither negative nor beyond 2^31 - 1".into();
            return self.wrong_call("one_hot", AttrError::Value { name: "depth", reason }.into());
        }
        let rank = types[0].rank();
        let axis = match normalize_axis(axis, rank + 1) {
            Ok(axis) => axis as i64,
            Err(e) => return self.wrong_call("one_hot", e),
        };
        let wide = matches!(types[0].dtype(), DType::I64 | DType::U32);
        let counted = if wide { DType::I64 } else { DType::I32 };
        let g = self.composition("one_hot");
        let index = g.cast(indices, counted);
        let hit = g.hits(index, counted, depth, axis, rank as i64 - axis);
        let [off, on] = match values {
            Some(v) => [0, 1].map(|i| g.squeeze(g.narrow(v, 0, i, 1), &[0])),
            None => [0.0, 1.0].map(|v| g.constant_scalar(DType::F32, v)),
        };
        g.last().apply(Where {}, &[hit, on, off])
    }

    /// Whether each place of a new axis, which has `after` axes behind it, is the index's; negative ones wrap once.
    #[track_caller]
    fn hits(&self, index: Value, counted: DType, depth: DimExpr, axis: i64, after: i64) -> Value {
        let places = self.range(0, depth, 1, counted);
        let bound = self.cast(self.extent(places, 0), counted);
        let column: Vec<i64> = (1..=after).collect();
        let places = if after == 0 { places } else { self.unsqueeze(places, &column) };
        let negative = self.less(index, self.constant_scalar(counted, 0.0));
        let wrapped = self.select(negative, self.add(index, bound), index);
        self.equal(self.unsqueeze(wrapped, &[axis]), places)
    }
}

fn rule(cx: &Infer<'_>) -> Result<(), OpError> {
    cx.expect_dtype(0, INDICES)?;
    let rank = cx.ty(0)?.rank() + 1;
    if rank > MAX_RANK {
        return Err(OpError::RankTooHigh(rank));
    }
    match cx.opt(1) {
        Some(values) => {
            cx.expect_rank(1, 1)?;
            if !values.shape[0].is(2) {
                let shape = cx.show(&values.shape);
                return Err(OpError::Invalid(format!(
                    "`values` is {shape}; expected two elements, off and on"
                )));
            }
            Ok(())
        }
        None => Ok(()),
    }
}
