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
}
