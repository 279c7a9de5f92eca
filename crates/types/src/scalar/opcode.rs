//! The instructions of scalar expressions: names, arities and typing rules.
//!
//! In: nothing but register types. Out: [`RegType`], [`Opcode`] and the one typing rule that builder, verifier
//! and code generation agree on. An instruction is here only if SPIR-V has it (GLSL.std.450 included); what can
//! be composed from others is composed in the builder and never becomes an opcode.

use crate::DType;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The type of a register. 8- and 16-bit integers live in 32-bit registers, F16 and BF16 values in F32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RegType {
    /// IEEE 754 binary32.
    F32,
    /// 32-bit two's complement.
    I32,
    /// 32-bit unsigned.
    U32,
    /// 64-bit two's complement.
    I64,
    /// 64-bit unsigned.
    U64,
    /// A predicate.
    Bool,
}

impl RegType {
    /// Every register type, in declaration order.
    pub const ALL: [RegType; 6] =
        [RegType::F32, RegType::I32, RegType::U32, RegType::I64, RegType::U64, RegType::Bool];

    /// The name used in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            RegType::F32 => "f32",
            RegType::I32 => "i32",
            RegType::U32 => "u32",
            RegType::I64 => "i64",
            RegType::U64 => "u64",
            RegType::Bool => "bool",
        }
    }

    /// Whether it is one of the four integer types.
    pub const fn is_int(self) -> bool {
        matches!(self, RegType::I32 | RegType::U32 | RegType::I64 | RegType::U64)
    }

    /// Whether values have a sign: F32, I32, I64.
    pub const fn is_signed(self) -> bool {
        matches!(self, RegType::F32 | RegType::I32 | RegType::I64)
    }

    /// Bits of a value; 1 for Bool.
    pub const fn bits(self) -> u32 {
        match self {
            RegType::F32 | RegType::I32 | RegType::U32 => 32,
            RegType::I64 | RegType::U64 => 64,
            RegType::Bool => 1,
        }
    }
}

impl From<DType> for RegType {
    /// The register that holds an element of that dtype.
    fn from(dtype: DType) -> RegType {
        match dtype {
            DType::F32 | DType::F16 | DType::BF16 => RegType::F32,
            DType::I8 | DType::I16 | DType::I32 => RegType::I32,
            DType::U8 | DType::U16 | DType::U32 => RegType::U32,
            DType::I64 => RegType::I64,
            DType::U64 => RegType::U64,
            DType::Bool => RegType::Bool,
        }
    }
}

impl fmt::Display for RegType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What an instruction does. Operands are registers; the result has the instruction's type.
///
/// The three `Precise*` instructions and the plain ones differ in one thing: a device may neither contract nor
/// rearrange a precise one (SPIR-V `NoContraction`), so error-free transformations are built from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Opcode {
    /// A constant; the payload is the value's bits, zero-extended.
    Const(u64),
    /// a + b.
    FAdd,
    /// a − b.
    FSub,
    /// a · b.
    FMul,
    /// a / b; within 2.5 ULP only for 2⁻¹²⁶ ≤ |b| ≤ 2¹²⁶.
    FDiv,
    /// a · b + c with one or two roundings, as the device likes.
    Fma,
    /// a + b, never contracted or rearranged.
    PreciseAdd,
    /// a − b, never contracted or rearranged.
    PreciseSub,
    /// a · b, never contracted or rearranged.
    PreciseMul,
    /// −a: the sign bit flipped.
    FNeg,
    /// |a|: the sign bit cleared.
    FAbs,
    /// ⌊a⌋.
    Floor,
    /// ⌈a⌉.
    Ceil,
    /// Toward zero.
    Trunc,
    /// To nearest, halves to even.
    RoundEven,
    /// √a.
    Sqrt,
    /// 1/√a.
    InverseSqrt,
    /// a + b, wrapping.
    IAdd,
    /// a − b, wrapping.
    ISub,
    /// a · b, wrapping.
    IMul,
    /// a / b toward zero. The divisor must not be 0, nor −1 under the most negative dividend.
    IDiv,
    /// The upper 32 bits of the 64-bit product of two U32.
    UMulHi,
    /// Bitwise (integers) or logical (Bool) and.
    And,
    /// Bitwise or logical or.
    Or,
    /// Bitwise or logical exclusive or.
    Xor,
    /// Bitwise or logical not.
    Not,
    /// a << b; b is U32 and below the width of a.
    Shl,
    /// a >> b, arithmetic for signed types; b is U32 and below the width of a.
    Shr,
    /// a = b; false if either is NaN.
    Eq,
    /// a ≠ b; true if either is NaN.
    Ne,
    /// a < b; false if either is NaN.
    Lt,
    /// a ≤ b; false if either is NaN.
    Le,
    /// a > b; false if either is NaN.
    Gt,
    /// a ≥ b; false if either is NaN.
    Ge,
    /// c ? a : b, with c a Bool. The operand not chosen has no influence.
    Select,
    /// Between numeric types. Float to integer truncates and must be in range; integer to float rounds to
    /// nearest even; a wider integer is made by the *source's* signedness; a narrower one keeps the low bits.
    Convert,
    /// The same bits as another numeric type of the same width.
    Bitcast,
}

impl Opcode {
    /// How many operands it takes.
    pub const fn arity(self) -> usize {
        match self {
            Opcode::Const(_) => 0,
            Opcode::FNeg
            | Opcode::FAbs
            | Opcode::Floor
            | Opcode::Ceil
            | Opcode::Trunc
            | Opcode::RoundEven
            | Opcode::Sqrt
            | Opcode::InverseSqrt
            | Opcode::Not
            | Opcode::Convert
            | Opcode::Bitcast => 1,
            Opcode::Fma | Opcode::Select => 3,
            _ => 2,
        }
    }

    /// Whether exchanging the first two operands changes nothing.
    pub const fn commutes(self) -> bool {
        matches!(
            self,
            Opcode::FAdd
                | Opcode::FMul
                | Opcode::Fma
                | Opcode::PreciseAdd
                | Opcode::PreciseMul
                | Opcode::IAdd
                | Opcode::IMul
                | Opcode::UMulHi
                | Opcode::And
                | Opcode::Or
                | Opcode::Xor
                | Opcode::Eq
                | Opcode::Ne
        )
    }

    /// The name used in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Opcode::Const(_) => "const",
            Opcode::FAdd => "fadd",
            Opcode::FSub => "fsub",
            Opcode::FMul => "fmul",
            Opcode::FDiv => "fdiv",
            Opcode::Fma => "fma",
            Opcode::PreciseAdd => "fadd.precise",
            Opcode::PreciseSub => "fsub.precise",
            Opcode::PreciseMul => "fmul.precise",
            Opcode::FNeg => "fneg",
            Opcode::FAbs => "fabs",
            Opcode::Floor => "floor",
            Opcode::Ceil => "ceil",
            Opcode::Trunc => "trunc",
            Opcode::RoundEven => "round_even",
            Opcode::Sqrt => "sqrt",
            Opcode::InverseSqrt => "inverse_sqrt",
            Opcode::IAdd => "iadd",
            Opcode::ISub => "isub",
            Opcode::IMul => "imul",
            Opcode::IDiv => "idiv",
            Opcode::UMulHi => "umul_hi",
            Opcode::And => "and",
            Opcode::Or => "or",
            Opcode::Xor => "xor",
            Opcode::Not => "not",
            Opcode::Shl => "shl",
            Opcode::Shr => "shr",
            Opcode::Eq => "eq",
            Opcode::Ne => "ne",
            Opcode::Lt => "lt",
            Opcode::Le => "le",
            Opcode::Gt => "gt",
            Opcode::Ge => "ge",
            Opcode::Select => "select",
            Opcode::Convert => "convert",
            Opcode::Bitcast => "bitcast",
        }
    }

    /// The typing rule: whether this instruction may have a result of type `result` from operands of `args`.
    pub fn accepts(self, result: RegType, args: &[RegType]) -> bool {
        use RegType::{Bool, F32, U32};
        if args.len() != self.arity() {
            return false;
        }
        let all_are_result = || args.iter().all(|&a| a == result);
        match self.typing() {
            Typing::Constant(bits) => match result.bits() {
                64 => true,
                width => bits >> width == 0,
            },
            Typing::Floats => result == F32 && all_are_result(),
            Typing::Ints => result.is_int() && all_are_result(),
            Typing::Words => result == U32 && all_are_result(),
            Typing::Bits => result != F32 && all_are_result(),
            Typing::Shift => result.is_int() && args == [result, U32],
            Typing::Equality => result == Bool && args[0] == args[1],
            Typing::Order => result == Bool && args[0] == args[1] && args[0] != Bool,
            Typing::Select => args == [Bool, result, result],
            Typing::Convert => result != Bool && args[0] != Bool && convertible(args[0], result),
            Typing::Bitcast => result != Bool && args[0] != result && args[0].bits() == result.bits(),
        }
    }

    const fn typing(self) -> Typing {
        match self {
            Opcode::Const(bits) => Typing::Constant(bits),
            Opcode::FAdd
            | Opcode::FSub
            | Opcode::FMul
            | Opcode::FDiv
            | Opcode::Fma
            | Opcode::PreciseAdd
            | Opcode::PreciseSub
            | Opcode::PreciseMul
            | Opcode::FNeg
            | Opcode::FAbs
            | Opcode::Floor
            | Opcode::Ceil
            | Opcode::Trunc
            | Opcode::RoundEven
            | Opcode::Sqrt
            | Opcode::InverseSqrt => Typing::Floats,
            Opcode::IAdd | Opcode::ISub | Opcode::IMul | Opcode::IDiv => Typing::Ints,
            Opcode::UMulHi => Typing::Words,
            Opcode::And | Opcode::Or | Opcode::Xor | Opcode::Not => Typing::Bits,
            Opcode::Shl | Opcode::Shr => Typing::Shift,
            Opcode::Eq | Opcode::Ne => Typing::Equality,
            Opcode::Lt | Opcode::Le | Opcode::Gt | Opcode::Ge => Typing::Order,
            Opcode::Select => Typing::Select,
            Opcode::Convert => Typing::Convert,
            Opcode::Bitcast => Typing::Bitcast,
        }
    }
}

/// Instructions that have one typing rule.
enum Typing {
    /// Any type that holds the bits.
    Constant(u64),
    /// F32 from F32.
    Floats,
    /// An integer from integers of its type.
    Ints,
    /// U32 from U32.
    Words,
    /// Integers or Bool from the same.
    Bits,
    /// An integer from itself and a U32.
    Shift,
    /// Bool from two of one type.
    Equality,
    /// Bool from two numbers of one type.
    Order,
    /// One of two, by a Bool.
    Select,
    /// A number of another kind or width.
    Convert,
    /// A number of another type of the same width.
    Bitcast,
}

/// Conversions change a value's kind or width; a change of sign alone is a `Bitcast`.
fn convertible(from: RegType, to: RegType) -> bool {
    match (from, to) {
        (RegType::F32, t) | (t, RegType::F32) => t != RegType::F32,
        (f, t) => f.bits() != t.bits(),
    }
}
