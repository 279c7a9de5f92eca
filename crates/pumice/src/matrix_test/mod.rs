//! Whether a device's matrix units make of f16 and bf16 what they should, before anything is compiled for them.
//!
//! In: an open device, the file that remembers. Out: what becomes of its units, by one product and one attention in
//! each precision that the device has matrices for and its table rows. What is right: `product`, `attention`; what is
//! remembered: `passed`. Never here: a figure, a choice.

mod attention;
mod numbers;
mod passed;
mod product;

use crate::Options;
use crate::device::{Device, MatrixUnits};
use pumice_ir::Graph;
use pumice_runtime::Executable;
use pumice_types::target::{Component, Target};
use pumice_types::{Precision, Table, TableRow};
use std::path::Path;

/// The precisions that units may have, with the type that they multiply in.
const PRECISIONS: [(Precision, Component); 2] =
    [(Precision::F16, Component::F16), (Precision::Bf16, Component::BF16)];

/// What one test is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Trial {
    subject: Subject,
    precision: Precision,
}

/// Kernels that have fragments of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    /// Products, and convolutions, whose tiles are theirs.
    Product,
    /// Both products of attention.
    Attention,
}

impl Subject {
    const ALL: [Subject; 2] = [Subject::Product, Subject::Attention];

    fn of(row: &TableRow) -> Subject {
        if row.family.starts_with("attention") { Subject::Attention } else { Subject::Product }
    }

    fn name(self) -> &'static str {
        match self {
            Subject::Product => "product",
            Subject::Attention => "attention",
        }
    }
}

impl Trial {
    /// Whether what the units made was right; none where they made nothing: something refuses, or the table takes no
    /// kernel of theirs for it.
    fn run(self, device: &Device) -> Option<bool> {
        match self.subject {
            Subject::Product => product::is_right_by_units(device, self.precision),
            Subject::Attention => attention::is_right_by_units(device, self.precision),
        }
    }
}

/// What becomes of the units: a test that passed with the same table, as the file of an earlier opening says, is not
/// made again.
pub(crate) fn units(device: &Device, file: Option<&Path>) -> MatrixUnits {
    if device.target().features.matrices.is_empty() {
        return MatrixUnits::Absent;
    }
    let due = due(device.target());
    if due.is_empty() {
        return MatrixUnits::Unmeasured;
    }
    let table = device.target().table.id();
    let known = file.map(passed::read).unwrap_or_default();
    let is_new = |trial: &Trial| !known.contains(&passed::line(&table, *trial));
    let new: Vec<Trial> = due.into_iter().filter(is_new).collect();
    let verdicts: Vec<Option<bool>> = new.iter().map(|trial| trial.run(device)).collect();
    if verdicts.contains(&Some(false)) {
        return MatrixUnits::Wrong;
    }
    if verdicts.contains(&None) {
        return MatrixUnits::Untested;
    }
    if let Some(file) = file.filter(|_| !new.is_empty()) {
        passed::add(file, known, new.iter().map(|trial| passed::line(&table, *trial)));
    }
    MatrixUnits::Used
}

/// Whether two tables have the same rows for units, so that what was tested with one is tested with the other.
pub(crate) fn have_same_rows(a: &Table, b: &Table) -> bool {
    let rows = |table: &'_ Table| -> Vec<TableRow> {
        table.rows.iter().filter(|row| !row.precision.is_exact()).cloned().collect()
    };
    rows(a) == rows(b)
}

/// What there is to test: in the precisions whose matrices the device has, what its table has rows for.
fn due(Target { features, table, .. }: &Target) -> Vec<Trial> {
    let has = |component: Component| features.matrices.iter().any(|shape| shape.has(component));
    let precisions = PRECISIONS.into_iter().filter(|(_, component)| has(*component));
    let trials =
        precisions.flat_map(|(precision, _)| Subject::ALL.map(|subject| Trial { subject, precision }));
    let has_row = |trial: &Trial| {
        table.rows.iter().any(|row| row.precision == trial.precision && Subject::of(row) == trial.subject)
    };
    trials.filter(has_row).collect()
}

/// The graph compiled with that precision, if a step of it is made by units.
fn by_units(graph: &Graph, device: &Device, precision: Precision) -> Option<Executable> {
    let exe = crate::compile(graph, device, &Options::default().precision(precision)).ok()?;
    let has_step = exe
        .plan()
        .runs
        .iter()
        .flat_map(|run| &run.program.steps)
        .any(|step| step.cost.precision == precision);
    has_step.then_some(exe)
}

#[cfg(test)]
mod tests;
