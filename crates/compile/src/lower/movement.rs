//! Movement ops as views: no step, only other strides over the same bytes. Consumers that cannot take strides copy.

use super::{Lower, LowerResult};
use crate::cx::LowerCx;
use crate::unplaced::PlacedView;
use crate::views::{reshaped, restride};
use pumice_ir::NodeId;
use pumice_ir::ops::{After, Barrier, Identity, Reshape, Transpose};
use pumice_types::DimExpr;

/// The first operand of a node, as it is stored: blocks under other extents are blocks.
pub fn operand(cx: &LowerCx<'_>, id: NodeId) -> LowerResult<PlacedView> {
    let v = cx.graph.node(id).input(0).ok_or("it has no operand")?;
    cx.stored(v)
}

/// The first operand under the result's name.
fn alias(cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
    let at = operand(cx, id)?;
    cx.place(cx.graph.node(id).output(), at);
    Ok(())
}

impl Lower for Identity {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        alias(cx, id)
    }
}

impl Lower for After {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        alias(cx, id)
    }
}

impl Lower for Barrier {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let after = node.input(0);
        for (&result, x) in node.outputs.iter().zip(node.inputs.iter().skip(1)) {
            let x = x.ok_or("it has no operand")?;
            cx.place(result, cx.stored(x)?);
            cx.order(result, x, after);
        }
        Ok(())
    }
}

impl Lower for Transpose {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let at = operand(cx, id)?;
        let perm = self.permutation(at.view.shape.len()).map_err(|e| e.to_string())?;
        let shape = perm.iter().map(|&p| at.view.shape[p].clone()).collect();
        let strides = perm.iter().map(|&p| at.view.strides[p].clone()).collect();
        let view = restride(&at, shape, strides, at.view.offset.clone());
        cx.place(cx.graph.node(id).output(), view);
        Ok(())
    }
}

impl Lower for Reshape {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        reshape(cx, id)
    }
}

/// The operand under the shape of the result: a view where strides allow it, else of a dense copy.
pub fn reshape(cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
    let node = cx.graph.node(id);
    let at = operand(cx, id)?;
    let to = cx.graph.ty(node.output()).shape.clone();
    let view = match split_strides(&at.view.shape, &at.view.strides, &to) {
        Some(strides) => restride(&at, to.to_vec(), strides, at.view.offset.clone()),
        None => {
            let source = node.input(0).ok_or("it has no operand")?;
            reshaped(&cx.dense(source)?, &to)
        }
    };
    cx.place(node.output(), view);
    Ok(())
}

/// Strides of the new shape over the same bytes, if every new axis lies inside axes that are contiguous among
/// themselves. Works through both shapes from the innermost axis, matching groups of equal element count.
fn split_strides(from: &[DimExpr], strides: &[DimExpr], to: &[DimExpr]) -> Option<Vec<DimExpr>> {
    if from.iter().chain(to).any(|d| d.is(0)) {
        return Some(pumice_plan::dense_strides(to));
    }
    let mut out = vec![DimExpr::constant(0); to.len()];
    let old: Vec<usize> = (0..from.len()).filter(|&i| !from[i].is(1)).collect();
    let (mut i, mut j) = (old.len(), to.len());
    while i > 0 {
        // A group begins with one old axis and takes more old axes while the new ones are larger.
        i -= 1;
        let inner = strides[old[i]].clone();
        let mut count = from[old[i]].clone();
        let mut filled = DimExpr::constant(1);
        while filled != count {
            if j > 0 && count.exact_quotient(&(&filled * &to[j - 1])).is_some() {
                j -= 1;
                out[j] = &inner * &filled;
                filled = filled * &to[j];
            } else if i > 0 && strides[old[i - 1]] == &inner * &count {
                i -= 1;
                count = count * from[old[i]].clone();
            } else {
                return None;
            }
        }
    }
    // What is left has extent 1.
    to[..j].iter().all(|d| d.is(1)).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dims(v: &[i64]) -> Vec<DimExpr> {
        v.iter().map(|&d| DimExpr::constant(d)).collect()
    }

    #[test]
    fn strides_split_and_merge() {
        let case = |from: &[i64], strides: &[i64], to: &[i64]| {
            split_strides(&dims(from), &dims(strides), &dims(to))
                .map(|s| s.iter().map(|d| d.as_const().expect("constant")).collect::<Vec<_>>())
        };
        assert_eq!(case(&[6, 4], &[4, 1], &[2, 3, 4]), Some(vec![12, 4, 1]));
        assert_eq!(case(&[2, 3, 4], &[12, 4, 1], &[24]), Some(vec![1]));
        // A transposed matrix is no vector, but its axes can still be split.
        assert_eq!(case(&[4, 6], &[1, 4], &[24]), None);
        assert_eq!(case(&[4, 6], &[1, 4], &[2, 2, 6]), Some(vec![2, 1, 4]));
        assert_eq!(case(&[4], &[1], &[1, 4, 1]).map(|s| s[1]), Some(1));
    }

    #[test]
    fn symbolic_axes_split() {
        let n = DimExpr::symbol(pumice_types::SymbolId(0));
        let from = [n.clone(), 12u64.into()];
        let strides = [12u64.into(), DimExpr::constant(1)];
        let to = [n.clone(), 3u64.into(), 4u64.into()];
        assert_eq!(split_strides(&from, &strides, &to), Some(dims(&[12, 4, 1])));
        assert_eq!(split_strides(&from, &strides, &[n * 12u64]), Some(dims(&[1])));
    }
}
