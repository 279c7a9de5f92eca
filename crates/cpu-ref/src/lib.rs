//! The truth: evaluates graphs in f64 inside each op, rounding once; interprets plans; runs host steps.

pub mod array;
pub mod bounds;
pub mod eval;
pub mod functions;
pub mod graph;
pub mod index;
pub mod ops;
pub mod sample;
pub mod session;
pub mod tolerance;

pub use array::{Array, Data};
pub use eval::{Eval, EvalCx, Status};
pub use graph::{EvalError, EvalOptions, Evaluation, RefEval, StatusEvent, eval_graph};
pub use session::RefSession;
pub use tolerance::Tolerance;
