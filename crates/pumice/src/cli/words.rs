//! How commands read and say numbers.

use std::fmt::Display;
use std::str::FromStr;

/// `1 token`, `2 tokens`.
pub(crate) fn count(n: usize, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}

/// A whole number of an argument. For a sign or a word the message says what is wanted, where the standard library says
/// "invalid digit".
pub(crate) fn whole<T: FromStr + Bounded + Display>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("a whole number from 0 to {} is wanted", T::LARGEST))
}

/// The largest number of a type.
pub(crate) trait Bounded: Sized {
    /// It.
    const LARGEST: Self;
}

impl Bounded for u64 {
    const LARGEST: u64 = u64::MAX;
}

impl Bounded for usize {
    const LARGEST: usize = usize::MAX;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_one() {
        assert_eq!([0, 1, 2].map(|n| count(n, "token")), ["0 tokens", "1 token", "2 tokens"]);
        assert_eq!(whole::<u64>("7"), Ok(7));
        assert!(whole::<u64>("-1").is_err_and(|e| e.contains("from 0 to 18446744073709551615")));
    }
}
