//! Scatter of elements along one axis, each by an index of its own.

use super::Lower;
use super::scatter::{Indexed, Scatter};
use crate::cx::{LowerCx, LowerResult};
use pumice_ir::NodeId;
use pumice_ir::infer::normalize_axis;
use pumice_ir::ops::ScatterElements;
use pumice_types::{DimExpr, MAX_RANK};

impl Lower for ScatterElements {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let scatter = Scatter::of(cx, id, self.reduction)?;
        let (shape, idx) = (&scatter.data.view.shape, &scatter.idx.view.shape);
        let line = Line::of(self.axis, shape, idx)?;
        let indexed = Indexed {
            elements: true,
            along: line.along,
            parts: 1,
            inner: DimExpr::constant(1),
            count: line.count,
            dims: line.dims,
            taken: line.taken,
        };
        scatter.emit(cx, id, &indexed)
    }
}

/// How kernels see lines along an axis: eight axes, of which leading ones that are not there are 1.
pub(super) struct Line {
    pub along: u32,
    /// Indices of a line.
    pub count: DimExpr,
    pub dims: Vec<DimExpr>,
    pub taken: Vec<DimExpr>,
}

impl Line {
    pub fn of(axis: i64, shape: &[DimExpr], idx: &[DimExpr]) -> LowerResult<Line> {
        let axis = normalize_axis(axis, shape.len()).map_err(|e| e.to_string())?;
        let missing = MAX_RANK.checked_sub(shape.len()).ok_or("it has more axes than kernels take")?;
        let eight = |own: &[DimExpr]| {
            let leading = std::iter::repeat_n(DimExpr::constant(1), missing);
            leading.chain(own.iter().cloned()).collect::<Vec<DimExpr>>()
        };
        let along = (missing + axis) as u32;
        Ok(Line { along, count: idx[axis].clone(), dims: eight(shape), taken: eight(idx) })
    }
}
