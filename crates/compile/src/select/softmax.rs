//! Softmax along rows: the variant and the threads of a row.
//!
//! A row of the table names a variant of `softmax_rows`, of which a whole group takes each row, or says `row`: the threads and
//! the variant are those of norms (`lanes`); or it says `reductions`: few rows are so long that reductions of their parts are
//! faster, of which the passes make them; what they leave (none is cut where the rounding of parts would show) takes the next
//! row of the table that holds.

use super::lanes::RowRules;
use super::rule::{Candidate, Reader, Rule};
use pumice_plan::kernels::softmax::{DECLS, SoftmaxRows};
use pumice_types::{EncodingClass, Target};

/// Families of rows that are read here.
pub const FAMILIES: &[&str] = &["softmax.rows"];
/// Elements of a row; rows; how often a group for each row fills all compute units, rounded up.
const MEASURES: &[&str] = &["n", "rows", "waves"];

/// Threads of a group whose variant does not say otherwise.
const THREADS: u64 = 256;

/// How a softmax along rows is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowForm {
    /// The variant.
    pub variant: &'static str,
    /// Threads of a row.
    pub lanes: u32,
    /// Threads of a group.
    pub threads: u32,
}

#[derive(Clone, Copy, Debug)]
enum Take {
    /// A group for each row.
    Group(Candidate),
    /// As norms.
    Row,
    /// Not in one step.
    Reductions,
}

/// Rules of softmax along rows.
#[derive(Clone, Debug)]
pub struct Rules(Vec<Rule<Take>>);

impl Rules {
    /// Reads the rows of the table.
    pub fn read(reader: &Reader<'_>) -> Result<Rules, String> {
        let rules = reader.some_rules("softmax.rows", MEASURES, |row| {
            let [] = row.counts([])?;
            match row.take() {
                "row" => return Ok(Take::Row),
                "reductions" => return Ok(Take::Reductions),
                _ => (),
            }
            let candidate = row.candidate(DECLS)?;
            let takes_rows = candidate.decl.name == SoftmaxRows::DECL.name;
            takes_rows.then_some(Take::Group(candidate)).ok_or_else(|| row.mistake("it takes no rows"))
        });
        Ok(Rules(rules?))
    }

    /// Whether reductions and elementwise steps are faster for at most `rows` rows of at most `n` elements.
    pub fn is_faster_apart(&self, rows: u64, n: u64, target: &Target) -> bool {
        let measures = measures(rows, n, target);
        let first = self.0.iter().find(|r| r.holds(&measures, EncodingClass::F32));
        first.is_some_and(|r| matches!(r.take, Take::Reductions))
    }

    /// The form for at most `rows` rows of at most `n` elements; `norms` are the rules of the row kernels.
    pub fn choose(&self, rows: u64, n: u64, norms: &RowRules, target: &Target) -> RowForm {
        let measures = measures(rows, n, target);
        let rule = self.0.iter().find(|r| {
            r.holds(&measures, EncodingClass::F32)
                && match &r.take {
                    Take::Row => true,
                    Take::Reductions => false,
                    Take::Group(candidate) => takes(candidate, n, target),
                }
        });
        match rule.map(|r| r.take) {
            Some(Take::Group(candidate)) => {
                let threads = threads_of(&candidate) as u32;
                RowForm { variant: candidate.variant.name, lanes: threads, threads }
            }
            Some(Take::Row | Take::Reductions) | None => {
                let (variant, lanes) = norms.choose(n);
                RowForm { variant, lanes, threads: THREADS as u32 }
            }
        }
    }
}

fn measures(rows: u64, n: u64, target: &Target) -> [u64; 3] {
    [n, rows, rows.div_ceil(u64::from(target.tuning.compute_units.max(1)))]
}

fn threads_of(candidate: &Candidate) -> u64 {
    candidate.define("THREADS").unwrap_or(THREADS)
}

/// Whether a group of the variant takes rows of `n` elements at all: what keeps a row keeps so many quads a thread, and loops
/// end by themselves.
fn takes(candidate: &Candidate, n: u64, target: &Target) -> bool {
    let threads = threads_of(candidate);
    let kept = candidate.define("KEEP_ROW");
    kept.is_none_or(|quads| n <= 4 * threads * quads)
        && candidate.runs_on(target)
        && candidate.ends(target, &[("n", n), ("lanes", threads)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::Selection;
    use pumice_types::Table;
    use std::sync::Arc;

    fn form(target: &Target, rows: u64, n: u64) -> (&'static str, u32, u32) {
        let read = Selection::exact(target);
        let form = read.softmax_rows.choose(rows, n, &read.rows, target);
        (form.variant, form.lanes, form.threads)
    }

    #[test]
    fn few_or_long_rows_of_a_gpu_get_large_groups() {
        let gpu = Target::h200();
        assert_eq!(form(&gpu, 132, 4096), (SoftmaxRows::fast4, 256, 256), "short");
        assert_eq!(form(&gpu, 132, 4097), (SoftmaxRows::wide4, 1024, 1024));
        assert_eq!(form(&gpu, 133, 4097), (SoftmaxRows::fast8, 256, 256), "every compute unit has a row");
        assert_eq!(form(&gpu, 133, 16_384), (SoftmaxRows::fast16, 256, 256));
        assert_eq!(form(&gpu, 133, 16_385), (SoftmaxRows::wide8, 1024, 1024));
        assert_eq!(form(&gpu, 1, 32_768), (SoftmaxRows::wide8, 1024, 1024));
        assert_eq!(form(&gpu, 1, 32_769), (SoftmaxRows::wide, 1024, 1024));
        assert_eq!(form(&Target::lavapipe(), 1, 131_072), (SoftmaxRows::plain, 256, 256));
        let mut small = gpu;
        small.limits.max_workgroup_invocations = 512;
        assert_eq!(form(&small, 1, 32_769), (SoftmaxRows::plain, 256, 256));
    }

    /// A row that a variant cannot keep is not given to it, whatever the table says.
    #[test]
    fn a_table_cannot_give_a_variant_rows_that_it_cannot_keep() {
        let mut table = Table::clone(&Target::h200().table);
        let row = table.rows.iter_mut().find(|r| r.take == "softmax_rows.wide4").expect("a row");
        row.when.clear();
        let target = Target::h200().with_table(Arc::new(table));
        assert_eq!(form(&target, 1, 16_384).0, SoftmaxRows::wide4);
        assert_eq!(form(&target, 1, 16_385).0, SoftmaxRows::wide8);
    }
}
