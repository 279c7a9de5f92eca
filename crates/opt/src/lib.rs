//! The graph passes.
//!
//! In comes a graph in [`Form::Source`](pumice_ir::Form::Source), out goes one in
//! [`Form::Lowerable`](pumice_ir::Form::Lowerable) that computes the same outputs. A pass is one file with one public
//! function and a verb for a name; it returns labelled patches and never mutates a graph. The verifier runs after every
//! pass: what it finds is a defect of that pass.
//!
//! Nothing here evaluates (constants are folded through [`ConstEval`]), places or schedules.

pub mod cost_model;
pub mod passes;
pub mod pipeline;
pub mod rewrite;

pub use cost_model::{Anchor, CostModel, Group, NoCostModel, Side};
pub use pipeline::{
    OptError, OptOptions, PASSES, Pass, PassCx, Room, optimize, optimize_range, optimize_whole, run_pass,
    unfused,
};
use pumice_ir::ConstEval;

/// Folds nothing; for callers without an evaluator.
pub struct NoFolding;

impl ConstEval for NoFolding {
    fn eval(&self, _: &pumice_ir::Graph) -> Result<Vec<pumice_types::Tensor>, String> {
        Err("constants are not folded".to_owned())
    }
}
