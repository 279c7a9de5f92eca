//! A graph whose inputs lie on the device for several runs: in rows that runs take in turn, or in tables.

use super::Copy;
use crate::entity::ValueId;
use crate::graph::Graph;
use crate::ops::{Gather, Input, Op, State, StateRead};
use crate::shape::ValueType;
use pumice_types::{DType, DimExpr};
use std::collections::BTreeMap;

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
            if matches!(node.op, Op::Input(_)) && !whole.contains(&&*value.name) {
                copy.row_of(node.output(), rows, row);
            } else {
                copy.node(id, node.op.clone());
            }
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
        let table = |v| Some((v, self.table_of(v, (rows, extent), tables)?));
        let tables = all.into_iter().map(table).collect::<Option<BTreeMap<_, _>>>()?;
        if self.find(index).is_some() {
            return None;
        }
        let mut copy = Copy::of(self);
        let ty = ValueType::new(DType::I32, [extent.clone()]);
        let places = copy.leaf(Input { ty: ty.clone() }, ty, index);
        for (id, node) in self.nodes() {
            match tables.get(&node.output()) {
                Some(table) => copy.rows_of(node.output(), table, places),
                None => copy.node(id, node.op.clone()),
            }
        }
        Some(copy.finish(&(0..self.outputs.len()).collect::<Vec<_>>()))
    }

    /// Name and type of the table of an input that has this first extent.
    fn table_of(
        &self,
        input: ValueId,
        (rows, extent): (u64, &DimExpr),
        name: &dyn Fn(&str) -> String,
    ) -> Option<(String, ValueType)> {
        let value = self.value(input);
        let (first, inner) = value.ty.shape.split_first()?;
        let inner = inner.iter().map(DimExpr::as_extent).collect::<Option<Vec<u64>>>()?;
        let name = name(&value.name);
        let is_sound = first == extent && self.find(&name).is_none();
        is_sound.then(|| (name, ValueType::fixed(value.ty.encoding, &[&[rows][..], &inner].concat())))
    }
}

impl Copy<'_> {
    /// In the place of an input one row of it.
    fn row_of(&mut self, input: ValueId, rows: u64, row: ValueId) {
        let value = self.old.value(input);
        let all = std::iter::once(DimExpr::constant(rows as i64)).chain(value.ty.shape.iter().cloned());
        let ty = ValueType::new(value.ty.encoding, all.collect::<Vec<_>>());
        let all = self.leaf(Input { ty: ty.clone() }, ty, &value.name);
        self.gathered(input, "row", [all, row]);
    }

    /// In the place of an input rows of a table that is a given state.
    fn rows_of(&mut self, input: ValueId, (name, ty): &(String, ValueType), places: ValueId) {
        let state = State { ty: ty.clone(), capacity_axis: None, given: true };
        let state = self.leaf(state, ty.clone(), name);
        let table = self.add(StateRead {}, &[state], ty.clone(), format!("{name}.now"));
        self.gathered(input, "rows", [table, places]);
    }

    fn gathered(&mut self, input: ValueId, what: &str, operands: [ValueId; 2]) {
        let value = self.old.value(input);
        let name = format!("{}.{what}", value.name);
        let gathered = self.add(Gather { axis: 0 }, &operands, value.ty.clone(), name);
        self.place[input.index()] = Some(gathered);
    }
}
