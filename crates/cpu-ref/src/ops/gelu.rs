//! `Gelu`.

use super::elementwise::unary_eval;
use crate::functions::{gelu, gelu_tanh};
use pumice_ir::ops::gelu::GeluForm;

unary_eval!(Gelu, ulp 12.0, abs 1e-36, |op, x| match op.approximate {
    GeluForm::Exact => gelu(x),
    GeluForm::Tanh => gelu_tanh(x),
});
