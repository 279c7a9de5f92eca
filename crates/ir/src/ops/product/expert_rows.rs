//! `ExpertRows`: which rows go to which expert. The first part of products by experts of many rows.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{i32, product, sym, tensor};
use pumice_types::{DType, DimExpr};

crate::op! {
    /// Rows in the order of their experts: ids i32\[…\], M of them → i32\[E + 1 + M\]: for each expert how many rows
    /// have a smaller one, the number of rows that have one, then the rows, those of an expert in their order, last
    /// those whose id is outside 0…E − 1.
    pub struct ExpertRows {
        /// How many experts there are.
        experts: u64 => POSITIVE,
    }
}

impl OpDef for ExpertRows {
    const OPERANDS: &'static [&'static str] = &["id"];
    const GRAD: Grad<Self> = Grad::No("rows are of the expert that each chose");
    const STEERS: &'static [&'static str] = &["id"];

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        cx.expect_dtype(0, &[DType::I32])?;
        one(DType::I32, [product(&cx.ty(0)?.shape) + DimExpr::from(self.experts + 1)])
    }

    fn samples() -> Vec<Sample> {
        let case = |shape: &[u64], experts: u64, fill: Fill| {
            Sample::graph(&format!("{shape:?} among {experts} {fill:?}"), |g| {
                g.output("rows", g.expert_rows(g.input("id", i32(shape.iter().copied())), experts));
            })
            .fill("id", fill)
        };
        let mut samples = vec![
            case(&[1], 1, Fill::Constant(0.0)),
            case(&[0], 3, Fill::Any),
            case(&[9, 3], 4, Fill::Range(0, 4)),
            case(&[255], 7, Fill::Range(-2, 9)),
            case(&[256], 1, Fill::Constant(0.0)),
            case(&[257], 300, Fill::Range(0, 300)),
            case(&[513, 8], 128, Fill::Range(0, 128)),
            case(&[4096], 5, Fill::Constant(3.0)),
            case(&[70_001], 2, Fill::Range(0, 2)),
            case(&[300], 2000, Fill::Range(0, 2000)),
        ];
        samples.extend(super::grouped_matmul_samples::steered(
            "experts of rows",
            |g, id| g.expert_rows(id, 5),
            |_| false,
        ));
        samples.extend([0, 1, 40].map(|n| {
            let sample = Sample::graph(&format!("symbolic, {n} of 40"), |g| {
                let id = g.input("id", tensor(DType::I32, [sym("n", 0..=40), 2.into()]));
                g.output("rows", g.expert_rows(id, 6));
            });
            sample.fill("id", Fill::Range(0, 6)).bind("n", n)
        }));
        samples
    }
}

impl GraphBuilder {
    /// Rows in the order of their experts: ids i32\[…\] → i32\[experts + 1 + ids\]. For products by experts see
    /// [`grouped_matmul`](crate::GraphBuilder::grouped_matmul).
    #[track_caller]
    pub fn expert_rows(&self, id: Value, experts: u64) -> Value {
        self.apply(ExpertRows { experts }, &[id])
    }
}
