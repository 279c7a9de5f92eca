//! What rules read: attributes with ONNX's defaults, inputs as values and as constants.

use super::body::Subgraphs;
use super::{OnnxAttribute, OnnxError, OnnxGraph, OnnxGraphNode, OnnxInputs, OnnxNode, Results};
use pumice_ir::{GraphBuilder, Value, ValueType};
use pumice_types::{DType, DimExpr, Tensor};
use std::collections::{BTreeMap, BTreeSet};

/// A node of a graph or of a subgraph: its attributes, which may hold whole graphs and tensors, are borrowed.
pub(super) struct Node<'a> {
    pub(super) op: &'a str,
    pub(super) opset: i64,
    attributes: &'a BTreeMap<String, OnnxAttribute>,
    /// Whether each output is named.
    pub(super) outputs: Vec<bool>,
}

impl<'a> Node<'a> {
    pub(super) fn of(node: &'a OnnxNode) -> Node<'a> {
        let OnnxNode { op, opset, attributes, outputs } = node;
        Node { op, opset: *opset, attributes, outputs: outputs.clone() }
    }

    /// A node of a subgraph; it is of the version of the node around.
    pub(super) fn inside(node: &'a OnnxGraphNode, opset: i64) -> Node<'a> {
        let OnnxGraphNode { op, attributes, outputs, .. } = node;
        Node { op, opset, attributes, outputs: outputs.iter().map(|name| !name.is_empty()).collect() }
    }
}

/// One node while its rule runs.
pub(super) struct Call<'a> {
    pub(super) g: &'a GraphBuilder,
    pub(super) op: &'static str,
    pub(super) opset: i64,
    node: Node<'a>,
    inputs: &'a mut dyn OnnxInputs,
    /// What all subgraphs share in which it stands, and those that it has.
    pub(super) subgraphs: &'a Subgraphs,
    read: BTreeSet<&'static str>,
}

impl<'a> Call<'a> {
    pub(super) fn new(
        g: &'a GraphBuilder,
        node: Node<'a>,
        (inputs, subgraphs): (&'a mut dyn OnnxInputs, &'a Subgraphs),
        op: &'static str,
    ) -> Call<'a> {
        Call { g, op, opset: node.opset, node, inputs, subgraphs, read: BTreeSet::new() }
    }

    /// Errors where the node has an attribute that its rule did not read.
    pub(super) fn expect_all_read(&self) -> Result<(), OnnxError> {
        match self.node.attributes.keys().find(|name| !self.read.contains(name.as_str())) {
            Some(name) => Err(self.wrong(name, "is not supported")),
            None => Ok(()),
        }
    }

    // Inputs

    /// How many inputs the node names.
    pub(super) fn count(&self) -> usize {
        self.inputs.count()
    }

    /// An input that the op needs.
    pub(super) fn x(&mut self, place: usize) -> Result<Value, OnnxError> {
        self.opt(place).ok_or(OnnxError::MissingInput { op: self.op, input: place })
    }

    /// An input that may be left out.
    pub(super) fn opt(&mut self, place: usize) -> Option<Value> {
        if place < self.inputs.count() { self.inputs.value(self.g, place) } else { None }
    }

    /// All inputs.
    pub(super) fn all(&mut self) -> Result<Vec<Value>, OnnxError> {
        (0..self.count()).map(|place| self.x(place)).collect()
    }

    /// Whether the node names the input.
    pub(super) fn has(&mut self, place: usize) -> bool {
        self.opt(place).is_some()
    }

    /// Elements of a constant input that may be left out.
    pub(super) fn opt_tensor(
        &mut self,
        place: usize,
        expected: &'static str,
    ) -> Result<Option<Tensor>, OnnxError> {
        if place >= self.inputs.count() {
            return Ok(None);
        }
        match self.inputs.constant(place) {
            Some(tensor) => Ok(Some(tensor)),
            None if self.has(place) => Err(OnnxError::NotConstant { op: self.op, input: place, expected }),
            None => Ok(None),
        }
    }

    /// Integers of a constant input that may be left out.
    pub(super) fn opt_ints(&mut self, place: usize) -> Result<Option<Vec<i64>>, OnnxError> {
        let expected = "integers";
        let wrong = OnnxError::NotConstant { op: self.op, input: place, expected };
        self.opt_tensor(place, expected)?.map(|t| ints_of(&t).ok_or(wrong)).transpose()
    }

    /// Integers of a constant input.
    pub(super) fn known_ints(&mut self, place: usize) -> Result<Vec<i64>, OnnxError> {
        self.opt_ints(place)?.ok_or(OnnxError::MissingInput { op: self.op, input: place })
    }

    /// The one integer of a constant input that may be left out.
    pub(super) fn opt_int(&mut self, place: usize) -> Result<Option<i64>, OnnxError> {
        let wrong = OnnxError::NotConstant { op: self.op, input: place, expected: "one integer" };
        match self.opt_ints(place)?.as_deref() {
            None => Ok(None),
            Some([one]) => Ok(Some(*one)),
            Some(_) => Err(wrong),
        }
    }

    /// The one integer of a constant input.
    pub(super) fn known_int(&mut self, place: usize) -> Result<i64, OnnxError> {
        self.opt_int(place)?.ok_or(OnnxError::MissingInput { op: self.op, input: place })
    }

    /// A count that is a constant input.
    pub(super) fn known_count(&mut self, place: usize) -> Result<u64, OnnxError> {
        let wrong = OnnxError::NotConstant { op: self.op, input: place, expected: "one count" };
        u64::try_from(self.known_int(place)?).map_err(|_| wrong)
    }

    /// Counts that are a constant input.
    pub(super) fn known_counts(&mut self, place: usize) -> Result<Vec<u64>, OnnxError> {
        let wrong = OnnxError::NotConstant { op: self.op, input: place, expected: "counts" };
        let counts: Result<Vec<u64>, _> = self.known_ints(place)?.into_iter().map(u64::try_from).collect();
        counts.map_err(|_| wrong)
    }

    /// The one float of a constant input.
    pub(super) fn known_float(&mut self, place: usize) -> Result<f64, OnnxError> {
        match self.opt_floats(place)?.as_deref() {
            Some([one]) => Ok(f64::from(*one)),
            _ => Err(OnnxError::NotConstant { op: self.op, input: place, expected: "one number" }),
        }
    }

    /// Floats of a constant input that may be left out.
    pub(super) fn opt_floats(&mut self, place: usize) -> Result<Option<Vec<f32>>, OnnxError> {
        let expected = "numbers";
        let wrong = OnnxError::NotConstant { op: self.op, input: place, expected };
        self.opt_tensor(place, expected)?.map(|t| floats_of(&t).ok_or(wrong)).transpose()
    }

    /// The one float of a constant input that may be left out, or be empty.
    pub(super) fn opt_number(&mut self, place: usize) -> Result<Option<f32>, OnnxError> {
        match self.opt_floats(place)?.as_deref() {
            None | Some([]) => Ok(None),
            Some([one]) => Ok(Some(*one)),
            Some(_) => Err(OnnxError::NotConstant { op: self.op, input: place, expected: "one number" }),
        }
    }

    /// Whether these inputs are constants.
    pub(super) fn are_constants(&self, mut places: std::ops::Range<usize>) -> bool {
        places.all(|place| place < self.count() && self.inputs.constant(place).is_some())
    }

    /// How many elements a result may have whose extent only the run finds.
    pub(super) fn largest_extent(&self) -> Option<u64> {
        self.inputs.largest_extent()
    }

    /// What subgraphs read from.
    pub(super) fn around(&mut self) -> &mut dyn OnnxInputs {
        self.inputs
    }

    /// An input that may be left out, as an integer that is known before a run.
    pub(super) fn known_expr(&mut self, place: usize) -> Result<Option<DimExpr>, OnnxError> {
        if self.are_constants(place..place + 1) {
            return Ok(self.opt_int(place)?.map(DimExpr::constant));
        }
        Ok(self.opt(place).and_then(|value| self.g.known_integer(value)))
    }

    /// The type of a value.
    pub(super) fn ty(&self, value: Value) -> Result<ValueType, OnnxError> {
        self.g.type_of(value).ok_or(OnnxError::UnknownType { op: self.op })
    }

    /// Extents of a value that are constants.
    pub(super) fn extents(&self, value: Value) -> Result<Vec<u64>, OnnxError> {
        let ty = self.ty(value)?;
        let extents: Option<Vec<u64>> = ty.shape.iter().map(DimExpr::as_extent).collect();
        extents.ok_or_else(|| self.unsupported("this with symbolic extents"))
    }

    /// x\[B, T, heads·width\] → \[B, T, heads, width\].
    pub(super) fn heads_apart(&self, x: Value, heads: i64) -> Result<Value, OnnxError> {
        let [batch, steps, _] = self.three(x)?;
        let shape = vec![batch, steps, DimExpr::constant(heads), DimExpr::constant(-1)];
        Ok(self.g.reshape_to(x, shape))
    }

    /// y\[B, T, heads, width\] → \[B, T, heads·width\], of an operand x\[B, T, …\].
    pub(super) fn heads_packed(&self, y: Value, x: Value) -> Result<Value, OnnxError> {
        let [batch, steps, _] = self.three(x)?;
        Ok(self.g.reshape_to(y, vec![batch, steps, DimExpr::constant(-1)]))
    }

    fn three(&self, x: Value) -> Result<[DimExpr; 3], OnnxError> {
        let shape = self.ty(x)?.shape;
        let rank = shape.len();
        let wrong = |_| self.unsupported(format!("an operand of {rank} axes whose heads are packed"));
        Vec::from_iter(shape.iter().cloned()).try_into().map_err(wrong)
    }

    // Outputs

    /// Whether the node names the output.
    pub(super) fn wants(&self, place: usize) -> bool {
        self.node.outputs.get(place).copied().unwrap_or(false)
    }

    /// How many outputs it names, with those that it leaves out before them.
    pub(super) fn outputs(&self) -> usize {
        self.node.outputs.len()
    }

    // Attributes

    fn attribute(&mut self, name: &'static str) -> Option<&'a OnnxAttribute> {
        self.read.insert(name);
        self.node.attributes.get(name)
    }

    /// Whether the node has the attribute.
    pub(super) fn says(&self, name: &str) -> bool {
        self.node.attributes.contains_key(name)
    }

    /// What is wrong with an attribute.
    pub(super) fn wrong(&self, name: &str, reason: impl Into<String>) -> OnnxError {
        OnnxError::Attribute { op: self.op, name: name.to_owned(), reason: reason.into() }
    }

    /// What ONNX has and pumice does not.
    pub(super) fn unsupported(&self, what: impl Into<String>) -> OnnxError {
        OnnxError::Unsupported { op: self.op, what: what.into() }
    }

    /// An integer that may be left out.
    pub(super) fn opt_int_of(&mut self, name: &'static str) -> Result<Option<i64>, OnnxError> {
        match self.attribute(name) {
            None => Ok(None),
            Some(OnnxAttribute::Int(i)) => Ok(Some(*i)),
            Some(_) => Err(self.wrong(name, "must be an integer")),
        }
    }

    /// An integer.
    pub(super) fn int(&mut self, name: &'static str, default: i64) -> Result<i64, OnnxError> {
        Ok(self.opt_int_of(name)?.unwrap_or(default))
    }

    /// An integer that is not negative.
    pub(super) fn whole(&mut self, name: &'static str, default: u64) -> Result<u64, OnnxError> {
        match self.opt_int_of(name)? {
            None => Ok(default),
            Some(i) => u64::try_from(i).map_err(|_| self.wrong(name, "must not be negative")),
        }
    }

    /// 0 or 1.
    pub(super) fn flag(&mut self, name: &'static str, default: bool) -> Result<bool, OnnxError> {
        match self.int(name, i64::from(default))? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(self.wrong(name, format!("is {other}, must be 0 or 1"))),
        }
    }

    /// A float that may be left out.
    pub(super) fn opt_float(&mut self, name: &'static str) -> Result<Option<f32>, OnnxError> {
        match self.attribute(name) {
            None => Ok(None),
            Some(OnnxAttribute::Float(f)) => Ok(Some(*f)),
            Some(_) => Err(self.wrong(name, "must be a float")),
        }
    }

    /// A float.
    pub(super) fn float(&mut self, name: &'static str, default: f32) -> Result<f32, OnnxError> {
        Ok(self.opt_float(name)?.unwrap_or(default))
    }

    /// A word.
    pub(super) fn word(&mut self, name: &'static str, default: &str) -> Result<String, OnnxError> {
        match self.attribute(name) {
            None => Ok(default.to_owned()),
            Some(OnnxAttribute::String(s)) => Ok(s.clone()),
            Some(_) => Err(self.wrong(name, "must be a string")),
        }
    }

    /// One of several words, as what stands beside it.
    pub(super) fn choice<T: Copy>(
        &mut self,
        name: &'static str,
        default: &str,
        choices: &[(&str, T)],
    ) -> Result<T, OnnxError> {
        let word = self.word(name, default)?;
        let found = choices.iter().find(|(w, _)| *w == word);
        found.map(|(_, choice)| *choice).ok_or_else(|| self.wrong(name, format!("has no `{word}`")))
    }

    /// Integers that may be left out.
    pub(super) fn opt_ints_of(&mut self, name: &'static str) -> Result<Option<Vec<i64>>, OnnxError> {
        match self.attribute(name) {
            None => Ok(None),
            Some(OnnxAttribute::Ints(list)) => Ok(Some(list.clone())),
            Some(_) => Err(self.wrong(name, "must be integers")),
        }
    }

    /// Integers that are not negative; none where left out.
    pub(super) fn wholes(&mut self, name: &'static str) -> Result<Vec<u64>, OnnxError> {
        let list = self.opt_ints_of(name)?.unwrap_or_default();
        let wholes: Result<Vec<u64>, _> = list.into_iter().map(u64::try_from).collect();
        wholes.map_err(|_| self.wrong(name, "must not be negative"))
    }

    /// Floats; none where left out.
    pub(super) fn floats(&mut self, name: &'static str) -> Result<Vec<f32>, OnnxError> {
        match self.attribute(name) {
            None => Ok(Vec::new()),
            Some(OnnxAttribute::Floats(list)) => Ok(list.clone()),
            Some(_) => Err(self.wrong(name, "must be floats")),
        }
    }

    /// Words; none where left out.
    pub(super) fn words(&mut self, name: &'static str) -> Result<Vec<String>, OnnxError> {
        match self.attribute(name) {
            None => Ok(Vec::new()),
            Some(OnnxAttribute::Strings(list)) => Ok(list.clone()),
            Some(_) => Err(self.wrong(name, "must be strings")),
        }
    }

    /// A tensor that may be left out.
    pub(super) fn tensor(&mut self, name: &'static str) -> Result<Option<&'a Tensor>, OnnxError> {
        match self.attribute(name) {
            None => Ok(None),
            Some(OnnxAttribute::Tensor(t)) => Ok(Some(t)),
            Some(_) => Err(self.wrong(name, "must be a tensor")),
        }
    }

    /// A dtype that may be left out, by its number in TensorProto.
    pub(super) fn opt_dtype(&mut self, name: &'static str) -> Result<Option<DType>, OnnxError> {
        match self.opt_int_of(name)? {
            None => Ok(None),
            Some(code) => match dtype(code) {
                Some(dtype) => Ok(Some(dtype)),
                None => {
                    Err(self.wrong(name, format!("is type {code} of TensorProto, which is not supported")))
                }
            },
        }
    }

    /// A subgraph.
    pub(super) fn graph(&mut self, name: &'static str) -> Result<&'a OnnxGraph, OnnxError> {
        match self.attribute(name) {
            Some(OnnxAttribute::Graph(graph)) => Ok(graph),
            Some(_) => Err(self.wrong(name, "must be a graph")),
            None => Err(self.wrong(name, "is missing")),
        }
    }

    /// Errors where an integer that only repeats what the operands say contradicts them.
    pub(super) fn expect_same(&mut self, name: &'static str, value: u64) -> Result<(), OnnxError> {
        match self.opt_int_of(name)? {
            Some(i) if u64::try_from(i) != Ok(value) => {
                Err(self.wrong(name, format!("is {i}, the operands say {value}")))
            }
            _ => Ok(()),
        }
    }
}

/// The result of a rule that has one.
pub(super) fn one(y: Value) -> Results {
    Ok(vec![y])
}

/// The dtype of a number of TensorProto.
fn dtype(code: i64) -> Option<DType> {
    let known = [
        (1, DType::F32),
        (2, DType::U8),
        (3, DType::I8),
        (4, DType::U16),
        (5, DType::I16),
        (6, DType::I32),
        (7, DType::I64),
        (9, DType::Bool),
        (10, DType::F16),
        (12, DType::U32),
        (13, DType::U64),
        (16, DType::BF16),
    ];
    known.into_iter().find(|(c, _)| *c == code).map(|(_, dtype)| dtype)
}

fn ints_of(tensor: &Tensor) -> Option<Vec<i64>> {
    match tensor.dtype() {
        DType::I64 => tensor.to_vec::<i64>().ok(),
        DType::I32 => Some(tensor.to_vec::<i32>().ok()?.into_iter().map(i64::from).collect()),
        DType::F32 => {
            let whole = |v: f32| (v.fract() == 0.0 && v.abs() < 1e9).then_some(v as i64);
            tensor.to_vec::<f32>().ok()?.into_iter().map(whole).collect()
        }
        _ => None,
    }
}

fn floats_of(tensor: &Tensor) -> Option<Vec<f32>> {
    match tensor.dtype() {
        DType::F32 => tensor.to_vec::<f32>().ok(),
        DType::F16 => Some(tensor.to_vec::<half::f16>().ok()?.into_iter().map(f32::from).collect()),
        DType::BF16 => Some(tensor.to_vec::<half::bf16>().ok()?.into_iter().map(f32::from).collect()),
        _ => None,
    }
}
