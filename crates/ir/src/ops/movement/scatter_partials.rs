//! `ScatterPartials`: updates of one place that lie side by side, reduced 128 at a time. Part of scatters of many
//! updates.

use super::scatter::ScatterReduction;
use super::scatter_sorted::{sorted_samples, steered_samples};
use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::elementwise::NUMERIC;
use crate::ops::{Grad, OpDef};
use crate::sample::Sample;
use pumice_types::{DType, DimExpr};

/// Rows that become one.
pub const CHUNK: u64 = 128;

crate::op! {
    /// y\[r, c\] = the reduction of rows\[128·r … 128·r + 127, c\] where all of them belong to one place, else 0: row j
    /// belongs to places\[span·j … span·j + span − 1\], which are in order. With `order` the rows are those that it
    /// names; one that is no row is left out. Floats are reduced in f32.
    pub struct ScatterPartials {
        /// How rows are reduced: not `none`.
        reduction: ScatterReduction = ScatterReduction::Add,
        /// Places of a row.
        span: i64 = 1,
    }
}

impl OpDef for ScatterPartials {
    const OPERANDS: &'static [&'static str] = &["places", "rows", "order?"];
    const GRAD: Grad<Self> = Grad::No("it is made by passes, after gradients are taken");
    const STEERS: &'static [&'static str] = &["places", "order"];

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        cx.expect_dtype(0, &[DType::I32])?;
        cx.expect_rank(0, 1)?;
        let dtype = cx.expect_dtype(1, NUMERIC)?;
        cx.expect_rank(1, 2)?;
        if self.reduction == ScatterReduction::Set || self.span < 1 {
            let reason = "rows of so many places are reduced".into();
            return Err(AttrError::Value { name: "reduction", reason }.into());
        }
        let (places, rows) = (cx.ty(0)?, cx.ty(1)?);
        let spans = places.shape[0].ceil_div(&DimExpr::constant(self.span));
        cx.equal(&rows.shape[0], &spans, "rows and their places")?;
        if let Some(order) = cx.opt(2) {
            cx.expect_dtype(2, &[DType::I32])?;
            cx.expect_rank(2, 1)?;
            cx.equal(&order.shape[0], &rows.shape[0], "rows and their order")?;
        }
        let dtype = if dtype.is_float() { DType::F32 } else { dtype };
        one(dtype, [rows.shape[0].ceil_div(&CHUNK.into()), rows.shape[1].clone()])
    }

    fn samples() -> Vec<Sample> {
        let mut samples = sorted_samples(|g, [_, places, order, rows], reduction| {
            (reduction != ScatterReduction::Set).then(|| {
                let partials = g.scatter_partials(places, rows, Some(order), reduction, 1);
                g.output("partials", partials);
                g.scatter_partials(places, partials, None, reduction, CHUNK as i64)
            })
        });
        samples.extend(steered_samples(|g, [_, places, order, rows]| {
            g.scatter_partials(places, rows, Some(order), ScatterReduction::Add, 1)
        }));
        samples
    }
}

impl GraphBuilder {
    /// Rows of one place reduced 128 at a time: places i32\[u\], rows\[⌈u / span⌉, n\], their order i32\[u\] or none →
    /// \[⌈rows / 128⌉, n\].
    #[track_caller]
    pub fn scatter_partials(
        &self,
        places: Value,
        rows: Value,
        order: Option<Value>,
        reduction: ScatterReduction,
        span: i64,
    ) -> Value {
        self.apply_all(ScatterPartials { reduction, span }, &[Some(places), Some(rows), order])[0]
    }
}
