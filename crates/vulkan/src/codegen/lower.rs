//! Scalar instructions as SPIR-V, at width 1 or 4.
//!
//! In: an expression and the ids of its inputs. Out: the ids of its registers, the instructions appended to a body.
//! One opcode is one instruction, but for conversions that also change signedness or widen a signed integer, and for
//! the high half of a product.

use super::assembly::Assembly;
use pumice_types::scalar::{Inst, Opcode, RegType, ScalarExpr};
use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{GlslStd450Op, Op, Word};

/// Instructions of a function body, in order, and the variables that go before them.
pub(super) struct Code<'a> {
    pub(super) assembly: &'a mut Assembly,
    pub(super) variables: Vec<Instruction>,
    pub(super) code: Vec<Instruction>,
    /// Elements worked on at once.
    pub(super) width: u32,
    /// Whether the driver takes a literal zero for one that meets numbers only ([`super::zeros`]).
    pub(super) folds_zeros: bool,
}

impl Code<'_> {
    /// Appends an instruction and returns its result.
    pub(super) fn push(&mut self, op: Op, ty: Word, operands: Vec<Operand>) -> Word {
        let id = self.assembly.fresh();
        self.code.push(Instruction::new(op, Some(ty), Some(id), operands));
        id
    }

    /// Appends an instruction on registers that returns a register of type `ty`.
    pub(super) fn op(&mut self, op: Op, ty: RegType, args: &[Word]) -> Word {
        let ty = self.assembly.reg_type(ty, self.width);
        self.push(op, ty, args.iter().map(|&a| Operand::IdRef(a)).collect())
    }

    /// A constant at this width.
    pub(super) fn constant(&mut self, ty: RegType, bits: u64) -> Word {
        let width = self.width;
        self.assembly.constant(ty, bits, width)
    }

    /// The registers of `expr`, inputs first.
    pub(super) fn lower(&mut self, expr: &ScalarExpr, inputs: &[Word]) -> Vec<Word> {
        let mut registers = inputs.to_vec();
        for inst in expr.insts() {
            let args: Vec<Word> = inst.args.iter().map(|r| registers[r.0 as usize]).collect();
            let source = inst.args.first().and_then(|&r| expr.reg_type(r)).unwrap_or(inst.ty);
            let exact =
                if self.folds_zeros { self.with_zero(inst, &constants(expr, inst), &args) } else { None };
            registers.push(exact.unwrap_or_else(|| self.instruction(inst, source, &args)));
        }
        registers
    }

    fn instruction(&mut self, inst: &Inst, source: RegType, args: &[Word]) -> Word {
        if let Some(function) = extended(inst.op) {
            return self.extended(function, args);
        }
        match inst.op {
            Opcode::Const(bits) => self.constant(inst.ty, bits),
            Opcode::PreciseAdd | Opcode::PreciseSub | Opcode::PreciseMul => {
                let id = self.op(plain(inst.op, source), inst.ty, args);
                self.assembly.no_contraction(id);
                id
            }
            Opcode::UMulHi => self.high_product(args),
            Opcode::Convert => self.convert(source, inst.ty, args[0]),
            op => self.op(plain(op, source), inst.ty, args),
        }
    }

    fn extended(&mut self, function: GlslStd450Op, args: &[Word]) -> Word {
        let set = self.assembly.glsl();
        let ty = self.assembly.reg_type(RegType::F32, self.width);
        let mut operands = vec![Operand::IdRef(set), Operand::LiteralExtInstInteger(function as u32)];
        operands.extend(args.iter().map(|&a| Operand::IdRef(a)));
        self.push(Op::ExtInst, ty, operands)
    }

    fn high_product(&mut self, args: &[Word]) -> Word {
        let element = self.assembly.reg_type(RegType::U32, self.width);
        let pair = self.assembly.pair(element);
        let product = self.push(Op::UMulExtended, pair, args.iter().map(|&a| Operand::IdRef(a)).collect());
        self.push(Op::CompositeExtract, element, vec![Operand::IdRef(product), Operand::LiteralBit32(1)])
    }

    /// SPIR-V's width conversions give a type of the source's signedness; what remains is a bitcast.
    fn convert(&mut self, from: RegType, to: RegType, x: Word) -> Word {
        if from == RegType::I32 && to.bits() == 64 {
            return self.widened(to, x);
        }
        let op = match (from, to) {
            (RegType::F32, t) if t.is_signed() => Op::ConvertFToS,
            (RegType::F32, _) => Op::ConvertFToU,
            (f, RegType::F32) if f.is_signed() => Op::ConvertSToF,
            (_, RegType::F32) => Op::ConvertUToF,
            (f, _) if f.is_signed() => Op::SConvert,
            _ => Op::UConvert,
        };
        let middle = match (op, to.bits()) {
            (Op::SConvert, 64) => RegType::I64,
            (Op::SConvert, _) => RegType::I32,
            (Op::UConvert, 64) => RegType::U64,
            (Op::UConvert, _) => RegType::U32,
            _ => to,
        };
        let id = self.op(op, middle, &[x]);
        if middle == to { id } else { self.op(Op::Bitcast, to, &[id]) }
    }
}

impl Code<'_> {
    /// An i32 in 64 bits: (u ^ 2³¹) − 2³¹ of its word u. Of `SConvert` Mesa has a wrong rule for comparisons with
    /// literals: below any literal under 2³¹ no widened i32 is found, not −3 below 0 (Mesa 22.3, lavapipe, 2026-11-27).
    fn widened(&mut self, to: RegType, x: Word) -> Word {
        let word = self.op(Op::Bitcast, RegType::U32, &[x]);
        let wide = self.op(Op::UConvert, RegType::U64, &[word]);
        let sign = self.constant(RegType::U64, 1 << 31);
        let flipped = self.op(Op::BitwiseXor, RegType::U64, &[wide, sign]);
        let value = self.op(Op::ISub, RegType::U64, &[flipped, sign]);
        if to == RegType::U64 { value } else { self.op(Op::Bitcast, to, &[value]) }
    }
}

/// The bits of those operands of an instruction that are constants.
fn constants(expr: &ScalarExpr, inst: &Inst) -> Vec<Option<u64>> {
    let made_by = |r: u32| (r as usize).checked_sub(expr.inputs().len()).and_then(|i| expr.insts().get(i));
    let constant = |i: &Inst| if let Opcode::Const(bits) = i.op { Some(bits) } else { None };
    inst.args.iter().map(|r| made_by(r.0).and_then(constant)).collect()
}

/// The function of GLSL.std.450, for those opcodes that are one.
fn extended(op: Opcode) -> Option<GlslStd450Op> {
    Some(match op {
        Opcode::Fma => GlslStd450Op::Fma,
        Opcode::FAbs => GlslStd450Op::FAbs,
        Opcode::Floor => GlslStd450Op::Floor,
        Opcode::Ceil => GlslStd450Op::Ceil,
        Opcode::Trunc => GlslStd450Op::Trunc,
        Opcode::RoundEven => GlslStd450Op::RoundEven,
        Opcode::Sqrt => GlslStd450Op::Sqrt,
        Opcode::InverseSqrt => GlslStd450Op::InverseSqrt,
        _ => return None,
    })
}

/// The core instruction of an opcode whose first operand has type `source`.
fn plain(op: Opcode, source: RegType) -> Op {
    match op {
        Opcode::FAdd | Opcode::PreciseAdd => Op::FAdd,
        Opcode::FSub | Opcode::PreciseSub => Op::FSub,
        Opcode::FMul | Opcode::PreciseMul => Op::FMul,
        Opcode::FDiv => Op::FDiv,
        Opcode::FNeg => Op::FNegate,
        Opcode::IAdd => Op::IAdd,
        Opcode::ISub => Op::ISub,
        Opcode::IMul => Op::IMul,
        Opcode::Shl => Op::ShiftLeftLogical,
        Opcode::Select => Op::Select,
        Opcode::Bitcast => Op::Bitcast,
        Opcode::IDiv | Opcode::And | Opcode::Or | Opcode::Xor | Opcode::Not | Opcode::Shr => {
            of_kind(source, on_integers(op))
        }
        Opcode::Eq | Opcode::Ne | Opcode::Lt | Opcode::Le | Opcode::Gt | Opcode::Ge => {
            of_kind(source, comparison(op))
        }
        // Handled before; a well-typed expression reaches none of these, nor a `Nop` of another function.
        Opcode::Const(_)
        | Opcode::UMulHi
        | Opcode::Convert
        | Opcode::Fma
        | Opcode::FAbs
        | Opcode::Floor
        | Opcode::Ceil
        | Opcode::Trunc
        | Opcode::RoundEven
        | Opcode::Sqrt
        | Opcode::InverseSqrt => Op::Nop,
    }
}

/// The instruction for operands of that type, of those for floats, signed integers, unsigned ones and Bools.
fn of_kind(source: RegType, [float, signed, unsigned, boolean]: [Op; 4]) -> Op {
    match source {
        RegType::F32 => float,
        RegType::I32 | RegType::I64 => signed,
        RegType::U32 | RegType::U64 => unsigned,
        RegType::Bool => boolean,
    }
}

/// By kind of the operands, what has none for floats.
fn on_integers(op: Opcode) -> [Op; 4] {
    match op {
        Opcode::IDiv => [Op::Nop, Op::SDiv, Op::UDiv, Op::Nop],
        Opcode::And => [Op::Nop, Op::BitwiseAnd, Op::BitwiseAnd, Op::LogicalAnd],
        Opcode::Or => [Op::Nop, Op::BitwiseOr, Op::BitwiseOr, Op::LogicalOr],
        Opcode::Xor => [Op::Nop, Op::BitwiseXor, Op::BitwiseXor, Op::LogicalNotEqual],
        Opcode::Not => [Op::Nop, Op::Not, Op::Not, Op::LogicalNot],
        Opcode::Shr => [Op::Nop, Op::ShiftRightArithmetic, Op::ShiftRightLogical, Op::Nop],
        _ => [Op::Nop; 4],
    }
}

/// By kind of the operands, what compares them.
fn comparison(op: Opcode) -> [Op; 4] {
    match op {
        Opcode::Eq => [Op::FOrdEqual, Op::IEqual, Op::IEqual, Op::LogicalEqual],
        Opcode::Ne => [Op::FUnordNotEqual, Op::INotEqual, Op::INotEqual, Op::LogicalNotEqual],
        Opcode::Lt => [Op::FOrdLessThan, Op::SLessThan, Op::ULessThan, Op::Nop],
        Opcode::Le => [Op::FOrdLessThanEqual, Op::SLessThanEqual, Op::ULessThanEqual, Op::Nop],
        Opcode::Gt => [Op::FOrdGreaterThan, Op::SGreaterThan, Op::UGreaterThan, Op::Nop],
        Opcode::Ge => [Op::FOrdGreaterThanEqual, Op::SGreaterThanEqual, Op::UGreaterThanEqual, Op::Nop],
        _ => [Op::Nop; 4],
    }
}
