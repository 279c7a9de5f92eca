//! A share of the samples, for suites that run each once more in another way.
//!
//! In: cases of ops, and `PUMICE_SHARE` as `cargo xtask test` sets it. Out: of each op every n-th sample, beginning
//! with another one from commit to commit; all of them where the variable is not set. The interpreter runs every
//! sample always, the plain suite of a device every second one.

use crate::op_suite::Case;
use std::collections::{BTreeMap, BTreeSet};

/// The variable: `turn/shares`.
const VARIABLE: &str = "PUMICE_SHARE";

/// Which samples run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    turn: usize,
    shares: usize,
}

impl Share {
    /// All samples.
    pub const ALL: Share = Share { turn: 0, shares: 1 };

    /// What the environment asks for.
    ///
    /// # Panics
    /// The variable is no share: a suite that then ran everything, or nothing, would say something else than it did.
    pub fn of_environment() -> Share {
        let Ok(text) = std::env::var(VARIABLE) else { return Share::ALL };
        Share::parse(&text).unwrap_or_else(|| panic!("{VARIABLE} is {text:?}, not such as 1/3 (turn/shares)"))
    }

    fn parse(text: &str) -> Option<Share> {
        let (turn, shares) = text.split_once('/')?;
        let share = Share { turn: turn.parse().ok()?, shares: shares.parse().ok()? };
        (share.turn < share.shares).then_some(share)
    }

    /// The cases of the share. An op of few samples keeps its last one at least.
    pub fn of(self, cases: Vec<Case>) -> Vec<Case> {
        self.split(cases).0
    }

    /// The cases of the share, and the others.
    fn split(self, cases: Vec<Case>) -> (Vec<Case>, Vec<Case>) {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        cases.iter().for_each(|case| *counts.entry(case.op).or_default() += 1);
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        cases.into_iter().partition(|case| {
            let number = seen.entry(case.op).or_default();
            *number += 1;
            (*number - 1) % self.shares == self.turn.min(counts[case.op] - 1)
        })
    }

    /// Every second case of each op, the others at the next turn: for suites that compile most kernels first.
    pub fn half_of(self, cases: Vec<Case>) -> Vec<Case> {
        self.halves_of(cases).0
    }

    /// [`Share::half_of`], and the cases that are not in it.
    pub fn halves_of(self, cases: Vec<Case>) -> (Vec<Case>, Vec<Case>) {
        Share { turn: self.turn % 2, shares: self.shares.min(2) }.split(cases)
    }

    /// As many of `count` for a run without `--long`, or all.
    pub fn few_or(self, few: usize, count: usize) -> usize {
        if self.is_all() { count } else { few }
    }

    /// As [`Share::of`], of every fourth op, another one from commit to commit: for suites that compile what no other
    /// does.
    pub fn of_few_ops(self, cases: Vec<Case>) -> Vec<Case> {
        let mut cases = self.of(cases);
        let ops: BTreeSet<&str> = cases.iter().map(|case| case.op).collect();
        let few = self.shares.min(4);
        let mine: BTreeSet<&str> = ops.into_iter().skip(self.turn % few).step_by(few).collect();
        cases.retain(|case| mine.contains(case.op));
        cases
    }

    /// Whether case number `i` is one of every fourth, others from commit to commit: for suites that run on a driver
    /// what the evaluator and the interpreter run in full.
    pub fn has_of_few(self, i: usize) -> bool {
        let few = self.shares.min(4);
        i % few == self.turn % few
    }

    /// Whether it is every sample.
    pub fn is_all(self) -> bool {
        self.shares == 1
    }

    /// As many of `count` as a share has.
    pub fn part_of(self, count: usize) -> usize {
        count / self.shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op_suite::{cases, part_of_cases};
    use pumice_ir::Op;

    #[test]
    fn shares_have_every_sample_and_every_op() {
        let mut seen = BTreeSet::new();
        for turn in 0..3 {
            let mine = Share { turn, shares: 3 }.of(cases(None));
            let ops: BTreeSet<&str> = mine.iter().map(|case| case.op).collect();
            let sampled = Op::NAMES.iter().copied().filter(|op| !Op::samples(op).is_empty());
            assert_eq!(ops, sampled.collect(), "turn {turn}");
            seen.extend(mine.iter().map(Case::name));
        }
        assert_eq!(seen.len(), cases(None).len());
        let whole = Share { turn: 0, shares: 1 }.of(part_of_cases(0, 6)).len();
        assert_eq!(whole, part_of_cases(0, 6).len());
    }

    #[test]
    fn halves_are_all_after_two_turns() {
        let names = |cases: Vec<Case>| -> BTreeSet<String> { cases.iter().map(Case::name).collect() };
        let half = |turn| Share { turn, shares: 8 }.half_of(part_of_cases(1, 6));
        let all = names(part_of_cases(1, 6));
        assert!(half(0).len() * 10 < all.len() * 6, "{} of {}", half(0).len(), all.len());
        let both: BTreeSet<String> = names(half(4)).union(&names(half(7))).cloned().collect();
        assert_eq!(both, all);
        assert_eq!(names(Share::ALL.half_of(part_of_cases(1, 6))), all);
    }

    #[test]
    fn few_ops_are_all_after_four_turns() {
        let ops = |cases: Vec<Case>| -> BTreeSet<&str> { cases.iter().map(|case| case.op).collect() };
        let mut seen = BTreeSet::new();
        for turn in 0..8 {
            let share = Share { turn, shares: 8 };
            let few = ops(share.of_few_ops(cases(None)));
            assert!(few.len() * 3 < Op::NAMES.len(), "{}", few.len());
            seen.extend(few);
        }
        assert_eq!(seen, ops(cases(None)));
        assert_eq!(Share::ALL.of_few_ops(part_of_cases(0, 6)).len(), part_of_cases(0, 6).len());
    }

    #[test]
    fn what_is_no_share_is_refused() {
        assert_eq!(Share::parse("2/3"), Some(Share { turn: 2, shares: 3 }));
        for text in ["", "3", "3/3", "1/0", "-1/3", "a/b"] {
            assert_eq!(Share::parse(text), None, "{text}");
        }
    }
}
