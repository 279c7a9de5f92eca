//! Views of dense buffers: those that see their bytes alike share one. Values of a model have few types, and a view of
//! its own for each result was a tenth of what a long chain of steps took in memory.

use pumice_ir::ValueType;
use pumice_plan::{Storage, View};
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
