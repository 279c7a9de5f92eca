//! Which tests there are, what is remembered of them, and what becomes of units with each table: on the interpreter, as
//! if it were a card with units.

use super::*;
use crate::device::DeviceKind;
use pumice_cpu_ref::interp::Interpreter;
use pumice_types::target::{MatrixScope, MatrixShape};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

/// A card with units of both types, and rows for them.
fn card() -> Target {
    let shape = |factor| MatrixShape {
        m: 16,
        n: 16,
        k: 16,
        a: factor,
        b: factor,
        c: Component::F32,
        result: Component::F32,
        saturates: false,
        scope: MatrixScope::Subgroup,
    };
    let mut card = Target::h200();
    card.features.matrices = PRECISIONS.map(|(_, factor)| shape(factor)).to_vec();
    card.features.float16 = true;
    card
}

/// Such a card with few compute units, whose plans the interpreter runs, by what kernels should make.
fn with_units() -> Device {
    let mut target = card();
    target.tuning.compute_units = 3;
    Device::from_runtime(Arc::new(Interpreter::new(target)), DeviceKind::Gpu)
}

/// The table without the rows that are not kept.
fn table(keep: impl Fn(&TableRow) -> bool) -> Arc<Table> {
    let mut table = Table::clone(&Target::h200().table);
    table.rows.retain(keep);
    Arc::new(table)
}

fn place(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("pumice-matrix-test-{name}-{}", std::process::id()))
}

#[test]
fn a_device_without_units_has_nothing_to_test() {
    let device = Device::cpu();
    assert_eq!((due(device.target()), device.matrix_units()), (vec![], MatrixUnits::Absent));
    let trials = PRECISIONS.map(|(precision, _)| Subject::ALL.map(|subject| Trial { subject, precision }));
    for trial in trials.into_iter().flatten() {
        assert_eq!(trial.run(&device), None, "{trial:?} is not made by units");
    }
}

#[test]
fn products_and_attention_are_tested_where_the_table_has_rows_for_them() {
    let subjects = |keep: &dyn Fn(&TableRow) -> bool| {
        let due = due(&card().with_table(table(keep)));
        due.iter().map(|t| format!("{} {}", t.precision, t.subject.name())).collect::<Vec<_>>()
    };
    let all = ["f16 product", "f16 attention", "bf16 product", "bf16 attention"];
    assert_eq!(subjects(&|_| true), all);
    assert_eq!(subjects(&|row| !row.family.starts_with("attention")), [all[0], all[2]]);
    assert_eq!(subjects(&|row| row.precision != Precision::Bf16), all[..2]);
    assert_eq!(subjects(&|row| row.precision.is_exact()), [""; 0]);
}

/// A table that the file did not know took kernels that nobody had tested.
#[test]
fn what_has_passed_is_remembered_with_its_table() {
    let (device, file) = (with_units(), place("remembered"));
    assert_eq!(device.matrix_units(), MatrixUnits::Used);
    let lines = || fs::read_to_string(&file).map_or(0, |text| text.lines().count());
    assert_eq!((units(&device, Some(&file)), lines()), (MatrixUnits::Used, 4));
    assert_eq!((units(&device, Some(&file)), lines()), (MatrixUnits::Used, 4), "nothing new");
    let other = device.with_table(table(|row| !row.take.contains("16_t32")));
    assert_eq!((units(&other, Some(&file)), lines()), (MatrixUnits::Used, 8));
    fs::write(&file, "damaged").expect("written");
    assert_eq!((units(&other, Some(&file)), lines()), (MatrixUnits::Used, 5));
    fs::remove_file(&file).expect("removed");
}

#[test]
fn units_are_used_by_tables_that_have_rows_for_them() {
    let device = with_units().with_table(table(|row| row.precision.is_exact()));
    assert_eq!(device.matrix_units(), MatrixUnits::Unmeasured);
    assert!(!device.target().features.matrices.is_empty(), "they are there");
    assert_eq!(device.with_table(Target::h200().table).matrix_units(), MatrixUnits::Used);
}

/// It was said that a product of theirs was wrong, and they were gone for every other table.
#[test]
fn a_table_that_cannot_be_compiled_with_says_nothing_of_units() {
    let mut bad = Table::clone(&Target::h200().table);
    bad.rows[0].take = "no such kernel".to_owned();
    let device =
        with_units().with_table(Arc::new(Table { rows: [bad.rows.clone(), unit_rows()].concat(), ..bad }));
    assert_eq!(device.matrix_units(), MatrixUnits::Untested);
    assert!(device.target().features.matrices.is_empty(), "they are not used");
    let device = device.with_table(Target::h200().table);
    assert_eq!(device.matrix_units(), MatrixUnits::Used);
    assert!(!device.target().features.matrices.is_empty());
}

/// Rows for units once more: other rows than those that were tested.
fn unit_rows() -> Vec<TableRow> {
    Target::h200().table.rows.iter().filter(|row| !row.precision.is_exact()).cloned().collect()
}
