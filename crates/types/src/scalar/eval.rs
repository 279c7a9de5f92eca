//! Evaluation of a scalar expression on the CPU, register by register, as a device would.
//!
//! In: an expression and the bits of its inputs. Out: the bits of its outputs. What devices are free to do is a
//! parameter ([`Arithmetic`]), so that tests can ask for each; nothing is evaluated wider than a register.

use super::expr::{ScalarError, ScalarExpr};
use super::opcode::{Opcode, RegType};

/// The two freedoms a device has in f32 arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arithmetic {
    /// `Fma` rounds once.
    pub fused_fma: bool,
    /// Subnormal operands and results of arithmetic count as zeros of the same sign.
    pub flush_subnormals: bool,
}

impl Arithmetic {
    /// All four combinations, for tests that must hold under each.
    pub const ALL: [Arithmetic; 4] = [
        Arithmetic { fused_fma: false, flush_subnormals: false },
        Arithmetic { fused_fma: false, flush_subnormals: true },
        Arithmetic { fused_fma: true, flush_subnormals: false },
        Arithmetic { fused_fma: true, flush_subnormals: true },
    ];
}

/// A value in a register.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScalarValue {
    /// Of an F32 register.
    F32(f32),
    /// Of an I32 register.
    I32(i32),
    /// Of a U32 register.
    U32(u32),
    /// Of an I64 register.
    I64(i64),
    /// Of a U64 register.
    U64(u64),
    /// Of a Bool register.
    Bool(bool),
}

impl ScalarValue {
    /// The register type that holds it.
    pub const fn reg_type(self) -> RegType {
        match self {
            ScalarValue::F32(_) => RegType::F32,
            ScalarValue::I32(_) => RegType::I32,
            ScalarValue::U32(_) => RegType::U32,
            ScalarValue::I64(_) => RegType::I64,
            ScalarValue::U64(_) => RegType::U64,
            ScalarValue::Bool(_) => RegType::Bool,
        }
    }

    /// The value's bits, zero-extended.
    pub const fn to_bits(self) -> u64 {
        match self {
            ScalarValue::F32(v) => v.to_bits() as u64,
            ScalarValue::I32(v) => v as u32 as u64,
            ScalarValue::U32(v) => v as u64,
            ScalarValue::I64(v) => v as u64,
            ScalarValue::U64(v) => v,
            ScalarValue::Bool(v) => v as u64,
        }
    }

    /// The value of a register of type `ty` with these bits; surplus bits are ignored.
    pub const fn from_bits(ty: RegType, bits: u64) -> ScalarValue {
        match ty {
            RegType::F32 => ScalarValue::F32(f32::from_bits(bits as u32)),
            RegType::I32 => ScalarValue::I32(bits as u32 as i32),
            RegType::U32 => ScalarValue::U32(bits as u32),
            RegType::I64 => ScalarValue::I64(bits as i64),
            RegType::U64 => ScalarValue::U64(bits),
            RegType::Bool => ScalarValue::Bool(bits & 1 != 0),
        }
    }
}

/// A register file for one expression, kept between evaluations.
#[derive(Clone, Debug)]
pub struct Evaluator<'e> {
    expr: &'e ScalarExpr,
    arithmetic: Arithmetic,
    registers: Vec<u64>,
    steps: Vec<Step>,
}

/// An instruction with its operands looked up; `source` is the type of the first.
#[derive(Clone, Copy, Debug)]
struct Step {
    op: Opcode,
    ty: RegType,
    source: RegType,
    args: [usize; 3],
}

impl<'e> Evaluator<'e> {
    /// For evaluating `expr` many times under `arithmetic`.
    pub fn new(expr: &'e ScalarExpr, arithmetic: Arithmetic) -> Evaluator<'e> {
        let steps = expr.insts().iter().map(|inst| {
            let mut args = [0; 3];
            for (slot, reg) in args.iter_mut().zip(&inst.args) {
                *slot = reg.0 as usize;
            }
            let source = inst.args.first().and_then(|&r| expr.reg_type(r)).unwrap_or(inst.ty);
            Step { op: inst.op, ty: inst.ty, source, args }
        });
        Evaluator { expr, arithmetic, registers: vec![0; expr.registers()], steps: steps.collect() }
    }

    /// Evaluates on the bits of the inputs; missing inputs are zero, surplus ones are ignored. The results are
    /// read with [`Evaluator::output`].
    pub fn run(&mut self, inputs: &[u64]) {
        let n = self.expr.inputs().len();
        for (i, ty) in self.expr.inputs().iter().enumerate() {
            self.registers[i] = canonical(*ty, inputs.get(i).copied().unwrap_or(0));
        }
        for (i, s) in self.steps.iter().enumerate() {
            // Instructions of fewer operands read register 0 (or nothing) for the missing ones.
            let args = s.args.map(|a| self.registers.get(a).copied().unwrap_or(0));
            self.registers[n + i] = step(s.op, s.ty, s.source, args, self.arithmetic);
        }
    }

    /// The bits of output `i` of the last run; 0 if there is no such output.
    pub fn output(&self, i: usize) -> u64 {
        self.expr.outputs().get(i).map_or(0, |r| self.registers[r.0 as usize])
    }
}

impl ScalarExpr {
    /// Evaluates once.
    pub fn eval(
        &self,
        inputs: &[ScalarValue],
        arithmetic: Arithmetic,
    ) -> Result<Vec<ScalarValue>, ScalarError> {
        let found: Vec<RegType> = inputs.iter().map(|v| v.reg_type()).collect();
        if found != self.inputs() {
            return Err(ScalarError::Arguments { expected: self.inputs().to_vec(), found });
        }
        let bits: Vec<u64> = inputs.iter().map(|v| v.to_bits()).collect();
        let mut e = Evaluator::new(self, arithmetic);
        e.run(&bits);
        let outputs = self.outputs().iter().enumerate();
        Ok(outputs
            .map(|(i, &r)| ScalarValue::from_bits(self.reg_type(r).unwrap_or(RegType::U64), e.output(i)))
            .collect())
    }
}

/// Cuts bits to the width of a register.
fn canonical(ty: RegType, bits: u64) -> u64 {
    match ty.bits() {
        64 => bits,
        width => bits & ((1 << width) - 1),
    }
}

/// One instruction on the bits of its operands; `source` is the type of the first operand.
pub(super) fn step(op: Opcode, ty: RegType, source: RegType, args: [u64; 3], arith: Arithmetic) -> u64 {
    let [a, b, c] = args;
    match op {
        Opcode::Const(bits) => bits,
        Opcode::FNeg => a ^ 0x8000_0000,
        Opcode::FAbs => a & 0x7fff_ffff,
        Opcode::Select => {
            if a != 0 {
                b
            } else {
                c
            }
        }
        Opcode::Bitcast => a,
        Opcode::Convert => convert(source, ty, a),
        Opcode::Eq | Opcode::Ne | Opcode::Lt | Opcode::Le | Opcode::Gt | Opcode::Ge => {
            compare(op, source, a, b, arith) as u64
        }
        _ if ty == RegType::F32 => float(op, args, arith),
        _ => canonical(ty, integer(op, ty, a, b)),
    }
}

fn flushed(v: f32, arith: Arithmetic) -> f32 {
    if arith.flush_subnormals && v.is_subnormal() { 0f32.copysign(v) } else { v }
}

fn float(op: Opcode, args: [u64; 3], arith: Arithmetic) -> u64 {
    let [a, b, c] = args.map(|bits| flushed(f32::from_bits(bits as u32), arith));
    let v = match op {
        Opcode::FAdd | Opcode::PreciseAdd => a + b,
        Opcode::FSub | Opcode::PreciseSub => a - b,
        Opcode::FMul | Opcode::PreciseMul => a * b,
        Opcode::FDiv => a / b,
        Opcode::Fma if arith.fused_fma => a.mul_add(b, c),
        Opcode::Fma => flushed(a * b, arith) + c,
        Opcode::Floor => a.floor(),
        Opcode::Ceil => a.ceil(),
        Opcode::Trunc => a.trunc(),
        Opcode::RoundEven => a.round_ties_even(),
        Opcode::Sqrt => a.sqrt(),
        Opcode::InverseSqrt => 1.0 / a.sqrt(),
        _ => f32::NAN,
    };
    flushed(v, arith).to_bits() as u64
}

/// Integer results may carry surplus upper bits. Division by zero gives 0.
fn integer(op: Opcode, ty: RegType, a: u64, b: u64) -> u64 {
    let shift = b as u32 % ty.bits().max(1);
    match op {
        Opcode::IAdd => a.wrapping_add(b),
        Opcode::ISub => a.wrapping_sub(b),
        Opcode::IMul => a.wrapping_mul(b),
        Opcode::IDiv if b == 0 => 0,
        Opcode::IDiv => match ty {
            RegType::I32 => (a as i32).wrapping_div(b as i32) as u32 as u64,
            RegType::I64 => (a as i64).wrapping_div(b as i64) as u64,
            _ => a / b,
        },
        Opcode::UMulHi => a.wrapping_mul(b) >> 32,
        Opcode::And => a & b,
        Opcode::Or => a | b,
        Opcode::Xor => a ^ b,
        Opcode::Not => !a,
        Opcode::Shl => a << shift,
        Opcode::Shr => match ty {
            RegType::I32 => ((a as i32) >> shift) as u32 as u64,
            RegType::I64 => ((a as i64) >> shift) as u64,
            _ => a >> shift,
        },
        _ => 0,
    }
}

fn compare(op: Opcode, ty: RegType, a: u64, b: u64, arith: Arithmetic) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = match ty {
        RegType::F32 => {
            let [x, y] = [a, b].map(|v| flushed(f32::from_bits(v as u32), arith));
            x.partial_cmp(&y)
        }
        RegType::I32 => Some((a as i32).cmp(&(b as i32))),
        RegType::I64 => Some((a as i64).cmp(&(b as i64))),
        _ => Some(a.cmp(&b)),
    };
    match op {
        Opcode::Eq => order == Some(Equal),
        Opcode::Ne => order != Some(Equal),
        Opcode::Lt => order == Some(Less),
        Opcode::Le => matches!(order, Some(Less | Equal)),
        Opcode::Gt => order == Some(Greater),
        _ => matches!(order, Some(Greater | Equal)),
    }
}

fn convert(from: RegType, to: RegType, a: u64) -> u64 {
    if from == RegType::F32 {
        let v = f32::from_bits(a as u32);
        return match to {
            RegType::I32 => v as i32 as u32 as u64,
            RegType::U32 => v as u32 as u64,
            RegType::I64 => v as i64 as u64,
            _ => v as u64,
        };
    }
    let wide = if from == RegType::I32 { a as i32 as i64 as u64 } else { a };
    match to {
        RegType::F32 if from.is_signed() => (wide as i64 as f32).to_bits() as u64,
        RegType::F32 => (wide as f32).to_bits() as u64,
        _ => canonical(to, wide),
    }
}
