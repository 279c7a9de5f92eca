//! ONNX nodes whose results are as long as the run finds: what must be known before is asked for by name.

use pumice_import::onnx::{self, OnnxAttribute, OnnxError, OnnxGraph, OnnxGraphNode, OnnxInputs, OnnxNode};
use pumice_ir::{GraphBuilder, Value, tensor};
use pumice_types::{DType, Tensor};
use std::collections::BTreeMap;

/// Inputs of these types; some are constants.
struct Inputs {
    types: Vec<(DType, Vec<u64>)>,
    constants: Vec<Option<Tensor>>,
    largest: Option<u64>,
}

impl OnnxInputs for Inputs {
    fn count(&self) -> usize {
        self.types.len()
    }

    fn value(&mut self, g: &GraphBuilder, place: usize) -> Option<Value> {
        let (dtype, shape) = &self.types[place];
        Some(match &self.constants[place] {
            Some(data) => g.constant(data.clone()),
            None => g.input(&format!("x{place}"), tensor(*dtype, shape.iter().copied())),
        })
    }

    fn constant(&self, place: usize) -> Option<Tensor> {
        self.constants[place].clone()
    }

    fn outer(&mut self, g: &GraphBuilder, name: &str) -> Option<Value> {
        (name == "x0").then(|| g.constant_scalar(DType::Bool, 1.0))
    }

    fn largest_extent(&self) -> Option<u64> {
        self.largest
    }
}

fn range(dtype: DType, shape: &[u64], delta: Option<Tensor>, largest: Option<u64>) -> Inputs {
    let types = vec![(dtype, shape.to_vec()); 3];
    Inputs { types, constants: vec![None, None, delta], largest }
}

/// How many extents the run finds in the graph of one node.
fn found(op: &str, mut inputs: Inputs) -> Result<usize, OnnxError> {
    let g = GraphBuilder::new("node");
    let node = OnnxNode { op: op.to_owned(), opset: 24, outputs: vec![true], ..OnnxNode::default() };
    let y = onnx::build(&g, &node, &mut inputs)?[0];
    g.output("y", y);
    Ok(g.build().expect("a sound graph").symbols().found().count())
}

#[test]
fn ranges_of_values_have_a_largest_extent() {
    assert_eq!(found("Range", range(DType::I64, &[], None, Some(1000))), Ok(1));
    assert_eq!(found("Range", range(DType::F32, &[1], None, Some(1000))), Ok(1));
    assert_eq!(found("Range", range(DType::I16, &[], None, None)), Ok(1));
    let one = Tensor::new(&[1i64], &[]).expect("one");
    assert_eq!(found("Range", range(DType::I64, &[], Some(one.clone()), Some(9))), Ok(1));
    let refused = found("Range", range(DType::I64, &[], Some(one), None)).expect_err("no bound");
    assert_eq!(refused, OnnxError::NoLargestExtent { op: "Range" });
    assert!(refused.to_string().contains("largest_extent"), "{refused}");
}

#[test]
fn thresholds_are_constants() {
    let types = vec![
        (DType::F32, vec![1, 6, 4]),
        (DType::F32, vec![1, 2, 6]),
        (DType::I64, vec![1]),
        (DType::F32, vec![1]),
        (DType::F32, vec![1]),
    ];
    let most = Tensor::new(&[3i64], &[1]).expect("one");
    let share = Tensor::new(&[0.5f32], &[1]).expect("one");
    let known = [None, None, Some(most), Some(share.clone()), Some(share)];
    let inputs = |constants: &[Option<Tensor>]| Inputs {
        types: types.clone(),
        constants: constants.to_vec(),
        largest: None,
    };
    assert_eq!(found("NonMaxSuppression", inputs(&known)), Ok(1));
    for input in 2..5 {
        let mut constants = known.to_vec();
        constants[input] = None;
        let refused = found("NonMaxSuppression", inputs(&constants)).expect_err("it is not known");
        let is_named = matches!(refused, OnnxError::NotConstant { op: "NonMaxSuppression", input: named, .. } if named == input);
        assert!(is_named, "{refused}");
    }
}

fn names<const N: usize>(list: [&str; N]) -> Vec<String> {
    list.map(str::to_owned).to_vec()
}

/// A node of a subgraph.
fn node(op: &str, inputs: Vec<String>, output: &str, graphs: &[(&str, &OnnxGraph)]) -> OnnxGraphNode {
    let attribute =
        |(name, graph): &(&str, &OnnxGraph)| ((*name).to_owned(), OnnxAttribute::Graph((*graph).clone()));
    let attributes = graphs.iter().map(attribute).collect();
    OnnxGraphNode { op: op.to_owned(), attributes, inputs, outputs: names([output]) }
}

/// The graph of a node whose inputs have these types.
fn built(node: &OnnxGraphNode, types: Vec<(DType, Vec<u64>)>) -> Result<Vec<Value>, OnnxError> {
    let constants = vec![None; types.len()];
    let node =
        OnnxNode { op: node.op.clone(), opset: 24, attributes: node.attributes.clone(), outputs: vec![true] };
    onnx::build(&GraphBuilder::new("node"), &node, &mut Inputs { types, constants, largest: Some(9) })
}

/// Whether the condition of a loop stays true is asked of nodes whose names may stand in a ring.
#[test]
fn names_in_a_ring_are_refused() {
    let body = OnnxGraph {
        inputs: names(["i", "before", "h"]),
        outputs: names(["again", "h"]),
        initializers: BTreeMap::new(),
        nodes: vec![
            node("Identity", names(["other"]), "again", &[]),
            node("Identity", names(["again"]), "other", &[]),
        ],
    };
    let node = node("Loop", names(["m", "c", "h"]), "y", &[("body", &body)]);
    let scalar = |dtype| (dtype, Vec::new());
    let refused = built(&node, vec![scalar(DType::I64), scalar(DType::Bool), (DType::F32, vec![4])]);
    assert!(matches!(refused, Err(OnnxError::NoValue { op: "Loop", .. })), "{refused:?}");
}

#[test]
fn subgraphs_stand_in_few_others() {
    let deep = |depth: u32| {
        let branch = |nodes| OnnxGraph { outputs: names(["y"]), nodes, ..OnnxGraph::default() };
        let one = Tensor::new(&[1.0f32], &[1]).expect("one");
        let mut inner = branch(Vec::new());
        inner.initializers.insert("y".to_owned(), one);
        for _ in 1..depth {
            let branches = [("then_branch", &inner), ("else_branch", &inner)];
            let made = node("If", names(["x0"]), "y", &branches);
            inner = branch(vec![made]);
        }
        node("If", names(["x0"]), "y", &[("then_branch", &inner), ("else_branch", &inner)])
    };
    let refused = |depth| built(&deep(depth), vec![(DType::Bool, Vec::new())]).err();
    assert!(refused(6).is_none(), "{:?}", refused(6));
    assert!(matches!(refused(7), Some(OnnxError::Depth { op: "If", most: 6 })), "{:?}", refused(7));
}
