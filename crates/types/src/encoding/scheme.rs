//! The table of block schemes: how many elements share a block, how many bytes that is, and where its fields lie.

use std::fmt;

/// A field of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// What it holds: `d` and `m` are f16 scale and minimum of the block, `qs` the low bits of the codes, `qh` their high
    /// bits, `sc` scales of sub-blocks.
    pub name: &'static str,
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
    /// The number of the type in GGUF files (`ggml_type`).
    pub gguf: u32,
}

/// Declares the schemes: variant, name, elements, number in GGUF files, fields with their bytes.
macro_rules! schemes {
    ($($(#[doc = $doc:literal])+ $Name:ident = $name:literal, $elements:literal elements, gguf $gguf:literal:
        $($field:ident $bytes:literal)*;)*) => {
        /// How a block of elements shares bytes, as the public gguf package decodes it (OPS 3.4.2). Blocks lie along the last
        /// axis, little-endian; f32 arithmetic in the order written.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(non_camel_case_types)]
        pub enum Scheme { $($(#[doc = $doc])+ $Name),* }

        impl Scheme {
            /// Every scheme, in declaration order.
            pub const ALL: [Scheme; [$($gguf),*].len()] = [$(Scheme::$Name),*];

            /// Its row of the table.
            pub const fn info(self) -> &'static SchemeInfo {
                match self {
                    $(Scheme::$Name => {
                        const BYTES: &[(&str, u64)] = &[$((stringify!($field), $bytes)),*];
                        const FIELDS: [Field; BYTES.len()] = fields(BYTES);
                        &SchemeInfo { name: $name, elements: $elements, fields: &FIELDS, gguf: $gguf }
                    })*
                }
            }
        }
    };
}

schemes! {
    /// d · (nib − 8): element i < 16 is the low nibble of byte i of `qs`, the others the high nibble of byte i − 16.
    Q4_0 = "q4_0", 32 elements, gguf 2: d 2 qs 16;
    /// d · nib + m, nibbles as in Q4_0.
    Q4_1 = "q4_1", 32 elements, gguf 3: d 2 m 2 qs 16;
    /// d · (q − 16), q the nibble with bit i of `qh` above it.
    Q5_0 = "q5_0", 32 elements, gguf 6: d 2 qh 4 qs 16;
    /// d · q + m, q as in Q5_0.
    Q5_1 = "q5_1", 32 elements, gguf 7: d 2 m 2 qh 4 qs 16;
    /// d · q, q a signed byte.
    Q8_0 = "q8_0", 32 elements, gguf 8: d 2 qs 32;
    /// d · sc · q − dmin · mn with 6-bit scales and minima for each 32 elements; q a nibble.
    Q4_K = "q4_k", 256 elements, gguf 12: d 2 dmin 2 sc 12 qs 128;
    /// As Q4_K with a fifth bit of each code in `qh`.
    Q5_K = "q5_k", 256 elements, gguf 13: d 2 dmin 2 sc 12 qh 32 qs 128;
    /// d · sc · (q − 32), q of 6 bits, with a signed scale for each 16 elements.
    Q6_K = "q6_k", 256 elements, gguf 14: qs 128 qh 64 sc 16 d 2;
    /// d · value of the nibble: sixteen values, denser near 0; nibbles as in Q4_0.
    IQ4_NL = "iq4_nl", 32 elements, gguf 20: d 2 qs 16;
}

/// Fields one after the other.
const fn fields<const N: usize>(bytes: &[(&'static str, u64)]) -> [Field; N] {
    let mut out = [Field { name: "", at: 0, bytes: 0 }; N];
    let (mut i, mut at) = (0, 0);
    while i < N {
        out[i] = Field { name: bytes[i].0, at, bytes: bytes[i].1 };
        at += bytes[i].1;
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
            ("q4_k", 256, 144),
            ("q5_k", 256, 176),
            ("q6_k", 256, 210),
            ("iq4_nl", 32, 18),
        ];
        assert_eq!(sizes, expected);
        assert_eq!(Scheme::Q6_K.field("d").map(|f| f.at), Some(208));
        assert_eq!(Scheme::Q4_0.field("m"), None);
    }
}
