//! Elements to elements.

use super::call::{Call, one};
use super::{Results, Rule, rule};
use pumice_ir::ops::bit_shift::ShiftDirection;
use pumice_ir::ops::glu::GluAct;
use pumice_ir::{GraphBuilder, Value};
use pumice_types::DType;

pub(super) const RULES: &[Rule] = &[
    rule("Abs", 6, |c| unary(c, GraphBuilder::abs)),
    rule("Acos", 7, |c| unary(c, GraphBuilder::acos)),
    rule("Acosh", 9, |c| unary(c, GraphBuilder::acosh)),
    rule("Asin", 7, |c| unary(c, GraphBuilder::asin)),
    rule("Asinh", 9, |c| unary(c, GraphBuilder::asinh)),
    rule("Atan", 7, |c| unary(c, GraphBuilder::atan)),
    rule("Atanh", 9, |c| unary(c, GraphBuilder::atanh)),
    rule("BitwiseNot", 18, |c| unary(c, GraphBuilder::bitwise_not)),
    rule("Ceil", 6, |c| unary(c, GraphBuilder::ceil)),
    rule("Cos", 7, |c| unary(c, GraphBuilder::cos)),
    rule("Cosh", 9, |c| unary(c, GraphBuilder::cosh)),
    rule("Erf", 9, |c| unary(c, GraphBuilder::erf)),
    rule("Exp", 6, |c| unary(c, GraphBuilder::exp)),
    rule("Floor", 6, |c| unary(c, GraphBuilder::floor)),
    rule("HardSwish", 14, |c| unary(c, |g, x| g.hard_swish(x, 1.0 / 6.0, 0.5))),
    rule("Identity", 1, |c| unary(c, GraphBuilder::identity)),
    rule("IsNaN", 9, |c| unary(c, GraphBuilder::is_nan)),
    rule("Log", 6, |c| unary(c, GraphBuilder::log)),
    rule("Mish", 18, |c| unary(c, GraphBuilder::mish)),
    rule("Neg", 6, |c| unary(c, GraphBuilder::neg)),
    rule("Not", 1, |c| unary(c, GraphBuilder::not)),
    rule("Reciprocal", 6, |c| unary(c, GraphBuilder::reciprocal)),
    rule("Relu", 6, |c| unary(c, GraphBuilder::relu)),
    rule("Round", 11, |c| unary(c, GraphBuilder::round)),
    rule("Sigmoid", 6, |c| unary(c, GraphBuilder::sigmoid)),
    rule("Sign", 9, |c| unary(c, GraphBuilder::sign)),
    rule("Sin", 7, |c| unary(c, GraphBuilder::sin)),
    rule("Sinh", 9, |c| unary(c, GraphBuilder::sinh)),
    rule("Softplus", 1, |c| unary(c, GraphBuilder::softplus)),
    rule("Softsign", 1, |c| unary(c, GraphBuilder::softsign)),
    rule("Sqrt", 6, |c| unary(c, GraphBuilder::sqrt)),
    rule("Tan", 7, |c| unary(c, GraphBuilder::tan)),
    rule("Tanh", 6, |c| unary(c, GraphBuilder::tanh)),
    rule("Celu", 12, |c| with_alpha(c, 1.0, GraphBuilder::celu)),
    rule("Elu", 6, |c| with_alpha(c, 1.0, GraphBuilder::elu)),
    rule("LeakyRelu", 6, |c| with_alpha(c, 0.01, GraphBuilder::leaky_relu)),
    rule("Swish", 24, |c| with_alpha(c, 1.0, GraphBuilder::swish)),
    rule("ThresholdedRelu", 10, |c| with_alpha(c, 1.0, GraphBuilder::thresholded_relu)),
    rule("HardSigmoid", 6, hard_sigmoid),
    rule("Selu", 6, selu),
    rule("Shrink", 9, shrink),
    rule("Gelu", 20, gelu),
    rule("IsInf", 10, is_inf),
    rule("Add", 7, |c| binary(c, GraphBuilder::add)),
    rule("And", 7, |c| binary(c, GraphBuilder::and)),
    rule("BitwiseAnd", 18, |c| binary(c, GraphBuilder::bitwise_and)),
    rule("BitwiseOr", 18, |c| binary(c, GraphBuilder::bitwise_or)),
    rule("BitwiseXor", 18, |c| binary(c, GraphBuilder::bitwise_xor)),
    rule("Div", 7, |c| binary(c, GraphBuilder::div)),
    rule("Equal", 7, |c| binary(c, GraphBuilder::equal)),
    rule("Greater", 7, |c| binary(c, GraphBuilder::greater)),
    rule("GreaterOrEqual", 12, |c| binary(c, GraphBuilder::greater_or_equal)),
    rule("Less", 7, |c| binary(c, GraphBuilder::less)),
    rule("LessOrEqual", 12, |c| binary(c, GraphBuilder::less_or_equal)),
    rule("Mul", 7, |c| binary(c, GraphBuilder::mul)),
    rule("Or", 7, |c| binary(c, GraphBuilder::or)),
    rule("PRelu", 9, |c| binary(c, GraphBuilder::p_relu)),
    rule("Sub", 7, |c| binary(c, GraphBuilder::sub)),
    rule("Xor", 7, |c| binary(c, GraphBuilder::xor)),
    rule("BitShift", 11, bit_shift),
    rule("Mod", 10, modulo),
    rule("Pow", 7, pow),
    rule("SwiGLU", 28, swiglu),
    rule("Max", 8, |c| variadic(c, GraphBuilder::max)),
    rule("Mean", 8, |c| variadic(c, GraphBuilder::mean)),
    rule("Min", 8, |c| variadic(c, GraphBuilder::min)),
    rule("Sum", 8, |c| variadic(c, GraphBuilder::sum)),
    rule("Where", 9, select),
    rule("Clip", 11, clip),
    rule("Cast", 9, cast),
    rule("CastLike", 15, cast_like),
    rule("BitCast", 26, bit_cast),
    rule("Dropout", 7, dropout),
];

fn unary(c: &mut Call<'_>, method: fn(&GraphBuilder, Value) -> Value) -> Results {
    let x = c.x(0)?;
    one(method(c.g, x))
}

fn with_alpha(c: &mut Call<'_>, default: f32, method: fn(&GraphBuilder, Value, f32) -> Value) -> Results {
    let (x, alpha) = (c.x(0)?, c.float("alpha", default)?);
    one(method(c.g, x, alpha))
}

fn binary(c: &mut Call<'_>, method: fn(&GraphBuilder, Value, Value) -> Value) -> Results {
    let (a, b) = (c.x(0)?, c.x(1)?);
    one(method(c.g, a, b))
}

fn variadic(c: &mut Call<'_>, method: fn(&GraphBuilder, &[Value]) -> Value) -> Results {
    let xs = c.all()?;
    one(method(c.g, &xs))
}

fn hard_sigmoid(c: &mut Call<'_>) -> Results {
    let (x, alpha, beta) = (c.x(0)?, c.float("alpha", 0.2)?, c.float("beta", 0.5)?);
    one(c.g.hard_sigmoid(x, alpha, beta))
}

fn selu(c: &mut Call<'_>) -> Results {
    let (x, alpha, gamma) = (c.x(0)?, c.float("alpha", 1.673_263_2)?, c.float("gamma", 1.050_701)?);
    one(c.g.selu(x, alpha, gamma))
}

fn shrink(c: &mut Call<'_>) -> Results {
    let (x, lambd, bias) = (c.x(0)?, c.float("lambd", 0.5)?, c.float("bias", 0.0)?);
    one(c.g.shrink(x, lambd, bias))
}

fn gelu(c: &mut Call<'_>) -> Results {
    let x = c.x(0)?;
    let by_tanh = c.choice("approximate", "none", &[("none", false), ("tanh", true)])?;
    one(if by_tanh { c.g.gelu_tanh(x) } else { c.g.gelu(x) })
}

fn is_inf(c: &mut Call<'_>) -> Results {
    let (x, negative, positive) =
        (c.x(0)?, c.flag("detect_negative", true)?, c.flag("detect_positive", true)?);
    one(c.g.is_inf(x, negative, positive))
}

fn bit_shift(c: &mut Call<'_>) -> Results {
    let directions = [("LEFT", ShiftDirection::Left), ("RIGHT", ShiftDirection::Right)];
    let (a, b, direction) = (c.x(0)?, c.x(1)?, c.choice("direction", "", &directions)?);
    one(c.g.bit_shift(a, b, direction))
}

fn modulo(c: &mut Call<'_>) -> Results {
    let (a, b, fmod) = (c.x(0)?, c.x(1)?, c.flag("fmod", false)?);
    one(c.g.modulo(a, b, fmod))
}

/// The result has the dtype of the base. An exponent of another dtype is computed with in f32 where either is a float,
/// else in the base's dtype.
fn pow(c: &mut Call<'_>) -> Results {
    let (a, b) = (c.x(0)?, c.x(1)?);
    let (base, exponent) = (c.ty(a)?.dtype(), c.ty(b)?.dtype());
    if base == exponent {
        return one(c.g.pow(a, b));
    }
    if base.is_float() || !exponent.is_float() {
        return one(c.g.pow(a, c.g.cast(b, base)));
    }
    let power = c.g.pow(c.g.cast(a, exponent), b);
    one(c.g.cast(power, base))
}

fn swiglu(c: &mut Call<'_>) -> Results {
    let (gate, value, alpha) = (c.x(0)?, c.x(1)?, c.float("alpha", 1.0)?);
    if alpha == 1.0 {
        return one(c.g.glu(gate, value, GluAct::Swish));
    }
    one(c.g.mul(c.g.swish(gate, alpha), value))
}

fn select(c: &mut Call<'_>) -> Results {
    let (condition, x, y) = (c.x(0)?, c.x(1)?, c.x(2)?);
    one(c.g.select(condition, x, y))
}

fn clip(c: &mut Call<'_>) -> Results {
    let (x, min, max) = (c.x(0)?, c.opt(1), c.opt(2));
    if min.is_none() && max.is_none() {
        return one(c.g.identity(x));
    }
    one(c.g.clip_by(x, min, max))
}

/// `saturate` and `round_mode` say something of 8-bit floats alone.
fn cast(c: &mut Call<'_>) -> Results {
    let (x, to) = (c.x(0)?, c.opt_dtype("to")?);
    c.flag("saturate", true)?;
    c.word("round_mode", "up")?;
    let to = to.ok_or_else(|| c.wrong("to", "is missing"))?;
    one(c.g.cast(x, to))
}

fn cast_like(c: &mut Call<'_>) -> Results {
    let (x, like) = (c.x(0)?, c.x(1)?);
    c.flag("saturate", true)?;
    c.word("round_mode", "up")?;
    one(c.g.cast_like(x, like))
}

fn bit_cast(c: &mut Call<'_>) -> Results {
    let (x, to) = (c.x(0)?, c.opt_dtype("to")?);
    let to = to.ok_or_else(|| c.wrong("to", "is missing"))?;
    one(c.g.bit_cast(x, to))
}

/// Ratio and mode are inputs from opset 12 on. A `seed` is ignored where nothing is drawn, and refused where it is:
/// numbers of a graph follow from its own seed.
fn dropout(c: &mut Call<'_>) -> Results {
    let x = c.x(0)?;
    let ratio = match c.opt_floats(1)?.as_deref() {
        Some([ratio]) => *ratio,
        _ => c.float("ratio", 0.5)?,
    };
    let training = c.opt_tensor(2, "bool")?.is_some_and(|t| t.dtype() == DType::Bool && t.bytes() != [0]);
    let seeded = c.opt_int_of("seed")?.is_some();
    if training && ratio > 0.0 && seeded {
        return Err(c.unsupported("a seed of one node"));
    }
    let (y, mask) =
        if training && ratio > 0.0 { c.g.dropout_training(x, ratio) } else { c.g.dropout(x, ratio) };
    Ok(vec![y, mask])
}
