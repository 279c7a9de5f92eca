//! Convolutions of one tap that are a product of matrices.

use super::{Convolution, Epilogue, Over};
use crate::cx::{LowerCx, LowerResult};
use crate::draft::Located;
use crate::meaning::StepMeaning;
use crate::product::{self, Matrices, ProductSpace, SlotView};
use crate::window::{Axis, joint_stride};
use pumice_plan::View;
use pumice_types::DimExpr;
use std::sync::Arc;

impl Convolution {
    /// One tap that meets every element: a matrix of weights times the matrix of each batch, whose rows are channels.
    /// None where it is something else.
    pub(super) fn product(&self, [x, w, y]: [&View; 3]) -> Option<ProductSpace> {
        let Over::Window(window) = &self.over else { return None };
        let whole = |a: &Axis| a.kernel == 1 && a.begin.is(0) && a.step == 1 && a.extent == a.end;
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
            rounding: self.rounding,
        })
    }

    /// The step of a convolution that is a product.
    pub(super) fn multiply(
        &self,
        cx: &mut LowerCx<'_>,
        space: &ProductSpace,
        [x, w, y]: [&Located; 3],
        epilogue: Epilogue,
        meaning: StepMeaning,
        meaning_inputs: &[(Arc<str>, usize)],
    ) -> LowerResult {
        // The left factor is read as words.
        let w = cx.decoded(w)?;
        let w = if w.view.is_words() { w } else { cx.dense_at(&w, "w")? };
        let mut space = space.clone();
        (space.a.row, space.a.col) = (w.view.strides[0].clone(), w.view.strides[1].clone());
        space.a.at = w.view.offset.clone();
        let mut slots = Vec::new();
        for (i, at) in epilogue.slots.iter().enumerate() {
            let [n, _, row, col] =
                self.strides_of(i, &epilogue, &y.view.shape).ok_or("a slot walks its positions apart")?;
            let over = Matrices { at: at.view.offset.clone(), batch: [DimExpr::constant(0), n], row, col };
            slots.push(SlotView { at: at.clone(), over });
        }
        let epilogue = product::Epilogue { fill: epilogue.fill, slots, operands: epilogue.operands };
        // The factors of the product are weights and operand, in this order.
        let names: Vec<(Arc<str>, usize)> = meaning_inputs
            .iter()
            .map(|(name, i)| (Arc::clone(name), if *i < 2 { 1 - *i } else { *i }))
            .collect();
        product::emit(cx, &space, [&w, x, y], epilogue, meaning, &names)
    }
}
