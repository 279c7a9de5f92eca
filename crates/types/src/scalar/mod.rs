//! Scalar expressions: what one element of a fused region computes.
//!
//! In: typed registers. Out: straight-line SSA of SPIR-V-level instructions ([`ScalarExpr`]), built by
//! [`ScalarBuilder`], evaluated on the CPU by [`Evaluator`], and turned into SPIR-V elsewhere. Transcendental
//! functions are expanded here, once, into those instructions (`math`), so that every device computes the same
//! function. Never here: an op, a shape, memory, a loop.
//!
//! ```
//! use pumice_types::scalar::{RegType, ScalarExpr};
//! let silu = ScalarExpr::unary(RegType::F32, |b, x| b.silu(x)).unwrap();
//! let leaky = ScalarExpr::unary(RegType::F32, |b, x| {
//!     b.select(b.ge(x, b.f32(0.0)), x, b.mul(x, b.f32(0.01)))
//! });
//! assert_eq!(leaky.unwrap().outputs().len(), 1);
//! assert!(silu.insts().len() > 10);
//! ```

mod arith;
mod builder;
mod cast;
mod eval;
mod expr;
mod literal;
mod math;
mod opcode;
mod round;
mod simplify;
mod tangent;
#[cfg(test)]
mod tests;

pub use builder::{Reg, ScalarBuilder};
pub use eval::{Arithmetic, Evaluator, ScalarValue};
pub use expr::{Inst, RegId, ScalarError, ScalarExpr};
pub use opcode::{Opcode, RegType};
