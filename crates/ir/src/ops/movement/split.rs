//! `Split`: a tensor cut into parts along an axis.

use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::normalize_axis;
use crate::infer::{Infer, Types};
use crate::ops::Slice;
use crate::ops::def::expansion;
use crate::ops::{Grad, GradCx, Grads, NoGrad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{ValueType, sym, tensor};
use crate::{Graph, NodeId, Patch, PatchRef};
use pumice_types::{DType, DimExpr};

crate::op! {
    /// x cut into parts along one axis (ONNX Split): parts of the given sizes, which must sum to the extent, or
    /// `num_outputs` parts of ⌈n/k⌉, the last ones smaller.
    pub struct Split {
        /// The axis.
        axis: i64 = 0,
        /// Sizes of the parts.
        sizes: Vec<DimExpr> = Vec::new(),
        /// Number of parts, where no sizes are given.
        num_outputs: Option<i64> = None,
    }
}

impl Split {
    /// Extents of the parts of an axis of that extent.
    pub fn parts(&self, extent: &DimExpr) -> Result<Vec<DimExpr>, OpError> {
        if !self.sizes.is_empty() {
            return Ok(self.sizes.clone());
        }
        let wrong = |reason: &str| AttrError::Value { name: "num_outputs", reason: reason.to_owned() };
        let k = self.num_outputs.ok_or_else(|| wrong("give either sizes or a number of parts"))?;
        if !(1..=i64::from(u16::MAX)).contains(&k) {
            return Err(wrong("there must be 1 to 65535 parts").into());
        }
        let part = extent.ceil_div(&DimExpr::constant(k));
        let zero = DimExpr::constant(0);
        let left = |i: i64| extent - &part * DimExpr::constant(i);
        let even = &part * DimExpr::constant(k) == *extent;
        Ok((0..k)
            .map(|i| if even { part.clone() } else { left(i).min_with(&part).max_with(&zero) })
            .collect())
    }
}

impl OpDef for Split {
    const OPERANDS: &'static [&'static str] = &["x"];
    const GRAD: Grad<Self> = Grad::Rule(rule);

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let x = cx.ty(0)?;
        let axis = cx.axis(self.axis, x.rank())?;
        let parts = self.parts(&x.shape[axis])?;
        if parts.iter().any(|p| p.as_const().is_some_and(|v| v < 0)) {
            return Err(OpError::Invalid(format!("{} has a negative part", cx.show(&parts))));
        }
        if !self.sizes.is_empty() {
            let sum = parts.iter().cloned().fold(DimExpr::constant(0), |a, b| a + b);
            cx.equal(&sum, &x.shape[axis], "sum of the parts and extent of the axis")?;
        }
        let part = |size: DimExpr| {
            let mut shape = x.shape.to_vec();
            shape[axis] = size;
            ValueType::new(x.dtype(), shape)
        };
        Ok(parts.into_iter().map(part).collect())
    }

    fn samples() -> Vec<Sample> {
        let case = |d: DType, shape: &[u64], axis: i64, sizes: &[i64], k: Option<i64>| {
            Sample::graph(&format!("{d} {shape:?} along {axis} into {sizes:?} {k:?}"), |g| {
                let x = g.input("x", tensor(d, shape.iter().copied()));
                let parts = k.map_or_else(|| g.split(x, axis, sizes), |k| g.split_equal(x, axis, k));
                for (i, part) in parts.into_iter().enumerate() {
                    g.output(&format!("y{i}"), part);
                }
            })
            .fill("x", Fill::Any)
        };
        let f = DType::F32;
        let mut samples = vec![
            case(f, &[7], 0, &[3, 4], None),
            case(f, &[7], 0, &[7], None),
            case(f, &[7], 0, &[3, 0, 4], None),
            case(f, &[7], 0, &[], Some(3)),
            case(f, &[7], 0, &[], Some(1)),
            case(f, &[2], 0, &[], Some(4)),
            case(f, &[6, 5], 0, &[], Some(2)),
            case(f, &[6, 5], 1, &[2, 3], None),
            case(f, &[2, 3, 192], -1, &[64, 64, 64], None),
            case(f, &[2, 3, 12], -1, &[], Some(3)),
            case(f, &[2, 5, 3], 1, &[1, 4], None),
            case(f, &[0, 4], 1, &[1, 3], None),
            case(f, &[0], 0, &[], Some(2)),
            case(f, &[1, 2, 1, 3, 2, 1, 2, 4], 7, &[], Some(4)),
        ];
        samples.extend(DType::ALL.map(|d| case(d, &[3, 5], 1, &[2, 3], None)));
        samples.extend([0, 3, 8].map(|n| {
            Sample::graph(&format!("symbolic, {n} of 9"), |g| {
                let x = g.input("x", tensor(f, [sym("n", 0..=9), 4.into()]));
                for (i, part) in g.split_equal(x, 0, 2).into_iter().enumerate() {
                    g.output(&format!("y{i}"), part);
                }
                for (i, part) in g.split_equal(x, 1, 2).into_iter().enumerate() {
                    g.output(&format!("z{i}"), part);
                }
            })
            .bind("n", n)
        }));
        samples
    }

    fn is_movement(&self) -> bool {
        true
    }

    /// One Slice per part. Kept where the extents of the slices cannot be shown to be those of the parts.
    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let node = graph.node(id);
        let x = node.input(0)?;
        let shape = &graph.ty(x).shape;
        let axis = normalize_axis(self.axis, shape.len()).ok()?;
        let mut patch = expansion(graph, id);
        let mut start = DimExpr::constant(0);
        for &part in &node.outputs {
            let (name, ty) = (&graph.value(part).name, graph.ty(part));
            let end = &start + &ty.shape[axis];
            if ty.shape == *shape {
                patch.replace(part, PatchRef::Old(x));
            } else {
                let (starts, ends) = (vec![start], vec![end.clone()]);
                let slice = Slice { starts, ends, axes: vec![axis as i64], steps: Vec::new(), exact: false };
                let range = slice.ranges(shape, graph.symbols()).ok()?.pop()?;
                if range.len != ty.shape[axis] {
                    return None;
                }
                let y = patch.add(slice, name.clone(), &[PatchRef::Old(x)]);
                patch.replace(part, y);
            }
            start = end;
        }
        Some(patch)
    }
}

/// The gradients of the parts side by side; zeros for one that the loss does not read.
fn rule(op: &Split, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let parts: Vec<Value> = (0..cx.node.outputs.len()).map(|i| cx.upstream_or_zeros(i)).collect();
    Ok(vec![Some(cx.g.concat(&parts, op.axis))])
}

impl GraphBuilder {
    /// x cut along an axis into parts of these sizes: x\[…, n, …\] → \[…, sizeᵢ, …\] each. As many values as sizes.
    #[track_caller]
    pub fn split(&self, x: Value, axis: i64, sizes: &[i64]) -> Vec<Value> {
        let sizes: Vec<DimExpr> = sizes.iter().map(|&s| DimExpr::constant(s)).collect();
        let count = sizes.len();
        self.cut(Split { axis, sizes, num_outputs: None }, x, count)
    }

    /// x cut along an axis into k parts of ⌈n/k⌉, the last ones smaller: x\[…, n, …\] → k tensors.
    #[track_caller]
    pub fn split_equal(&self, x: Value, axis: i64, k: i64) -> Vec<Value> {
        let count = usize::try_from(k).unwrap_or(0).min(usize::from(u16::MAX));
        self.cut(Split { axis, sizes: Vec::new(), num_outputs: Some(k) }, x, count)
    }

    #[track_caller]
    fn cut(&self, op: Split, x: Value, count: usize) -> Vec<Value> {
        let mut parts = self.apply_all(op, &[Some(x)]);
        // A mistake yields one invalid value; callers take the parts apart by number.
        let first = parts[0];
        parts.resize(count.max(1), first);
        parts
    }
}
