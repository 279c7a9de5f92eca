//! ONNX nodes whose results are as long as the run finds: what must be known before is asked for by name.

use pumice_import::onnx::{self, OnnxAttribute, OnnxError, OnnxGraph, OnnxGraphNode, OnnxInputs, OnnxNode};
use pumice_ir::{GraphBuilder, Loops, Value, f32, sym, tensor};
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

/// A body of `nodes` negations of `h` after a loop of 16 turns over `inner`, or without one.
fn body_of(nodes: usize, inner: Option<&OnnxGraph>) -> OnnxGraph {
    let weight = Tensor::new(&[1.0f32; 4], &[4]).expect("four");
    let constant = |name: &str, tensor| {
        let attributes = [("value".to_owned(), OnnxAttribute::Tensor(tensor))].into();
        OnnxGraphNode {
            op: "Constant".to_owned(),
            attributes,
            outputs: names([name]),
            ..OnnxGraphNode::default()
        }
    };
    let turns = Tensor::new(&[16i64], &[]).expect("one");
    let mut all = vec![constant("turns", turns), constant("on", Tensor::bools(&[true], &[]).expect("one"))];
    let mut last = "h".to_owned();
    if let Some(inner) = inner {
        all.push(node("Loop", names(["turns", "on", "h"]), "looped", &[("body", inner)]));
        last = "looped".to_owned();
    }
    for k in 0..nodes {
        let next = format!("h{k}");
        all.push(node("Mul", names([&last, "weight"]), &next, &[]));
        last = next;
    }
    OnnxGraph {
        inputs: names(["i", "c", "h"]),
        outputs: names(["c", &last]),
        initializers: [("weight".to_owned(), weight)].into(),
        nodes: all,
    }
}

/// A loop over the input `x0` of four numbers, with that body.
fn looped(body: &OnnxGraph) -> Result<(), OnnxError> {
    let node = node("Loop", names(["m", "c", "h"]), "y", &[("body", body)]);
    let node = OnnxNode { op: node.op, opset: 24, attributes: node.attributes, outputs: vec![true] };
    let known = |tensor: Result<Tensor, _>| Some(tensor.expect("one"));
    let constants = vec![known(Tensor::new(&[16i64], &[])), known(Tensor::bools(&[true], &[])), None];
    let types = vec![(DType::I64, Vec::new()), (DType::Bool, Vec::new()), (DType::F32, vec![4])];
    let g = GraphBuilder::new("node");
    let y = onnx::build(&g, &node, &mut Inputs { types, constants, largest: Some(9) })?;
    g.output("y", y[0]);
    let graph = g.build().expect("a sound graph");
    // However many turns are built, a tensor of the file is one constant.
    let weights = graph.nodes().filter_map(|(_, node)| graph.constant_data(node.output()));
    assert_eq!(weights.filter(|tensor| tensor.shape() == [4]).count(), depth_of(body));
    Ok(())
}

fn depth_of(body: &OnnxGraph) -> usize {
    let inner = body.nodes.iter().find_map(|node| match node.attributes.get("body") {
        Some(OnnxAttribute::Graph(inner)) => Some(depth_of(inner)),
        _ => None,
    });
    1 + inner.unwrap_or(0)
}

/// Six loops of 16 turns in one another would be built 16 777 216 times; the innermost that is too many is named, by
/// its op, and before it is built.
#[test]
fn turns_that_multiply_are_refused() {
    let nested = |depth: usize, nodes: usize| {
        (1..depth).fold(body_of(nodes, None), |inner, _| body_of(nodes, Some(&inner)))
    };
    assert_eq!(looped(&nested(1, 100)), Ok(()));
    assert_eq!(looped(&nested(2, 20)), Ok(()));
    assert_eq!(looped(&nested(3, 2)), Ok(()));
    for (depth, nodes) in [(6, 1), (4, 3), (3, 20), (1, 5000)] {
        assert_eq!(
            looped(&nested(depth, nodes)),
            Err(OnnxError::Nodes { op: "Loop", most: 65_536 }),
            "{depth}"
        );
    }
}

/// How long a chain of copies is that leads from what a turn leaves to what it begins with.
#[test]
fn long_chains_of_copies_are_followed_in_one_walk() {
    const LINKS: usize = 60_000;
    let link = |k: usize| node("Identity", vec![format!("c{k}")], &format!("c{}", k + 1), &[]);
    let body = OnnxGraph {
        inputs: names(["i", "c0", "h"]),
        outputs: names([&format!("c{LINKS}"), "h"]),
        nodes: (0..LINKS).map(link).collect(),
        ..OnnxGraph::default()
    };
    let node = node("Loop", names(["m", "c", "h"]), "y", &[("body", &body)]);
    let node = OnnxNode { op: node.op, opset: 24, attributes: node.attributes, outputs: vec![true] };
    let constants = vec![Tensor::new(&[0i64], &[]).ok(), Tensor::bools(&[true], &[]).ok(), None];
    let types = vec![(DType::I64, Vec::new()), (DType::Bool, Vec::new()), (DType::F32, vec![4])];
    let made =
        onnx::build(&GraphBuilder::new("node"), &node, &mut Inputs { types, constants, largest: None });
    assert!(made.is_ok(), "{made:?}");
}

/// A trip count that is the extent of an input, a condition of data.
#[derive(Default)]
struct AsManyAsRows {
    x: Option<Value>,
}

impl OnnxInputs for AsManyAsRows {
    fn count(&self) -> usize {
        3
    }

    fn value(&mut self, g: &GraphBuilder, place: usize) -> Option<Value> {
        let x = *self.x.get_or_insert_with(|| g.input("x", f32([sym("n", 1..=40)])));
        Some(match place {
            0 => g.cast(g.extent(x, 0), DType::I64),
            1 => g.greater(g.reduce_sum(x, &[0], false), g.constant_scalar(DType::F32, 0.0)),
            _ => g.reduce_max(x, &[0], true),
        })
    }

    fn constant(&self, _place: usize) -> Option<Tensor> {
        None
    }
}

/// A trip count that symbols say bounds the turns of a loop that a condition ends: nobody else has to.
#[test]
fn known_trip_counts_bound_loops() {
    let body = OnnxGraph {
        inputs: names(["i", "c", "h"]),
        outputs: names(["c", "next"]),
        nodes: vec![node("Neg", names(["h"]), "next", &[])],
        ..OnnxGraph::default()
    };
    let node = node("Loop", names(["m", "c", "h"]), "y", &[("body", &body)]);
    let node = OnnxNode { op: node.op, opset: 24, attributes: node.attributes, outputs: vec![true] };
    let g = GraphBuilder::new("node");
    let y = onnx::build(&g, &node, &mut AsManyAsRows::default()).expect("its turns are bounded");
    g.output("y", y[0]);
    let loops = Loops::of(&g.build().expect("a sound graph"));
    assert_eq!(loops.all.iter().map(|l| l.most).collect::<Vec<_>>(), [40]);
}
