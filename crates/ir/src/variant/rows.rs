//! A graph whose inputs lie on the device for several runs.

use super::Copy;
use crate::entity::ValueId;
use crate::graph::Graph;
use crate::ops::{Gather, Input, Op};
use crate::shape::ValueType;
use pumice_types::DimExpr;
use std::sync::Arc;

impl Graph {
    /// The graph whose inputs have a first axis of `rows` more, of which a run takes one: each input x\[…\] is
    /// x\[rows, …\] and read at \[row, …\]. `row` is an i32 scalar of the graph; where it advances by one, the replays
    /// of one submission take one row after the other. Inputs named in `whole` stay as they are. None where `row` is no
    /// scalar of the graph.
    ///
    /// ```
    /// use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("g");
    /// g.scalar_advancing("row", 0, 31, 0, 1.into());
    /// g.output("y", g.neg(g.input("x", f32([3]))));
    /// let graph = g.build()?;
    /// let stacked = graph.with_rows_of_inputs(32, graph.scalars()[0], &[]).expect("a scalar");
    /// assert_eq!(stacked.ty(stacked.find("x").expect("an input")).rank(), 2);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    pub fn with_rows_of_inputs(&self, rows: u64, row: ValueId, whole: &[&str]) -> Option<Graph> {
        let mut copy = Copy::of(self);
        let is_scalar = |op: &Op| matches!(op, Op::Scalar(_));
        // Before the inputs that are read by one of them, in their order, which is that of their numbers.
        for (id, node) in self.nodes().filter(|(_, node)| is_scalar(&node.op)) {
            copy.node(id, node.op.clone());
        }
        let row = copy.place.get(row.index()).copied().flatten()?;
        for (id, node) in self.nodes().filter(|(_, node)| !is_scalar(&node.op)) {
            let value = self.value(node.output());
            if !matches!(node.op, Op::Input(_)) || whole.contains(&&*value.name) {
                copy.node(id, node.op.clone());
                continue;
            }
            let extents =
                std::iter::once(DimExpr::constant(rows as i64)).chain(value.ty.shape.iter().cloned());
            let ty = ValueType::new(value.ty.encoding, extents.collect::<Vec<_>>());
            let input = Input { ty: ty.clone() };
            let all =
                copy.new.push_node(input.into(), [].into_iter().collect(), [(ty, Arc::clone(&value.name))])
                    [0];
            let name = format!("{}.row", value.name);
            let one = copy.add(Gather { axis: 0 }, &[all, row], value.ty.clone(), name);
            copy.place[node.output().index()] = Some(one);
        }
        Some(copy.finish(&(0..self.outputs.len()).collect::<Vec<_>>()))
    }
}
