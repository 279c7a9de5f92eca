//! Sizes that carry their unit.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A number of bytes; also a byte offset. 64-bit end to end: no model is refused because it passes 4 GiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A number of elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Elems(pub u64);

impl Bytes {
    /// No bytes.
    pub const ZERO: Bytes = Bytes(0);

    /// The next multiple of `alignment` (a power of two); saturates at the largest one.
    pub const fn align_up(self, alignment: u64) -> Bytes {
        let mask = alignment - 1;
        Bytes(self.0.saturating_add(mask) & !mask)
    }

    /// As a size in memory, where the platform can hold it.
    pub fn to_usize(self) -> Option<usize> {
        usize::try_from(self.0).ok()
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        *self = *self + other;
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
}

impl std::iter::Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(iter: I) -> Bytes {
        iter.fold(Bytes::ZERO, Add::add)
    }
}

impl fmt::Display for Bytes {
    /// Human form: `17 B`, `1.6 MiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut value = self.0 as f64;
        let mut unit = "B";
        for next in ["KiB", "MiB", "GiB", "TiB"] {
            if value < 1024.0 {
                break;
            }
            value /= 1024.0;
            unit = next;
        }
        if unit == "B" { write!(f, "{} B", self.0) } else { write!(f, "{value:.1} {unit}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligns_and_prints() {
        assert_eq!(Bytes(100).align_up(256), Bytes(256));
        assert_eq!(Bytes(256).align_up(256), Bytes(256));
        assert_eq!(Bytes(u64::MAX).align_up(256), Bytes(!255));
        assert_eq!(Bytes(17).to_string(), "17 B");
        assert_eq!(Bytes(1_677_722).to_string(), "1.6 MiB");
    }
}
