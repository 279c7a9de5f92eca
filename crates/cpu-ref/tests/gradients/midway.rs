//! A sample in the middle of a graph: tanh before each float leaf, the sum of results times drawn numbers after.
//!
//! In: a sample. Out: a graph with a loss for each float result, what its leaves hold, and the values by which it is
//! differentiated. Never here: differences, verdicts.

use super::draws::Draws;
use super::slopes::Filled;
use pumice_cpu_ref::sample as data;
use pumice_cpu_ref::{Array, Data};
use pumice_ir::{Fill, Graph, GraphBuilder, Op, Sample, Value, ValueId};
use pumice_types::{Bindings, DType};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Leaves by which OPS 3.12 defines no gradient: the op is judged by its other operands.
const UNDEFINED: [(&str, &str); 2] = [("attention", "sinks"), ("attention", "alibi")];

/// What operands are where a sample says nothing of them: `middle + reach·tanh(leaf)`.
#[derive(Clone)]
pub struct Domain {
    pub middle: f64,
    pub reach: f64,
    /// Outputs whose sums are not finite there.
    pub left_out: Vec<usize>,
}

impl Domain {
    /// Of either sign; within the domain of arc sines; where roots, logarithms and inverse hyperbolic functions are.
    pub fn all() -> [Domain; 3] {
        [(0.0, 2.0), (0.0, 0.95), (2.5, 1.0)].map(|(middle, reach)| Domain::new(middle, reach))
    }

    fn new(middle: f64, reach: f64) -> Domain {
        Domain { middle, reach, left_out: Vec::new() }
    }
}

/// A sample in the middle of a graph that is still open.
pub struct Midway {
    pub g: GraphBuilder,
    /// The drawn leaves by name, in order, and the values that tanh makes of them.
    pub leaves: Vec<(String, Value)>,
    /// A loss for each float result, and the number of its output.
    pub losses: Vec<(usize, Value)>,
    /// Values of the sample's graph here.
    pub values: BTreeMap<ValueId, Value>,
    /// Leaves that are 0, since the sample holds a constant there.
    constant: Vec<String>,
}

pub fn is_float(graph: &Graph, v: ValueId) -> bool {
    graph.ty(v).encoding.plain().is_some_and(DType::is_float)
}

/// The float leaves of a sample that an op's gradient is defined by.
pub fn float_leaves(op: &str, graph: &Graph) -> Vec<ValueId> {
    let defined = |v: &ValueId| !UNDEFINED.contains(&(op, &graph.value(*v).name));
    let leaves = graph.inputs().into_iter().chain(graph.params()).filter(|&v| is_float(graph, v));
    leaves.filter(defined).collect()
}

impl Midway {
    /// The graph again, node by node. Of two leaves that are `tied`, the second is what the first is.
    pub fn new(
        sample: &Sample,
        forward: &Graph,
        leaves: &[ValueId],
        domain: &Domain,
        tied: Option<(ValueId, ValueId)>,
    ) -> Midway {
        let g = GraphBuilder::part_of("judged", forward);
        let (values, losses) = (BTreeMap::new(), Vec::new());
        let mut midway = Midway { g, leaves: Vec::new(), losses, values, constant: Vec::new() };
        for (_, node) in forward.nodes() {
            let result = node.output();
            if tied.is_some_and(|(_, second)| second == result) {
                continue;
            }
            if leaves.contains(&result) {
                let value = midway.leaf(sample, forward, result, domain);
                midway.values.insert(result, value);
                if let Some((_, second)) = tied.filter(|(first, _)| *first == result) {
                    midway.values.insert(second, value);
                }
                continue;
            }
            let operands: Vec<Option<Value>> =
                node.inputs.iter().map(|v| v.map(|v| midway.values[&v])).collect();
            let named = midway.g.named(&forward.value(result).name);
            let made = named.apply_all(node.op.clone(), &operands);
            midway.values.extend(node.outputs.iter().copied().zip(made));
        }
        midway.weigh(forward, &domain.left_out);
        midway
    }

    /// A leaf through tanh to where the sample keeps it.
    fn leaf(&mut self, sample: &Sample, forward: &Graph, leaf: ValueId, domain: &Domain) -> Value {
        let (ty, name) = (forward.ty(leaf), forward.value(leaf).name.to_string());
        let Domain { middle, reach, .. } = match sample.fill_of(&name) {
            Fill::Uniform(low, high) => Domain::new((low + high) / 2.0, (high - low) * 0.45),
            Fill::Constant(c) if c.is_finite() => {
                self.constant.push(name.clone());
                Domain::new(c, 1.0)
            }
            _ => domain.clone(),
        };
        let g = &self.g;
        let drawn = g.input(&name, ty.clone());
        let moved = g.mul(g.tanh(drawn), g.constant_scalar(ty.dtype(), reach));
        let moved = if middle == 0.0 { moved } else { g.add(moved, g.constant_scalar(ty.dtype(), middle)) };
        self.leaves.push((name, drawn));
        moved
    }

    /// Results times drawn numbers, added up: one loss each.
    fn weigh(&mut self, forward: &Graph, left_out: &[usize]) {
        for (i, output) in forward.outputs().iter().enumerate() {
            if !is_float(forward, output.value) || left_out.contains(&i) {
                continue;
            }
            let g = &self.g;
            let r = g.input(&format!("weights of result {i}"), forward.ty(output.value).clone());
            let terms = g.cast(g.mul(self.values[&output.value], r), DType::F32);
            let loss = g.reduce_sum(terms, &[], false);
            self.losses.push((i, loss));
        }
    }

    /// All losses together.
    pub fn loss(&self) -> Option<Value> {
        self.losses.iter().map(|(_, loss)| *loss).reduce(|sum, loss| self.g.add(sum, loss))
    }

    /// The drawn leaves that some loss moves with.
    pub fn reached(&self) -> Vec<(String, Value)> {
        let reached = |leaf: &&(String, Value)| self.losses.iter().any(|(_, y)| self.g.reaches(*y, leaf.1));
        self.leaves.iter().filter(reached).cloned().collect()
    }

    /// The graph, finished, and what its leaves hold: drawn floats, and integers as the sample has them.
    pub fn build(
        self,
        sample: &Sample,
        forward: &Graph,
        bindings: &Bindings,
    ) -> Result<(Graph, Filled), String> {
        let judged = self.g.build().map_err(|e| e.to_string())?;
        let mut draws = Draws::new(7);
        let mut filled = BTreeMap::new();
        let scalars = judged.scalars();
        for v in judged.inputs().into_iter().chain(judged.params()).chain(scalars.iter().copied()) {
            let name = judged.value(v).name.to_string();
            let shape: Vec<u64> =
                judged.ty(v).shape.iter().map(|d| d.eval_extent(bindings).unwrap_or(0)).collect();
            let count = shape.iter().product::<u64>() as usize;
            let array = if scalars.contains(&v) {
                let given = sample.scalars.iter().find(|(n, _)| *n == name).map(|(_, value)| *value);
                scalar(&judged, v, given)
            } else if self.constant.contains(&name) {
                Array { dtype: judged.ty(v).dtype(), shape, data: Data::Float(vec![0.0; count]) }
            } else if is_float(&judged, v) {
                Array { dtype: judged.ty(v).dtype(), shape, data: Data::Float(draws.normals(count)) }
            } else {
                let leaf = forward.find(&name).ok_or("a leaf that is not the sample's")?;
                let tensor = data::leaf_tensor(sample, forward, leaf, bindings, 0);
                Array::from_tensor(&tensor.map_err(|e| e.to_string())?)
            };
            filled.insert(name, Arc::new(array));
        }
        Ok((judged, filled))
    }
}

/// A scalar as the sample has it, else its default.
fn scalar(graph: &Graph, v: ValueId, given: Option<f64>) -> Array {
    let default = match &graph.def(v).op {
        Op::Scalar(scalar) => scalar.default,
        _ => 0.0,
    };
    let (dtype, value) = (graph.ty(v).dtype(), given.unwrap_or(default));
    let data = if dtype.is_float() { Data::Float(vec![value]) } else { Data::Int(vec![value as i64]) };
    Array { dtype, shape: vec![], data }
}
