//! Scatter of slices at tuples of indices.

use super::Lower;
use super::scatter::{Indexed, Scatter};
use crate::cx::{LowerCx, LowerResult};
use pumice_ir::NodeId;
use pumice_ir::ops::ScatterNd;
use pumice_ir::shape::product;

impl Lower for ScatterNd {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let (data, idx) = (node.input(0).ok_or("it has no data")?, node.input(1).ok_or("it has no indices")?);
        let parts = self.tuple(cx.graph.ty(data), cx.graph.ty(idx)).map_err(|e| e.to_string())?;
        let scatter = Scatter::of(cx, id, self.reduction)?;
        let (shape, idx) = (&scatter.data.view.shape, &scatter.idx.view.shape);
        let places = &idx[..idx.len() - 1];
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
