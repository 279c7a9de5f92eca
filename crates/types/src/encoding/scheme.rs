//! The table of block schemes: how many elements share a block, how many bytes that is, and where its fields lie.

use std::fmt;

/// What the bytes of a field are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// Codes or integers: any bits are ordinary.
    Bits,
    /// An f16 that scales or moves the block's values.
    F16,
    /// The exponent of a power of two that scales them: 2^(byte - 127). 255 is 2^128 and no NaN, as the gguf package
    /// has it.
    E8M0,
    /// Four bits of exponent (bias 7) above three of mantissa, that scale them. 0x7f is 0; the highest bit says
    /// nothing, so 0xff is 480.
    UE4M3,
}

impl FieldKind {
    /// Bytes of a number; 1 where there is none.
    pub const fn bytes(self) -> u64 {
        match self {
            FieldKind::Bits | FieldKind::E8M0 | FieldKind::UE4M3 => 1,
            FieldKind::F16 => 2,
        }
    }
}

/// A field of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// What it holds: `d` and `m` are f16 scale and minimum of the block, `qs` the low bits of the codes, `qh` their
    /// high bits, `sc` scales of sub-blocks, `e` scales of a byte.
    pub name: &'static str,
    /// What its bytes are.
    pub kind: FieldKind,
    /// Its first byte.
    pub at: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemeInfo {
    /// The name in `.ir` text and in messages.
    pub name: &'static str,
    /// Elements of a block, neighbours along the last axis.
    pub elements: u64,
    /// The fields, without gaps, in the order of their bytes.
    pub fields: &'static [Field],
    /// The number by which kernels know it: pumice's own, below 2^16, never given to another scheme.
    pub id: u32,
    /// The number of the type in GGUF files (`ggml_type`); `None` where they have no such type.
    pub gguf: Option<u32>,
}

/// Declares the schemes: variant, name, id, elements, number in GGUF files, if any, and fields: kind, and how many.
macro_rules! schemes {
    ($($(#[doc = $doc:literal])+ $Name:ident = $name:literal, id $id:literal, $elements:literal elements,
        $(gguf $gguf:literal)?: $($field:ident $kind:ident $count:literal)*;)*) => {
        /// How a block of elements shares bytes, as the public gguf package decodes it (OPS 3.4.2). Blocks lie along
        /// the last axis, little-endian; f32 arithmetic in the order written.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(non_camel_case_types)]
        pub enum Scheme { $($(#[doc = $doc])+ $Name),* }

        impl Scheme {
            /// Every scheme, in declaration order.
            pub const ALL: [Scheme; [$($id),*].len()] = [$(Scheme::$Name),*];

            /// Its row of the table.
            pub const fn info(self) -> &'static SchemeInfo {
                match self {
                    $(Scheme::$Name => {
                        const COUNTS: &[(&str, FieldKind, u64)] =
                            &[$((stringify!($field), FieldKind::$kind, $count)),*];
                        const FIELDS: [Field; COUNTS.len()] = fields(COUNTS);
                        const GGUF: &[u32] = &[$($gguf)?];
                        const INFO: SchemeInfo = SchemeInfo {
                            name: $name,
                            elements: $elements,
                            fields: &FIELDS,
                            id: $id,
                            gguf: if GGUF.is_empty() { None } else { Some(GGUF[0]) },
                        };
                        &INFO
                    })*
                }
            }
        }
    };
}

schemes! {
    /// d · (nib − 8): element i < 16 is the low nibble of byte i of `qs`, the others the high nibble of byte i − 16.
    Q4_0 = "q4_0", id 2, 32 elements, gguf 2: d F16 1 qs Bits 16;
    /// d · nib + m, nibbles as in Q4_0.
    Q4_1 = "q4_1", id 3, 32 elements, gguf 3: d F16 1 m F16 1 qs Bits 16;
    /// d · (q − 16), q the nibble with bit i of `qh` above it.
    Q5_0 = "q5_0", id 6, 32 elements, gguf 6: d F16 1 qh Bits 4 qs Bits 16;
    /// d · q + m, q as in Q5_0.
    Q5_1 = "q5_1", id 7, 32 elements, gguf 7: d F16 1 m F16 1 qh Bits 4 qs Bits 16;
    /// d · q, q a signed byte.
    Q8_0 = "q8_0", id 8, 32 elements, gguf 8: d F16 1 qs Bits 32;
    /// d · sc · q − dmin · mn, q of 2 bits, with a byte for each 16 elements: sc in its low nibble, mn in its high one.
    Q2_K = "q2_k", id 10, 256 elements, gguf 10: sc Bits 16 qs Bits 64 d F16 1 dmin F16 1;
    /// d · (sc − 32) · (q − 4), q two bits with the one in `qh` above them, and a 6-bit scale for each 16 elements: low
    /// nibbles in eight bytes of `sc`, high pairs of bits in the four after them.
    Q3_K = "q3_k", id 11, 256 elements, gguf 11: qh Bits 32 qs Bits 64 sc Bits 12 d F16 1;
    /// d · sc · q − dmin · mn with 6-bit scales and minima for each 32 elements; q a nibble.
    Q4_K = "q4_k", id 12, 256 elements, gguf 12: d F16 1 dmin F16 1 sc Bits 12 qs Bits 128;
    /// As Q4_K with a fifth bit of each code in `qh`.
    Q5_K = "q5_k", id 13, 256 elements, gguf 13: d F16 1 dmin F16 1 sc Bits 12 qh Bits 32 qs Bits 128;
    /// d · sc · (q − 32), q of 6 bits, with a signed scale for each 16 elements.
    Q6_K = "q6_k", id 14, 256 elements, gguf 14: qs Bits 128 qh Bits 64 sc Bits 16 d F16 1;
    /// d · value of the nibble: sixteen values, denser near 0; nibbles as in Q4_0.
    IQ4_NL = "iq4_nl", id 20, 32 elements, gguf 20: d F16 1 qs Bits 16;
    /// d · (sc − 32) · value of the nibble, values as in IQ4_NL, with a 6-bit scale for each 32 elements: its low four
    /// bits in `sc`, its high two in `sh`.
    IQ4_XS = "iq4_xs", id 23, 256 elements, gguf 23: d F16 1 sh Bits 2 sc Bits 4 qs Bits 128;
    /// 2^(e − 127) · value of the nibble: the eight values of f4e2m1 with a sign; nibbles as in Q4_0.
    MXFP4 = "mxfp4", id 39, 32 elements, gguf 39: e E8M0 1 qs Bits 16;
    /// e · value of the nibble as in MXFP4, with a scale for each 16 elements, whose nibbles are eight bytes: low ones
    /// first.
    NVFP4 = "nvfp4", id 40, 64 elements, gguf 40: e UE4M3 4 qs Bits 32;
}

/// Fields one after the other.
const fn fields<const N: usize>(counts: &[(&'static str, FieldKind, u64)]) -> [Field; N] {
    let mut out = [Field { name: "", kind: FieldKind::Bits, at: 0, bytes: 0 }; N];
    let (mut i, mut at) = (0, 0);
    while i < N {
        let (name, kind, count) = counts[i];
        out[i] = Field { name, kind, at, bytes: kind.bytes() * count };
        at += out[i].bytes;
        i += 1;
    }
    out
}

impl Scheme {
    /// Elements of a block.
    pub const fn elements(self) -> u64 {
        self.info().elements
    }

    /// Bytes of a block.
    pub const fn bytes(self) -> u64 {
        let fields = self.info().fields;
        let last = fields[fields.len() - 1];
        last.at + last.bytes
    }

    /// A field of the block; `None` where the scheme has none of that name.
    pub fn field(self, name: &str) -> Option<Field> {
        self.info().fields.iter().copied().find(|f| f.name == name)
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.info().name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes as OPS 3.4.2 and the public gguf package have them.
    #[test]
    fn sizes() {
        let sizes: Vec<(&str, u64, u64)> =
            Scheme::ALL.iter().map(|s| (s.info().name, s.elements(), s.bytes())).collect();
        let expected = [
            ("q4_0", 32, 18),
            ("q4_1", 32, 20),
            ("q5_0", 32, 22),
            ("q5_1", 32, 24),
            ("q8_0", 32, 34),
            ("q2_k", 256, 84),
            ("q3_k", 256, 110),
            ("q4_k", 256, 144),
            ("q5_k", 256, 176),
            ("q6_k", 256, 210),
            ("iq4_nl", 32, 18),
            ("iq4_xs", 256, 136),
            ("mxfp4", 32, 17),
            ("nvfp4", 64, 36),
        ];
        assert_eq!(sizes, expected);
        assert_eq!(Scheme::Q6_K.field("d").map(|f| f.at), Some(208));
        assert_eq!(Scheme::Q4_0.field("m"), None);
    }

    /// Kernels and files know a scheme by its number, so no two have the same.
    #[test]
    fn numbers_are_of_one_scheme() {
        let numbers =
            |of: fn(Scheme) -> Option<u32>| -> Vec<u32> { Scheme::ALL.into_iter().filter_map(of).collect() };
        for mut all in [numbers(|s| Some(s.info().id)), numbers(|s| s.info().gguf)] {
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count);
        }
        assert!(Scheme::ALL.iter().all(|s| s.info().id < 1 << 16));
    }
}
