//! A node as a reader of ONNX files hands it over.

use pumice_ir::{GraphBuilder, Value};
use pumice_types::Tensor;
use std::collections::BTreeMap;

/// An attribute of a node.
#[derive(Clone, Debug)]
pub enum OnnxAttribute {
    /// INT.
    Int(i64),
    /// FLOAT.
    Float(f32),
    /// STRING, which ONNX says is UTF-8.
    String(String),
    /// TENSOR.
    Tensor(Tensor),
    /// INTS.
    Ints(Vec<i64>),
    /// FLOATS.
    Floats(Vec<f32>),
    /// STRINGS.
    Strings(Vec<String>),
    /// GRAPH.
    Graph(OnnxGraph),
}

/// A subgraph, which an attribute of a node is. A name that it does not make is one of the graph around it.
#[derive(Clone, Debug, Default)]
pub struct OnnxGraph {
    /// Names of its inputs.
    pub inputs: Vec<String>,
    /// Names of its outputs.
    pub outputs: Vec<String>,
    /// Constants by name.
    pub initializers: BTreeMap<String, Tensor>,
    /// Its nodes, each after those whose outputs it reads, as ONNX says.
    pub nodes: Vec<OnnxGraphNode>,
}

/// A node of a subgraph, of ONNX's default domain in the version of the node around it.
#[derive(Clone, Debug, Default)]
pub struct OnnxGraphNode {
    /// `op_type`.
    pub op: String,
    /// Attributes by name; those that are left out have ONNX's defaults.
    pub attributes: BTreeMap<String, OnnxAttribute>,
    /// Names of its inputs, empty where one is left out.
    pub inputs: Vec<String>,
    /// Names of its outputs, empty where one is left out.
    pub outputs: Vec<String>,
}

/// A node of ONNX's default domain without its inputs.
#[derive(Clone, Debug, Default)]
pub struct OnnxNode {
    /// `op_type`.
    pub op: String,
    /// Version of the default domain that the model imports.
    pub opset: i64,
    /// Attributes by name; those that are left out have ONNX's defaults.
    pub attributes: BTreeMap<String, OnnxAttribute>,
    /// Whether each output is named, as far as the last one that is: an output that nobody asks for is not built.
    pub outputs: Vec<bool>,
}

/// The inputs of a node, by place.
pub trait OnnxInputs {
    /// How many places the node names.
    fn count(&self) -> usize;

    /// The input as a value of the graph; `None` where the node leaves it out.
    fn value(&mut self, g: &GraphBuilder, place: usize) -> Option<Value>;

    /// Its elements, where they are known while building; `None` where they are not, or where the node leaves it out.
    fn constant(&self, place: usize) -> Option<Tensor>;

    /// A value of the graph that the node stands in, by its name there: subgraphs of the node read it. `None` where
    /// there is none of that name.
    fn outer(&mut self, _g: &GraphBuilder, _name: &str) -> Option<Value> {
        None
    }

    /// Its elements, where they are known while building.
    fn outer_constant(&self, _name: &str) -> Option<Tensor> {
        None
    }

    /// How many elements a result may have along an axis whose extent only the run finds, where the node's op does not
    /// say it: of Range of values that only the run knows, and of Loop, whose turns it bounds where no constant does.
    /// `None` refuses such nodes.
    fn largest_extent(&self) -> Option<u64> {
        None
    }

    /// In how many subgraphs the node stands.
    fn depth(&self) -> u32 {
        0
    }
}
