//! Meanings, read from their text.

use pumice_ir::Graph;
use pumice_ir::text::{self, TextError};
use pumice_plan::{InputError, Meaning, MeaningGraph};
use pumice_types::{Bindings, SymbolId};
use std::sync::Arc;

/// A meaning that is ready to be evaluated.
#[derive(Debug)]
pub(crate) struct ReadMeaning {
    pub graph: Graph,
    /// What its symbols are in the plan.
    symbols: Arc<[SymbolId]>,
}

impl ReadMeaning {
    /// Reads the text.
    pub fn new(meaning: &MeaningGraph) -> Result<ReadMeaning, TextError> {
        Ok(ReadMeaning { graph: text::read(&meaning.text)?, symbols: Arc::clone(&meaning.symbols) })
    }

    /// For each input of the graph, in its order, its place in the inputs of a step that means it.
    ///
    /// # Errors
    /// An input that the step does not bind once, or that the graph does not have.
    pub fn order(&self, meaning: &Meaning) -> Result<Vec<usize>, InputError> {
        meaning.order(self.graph.inputs().iter().map(|&v| &*self.graph.value(v).name))
    }

    /// The plan's bindings as the graph numbers them.
    pub fn bindings(&self, of_plan: &Bindings) -> Bindings {
        of_plan.renumbered(&self.symbols)
    }
}
