//! Bounds of a measure, written as Rust writes ranges: `5`, `2..=4`, `..=8`, `17..`.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Numbers from a least to a largest, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Bounds {
    least: u64,
    most: u64,
}

/// Text that is no range, or a range that holds nothing.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no range: write `5`, `2..=4`, `..=8` or `17..`")]
pub struct NoBounds(String);

crate::debug_as_display!(NoBounds);

impl Bounds {
    /// From `least` to `most`; none where that holds nothing.
    pub fn new(least: u64, most: u64) -> Option<Bounds> {
        (least <= most).then_some(Bounds { least, most })
    }

    /// The smallest number.
    pub fn least(self) -> u64 {
        self.least
    }

    /// The largest number; `u64::MAX` where there is none.
    pub fn most(self) -> u64 {
        self.most
    }

    /// Whether a number lies within.
    pub fn holds(self, number: u64) -> bool {
        (self.least..=self.most).contains(&number)
    }
}

impl FromStr for Bounds {
    type Err = NoBounds;

    fn from_str(text: &str) -> Result<Bounds, NoBounds> {
        let refused = || NoBounds(text.to_owned());
        let number = |digits: &str| digits.parse::<u64>().map_err(|_| refused());
        let (least, most) = match text.split_once("..") {
            None => (number(text)?, number(text)?),
            Some((least, "")) => (number(least)?, u64::MAX),
            Some((least, most)) => {
                let most = number(most.strip_prefix('=').ok_or_else(refused)?)?;
                (if least.is_empty() { 0 } else { number(least)? }, most)
            }
        };
        Bounds::new(least, most).ok_or_else(refused)
    }
}

impl TryFrom<String> for Bounds {
    type Error = NoBounds;

    fn try_from(text: String) -> Result<Bounds, NoBounds> {
        text.parse()
    }
}

impl From<Bounds> for String {
    fn from(bounds: Bounds) -> String {
        bounds.to_string()
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.least, self.most) {
            (least, most) if least == most => write!(f, "{least}"),
            (least, u64::MAX) => write!(f, "{least}.."),
            (0, most) => write!(f, "..={most}"),
            (least, most) => write!(f, "{least}..={most}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_read_as_they_are_written() {
        for text in ["0", "5", "2..=4", "..=8", "17.."] {
            let bounds: Bounds = text.parse().expect(text);
            assert_eq!(bounds.to_string(), text);
        }
        let few: Bounds = "2..=4".parse().expect("bounds");
        assert_eq!([1, 2, 4, 5].map(|n| few.holds(n)), [false, true, true, false]);
        assert!("17..".parse::<Bounds>().expect("bounds").holds(u64::MAX));
        for text in ["", "..", "4..=2", "1..3", "-1", "a..", "..=", "1..=x"] {
            assert_eq!(text.parse::<Bounds>(), Err(NoBounds(text.into())));
        }
    }
}
