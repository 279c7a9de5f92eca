//! The pass that computes values again.

mod common;

use common::{after_last, after_one, assert_same, sample_of};
use pumice_ir::{Graph, GraphBuilder, Op, Value, bool_, f32};
use pumice_opt::NoCostModel;
use pumice_types::Tensor;

/// The pass within so many bytes.
fn within(graph: &Graph, bytes: u64) -> Graph {
    after_one(graph, "recompute", &NoCostModel, Some(bytes))
}

/// The pass that stands after it, within so many bytes.
fn fused_again(graph: &Graph, bytes: u64) -> Graph {
    after_last(graph, "fuse_elementwise", &NoCostModel, Some(bytes))
}

const VALUE: u64 = 16 * 16 * 4;

/// A chain of exp and a way back along it, each step of which reads what the chain made: six values are kept.
fn chain(first: impl Fn(&GraphBuilder, Value) -> Value) -> Graph {
    let g = GraphBuilder::new("chain");
    let mut values = vec![first(&g, g.input("x", f32([16u64, 16])))];
    for _ in 0..5 {
        let last = values[values.len() - 1];
        values.push(g.tanh(g.matmul(last, g.param(&format!("w{}", values.len()), f32([16u64, 16])))));
    }
    let mut back = g.neg(values[values.len() - 1]);
    for v in values.iter().rev() {
        back = g.mul(g.softmax(back, -1), *v);
    }
    g.output("y", back);
    g.build().expect("sound")
}

#[test]
fn nothing_happens_where_there_is_room() {
    let graph = chain(|g, x| g.exp(x));
    assert_eq!(within(&graph, 64 * VALUE), graph);
}

#[test]
fn what_is_repeated_has_the_same_bits() {
    let graph = chain(|g, x| g.exp(x));
    let mut nodes = vec![graph.nodes().len()];
    for room in [6, 5, 4, 3, 2, 1, 0] {
        let less = within(&graph, room * VALUE);
        assert_same(&sample_of(&graph), &graph, &less, "less room");
        nodes.push(less.nodes().len());
    }
    assert!(nodes[2] > nodes[0], "{nodes:?}");
    assert!(nodes.windows(2).all(|n| n[0] <= n[1]), "less room, more nodes: {nodes:?}");
}

/// An elementwise value that an elementwise node reads late is a part of that node then, and nothing is stored twice.
#[test]
fn an_elementwise_value_is_repeated_inside_its_reader() {
    let g = GraphBuilder::new("inside");
    let x = g.input("x", f32([16u64, 16]));
    let kept = g.exp(x);
    let mut y = g.matmul(kept, x);
    for _ in 0..4 {
        y = g.softmax(g.matmul(y, g.matmul(x, x)), -1);
    }
    g.output("y", g.mul(y, kept));
    g.output("z", g.add(g.matmul(y, x), x));
    let graph = g.build().expect("sound");
    let apart = within(&graph, 2 * VALUE);
    let inside = fused_again(&apart, 2 * VALUE);
    let count = |graph: &Graph, is: &dyn Fn(&Op) -> bool| graph.nodes().filter(|(_, n)| is(&n.op)).count();
    let exps = |graph: &Graph| count(graph, &|op| matches!(op, Op::Exp(_)));
    assert_eq!((exps(&graph), exps(&apart), exps(&inside)), (1, 2, 1));
    assert_eq!(count(&inside, &|op| op.body().is_some()), 1);
    assert_same(&sample_of(&graph), &graph, &inside, "inside");
}

/// What was fused before is repeated inside what was fused before: a node of both bodies' nodes.
#[test]
fn a_fused_value_is_repeated_inside_its_fused_reader() {
    let g = GraphBuilder::new("fused");
    let x = g.input("x", f32([16u64, 16]));
    let half = g.constant(Tensor::new(&[0.5f32], &[1]).expect("one number"));
    let kept = g.exp(g.mul(g.neg(x), half));
    let mut y = g.matmul(kept, x);
    for _ in 0..4 {
        y = g.softmax(g.matmul(y, g.matmul(x, x)), -1);
    }
    g.output("y", g.tanh(g.mul(g.mul(y, kept), half)));
    g.output("z", g.add(g.matmul(y, x), x));
    let graph = g.build().expect("sound");
    let fused = after_one(&graph, "fuse_elementwise", &NoCostModel, None);
    let less = fused_again(&within(&fused, 2 * VALUE), 2 * VALUE);
    let nodes = |graph: &Graph| -> Vec<usize> {
        graph.nodes().filter_map(|(_, n)| Some(n.op.body()?.nodes().count())).collect()
    };
    let [first, last] = nodes(&fused)[..] else { panic!("{:?}", nodes(&fused)) };
    // The value between is no input of the body any more, and the number stands in it once for each.
    assert_eq!(nodes(&less), [first, first + last - 1], "{:?}", nodes(&fused));
    assert_same(&sample_of(&graph), &graph, &less, "inside");
}

/// Through a view a value is another one's operand: it is repeated, and stored.
#[test]
fn what_is_read_through_a_view_is_stored_again() {
    let g = GraphBuilder::new("view");
    let x = g.input("x", f32([16u64, 16]));
    let kept = g.exp(x);
    let mut y = g.matmul(kept, x);
    for _ in 0..4 {
        y = g.softmax(g.matmul(y, g.matmul(x, x)), -1);
    }
    g.output("y", g.mul(y, g.transpose(kept, &[1, 0])));
    g.output("z", g.add(g.matmul(y, x), x));
    let graph = g.build().expect("sound");
    let less = fused_again(&within(&graph, 2 * VALUE), 2 * VALUE);
    assert!(less.nodes().all(|(_, node)| node.op.body().is_none()));
    assert_same(&sample_of(&graph), &graph, &less, "view");
}

/// A draw that is repeated is the same draw: its stream and its step are.
#[test]
fn a_draw_is_repeated() {
    let graph = chain(|g, x| g.exp(g.dropout_training(x, 0.5).0));
    let less = within(&graph, 0);
    let draws = |graph: &Graph| graph.nodes().filter(|(_, node)| node.op.stream().is_some()).count();
    assert!(draws(&less) >= draws(&graph), "{}", draws(&less));
    assert_same(&sample_of(&graph), &graph, &less, "draws");
}

/// Views stand between what is repeated and who reads it, and states are written meanwhile.
#[test]
fn views_and_states_are_seen_through() {
    let g = GraphBuilder::new("views");
    let x = g.input("x", f32([16u64, 16]));
    let state = g.state("s", f32([16u64, 16]));
    let kept = g.exp(g.add(x, g.state_read(state)));
    let turned = g.transpose(g.reshape(kept, &[4, 4, 16]), &[2, 0, 1]);
    let mut y = g.matmul(g.reshape(turned, &[16, 16]), x);
    for _ in 0..4 {
        y = g.softmax(g.matmul(y, x), -1);
    }
    let late = g.transpose(kept, &[1, 0]);
    g.state_write(state, g.mul(y, late));
    g.output("y", g.add(g.mul(y, late), g.reshape(turned, &[16, 16])));
    let graph = g.build().expect("sound");
    let less = within(&graph, 0);
    assert!(less.nodes().len() > graph.nodes().len());
    let mut sample = sample_of(&graph);
    sample.runs = 2;
    assert_same(&sample, &graph, &less, "views");
}

/// What a branch or a turn reads besides is made there; what waited for that would be a part of it.
#[test]
fn nothing_waits_for_what_a_branch_or_a_turn_makes() {
    let g = GraphBuilder::new("loop");
    let x = g.input("x", f32([16u64, 16]));
    let a = g.matmul(x, x);
    let b = g.matmul(a, x);
    let d = g.sin(a);
    let taken = g.input("taken", bool_::<u64>([]));
    let [y] = g.if_(taken, |g| [g.matmul(a, b)], |g| [g.matmul(b, d)]);
    let [z] = g.loop_(20u64, [y], |g, _, [y]| [g.tanh(g.add(g.matmul(y, a), d))]);
    g.output("sum", g.add(g.add(z, a), b));
    let graph = g.build().expect("sound");
    for room in [6, 5, 4, 3, 2, 1, 0] {
        let less = within(&graph, room * VALUE);
        assert_same(&sample_of(&graph), &graph, &less, "less room");
    }
}
