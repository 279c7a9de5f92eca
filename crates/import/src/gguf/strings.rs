//! Many strings in one piece of memory: a vocabulary of 250,000 tokens is two allocations.

use super::cursor::{Cursor, Fault};
use std::io::Read;

/// Strings one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GgufStrings {
    text: String,
    /// Where each string ends in `text`; it begins where the one before ends.
    ends: Vec<usize>,
}

impl GgufStrings {
    /// Reads `count` strings, each with its length before it.
    pub(super) fn read<R: Read>(cursor: &mut Cursor<R>, count: u64) -> Result<GgufStrings, Fault> {
        const LENGTH: u64 = 8;
        let mut strings =
            GgufStrings { text: String::new(), ends: Vec::with_capacity(cursor.claim(count, LENGTH)?) };
        let mut scratch = Vec::new();
        for _ in 0..count {
            cursor.append(&mut strings.text, &mut scratch)?;
            strings.ends.push(strings.text.len());
        }
        Ok(strings)
    }

    /// The number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The string of that index.
    pub fn get(&self, index: usize) -> Option<&str> {
        let end = *self.ends.get(index)?;
        let begin = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.text.get(begin..end)
    }

    /// All strings, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|i| self.get(i).expect("below the length, and each end was a string's end"))
    }
}

impl<S: AsRef<str>> FromIterator<S> for GgufStrings {
    fn from_iter<I: IntoIterator<Item = S>>(strings: I) -> GgufStrings {
        let mut out = GgufStrings::default();
        for string in strings {
            out.text.push_str(string.as_ref());
            out.ends.push(out.text.len());
        }
        out
    }
}
