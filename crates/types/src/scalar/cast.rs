//! Conversions between register types and between dtypes (OPS 3.1 `Cast`).
//!
//! In: a register and the type wanted. Out: a register of that type. Every conversion is defined for every
//! input: devices leave float to integer out of range open, so it is clamped here.

use super::builder::{Reg, ScalarBuilder};
use super::opcode::{Opcode, RegType};
use super::tangent::Function;
use crate::DType;

/// Between floats and integers: an integer ends the way of a tangent.
const CONVERT_RULE: Function = Function::step("convert");

/// Between floats the tangent stays as it is: rounding is a step nobody differentiates.
pub(super) const CAST_RULE: Function = Function::any("cast", |_, p| match p.result.ty() {
    RegType::F32 => p.tangent(0),
    _ => None,
});

impl ScalarBuilder {
    /// x as register type `to`: float to integer truncates and saturates, NaN gives 0; integer to integer keeps
    /// the low bits (extending by the source's sign); to Bool is x ≠ 0 (NaN true); Bool gives 0 or 1.
    pub fn convert(&self, x: Reg, to: RegType) -> Reg {
        self.noted(&CONVERT_RULE, &[x], || {
            let from = x.ty();
            match (from, to) {
                _ if from == to => x,
                (RegType::Bool, _) => self.select(x, self.number(to, 1), self.number(to, 0)),
                (_, RegType::Bool) => self.ne(x, self.number(from, 0)),
                (RegType::F32, _) => self.saturate(x, to),
                (_, RegType::F32) => self.convert_raw(x, to),
                _ if from.bits() == to.bits() => self.bitcast(x, to),
                _ => self.convert_raw(x, to),
            }
        })
    }

    /// The device's conversion; float operands must be in range (anything otherwise).
    pub(super) fn convert_raw(&self, x: Reg, to: RegType) -> Reg {
        self.emit(Opcode::Convert, to, &[x])
    }

    fn saturate(&self, x: Reg, to: RegType) -> Reg {
        let (min, max, below, above) = match to {
            RegType::I32 => (self.i32(i32::MIN), self.i32(i32::MAX), -(2f32.powi(31)), 2f32.powi(31)),
            RegType::U32 => (self.u32(0), self.u32(u32::MAX), 0.0, 2f32.powi(32)),
            RegType::I64 => (self.i64(i64::MIN), self.i64(i64::MAX), -(2f32.powi(63)), 2f32.powi(63)),
            _ => (self.u64(0), self.u64(u64::MAX), 0.0, 2f32.powi(64)),
        };
        let too_high = self.ge(x, self.f32(above));
        let too_low = self.le(x, self.f32(below));
        let outside = self.or(self.or(too_high, too_low), self.is_nan(x));
        let zero = self.number(to, 0);
        let inside = self.convert_raw(self.select(outside, self.f32(0.0), x), to);
        let nan_or_inside = self.select(self.is_nan(x), zero, inside);
        self.select(too_high, max, self.select(too_low, min, nan_or_inside))
    }

    /// `Cast` from one dtype to another: the register of `from` becomes the register of `to`, holding a value
    /// that `to` can hold. A register whose type is not that of `from` is an error.
    pub fn cast(&self, x: Reg, from: DType, to: DType) -> Reg {
        self.noted(&CAST_RULE, &[x], || {
            if x.ty() != RegType::from(from) {
                return self.mistyped("cast", &[x]);
            }
            match (from.is_float(), narrow_int(to)) {
                // Saturate to the narrow type's own range before the low bits are taken.
                (true, Some((lo, hi))) => {
                    let (lo, hi) = (self.f32(lo), self.f32(hi));
                    let clamped = self.select(self.gt(x, hi), hi, self.select(self.lt(x, lo), lo, x));
                    self.convert(clamped, RegType::from(to))
                }
                _ if widens(from, to) => self.convert(x, RegType::from(to)),
                // f32 on the way must not move a wide integer onto a tie of bf16.
                _ if to == DType::BF16 => self.round_bf16(self.convert(self.sticky(x), RegType::F32)),
                _ => self.narrow(self.convert(x, RegType::from(to)), to),
            }
        })
    }

    /// An integer whose low bits are replaced by one bit that says whether any was set, so that it is exact in
    /// f32 and still rounds to the same bf16. With its top bit at t, the c lowest bits may go for
    /// t − 24 < c < t − 8. Floats and small integers are returned as they are.
    fn sticky(&self, x: Reg) -> Reg {
        let ty = x.ty();
        if !ty.is_int() {
            return x;
        }
        let magnitude = self.bitcast(self.abs(x), if ty.bits() == 64 { RegType::U64 } else { RegType::U32 });
        let steps: &[(u32, u32)] =
            if ty.bits() == 64 { &[(24, 8), (32, 20), (44, 32), (56, 44)] } else { &[(24, 8)] };
        steps.iter().fold(x, |result, &(top, c)| {
            let reached = self.ge(magnitude, self.number(magnitude.ty(), 1 << top));
            let unit = self.number(ty, 1 << c);
            let lost = self.ne(self.and(x, self.number(ty, (1 << c) - 1)), self.number(ty, 0));
            let kept = self.and(x, self.number(ty, -(1 << c)));
            let mark = self.select(lost, unit, self.number(ty, 0));
            self.select(reached, self.or(kept, mark), result)
        })
    }

    /// The value of x as dtype `dtype` can hold it, in the same register type: F16 and BF16 round to nearest
    /// even, 8- and 16-bit integers wrap, everything else is unchanged. The last step of an op on such a dtype.
    pub fn narrow(&self, x: Reg, dtype: DType) -> Reg {
        self.noted(&CAST_RULE, &[x], || {
            if x.ty() != RegType::from(dtype) {
                return self.mistyped("narrow", &[x]);
            }
            match dtype {
                DType::F16 => self.round_f16(x),
                DType::BF16 => self.round_bf16(x),
                DType::I8 | DType::I16 => {
                    let unused = self.u32(32 - dtype.bits());
                    self.shr(self.shl(x, unused), unused)
                }
                DType::U8 | DType::U16 => self.and(x, self.u32((1 << dtype.bits()) - 1)),
                _ => x,
            }
        })
    }
}

/// The bounds of an 8- or 16-bit integer type, exact in f32.
fn narrow_int(dtype: DType) -> Option<(f32, f32)> {
    match dtype {
        DType::I8 => Some((-128.0, 127.0)),
        DType::U8 => Some((0.0, 255.0)),
        DType::I16 => Some((-32768.0, 32767.0)),
        DType::U16 => Some((0.0, 65535.0)),
        _ => None,
    }
}

/// Whether every value of `from` is a value of `to`, so that nothing is left to narrow.
fn widens(from: DType, to: DType) -> bool {
    let small_int = from.is_int() && from.bits() <= 8;
    match to {
        DType::F16 => from == DType::Bool || small_int,
        DType::BF16 => from == DType::Bool || small_int,
        DType::I8 | DType::U8 => from == DType::Bool,
        DType::I16 => from == DType::Bool || small_int,
        DType::U16 => from == DType::Bool || from == DType::U8,
        _ => true,
    }
}
