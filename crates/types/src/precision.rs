//! Which arithmetic a user chose.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The arithmetic of products. Never guessed: what a graph says is computed exactly unless its user asks for less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// f32 products and sums.
    #[default]
    Exact,
    /// Operands of products rounded to f16, or to bf16 where one is stored so; f32 sums. An f16 ends at 65,504: a
    /// factor of 65,520 or more becomes infinite, and so do sums that it is in.
    F16,
    /// Operands of products rounded to bf16, f32 sums.
    Bf16,
    /// Operands of products rounded to 8-bit integers that share scales.
    Int8,
}

impl Precision {
    /// Every one.
    pub const ALL: [Precision; 4] = [Precision::Exact, Precision::F16, Precision::Bf16, Precision::Int8];

    /// Whether nothing is rounded that the graph does not round.
    pub fn is_exact(&self) -> bool {
        *self == Precision::Exact
    }

    /// The word in plans, tables and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Precision::Exact => "exact",
            Precision::F16 => "f16",
            Precision::Bf16 => "bf16",
            Precision::Int8 => "int8",
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Precision {
    type Err = String;

    fn from_str(word: &str) -> Result<Precision, String> {
        let found = Precision::ALL.into_iter().find(|p| p.name() == word);
        found.ok_or_else(|| format!("`{word}` is no precision: exact, f16, bf16 or int8"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_same_everywhere() {
        for precision in Precision::ALL {
            assert_eq!(precision.name().parse(), Ok(precision));
            assert_eq!(serde_json::to_value(precision).expect("a word"), precision.name());
        }
        assert!("fast".parse::<Precision>().is_err());
    }
}
