//! Ops of users: what a user says of one, the registry, and its calls.
//!
//! In: functions by name. Out: a registry that evaluators and host steps ask. A function of a user may do anything: it
//! may panic, return what it should not, or run the graph that called it. What comes out is a typed error.

mod registry;
mod weave;

pub use registry::{CustomOps, Registered};

use pumice_ir::ValueType;
use pumice_types::{DType, Element, Tensor, TensorView};
use std::error::Error;

/// Why a function of an op of a user fails: any error, or a text (`Err("why".into())`).
pub type CustomFailure = Box<dyn Error + Send + Sync>;

/// What a user says of an op. Its functions may be called from several threads at once. One value follows from
/// another: equal calls give equal results.
pub trait CustomOp: Send + Sync {
    /// Types of the results of these operands. They are compared with those that stand in the node, where the graph is
    /// compiled and where its plan is loaded; an op whose results may have any type returns those.
    ///
    /// # Errors
    /// Operands or attributes that the op does not take.
    fn types(&self, call: &CustomTypes<'_>) -> Result<Vec<ValueType>, CustomFailure>;

    /// The results, one tensor each, of the dtypes and shapes that `call` asks for. Every device runs it.
    ///
    /// # Errors
    /// Whatever the op fails by; it ends the run.
    fn run(&self, call: &CustomCall<'_>) -> Result<Vec<Tensor>, CustomFailure>;

    /// The same, slow and obvious: the evaluator runs it, so that tests compare the two. By default it is `run`.
    ///
    /// # Errors
    /// As [`CustomOp::run`].
    fn reference(&self, call: &CustomCall<'_>) -> Result<Vec<Tensor>, CustomFailure> {
        self.run(call)
    }
}

/// What the rule of types of an op of a user sees.
#[derive(Clone, Copy, Debug)]
pub struct CustomTypes<'a> {
    /// The attributes of the node.
    pub attributes: &'a str,
    /// Types of the operands.
    pub operands: &'a [ValueType],
    /// Types of the results, as the node states them; none where they are asked for.
    pub stated: &'a [ValueType],
}

/// What a function of an op of a user sees.
#[derive(Clone, Copy, Debug)]
pub struct CustomCall<'a> {
    /// The attributes of the node.
    pub attributes: &'a str,
    /// The operands: row-major, in natural width.
    pub operands: &'a [TensorView<'a>],
    /// Dtype and extents of each result, in this run.
    pub results: &'a [(DType, Vec<u64>)],
}

impl CustomCall<'_> {
    /// The elements of an operand, if `T` is its dtype.
    ///
    /// # Errors
    /// An operand that there is not, or that is of another dtype.
    pub fn values<T: Element>(&self, operand: usize) -> Result<Vec<T>, CustomFailure> {
        let Some(view) = self.operands.get(operand) else {
            return Err(format!("operand {operand} of {}", self.operands.len()).into());
        };
        if view.encoding() != T::DTYPE {
            return Err(format!("operand {operand} is {}, not {}", view.encoding(), T::DTYPE).into());
        }
        Ok(T::from_bytes(view.bytes()))
    }

    /// A result of these elements, with the extents that it has in this run.
    ///
    /// # Errors
    /// A result that there is not, or as many elements as it does not have.
    pub fn result<T: Element>(&self, result: usize, values: &[T]) -> Result<Tensor, CustomFailure> {
        let Some((_, shape)) = self.results.get(result) else {
            return Err(format!("result {result} of {}", self.results.len()).into());
        };
        Ok(Tensor::new(values, shape)?)
    }
}
