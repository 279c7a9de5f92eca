//! What an op's evaluation is: slow and obvious, f64 inside, rounded once at the op's end.

use crate::array::Array;
use crate::custom::CustomOps;
use crate::tolerance::Tolerance;
use pumice_runtime::CustomError;
use pumice_types::{Bindings, DType};
use std::cell::RefCell;

/// What went wrong on the device's side of the rules: reported through the status block (OPS 1.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// An index outside its axis, at this linear position of the index tensor.
    IndexOutOfRange(u64),
    /// A row past a state's capacity, at this linear row.
    StateOverflow(u64),
    /// An integer divided by zero, at this linear position of the result.
    IntDivZero(u64),
    /// A row, or its options, from which nothing can be drawn.
    BadDistribution(u64),
    /// A count that is no extent it may be.
    FoundExtent(u64),
    /// Extents that must be equal and are not, at the smaller one.
    ExtentMismatch(u64),
}

/// Operands of one evaluation.
pub struct EvalCx<'a> {
    /// Operands; `None` where an optional one is absent.
    pub inputs: &'a [Option<&'a Array>],
    /// Dtype and actual extents of every result, from inference.
    pub outputs: &'a [(DType, Vec<u64>)],
    /// Values of the graph's symbols, for attributes that are expressions.
    pub bindings: &'a Bindings,
    /// Which result is asked about, where an answer is about one: [`Eval::tolerance`] and [`Eval::magnitude`].
    pub result: usize,
    /// Status events; the first of each kind counts.
    pub status: RefCell<Vec<Status>>,
    /// Ops of users, where some are registered.
    pub custom: Option<&'a CustomOps>,
    /// Why there are no results, where the op is one of a user and failed.
    pub failure: RefCell<Option<CustomError>>,
}

impl<'a> EvalCx<'a> {
    /// An evaluation of these operands; no status yet.
    pub fn new(
        inputs: &'a [Option<&'a Array>],
        outputs: &'a [(DType, Vec<u64>)],
        bindings: &'a Bindings,
    ) -> EvalCx<'a> {
        let (status, failure) = (RefCell::default(), RefCell::default());
        EvalCx { inputs, outputs, bindings, result: 0, status, custom: None, failure }
    }

    /// The same operands, asking about another result.
    pub fn about(&self, result: usize) -> EvalCx<'a> {
        EvalCx { result, ..EvalCx::new(self.inputs, self.outputs, self.bindings) }
    }

    /// An operand that inference has seen to be there.
    ///
    /// # Panics
    /// If it is absent: the graph was not verified, a defect of the caller.
    pub fn arg(&self, i: usize) -> &'a Array {
        self.opt(i).expect("the graph is verified, so required operands are there")
    }

    /// An optional operand.
    pub fn opt(&self, i: usize) -> Option<&'a Array> {
        self.inputs.get(i).copied().flatten()
    }

    /// All operands that are there, in order.
    pub fn present(&self) -> Vec<&'a Array> {
        self.inputs.iter().flatten().copied().collect()
    }

    /// How many results there are.
    pub fn results(&self) -> usize {
        self.outputs.len()
    }

    /// Dtype and extents of the result that is asked about: of the first one while the op is evaluated.
    pub fn out(&self) -> (DType, &'a [u64]) {
        let (dtype, shape) = &self.outputs[self.result];
        (*dtype, shape)
    }

    /// Says why there are no results.
    pub fn fail(&self, error: CustomError) {
        self.failure.replace(Some(error));
    }

    /// Reports a status event.
    pub fn raise(&self, status: Status) {
        self.status.borrow_mut().push(status);
    }
}

/// An op's evaluation and how close everyone else must come to it. Implemented in `ops/<op>.rs`.
pub trait Eval {
    /// The results.
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array>;

    /// How far a runner's result `cx.result` may be from `eval`'s, element by element, for these operands and result
    /// types: each result of an op has its own. What a `Sum` scales with is given by [`Eval::magnitude`].
    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance;

    /// For an elementwise op that is differentiated by its scalar form, dy·∂y/∂x by operand number `by`, at operands of
    /// these values (absent ones `None`): a formula in f64 that has nothing from the scalar form. Where an operand is
    /// not chosen, 0, whatever dy is.
    fn gradient(&self, _by: usize, _x: &[Option<f64>], _dy: f64) -> Option<f64> {
        None
    }

    /// For tolerance class T2, Σ|termᵢ| of every element of result `cx.result` (in f64); empty for other classes.
    fn magnitude(&self, _cx: &EvalCx<'_>) -> Vec<f64> {
        Vec::new()
    }
}
