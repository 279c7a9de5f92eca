//! A loss of a program, and its gradients.
//!
//! In: a program with its data. Out: the same with a loss over the float values that nobody reads and the float
//! outputs, and with its gradients by the float leaves that it moves with. What the driver refuses is left out: first
//! leaves, then values of which no leaf is left. Any other mistake of a gradient is a defect, and an error here. Left
//! out, too, are leaves that a `stop_gradient` hides, or a look at their bits: with these a loss moves, and gradients
//! do not say so.

use super::Order;
use super::place::{Place, is_float};
use pumice_cpu_ref::Array;
use pumice_ir::{BuildError, BuildErrors, GradError, Graph, GraphBuilder, Sample, Value, ValueId, ValueType};
use pumice_types::DType;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A program with a loss and its gradients.
pub struct Differentiated {
    /// The program with its loss, the last output.
    pub before: Sample,
    /// That with its gradients, the last outputs.
    pub sample: Sample,
    /// The leaves by which it is differentiated, in the order of the gradients.
    pub wanted: Vec<String>,
}

/// A value of which the loss has a term: a weighted mean of tanh(scale·value).
struct Term {
    value: String,
    scale: f64,
    weights: Option<String>,
    /// Leaves that it moves with.
    reached: BTreeSet<String>,
    /// Of these, those by which it has gradients.
    allowed: BTreeSet<String>,
}

/// The program with a loss and gradients, if it has any.
///
/// # Errors
/// What is wrong with its gradients.
pub fn differentiated(sample: &Sample, order: Order) -> Result<Option<Differentiated>, String> {
    let graph = sample.graph.as_ref().map_err(Clone::clone)?;
    let is_output = |v: ValueId| graph.is_output(v) || !graph.is_read(v);
    let ends = graph.values().map(|(v, _)| v).filter(|&v| is_float(graph, v) && is_output(v)).collect();
    let leaves = graph.inputs().into_iter().chain(graph.params()).filter(|&v| is_float(graph, v));
    let leaves: BTreeSet<String> = leaves.map(|v| graph.value(v).name.to_string()).collect();
    let hidden = hidden(graph);
    let Some(first) = with_loss_of(sample, ends, &leaves, &hidden, "")? else { return Ok(None) };
    if order == Order::First {
        return Ok(Some(first));
    }
    let graph = first.sample.graph.as_ref().map_err(Clone::clone)?;
    let gradients = graph.outputs().iter().rev().take(first.wanted.len()).map(|o| o.value);
    let gradients: BTreeSet<ValueId> = gradients.filter(|&v| is_float(graph, v)).collect();
    // What rules stop has no influence.
    let leaves = first.wanted.iter().cloned().collect();
    with_loss_of(&first.sample, gradients.into_iter().collect(), &leaves, &[], "second ")
}

/// For each value the leaves that some value before it hides from gradients.
fn hidden(graph: &Graph) -> Vec<BTreeSet<String>> {
    let mut moved_by = vec![BTreeSet::new(); graph.value_count()];
    let mut hidden = moved_by.clone();
    for (_, node) in graph.nodes() {
        let of = |sets: &[BTreeSet<String>]| node.operands().flat_map(|v| sets[v.index()].clone()).collect();
        let (mut moving, mut unseen): (BTreeSet<String>, BTreeSet<String>) = (of(&moved_by), of(&hidden));
        if node.op.is_leaf() {
            moving.insert(graph.value(node.output()).name.to_string());
        }
        if ["stop_gradient", "bit_cast"].contains(&node.op.name()) {
            unseen.extend(moving.iter().cloned());
        }
        for v in &node.outputs {
            moved_by[v.index()].clone_from(&moving);
            hidden[v.index()].clone_from(&unseen);
        }
    }
    hidden
}

fn with_loss_of(
    sample: &Sample,
    ends: Vec<ValueId>,
    leaves: &BTreeSet<String>,
    hidden: &[BTreeSet<String>],
    order: &str,
) -> Result<Option<Differentiated>, String> {
    let graph = sample.graph.as_ref().map_err(Clone::clone)?;
    let at = Place::of(sample, graph)?.evaluate(graph, None, true)?;
    let mut terms = Vec::new();
    for end in ends {
        let Some(mut term) = at.values[end.index()].as_ref().and_then(|a| Term::of(graph, end, a, order))
        else {
            continue;
        };
        term.ask(graph, leaves, hidden.get(end.index()))?;
        terms.push(term);
    }
    let (terms, wanted) = together(terms);
    if terms.is_empty() {
        return Ok(None);
    }
    let build = |with_gradients: bool| {
        let g = graph.edit();
        let loss = terms.iter().filter_map(|t| t.add(&g)).reduce(|sum, term| g.add(sum, term));
        let loss = loss.ok_or("a term without its value")?;
        g.output(&format!("{order}loss"), loss);
        let values: Vec<Value> = wanted.iter().filter_map(|name| g.find(name)).collect();
        for (name, gradient) in
            wanted.iter().zip(with_gradients.then(|| g.grad(loss, &values)).into_iter().flatten())
        {
            g.output(&format!("{order}gradient by {name}"), gradient);
        }
        let graph = g.build().map_err(|e| format!("a loss of several terms: {e}"))?;
        Ok::<_, String>(Sample { graph: Ok(graph), ..sample.clone() })
    };
    Ok(Some(Differentiated { before: build(false)?, sample: build(true)?, wanted }))
}

/// The terms of one loss, and the leaves by which it has gradients: all that no term refuses, or those of the term with
/// the most.
fn together(mut terms: Vec<Term>) -> (Vec<Term>, Vec<String>) {
    terms.retain(|t| !t.allowed.is_empty());
    let mut wanted: BTreeSet<String> = terms.iter().flat_map(|t| t.allowed.iter().cloned()).collect();
    for term in &terms {
        wanted.retain(|name| !term.reached.contains(name) || term.allowed.contains(name));
    }
    if wanted.is_empty()
        && let Some(most) = (0..terms.len()).max_by_key(|&i| terms[i].allowed.len())
    {
        terms = vec![terms.swap_remove(most)];
        wanted.clone_from(&terms[0].allowed);
    }
    (terms, wanted.into_iter().collect())
}

impl Term {
    /// The term of a value that has these elements; none where some are not finite, or there are none.
    fn of(graph: &Graph, value: ValueId, at: &Arc<Array>, order: &str) -> Option<Term> {
        let elements = at.to_f64();
        if elements.is_empty() || !elements.iter().all(|x| x.is_finite()) {
            return None;
        }
        let mean_square = elements.iter().map(|x| x * x).sum::<f64>() / elements.len() as f64;
        let name = graph.value(value).name.to_string();
        // Extents that are found are those of no input.
        let has_weights =
            graph.ty(value).static_shape().is_some() || graph.symbols().found().next().is_none();
        let weights = has_weights.then(|| format!("{order}weights of {name}"));
        let scale = f64::from((1.0 / (1.0 + mean_square.sqrt())) as f32);
        Some(Term { value: name, scale, weights, reached: BTreeSet::new(), allowed: BTreeSet::new() })
    }

    /// Adds the term to a graph.
    fn add(&self, g: &GraphBuilder) -> Option<Value> {
        let value = g.find(&self.value)?;
        let ty = g.type_of(value)?;
        let scaled = g.mul(g.cast(value, DType::F32), g.constant_scalar(DType::F32, self.scale));
        let mut terms = g.tanh(scaled);
        if let Some(weights) = &self.weights {
            terms = g.mul(terms, g.input(weights, ValueType::new(DType::F32, ty.shape)));
        }
        Some(g.reduce_mean(terms, &[], false))
    }

    /// Finds out by which leaves it has gradients.
    fn ask(
        &mut self,
        graph: &Graph,
        leaves: &BTreeSet<String>,
        hidden: Option<&BTreeSet<String>>,
    ) -> Result<(), String> {
        let open = graph.edit();
        let Some(loss) = self.add(&open) else { return Ok(()) };
        open.output("asked", loss);
        let is_hidden = |name: &String| hidden.is_some_and(|hidden| hidden.contains(name));
        let moves =
            |name: &&String| is_hidden(name) || open.find(name).is_some_and(|leaf| open.reaches(loss, leaf));
        self.reached = leaves.iter().filter(moves).cloned().collect();
        // What is inside a loop is no operand outside.
        if open.build().is_err() {
            self.reached.clear();
            return Ok(());
        }
        self.allowed = self.reached.iter().filter(|name| !is_hidden(name)).cloned().collect();
        while !self.allowed.is_empty() {
            let g = graph.edit();
            let Some(loss) = self.add(&g) else { break };
            let values: Vec<Value> = self.allowed.iter().filter_map(|name| g.find(name)).collect();
            g.grad(loss, &values);
            let Err(errors) = g.build() else { return Ok(()) };
            let refused = refused(&errors).ok_or_else(|| format!("gradient of {}: {errors}", self.value))?;
            self.allowed.retain(|name| !refused.contains(name));
        }
        Ok(())
    }
}

/// The leaves that the driver refuses by name; none where something else is wrong.
fn refused(errors: &BuildErrors) -> Option<BTreeSet<String>> {
    let name = |error: &BuildError| match error {
        BuildError::Grad(GradError::NotDifferentiable { from, .. }) => Some(from.clone()),
        BuildError::Grad(GradError::NotReached { name, .. }) => Some(name.clone()),
        _ => None,
    };
    errors.0.iter().map(|mistake| name(&mistake.error)).collect()
}
