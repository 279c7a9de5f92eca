//! The axes of a reduction's operand as its kernels see them, and what they compute while they load.

use super::anchor::{self, Hole};
use pumice_ir::{Graph, Node, ValueId};
use pumice_opt::rewrite::fuse::is_literal;
use pumice_opt::{Anchor, Side};
use pumice_plan::dense_strides;
use pumice_plan::kernels::reduce::{ReduceColumns, ReduceRows};
use pumice_types::DimExpr;

/// A dense operand as groups of adjacent axes that are all kept or all reduced.
pub struct Groups {
    axes: Vec<Group>,
}

/// Adjacent axes, from outside in, without those of extent 1 at either end.
struct Group {
    reduced: bool,
    extent: DimExpr,
    stride: DimExpr,
    /// The extents that are not 1, counted from the last axis.
    extents: Vec<(usize, DimExpr)>,
}

/// Which kernel walks the groups.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// What is reduced lies innermost.
    Rows,
    /// One kept group lies inside of what is reduced.
    Columns,
    /// Any other.
    Strided,
}

impl Groups {
    /// Of a shape, some of whose axes are reduced.
    pub fn of(shape: &[DimExpr], reduced: &[usize]) -> Groups {
        let strides = dense_strides(shape);
        let mut axes: Vec<Group> = Vec::new();
        for (d, (extent, stride)) in shape.iter().zip(strides).enumerate() {
            if extent.is(1) {
                continue;
            }
            let (is_reduced, own) = (reduced.contains(&d), (shape.len() - d, extent.clone()));
            match axes.last_mut() {
                Some(group) if group.reduced == is_reduced => {
                    group.extent = &group.extent * extent;
                    group.stride = stride;
                    group.extents.push(own);
                }
                _ => {
                    let extent = extent.clone();
                    axes.push(Group { reduced: is_reduced, extent, stride, extents: vec![own] });
                }
            }
        }
        Groups { axes }
    }

    /// The kernel for them.
    pub fn layout(&self) -> Layout {
        match self.axes.iter().map(|group| group.reduced).collect::<Vec<_>>().as_slice() {
            [] | [true] | [false, true] => Layout::Rows,
            [true, false] | [false, true, false] => Layout::Columns,
            _ => Layout::Strided,
        }
    }

    /// Extents of the kept groups, or of the reduced ones.
    pub fn extents(&self, reduced: bool) -> Vec<DimExpr> {
        self.axes.iter().filter(|group| group.reduced == reduced).map(|group| group.extent.clone()).collect()
    }

    /// Strides of the kept groups, or of the reduced ones.
    pub fn strides(&self, reduced: bool) -> Vec<DimExpr> {
        self.axes.iter().filter(|group| group.reduced == reduced).map(|group| group.stride.clone()).collect()
    }

    /// How a dense value that broadcasts to the operand is walked. None where it has some axes of a group alone.
    pub fn walk(&self, shape: &[DimExpr]) -> Option<Walk> {
        let own = |&(from_last, _): &(usize, DimExpr)| {
            let axis = shape.len().checked_sub(from_last)?;
            Some(&shape[axis]).filter(|extent| !extent.is(1))
        };
        let mut strides = Vec::new();
        let mut stride = DimExpr::constant(1);
        for group in self.axes.iter().rev() {
            let whole = group.extents.iter().all(|axis| own(axis) == Some(&axis.1));
            if !whole && group.extents.iter().any(|axis| own(axis).is_some()) {
                return None;
            }
            strides.push(if whole { stride.clone() } else { DimExpr::constant(0) });
            if whole {
                stride = &stride * &group.extent;
            }
        }
        strides.reverse();
        Some(Walk { strides })
    }
}

/// From one element of a slot to the next in each group of the operand's axes; 0 in one along which it does not vary.
pub struct Walk {
    strides: Vec<DimExpr>,
}

impl Walk {
    /// Whether neighbours in the innermost group are neighbours.
    pub fn has_columns(&self) -> bool {
        self.strides.last().is_some_and(|stride| !stride.is(0))
    }

    /// The strides of so many groups outside of the innermost one, of which the outermost may be missing.
    pub fn outside(&self, groups: usize) -> Vec<DimExpr> {
        let outer = &self.strides[..self.strides.len().saturating_sub(1)];
        let missing = groups.saturating_sub(outer.len());
        std::iter::repeat_n(DimExpr::constant(0), missing).chain(outer.iter().cloned()).collect()
    }
}

/// The hole of a reduction over these axes: what its kernel computes while it loads. None of integers, and of axes that
/// only the strided kernel takes.
pub fn hole(graph: &Graph, node: &Node, axes: &[usize]) -> Option<Hole> {
    let ty = graph.ty(node.input(0)?);
    let slots = match Groups::of(&ty.shape, axes).layout() {
        Layout::Rows => ReduceRows::DECL.slots,
        Layout::Columns => ReduceColumns::DECL.slots,
        Layout::Strided => return None,
    };
    let anchor = Anchor { kind: "reduce", side: Side::Before };
    let hole = Hole { anchor, slots: slots as usize, instructions: anchor::CHEAP, stores: false, walks };
    ty.dtype().is_float().then_some(hole)
}

/// A literal, or floats that vary along all axes of a group or along none of them.
fn walks(graph: &Graph, node: &Node, v: ValueId) -> bool {
    let walk = || {
        let shape = &graph.ty(node.input(0)?).shape;
        let axes = node.op.as_reduction()?.axes(shape.len()).ok()?;
        Groups::of(shape, &axes).walk(&graph.ty(v).shape)
    };
    is_literal(graph, v) || graph.ty(v).dtype().is_float() && walk().is_some()
}
