//! A table that an embedding and a product share has one gradient: the product, to which rows are added.

use pumice_compile::{Options, compile};
use pumice_cpu_ref::RefEval;
use pumice_ir::{GraphBuilder, Value, f32, i32};
use pumice_plan::Plan;
use pumice_plan::check::check;
use pumice_types::Target;

const TABLE: [u64; 2] = [600, 64];

/// The gradient of a table by an embedding, and by a product where `is_tied`.
fn plan(target: &Target, is_tied: bool, head: impl Fn(&GraphBuilder, Value, Value) -> Value) -> Plan {
    let g = GraphBuilder::new("tied");
    let (ids, table) = (g.input("ids", i32([96])), g.param("table", f32(TABLE)));
    let h = g.tanh(g.embedding(table, ids));
    let out = if is_tied { head(&g, h, table) } else { h };
    let loss = g.reduce_mean(g.square(out), &[], false);
    g.output("dtable", g.grad(loss, &[table])[0]);
    let graph = g.build().expect("the graph is sound");
    let plan = compile(&graph, target, &Options::default(), &RefEval).expect("it compiles");
    check(&plan).unwrap_or_else(|faults| panic!("{faults:?}"));
    plan
}

/// Labels of the steps that write as much as the table.
fn writers(plan: &Plan) -> Vec<String> {
    let bytes = TABLE[0] * TABLE[1] * 4;
    let writes = |step: &&pumice_plan::Step| {
        let mut uses = step.uses.iter().filter(|u| u.access.writes());
        uses.any(|u| u.span.len.0 == bytes)
    };
    plan.runs[0].program.steps.iter().filter(writes).map(|step| step.label()).collect()
}

#[test]
fn rows_are_added_to_the_product() {
    for target in [Target::h200(), Target::lavapipe()] {
        let linear = writers(&plan(&target, true, |g, h, table| g.linear(h, table, None)));
        let [product, scatter] = &linear[..] else { panic!("no other step writes a table: {linear:?}") };
        assert!(product.starts_with("matmul") && scatter.starts_with("scatter"), "{linear:?}");
        // The product of a transposed table has a transposed gradient, which rows are added to in order.
        let found = writers(&plan(&target, true, |g, h, table| g.matmul(h, g.transpose(table, &[1, 0]))));
        let [product, transposed, scatter] = &found[..] else { panic!("no zeros and no sum: {found:?}") };
        assert!(product.starts_with("matmul") && scatter.starts_with("scatter"), "{found:?}");
        assert!(transposed.starts_with("transpose"), "{found:?}");
    }
}

/// An embedding alone begins from zeros; two of them add to one another.
#[test]
fn embeddings_alone_add_to_zeros() {
    let target = Target::lavapipe();
    let scatters = |plan: &Plan| writers(plan).iter().filter(|label| label.starts_with("scatter")).count();
    let alone = plan(&target, false, |_, h, _| h);
    assert_eq!(scatters(&alone), 1, "{:?}", writers(&alone));
    let twice = plan(&target, true, |g, h, table| {
        let other = g.embedding(table, g.input("other", i32([96])));
        g.mul(h, other)
    });
    let found = writers(&twice);
    assert_eq!(scatters(&twice), 2, "{found:?}");
    assert_eq!(found.len() - 2, writers(&alone).len() - 1, "one table of zeros at most, no sum: {found:?}");
}
