//! Elements in their order, as compositions: where they are, and what is there.

use super::arg_top_k::ArgTopK;
use crate::builder::{GraphBuilder, Value};
use crate::infer::normalize_axis;
use crate::ops::GatherElements;
use pumice_types::{DType, DimExpr};

impl GraphBuilder {
    /// The elements of an axis in order, and where they were: x\[…, n, …\] → x's type and i64\[…, n, …\]. The sort is
    /// stable: of equal elements the one that was first stays first, in descending order, too. NaN is above infinity,
    /// −0 equals 0 (PyTorch `sort(stable=True)`). Any numbers, not booleans. A result that nobody takes costs nothing.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("g");
    /// let (sorted, places) = g.sort(g.input("x", f32([8, 100])), -1, false);
    /// g.output("sorted", sorted);
    /// g.output("places", places);
    /// assert_eq!(g.build()?.outputs().len(), 2);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn sort(&self, x: Value, axis: i64, descending: bool) -> (Value, Value) {
        let k = match self.extent_along("sort", x, axis) {
            Ok(extent) => extent,
            Err(mistake) => return (mistake, mistake),
        };
        self.ordered("sort", x, k, axis, descending)
    }

    /// Where the elements of an axis are, in their order: the second result of
    /// [`sort`](crate::GraphBuilder::sort), x\[…, n, …\] → i64\[…, n, …\].
    #[track_caller]
    pub fn arg_sort(&self, x: Value, axis: i64, descending: bool) -> Value {
        match self.extent_along("arg_sort", x, axis) {
            Ok(k) => {
                let op = ArgTopK { axis, k, largest: descending, index_dtype: DType::I64 };
                self.apply_as("arg_sort", op, &[x])
            }
            Err(mistake) => mistake,
        }
    }

    /// The k largest elements along an axis (`largest` false: the smallest) in their order, and where they are (ONNX
    /// TopK, sorted): x\[…, n, …\] → x's type and i64\[…, k, …\]. k is a number or an extent, at most n. NaN is above
    /// infinity, −0 equals 0, and of equal elements the smaller place is first whichever way is asked. A result that
    /// nobody takes costs nothing.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("g");
    /// let logits = g.input("logits", f32([1, 32000]));
    /// let (best, tokens) = g.top_k(logits, 40, -1, true);
    /// g.output("best", best);
    /// g.output("tokens", tokens);
    /// assert_eq!(g.build()?.outputs().len(), 2);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn top_k(&self, x: Value, k: impl Into<DimExpr>, axis: i64, largest: bool) -> (Value, Value) {
        self.ordered("top_k", x, k.into(), axis, largest)
    }

    #[track_caller]
    fn ordered(
        &self,
        method: &'static str,
        x: Value,
        k: DimExpr,
        axis: i64,
        largest: bool,
    ) -> (Value, Value) {
        if let Err(mistake) = self.operand_types(method, &[x]) {
            return (mistake, mistake);
        }
        let g = self.composition(method);
        let places = g.apply_as(method, ArgTopK { axis, k, largest, index_dtype: DType::I64 }, &[x]);
        (g.last().apply(GatherElements { axis }, &[x, places]), places)
    }

    #[track_caller]
    fn extent_along(&self, method: &'static str, x: Value, axis: i64) -> Result<DimExpr, Value> {
        let ty = self.operand_types(method, &[x])?.swap_remove(0);
        match normalize_axis(axis, ty.rank()) {
            Ok(axis) => Ok(ty.shape[axis].clone()),
            Err(e) => Err(self.wrong_call(method, e)),
        }
    }
}
