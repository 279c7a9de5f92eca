//! A graph without some of its outputs, and without what only they need.

use super::Copy;
use crate::graph::Graph;
use pumice_types::{DimExpr, ScalarId, Var};

impl Graph {
    /// The graph of these outputs alone, and of the states that it writes: all else is gone, leaves of the interface
    /// too, and conditions of symbols that nothing names any more. Names that no output has are passed over; feeds of
    /// outputs that go are gone with them.
    ///
    /// ```
    /// use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("g");
    /// g.output("a", g.neg(g.input("x", f32([3]))));
    /// g.output("b", g.neg(g.input("y", f32([3]))));
    /// let graph = g.build()?.with_outputs(&["b"]);
    /// assert_eq!((graph.outputs().len(), graph.inputs().len()), (1, 1));
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    pub fn with_outputs(&self, names: &[&str]) -> Graph {
        let numbers = 0..self.outputs.len();
        let outputs: Vec<usize> =
            numbers.filter(|&i| names.contains(&self.outputs[i].name.as_str())).collect();
        let kept = Kept::of(self, &outputs);
        let mut copy = Copy::of(self);
        for (id, node) in self.nodes().filter(|(id, _)| kept.nodes[id.index()]) {
            let mut op = node.op.clone();
            op.map_dims(&|e| kept.renumbered(e));
            copy.node(id, op);
        }
        let mut graph = copy.finish(&outputs);
        for feed in &mut graph.feeds {
            feed.kind.map_exprs(&|e| kept.renumbered(e));
        }
        let named = graph.named_symbols();
        graph.constraints.retain(|c| {
            let foreign = |v: Var| v.symbol().is_some_and(|id| !named.contains(&id));
            [&c.left, &c.right].iter().all(|e| e.find_var(foreign).is_none())
        });
        graph
    }
}

/// What stays.
struct Kept {
    /// By node.
    nodes: Vec<bool>,
    /// By scalar that stays, its old number.
    scalars: Vec<ScalarId>,
}

impl Kept {
    /// What these outputs need, and the states that the graph writes.
    fn of(graph: &Graph, outputs: &[usize]) -> Kept {
        let mut kept = Kept { nodes: vec![false; graph.nodes.len()], scalars: Vec::new() };
        let finders = graph.finders();
        let scalars = graph.scalars();
        let defined = |v| graph.value(v).def.0;
        let mut wanted: Vec<_> = outputs.iter().map(|&i| defined(graph.outputs[i].value)).collect();
        let written = |v: &_| !graph.def(*v).op.is_leaf();
        wanted.extend(graph.final_states().into_iter().filter(written).map(defined));
        for feed in graph.feeds.iter().filter(|f| outputs.contains(&f.output)) {
            wanted.push(defined(feed.state));
            let mut look = |e: &DimExpr| e.visit_vars(|v| wanted.extend(scalar_of(v, &scalars).map(defined)));
            feed.kind.visit_exprs(&mut look);
        }
        while let Some(id) = wanted.pop() {
            if std::mem::replace(&mut kept.nodes[id.index()], true) {
                continue;
            }
            let node = graph.node(id);
            wanted.extend(node.operands().map(defined));
            node.op.visit_dims(&mut |e| {
                e.visit_vars(|v| {
                    wanted.extend(v.symbol().and_then(|symbol| finders.get(&symbol)));
                    wanted.extend(scalar_of(v, &scalars).map(defined));
                });
            });
        }
        let numbered = scalars.iter().enumerate().filter(|(_, v)| kept.nodes[defined(**v).index()]);
        kept.scalars = numbered.map(|(i, _)| ScalarId(i as u32)).collect();
        kept
    }

    /// An expression with the new numbers of scalars.
    fn renumbered(&self, e: &DimExpr) -> DimExpr {
        e.substitute(&|v| match v {
            Var::Scalar(old) => {
                let new = self.scalars.iter().position(|&kept| kept == old)?;
                Some(DimExpr::scalar(ScalarId(new as u32)))
            }
            Var::Symbol(_) => None,
        })
    }
}

/// The value of a variable that is a scalar.
fn scalar_of(v: Var, scalars: &[crate::ValueId]) -> Option<crate::ValueId> {
    match v {
        Var::Scalar(id) => scalars.get(id.0 as usize).copied(),
        Var::Symbol(_) => None,
    }
}
