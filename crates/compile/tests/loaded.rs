//! What a reduction computes while it loads is no step of its own, whether it is cut into parts or not.

use pumice_compile::{Options, compile};
use pumice_cpu_ref::RefEval;
use pumice_ir::{GraphBuilder, f32};
use pumice_plan::check::check;
use pumice_types::Target;

/// The labels of the steps of a program, but for those of its boundary.
fn steps(make: impl FnOnce(&GraphBuilder)) -> Vec<String> {
    let g = GraphBuilder::new("loaded");
    make(&g);
    let graph = g.build().expect("a program");
    let target = Target::profile("h200").expect("a profile");
    let plan = compile(&graph, &target, &Options::default(), &RefEval).expect("a plan");
    check(&plan).expect("a checked plan");
    let of_values = plan.runs[0].program.steps.iter().filter(|s| *s.origin != *"io");
    of_values.map(|s| s.label()).collect()
}

const ROWS: &str = "reduce_rows.plain [load]";
const COLUMNS: &str = "reduce_columns.plain [load]";

#[test]
fn elementwise_nodes_before_a_reduction_are_part_of_it() {
    let rows = steps(|g| {
        let (x, b) = (g.input("x", f32([64, 512])), g.input("b", f32([64, 1])));
        g.output("y", g.reduce_sum(g.mul(g.square(x), b), &[1], false));
    });
    assert_eq!(rows, [ROWS]);
    let columns = steps(|g| {
        let (x, z) = (g.input("x", f32([64, 4096])), g.input("z", f32([64, 4096])));
        g.output("y", g.reduce_max(g.mul(x, z), &[0], false));
    });
    assert_eq!(columns, [COLUMNS]);
}

#[test]
fn parts_of_a_long_sum_load_what_is_computed_from_parts() {
    let squares = steps(|g| {
        let x = g.input("x", f32([1024, 4096]));
        g.output("y", g.reduce_sum(g.square(x), &[], false));
    });
    assert_eq!(squares, [ROWS, "reduce_rows.plain"]);
}

#[test]
fn what_is_read_elsewhere_and_what_no_kernel_walks_stay_steps() {
    let shared = steps(|g| {
        let x = g.input("x", f32([64, 512]));
        let squares = g.square(x);
        g.output("y", g.reduce_sum(squares, &[1], false));
        g.output("z", g.reduce_sum(squares, &[0], false));
    });
    assert_eq!(shared.iter().filter(|label| label.contains("[load]")).count(), 0, "{shared:?}");
    // Stretched along one of two reduced axes.
    let stretched = steps(|g| {
        let (x, b) = (g.input("x", f32([64, 16, 32])), g.input("b", f32([64, 16, 1])));
        g.output("y", g.reduce_sum(g.mul(x, b), &[1, 2], false));
    });
    assert_eq!(stretched, ["elementwise_strided4.plain [body]", "reduce_rows.plain"]);
}
