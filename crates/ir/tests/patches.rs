//! What applying a patch keeps.

use pumice_ir::ops::Mul;
use pumice_ir::{Form, Graph, GraphBuilder, Patch, PatchRef, f32, sym, text, verify};
use pumice_types::Tensor;

fn names(graph: &Graph, values: &[pumice_ir::ValueId]) -> Vec<String> {
    values.iter().map(|&v| graph.value(v).name.to_string()).collect()
}

/// A node that comes to need a later leaf takes the leaves before that one along: extents know scalars, and plans know
/// params, inputs and states, by their numbers. Two params once changed places.
#[test]
fn leaves_keep_their_order() {
    let g = GraphBuilder::new("g");
    let x = g.input("x", f32([4u64]));
    let y = g.mul(x, g.param("a", f32([4u64])));
    let (b, c) = (g.param("b", f32([4u64])), g.param("c", f32([4u64])));
    let late = g.input("late", f32([4u64]));
    g.output("z", g.mul(g.mul(y, b), g.mul(c, late)));
    let graph = g.build().expect("a graph");
    let value = |name: &str| graph.find(name).expect("it is there");
    let first = graph.nodes().find(|(_, n)| matches!(n.op, pumice_ir::Op::Mul(_))).expect("a product").1;
    let mut patch = Patch::new("multiply by c and late at once");
    let product = patch.add(Mul {}, "early", &[PatchRef::Old(value("c")), PatchRef::Old(value("late"))]);
    patch.replace(first.output(), product);
    let patched = graph.apply(&[patch]).expect("it can be applied");
    assert_eq!(names(&patched, &patched.params()), ["a", "b", "c"]);
    assert_eq!(names(&patched, &patched.inputs()), ["x", "late"]);
    let at = |name: &str| patched.value(patched.find(name).expect("it is there")).def.0;
    assert!(at("c") < at("early") && at("late") < at("early"), "{patched:?}");
    assert!(at("b") < at("c"));
}

/// A later input is pulled forward, and with it the state before it, whose constant stands after the patched node.
#[test]
fn a_state_that_comes_earlier_brings_what_it_begins_as() {
    let g = GraphBuilder::new("g");
    let x = g.input("x", f32([2]));
    let y = g.named("m").neg(x);
    let s = g.state_from("s", g.constant(Tensor::new(&[1f32, 2.0], &[2]).expect("two elements")));
    let late = g.input("late", f32([2]));
    g.output("y", g.add(g.mul(y, late), g.state_read(s)));
    let graph = g.build().expect("sound");
    let find = |name: &str| graph.find(name).expect("there");
    let mut patch = Patch::new("m needs late");
    let product = patch.add(Mul {}, "n", &[PatchRef::Old(find("x")), PatchRef::Old(find("late"))]);
    patch.replace(find("m"), product);
    let after = graph.apply(&[patch]).expect("applies");
    verify(&after, Form::Source).expect("sound");
    assert_eq!(after.inputs().len(), 2);
}

/// A condition named the node of a patch by the name that the patch wanted, which may be another node's.
#[test]
fn a_condition_names_the_node_as_the_graph_does() {
    let g = GraphBuilder::new("g");
    let (x, y) = (g.input("x", f32([sym("n", 2..=9)])), g.input("y", f32([sym("m", 2..=9)])));
    let kept = g.named("kept").neg(x);
    g.output("kept", kept);
    g.output("z", g.named("old").exp(kept));
    g.output("y", y);
    let graph = g.build().expect("sound");
    let find = |name: &str| graph.find(name).expect("there");
    let mut patch = Patch::new("a product of other extents");
    let product = patch.add(Mul {}, "kept", &[PatchRef::Old(find("kept")), PatchRef::Old(find("y"))]);
    patch.replace(find("old"), product);
    let after = graph.apply(&[patch]).expect("applies");
    let about: Vec<&str> = after.constraints().iter().map(|c| &*c.what).collect();
    assert!(matches!(about[..], [what] if what.starts_with("kept_2 (mul): ")), "{about:?}");
    assert_eq!(text::read(&text::print(&after)), Ok(after));
}
