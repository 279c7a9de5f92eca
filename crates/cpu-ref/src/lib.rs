//! The truth: evaluates graphs in f64 inside each op, rounding once; interprets plans; runs host steps.

pub mod array;
pub mod bounds;
pub mod custom;
pub mod differences;
pub mod eval;
pub mod functions;
pub mod graph;
pub mod host_ops;
pub mod index;
pub mod interp;
mod lines;
pub mod machine;
mod meaning;
pub mod ops;
pub mod perturb;
pub mod reference;
pub mod sample;
pub mod session;
mod slope;
pub mod tolerance;

pub use array::{Array, Data};
pub use custom::{CustomCall, CustomFailure, CustomOp, CustomOps, CustomTypes};
pub use eval::{Eval, EvalCx, Status};
pub use graph::{EvalError, EvalOptions, Evaluation, RefEval, StatusEvent, eval_graph, eval_graph_with};
pub use host_ops::RefHostOps;
pub use interp::Interpreter;
pub use reference::{Difference, Reference};
pub use session::RefSession;
pub use tolerance::Tolerance;
