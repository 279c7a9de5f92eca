//! Distances of all pairs of rows, and the nearest rows, as compositions.

use super::arg_top_k::ArgTopK;
use crate::attr::AttrError;
use crate::builder::{Composition, GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::elementwise::FLOATS;
use crate::ops::{GatherElements, ReduceSum, Where};
use pumice_types::{DType, DimExpr};

/// What [`GraphBuilder::pairwise_distance`] computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Metric {
    /// Σ (x − y)².
    #[default]
    SquaredEuclidean,
    /// √Σ (x − y)².
    Euclidean,
    /// Σ |x − y|.
    Manhattan,
    /// 1 − ⟨x, y⟩ / (‖x‖·‖y‖), 1 where a norm is 0.
    Cosine,
}

impl GraphBuilder {
    /// The distance of each row of x from each row of y: x\[n, d\], y\[m, d\] of one float dtype → \[n, m\].
    /// Differences are summed directly: equal rows are exactly 0 apart (but for cosines) and large equal offsets
    /// lose nothing. Squares are not scaled: they overflow beyond 1e19 and are 0 below 1e-23, those of norms, too.
    /// Rows of no elements are 0 apart, by cosines 1. Of two equal rows the gradient is 0. NaN propagates. 16-bit
    /// floats are computed in f32 and rounded once.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::distances::Metric;
    /// let g = GraphBuilder::new("g");
    /// let (points, centers) = (g.input("points", f32([100, 3])), g.input("centers", f32([8, 3])));
    /// g.output("d", g.pairwise_distance(points, centers, Metric::Euclidean));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn pairwise_distance(&self, x: Value, y: Value, metric: Metric) -> Value {
        const METHOD: &str = "pairwise_distance";
        let dtype = match self.checked_operands(METHOD, &["x", "y"], &[x, y], rows) {
            Ok(types) => types[0].dtype(),
            Err(mistake) => return mistake,
        };
        let g = self.composition(METHOD);
        let (x, y) = (g.widened(x, dtype), g.widened(y, dtype));
        if metric == Metric::Cosine {
            return g.cosine_distance(x, y, dtype);
        }
        let difference = g.sub(g.unsqueeze(x, &[1]), g.unsqueeze(y, &[0]));
        let terms = if metric == Metric::Manhattan { g.abs(difference) } else { g.square(difference) };
        let (axes, keepdims, noop_with_empty_axes) = (vec![2], false, false);
        let sum = ReduceSum { axes, keepdims, noop_with_empty_axes };
        if metric == Metric::Euclidean {
            let sums = g.apply(sum, &[terms]);
            return g.root_of_squares(sums, dtype, &[]);
        }
        g.finish(sum, &[terms], dtype, &[])
    }

    /// The k nearest others of each row, by the distances of all pairs: distances\[n, n\] → i32\[n, k\], nearest first,
    /// and their distances \[n, k\]. A row is not its own neighbour; of equal distances the smaller index is first; NaN
    /// is farther than infinity. k is at most n − 1.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::distances::Metric;
    /// let g = GraphBuilder::new("g");
    /// let points = g.input("points", f32([100, 3]));
    /// let distances = g.pairwise_distance(points, points, Metric::SquaredEuclidean);
    /// let (neighbours, apart) = g.knn_from_pairwise(distances, 5);
    /// g.output("neighbours", neighbours);
    /// g.output("apart", apart);
    /// assert_eq!(g.build()?.outputs().len(), 2);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn knn_from_pairwise(&self, distances: Value, k: u64) -> (Value, Value) {
        const METHOD: &str = "knn_from_pairwise";
        let rule = |cx: &Infer<'_>| all_pairs(cx, k);
        let ty = match self.checked_operands(METHOD, &["distances"], &[distances], rule) {
            Ok(mut types) => types.swap_remove(0),
            Err(mistake) => return (mistake, mistake),
        };
        let g = self.composition(METHOD);
        let (others, axis) = (g.others(&ty.shape[0]), 1);
        let apart = g.gather_elements(distances, others, axis);
        let places =
            g.apply(ArgTopK { axis, k: k.into(), largest: false, index_dtype: DType::I32 }, &[apart]);
        (g.gather_elements(others, places, axis), g.last().apply(GatherElements { axis }, &[apart, places]))
    }
}

impl Composition {
    /// For each of n rows the others, i32\[n, n − 1\]: the row itself is taken out, and what comes after it moves up.
    #[track_caller]
    fn others(&self, n: &DimExpr) -> Value {
        let one = DimExpr::constant(1);
        let row = self.unsqueeze(self.range(0, n.clone(), 1, DType::I32), &[1]);
        let other = self.unsqueeze(self.range(0, n - &one, 1, DType::I32), &[0]);
        let next = self.add(other, self.constant_scalar(DType::I32, 1.0));
        self.select(self.less(other, row), other, next)
    }

    /// 1 − the cosines of rows, which are f32.
    #[track_caller]
    fn cosine_distance(self, x: Value, y: Value, dtype: DType) -> Value {
        let norm = |v: Value| self.sqrt(self.reduce_sum(self.square(v), &[1], true));
        let norms = self.mul(norm(x), self.transpose(norm(y), &[1, 0]));
        let products = self.matmul(x, self.transpose(y, &[1, 0]));
        let [zero, one] = [0.0, 1.0].map(|v| self.constant_scalar(DType::F32, v));
        let is_zero = self.equal(norms, zero);
        let apart = self.sub(one, self.div(products, norms));
        self.finish(Where {}, &[is_zero, one, apart], dtype, &[])
    }
}

fn rows(cx: &Infer<'_>) -> Result<(), OpError> {
    cx.expect_dtype(0, FLOATS)?;
    cx.same_dtype(0, 1)?;
    cx.expect_rank(0, 2)?;
    cx.expect_rank(1, 2)?;
    cx.equal(&cx.ty(0)?.shape[1], &cx.ty(1)?.shape[1], "elements of the rows of x and of y")
}

fn all_pairs(cx: &Infer<'_>, k: u64) -> Result<(), OpError> {
    cx.expect_dtype(0, FLOATS)?;
    cx.expect_rank(0, 2)?;
    let shape = &cx.ty(0)?.shape;
    cx.equal(&shape[0], &shape[1], "rows and columns of the distances of all pairs")?;
    let least = shape[0].lower(cx.symbols());
    if k >= least {
        let reason =
            format!("there may be {least} rows, of which one has at most {} others", least.max(1) - 1);
        return Err(AttrError::Value { name: "k", reason }.into());
    }
    Ok(())
}
