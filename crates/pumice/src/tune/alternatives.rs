//! What may stand in a row's place: other kernels and rules of the family, other figures. Classes of shapes stay as
//! they are.

use super::Scope;
use pumice_compile::select::Selection;
use pumice_plan::kernels;
use pumice_types::{Precision, Table, TableRow, Target};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Figures that are varied by these factors, whatever family they are of.
const FACTORS: [(&str, &[f64]); 10] = [
    ("per_lane", &[0.25, 0.5, 2.0, 4.0]),
    ("per_thread", &[0.25, 4.0]),
    ("most_run", &[0.25, 4.0]),
    ("load_levels", &[0.5, 2.0]),
    ("scattered_share", &[0.5, 2.0]),
    ("groups_per_unit", &[0.5, 2.0, 4.0]),
    ("terms", &[0.5, 2.0]),
    ("least", &[0.25, 4.0]),
    ("least_elements", &[0.25, 4.0]),
    ("groups_per_thread", &[0.5, 2.0, 4.0]),
];

/// Figures that are replaced by these values.
const VALUES: [(&str, &[f64]); 2] = [("quads", &[2.0, 4.0, 8.0, 16.0]), ("kept_quads", &[1.0, 4.0, 16.0])];

/// What rows of a family take by name, without figures, besides kernels of these.
const RULES: [(&str, &str, &[&str]); 4] = [
    ("softmax.rows", "row", &["softmax_rows"]),
    ("softmax.rows", "reductions", &[]),
    ("elementwise.crossed", "strided", &["elementwise_tiles"]),
    ("copy.transposed", "strided", &["transpose"]),
];

/// Every row that may stand in the place of row `at`: what other rows of its family take, each variant of their kernels
/// (unless the scope is tiny), and its own figures varied one at a time; of these what the compiler reads as a row for
/// the target.
pub fn of(target: &Target, table: &Table, at: usize, scope: Scope) -> Vec<TableRow> {
    let row = &table.rows[at];
    let mut others: Vec<TableRow> = Vec::new();
    let candidates = named(row, scope).into_iter().chain(of_peers(table, row, scope)).chain(varied(row));
    for (take, figures) in candidates {
        let other = TableRow { take, figures, ..row.clone() };
        if other != *row && !others.contains(&other) {
            others.push(other);
        }
    }
    others.retain(|other| is_read(target, table, at, other));
    others
}

/// What a row takes, and its figures.
type Candidate = (String, BTreeMap<String, f64>);

/// Rules of the family and kernels that rows name beside them, without figures.
fn named(row: &TableRow, scope: Scope) -> Vec<Candidate> {
    let mut all = Vec::new();
    for (_, rule, kernels) in RULES.iter().filter(|(family, ..)| *family == row.family) {
        let decls = kernels.iter().filter_map(|kernel| kernels::find(kernel));
        let variants = decls.flat_map(|d| d.variants.iter().map(|v| format!("{}.{}", d.name, v.name)));
        let variants = variants.take(if scope > Scope::Tiny { usize::MAX } else { 1 });
        all.extend([(*rule).to_owned()].into_iter().chain(variants).map(|take| (take, BTreeMap::new())));
    }
    all
}

/// What other rows of the family take, and each variant of their kernels.
fn of_peers(table: &Table, row: &TableRow, scope: Scope) -> Vec<Candidate> {
    let mut all = Vec::new();
    if !row.take.contains('.') {
        return all;
    }
    for peer in table.family(&row.family).filter(|peer| peer.take.contains('.')) {
        let decl = kernels::find(peer.take.split('.').next().unwrap_or_default());
        let variants = decl.into_iter().flat_map(|d| d.variants.iter().map(move |v| (d.name, v.name)));
        all.push((peer.take.clone(), peer.figures.clone()));
        if scope > Scope::Tiny {
            all.extend(variants.map(|(name, variant)| (format!("{name}.{variant}"), peer.figures.clone())));
        }
    }
    all
}

/// The row's own candidate with its figures varied, one at a time.
fn varied(row: &TableRow) -> Vec<Candidate> {
    let mut all = Vec::new();
    for (name, value) in &row.figures {
        let varied =
            FACTORS.iter().filter(|(n, _)| n == name).flat_map(|(_, by)| by.iter().map(|f| value * f));
        let given = VALUES.iter().filter(|(n, _)| n == name).flat_map(|(_, to)| to.iter().copied());
        for other in varied.chain(given) {
            let mut figures = row.figures.clone();
            figures.insert(name.clone(), other);
            all.push((row.take.clone(), figures));
        }
    }
    all
}

/// Whether the compiler takes a table with that row: variants of other widths may lack its figures.
fn is_read(target: &Target, table: &Table, at: usize, row: &TableRow) -> bool {
    let mut table = table.clone();
    table.rows[at] = row.clone();
    Selection::read(&target.clone().with_table(Arc::new(table)), Precision::Exact).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every row with something to choose has alternatives, and none is the row itself.
    #[test]
    fn rows_have_alternatives() {
        for target in [Target::h200(), Target::lavapipe()] {
            let mut number = 0;
            for at in 0..target.table.rows.len() {
                let others = of(&target, &target.table, at, Scope::Full);
                assert!(!others.contains(&target.table.rows[at]));
                number += others.len();
            }
            assert!(number > 60, "{}: {number}", target.name);
        }
    }
}
