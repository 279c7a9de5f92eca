//! A finished scalar expression: straight-line SSA over typed registers.
//!
//! In: the parts, from the builder or from a file. Out: [`ScalarExpr`], which is well formed by construction
//! (every operand defined before its use, every instruction typed), its text form and its queries. Nothing here
//! evaluates or rewrites; an expression is never edited once it is finished.

use super::opcode::{Opcode, RegType};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;

/// A register of one expression: inputs first, then the result of each instruction in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RegId(pub u32);

impl fmt::Display for RegId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

/// One instruction; its result is the register of its place in the list.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Inst {
    /// What it does.
    pub op: Opcode,
    /// The type of its result.
    pub ty: RegType,
    /// Its operands, `op.arity()` of them.
    pub args: SmallVec<[RegId; 3]>,
}

/// Why an expression, or a step of building one, is refused.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScalarError {
    /// An instruction or builder method does not take operands of these types.
    #[error("`{what}` does not take operands of types {found:?}")]
    Type {
        /// The instruction or method.
        what: &'static str,
        /// The operand types it was given.
        found: Vec<RegType>,
    },
    /// A register that this expression does not define, or defines later or with another type.
    #[error("register {reg} is not defined where it is used")]
    UndefinedRegister {
        /// The register.
        reg: RegId,
    },
    /// An input index beyond the declared inputs.
    #[error("input {index} of an expression with {inputs} inputs")]
    UnknownInput {
        /// The index asked for.
        index: usize,
        /// How many inputs there are.
        inputs: usize,
    },
    /// A tangent is wanted of what has no rule for it.
    #[error("`{what}` has no tangent")]
    NoTangent {
        /// The function or instruction.
        what: &'static str,
    },
    /// Inlining an expression with arguments of the wrong number or types.
    #[error("an expression of inputs {expected:?} was given {found:?}")]
    Arguments {
        /// The input types of the expression.
        expected: Vec<RegType>,
        /// The types of what it was given.
        found: Vec<RegType>,
    },
}

crate::debug_as_display!(ScalarError);

/// A straight-line scalar function of n inputs and m outputs.
///
/// Equal expressions compare and hash equal; registers are numbered inputs first, so `RegId(i)` for
/// `i < inputs().len()` is input i. Clones share one body.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Body", into = "Body")]
pub struct ScalarExpr(Arc<Body>);

/// The body of an expression, as it lies in a file; unchecked there.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Body {
    inputs: Vec<RegType>,
    insts: Vec<Inst>,
    outputs: Vec<RegId>,
}

impl TryFrom<Body> for ScalarExpr {
    type Error = ScalarError;
    fn try_from(p: Body) -> Result<ScalarExpr, ScalarError> {
        ScalarExpr::from_parts(p.inputs, p.insts, p.outputs)
    }
}

impl From<ScalarExpr> for Body {
    fn from(e: ScalarExpr) -> Body {
        Arc::unwrap_or_clone(e.0)
    }
}

impl ScalarExpr {
    /// Checks every instruction and output and makes the expression.
    pub fn from_parts(
        inputs: Vec<RegType>,
        insts: Vec<Inst>,
        outputs: Vec<RegId>,
    ) -> Result<ScalarExpr, ScalarError> {
        let mut types = inputs.clone();
        for inst in &insts {
            let mut args: SmallVec<[RegType; 3]> = SmallVec::new();
            for &reg in &inst.args {
                let ty = types.get(reg.0 as usize).ok_or(ScalarError::UndefinedRegister { reg })?;
                args.push(*ty);
            }
            if !inst.op.accepts(inst.ty, &args) {
                return Err(ScalarError::Type { what: inst.op.name(), found: args.to_vec() });
            }
            types.push(inst.ty);
        }
        match outputs.iter().find(|r| r.0 as usize >= types.len()) {
            Some(&reg) => Err(ScalarError::UndefinedRegister { reg }),
            None => Ok(ScalarExpr(Arc::new(Body { inputs, insts, outputs }))),
        }
    }

    /// The expression that returns its one input.
    pub fn identity(ty: RegType) -> ScalarExpr {
        ScalarExpr(Arc::new(Body { inputs: vec![ty], insts: Vec::new(), outputs: vec![RegId(0)] }))
    }

    /// The types of the inputs, in order.
    pub fn inputs(&self) -> &[RegType] {
        &self.0.inputs
    }

    /// The instructions, in order of evaluation.
    pub fn insts(&self) -> &[Inst] {
        &self.0.insts
    }

    /// The registers returned, in order. An input may be one; a register may be returned twice.
    pub fn outputs(&self) -> &[RegId] {
        &self.0.outputs
    }

    /// How many registers there are: inputs and instructions.
    pub fn registers(&self) -> usize {
        self.0.inputs.len() + self.0.insts.len()
    }

    /// The type of a register, if the expression has it.
    pub fn reg_type(&self, reg: RegId) -> Option<RegType> {
        let i = reg.0 as usize;
        self.0
            .inputs
            .get(i)
            .copied()
            .or_else(|| self.0.insts.get(i.wrapping_sub(self.0.inputs.len())).map(|n| n.ty))
    }

    /// The type of output `i`, if there is one.
    pub fn output_type(&self, i: usize) -> Option<RegType> {
        self.0.outputs.get(i).and_then(|&r| self.reg_type(r))
    }

    /// Whether an instruction takes or makes a 64-bit integer, which devices may lack. An input that only becomes an
    /// output is no such use: its two words are moved.
    pub fn computes_int64(&self) -> bool {
        let wide = |r: &RegId| self.reg_type(*r).is_some_and(|ty| ty.bits() == 64);
        self.0.insts.iter().any(|i| i.ty.bits() == 64 || i.args.iter().any(wide))
    }

    /// Whether an output depends on input `i`: nothing that no output needs is left in an expression.
    pub fn reads(&self, i: usize) -> bool {
        let input = |r: &RegId| r.0 as usize == i;
        self.0.outputs.iter().any(input) || self.0.insts.iter().any(|inst| inst.args.iter().any(input))
    }

    /// Whether every output is an input: nothing is computed.
    pub fn is_trivial(&self) -> bool {
        self.0.insts.is_empty()
    }
}

/// `(f32 %0, f32 %1) { %2 = fmul f32 %0 %1 } -> %2`, one line.
impl fmt::Display for ScalarExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (i, ty) in self.0.inputs.iter().enumerate() {
            write!(f, "{}{ty} %{i}", if i > 0 { ", " } else { "" })?;
        }
        f.write_str(") {")?;
        for (i, inst) in self.0.insts.iter().enumerate() {
            let sep = if i > 0 { ";" } else { "" };
            write!(f, "{sep} %{} = {} {}", self.0.inputs.len() + i, inst.op.name(), inst.ty)?;
            if let Opcode::Const(bits) = inst.op {
                f.write_str(" ")?;
                write_constant(f, inst.ty, bits)?;
            }
            for arg in &inst.args {
                write!(f, " {arg}")?;
            }
        }
        f.write_str(" } ->")?;
        for out in &self.0.outputs {
            write!(f, " {out}")?;
        }
        Ok(())
    }
}

/// A constant so that it reads back to the same bits: NaN by its bits, everything else by value.
fn write_constant(f: &mut fmt::Formatter<'_>, ty: RegType, bits: u64) -> fmt::Result {
    match ty {
        RegType::F32 => {
            let v = f32::from_bits(bits as u32);
            if v.is_nan() { write!(f, "{:#010x}", bits as u32) } else { write!(f, "{v:?}") }
        }
        RegType::I32 => write!(f, "{}", bits as u32 as i32),
        RegType::I64 => write!(f, "{}", bits as i64),
        RegType::U32 | RegType::U64 => write!(f, "{bits}"),
        RegType::Bool => write!(f, "{}", bits != 0),
    }
}
