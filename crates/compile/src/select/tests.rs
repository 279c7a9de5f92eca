//! Tables that say otherwise, and tables that are wrong.

use super::*;
use pumice_types::{Table, TableRow};
use std::sync::Arc;

fn changed(target: Target, change: impl FnOnce(&mut Table)) -> Target {
    let mut table = Table::clone(&target.table);
    change(&mut table);
    target.with_table(Arc::new(table))
}

fn row<'t>(table: &'t mut Table, family: &str) -> &'t mut TableRow {
    table.rows.iter_mut().find(|r| r.family == family).expect("a row of that family")
}

fn refusal(change: impl FnOnce(&mut Table)) -> String {
    let target = changed(Target::h200(), change);
    Selection::read(&target, Precision::Exact).expect_err("a wrong table").to_string()
}

#[test]
fn the_tables_of_the_profiles_are_read() {
    for target in [Target::h200(), Target::lavapipe()] {
        Selection::read(&target, Precision::Exact).unwrap_or_else(|e| panic!("{}: {e}", target.name));
    }
}

#[test]
fn arithmetic_without_kernels_is_refused_with_what_works_instead() {
    let asked = Precision::Int8;
    let refused = Selection::read(&Target::h200(), asked).expect_err("no kernels");
    assert_eq!(refused, CompileError::Precision { asked });
    assert!(refused.to_string().contains(asked.name()) && refused.to_string().contains("F16"));
}

#[test]
fn what_a_table_names_must_exist() {
    let says = |change: &dyn Fn(&mut TableRow), what: &str| {
        for family in ["matmul", "attention", "reduce.rows", "elementwise.flat"] {
            let why = refusal(|table| change(row(table, family)));
            assert!(why.contains("selection table `h200`") && why.contains(what), "{why}");
        }
    };
    says(&|r| r.family = "poetry".into(), "`poetry` is no family");
    says(&|r| r.take = "matmul_f32.t17".into(), "no such candidate");
    says(&|r| _ = r.when.insert("moon".into(), "1..".parse().expect("bounds")), "`moon` is no measure");
    says(&|r| _ = r.figures.insert("luck".into(), 7.0), "no figure `luck`");
    let why = refusal(|table| row(table, "reduce.rows").figures.clear());
    assert!(why.contains("reduce.rows, reduce_rows.plain: figure `per_lane` is missing"), "{why}");
}

#[test]
fn figures_must_be_ones_that_kernels_take() {
    let figure = |family: &'static str, name: &'static str, value: f64| {
        refusal(|table| _ = row(table, family).figures.insert(name.into(), value))
    };
    for value in [-1.0, 0.5, f64::NAN, f64::INFINITY, 1e10] {
        let why = figure("reduce.rows", "per_lane", value);
        assert!(why.contains("figure `per_lane`"), "{value}: {why}");
    }
    assert!(figure("reduce.rows", "most_lanes", 512.0).contains("powers of two up to 256"));
    assert!(figure("rows", "least_lanes", 3.0).contains("powers of two"));
    assert!(figure("elementwise.flat", "groups_per_thread", 0.0).contains("none of 1 to"));
}

#[test]
fn a_table_lacks_no_family() {
    for family in ["matmul", "attention", "rows", "reduce.arg", "elementwise.strided"] {
        let why = refusal(|table| table.rows.retain(|r| r.family != family));
        assert!(why.contains(&format!("it has no row of {family}")), "{why}");
    }
    assert!(refusal(|table| table.rows.retain(|r| r.family != "matmul.tile")).contains("matmul.tile"));
    assert!(refusal(|table| table.rows.clear()).contains("pumice tune"));
}

/// A row before the others is taken first: all that adding a variant needs beside its declaration.
#[test]
fn a_row_decides() {
    use pumice_types::{EncodingClass, ProductExtents};
    let product = ProductExtents {
        m: 4096,
        n: 4096,
        k: 4096,
        batches: 1,
        b_along_k: true,
        b_stored: EncodingClass::F32,
        precision: Precision::Exact,
    };
    let choose = |target: &Target| {
        Selection::exact(target).matmul.choose(&product, target).map(|choice| choice.variant.name)
    };
    let target = Target::h200();
    assert_eq!(choose(&target), Some("t128"));
    let faster = changed(target, |table| {
        let row = TableRow {
            family: "matmul.tile".into(),
            encodings: Vec::new(),
            precision: Precision::Exact,
            when: [("m".to_owned(), "4000..".parse().expect("bounds"))].into(),
            take: "matmul_f32.t64".into(),
            figures: [("alone", 0.1), ("crowded", 0.1), ("scalar", 0.0)]
                .map(|(name, value)| (name.to_owned(), value))
                .into(),
        };
        table.rows.insert(0, row);
    });
    assert_eq!(choose(&faster), Some("t64"));
    assert_ne!(faster.table.id().hash, Target::h200().table.id().hash);
}
