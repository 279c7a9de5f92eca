//! A law that depends on what is found, shown for all that may be found.
//!
//! In: a law, found symbols with their largest values. The law is asked of all values at once ([`Intervals`]). Where
//! its answer is not seen to be the same for all, they are cut where it changes, else in halves, and each part is
//! asked alone, at last single values. So the law is believed of no value that it was not asked of, alone or with
//! others. Every question is charged; what would take too many is refused.

use super::error::Fault;
use super::footprint::Sample;
use super::numbers::{Cut, Intervals};
use crate::plan::Run;
use crate::step::StepId;
use pumice_types::{Bindings, SymbolId, SymbolTable};

/// Evaluations that a question about more than one value counts for: it computes with expressions.
pub(super) const OF_MANY: u64 = 32;

/// What a law says is wrong, with the step.
pub(super) type Broken = (Option<StepId>, Fault);

/// Why a law is not believed.
pub(super) enum Doubt {
    /// It does not hold.
    Broken(Box<Broken>),
    /// To show it takes too many evaluations.
    TooMany,
}

/// What questions are asked with.
pub(super) struct Search<'r> {
    run: &'r Run,
    bindings: Bindings,
    words: Vec<u32>,
    symbols: &'r SymbolTable,
    /// Evaluations that are left.
    left: u64,
}

/// Between two ends each.
type Ends = Vec<(SymbolId, u64, u64)>;

/// What is still to be asked.
enum Part {
    /// All of this at once.
    All(Ends),
    /// Of the symbol of this number each value from `next` on.
    Each(Ends, usize, u64),
}

impl<'r> Search<'r> {
    /// With so many evaluations, where all else is bound and the frame has these words.
    pub fn new(
        run: &'r Run,
        symbols: &'r SymbolTable,
        (bindings, words): (&Bindings, &[u32]),
        left: u64,
    ) -> Self {
        Search { run, bindings: bindings.clone(), words: words.to_vec(), symbols, left }
    }

    /// Evaluations that are left.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Asks a law that depends on nothing that is found.
    pub fn ask(
        &mut self,
        law: impl Fn(&Sample<'_>) -> Option<Broken>,
        evaluations: u64,
    ) -> Result<(), Doubt> {
        self.spend(evaluations)?;
        let sample = Sample { bindings: &self.bindings, words: self.words.as_slice().into(), found: None };
        law(&sample).map_or(Ok(()), |broken| Err(Doubt::Broken(Box::new(broken))))
    }

    /// Asks a law for everything that these symbols may be, each from 0 to its largest value.
    pub fn ask_all(
        &mut self,
        found: &[(SymbolId, u64)],
        law: impl Fn(&Sample<'_>) -> Option<Broken>,
    ) -> Result<(), Doubt> {
        let mut intervals = Intervals::new(self.symbols);
        let mut parts = vec![Part::All(found.iter().map(|&(id, max)| (id, 0, max)).collect())];
        while let Some(part) = parts.pop() {
            let ends = match part {
                Part::All(ends) => ends,
                Part::Each(ends, at, next) => {
                    let mut one = ends.clone();
                    (one[at].1, one[at].2) = (next, next);
                    if next < ends[at].2 {
                        parts.push(Part::Each(ends, at, next + 1));
                    }
                    one
                }
            };
            self.ask_part(&mut intervals, &ends, &law)?;
            let Some(cut) = intervals.open() else { continue };
            let (Cut::After(id, _) | Cut::Each(id)) = cut;
            let Some(at) = ends.iter().position(|end| end.0 == id) else { return Err(Doubt::TooMany) };
            let (_, low, high) = ends[at];
            match cut {
                Cut::After(_, last) => {
                    let (mut before, mut after) = (ends.clone(), ends);
                    (before[at].2, after[at].1) = (last, last + 1);
                    parts.extend([Part::All(after), Part::All(before)]);
                }
                // Known before the work that it is too much.
                Cut::Each(_) if high - low >= self.left => return Err(Doubt::TooMany),
                Cut::Each(_) => parts.push(Part::Each(ends, at, low)),
            }
        }
        Ok(())
    }

    fn ask_part(
        &mut self,
        intervals: &mut Intervals,
        ends: &[(SymbolId, u64, u64)],
        law: impl Fn(&Sample<'_>) -> Option<Broken>,
    ) -> Result<(), Doubt> {
        let many = ends.iter().any(|(_, low, high)| low < high);
        self.spend(if many { OF_MANY } else { 1 })?;
        ends.iter().for_each(|&(id, low, _)| self.bindings.bind(id, low));
        let broken = |broken| Err(Doubt::Broken(Box::new(broken)));
        if let Err(e) = self.run.frame.fill_found(&self.bindings, &mut self.words) {
            return broken((None, Fault::Frame(e.to_string())));
        }
        intervals.begin(ends);
        let found = many.then_some((&*intervals, &self.run.frame.words[..]));
        let sample = Sample { bindings: &self.bindings, words: self.words.as_slice().into(), found };
        law(&sample).map_or(Ok(()), broken)
    }

    fn spend(&mut self, evaluations: u64) -> Result<(), Doubt> {
        self.left = self.left.checked_sub(evaluations).ok_or(Doubt::TooMany)?;
        Ok(())
    }
}
