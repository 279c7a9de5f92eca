//! Constants of a program: data of the graphs of all ranges, then what lowering makes.

use crate::error::CompileError;
use crate::interface::Sizes;
use pumice_ir::{Graph, Op};
use pumice_types::{Target, Tensor};

/// Constants of the graphs. Passes leave ranges of the symbols different constants of those that the whole graph has:
/// what a fused body holds itself is none.
pub struct Constants {
    data: Vec<Tensor>,
    /// For each graph, the constant that each of its leaves is, in their order.
    pub of_graphs: Vec<Vec<u32>>,
}

impl Constants {
    /// Of the graphs of all ranges.
    ///
    /// # Errors
    /// Data that no allocation holds.
    pub fn of(graphs: &[Graph], target: &Target, guard: u64) -> Result<Constants, CompileError> {
        let mut all = Constants { data: Vec::new(), of_graphs: Vec::new() };
        for graph in graphs {
            let slots = all.add(&Sizes { graph, target, guard })?;
            all.of_graphs.push(slots);
        }
        Ok(all)
    }

    /// How many there are; those that lowering makes come after them.
    pub fn count(&self) -> u32 {
        self.data.len() as u32
    }

    fn add(&mut self, sizes: &Sizes<'_>) -> Result<Vec<u32>, CompileError> {
        let graph = sizes.graph;
        let known = self.data.len();
        let (mut slots, mut next) = (Vec::new(), 0);
        for v in graph.leaves(|op| matches!(op, Op::Constant(_))) {
            let data = graph.constant_data(v);
            let data = data.ok_or_else(|| CompileError::Defect("a constant has no data".into()))?;
            // Ranges have mostly the same ones in the same order: the search begins after the last one found.
            let found = (next..known).chain(0..next).find(|&i| self.data[i] == *data);
            if found.is_none() {
                sizes.fixed(v)?;
                self.data.push(data.clone());
            }
            next = found.map_or(next, |slot| slot + 1);
            slots.push(found.unwrap_or(self.data.len() - 1) as u32);
        }
        Ok(slots)
    }

    /// All data, with the constants that lowering made for each range. Every range makes the same ones, in the same
    /// order: they depend on attributes alone.
    ///
    /// # Errors
    /// Ranges that made different constants.
    pub fn with_hidden<'h>(
        self,
        ranges: impl Iterator<Item = &'h [Tensor]>,
    ) -> Result<Vec<Tensor>, CompileError> {
        let mut all: &[Tensor] = &[];
        for hidden in ranges {
            if all.iter().zip(hidden).any(|(a, b)| a != b) {
                return Err(CompileError::Defect("ranges of the symbols made different constants".into()));
            }
            all = if hidden.len() > all.len() { hidden } else { all };
        }
        let mut data = self.data;
        data.extend_from_slice(all);
        Ok(data)
    }
}
