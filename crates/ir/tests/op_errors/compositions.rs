//! What compositions make of operands that are mistakes themselves.

use pumice_ir::{BuildError, GraphBuilder, f32};

#[test]
fn a_composition_passes_mistakes_on_and_reports_foreign_values() {
    let g = GraphBuilder::new("g");
    let wrong = g.add(g.input("a", f32([2])), g.input("b", f32([3])));
    g.output("y", g.reduce_log_sum_exp(wrong, &[], false));
    assert_eq!(g.mistakes().len(), 1);
    let other = GraphBuilder::new("other").input("x", f32([2]));
    let mistake = g.check(g.reduce_l1(other, &[], false)).expect_err("it is of another graph");
    assert!(matches!(mistake.error, BuildError::ForeignValue { operand: 0, .. }), "{mistake}");
}
