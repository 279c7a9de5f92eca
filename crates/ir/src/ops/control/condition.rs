//! Conditions that the host knows: comparisons of extents, integer scalars and constants, as expressions of 0 or 1.

use crate::builder::{GraphBuilder, Value};
use crate::graph::{Graph, Node};
use crate::infer::normalize_axis;
use crate::ops::Op;
use crate::{NodeId, ValueId};
use pumice_types::{DType, DimExpr, ScalarId, Tensor};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Operands of operands at most: what is deeper is computed.
const DEPTH: u32 = 16;

/// 1 where `a` is above `b`, else 0.
pub(in crate::ops) fn is_above(a: &DimExpr, b: &DimExpr) -> DimExpr {
    (a - b).max_with(&DimExpr::constant(0)).min_with(&DimExpr::constant(1))
}

/// 0 where `a` is `b`, else 1.
pub(in crate::ops) fn is_unlike(a: &DimExpr, b: &DimExpr) -> DimExpr {
    is_above(&(a - b).max_with(&(b - a)), &DimExpr::constant(0))
}

/// 1 where `a` is 0, 0 where it is 1.
pub(in crate::ops) fn is_not(a: &DimExpr) -> DimExpr {
    DimExpr::constant(1) - a.clone()
}

/// Values of builders that a condition may consist of.
struct Known<'g> {
    graph: &'g Graph,
    /// By value and depth: operands are shared, and ways through them multiply.
    seen: RefCell<BTreeMap<(ValueId, u32), Option<DimExpr>>>,
}

impl<'g> Known<'g> {
    fn of(graph: &'g Graph) -> Known<'g> {
        Known { graph, seen: RefCell::default() }
    }

    /// The value of one integer or truth value, where it stays within 32 bits, as the frame counts.
    fn value(&self, v: ValueId, depth: u32) -> Option<DimExpr> {
        if let Some(known) = self.seen.borrow().get(&(v, depth)) {
            return known.clone();
        }
        let known = self.computed(v, depth);
        self.seen.borrow_mut().insert((v, depth), known.clone());
        known
    }

    fn computed(&self, v: ValueId, depth: u32) -> Option<DimExpr> {
        let (of, ty) = (self.graph.value(v).def, self.graph.ty(v));
        let one = ty.shape.iter().all(|d| d.is(1));
        if depth == 0 || !one || !(ty.dtype().is_int() || ty.dtype() == DType::Bool) {
            return None;
        }
        let expr = self.node(of.0, depth - 1)?;
        let (low, high) = self.bounds(&expr);
        let fits = i64::from(i32::MIN) <= low && high <= i64::from(i32::MAX) && !expr.is_too_large();
        fits.then_some(expr)
    }

    fn bounds(&self, e: &DimExpr) -> (i64, i64) {
        e.bounds_with(&self.graph.symbols, &|id| self.range(id))
    }

    /// An operand of something that is computed from it: a difference of two such stays within 32 bits, too.
    fn operand(&self, v: ValueId, depth: u32) -> Option<DimExpr> {
        let within = |(low, high)| -(1 << 30) < low && high < 1 << 30;
        self.value(v, depth).filter(|e| within(self.bounds(e)))
    }

    fn range(&self, id: ScalarId) -> (i64, i64) {
        let scalar = self.graph.scalars().get(id.0 as usize).map(|&v| &self.graph.def(v).op);
        match scalar {
            Some(Op::Scalar(s)) => (s.min as i64, s.max as i64),
            _ => (i64::MIN, i64::MAX),
        }
    }

    fn node(&self, id: NodeId, depth: u32) -> Option<DimExpr> {
        let node = self.graph.node(id);
        let operand = |i: usize| self.operand(node.input(i)?, depth);
        match &node.op {
            Op::Extent(e) => {
                let ty = self.graph.ty(node.input(0)?);
                Some(ty.shape[normalize_axis(e.axis, ty.rank()).ok()?].clone())
            }
            Op::Scalar(_) => self.scalar(node),
            Op::Constant(c) => constant(&c.data),
            op if op.is_movement() && node.inputs.len() == 1 => self.value(node.input(0)?, depth),
            op => op.truth_value(&(0..node.inputs.len()).map(operand).collect::<Option<Vec<_>>>()?),
        }
    }

    fn scalar(&self, node: &Node) -> Option<DimExpr> {
        let at = self.graph.scalars().iter().position(|v| *v == node.output())?;
        Some(DimExpr::scalar(ScalarId(at as u32)))
    }
}

/// A constant of one integer or truth value.
fn constant(data: &Tensor) -> Option<DimExpr> {
    let value = match data.dtype() {
        DType::Bool => i64::from(*data.bytes().first()? != 0),
        DType::I32 => i64::from(*data.to_vec::<i32>().ok()?.first()?),
        DType::I64 => *data.to_vec::<i64>().ok()?.first()?,
        _ => return None,
    };
    Some(DimExpr::constant(value))
}

impl GraphBuilder {
    /// The value of one integer or truth value that is known before a run: of extents, integer scalars and constants
    /// alone. For who builds graphs of others' files, in which shapes and trip counts are values.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32, sym};
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([sym("n", 1..=8), 3.into()]));
    /// let twice = g.add(g.extent(x, 0), g.extent(x, 0));
    /// assert_eq!(g.known_integer(twice), Some(g.dim_of(x, 0) + g.dim_of(x, 0)));
    /// ```
    #[track_caller]
    pub fn known_integer(&self, value: Value) -> Option<DimExpr> {
        self.type_of(value)?;
        self.look(|graph| Known::of(graph).value(value.valid()?, DEPTH))
    }

    /// The data of a value that is a constant of the graph.
    #[track_caller]
    pub fn constant_data(&self, value: Value) -> Option<Tensor> {
        self.type_of(value)?;
        self.look(|graph| graph.constant_data(value.valid()?).cloned())
    }

    /// A condition of extents, integer scalars and constants as an expression: 1 where it is true, else 0.
    pub(super) fn condition_expr(&self, condition: Value) -> Option<DimExpr> {
        let known = self.known_integer(condition)?;
        // Whoever reads the expression need not know the ranges of scalars.
        let symbols = self.symbols().unwrap_or_default();
        let (low, high) = known.bounds(&symbols);
        (low >= 0 && high <= 1).then_some(known)
    }

    /// Feeds and versions of states so far.
    pub(super) fn written(&self) -> (usize, usize) {
        self.look(|graph| (graph.feeds.len(), graph.nodes.len()))
    }

    /// Why what was built since is no branch: it writes a state.
    pub(super) fn wrote_since(&self, (feeds, nodes): (usize, usize)) -> Option<String> {
        self.look(|graph| {
            let writes = |node: &&Node| !graph.successions(node).is_empty();
            if let Some(node) = graph.nodes[nodes..].iter().find(writes) {
                let name = &graph.value(node.output()).name;
                return Some(format!(
                    "a branch writes a state (`{name}`): write it after the branches, once"
                ));
            }
            let fed = graph.feeds.get(feeds)?;
            Some(format!("a branch feeds the state `{}`: feed it outside", graph.value(fed.state).name))
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{GraphBuilder, Value, f32, sym};

    /// A value of eight operands that are one, sixteen times: 8^15 ways lead from its end to its beginning.
    #[test]
    fn a_value_of_shared_operands_is_visited_once() {
        let is_first = |links: usize| {
            let g = GraphBuilder::new("g");
            let first = g.extent(g.input("x", f32([sym("n", 1..=8)])), 0);
            let last = (1..links).fold(first, |x: Value, _| g.max(&[x; 8]));
            g.known_integer(last).map(|known| Some(known) == g.known_integer(first))
        };
        assert_eq!([1, 15, 16, 17, 200].map(is_first), [Some(true), Some(true), Some(true), None, None]);
    }
}
