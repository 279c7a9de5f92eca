//! Elementwise kernels: over dense elements, over strides.

use super::rule::{Candidate, Reader, Rule};
use pumice_plan::kernels::elementwise::{
    DECLS, ElementwiseFlat, ElementwiseRuns, ElementwiseRuns4, ElementwiseStrided, ElementwiseStrided4,
};
use pumice_types::{EncodingClass, Target};

/// Families of rows that are read here.
pub const FAMILIES: &[&str] = &["elementwise.flat", "elementwise.strided"];
/// Measures of `elementwise.flat`: elements of the result.
const FLAT: &[&str] = &["n"];
/// Measures of `elementwise.strided`: whether the innermost axis is walked four elements at a time (1) or one (0).
const STRIDED: &[&str] = &["by_four"];

#[derive(Clone, Copy, Debug)]
struct Flat {
    candidate: Candidate,
    /// Groups of four elements that a thread takes.
    per: u32,
}

/// The form of a strided step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strided {
    /// A thread takes one element, or one group of four.
    Each(&'static str),
    /// A thread takes a run of them.
    Runs(&'static str),
}

/// Rules of elementwise steps.
#[derive(Clone, Debug)]
pub struct Rules {
    flat: Vec<Rule<Flat>>,
    strided: Vec<Rule<(Candidate, Strided)>>,
}

impl Rules {
    /// Reads the rows of the table.
    pub fn read(reader: &Reader<'_>) -> Result<Rules, String> {
        let flat = reader.some_rules("elementwise.flat", FLAT, |row| {
            let candidate = row.candidate(DECLS)?;
            let [per] = row.counts(["groups_per_thread"])?;
            if candidate.decl.name != ElementwiseFlat::DECL.name || per == 0 {
                return Err(row.mistake("dense elements are `elementwise_flat`'s, a group a thread at least"));
            }
            Ok(Flat { candidate, per: per as u32 })
        })?;
        let strided = reader.some_rules("elementwise.strided", STRIDED, |row| {
            let candidate = row.candidate(DECLS)?;
            let [] = row.counts([])?;
            let (kernel, variant) = (candidate.decl.name, candidate.variant.name);
            let form = match kernel {
                _ if [ElementwiseStrided::DECL.name, ElementwiseStrided4::DECL.name].contains(&kernel) => {
                    Strided::Each(variant)
                }
                _ if [ElementwiseRuns::DECL.name, ElementwiseRuns4::DECL.name].contains(&kernel) => {
                    Strided::Runs(variant)
                }
                _ => return Err(row.mistake("it does not take strides")),
            };
            Ok((candidate, form))
        })?;
        Ok(Rules { flat, strided })
    }

    /// The variant of `elementwise_flat` for `n` elements, and how many groups of four a thread takes.
    pub fn flat(&self, n: u64, target: &Target) -> (&'static str, u32) {
        let fits = |r: &&Rule<Flat>| r.holds(&[n], EncodingClass::F32) && r.take.candidate.runs_on(target);
        let found = self.flat.iter().find(fits).map(|r| (r.take.candidate.variant.name, r.take.per));
        found.unwrap_or((ElementwiseFlat::plain, 1))
    }

    /// The form of a step over strides.
    pub fn strided(&self, by_four: bool, target: &Target) -> Strided {
        let four = |c: &Candidate| {
            [ElementwiseStrided4::DECL.name, ElementwiseRuns4::DECL.name].contains(&c.decl.name)
        };
        let fits = |r: &&Rule<(Candidate, Strided)>| {
            let candidate = &r.take.0;
            r.holds(&[by_four.into()], EncodingClass::F32)
                && four(candidate) == by_four
                && candidate.runs_on(target)
        };
        self.strided.iter().find(fits).map_or(Strided::Each(ElementwiseStrided::plain), |r| r.take.1)
    }
}
