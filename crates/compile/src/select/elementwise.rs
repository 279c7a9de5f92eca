//! Elementwise kernels: over dense elements, over strides, through tiles where operands lie along another axis; and copies
//! that exchange the innermost axis.

use super::rule::{Candidate, Reader, RowReader, Rule};
use pumice_plan::kernel::KernelDecl;
use pumice_plan::kernels::copy::{self, Transpose};
use pumice_plan::kernels::elementwise::{
    DECLS, ElementwiseFlat, ElementwiseRuns, ElementwiseRuns4, ElementwiseSpread, ElementwiseStrided,
    ElementwiseStrided4, ElementwiseTiles, SPREAD_ELEMENTS,
};
use pumice_types::{EncodingClass, Target};

/// Families of rows that are read here.
pub const FAMILIES: &[&str] =
    &["elementwise.flat", "elementwise.strided", "elementwise.crossed", "copy.transposed"];
/// Measures of `elementwise.flat`: elements of the result.
const FLAT: &[&str] = &["n"];
/// Measures of `elementwise.strided`: how often groups of 1024 elements fill all compute units, rounded down; whether the
/// innermost axis is walked four elements at a time (1) or one (0); whether there are 64-bit elements (1 or 0).
const STRIDED: &[&str] = &["waves", "by_four", "wide"];
/// Measures of `elementwise.crossed` and `copy.transposed`: the extent along which operands lie, and the extent along which the
/// result does.
const CROSSED: &[&str] = &["from", "to"];
/// What rows of these two take besides a kernel: the step is one over strides.
const OVER_STRIDES: &str = "strided";

/// The longest run that a thread takes.
const LONGEST_RUN: u64 = 256;

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
    /// A thread takes four elements that lie apart.
    Spread(&'static str),
    /// A thread takes a run of them, of at most so many.
    Runs(&'static str, u64),
}

/// Rules of elementwise steps.
#[derive(Clone, Debug)]
pub struct Rules {
    flat: Vec<Rule<Flat>>,
    strided: Vec<Rule<(Candidate, Strided)>>,
    crossed: Vec<Rule<Option<Candidate>>>,
    transposed: Vec<Rule<Option<Candidate>>>,
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
        Ok(Rules {
            flat,
            strided: reader.some_rules("elementwise.strided", STRIDED, read_strided)?,
            crossed: reader.some_rules("elementwise.crossed", CROSSED, |row| {
                read_crossed(row, DECLS, ElementwiseTiles::DECL.name)
            })?,
            transposed: reader.some_rules("copy.transposed", CROSSED, |row| {
                read_crossed(row, copy::DECLS, Transpose::DECL.name)
            })?,
        })
    }

    /// The variant of `elementwise_flat` for `n` elements, and how many groups of four a thread takes.
    pub fn flat(&self, n: u64, target: &Target) -> (&'static str, u32) {
        let fits = |r: &&Rule<Flat>| r.holds(&[n], EncodingClass::F32) && r.take.candidate.runs_on(target);
        let found = self.flat.iter().find(fits).map(|r| (r.take.candidate.variant.name, r.take.per));
        found.unwrap_or((ElementwiseFlat::plain, 1))
    }

    /// The form of a step over strides, of `n` elements; `wide`: there are 64-bit ones.
    pub fn strided(&self, n: u64, by_four: bool, wide: bool, target: &Target) -> Strided {
        let four = |c: &Candidate| {
            [ElementwiseStrided4::DECL.name, ElementwiseRuns4::DECL.name].contains(&c.decl.name)
        };
        let waves = n / SPREAD_ELEMENTS / u64::from(target.tuning.compute_units.max(1));
        let fits = |r: &&Rule<(Candidate, Strided)>| {
            let candidate = &r.take.0;
            r.holds(&[waves, by_four.into(), wide.into()], EncodingClass::F32)
                && four(candidate) == by_four
                && !(wide && matches!(r.take.1, Strided::Spread(_)))
                && candidate.runs_on(target)
        };
        self.strided.iter().find(fits).map_or(Strided::Each(ElementwiseStrided::plain), |r| r.take.1)
    }

    /// The variant of `elementwise_tiles` for operands that lie along an axis of `from` elements where results lie along one of
    /// `to`; none where a step over strides is better.
    pub fn crossed(&self, from: u64, to: u64, target: &Target) -> Option<&'static str> {
        tiled(&self.crossed, from, to, target)
    }

    /// The variant of `transpose` for a copy of such a kind; none where a step over strides is better.
    pub fn transposed(&self, from: u64, to: u64, target: &Target) -> Option<&'static str> {
        tiled(&self.transposed, from, to, target)
    }
}

fn tiled(rules: &[Rule<Option<Candidate>>], from: u64, to: u64, target: &Target) -> Option<&'static str> {
    let runs = |take: &Option<Candidate>| take.is_none_or(|c| c.runs_on(target));
    let found = rules.iter().find(|r| r.holds(&[from, to], EncodingClass::F32) && runs(&r.take));
    found.and_then(|r| r.take).map(|c| c.variant.name)
}

fn read_strided(row: &RowReader<'_>) -> Result<(Candidate, Strided), String> {
    let candidate = row.candidate(DECLS)?;
    let (kernel, variant) = (candidate.decl.name, candidate.variant.name);
    let each = [ElementwiseStrided::DECL.name, ElementwiseStrided4::DECL.name].contains(&kernel);
    if each || kernel == ElementwiseSpread::DECL.name {
        let [] = row.counts([])?;
        let form = if each { Strided::Each(variant) } else { Strided::Spread(variant) };
        return Ok((candidate, form));
    }
    if ![ElementwiseRuns::DECL.name, ElementwiseRuns4::DECL.name].contains(&kernel) {
        return Err(row.mistake("it does not take strides"));
    }
    let [run] = row.counts(["most_run"])?;
    match run.is_power_of_two() && run <= LONGEST_RUN {
        true => Ok((candidate, Strided::Runs(variant, run))),
        false => Err(row.mistake(format!("a run is a power of two up to {LONGEST_RUN}"))),
    }
}

fn read_crossed(
    row: &RowReader<'_>,
    decls: &'static [KernelDecl],
    kernel: &str,
) -> Result<Option<Candidate>, String> {
    let [] = row.counts([])?;
    if row.take() == OVER_STRIDES {
        return Ok(None);
    }
    let candidate = row.candidate(decls)?;
    let is_tiled = candidate.decl.name == kernel;
    is_tiled.then_some(Some(candidate)).ok_or_else(|| row.mistake(format!("it is no variant of `{kernel}`")))
}
