//! `Gelu`.

use crate::functions::{gelu, gelu_tanh};
use crate::ops::elementwise::unary_eval;
use pumice_ir::ops::gelu::GeluForm;

unary_eval!(Gelu, ulp 12.0, abs 1e-36, |op, x| match op.approximate {
    GeluForm::Exact => gelu(x),
    GeluForm::Tanh => gelu_tanh(x),
});
