//! Meanings, read from their text.

use pumice_ir::Graph;
use pumice_ir::text::{self, TextError};
use pumice_plan::MeaningGraph;
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

    /// The plan's bindings as the graph numbers them.
    pub fn bindings(&self, of_plan: &Bindings) -> Bindings {
        of_plan.renumbered(&self.symbols)
    }
}
