//! `InBoth`: what reports that extents which must be equal are not.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::{Grad, OpDef, ScalarCx};
use crate::sample::{Fill, Sample};
use crate::shape::{f32, i32, sym};
use pumice_types::scalar::Reg;
use pumice_types::{DType, DimExpr};

crate::op! {
    /// y = i < n, elementwise; every element where it is not is reported as EXTENT_MISMATCH. Over the places of the
    /// longer of two axes that must be equal, n the extent of the shorter one, the position that is reported is that
    /// extent.
    pub struct InBoth {}
}

impl OpDef for InBoth {
    const OPERANDS: &'static [&'static str] = &["i", "n"];
    const GRAD: Grad<Self> = Grad::Zero;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        cx.expect_dtype(0, &[DType::I32])?;
        cx.expect_dtype(1, &[DType::I32])?;
        cx.expect_rank(1, 0)?;
        one(DType::Bool, cx.ty(0)?.shape.clone())
    }

    fn scalar(&self, cx: &ScalarCx<'_>) -> Option<Reg> {
        Some(cx.b.lt(cx.arg(0)?, cx.arg(1)?))
    }

    fn is_elementwise(&self) -> bool {
        true
    }

    fn mismatch(&self, cx: &ScalarCx<'_>) -> Option<Reg> {
        Some(cx.b.not(cx.b.lt(cx.arg(0)?, cx.arg(1)?)))
    }

    fn samples() -> Vec<Sample> {
        let given = |i: &[i64], n: i64| {
            let count = i.len() as u64;
            let sample = Sample::graph(&format!("{i:?} below {n}"), |g| {
                g.output("y", g.in_both(g.input("i", i32([count])), g.input("n", i32::<u64>([]))));
            });
            let sample = sample.fill("i", Fill::Ints(i.to_vec())).fill("n", Fill::Ints(vec![n]));
            if i.iter().all(|i| *i < n) { sample } else { sample.expect_status() }
        };
        let mut samples = vec![
            given(&[], 0),
            given(&[0], 1),
            given(&[0], 0),
            given(&[3, -4, i64::from(i32::MIN), 2, 1], 4),
            given(&[3, -4, i64::from(i32::MAX), 2, 1], 3),
        ];
        samples.extend([(0, 0), (5, 5), (0, 70), (70, 0), (64, 65), (5, 4)].map(two));
        samples
    }
}

/// Extents that the caller binds.
fn two((a, b): (u64, u64)) -> Sample {
    let sample = Sample::graph(&format!("extents {a} and {b}"), |g| {
        let [x, y] = ["a", "b"].map(|name| g.input(name, f32([sym(name, 0..=70)])));
        let [a, b] = [x, y].map(|x| g.dim_of(x, 0));
        let least = g.min(&[g.extent(x, 0), g.extent(y, 0)]);
        g.output("y", g.in_both(g.range(DimExpr::constant(0), a.max_with(&b), 1, DType::I32), least));
        g.output("longer", g.relu(x));
    });
    let sample = sample.bind("a", a).bind("b", b);
    if a == b { sample } else { sample.expect_status() }
}

impl GraphBuilder {
    /// Whether each of these places is below `n`, i32\[…\], i32\[\] → bool\[…\]; the run reports EXTENT_MISMATCH at
    /// every one that is not. What stands [`after`](GraphBuilder::after) it is computed with the report.
    #[track_caller]
    pub fn in_both(&self, i: Value, n: Value) -> Value {
        self.apply(InBoth {}, &[i, n])
    }
}
