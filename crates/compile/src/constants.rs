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

    /// All data, with the constants that lowering made.
    pub fn with_hidden(self, hidden: Hidden) -> Vec<Tensor> {
        let mut data = self.data;
        data.extend(hidden.data);
        data
    }
}

/// Constants that lowering makes, entry by entry, after those of the graphs. Every range of an entry makes the same
/// ones, in the same order: they depend on attributes alone.
pub struct Hidden {
    /// Number of the first of all.
    after: u32,
    /// The entry that is lowered, and where its own begin in `data`.
    entry: u32,
    first: usize,
    data: Vec<Tensor>,
}

impl Hidden {
    /// After so many constants of the graphs.
    pub fn after(after: u32) -> Hidden {
        Hidden { after, entry: 0, first: 0, data: Vec::new() }
    }

    /// Number of the first one of an entry, which is the entry of the range before or a later one.
    pub fn first_of(&mut self, entry: u32) -> u32 {
        if self.entry != entry {
            (self.entry, self.first) = (entry, self.data.len());
        }
        self.after + self.first as u32
    }

    /// Those of one more range of the entry.
    ///
    /// # Errors
    /// Ranges that made different constants.
    pub fn add(&mut self, made: Vec<Tensor>) -> Result<(), CompileError> {
        let known = &self.data[self.first..];
        if known.iter().zip(&made).any(|(a, b)| a != b) {
            return Err(CompileError::Defect("ranges of the symbols made different constants".into()));
        }
        let more = known.len();
        self.data.extend(made.into_iter().skip(more));
        Ok(())
    }
}
