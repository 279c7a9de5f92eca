//! Scatter of slices at tuples of indices.

use super::Lower;
use super::scatter::{Indexed, Scatter};
use crate::cx::{LowerCx, LowerResult};
use pumice_ir::NodeId;
use pumice_ir::ops::ScatterNd;
use pumice_ir::shape::product;

impl Lower for ScatterNd {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let scatter = Scatter::of(cx, id, self.reduction)?;
        let (shape, idx) = (&scatter.data.view.shape, &scatter.idx.view.shape);
        let (last, places) = idx.split_last().ok_or("its indices have no axis")?;
        let parts = last.as_extent().and_then(|k| usize::try_from(k).ok()).filter(|k| *k <= shape.len());
        let parts = parts.ok_or("its tuples have no constant length")?;
        let indexed = Indexed {
            elements: false,
            along: 0,
            parts: parts as u32,
            inner: product(&shape[parts..]),
            count: product(places),
            dims: shape[..parts].to_vec(),
            taken: Vec::new(),
        };
        scatter.emit(cx, id, &indexed)
    }
}
