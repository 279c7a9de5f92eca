//! A case: its node, the tensors it comes with, the graph that its rule makes, and what counts as equal.

use pumice_cpu_ref::Array;
use pumice_import::onnx::{self, OnnxAttribute, OnnxGraph, OnnxGraphNode, OnnxInputs, OnnxNode};
use pumice_ir::{Graph, GraphBuilder, Value, tensor};
use pumice_types::tensor::byte_count;
use pumice_types::{DType, Tensor};
use serde::Deserialize;
use std::collections::BTreeMap;

const TABLE: &str = include_str!("../../data/onnx_nodes.json");
const ELEMENTS: &[u8] = include_bytes!("../../data/onnx_nodes.bin");

/// Cases whose results the package writes down with four digits.
const FEW_DIGITS: [&str; 1] = ["test_averagepool_2d_ceil_last_window_starts_on_pad"];

/// All cases.
#[derive(Deserialize)]
pub struct NodeCases {
    cases: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    op: String,
    opset: i64,
    attributes: BTreeMap<String, Attribute>,
    inputs: Vec<Option<Place>>,
    outputs: Vec<Option<Place>>,
}

/// A tensor in the file of elements.
#[derive(Clone, Deserialize)]
struct Place {
    dtype: String,
    shape: Vec<u64>,
    at: usize,
}

#[derive(Deserialize)]
enum Attribute {
    #[serde(rename = "i")]
    Int(i64),
    #[serde(rename = "f")]
    Float(f32),
    #[serde(rename = "s")]
    String(String),
    #[serde(rename = "is")]
    Ints(Vec<i64>),
    #[serde(rename = "fs")]
    Floats(Vec<f32>),
    #[serde(rename = "ss")]
    Strings(Vec<String>),
    #[serde(rename = "t")]
    Tensor(Place),
    #[serde(rename = "g")]
    Graph(Subgraph),
}

#[derive(Deserialize)]
struct Subgraph {
    inputs: Vec<String>,
    outputs: Vec<String>,
    initializers: BTreeMap<String, Place>,
    nodes: Vec<SubgraphNode>,
}

#[derive(Deserialize)]
struct SubgraphNode {
    op: String,
    attributes: BTreeMap<String, Attribute>,
    inputs: Vec<String>,
    outputs: Vec<String>,
}

impl Place {
    fn tensor(&self) -> Tensor {
        let dtype = DType::ALL.into_iter().find(|d| d.name() == self.dtype).expect("a dtype");
        let bytes = byte_count(dtype, &self.shape).expect("a size") as usize;
        let data = ELEMENTS[self.at..self.at + bytes].to_vec();
        Tensor::from_bytes(dtype, &self.shape, data).expect("elements of the dtype")
    }
}

impl Attribute {
    fn read(&self) -> OnnxAttribute {
        match self {
            Attribute::Int(i) => OnnxAttribute::Int(*i),
            Attribute::Float(f) => OnnxAttribute::Float(*f),
            Attribute::String(s) => OnnxAttribute::String(s.clone()),
            Attribute::Ints(v) => OnnxAttribute::Ints(v.clone()),
            Attribute::Floats(v) => OnnxAttribute::Floats(v.clone()),
            Attribute::Strings(v) => OnnxAttribute::Strings(v.clone()),
            Attribute::Tensor(place) => OnnxAttribute::Tensor(place.tensor()),
            Attribute::Graph(graph) => OnnxAttribute::Graph(graph.read()),
        }
    }
}

/// Attributes of a node.
fn read(attributes: &BTreeMap<String, Attribute>) -> BTreeMap<String, OnnxAttribute> {
    attributes.iter().map(|(name, a)| (name.clone(), a.read())).collect()
}

impl Subgraph {
    fn read(&self) -> OnnxGraph {
        let (inputs, outputs) = (self.inputs.clone(), self.outputs.clone());
        let initializers = self.initializers.iter().map(|(name, t)| (name.clone(), t.tensor())).collect();
        let nodes = self.nodes.iter().map(SubgraphNode::read).collect();
        OnnxGraph { inputs, outputs, initializers, nodes }
    }
}

impl SubgraphNode {
    fn read(&self) -> OnnxGraphNode {
        let (inputs, outputs) = (self.inputs.clone(), self.outputs.clone());
        OnnxGraphNode { op: self.op.clone(), attributes: read(&self.attributes), inputs, outputs }
    }
}

impl NodeCases {
    /// Those of the committed files.
    pub fn committed() -> NodeCases {
        serde_json::from_str(TABLE).expect("the committed form")
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = NodeCase<'_>> {
        self.cases.iter().map(|row| NodeCase { row })
    }
}

/// One case.
pub struct NodeCase<'a> {
    row: &'a Row,
}

/// Inputs of a case: a constant where a rule asks for the numbers, else an input of the graph.
struct Inputs {
    tensors: Vec<Option<Tensor>>,
    values: Vec<Option<Value>>,
    constant: bool,
}

impl OnnxInputs for Inputs {
    fn count(&self) -> usize {
        self.tensors.len()
    }

    fn value(&mut self, g: &GraphBuilder, place: usize) -> Option<Value> {
        let x = self.tensors[place].as_ref()?;
        let make = || match self.constant {
            true => g.constant(x.clone()),
            false => g.input(&format!("x{place}"), tensor(x.dtype(), x.shape().iter().copied())),
        };
        Some(*self.values[place].get_or_insert_with(make))
    }

    fn constant(&self, place: usize) -> Option<Tensor> {
        self.tensors[place].clone()
    }
}

/// A graph and what its inputs get.
type Built = (Graph, Vec<(String, Tensor)>);

impl NodeCase<'_> {
    /// Its name in the package.
    pub fn name(&self) -> &str {
        &self.row.name
    }

    /// The graph of the one node; all its operands are constants, or those are that its rule needs.
    pub fn graph(&self, constant: bool) -> Result<Built, String> {
        let g = GraphBuilder::new("node");
        let row = self.row;
        let attributes = read(&row.attributes);
        let outputs = row.outputs.iter().map(Option::is_some).collect();
        let node = OnnxNode { op: row.op.clone(), opset: row.opset, attributes, outputs };
        let tensors: Vec<_> = row.inputs.iter().map(|place| place.as_ref().map(Place::tensor)).collect();
        let mut inputs = Inputs { values: vec![None; tensors.len()], tensors, constant };
        let results = onnx::build(&g, &node, &mut inputs).map_err(|e| e.to_string())?;
        for (i, (y, _)) in results.into_iter().zip(&row.outputs).enumerate().filter(|(_, (_, o))| o.is_some())
        {
            g.output(&format!("y{i}"), y);
        }
        let Inputs { tensors, values, .. } = inputs;
        let given = tensors.into_iter().zip(values).enumerate();
        let given = given.filter_map(|(i, (tensor, value))| value.and(tensor).map(|t| (format!("x{i}"), t)));
        Ok((g.build().map_err(|e| e.to_string())?, given.collect()))
    }

    /// Dtype and shape must be the case's. Integers are equal; floats as near as their dtype's rounding after a short
    /// sum, or that near to the result's largest element where terms cancel.
    pub fn compare(&self, outputs: &[Tensor]) -> Result<(), String> {
        let wanted = self.row.outputs.iter().flatten();
        for (i, (got, want)) in outputs.iter().zip(wanted).enumerate() {
            let want = want.tensor();
            if (got.dtype(), got.shape()) != (want.dtype(), want.shape()) {
                let (got, want) = ((got.dtype(), got.shape()), (want.dtype(), want.shape()));
                return Err(format!("output {i} is {got:?}, not {want:?}"));
            }
            let relative = match want.dtype() {
                DType::F32 if FEW_DIGITS.contains(&self.name()) => 1e-3,
                DType::F32 => 1e-5,
                DType::F16 => 2e-3,
                DType::BF16 => 1.6e-2,
                _ => 0.0,
            };
            let (got, want) = (Array::from_tensor(got).to_f64(), Array::from_tensor(&want).to_f64());
            let finite = want.iter().filter(|v| v.is_finite());
            let floor = finite.fold(0.0f64, |m, v| m.max(v.abs())) * 0.05;
            let near = |a: f64, b: f64| {
                a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= relative * b.abs().max(floor)
            };
            if let Some(at) = got.iter().zip(&want).position(|(&a, &b)| !near(a, b)) {
                return Err(format!("element {at} of output {i} is {}, not {}", got[at], want[at]));
            }
        }
        Ok(())
    }
}
