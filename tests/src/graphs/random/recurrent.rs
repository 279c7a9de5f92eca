//! Nodes of random programs that carry a state over the rows of a matrix.

use super::{Garden, Item};
use pumice_ir::ops::linear_recurrence::{LinearRecurrence, RecurrenceOptions};
use pumice_ir::ops::recurrent_layer::{Cell, CellActivation, RecurrentLayer};
use pumice_ir::{Fill, f32};
use pumice_types::DType;

impl Garden<'_> {
    /// Rows are steps, of one head: with a decay that depends on the row, so that the state stays small.
    pub(super) fn recurrent(&mut self) -> Option<Item> {
        let g = self.g;
        let x = self.find(|s, i| {
            let ty = s.ty(i.value);
            ty.dtype() == DType::F32 && ty.rank() == 2
        })?;
        let x = self.calm(x);
        if self.below(2) == 0 {
            return self.layered(x);
        }
        let rows = g.unsqueeze(x.value, &[0, 2]);
        let width = self.width(x.value) as f64;
        let short = g.mul(g.tanh(rows), g.constant_scalar(DType::F32, 1.0 / width));
        let decay = g.neg(g.sigmoid(g.reduce_mean(x.value, &[-1], true)));
        let options =
            RecurrenceOptions { decay: Some(g.unsqueeze(decay, &[0])), ..RecurrenceOptions::default() };
        let op = LinearRecurrence { by_value: self.below(2) == 0, ..LinearRecurrence::default() };
        let (o, last) = g.linear_recurrence([short, short, rows], options, op);
        let value = if self.below(2) == 0 { g.squeeze(o, &[0, 2]) } else { g.squeeze(last, &[0, 1]) };
        Some(self.about(value, 8.0 * x.size))
    }
    /// Rows are steps of a cell that has a unit for each column.
    fn layered(&mut self, x: Item) -> Option<Item> {
        let g = self.g;
        let width = self.width(x.value);
        let cell = self.pick(&[Cell::Rnn, Cell::Gru]);
        let f = if cell == Cell::Rnn { CellActivation::Tanh } else { CellActivation::Sigmoid };
        let op = RecurrentLayer { cell, f, reverse: self.below(2) == 0, ..RecurrentLayer::default() };
        let rows = g.unsqueeze(x.value, &[1]);
        let xw = g.concat(&vec![rows; cell.gates() as usize], -1);
        let name = self.name("weights");
        let r = g.param(&name, f32([width, width * cell.gates()]));
        let small = 0.5 / width as f64;
        self.fill(&name, Fill::Uniform(-small, small));
        let [y, ..] = g.recurrent_layer([xw, r], [None; 5], op);
        Some(self.about(g.squeeze(y, &[1]), 1.0))
    }
}
