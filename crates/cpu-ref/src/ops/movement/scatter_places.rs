//! `ScatterPlaces`.

use super::gather_elements;
use super::gather_nd::linear;
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::exact;
use pumice_ir::ops::ScatterPlaces;
use pumice_ir::ops::scatter_places::NOWHERE;
use pumice_types::DimExpr;

impl Eval for ScatterPlaces {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (indices, (dtype, shape)) = (cx.arg(0), cx.out());
        let extent = |d: &DimExpr| d.eval_extent(cx.bindings).expect("the symbols are bound");
        let extents: Vec<u64> = self.extents.iter().map(extent).collect();
        let places: Vec<Option<usize>> = if extents.contains(&0) {
            // Where there is no element nothing is written, and nothing is reported.
            vec![None; shape[0] as usize]
        } else if self.elements {
            gather_elements::places(cx, (&extents, self.axis), indices)
        } else {
            let k = indices.shape[indices.shape.len() - 1] as usize;
            let tuples = indices.as_ints().chunks(k).enumerate();
            tuples.map(|(t, tuple)| linear(cx, tuple, &extents[..k], t * k)).collect()
        };
        let place = |p: Option<usize>| p.map_or(NOWHERE, |p| p as i64);
        vec![Array::ints(dtype, shape, places.into_iter().map(place).collect())]
    }
    exact!();
}
