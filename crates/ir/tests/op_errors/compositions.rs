//! What compositions make of operands that are mistakes themselves.

use pumice_ir::{BuildError, GraphBuilder, f32, sym};

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

/// Parts of a composition are called after it, its last node and its mistakes as the method, or as the user says.
#[test]
fn compositions_go_by_their_own_name() {
    let g = GraphBuilder::new("g");
    let refused = g.check(g.named("spread").std_dev(g.input("x", f32([2])), &[], 3, false));
    let refused = refused.expect_err("no such correction").to_string();
    let wanted = "spread (std_dev): attribute `correction`: it is 3, and must be 0 or 1, at ";
    assert!(refused.starts_with(wanted) && refused.contains("op_errors"), "{refused}");
    let g = GraphBuilder::new("g");
    let x = g.input("x", f32([sym("n", 0..=4), 3.into()]));
    g.output("l2", g.reduce_l2(x, &[0], true));
    g.scoped("layer", |g| g.output("spread", g.named("spread").variance(x, &[0], 1, false)));
    g.output("after", g.neg(x));
    let graph = g.build().expect("sound");
    let parts = ["reduce_l2", "reduce_l2.square", "layer.spread", "layer.spread.div", "neg"];
    let absent: Vec<_> = parts.iter().filter(|name| graph.find(name).is_none()).collect();
    assert!(absent.is_empty(), "{absent:?} of {graph:?}");
}
