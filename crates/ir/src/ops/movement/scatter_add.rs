//! Rows added up by index, as a composition.

use super::indices::expect_indices;
use super::scatter::ScatterReduction;
use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::ScatterNd;
use crate::ops::elementwise::NUMERIC;
use pumice_types::DimExpr;

impl GraphBuilder {
    /// Rows added up where indices say, beginning from zeros (PyTorch `index_add`; the gradient of an embedding):
    /// updates \[u, …\], indices i32 or i64 \[u\] → \[rows, …\]. Sums are made in a tree of fixed form; integers
    /// wrap. A negative index counts from the end; a row whose index is still outside is dropped and reports
    /// INDEX_OUT_OF_RANGE. Its cost is that of sorting the indices and of writing the result.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32, i32};
    /// let g = GraphBuilder::new("g");
    /// let (gradients, tokens) = (g.input("gradients", f32([512, 64])), g.input("tokens", i32([512])));
    /// g.output("table", g.scatter_add(gradients, tokens, 1000));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn scatter_add(&self, updates: Value, indices: Value, rows: impl Into<DimExpr>) -> Value {
        let types =
            match self.checked_operands("scatter_add", &["updates", "indices"], &[updates, indices], rule) {
                Ok(types) => types,
                Err(mistake) => return mistake,
            };
        let rows = rows.into();
        if rows.bounds(&self.symbols().unwrap_or_default()).0 < 0 {
            let reason = "a number of rows may not be negative".into();
            return self.wrong_call("scatter_add", AttrError::Value { name: "rows", reason }.into());
        }
        let g = self.composition("scatter_add");
        let mut shape = types[0].shape.to_vec();
        shape[0] = rows;
        let zeros = g.fill(g.constant_scalar(types[0].dtype(), 0.0), shape);
        let tuples = g.unsqueeze(indices, &[1]);
        g.last().apply(ScatterNd { reduction: ScatterReduction::Add }, &[zeros, tuples, updates])
    }
}

fn rule(cx: &Infer<'_>) -> Result<(), OpError> {
    cx.expect_dtype(0, NUMERIC)?;
    expect_indices(cx, 1)?;
    cx.expect_rank(1, 1)?;
    let updates = cx.ty(0)?;
    if updates.rank() == 0 {
        let expected = "expected at least 1: rows".to_owned();
        return Err(OpError::Rank { operand: cx.name(0), rank: 0, expected });
    }
    cx.equal(&updates.shape[0], &cx.ty(1)?.shape[0], "updates and indices")
}
