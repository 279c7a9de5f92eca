//! Codes: integers and floats of eight bits and fewer that only params are, beside scales of their own.
//!
//! In: bytes. Out: what each code stands for. Codes of four bits lie two in a byte, element 2i in the low half; a last
//! byte is filled with 0 (OPS 1.2).

use half::f16;

/// A type of codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// 4-bit two's complement.
    I4,
    /// 4-bit unsigned.
    U4,
    /// Sign, 4 bits of exponent, 3 of mantissa: at most 448, no infinity, NaN is S.1111.111.
    F8E4M3Fn,
    /// The upper half of an f16: at most 57,344, with infinities and NaN.
    F8E5M2,
    /// A power of two, 2^(e − 127); 255 is NaN. What scales are.
    F8E8M0,
    /// ±{0, 0.5, 1, 1.5, 2, 3, 4, 6}.
    F4E2M1,
}

impl Code {
    /// Every type, in declaration order.
    pub const ALL: [Code; 6] = [Code::I4, Code::U4, Code::F8E4M3Fn, Code::F8E5M2, Code::F8E8M0, Code::F4E2M1];

    /// The name used in `.ir` text and in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Code::I4 => "i4",
            Code::U4 => "u4",
            Code::F8E4M3Fn => "f8e4m3fn",
            Code::F8E5M2 => "f8e5m2",
            Code::F8E8M0 => "f8e8m0",
            Code::F4E2M1 => "f4e2m1",
        }
    }

    /// Bits of a code.
    pub const fn bits(self) -> u32 {
        match self {
            Code::I4 | Code::U4 | Code::F4E2M1 => 4,
            Code::F8E4M3Fn | Code::F8E5M2 | Code::F8E8M0 => 8,
        }
    }

    /// Whether codes are integers.
    pub const fn is_int(self) -> bool {
        matches!(self, Code::I4 | Code::U4)
    }

    /// What a code stands for, exactly.
    pub fn value(self, code: u8) -> f32 {
        let sign = |bit: u8, size: f32| if code & bit != 0 { -size } else { size };
        match self {
            Code::I4 => f32::from((code << 4) as i8 >> 4),
            Code::U4 => f32::from(code & 15),
            Code::F8E4M3Fn => sign(0x80, f8e4m3fn(code & 0x7f)),
            Code::F8E5M2 => f16::from_bits(u16::from(code) << 8).to_f32(),
            Code::F8E8M0 => match code {
                0 => f32::from_bits(0x0040_0000),
                255 => f32::NAN,
                e => f32::from_bits(u32::from(e) << 23),
            },
            Code::F4E2M1 => sign(8, [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0][usize::from(code & 7)]),
        }
    }

    /// The values of the codes of some bytes; of four bits two a byte.
    pub fn decode(self, bytes: &[u8]) -> Vec<f32> {
        match self.bits() {
            4 => bytes.iter().flat_map(|&b| [self.value(b & 15), self.value(b >> 4)]).collect(),
            _ => bytes.iter().map(|&b| self.value(b)).collect(),
        }
    }
}

/// The value of seven bits without the sign.
fn f8e4m3fn(bits: u8) -> f32 {
    let (exponent, mantissa) = (i32::from(bits >> 3), f32::from(bits & 7));
    match exponent {
        _ if bits == 0x7f => f32::NAN,
        0 => mantissa / 512.0,
        e => (1.0 + mantissa / 8.0) * 2f32.powi(e - 7),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_stand_for_what_the_formats_say() {
        let all = |code: Code| (0..=255u8).map(move |b| code.value(b));
        assert_eq!(Code::I4.decode(&[0x7f, 0x80]), [-1.0, 7.0, 0.0, -8.0]);
        assert_eq!(Code::U4.decode(&[0x7f]), [15.0, 7.0]);
        assert_eq!(Code::F4E2M1.decode(&[0x7f, 0x98]), [-6.0, 6.0, -0.0, -0.5]);
        assert!(Code::F4E2M1.value(8).is_sign_negative());
        let largest = |code| all(code).filter(|v| v.is_finite()).fold(0f32, f32::max);
        assert_eq!(largest(Code::F8E4M3Fn), 448.0);
        assert_eq!(largest(Code::F8E5M2), 57_344.0);
        assert_eq!(all(Code::F8E4M3Fn).filter(|v| v.is_nan()).count(), 2);
        assert_eq!(all(Code::F8E5M2).filter(|v| v.is_infinite()).count(), 2);
        assert_eq!(Code::F8E4M3Fn.value(0x01), 2f32.powi(-9));
        assert_eq!(Code::F8E4M3Fn.value(0x88), -2f32.powi(-6));
        assert_eq!(Code::F8E5M2.value(0x01), 2f32.powi(-16));
        assert_eq!(Code::F8E8M0.value(0), 2f32.powi(-127));
        assert_eq!(Code::F8E8M0.value(130), 8.0);
        assert!(Code::F8E8M0.value(255).is_nan());
    }
}
