//! Arithmetic with a literal zero, written in integers.
//!
//! Mesa's gallivm, the code generator of lavapipe, takes x·0 for 0, x + 0 for x, 0/x for 0 and x/0 for anything,
//! whatever float controls and `NoContraction` say (Mesa 22.3, 2026-11-22): NaN, infinities and the sign of zeros are
//! lost. On such a driver those instructions become what follows from the bits of the other operand. A negative literal
//! zero it leaves alone, but its own rewriting of x − y to x + (−y) makes a positive one of it.
//!
//! In: an instruction, and which operands are constants. Out: a register of the same value, or none where the device's
//! instruction is right. Nothing here rounds.

use super::lower::Code;
use pumice_types::scalar::{Inst, Opcode, RegType};
use rspirv::spirv::{Op, Word};

const SIGN: u64 = 0x8000_0000;
const INFINITY: u64 = 0x7f80_0000;
const NAN: u64 = 0x7fc0_0000;

/// The sign bit of a literal zero; none for what is no literal zero.
fn zero(constant: Option<u64>) -> Option<u64> {
    constant.filter(|bits| bits & !SIGN == 0)
}

impl Code<'_> {
    /// The value of an f32 instruction with a literal zero; `known` are the bits of its constant operands.
    pub(super) fn with_zero(&mut self, inst: &Inst, known: &[Option<u64>], args: &[Word]) -> Option<Word> {
        let literal = |i: usize| zero(known.get(i).copied().flatten());
        match inst.op {
            Opcode::FMul | Opcode::PreciseMul => self.product(literal(0), literal(1), args[0], args[1]),
            Opcode::FAdd | Opcode::PreciseAdd => self.sum([literal(0), literal(1)], args),
            Opcode::FSub | Opcode::PreciseSub => self.difference([literal(0), literal(1)], args),
            Opcode::FDiv => match (literal(0), literal(1)) {
                (_, Some(sign)) => Some(self.quotient(args[0], sign, INFINITY)),
                (Some(sign), _) => Some(self.quotient(args[1], sign, 0)),
                _ => None,
            },
            Opcode::Fma => self.multiply_add(known, args),
            _ => None,
        }
    }

    /// a + b where one is a literal +0.
    fn sum(&mut self, literals: [Option<u64>; 2], args: &[Word]) -> Option<Word> {
        match literals {
            [Some(0), _] => Some(self.plus_zero(args[1])),
            [_, Some(0)] => Some(self.plus_zero(args[0])),
            _ => None,
        }
    }

    /// a − b where a is a literal +0, or b −0.
    fn difference(&mut self, literals: [Option<u64>; 2], args: &[Word]) -> Option<Word> {
        match literals {
            [Some(0), _] => {
                let negated = self.op(Op::FNegate, RegType::F32, &args[1..]);
                Some(self.plus_zero(negated))
            }
            [_, Some(SIGN)] => Some(self.plus_zero(args[0])),
            _ => None,
        }
    }

    /// a·b + c where the product or c is a literal zero.
    fn multiply_add(&mut self, known: &[Option<u64>], args: &[Word]) -> Option<Word> {
        let float = |i: usize| known[i].map(|bits| f32::from_bits(bits as u32));
        let constant = float(0).zip(float(1)).map(|(a, b)| a * b);
        match (self.zero_product(constant, known, args), zero(known[2])) {
            (Some(product), Some(0)) => Some(self.plus_zero(product)),
            (Some(_), _) if constant.is_some_and(|p| p.is_sign_positive()) => Some(self.plus_zero(args[2])),
            (Some(product), _) => Some(self.op(Op::FAdd, RegType::F32, &[product, args[2]])),
            (None, Some(0)) => {
                let product = self.op(Op::FMul, RegType::F32, &args[..2]);
                Some(self.plus_zero(product))
            }
            (None, _) => None,
        }
    }

    /// a·b where it is a zero; `constant` is the product of two literals.
    fn zero_product(&mut self, constant: Option<f32>, known: &[Option<u64>], args: &[Word]) -> Option<Word> {
        match constant {
            // A device may flush it.
            Some(p) if p == 0.0 || p.is_subnormal() => {
                Some(self.constant(RegType::F32, u64::from((p * 0.0).to_bits())))
            }
            _ => self.product(zero(known[0]), zero(known[1]), args[0], args[1]),
        }
    }

    /// x·(±0): NaN for what is not finite, else a zero with both signs in it.
    fn product(&mut self, a: Option<u64>, b: Option<u64>, x: Word, y: Word) -> Option<Word> {
        let (sign, other) = a.map(|sign| (sign, y)).or(b.map(|sign| (sign, x)))?;
        let (magnitude, zero) = self.magnitude_and_zero(other, sign);
        let infinity = self.constant(RegType::U32, INFINITY);
        let odd = self.op(Op::UGreaterThanEqual, RegType::Bool, &[magnitude, infinity]);
        Some(self.nan_or(odd, zero))
    }

    /// x/(±0) with `finite` infinity, (±0)/x with `finite` 0: NaN where x is 0 or NaN, else `finite` with both signs.
    fn quotient(&mut self, x: Word, sign: u64, finite: u64) -> Word {
        let (magnitude, zero) = self.magnitude_and_zero(x, sign);
        let [none, infinity, finite] = [0, INFINITY, finite].map(|bits| self.constant(RegType::U32, bits));
        let is_zero = self.op(Op::IEqual, RegType::Bool, &[magnitude, none]);
        let is_nan = self.op(Op::UGreaterThan, RegType::Bool, &[magnitude, infinity]);
        let odd = self.op(Op::LogicalOr, RegType::Bool, &[is_zero, is_nan]);
        let value = self.op(Op::BitwiseOr, RegType::U32, &[zero, finite]);
        self.nan_or(odd, value)
    }

    /// x + 0: x, but +0 for −0.
    fn plus_zero(&mut self, x: Word) -> Word {
        let bits = self.op(Op::Bitcast, RegType::U32, &[x]);
        let [negative, none] = [SIGN, 0].map(|bits| self.constant(RegType::U32, bits));
        let is_negative_zero = self.op(Op::IEqual, RegType::Bool, &[bits, negative]);
        let sum = self.op(Op::Select, RegType::U32, &[is_negative_zero, none, bits]);
        self.op(Op::Bitcast, RegType::F32, &[sum])
    }

    /// The bits of |x|, and those of a zero with the sign of x times `sign`.
    fn magnitude_and_zero(&mut self, x: Word, sign: u64) -> (Word, Word) {
        let bits = self.op(Op::Bitcast, RegType::U32, &[x]);
        let [signs, rest, flip] = [SIGN, SIGN - 1, sign].map(|bits| self.constant(RegType::U32, bits));
        let magnitude = self.op(Op::BitwiseAnd, RegType::U32, &[bits, rest]);
        let own = self.op(Op::BitwiseAnd, RegType::U32, &[bits, signs]);
        (magnitude, self.op(Op::BitwiseXor, RegType::U32, &[own, flip]))
    }

    fn nan_or(&mut self, nan: Word, bits: Word) -> Word {
        let quiet = self.constant(RegType::U32, NAN);
        let bits = self.op(Op::Select, RegType::U32, &[nan, quiet, bits]);
        self.op(Op::Bitcast, RegType::F32, &[bits])
    }
}
