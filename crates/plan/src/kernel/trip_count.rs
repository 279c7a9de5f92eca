//! Trip counts of a kernel's loops: an upper bound over one invocation, from which plans are judged for drivers that
//! end loops after a number of trips (`Limits::loop_turns`).
//!
//! A driver counts every time it comes to the end of a loop's body, the last time included, at which the loop only
//! finds that it is over: n iterations are n + 1 trips, and a loop in a branch that is not taken is one. A loop inside
//! another begins anew in each trip of the outer one. Loops with a constant number of iterations that the shader asks
//! to unroll (`[[unroll]]`) are straight code and make none. Threads of one vector share their count: it is that of the
//! thread with the most.
//!
//! In: numbers of a declaration's `trip_count` section. Out: numbers, in saturating arithmetic; what cannot be known (a
//! divisor of zero, a macro that the variant lacks) is more than any limit. No limit here and no kernel.

use super::{ArgKind, ArgValue, KernelCall, KernelDecl, VariantDecl};
use std::fmt;

/// Trips of a loop over `n` things, `step` at a time.
pub const fn each(n: u64, step: u64) -> u64 {
    match step {
        0 => u64::MAX,
        _ => n.div_ceil(step).saturating_add(1),
    }
}

/// Trips of the loop that halves a number of threads until one is left: `for (s = lanes / 2; s > 0; s >>= 1)`.
pub const fn halving(lanes: u64) -> u64 {
    match lanes.checked_ilog2() {
        Some(times) => times as u64 + 1,
        None => 1,
    }
}

/// Trips of a loop of `outer` trips whose body holds loops of `inner` trips.
pub const fn inside(outer: u64, inner: u64) -> u64 {
    outer.saturating_mul(inner.saturating_add(1))
}

/// Trips of loops one after the other.
pub const fn after(first: u64, second: u64) -> u64 {
    first.saturating_add(second)
}

/// Trips of the loops that add partial sums in pairs (`shaders/include/pairs.glsl`), for a sum of `chains` chains.
pub const fn pairs(chains: u64, levels: u64) -> u64 {
    // A carry finds as many levels full as it empties, and each was filled by one; the last level is a chain of its
    // own. That is two trips a chain; lavapipe counts three (Mesa 22.3, 2026-11-24: k of 158,200 is right, of 158,600
    // wrong, by tiles).
    chains.saturating_mul(3).saturating_add(chains / 64).saturating_add(levels + 1)
}

/// A count that is there only under a condition known when the pipeline is made.
pub const fn only(when: bool, trip_count: u64) -> u64 {
    if when { trip_count } else { 0 }
}

/// A quotient of constants, rounded down; more than any limit where the divisor is 0.
pub const fn quotient(a: u64, b: u64) -> u64 {
    match a.checked_div(b) {
        Some(q) => q,
        None => u64::MAX,
    }
}

/// What a declaration's bound is computed from: argument words at their upper bounds, specialization constants, the
/// macros of the variant.
pub struct Upper<'a> {
    /// One number a word: unsigned as it is, signed at least 0; floats are 0.
    words: Vec<u64>,
    spec: &'a [(u32, u32)],
    variant: &'static VariantDecl,
}

impl<'a> Upper<'a> {
    /// A variant with these constants, before there is a call.
    pub(crate) fn of_variant(variant: &'static VariantDecl, spec: &'a [(u32, u32)]) -> Upper<'a> {
        Upper { words: Vec::new(), spec, variant }
    }

    /// `len` words from word `at` on.
    pub fn words<const N: usize>(&self, at: usize) -> [u64; N] {
        std::array::from_fn(|i| self.words.get(at + i).copied().unwrap_or(u64::MAX))
    }

    /// A specialization constant: the value in the call, or the default.
    pub fn spec(&self, id: u32, default: u32) -> u64 {
        self.spec.iter().find(|s| s.0 == id).map_or(default, |s| s.1).into()
    }

    /// A macro of the variant; more than any limit where it is missing.
    pub fn define(&self, name: &str) -> u64 {
        self.define_or(name, u64::MAX)
    }

    /// A macro of the variant, or what it is where it is missing.
    pub fn define_or(&self, name: &str, other: u64) -> u64 {
        let found = self.variant.defines.iter().find(|d| d.0 == name);
        found.and_then(|d| d.1.parse().ok()).unwrap_or(other)
    }

    /// Whether the variant defines a macro.
    pub fn defines(&self, name: &str) -> bool {
        self.variant.defines.iter().any(|d| d.0 == name)
    }
}

/// What a declaration states of a variant, its constants and arguments: a function, equal to itself alone.
pub struct Of<T>(pub fn(&Upper<'_>) -> T);

/// The bound that a declaration states.
pub type TripCount = Of<u64>;

impl<T> Of<T> {
    pub(crate) fn of(&self, upper: &Upper<'_>) -> T {
        (self.0)(upper)
    }
}

impl<T> Clone for Of<T> {
    fn clone(&self) -> Of<T> {
        *self
    }
}

impl<T> Copy for Of<T> {}

impl<T> fmt::Debug for Of<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a function")
    }
}

impl<T> PartialEq for Of<T> {
    fn eq(&self, other: &Of<T>) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl<T> Eq for Of<T> {}

impl KernelDecl {
    /// Largest trip count of all loops of one invocation of the call. `frame` gives the upper bound of a frame word.
    /// A call that does not fit the declaration has no bound (`u64::MAX`).
    pub fn trip_count(&self, call: &KernelCall, frame: &dyn Fn(u32) -> i64) -> u64 {
        let Some(variant) = self.variant(&call.variant) else { return u64::MAX };
        let kinds = self.args.iter().flat_map(|a| std::iter::repeat_n(a.kind, a.words() as usize));
        let words = kinds.zip(&call.args).map(|(kind, arg)| match (kind, *arg) {
            (ArgKind::F32, _) => 0,
            (ArgKind::U32, ArgValue::U32(bits)) => u64::from(bits),
            (ArgKind::I32, ArgValue::U32(bits)) => u64::try_from(bits as i32).unwrap_or(0),
            (_, ArgValue::Frame(word)) => u64::try_from(frame(word)).unwrap_or(0),
        });
        let mut all = Vec::with_capacity(call.args.len());
        all.extend(words);
        self.trip_count.of(&Upper { words: all, spec: &call.spec, variant })
    }

    /// The bound of a variant for arguments and specialization constants by name, before there is a call; arguments
    /// that are not named are 0, constants have their defaults. A name that is not declared has no bound (`u64::MAX`).
    pub fn trip_count_of(&self, variant: &str, numbers: &[(&str, u64)]) -> u64 {
        let Some(variant) = self.variant(variant) else { return u64::MAX };
        let (mut words, mut spec) = (vec![0; self.arg_words() as usize], Vec::new());
        for &(name, number) in numbers {
            let at =
                self.args.iter().take_while(|a| a.name != name).map(|a| a.words() as usize).sum::<usize>();
            let of_array = self.args.iter().find(|a| a.name == name).map_or(1, |a| a.words() as usize);
            match (self.specs.iter().find(|s| s.name == name), words.get_mut(at..at + of_array)) {
                (Some(declared), _) => spec.push((declared.id, u32::try_from(number).unwrap_or(u32::MAX))),
                // What an array has in all.
                (None, Some([first, others @ ..])) => {
                    *first = number;
                    others.fill(1);
                }
                (None, _) => return u64::MAX,
            }
        }
        self.trip_count.of(&Upper { words, spec: &spec, variant })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_make_one_trip_more_than_they_iterate() {
        assert_eq!((each(0, 4), each(8, 4), each(9, 4)), (1, 3, 4));
        assert_eq!((each(u64::MAX, 1), each(5, 0)), (u64::MAX, u64::MAX));
        assert_eq!((halving(256), halving(1), halving(0)), (9, 1, 1));
        assert_eq!(inside(each(2, 1), each(3, 1)), 15);
        assert_eq!((inside(u64::MAX, 3), after(u64::MAX, 1)), (u64::MAX, u64::MAX));
        assert_eq!((quotient(128, 8), quotient(128, 0)), (16, u64::MAX));
    }
}
