//! The truth: evaluates graphs in f64 inside each op, rounding once; interprets plans; runs host steps.

pub mod array;
pub mod eval;
pub mod ops;
pub mod tolerance;

pub use array::{Array, Data};
pub use eval::{Eval, EvalCx, Status};
pub use tolerance::Tolerance;
