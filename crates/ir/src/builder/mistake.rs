//! What the builder collects instead of failing: every mistake, with the line of the caller's that made it.

use crate::error::BuildError;
use std::fmt;
use std::panic::Location;

/// A line of the caller's source: where a method of a builder was called.
pub type CallSite = &'static Location<'static>;

/// One mistake, and where it was made.
#[derive(Clone, PartialEq)]
pub struct Mistake {
    /// What is wrong.
    pub error: BuildError,
    /// Where the node, output or feed was made; none for a mistake of the graph as a whole.
    pub site: Option<CallSite>,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.error)?;
        self.site.map_or(Ok(()), |site| write!(f, ", at {site}"))
    }
}

pumice_types::debug_as_display!(Mistake);

impl std::error::Error for Mistake {}

/// Every mistake of a graph.
#[derive(Clone, PartialEq)]
pub struct BuildErrors(pub Vec<Mistake>);

impl fmt::Display for BuildErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            1 => write!(f, "1 mistake in the graph:")?,
            n => write!(f, "{n} mistakes in the graph:")?,
        }
        self.0.iter().try_for_each(|e| write!(f, "\n  {e}"))
    }
}

pumice_types::debug_as_display!(BuildErrors);

impl std::error::Error for BuildErrors {}
