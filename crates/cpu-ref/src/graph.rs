//! Evaluating a whole graph, node after node, each rounded once.
//!
//! In: a graph, the values of its leaves, the bindings of its symbols. Out: its outputs, the last versions of its
//! states, status events by node. Feeds and scalars that advance are the session's. Never here: a plan, bytes of an
//! arena, fusion.

use crate::array::{Array, Data, unrounded};
use crate::custom::CustomOps;
use crate::eval::{EvalCx, Status};
use crate::perturb::perturb;
use crate::{machine, ops};
use pumice_ir::{ConstEval, Demand, Graph, LoopInfo, Loops, Node, NodeId, Op, Relation, ValueId, ValueType};
use pumice_runtime::CustomError;
use pumice_types::tensor::byte_count;
use pumice_types::{Bindings, Bytes, DType, DimExpr, SymbolId, Tensor, dim};
use std::borrow::Cow;
use std::sync::Arc;

/// Why a graph has no value.
#[derive(Clone, PartialEq, thiserror::Error)]
pub enum EvalError {
    /// A leaf was not given.
    #[error("`{0}` has no value; give one for every input, param, state and scalar")]
    MissingLeaf(String),
    /// A leaf was given with another type.
    #[error("`{name}` is {given}, not {expected}")]
    LeafType {
        /// Which leaf.
        name: String,
        /// Its type under the bindings.
        expected: String,
        /// What was given.
        given: String,
    },
    /// An extent of a value has no value.
    #[error("an extent of `{name}`: {source}")]
    Extent {
        /// Which value.
        name: String,
        /// Why.
        source: dim::EvalError,
    },
    /// Two extents stand otherwise to each other than they must, under these bindings.
    #[error("{what}: {left} {} {right}", if *.relation == Relation::AtMost { "exceeds" } else { "is not" })]
    Constraint {
        /// Where the condition comes from.
        what: String,
        /// One extent.
        left: i64,
        /// How they must stand.
        relation: Relation,
        /// The other extent.
        right: i64,
    },
    /// A value has more elements than this machine can hold.
    #[error("`{0}` has too many elements")]
    TooLarge(String),
    /// The values of a node do not fit into the memory that the machine has left.
    #[error("`{name}` needs {needed} to be computed in 64-bit numbers, the machine has {available} left")]
    Memory {
        /// The node.
        name: String,
        /// Bytes of its results.
        needed: Bytes,
        /// Bytes that can be taken.
        available: Bytes,
    },
    /// An op of a user failed, or is not registered.
    #[error("`{name}`: {error}")]
    Custom {
        /// The node.
        name: String,
        /// What happened.
        error: CustomError,
    },
    /// A feed outside its state or its output.
    #[error("feed of output `{output}` into state `{state}`: rows {from}..{to} are outside {size}")]
    Feed {
        /// The output.
        output: String,
        /// The state.
        state: String,
        /// First row.
        from: i64,
        /// Row after the last.
        to: i64,
        /// Extent of the axis.
        size: u64,
    },
}

pumice_types::debug_as_display!(EvalError);

/// A status event with the node that raised it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusEvent {
    /// Name of the node.
    pub node: String,
    /// What it was.
    pub status: Status,
}

/// What an evaluation does besides evaluating.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EvalOptions {
    /// Keep every value, not only outputs and states.
    pub keep_all: bool,
    /// Operands of arithmetic that are f32-subnormal count as zeros of the same sign, as OPS 1.3.4 allows a device. A
    /// comparison accepts what is close to the evaluation with or without.
    pub flush_subnormals: bool,
    /// No float is rounded to its dtype: for derivatives by differences.
    pub unrounded: bool,
    /// Move every result by what its op allows (see [`crate::perturb`]), other ways for other seeds.
    pub perturb: Option<u64>,
}

/// What an evaluation gives.
#[derive(Clone, Debug, Default)]
pub struct Evaluation {
    /// Outputs in declaration order.
    pub outputs: Vec<Arc<Array>>,
    /// The last version of every state, in declaration order.
    pub states: Vec<Arc<Array>>,
    /// Values by id: all of them with [`EvalOptions::keep_all`], else those of outputs and states.
    pub values: Vec<Option<Arc<Array>>>,
    /// Status events in node order.
    pub status: Vec<StatusEvent>,
}

/// Values of leaves: inputs, params, states (version 0) and scalars.
pub type Leaves<'a> = &'a dyn Fn(ValueId) -> Option<Arc<Array>>;

/// Evaluates a verified graph without ops of users.
pub fn eval_graph(
    graph: &Graph,
    leaves: Leaves<'_>,
    bindings: &Bindings,
    options: EvalOptions,
) -> Result<Evaluation, EvalError> {
    eval_graph_with(graph, leaves, bindings, options, &CustomOps::new())
}

/// Evaluates a verified graph with these ops of users, by their references.
pub fn eval_graph_with(
    graph: &Graph,
    leaves: Leaves<'_>,
    bindings: &Bindings,
    options: EvalOptions,
    custom: &CustomOps,
) -> Result<Evaluation, EvalError> {
    if options.unrounded {
        let rounded = EvalOptions { unrounded: false, ..options };
        return unrounded(|| eval_graph_with(graph, leaves, bindings, rounded, custom));
    }
    check_constraints(graph, bindings)?;
    let (demand, loops) = (Demand::of(graph), Loops::of(graph));
    let result = Evaluation { values: vec![None; graph.value_count()], ..Evaluation::default() };
    let needed = graph.needed_nodes().unwrap_or_else(|_| vec![true; graph.nodes().len()]);
    // What turns read is read again.
    let last_use = last_uses(graph, options.keep_all || !loops.is_empty());
    let bindings = Cow::Borrowed(bindings);
    let mut run = Run { graph, leaves, bindings, options, custom, demand, needed, loops, last_use, result };
    for (id, _) in graph.nodes() {
        match run.loops.ended_by(id) {
            Some(l) => run.reporting(id, |run| run.turns(l))?,
            None if run.loops.inside(id).is_none() => run.reporting(id, |run| run.node(id))?,
            None => {}
        }
    }
    let mut result = run.result;
    result.take_outputs(graph);
    Ok(result)
}

/// An evaluation under way.
struct Run<'a> {
    graph: &'a Graph,
    leaves: Leaves<'a>,
    bindings: Cow<'a, Bindings>,
    options: EvalOptions,
    custom: &'a CustomOps,
    demand: Demand,
    /// By node; what nobody needs reports nothing, as it is not there when the graph is compiled.
    needed: Vec<bool>,
    loops: Loops,
    last_use: Vec<Option<NodeId>>,
    result: Evaluation,
}

impl Run<'_> {
    /// What a node does, without its reports where nobody needs it.
    fn reporting(
        &mut self,
        id: NodeId,
        compute: impl FnOnce(&mut Self) -> Result<(), EvalError>,
    ) -> Result<(), EvalError> {
        let reported = self.result.status.len();
        compute(self)?;
        if !self.needed[id.index()] {
            self.result.status.truncate(reported);
        }
        Ok(())
    }

    /// The next node.
    fn node(&mut self, id: NodeId) -> Result<(), EvalError> {
        let (graph, node) = (self.graph, self.graph.node(id));
        if !is_computed(graph, id, &self.demand, &self.bindings)? {
            // What only an untaken branch finds is nothing.
            node.op.finds().into_iter().for_each(|symbol| self.bindings.to_mut().bind(symbol, 0));
            return Ok(());
        }
        let types = node.outputs.iter().map(|&v| actual_type(graph, v, &self.bindings));
        let types = types.collect::<Result<Vec<_>, _>>()?;
        check_memory(graph, id, &types)?;
        let arrays = if node.op.is_leaf_interface() {
            vec![leaf_value(graph, node, self.leaves, &types[0])?]
        } else {
            let how = How { bindings: &self.bindings, options: self.options, custom: self.custom };
            eval_node(graph, (id, node), &types, how, &mut self.result)?
        };
        if let Some((symbol, extent)) = found(graph, node, &arrays[0]) {
            self.bindings.to_mut().bind(symbol, extent);
        }
        for (&v, array) in node.outputs.iter().zip(arrays) {
            self.result.values[v.index()] = Some(array);
        }
        for v in node.operands().chain(node.outputs.iter().copied()) {
            if self.last_use[v.index()].is_some_and(|last| last <= id) {
                self.result.values[v.index()] = None;
            }
        }
        Ok(())
    }

    /// All turns of a loop, and its results.
    fn turns(&mut self, number: usize) -> Result<(), EvalError> {
        let (graph, l) = (self.graph, self.loops.all[number].clone());
        let end = graph.node(l.end);
        if !is_computed(graph, l.end, &self.demand, &self.bindings)? {
            l.running.as_symbol().into_iter().for_each(|symbol| self.bindings.to_mut().bind(symbol, 0));
            return Ok(());
        }
        let inits = l.carried.values().filter_map(|&v| graph.def(v).input(0));
        let mut carried: Carried = inits.map(|v| self.result.values[v.index()].clone()).collect();
        let extent = |source| EvalError::Extent { name: graph.node_name(l.end).to_owned(), source };
        let known = l.turns.as_ref().map(|turns| turns.eval(&self.bindings)).transpose().map_err(extent)?;
        let perturb = self.options.perturb;
        for turn in 0..l.most as i64 {
            if !known.map_or_else(|| goes_on(&carried), |turns| turn < turns) {
                break;
            }
            // Turns draw numbers of their own: the errors of two that are moved alike would cancel in a difference.
            let of_turn = (turn as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            self.options.perturb = perturb.map(|seed| seed.wrapping_add(of_turn));
            carried = self.turn(&l, &carried)?;
        }
        self.options.perturb = perturb;
        if known.is_none() && goes_on(&carried) {
            let (node, status) = (graph.node_name(l.end).to_owned(), Status::FoundExtent(0));
            self.result.status.push(StatusEvent { node, status });
        }
        for (&v, value) in end.outputs.iter().zip(carried) {
            self.result.values[v.index()] = value;
        }
        Ok(())
    }
}

impl Run<'_> {
    /// What a turn leaves of what it begins with.
    fn turn(&mut self, l: &LoopInfo, begins: &Carried) -> Result<Carried, EvalError> {
        let graph = self.graph;
        for (&v, value) in l.carried.values().zip(begins) {
            self.result.values[v.index()].clone_from(value);
        }
        // A node may stand before the one that finds it.
        l.running.as_symbol().into_iter().for_each(|symbol| self.bindings.to_mut().bind(symbol, 1));
        for &id in l.nodes.iter().filter(|id| graph.node(**id).op.carries().is_none()) {
            self.reporting(id, |run| run.node(id))?;
        }
        let next = graph.node(l.end).operands().take(l.carried.len());
        Ok(next.map(|v| self.result.values[v.index()].clone()).collect())
    }
}

/// What turns of a loop begin with and leave, by its place.
type Carried = Vec<Option<Arc<Array>>>;

/// Whether there is a turn with what it would begin with.
fn goes_on(carried: &Carried) -> bool {
    carried.first().is_some_and(|flag| flag.as_ref().is_some_and(|f| f.as_ints()[0] > 0))
}

/// Whether the branches are taken in which a node is computed.
fn is_computed(graph: &Graph, id: NodeId, demand: &Demand, bindings: &Bindings) -> Result<bool, EvalError> {
    let extent = |source| EvalError::Extent { name: graph.node_name(id).to_owned(), source };
    demand.when(id).holds(bindings).map_err(extent)
}

/// The symbol that a node finds, and which extent it is, by the node's result.
pub(crate) fn found(graph: &Graph, node: &Node, result: &Array) -> Option<(SymbolId, u64)> {
    let symbol = node.op.finds()?;
    let most = graph.symbols().get(symbol).map_or(0, |s| s.max);
    Some((symbol, (result.as_ints()[0].max(0) as u64).min(most)))
}

impl Evaluation {
    /// Gathers outputs and states from the values, which are kept to the end.
    fn take_outputs(&mut self, graph: &Graph) {
        let value = |v: ValueId| self.values[v.index()].clone().expect("outputs and states are kept");
        self.outputs = graph.outputs().iter().map(|o| value(o.value)).collect();
        self.states = graph.final_states().into_iter().map(value).collect();
    }
}

/// That the results of a node fit, before anything of them is taken: a shape may claim more than there is.
fn check_memory(graph: &Graph, id: NodeId, types: &[(DType, Vec<u64>)]) -> Result<(), EvalError> {
    // Elements are 64 bits wide here, whatever their dtype.
    let bytes = types.iter().map(|(_, shape)| byte_count(DType::I64, shape).unwrap_or(u64::MAX));
    let needed = Bytes(bytes.fold(0, u64::saturating_add));
    let name = || graph.node_name(id).to_owned();
    machine::check_available(needed).map_err(|available| EvalError::Memory {
        name: name(),
        needed,
        available,
    })
}

/// How nodes are evaluated.
#[derive(Clone, Copy)]
struct How<'a> {
    bindings: &'a Bindings,
    options: EvalOptions,
    custom: &'a CustomOps,
}

fn eval_node(
    graph: &Graph,
    (id, node): (NodeId, &Node),
    types: &[(DType, Vec<u64>)],
    How { bindings, options, custom }: How<'_>,
    result: &mut Evaluation,
) -> Result<Vec<Arc<Array>>, EvalError> {
    let flush = options.flush_subnormals && flushes(&node.op);
    let operand = |v: ValueId| result.values[v.index()].clone().map(|a| if flush { flushed(a) } else { a });
    let operands: Vec<Option<Arc<Array>>> = node.inputs.iter().map(|v| v.and_then(operand)).collect();
    let inputs: Vec<Option<&Array>> = operands.iter().map(Option::as_deref).collect();
    let cx = EvalCx { custom: Some(custom), ..EvalCx::new(&inputs, types, bindings) };
    let mut arrays = ops::eval(&node.op, &cx);
    if let Some(error) = cx.failure.take() {
        return Err(EvalError::Custom { name: graph.node_name(id).to_owned(), error });
    }
    if let (Some(seed), false) = (options.perturb, node.op.moves_bits()) {
        // Nodes draw numbers of their own.
        perturb(
            &node.op,
            &cx,
            &mut arrays,
            seed ^ (id.index() as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        );
    }
    debug_assert!(
        arrays.iter().zip(types).all(|(a, (d, s))| a.dtype == *d && a.shape == *s),
        "{:?}",
        node.op
    );
    let name = graph.node_name(id);
    let events = cx.status.into_inner();
    result.status.extend(events.into_iter().map(|status| StatusEvent { node: name.to_owned(), status }));
    Ok(arrays.into_iter().map(Arc::new).collect())
}

/// Whether the op does arithmetic on its operands; what only moves bits keeps subnormals.
fn flushes(op: &Op) -> bool {
    !op.moves_bits() && op.state_operand().is_none() && op.body().is_none()
}

fn flushed(a: Arc<Array>) -> Arc<Array> {
    let tiny = |v: f64| v != 0.0 && v.abs() < f64::from(f32::MIN_POSITIVE);
    match &a.data {
        Data::Float(v) if a.dtype != DType::F16 && v.iter().any(|&x| tiny(x)) => {
            let data = v.iter().map(|&x| if tiny(x) { 0f64.copysign(x) } else { x }).collect();
            Arc::new(Array { data: Data::Float(data), dtype: a.dtype, shape: a.shape.clone() })
        }
        _ => a,
    }
}

fn check_constraints(graph: &Graph, bindings: &Bindings) -> Result<(), EvalError> {
    for c in graph.constraints() {
        let eval = |d: &DimExpr| {
            d.eval(bindings).map_err(|source| EvalError::Extent { name: c.what_and_where(), source })
        };
        let (left, right) = (eval(&c.left)?, eval(&c.right)?);
        let holds = if c.relation == Relation::AtMost { left <= right } else { left == right };
        if !holds {
            return Err(EvalError::Constraint {
                what: c.what_and_where(),
                left,
                relation: c.relation,
                right,
            });
        }
    }
    Ok(())
}

/// Dtype and extents of a value under the bindings.
pub fn actual_type(graph: &Graph, v: ValueId, bindings: &Bindings) -> Result<(DType, Vec<u64>), EvalError> {
    let ValueType { encoding, shape } = graph.ty(v);
    let name = || graph.value(v).name.to_string();
    let shape = shape
        .iter()
        .map(|d| d.eval_extent(bindings).map_err(|source| EvalError::Extent { name: name(), source }))
        .collect::<Result<Vec<u64>, _>>()?;
    let elements = pumice_types::tensor::byte_count(DType::F32, &shape).ok();
    if elements.is_none_or(|bytes| bytes > isize::MAX as u64 / 8) {
        return Err(EvalError::TooLarge(name()));
    }
    Ok((encoding.dtype(), shape))
}

fn leaf_value(
    graph: &Graph,
    node: &Node,
    leaves: Leaves<'_>,
    (dtype, shape): &(DType, Vec<u64>),
) -> Result<Arc<Array>, EvalError> {
    let name = || graph.value(node.output()).name.to_string();
    let array = leaves(node.output()).ok_or_else(|| EvalError::MissingLeaf(name()))?;
    if array.dtype == *dtype && array.shape == *shape {
        return Ok(array);
    }
    let (expected, given) = (format!("{dtype}{shape:?}"), format!("{}{:?}", array.dtype, array.shape));
    Err(EvalError::LeafType { name: name(), expected, given })
}

/// The node after which a value is not needed any more; `None` for what is kept.
fn last_uses(graph: &Graph, keep_all: bool) -> Vec<Option<NodeId>> {
    let mut last = vec![None; graph.value_count()];
    if keep_all {
        return last;
    }
    for (id, node) in graph.nodes() {
        node.outputs.iter().copied().chain(node.operands()).for_each(|v| last[v.index()] = Some(id));
    }
    let kept = graph.outputs().iter().map(|o| o.value).chain(graph.final_states());
    kept.for_each(|v| last[v.index()] = None);
    last
}

/// Constant folding by evaluation.
#[derive(Clone, Copy, Debug, Default)]
pub struct RefEval;

impl ConstEval for RefEval {
    fn eval(&self, graph: &Graph) -> Result<Vec<Tensor>, String> {
        let result = eval_graph(graph, &|_| None, &Bindings::new(), EvalOptions::default())
            .map_err(|e| e.to_string())?;
        if let Some(event) = result.status.first() {
            return Err(format!("{}: {:?}", event.node, event.status));
        }
        result.outputs.iter().map(|a| a.to_tensor().map_err(|e| e.to_string())).collect()
    }
}
