//! Inputs whose elements an op takes as indices: targets that are classes, ids of an embedding. A host that looks at
//! them first learns nothing from a batch that is wrong, and says which row it is.

use pumice_ir::ops::{IndexRange, NodeCx};
use pumice_ir::{CallSite, Graph, ValueId};
use pumice_types::{DType, TensorView};

/// An input of indices, and the op that takes them.
#[derive(Clone, Debug)]
pub struct IndexInput {
    /// The input's name.
    pub name: String,
    /// Which of them are in range.
    pub range: IndexRange,
    /// The op's name.
    pub op: &'static str,
    /// Where the op was added, where that is known.
    pub site: Option<CallSite>,
}

impl IndexInput {
    /// The first element out of range: its place in row-major order, and what it is. None of other dtypes.
    pub fn first_outside(&self, tensor: &TensorView<'_>) -> Option<(usize, i64)> {
        let outside = |index: i64| !self.range.has(index);
        match tensor.encoding().plain()? {
            DType::I32 => first(tensor.bytes(), |b| i64::from(i32::from_le_bytes(b)), outside),
            DType::I64 => first(tensor.bytes(), i64::from_le_bytes, outside),
            _ => None,
        }
    }
}

fn first<const N: usize>(
    bytes: &[u8],
    number: impl Fn([u8; N]) -> i64,
    is_wrong: impl Fn(i64) -> bool,
) -> Option<(usize, i64)> {
    let numbers = bytes.chunks_exact(N).filter_map(|chunk| Some(number(*chunk.first_chunk()?)));
    numbers.enumerate().find(|&(_, index)| is_wrong(index))
}

/// The inputs of a graph that an op takes as indices of constantly many, all of them and unchanged: as they are, or in
/// another shape. An input may be there for several ops.
pub fn index_inputs(graph: &Graph) -> Vec<IndexInput> {
    let users = graph.users();
    let mut found = Vec::new();
    for input in graph.inputs() {
        let (mut shown, mut next) = (vec![input], 0);
        while let Some(&v) = shown.get(next) {
            next += 1;
            for &id in &users[v.index()] {
                let cx = NodeCx { graph, id };
                found.extend(index_input(cx, input, v));
                shown.extend(reshaped(cx).filter(|y| !shown.contains(y)));
            }
        }
    }
    found
}

/// An input that is an operand of indices, by the name of another value or its own.
fn index_input(cx: NodeCx<'_>, input: ValueId, shown: ValueId) -> Option<IndexInput> {
    let (graph, node) = (cx.graph, cx.node());
    let operands = (0..node.inputs.len()).filter(|&i| node.input(i) == Some(shown));
    let range = operands.into_iter().find_map(|i| node.op.index_range(&cx, i))?;
    let (name, site) = (graph.value(input).name.to_string(), graph.site(graph.node_name(cx.id)));
    Some(IndexInput { name, range, op: node.op.name(), site })
}

/// The result of a node that has all elements of its operand, moved.
fn reshaped(cx: NodeCx<'_>) -> Option<ValueId> {
    let (x, y) = (cx.operand(0)?, cx.node().output());
    let keeps = cx.node().op.is_movement() && cx.graph.ty(x).elements() == cx.graph.ty(y).elements();
    keeps.then_some(y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_ir::ops::softmax_cross_entropy::SoftmaxCrossEntropy;
    use pumice_ir::{GraphBuilder, f32, i32, i64, sym};

    /// Of ids [n, 4], targets [n, 4] and others: what is found is in the order of the inputs.
    fn graph() -> Graph {
        let g = GraphBuilder::new("g");
        let n = || sym("n", 0..=9);
        let ids = g.input("ids", i32([n(), 4.into()]));
        let target = g.input("target", i64([n(), 4.into()]));
        let part = g.input("part", i32([n(), 4.into()]));
        let many = g.input("many", i32([n()]));
        let scores = g.embedding(g.param("table", f32([7, 5])), ids);
        let op = SoftmaxCrossEntropy { ignore_index: Some(-100), ..Default::default() };
        let (loss, _) = g.softmax_cross_entropy(g.flatten(scores, 2), g.reshape(target, &[-1]), None, op);
        g.output("loss", loss);
        g.output("picked", g.gather(scores, g.slice(part, &[0], &[2], &[1], &[1]), 2));
        g.output("of n", g.gather(g.input("rows", f32([n()])), many, 0));
        g.build().expect("sound")
    }

    #[test]
    fn what_an_op_takes_as_indices_is_found() {
        let found = index_inputs(&graph());
        let names: Vec<_> = found.iter().map(|i| (i.name.as_str(), i.op)).collect();
        assert_eq!(names, [("ids", "gather"), ("target", "softmax_cross_entropy")]);
        assert_eq!(found[0].range, IndexRange { within: -7..7, besides: None });
        assert_eq!(found[1].range, IndexRange { within: 0..5, besides: Some(-100) });
        assert!(found.iter().all(|i| i.site.is_some()));
        let ids = [0, 6, -7, 7];
        assert_eq!(found[0].first_outside(&TensorView::i32(&ids, [1, 4])), Some((3, 7)));
        assert_eq!(found[0].first_outside(&TensorView::i32(&ids[..3], [3])), None);
        assert_eq!(found[1].first_outside(&TensorView::i64(&[4, -100, -1, 9], [1, 4])), Some((2, -1)));
        assert_eq!(found[1].first_outside(&TensorView::f32(&[9.0], [1])), None);
    }
}
