//! `Gelu`: the Gaussian-gated activation, exact or by tanh.

use crate::ops::elementwise::unary_with;
use crate::sample::Fill;

crate::attr_enum! {
    /// Which formula.
    pub enum GeluForm {
        /// ½x(1 + erf(x/√2)).
        Exact = "none",
        /// ½x(1 + tanh(√(2/π)(x + 0.044715x³))); differs from the other by up to 4.7e-4.
        Tanh = "tanh",
    }
}

unary_with! {
    /// y = ½x(1 + erf(x/√2)), or its tanh form (ONNX Gelu): x\[…\] → the same type. NaN at −Inf, where it is −Inf·0.
    Gelu gelu_form {
        /// Which formula.
        approximate: GeluForm = GeluForm::Exact,
    }, FLOATS, |op, _cx, b, x| match op.approximate {
        GeluForm::Exact => b.gelu(x),
        GeluForm::Tanh => b.gelu_tanh(x),
    },
    Fill::Special, settings [
        Gelu { approximate: GeluForm::Exact }, Gelu { approximate: GeluForm::Tanh }
    ]
}

impl crate::builder::GraphBuilder {
    /// ½x(1 + erf(x/√2)): x\[…\] → the same type.
    #[track_caller]
    pub fn gelu(&self, x: crate::builder::Value) -> crate::builder::Value {
        self.gelu_form(x, GeluForm::Exact)
    }

    /// ½x(1 + tanh(√(2/π)(x + 0.044715x³))): x\[…\] → the same type.
    #[track_caller]
    pub fn gelu_tanh(&self, x: crate::builder::Value) -> crate::builder::Value {
        self.gelu_form(x, GeluForm::Tanh)
    }
}
