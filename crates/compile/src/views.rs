//! Views of the same bytes, and of dense buffers: those that see their bytes alike share one. Values of a model have
//! few types, and a view of its own for each result was a tenth of what a long chain of steps took in memory.

use crate::unplaced::PlacedView;
use pumice_ir::ValueType;
use pumice_plan::kernel::FloatStorage;
use pumice_plan::{Storage, View, dense_strides};
use pumice_types::DimExpr;
use std::sync::Arc;

/// How many are remembered: about as many types as a layer has.
const REMEMBERED: usize = 8;

/// The dense views that were made last.
#[derive(Debug, Default)]
pub struct DenseViews {
    last: Vec<Arc<View>>,
    /// Where the next one goes.
    next: usize,
}

impl DenseViews {
    /// The dense view of a buffer of that type.
    pub fn of(&mut self, storage: Storage, ty: &ValueType) -> Arc<View> {
        let same = |v: &&Arc<View>| v.dtype == ty.dtype() && v.storage == storage && *v.shape == *ty.shape;
        if let Some(known) = self.last.iter().find(same) {
            return Arc::clone(known);
        }
        let view = Arc::new(View::dense(ty.dtype(), storage, &ty.shape));
        match self.last.get_mut(self.next) {
            Some(oldest) => *oldest = Arc::clone(&view),
            None => self.last.push(Arc::clone(&view)),
        }
        self.next = (self.next + 1) % REMEMBERED;
        view
    }
}

/// Whether four neighbours of a view can be read at once: those of 16 bits must lie on 8 bytes, which an offset could
/// break.
pub fn has_aligned_quads(view: &View) -> bool {
    FloatStorage::of(view) == FloatStorage::F32 || view.offset.is(0)
}

/// Strides of a view over a shape of at least as many axes, to which it broadcasts.
pub fn broadcast_strides(view: &View, shape: &[DimExpr]) -> Vec<DimExpr> {
    let missing = shape.len() - view.shape.len();
    let mut strides = vec![DimExpr::constant(0); missing];
    for (i, (extent, stride)) in view.shape.iter().zip(&view.strides).enumerate() {
        let stretched = extent.is(1) && !shape[missing + i].is(1);
        strides.push(if stretched { DimExpr::constant(0) } else { stride.clone() });
    }
    strides
}

/// A view of the same bytes with other extents and strides, in elements.
pub fn restride(at: &PlacedView, shape: Vec<DimExpr>, strides: Vec<DimExpr>, offset: DimExpr) -> PlacedView {
    let view = View { dtype: at.view.dtype, storage: at.view.storage, shape, strides, offset };
    PlacedView { version: at.version, part: at.part, view: view.into() }
}

/// The same dense elements under another shape.
pub fn reshaped(at: &PlacedView, shape: &[DimExpr]) -> PlacedView {
    restride(at, shape.to_vec(), dense_strides(shape), at.view.offset.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_types::DType;

    #[test]
    fn equal_types_share_a_view_and_others_do_not() {
        let mut views = DenseViews::default();
        let types: Vec<ValueType> =
            (1..=2 * REMEMBERED as u64).map(|n| ValueType::fixed(DType::F32, &[n, 4])).collect();
        for ty in types.iter().chain(&types) {
            let (one, again) = (views.of(Storage::Arena, ty), views.of(Storage::Arena, ty));
            assert!(Arc::ptr_eq(&one, &again));
            assert_eq!(*one, View::dense(ty.dtype(), Storage::Arena, &ty.shape));
            assert_eq!(views.of(Storage::Natural, ty).storage, Storage::Natural);
        }
        assert_eq!(views.last.len(), REMEMBERED);
    }
}
