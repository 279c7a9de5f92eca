//! Selection tables from end to end: one that is measured here, and one that says otherwise.

use pumice::tune::{Scope, Tuner};
use pumice::{CompileError, Device, DeviceKind, Error, GraphBuilder, Options, Plan, Precision, Table, f32};
use pumice_plan::StepKind;
use pumice_tests::device;
use pumice_vulkan::DeviceOptions;
use std::sync::Arc;

fn kernels(plan: &Plan) -> Vec<String> {
    let steps = plan.runs.iter().flat_map(|r| &r.program.steps);
    let label = |s: &pumice_plan::Step| match &s.kind {
        StepKind::Dispatch { call, .. } => Some(format!("{}.{}", call.kernel, call.variant)),
        _ => None,
    };
    steps.filter_map(label).collect()
}

fn product() -> pumice::Graph {
    let g = GraphBuilder::new("product");
    g.output("y", g.matmul(g.input("x", f32([1u64, 64])), g.param("w", f32([64u64, 32]))));
    g.build().expect("a graph")
}

#[test]
fn a_table_that_says_otherwise_changes_the_choice_and_the_plan_says_which() {
    let device = Device::cpu();
    let text = device.target().table.to_json().expect("JSON");
    let own = pumice::plan(&product(), device.target(), &Options::default()).expect("compiles");
    assert_eq!(kernels(&own), ["matmul_f32_lanes.shuffle_row"]);
    let other = text.replace(
        "matmul_f32_lanes.shuffle_row",
        "matmul_f32_columns.plain\",\"figures\":{\"quads\":8.0},\"x\":\"",
    );
    assert!(Table::from_json(&other).is_err(), "no such field");
    let other = text.replace(
        "\"take\":\"matmul_f32_lanes.shuffle_row\"",
        "\"take\":\"matmul_f32_columns.plain\",\"figures\":{\"quads\":8.0}",
    );
    let table = Arc::new(Table::from_json(&other).expect("a table"));
    let device = device.with_table(table.clone());
    let plan = pumice::plan(&product(), device.target(), &Options::default()).expect("compiles");
    assert_eq!(kernels(&plan), ["matmul_f32_columns.plain"]);
    assert_eq!(plan.table, table.id());
    assert_ne!(plan.table.hash, own.table.hash);
    assert!(plan.to_string().contains(&format!("table {}", table.id())), "{}", *plan);
    assert!(plan.target.table.rows.is_empty(), "plans keep the identity alone");
}

#[test]
fn what_cannot_be_computed_is_refused_before_anything_else() {
    let device = Device::cpu();
    let asked = Precision::Int8;
    let options = Options::default().precision(asked);
    let refused = pumice::plan(&product(), device.target(), &options).expect_err("no kernels");
    assert!(matches!(refused, Error::Compile(CompileError::Precision { asked: a }) if a == asked));
    let wrong = device.target().table.to_json().expect("JSON").replace("shuffle_row", "shuffle_column");
    let device = device.with_table(Arc::new(Table::from_json(&wrong).expect("a table")));
    let refused = pumice::plan(&product(), device.target(), &Options::default()).expect_err("no candidate");
    assert!(matches!(refused, Error::Compile(CompileError::Table { .. })), "{refused}");
}

mod on_device {
    use super::*;

    /// A tiny grid on the device at hand: what is written is read again, and compiles.
    #[test]
    fn a_device_is_tuned() {
        let vulkan = device::open(&DeviceOptions::default());
        let device = Device::from_runtime(vulkan, DeviceKind::CpuDriver);
        let mut rows = Vec::new();
        let only = ["reduce.rows", "rows", "elementwise.flat", "elementwise.crossed", "copy.transposed"]
            .map(str::to_owned)
            .to_vec();
        let mut observe = |p: &pumice::tune::Progress| rows.push(p.done);
        let mut tuner =
            Tuner { device: device.clone(), scope: Scope::Tiny, only, time: None, observe: &mut observe };
        let pumice::tune::Report { table, findings, .. } = tuner.run("here", "a test").expect("measures");
        let read = Table::from_json(&table.to_json().expect("numbers")).expect("a table");
        assert_eq!(read, table);
        assert_eq!((read.class.as_str(), read.measured.as_str()), ("here", "a test"));
        assert_eq!(rows.len(), table.rows.len() + 1);
        let families: Vec<&str> = findings.iter().map(|f| f.family.as_str()).collect();
        for family in ["reduce.rows", "rows", "elementwise.crossed", "copy.transposed"] {
            assert!(families.contains(&family), "{families:?}");
        }
        assert!(
            findings.iter().all(|f| f.share > 0.0 && f.share <= 1.0 && !f.shapes.is_empty()),
            "{findings:?}"
        );
        let device = device.with_table(Arc::new(read.clone()));
        let exe = pumice::compile(&product(), &device, &Options::default()).expect("compiles");
        assert_eq!(exe.plan().table, read.id());
    }
}
