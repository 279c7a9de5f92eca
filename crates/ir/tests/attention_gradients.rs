//! Which gradients of an attention are by its own kernels, and that no value of all pairs of queries and keys is kept
//! for them.

use pumice_ir::ops::Attention;
use pumice_ir::ops::attention_operands::AttentionOperands;
use pumice_ir::shape::DimSpec;
use pumice_ir::{Graph, GraphBuilder, Value, f32, sym, tensor};
use pumice_types::DType;

/// A loss of the results that are asked for, by queries, keys, values, and the operands of `more`.
fn differentiated(
    op: Attention,
    dtype: DType,
    width: DimSpec,
    more: impl Fn(&GraphBuilder) -> (AttentionOperands, Vec<Value>),
    loss_of: [bool; 2],
) -> Graph {
    let g = GraphBuilder::new("g");
    let shape = || [2.into(), 4.into(), 96.into(), width.clone()];
    let qkv = ["q", "k", "v"].map(|name| g.input(name, tensor(dtype, shape())));
    let (operands, wanted) = more(&g);
    let results = g.attention_with(qkv, operands, op);
    let summed = [results.0, results.1].into_iter().zip(loss_of).filter(|(_, asked)| *asked);
    let sums: Vec<Value> =
        summed.map(|(x, _)| g.reduce_sum(g.cast(g.square(x), DType::F32), &[], false)).collect();
    let loss = g.sum(&sums);
    let wanted: Vec<Value> = qkv.into_iter().chain(wanted).collect();
    for (i, gradient) in g.grad(loss, &wanted).into_iter().enumerate() {
        g.output(&format!("gradient {i}"), gradient);
    }
    g.build().expect("a graph")
}

fn nothing(_: &GraphBuilder) -> (AttentionOperands, Vec<Value>) {
    Default::default()
}

/// How many nodes of its own an attention's gradient has.
fn kernels(graph: &Graph) -> usize {
    graph.nodes().filter(|(_, node)| node.op.name() == "attention_grad").count()
}

fn keeps_pairs(graph: &Graph) -> bool {
    let all = graph.nodes().flat_map(|(_, node)| node.outputs.clone());
    all.into_iter().any(|v| graph.ty(v).shape.iter().filter(|extent| extent.is(96)).count() > 1)
}

#[test]
fn by_kernels_no_pair_is_kept() {
    let windowed = Attention { causal: true, left: 9, softcap: 3.0, ..Attention::default() };
    for op in [Attention::default(), windowed] {
        for loss_of in [[true, false], [true, true]] {
            let graph = differentiated(op.clone(), DType::F32, 16.into(), nothing, loss_of);
            assert_eq!((kernels(&graph), keeps_pairs(&graph)), (2, false), "{op:?} {loss_of:?}");
        }
    }
    let sunk = |g: &GraphBuilder| {
        let sinks = Some(g.input("sinks", f32([4])));
        (AttentionOperands { sinks, ..AttentionOperands::default() }, Vec::new())
    };
    assert_eq!(kernels(&differentiated(Attention::default(), DType::F32, 16.into(), sunk, [true, false])), 2);
    let scaled = Attention { scale: Some(0.5), ..Attention::default() };
    assert_eq!(kernels(&differentiated(scaled, DType::F32, sym("w", 1..=32), nothing, [true, false])), 2);
}

#[test]
fn what_kernels_do_not_take_is_made_of_ops() {
    let of = |op: Attention, dtype, width: DimSpec, loss_of| {
        kernels(&differentiated(op, dtype, width, nothing, loss_of))
    };
    let default = Attention::default;
    let dropping = Attention { dropout: 0.5, ..default() };
    assert_eq!(of(dropping, DType::F32, 16.into(), [true, false]), 0, "dropout");
    assert_eq!(of(default(), DType::F16, 16.into(), [true, false]), 0, "16 bits");
    assert_eq!(of(default(), DType::F32, sym("w", 1..=32), [true, false]), 0, "a symbolic width");
    assert_eq!(of(default(), DType::F32, 16.into(), [false, true]), 0, "of sums alone");
}

#[test]
fn slopes_and_a_masks_gradient_are_made_of_ops() {
    let of = |more: &dyn Fn(&GraphBuilder) -> (AttentionOperands, Vec<Value>)| {
        kernels(&differentiated(Attention::default(), DType::F32, 16.into(), more, [true, false]))
    };
    let sloped = |g: &GraphBuilder| {
        let alibi = Some(g.input("alibi", f32([4])));
        (AttentionOperands { alibi, ..AttentionOperands::default() }, Vec::new())
    };
    assert_eq!(of(&sloped), 0, "slopes");
    let masked = |g: &GraphBuilder| {
        let mask = g.input("mask", f32([96, 96]));
        (AttentionOperands { mask: Some(mask), ..AttentionOperands::default() }, vec![mask])
    };
    assert_eq!(of(&masked), 0, "a mask's");
}
