//! The values that bytes of an encoding stand for: slow and obvious, one function a scheme, in f32 arithmetic in the
//! order that OPS 3.4.2 writes, so that every bit agrees with the public gguf package.

use super::{Encoding, Scheme};
use crate::dtype::DType;
use half::{bf16, f16};

impl Encoding {
    /// The values of whole elements or blocks, as f32; a part of one at the end is left out, and what fills a last byte
    /// of codes is taken as one. `None` for Bool and wide integers, whose values f32 does not hold.
    pub fn decode(self, bytes: &[u8]) -> Option<Vec<f32>> {
        let two = |c: &[u8]| u16::from_le_bytes([c[0], c[1]]);
        match self {
            Encoding::Plain(DType::F32) => {
                Some(bytes.chunks_exact(4).map(|c| f32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect())
            }
            Encoding::Plain(DType::F16) => {
                Some(bytes.chunks_exact(2).map(|c| f16::from_bits(two(c)).to_f32()).collect())
            }
            Encoding::Plain(DType::BF16) => {
                Some(bytes.chunks_exact(2).map(|c| bf16::from_bits(two(c)).to_f32()).collect())
            }
            Encoding::Plain(dtype) => integers(dtype, bytes),
            Encoding::Codes(code) => Some(code.decode(bytes)),
            Encoding::Blocks(scheme) => {
                let blocks = bytes.chunks_exact(scheme.bytes() as usize);
                let mut out = Vec::with_capacity(blocks.len() * scheme.elements() as usize);
                blocks.for_each(|block| {
                    let block = Block::of(scheme, block);
                    out.extend((0..scheme.elements() as usize).map(|i| block.value(scheme, i)));
                });
                Some(out)
            }
        }
    }
}

/// Integers of 8 bits, and signed ones of 16.
fn integers(dtype: DType, bytes: &[u8]) -> Option<Vec<f32>> {
    match dtype {
        DType::I8 => Some(bytes.iter().map(|&b| f32::from(b as i8)).collect()),
        DType::U8 => Some(bytes.iter().map(|&b| f32::from(b)).collect()),
        DType::I16 => {
            Some(bytes.chunks_exact(2).map(|c| f32::from(i16::from_le_bytes([c[0], c[1]]))).collect())
        }
        _ => None,
    }
}

/// The fields of one block of [`Scheme::bytes`] bytes. Those that the scheme lacks are empty, or 0.
struct Block<'b> {
    /// Codes, or their low bits.
    qs: &'b [u8],
    /// High bits of codes.
    qh: &'b [u8],
    /// Scales of sub-blocks, or their low bits.
    sc: &'b [u8],
    /// High bits of the scales of sub-blocks.
    sh: &'b [u8],
    /// Scales of a byte.
    e: &'b [u8],
    /// The scale.
    d: f32,
    /// What is added.
    m: f32,
    /// The scale of the minimums of sub-blocks.
    dmin: f32,
}

impl<'b> Block<'b> {
    fn of(scheme: Scheme, block: &'b [u8]) -> Block<'b> {
        let field = |name: &str| {
            scheme.field(name).map_or(&[][..], |f| &block[f.at as usize..(f.at + f.bytes) as usize])
        };
        let half = |name: &str| match field(name) {
            [low, high] => f16::from_le_bytes([*low, *high]).to_f32(),
            _ => 0.0,
        };
        let [qs, qh, sc, sh, e] = ["qs", "qh", "sc", "sh", "e"].map(field);
        Block { qs, qh, sc, sh, e, d: half("d"), m: half("m"), dmin: half("dmin") }
    }

    /// The value of element i.
    fn value(&self, scheme: Scheme, i: usize) -> f32 {
        match scheme {
            Scheme::Q4_0 => self.d * (i32::from(nibble(self.qs, i)) - 8) as f32,
            Scheme::Q4_1 => self.d * f32::from(nibble(self.qs, i)) + self.m,
            Scheme::Q5_0 => self.d * (i32::from(self.five_bits(i)) - 16) as f32,
            Scheme::Q5_1 => self.d * f32::from(self.five_bits(i)) + self.m,
            Scheme::Q8_0 => self.d * f32::from(self.qs[i] as i8),
            Scheme::Q2_K => self.q2_k(i),
            Scheme::Q3_K => self.q3_k(i),
            Scheme::Q4_K | Scheme::Q5_K => self.q4_k_or_q5_k(i),
            Scheme::Q6_K => self.q6_k(i),
            Scheme::IQ4_NL => self.d * f32::from(IQ4_VALUES[usize::from(nibble(self.qs, i))]),
            Scheme::IQ4_XS => self.iq4_xs(i),
            Scheme::MXFP4 => half_of_e8m0(self.e[0]) * twice_e2m1(nibble(self.qs, i)),
            Scheme::NVFP4 => self.nvfp4(i),
        }
    }

    /// Code i of 32: a nibble and its fifth bit.
    fn five_bits(&self, i: usize) -> u8 {
        nibble(self.qs, i) | bit(self.qh, i) << 4
    }

    fn q2_k(&self, i: usize) -> f32 {
        let (q, sc) = (self.two_bits(i), self.sc[i / 16]);
        self.d * f32::from(sc & 15) * f32::from(q) - self.dmin * f32::from(sc >> 4)
    }

    fn q3_k(&self, i: usize) -> f32 {
        let sub = i / 16;
        let low = self.sc[sub % 8] >> (4 * (sub / 8)) & 15;
        let high = self.sc[8 + sub % 4] >> (2 * (sub / 4)) & 3;
        let scale = i32::from(low | high << 4) - 32;
        let q = i32::from(self.two_bits(i) | (self.qh[i % 32] >> (i / 32) & 1) << 2) - 4;
        self.d * scale as f32 * q as f32
    }

    /// Code i of 256: of each half, four times 32 pairs of bits of the same bytes.
    fn two_bits(&self, i: usize) -> u8 {
        self.qs[32 * (i / 128) + i % 32] >> (2 * (i / 32 % 4)) & 3
    }

    fn q4_k_or_q5_k(&self, i: usize) -> f32 {
        let (sub, l) = (i / 32, i % 32);
        let high = self.qh.get(l).map_or(0, |h| (h >> sub & 1) << 4);
        let q = self.qs[32 * (sub / 2) + l] >> (4 * (sub % 2)) & 15 | high;
        let (scale, minimum) = scale_and_minimum(self.sc, sub);
        self.d * f32::from(scale) * f32::from(q) - self.dmin * f32::from(minimum)
    }

    fn q6_k(&self, i: usize) -> f32 {
        let (h, l) = (i / 128, i % 128);
        let low = self.qs[64 * h + l % 64] >> (4 * (l / 64)) & 15;
        let high = self.qh[32 * h + l % 32] >> (2 * (l / 32)) & 3;
        let q = i32::from(low | high << 4) - 32;
        self.d * f32::from(self.sc[i / 16] as i8) * q as f32
    }

    fn iq4_xs(&self, i: usize) -> f32 {
        let (sub, l) = (i / 32, i % 32);
        let low = self.sc[sub / 2] >> (4 * (sub % 2)) & 15;
        let high = self.sh[sub / 4] >> (2 * (sub % 4)) & 3;
        let scale = i32::from(low | high << 4) - 32;
        let code = nibble(&self.qs[16 * sub..16 * sub + 16], l);
        self.d * scale as f32 * f32::from(IQ4_VALUES[usize::from(code)])
    }

    fn nvfp4(&self, i: usize) -> f32 {
        let sub = i / 16;
        let code = self.qs[8 * sub + i % 8] >> (4 * (i / 8 % 2)) & 15;
        half_of_ue4m3(self.e[sub]) * twice_e2m1(code)
    }
}

/// 2^(e − 128): half the scale that stands before f4e2m1 values, since those are held doubled. Exact, also below
/// 2^-126.
fn half_of_e8m0(e: u8) -> f32 {
    f32::from_bits(if e < 2 { 0x0020_0000 << e } else { u32::from(e - 1) << 23 })
}

/// Half of a scale of four bits of exponent and three of mantissa.
fn half_of_ue4m3(code: u8) -> f32 {
    let (exponent, mantissa) = (i32::from(code >> 3 & 15), f32::from(code & 7));
    match exponent {
        _ if code == 0x7f => 0.0,
        0 => mantissa * 2f32.powi(-10),
        _ => (1.0 + mantissa / 8.0) * 2f32.powi(exponent - 8),
    }
}

/// Twice the value of an f4e2m1 code; that of −0 is 0.
fn twice_e2m1(code: u8) -> f32 {
    const VALUES: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];
    f32::from(VALUES[usize::from(code)])
}

/// The values that the nibbles of IQ4_NL and IQ4_XS name.
const IQ4_VALUES: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// Code i of 32: low nibbles of the 16 bytes first, then high ones.
fn nibble(qs: &[u8], i: usize) -> u8 {
    qs[i % 16] >> (4 * (i / 16)) & 15
}

fn bit(bits: &[u8], i: usize) -> u8 {
    bits[i / 8] >> (i % 8) & 1
}

/// The 6-bit scale and minimum of a sub-block of a K block.
fn scale_and_minimum(b: &[u8], sub: usize) -> (u8, u8) {
    if sub < 4 {
        return (b[sub] & 63, b[sub + 4] & 63);
    }
    (b[sub + 4] & 15 | b[sub - 4] >> 6 << 4, b[sub + 4] >> 4 | b[sub] >> 6 << 4)
}
