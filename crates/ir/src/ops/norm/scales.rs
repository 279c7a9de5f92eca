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
    let exact = scales.iter().all(|(_, f)| *f == Fit::Exact);
    let added = offset != 0.0 && offset != 1.0;
    if exact && !added {
        return None;
    }
    let mut patch = expansion(graph, id);
    if exact {
        let factor = factor(&mut patch, name, ty.dtype(), offset, scales.first()?.0);
        let rest = scales.iter().skip(1).map(|&(v, _)| PatchRef::Old(v));
        let inputs: Vec<PatchRef> = [PatchRef::Old(x), factor].into_iter().chain(rest).collect();
        let y = patch.add(plain, name, &inputs);
        patch.replace(node.output(), y);
        return Some(patch);
    }
    if scales.iter().all(|(_, f)| *f != Fit::Varies) {
        let mut inputs = vec![PatchRef::Old(x)];
        for (i, &(v, f)) in scales.iter().enumerate() {
            inputs.push(if f == Fit::Exact {
                PatchRef::Old(v)
            } else {
                expand(&mut patch, graph, v, normalized, name, i)
            });
        }
        let y = patch.add(node.op.clone(), name, &inputs);
        patch.replace(node.output(), y);
        return Some(patch);
    }
    let one = patch.add(constant(ty.dtype(), 1.0), format!("{name}.one"), &[]);
    let ones = patch.add(Expand { shape: normalized.to_vec() }, format!("{name}.ones"), &[one]);
    let y = patch.add(plain, format!("{name}.unscaled"), &[PatchRef::Old(x), ones]);
    let factor = factor(&mut patch, name, ty.dtype(), offset, scales.first()?.0);
    let beta = scales.get(1);
    let scaled = if beta.is_some() { format!("{name}.scaled") } else { name.to_owned() };
    let mut y = patch.add(Mul {}, scaled, &[y, factor]);
    if let Some(&(beta, _)) = beta {
        y = patch.add(Add {}, name, &[y, PatchRef::Old(beta)]);
    }
    patch.replace(node.output(), y);
    Some(patch)
}

/// o + γ.
fn factor(patch: &mut Patch, name: &str, dtype: DType, offset: f32, gamma: ValueId) -> PatchRef {
    if offset == 0.0 {
        return PatchRef::Old(gamma);
    }
    let offset = patch.add(constant(dtype, f64::from(offset)), format!("{name}.offset"), &[]);
    patch.add(Add {}, format!("{name}.factor"), &[offset, PatchRef::Old(gamma)])
}

/// The scale over the normalized axes: without leading axes of extent 1, then stretched.
fn expand(
    patch: &mut Patch,
    graph: &Graph,
    v: ValueId,
    normalized: &[DimExpr],
    name: &str,
    i: usize,
) -> PatchRef {
    let shape = &graph.ty(v).shape;
    let extra = shape.len().saturating_sub(normalized.len());
    let mut y = PatchRef::Old(v);
    if extra > 0 {
        y = patch.add(Reshape { shape: shape[extra..].to_vec() }, format!("{name}.scale{i}.row"), &[y]);
    }
    patch.add(Expand { shape: normalized.to_vec() }, format!("{name}.scale{i}"), &[y])
}

fn constant(dtype: DType, value: f64) -> Constant {
    Constant { data: Arc::new(scalar_tensor(dtype, value)) }
}
