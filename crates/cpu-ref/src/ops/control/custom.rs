//! `Custom`: the reference of an op of a user, by its name.

use crate::array::Array;
use crate::custom::{CustomCall, CustomOps};
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::exact;
use pumice_ir::ops::Custom;
use pumice_runtime::CustomError;
use pumice_types::{Tensor, TensorError, TensorView};

impl Eval for Custom {
    /// Nothing where it fails: the context says why.
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        match results(self, cx) {
            Ok(results) => results.iter().map(Array::from_tensor).collect(),
            Err(error) => {
                cx.fail(error);
                Vec::new()
            }
        }
    }
    exact!();
}

fn results(op: &Custom, cx: &EvalCx<'_>) -> Result<Vec<Tensor>, CustomError> {
    let none = CustomOps::new();
    let registered = cx.custom.unwrap_or(&none).get(&op.name);
    let registered = registered.ok_or_else(|| CustomError::Unknown { names: vec![op.name.clone()] })?;
    let failed = |e: TensorError| CustomError::Failed { op: op.name.clone(), reason: e.to_string() };
    let operands = cx.present().into_iter().map(Array::to_tensor).collect::<Result<Vec<_>, _>>();
    let operands = operands.map_err(failed)?;
    let operands: Vec<TensorView<'_>> = operands.iter().map(Tensor::view).collect();
    let call = CustomCall { attributes: &op.attributes, operands: &operands, results: cx.outputs };
    registered.reference(&call)
}
