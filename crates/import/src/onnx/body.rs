//! Subgraphs of nodes: their nodes become nodes of the same graph, by the rules of their ops.
//!
//! A name is a value that the subgraph made, one of its constants, or one of the graph around it.

use super::call::Node;
use super::{OnnxAttribute, OnnxError, OnnxGraph, OnnxGraphNode, OnnxInputs, Results};
use pumice_ir::{GraphBuilder, Value};
use pumice_types::{DType, DimExpr, Tensor};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// Subgraphs that stand in one another at most.
const MOST_DEPTH: u32 = 6;

/// Nodes that the subgraphs of one node make at most, those of subgraphs inside of them among them.
const MOST_NODES: u32 = 1 << 16;

/// What the subgraphs of one node share with those inside of them, however often each is built.
pub(super) struct Subgraphs {
    /// Nodes that may yet be made.
    left: Cell<u32>,
    /// Constants that were made, by the place of their tensor, which is borrowed all the while.
    constants: RefCell<BTreeMap<*const Tensor, Value>>,
}

impl Default for Subgraphs {
    fn default() -> Subgraphs {
        Subgraphs { left: Cell::new(MOST_NODES), constants: RefCell::default() }
    }
}

impl Subgraphs {
    /// So many nodes are made, before they are.
    fn charge(&self, op: &'static str, nodes: usize) -> Result<(), OnnxError> {
        let left = u32::try_from(nodes.max(1)).ok().and_then(|nodes| self.left.get().checked_sub(nodes));
        self.left.set(left.unwrap_or(0));
        left.map(|_| ()).ok_or(OnnxError::Nodes { op, most: MOST_NODES })
    }

    /// The value of a tensor of a subgraph, which is one however often that is built.
    pub fn constant(&self, g: &GraphBuilder, tensor: &Tensor) -> Value {
        let place = std::ptr::from_ref(tensor);
        *self.constants.borrow_mut().entry(place).or_insert_with(|| g.constant(tensor.clone()))
    }
}

/// A subgraph.
pub(super) struct Body<'a> {
    /// The op that it is of.
    pub op: &'static str,
    pub graph: &'a OnnxGraph,
    pub opset: i64,
    pub subgraphs: &'a Subgraphs,
}

impl<'a> Body<'a> {
    /// Builds it with these values as its inputs; its outputs.
    ///
    /// # Errors
    /// Subgraphs that stand too deep in one another, or make too many nodes: turns that are built one after the other
    /// multiply.
    pub fn build(&self, g: &GraphBuilder, inputs: &[Value], around: &mut dyn OnnxInputs) -> Results {
        if around.depth() >= MOST_DEPTH {
            return Err(OnnxError::Depth { op: self.op, most: MOST_DEPTH });
        }
        self.subgraphs.charge(self.op, self.graph.nodes.len())?;
        let values = self.graph.inputs.iter().map(String::as_str).zip(inputs.iter().copied()).collect();
        let (initializers, subgraphs) = (&self.graph.initializers, self.subgraphs);
        let mut scope = Scope { g, values, initializers, subgraphs, around, missing: None };
        for node in &self.graph.nodes {
            let inputs = &mut Inputs { names: &node.inputs, scope: &mut scope };
            let made = super::built(g, Node::inside(node, self.opset), inputs, self.subgraphs);
            scope.missing.take().map_or(Ok(()), |name| Err(self.no_value(name)))?;
            scope.values.extend(node.outputs.iter().map(String::as_str).zip(made?));
        }
        let output = |name: &String| scope.value(name).ok_or_else(|| self.no_value(name.clone()));
        self.graph.outputs.iter().map(output).collect()
    }

    /// Whether an output is that input in every turn, or true.
    pub fn keeps(&self, output: usize, input: usize) -> bool {
        let Some(mut name) = self.graph.outputs.get(output) else { return false };
        let made_by = self.makers();
        // Names in a ring are told where the nodes are built.
        for _ in &self.graph.nodes {
            let Some(node) = made_by.get(name.as_str()).filter(|node| node.op == "Identity") else { break };
            let Some(from) = node.inputs.first() else { return false };
            name = from;
        }
        let data = || self.data_of(name, made_by.get(name.as_str()).copied());
        self.graph.inputs.get(input) == Some(name) || data().and_then(truth) == Some(true)
    }

    /// The node that makes each value: the first, where several do.
    fn makers(&self) -> BTreeMap<&'a str, &'a OnnxGraphNode> {
        let mut made_by = BTreeMap::new();
        for node in &self.graph.nodes {
            node.outputs.iter().for_each(|name| _ = made_by.entry(name.as_str()).or_insert(node));
        }
        made_by
    }

    /// The data of a constant, which that node makes if any does.
    fn data_of(&self, name: &String, made_by: Option<&'a OnnxGraphNode>) -> Option<&'a Tensor> {
        let constant = made_by.filter(|node| node.op == "Constant");
        match constant.and_then(|node| node.attributes.get("value")) {
            Some(OnnxAttribute::Tensor(tensor)) => Some(tensor),
            _ => self.graph.initializers.get(name),
        }
    }

    fn no_value(&self, name: String) -> OnnxError {
        OnnxError::NoValue { op: self.op, name }
    }
}

/// The truth value that a tensor of one is.
pub(super) fn truth(tensor: &Tensor) -> Option<bool> {
    match (tensor.dtype(), tensor.bytes()) {
        (DType::Bool, [one]) => Some(*one != 0),
        _ => None,
    }
}

/// A subgraph that is built in turns, which cannot fail themselves.
pub(super) struct Turns<'t, 'a> {
    pub body: &'t Body<'a>,
    pub around: RefCell<&'t mut dyn OnnxInputs>,
    pub error: RefCell<Option<OnnxError>>,
}

impl<'t, 'a> Turns<'t, 'a> {
    pub fn of(body: &'t Body<'a>, around: &'t mut dyn OnnxInputs) -> Turns<'t, 'a> {
        Turns { body, around: RefCell::new(around), error: RefCell::new(None) }
    }

    /// Its outputs, which are any values where it is wrong: [`Turns::finish`] tells.
    pub fn turn(&self, g: &GraphBuilder, inputs: &[Value]) -> Vec<Value> {
        if self.error.borrow().is_none() {
            match self.body.build(g, inputs, &mut **self.around.borrow_mut()) {
                Ok(outputs) => return outputs,
                Err(e) => *self.error.borrow_mut() = Some(e),
            }
        }
        let any = inputs.first().copied().unwrap_or_else(|| g.constant_scalar(DType::Bool, 0.0));
        vec![any; self.body.graph.outputs.len()]
    }

    /// The results, unless a turn was wrong.
    pub fn finish(self, results: Vec<Value>) -> Results {
        self.error.into_inner().map_or(Ok(results), Err)
    }
}

/// The names of a subgraph while it is built.
struct Scope<'s> {
    g: &'s GraphBuilder,
    values: BTreeMap<&'s str, Value>,
    initializers: &'s BTreeMap<String, Tensor>,
    subgraphs: &'s Subgraphs,
    around: &'s mut dyn OnnxInputs,
    /// A name that is nowhere.
    missing: Option<String>,
}

impl Scope<'_> {
    fn value(&mut self, name: &str) -> Option<Value> {
        if let Some(&value) = self.values.get(name) {
            return Some(value);
        }
        let value = match self.initializers.get_key_value(name) {
            Some((name, tensor)) => {
                let value = self.subgraphs.constant(self.g, tensor);
                self.values.insert(name, value);
                Some(value)
            }
            None => self.around.outer(self.g, name),
        };
        if value.is_none() {
            self.missing = Some(name.to_owned());
        }
        value
    }

    fn constant(&self, name: &str) -> Option<Tensor> {
        match (self.values.get(name), self.initializers.get(name)) {
            (Some(&value), _) => self.g.constant_data(value).or_else(|| self.known(value)),
            (None, Some(tensor)) => Some(tensor.clone()),
            (None, None) => self.around.outer_constant(name),
        }
    }

    /// One integer that constants make.
    fn known(&self, value: Value) -> Option<Tensor> {
        let (integer, ty) = (self.g.known_integer(value)?.as_const()?, self.g.type_of(value)?);
        let shape: Vec<u64> = ty.shape.iter().map(DimExpr::as_extent).collect::<Option<_>>()?;
        match ty.dtype() {
            DType::I64 => Tensor::new(&[integer], &shape).ok(),
            DType::I32 => Tensor::new(&[i32::try_from(integer).ok()?], &shape).ok(),
            DType::Bool => Tensor::bools(&[integer != 0], &shape).ok(),
            _ => None,
        }
    }
}

/// The inputs of a node of a subgraph.
struct Inputs<'n, 's> {
    names: &'n [String],
    scope: &'n mut Scope<'s>,
}

impl OnnxInputs for Inputs<'_, '_> {
    fn count(&self) -> usize {
        self.names.len()
    }

    fn value(&mut self, _g: &GraphBuilder, place: usize) -> Option<Value> {
        let name = self.names.get(place).filter(|name| !name.is_empty())?;
        self.scope.value(name)
    }

    fn constant(&self, place: usize) -> Option<Tensor> {
        self.scope.constant(self.names.get(place).filter(|name| !name.is_empty())?)
    }

    fn outer(&mut self, _g: &GraphBuilder, name: &str) -> Option<Value> {
        self.scope.value(name)
    }

    fn outer_constant(&self, name: &str) -> Option<Tensor> {
        self.scope.constant(name)
    }

    fn largest_extent(&self) -> Option<u64> {
        self.scope.around.largest_extent()
    }

    fn depth(&self) -> u32 {
        self.scope.around.depth() + 1
    }
}
