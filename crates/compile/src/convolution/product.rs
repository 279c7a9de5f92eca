//! Convolutions of one tap that are a product of matrices.

use super::{Convolution, Epilogue, Over};
use crate::cx::{LowerCx, LowerResult};
use crate::hole::Meant;
use crate::product::{self, Matrices, ProductSpace};
use crate::unplaced::PlacedView;
use crate::window::{Axis, joint_stride};
use pumice_plan::View;
use pumice_types::DimExpr;

impl Convolution {
    /// One tap that meets every element: a matrix of weights times the matrix of each batch, whose rows are channels.
    /// None where it is something else.
    pub(super) fn product(&self, [x, w, y]: [&View; 3]) -> Option<ProductSpace> {
        let Over::Window(window) = &self.over else { return None };
        // One position has no step, and need not be the only element.
        let is_only = |a: &Axis| a.extent.is(1) || !a.out.is(1);
        let whole =
            |a: &Axis| a.kernel == 1 && a.begin.is(0) && a.step == 1 && a.extent == a.end && is_only(a);
        if self.groups != 1 || !window.0.iter().all(whole) {
            return None;
        }
        let zero = || DimExpr::constant(0);
        let position = joint_stride(&x.shape[2..], &x.strides[2..])?;
        let matrices = |at: &View, batch: DimExpr, row: &DimExpr, col: DimExpr| Matrices {
            at: at.offset.clone(),
            batch: [zero(), batch],
            row: row.clone(),
            col,
        };
        Some(ProductSpace {
            batch: [DimExpr::constant(1), self.batches.clone()],
            m: self.outputs.clone(),
            n: window.positions(),
            k: self.channels.clone(),
            a: matrices(w, zero(), &w.strides[0], w.strides[1].clone()),
            b: matrices(x, x.strides[0].clone(), &x.strides[1], position),
            y: matrices(y, y.strides[0].clone(), &y.strides[1], DimExpr::constant(1)),
            slots: Vec::new(),
            rounding: self.rounding,
        })
    }

    /// The step of a convolution that is a product.
    pub(super) fn multiply(
        &self,
        cx: &mut LowerCx<'_>,
        mut space: ProductSpace,
        [x, w, y]: [&PlacedView; 3],
        Epilogue { hole, bias }: Epilogue,
        Meant { meaning, mut inputs }: Meant,
    ) -> LowerResult {
        // The left factor is read as words.
        let w = cx.decoded(w)?;
        let w = cx.words_at(&w, "w")?;
        (space.a.row, space.a.col) = (w.view.strides[0].clone(), w.view.strides[1].clone());
        space.a.at = w.view.offset.clone();
        for (i, at) in hole.slots.iter().enumerate() {
            let [n, _, row, col] = self.slot_strides(&at.view, bias && i == 0, &y.view.shape)?;
            let batch = [DimExpr::constant(0), n];
            space.slots.push(Matrices { at: at.view.offset.clone(), batch, row, col });
        }
        // The factors of the product are weights and operand, in this order.
        inputs.iter_mut().filter(|(_, i)| *i < 2).for_each(|(_, i)| *i = 1 - *i);
        product::emit(cx, space, [&w, x, y], hole, Meant { meaning, inputs })
    }
}
