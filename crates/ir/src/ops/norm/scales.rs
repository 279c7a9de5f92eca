//! `LayerNorm`, `RmsNorm`: afterwards γ and β have exactly the normalized axes, which is what kernels read.
//!
//! A weight offset o that is neither 0 nor 1 goes into γ: N(x; γ, o) == N(x; o + γ, 0). A γ or β that only broadcasts
//! within the axes is expanded. One that varies along other axes is taken out:
//! N(x; γ, β) == N(x; 1)·γ + β, and with a weight offset o: N(x; γ, β) == N(x; 1)·(o + γ) + β.

use crate::builder::scalar_tensor;
use crate::infer::normalize_axis;
use crate::ops::def::expansion;
use crate::ops::{Add, Constant, Expand, Mul, Reshape};
use crate::{Graph, NodeId, Op, Patch, PatchRef, ValueId};
use pumice_types::{DType, DimExpr};
use std::sync::Arc;

/// How a scale lies to the normalized axes.
#[derive(Clone, Copy, PartialEq)]
enum Fit {
    Exact,
    Expandable,
    Varies,
}

fn fit(graph: &Graph, v: ValueId, normalized: &[DimExpr]) -> Fit {
    let shape = &graph.ty(v).shape;
    let unit = shape.iter().take_while(|d| d.is(1)).count();
    let kept = &shape[unit.min(shape.len().saturating_sub(normalized.len()))..];
    let full = |(a, b): (&DimExpr, &DimExpr)| a == b || !a.is(1);
    match () {
        () if kept.len() > normalized.len() => Fit::Varies,
        () if shape.len() == normalized.len() && shape.iter().zip(normalized).all(full) => Fit::Exact,
        () => Fit::Expandable,
    }
}

/// `plain` is the op without its weight offset, which goes where γ goes.
pub(crate) fn legalize(graph: &Graph, id: NodeId, axis: i64, offset: f32, plain: Op) -> Option<Patch> {
    let (node, name) = (graph.node(id), graph.node_name(id));
    let x = node.input(0)?;
    let ty = graph.ty(x);
    let normalized = &ty.shape[normalize_axis(axis, ty.rank()).ok()?..];
    let scales: Vec<(ValueId, Fit)> =
        node.operands().skip(1).map(|v| (v, fit(graph, v, normalized))).collect();
    let norm = Norm { graph, name, x, dtype: ty.dtype(), normalized, scales: &scales, offset };
    let exact = scales.iter().all(|(_, f)| *f == Fit::Exact);
    let added = offset != 0.0 && offset != 1.0;
    if exact && !added {
        return None;
    }
    let mut patch = expansion(graph, id);
    let y = if exact {
        norm.offset_in_gamma(&mut patch, plain)?
    } else if scales.iter().all(|(_, f)| *f != Fit::Varies) {
        norm.expanded_scales(&mut patch, node.op.clone())
    } else {
        norm.scaled_afterwards(&mut patch, plain)?
    };
    patch.replace(node.output(), y);
    Some(patch)
}

/// A norm with its operands.
struct Norm<'g> {
    graph: &'g Graph,
    name: &'g str,
    x: ValueId,
    dtype: DType,
    normalized: &'g [DimExpr],
    /// γ, and β where the op has one.
    scales: &'g [(ValueId, Fit)],
    offset: f32,
}

impl Norm<'_> {
    /// N(x; o + γ, 0).
    fn offset_in_gamma(&self, patch: &mut Patch, plain: Op) -> Option<PatchRef> {
        let factor = self.factor(patch)?;
        let rest = self.scales.iter().skip(1).map(|&(v, _)| PatchRef::Old(v));
        let inputs: Vec<PatchRef> = [PatchRef::Old(self.x), factor].into_iter().chain(rest).collect();
        Some(patch.add(plain, self.name, &inputs))
    }

    /// The same norm, of scales over exactly the normalized axes.
    fn expanded_scales(&self, patch: &mut Patch, op: Op) -> PatchRef {
        let mut inputs = vec![PatchRef::Old(self.x)];
        for (i, &(v, f)) in self.scales.iter().enumerate() {
            inputs.push(if f == Fit::Exact { PatchRef::Old(v) } else { self.expand(patch, v, i) });
        }
        patch.add(op, self.name, &inputs)
    }

    /// N(x; 1)·(o + γ) + β.
    fn scaled_afterwards(&self, patch: &mut Patch, plain: Op) -> Option<PatchRef> {
        let name = self.name;
        let one = patch.add(constant(self.dtype, 1.0), format!("{name}.one"), &[]);
        let ones = patch.add(Expand { shape: self.normalized.to_vec() }, format!("{name}.ones"), &[one]);
        let y = patch.add(plain, format!("{name}.unscaled"), &[PatchRef::Old(self.x), ones]);
        let factor = self.factor(patch)?;
        let Some(&(beta, _)) = self.scales.get(1) else { return Some(patch.add(Mul {}, name, &[y, factor])) };
        let scaled = patch.add(Mul {}, format!("{name}.scaled"), &[y, factor]);
        Some(patch.add(Add {}, name, &[scaled, PatchRef::Old(beta)]))
    }

    /// o + γ.
    fn factor(&self, patch: &mut Patch) -> Option<PatchRef> {
        let (name, gamma) = (self.name, PatchRef::Old(self.scales.first()?.0));
        if self.offset == 0.0 {
            return Some(gamma);
        }
        let offset = constant(self.dtype, f64::from(self.offset));
        let offset = patch.add(offset, format!("{name}.offset"), &[]);
        Some(patch.add(Add {}, format!("{name}.factor"), &[offset, gamma]))
    }

    /// The scale over the normalized axes: without leading axes of extent 1, then stretched.
    fn expand(&self, patch: &mut Patch, v: ValueId, i: usize) -> PatchRef {
        let (name, shape) = (self.name, &self.graph.ty(v).shape);
        let extra = shape.len().saturating_sub(self.normalized.len());
        let mut y = PatchRef::Old(v);
        if extra > 0 {
            y = patch.add(Reshape { shape: shape[extra..].to_vec() }, format!("{name}.scale{i}.row"), &[y]);
        }
        patch.add(Expand { shape: self.normalized.to_vec() }, format!("{name}.scale{i}"), &[y])
    }
}

fn constant(dtype: DType, value: f64) -> Constant {
    Constant { data: Arc::new(scalar_tensor(dtype, value)) }
}
