//! `DotGeneral`: a product of tensors over any axes, as a composition.

use crate::attr::AttrError;
use crate::builder::{Composition, GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::elementwise::FLOATS;
use crate::ops::{MatMul, Reshape};
use crate::shape::{ValueType, product};
use pumice_types::DimExpr;

/// Attributes of [`GraphBuilder::dot_general`]: axes, which may be negative. Those of the right operand stand in the
/// order of the left one's that they belong to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DotGeneral {
    /// Axes of `lhs` that go along with `rhs_batch`, first in the result.
    pub lhs_batch: Vec<i64>,
    /// Axes of `rhs` that go along with `lhs_batch`.
    pub rhs_batch: Vec<i64>,
    /// Axes of `lhs` that are summed over with `rhs_contracting`.
    pub lhs_contracting: Vec<i64>,
    /// Axes of `rhs` that are summed over with `lhs_contracting`.
    pub rhs_contracting: Vec<i64>,
}

/// The axes of an operand by what becomes of them.
struct Axes {
    batch: Vec<usize>,
    free: Vec<usize>,
    contracting: Vec<usize>,
}

impl Axes {
    fn of(cx: &Infer<'_>, i: usize, [batch, contracting]: [&[i64]; 2]) -> Result<Axes, OpError> {
        let rank = cx.ty(i)?.rank();
        // Together they name no axis twice.
        let named = cx.axes(&[batch, contracting].concat(), rank)?;
        let sorted =
            |axes: &[i64]| axes.iter().map(|&axis| cx.axis(axis, rank)).collect::<Result<Vec<_>, _>>();
        let free = (0..rank).filter(|axis| !named.contains(axis)).collect();
        Ok(Axes { batch: sorted(batch)?, free, contracting: sorted(contracting)? })
    }
}

impl GraphBuilder {
    /// A product of two tensors of one float dtype (StableHLO dot_general, XLA DotGeneral): the sum over the
    /// contracting axes of lhs·rhs, for each place of the batch axes → \[batch…, free axes of lhs…, free axes of
    /// rhs…\], each in the order of its operand but the batch axes, which are in that of `lhs_batch`. Without
    /// contracting axes it is the outer product; sums over no elements are 0. f32 products and sums; 16-bit floats
    /// are rounded once.
    ///
    /// Mistakes: an axis named twice or outside, lists of unlike lengths, extents that differ.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::dot_general::DotGeneral;
    /// let g = GraphBuilder::new("g");
    /// let (x, w) = (g.input("x", f32([8, 3, 5, 7])), g.param("w", f32([5, 4, 7])));
    /// let op = DotGeneral { lhs_contracting: vec![2, 3], rhs_contracting: vec![0, 2], ..DotGeneral::default() };
    /// let y = g.dot_general(x, w, op);
    /// assert_eq!(g.dim_of(y, 2), 4.into());
    /// g.output("y", y);
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn dot_general(&self, lhs: Value, rhs: Value, op: DotGeneral) -> Value {
        const METHOD: &str = "dot_general";
        let mut axes = None;
        let rule = |cx: &Infer<'_>| {
            axes = Some(operands(cx, &op)?);
            Ok(())
        };
        let types = match self.checked_operands(METHOD, &["lhs", "rhs"], &[lhs, rhs], rule) {
            Ok(types) => types,
            Err(mistake) => return mistake,
        };
        let Some([of_lhs, of_rhs]) = axes else { return lhs };
        let g = self.composition(METHOD);
        let extents = |ty: &ValueType, axes: &[usize]| -> Vec<DimExpr> {
            axes.iter().map(|&axis| ty.shape[axis].clone()).collect()
        };
        let batch = extents(&types[0], &of_lhs.batch);
        let [m, n] = [extents(&types[0], &of_lhs.free), extents(&types[1], &of_rhs.free)];
        let k = product(&extents(&types[0], &of_lhs.contracting));
        let a = g.as_matrices(
            lhs,
            [&of_lhs.batch, &of_lhs.free, &of_lhs.contracting],
            (&batch, [product(&m), k.clone()]),
        );
        let b = g.as_matrices(
            rhs,
            [&of_rhs.batch, &of_rhs.free, &of_rhs.contracting],
            (&batch, [product(&n), k]),
        );
        let y = g.apply(MatMul { trans_b: true, ..MatMul::default() }, &[a, b]);
        g.last().apply(Reshape { shape: [batch, m, n].concat() }, &[y])
    }
}

impl Composition {
    /// A value with its axes in this order, as matrices of these extents under the batch axes.
    #[track_caller]
    fn as_matrices(
        &self,
        x: Value,
        axes: [&[usize]; 3],
        (batch, matrix): (&[DimExpr], [DimExpr; 2]),
    ) -> Value {
        let order: Vec<i64> = axes.concat().into_iter().map(|axis| axis as i64).collect();
        let in_order = order.windows(2).all(|pair| pair[0] < pair[1]);
        let x = if in_order { x } else { self.transpose(x, &order) };
        self.reshape_to(x, batch.iter().cloned().chain(matrix).collect())
    }
}

fn operands(cx: &Infer<'_>, op: &DotGeneral) -> Result<[Axes; 2], OpError> {
    cx.expect_dtype(0, FLOATS)?;
    cx.same_dtype(0, 1)?;
    let lists = [
        ("rhs_batch", &op.lhs_batch, &op.rhs_batch),
        ("rhs_contracting", &op.lhs_contracting, &op.rhs_contracting),
    ];
    for (name, of_lhs, of_rhs) in lists {
        if of_lhs.len() != of_rhs.len() {
            let reason = format!("it names {} axes, and `lhs` has {}", of_rhs.len(), of_lhs.len());
            return Err(AttrError::Value { name, reason }.into());
        }
    }
    let lhs = Axes::of(cx, 0, [&op.lhs_batch, &op.lhs_contracting])?;
    let rhs = Axes::of(cx, 1, [&op.rhs_batch, &op.rhs_contracting])?;
    let pairs = lhs.batch.iter().zip(&rhs.batch).chain(lhs.contracting.iter().zip(&rhs.contracting));
    for (&a, &b) in pairs {
        cx.equal(&cx.ty(0)?.shape[a], &cx.ty(1)?.shape[b], "axes of `lhs` and `rhs` that go together")?;
    }
    Ok([lhs, rhs])
}
