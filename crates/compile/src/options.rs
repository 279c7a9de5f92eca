//! What a caller may choose. Nothing here changes results beyond rounding order.

use pumice_opt::OptOptions;
use pumice_plan::{Placement, Precision};

/// How barriers are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Barriers {
    /// Only where an access conflicts with another.
    #[default]
    Elided,
    /// Before every level: the oracle.
    Naive,
}

/// Options of [`compile`](crate::compile).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Arithmetic.
    pub precision: Precision,
    /// Placement of intermediates.
    pub placement: Placement,
    /// Barriers.
    pub barriers: Barriers,
    /// Graph passes.
    pub opt: OptOptions,
    /// Ranges that get plans of their own: for a symbol, the last value of every range but the last.
    /// `[("tokens", vec![1, 8, 64])]` makes 1, 2..=8, 9..=64 and 65..=max. Several symbols multiply: one end
    /// for the first and two for the second make six runs. A symbol that the graph does not have and ends
    /// that do not ascend are [`CompileError::Options`](crate::CompileError::Options).
    pub specializations: Vec<(String, Vec<u64>)>,
    /// Free bytes behind every slot, for tests that watch them.
    pub guard_bytes: u64,
}
