//! `Gelu`.

use super::elementwise::unary_eval;
use crate::functions::{gelu, gelu_tanh};
use pumice_ir::ops::gelu::GeluForm;

unary_eval!(Gelu, ulp 16.0, abs 1e-7, |op, x| match op.approximate {
    GeluForm::Exact => gelu(x),
    GeluForm::Tanh => gelu_tanh(x),
});
