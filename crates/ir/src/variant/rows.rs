//! A graph whose inputs lie on the device for several runs: in rows that runs take in turn, or in tables.

use super::Copy;
use crate::entity::ValueId;
use crate::graph::Graph;
use crate::ops::{Gather, Input, Op, State, StateRead};
use crate::shape::ValueType;
use pumice_types::{DType, DimExpr};

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
            let all = copy.leaf(input, ty, &value.name);
            let name = format!("{}.row", value.name);
            let one = copy.add(Gather { axis: 0 }, &[all, row], value.ty.clone(), name);
            copy.place[node.output().index()] = Some(one);
        }
        Some(copy.finish(&(0..self.outputs.len()).collect::<Vec<_>>()))
    }

    /// The graph whose inputs of these names are rows of tables: an input x\[n, …\] is gathered from a given state
    /// `tables(x)`, \[rows, …\], at the input `index`, i32 \[n\]. Names that no input has are passed over. None where
    /// the inputs do not have one first extent, where another extent of theirs is not constant, and where a name is
    /// taken.
    ///
    /// ```
    /// use pumice_ir::{GraphBuilder, f32, sym};
    /// let g = GraphBuilder::new("g");
    /// g.output("y", g.neg(g.input("x", f32([sym("n", 1..=9), 3.into()]))));
    /// let graph = g.build()?.with_inputs_from_tables("index", 1_000, &["x"], &|x| format!("{x} table"));
    /// let graph = graph.expect("it has rows");
    /// assert_eq!((graph.states().len(), graph.inputs().len()), (1, 1));
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    pub fn with_inputs_from_tables(
        &self,
        index: &str,
        rows: u64,
        inputs: &[&str],
        tables: &dyn Fn(&str) -> String,
    ) -> Option<Graph> {
        let all = self.inputs().into_iter().filter(|&v| inputs.contains(&&*self.value(v).name));
        let all: Vec<ValueId> = all.collect();
        let Some(&first) = all.first() else { return Some(self.clone()) };
        let extent = self.ty(first).shape.first()?;
        if all.iter().any(|&v| self.ty(v).shape.first() != Some(extent)) || self.find(index).is_some() {
            return None;
        }
        let mut copy = Copy::of(self);
        let ty = ValueType::new(DType::I32, [extent.clone()]);
        let places = copy.leaf(Input { ty: ty.clone() }, ty, index);
        for (id, node) in self.nodes() {
            if !all.contains(&node.output()) {
                copy.node(id, node.op.clone());
                continue;
            }
            let value = self.value(node.output());
            let name = tables(&value.name);
            let mut extents = vec![rows];
            for extent in &value.ty.shape[1..] {
                extents.push(extent.as_extent()?);
            }
            if self.find(&name).is_some() {
                return None;
            }
            let ty = ValueType::fixed(value.ty.encoding, &extents);
            let state = State { ty: ty.clone(), capacity_axis: None, given: true };
            let state = copy.leaf(state, ty.clone(), &name);
            let table = copy.add(StateRead {}, &[state], ty, format!("{name}.now"));
            let name = format!("{}.rows", value.name);
            let picked = copy.add(Gather { axis: 0 }, &[table, places], value.ty.clone(), name);
            copy.place[node.output().index()] = Some(picked);
        }
        Some(copy.finish(&(0..self.outputs.len()).collect::<Vec<_>>()))
    }
}
