//! `Loop`: what turns left; whoever evaluates the graph takes the turns.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::exact;
use pumice_ir::ops::Loop;
use pumice_types::DType;

impl Eval for Loop {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        // Who asks how close one result is may have that operand alone.
        let nothing = || Array::ints(DType::I32, &[], vec![0]);
        (0..cx.inputs.len() / 2).map(|i| cx.opt(i).cloned().unwrap_or_else(nothing)).collect()
    }
    exact!();
}
