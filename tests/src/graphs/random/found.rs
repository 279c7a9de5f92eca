//! Nodes of random programs whose results are as long as the run finds.

use super::{Garden, Item};
use pumice_ir::ops::non_max_suppression::NonMaxSuppression;
use pumice_ir::ops::unique::Unique;
use pumice_types::{DType, DimExpr};

impl Garden<'_> {
    pub(super) fn found(&mut self) -> Option<Item> {
        // The host takes no part in a loop.
        if self.looping {
            return self.found_rows();
        }
        match self.below(3) {
            0 => self.found_rows(),
            1 => self.unlike(),
            _ => self.suppressed(),
        }
    }

    /// Exact numbers as unlike ones and which of them each is, and from these again.
    fn unlike(&mut self) -> Option<Item> {
        let g = self.g;
        let x = self.find(|s, i| i.exact && s.ty(i.value).rank() > 0)?;
        self.finds = true;
        let shape = self.ty(x.value).shape.to_vec();
        let flat = g.reshape_to(x.value, vec![DimExpr::constant(-1)]);
        let [values, _, inverse, _] = g.unique(flat, Unique { axis: None, sorted: self.below(2) == 0 });
        // An op between them sees the extent.
        let like = if self.ty(values).dtype() == DType::F32 { g.neg(g.neg(values)) } else { values };
        Some(Item { value: g.reshape_to(g.gather(like, inverse, 0), shape), ..x })
    }

    /// Sums of the rows that name boxes of whole numbers which overlap no better one.
    fn suppressed(&mut self) -> Option<Item> {
        let g = self.g;
        let x = self.find(|s, i| {
            let ty = s.ty(i.value);
            i.exact && ty.dtype() == DType::F32 && ty.rank() == 2 && s.width(i.value) >= 4
        })?;
        self.finds = true;
        let boxes = g.unsqueeze(g.narrow(x.value, -1, 0u64, 4u64), &[0]);
        let scores = g.unsqueeze(g.transpose(g.narrow(x.value, -1, 2u64, 2u64), &[1, 0]), &[0]);
        let share = self.pick(&[0.1, 0.45]);
        let op = NonMaxSuppression { max_out: 4, iou_threshold: share, ..NonMaxSuppression::default() };
        let kept = g.non_max_suppression(boxes, scores, op);
        let sum = g.reduce_sum(g.cast(kept, DType::I32), &[0], false);
        Some(self.exact(g.cast(sum, DType::F32), 400.0))
    }
}
