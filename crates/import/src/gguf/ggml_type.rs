//! Element types as GGUF files number them, and which of them pumice reads.

use pumice_types::{DType, Encoding, Scheme};
use std::fmt;

/// A tensor's type as its number in the file (`ggml_type`). Any number is kept, so that a file with an unknown type can
/// be inspected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GgmlType(pub u32);

/// The numbers of plain types. Block schemes have theirs in the table of [`Scheme`].
const PLAIN: [(u32, DType); 7] = [
    (0, DType::F32),
    (1, DType::F16),
    (24, DType::I8),
    (25, DType::I16),
    (26, DType::I32),
    (27, DType::I64),
    (30, DType::BF16),
];

/// Names of the format's other types; where a scheme has the number, its name comes first (ggml/docs/gguf.md,
/// ggml/include/ggml.h; 31 to 33 and 36 to 38 were removed).
const FOREIGN: [(u32, &str); 23] = [
    (4, "q4_2"),
    (5, "q4_3"),
    (9, "q8_1"),
    (15, "q8_k"),
    (16, "iq2_xxs"),
    (17, "iq2_xs"),
    (18, "iq3_xxs"),
    (19, "iq1_s"),
    (20, "iq4_nl"),
    (21, "iq3_s"),
    (22, "iq2_s"),
    (23, "iq4_xs"),
    (28, "f64"),
    (29, "iq1_m"),
    (31, "q4_0_4_4"),
    (32, "q4_0_4_8"),
    (33, "q4_0_8_8"),
    (34, "tq1_0"),
    (35, "tq2_0"),
    (36, "iq4_nl_4_4"),
    (37, "iq4_nl_4_8"),
    (38, "iq4_nl_8_8"),
    (41, "q1_0"),
];

impl GgmlType {
    /// The type of an encoding; `None` where GGUF has no such type (unsigned integers, booleans, some schemes).
    pub fn of(encoding: Encoding) -> Option<GgmlType> {
        match encoding {
            Encoding::Plain(dtype) => PLAIN.into_iter().find(|(_, d)| *d == dtype).map(|(n, _)| GgmlType(n)),
            Encoding::Blocks(scheme) => scheme.info().gguf.map(GgmlType),
            Encoding::Codes(_) => None,
        }
    }

    /// How pumice reads the type; `None` where it does not.
    pub fn encoding(self) -> Option<Encoding> {
        let plain = PLAIN.into_iter().find(|(n, _)| *n == self.0).map(|(_, d)| Encoding::Plain(d));
        let blocks = || Scheme::ALL.into_iter().find(|s| s.info().gguf == Some(self.0)).map(Encoding::Blocks);
        plain.or_else(blocks)
    }

    /// The type's name, in lower case: `q4_k`, `iq2_xxs`; `None` of a number that the format does not have.
    pub fn name(self) -> Option<&'static str> {
        let foreign = || FOREIGN.into_iter().find(|(n, _)| *n == self.0).map(|(_, name)| name);
        self.encoding().map(Encoding::name).or_else(foreign)
    }
}

/// What to take instead of a type that is not read: what is nearest to it in size, and all that are read.
pub(super) fn instead_of(ty: GgmlType) -> String {
    let nearest = match ty.name() {
        Some("q8_1" | "q8_k") => "q8_0, of as many bits, ",
        Some(name) if name.starts_with("iq3") => "q3_k, of as many bits, or iq4_xs ",
        Some(name) if name.starts_with("iq") || name.starts_with("tq") => {
            "q2_k, which is nearest in size, or q4_k "
        }
        _ => "",
    };
    let all = read_types();
    match nearest {
        "" => format!("take the model in another quantization: {all}"),
        nearest => format!("take the model in another quantization: {nearest}(all that are read: {all})"),
    }
}

/// The names of all types that are read and hold weights, for messages.
fn read_types() -> String {
    let floats = PLAIN.into_iter().map(|(_, dtype)| Encoding::Plain(dtype));
    let floats = floats.filter(|e| e.plain().is_some_and(DType::is_float));
    let blocks = Scheme::ALL.into_iter().map(Encoding::Blocks);
    floats.chain(blocks).map(Encoding::name).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for GgmlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "of the unknown ggml type {}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_trip() {
        for encoding in Encoding::all() {
            let Some(ty) = GgmlType::of(encoding) else {
                let unsigned = encoding.plain().is_some_and(|d| !d.is_float() && !d.is_signed());
                assert!(unsigned || matches!(encoding, Encoding::Codes(_)), "{encoding}");
                continue;
            };
            assert_eq!((ty.encoding(), ty.name()), (Some(encoding), Some(encoding.name())));
        }
        for (number, name) in FOREIGN {
            let ty = GgmlType(number);
            assert!(ty.encoding().is_some() || ty.name() == Some(name), "{name}");
        }
        assert_eq!(GgmlType(28).to_string(), "f64");
        assert_eq!(GgmlType(99).to_string(), "of the unknown ggml type 99");
    }
}
