//! The forward graph as entries begin with it.

use super::data;
use super::guard;
use super::scale::Scale;
use super::told;
use crate::error::TrainError;
use crate::names::{LOSS, PENALTY, SHARE, WEIGHT};
use crate::recipe::Recipe;
use crate::trained::{Trained, outputs};
use pumice_ir::{BuildError, BuildErrors, GradError, Graph, GraphBuilder, Mistake, Value, ValueId};
use pumice_types::DType;
use std::collections::BTreeMap;

/// What entries are made of.
pub(super) struct Forward<'a> {
    pub(super) graph: &'a Graph,
    pub(super) recipe: &'a Recipe,
    pub(super) trained: &'a [Trained],
    /// Whether a run is a micro-batch that weighs its share of the rows.
    pub(super) by_share: bool,
}

/// A trained param in an entry.
#[derive(Clone, Copy)]
pub(super) struct Weight {
    /// Its state.
    pub(super) state: Value,
    /// What it is before the update.
    pub(super) now: Value,
}

impl Forward<'_> {
    /// The graph of these outputs with trained params as states; running statistics move where the loss is finite.
    pub(super) fn of(&self, entry: &'static str, outputs: &[&str]) -> Result<Graph, TrainError> {
        let names: Vec<&str> = self.trained.iter().map(|param| param.name.as_str()).collect();
        let graph =
            data::from_tables(self.graph.with_given_states(&names).with_outputs(outputs), self.recipe);
        guard::statistics(&graph).map_err(|error| TrainError::Rewrite { entry, error })
    }

    /// The graph of the penalty, which moves no running statistics; none where there is no penalty.
    pub(super) fn of_penalty(&self, entry: &'static str) -> Result<Option<Graph>, TrainError> {
        if outputs(self.graph, &[PENALTY]).is_empty() {
            return Ok(None);
        }
        let names: Vec<&str> = self.trained.iter().map(|param| param.name.as_str()).collect();
        let graph = self.graph.with_given_states(&names).without_state_writes();
        let graph = graph.map_err(|error| TrainError::Rewrite { entry, error })?;
        Ok(Some(graph.with_outputs(&[PENALTY])))
    }

    /// What a run weighs whose graph does not say so.
    pub(super) fn weight(&self, g: &GraphBuilder) -> Value {
        let share = || g.input(SHARE, pumice_ir::f32::<u64>([]));
        if self.by_share { share() } else { g.constant_scalar(DType::F32, 1.0) }
    }

    /// The scale of the loss, where the recipe has one.
    pub(super) fn scale(&self, g: &GraphBuilder) -> Option<Scale> {
        self.recipe.loss_scale.then(|| Scale::read(g))
    }

    /// The states of trained params, and what they are. Those that a graph does not have are declared.
    pub(super) fn weights(&self, graph: Option<&Graph>, g: &GraphBuilder) -> Vec<Weight> {
        let known = graph.map(weights_of).unwrap_or_default();
        let of = |param: &Trained| match known.get(param.name.as_str()) {
            Some(&(state, now)) => Weight { state: g.value_of(state), now: g.value_of(now) },
            None => {
                let state = f32_state(g, &param.name, &param.shape, true);
                Weight { state, now: g.state_read(state) }
            }
        };
        self.trained.iter().map(of).collect()
    }
}

/// By name the states of a graph and what is read of each first; in one walk, since a graph may have many.
fn weights_of(graph: &Graph) -> BTreeMap<&str, (ValueId, ValueId)> {
    let mut weights = BTreeMap::new();
    for (_, node) in graph.nodes() {
        let read = node.op.state_read().and_then(|i| node.input(i));
        if let Some(state) = read.filter(|&v| graph.def(v).op.is_leaf()) {
            weights.entry(&*graph.value(state).name).or_insert((state, node.output()));
        }
    }
    weights
}

/// A state of f32, given or zeros.
pub(super) fn f32_state(g: &GraphBuilder, name: &str, shape: &[u64], given: bool) -> Value {
    let ty = pumice_ir::tensor(DType::F32, shape.iter().copied());
    if given { g.state_given(name, ty) } else { g.state(name, ty) }
}

/// The value of an output of a graph that was opened, in f32.
pub(super) fn number(graph: &Graph, g: &GraphBuilder, output: &str) -> Option<Value> {
    let value = g.value_of(*outputs(graph, &[output]).first()?);
    let dtype = g.type_of(value).map_or(DType::F32, |ty| ty.dtype());
    Some(if dtype == DType::F32 { value } else { g.cast(value, DType::F32) })
}

/// A finished entry of a forward graph.
pub(super) fn built(forward: &Graph, entry: &'static str, g: GraphBuilder) -> Result<Graph, TrainError> {
    g.build().map_err(|errors| told::of_entry(forward, entry, errors))
}

/// The ops on the way to loss and penalty that have no gradient, where there are other mistakes.
pub(super) fn without_gradient(graph: &Graph, trained: &[Trained]) -> Option<TrainError> {
    let g = graph.edit();
    let params: BTreeMap<&str, ValueId> =
        graph.params().into_iter().map(|v| (&*graph.value(v).name, v)).collect();
    let wanted = |reaches: fn(&Trained) -> bool| -> Vec<Value> {
        let reached = trained.iter().filter(|param| reaches(param));
        reached.filter_map(|param| Some(g.value_of(*params.get(param.name.as_str())?))).collect()
    };
    for (output, wanted) in [(LOSS, wanted(|p| p.by_loss)), (PENALTY, wanted(|p| p.by_penalty))] {
        if let Some(&end) = outputs(graph, &[output]).first().filter(|_| !wanted.is_empty()) {
            g.grad(g.value_of(end), &wanted);
        }
    }
    let of_op = |m: &Mistake| matches!(m.error, BuildError::Grad(GradError::NotDifferentiable { .. }));
    let mut errors: Vec<Mistake> = Vec::new();
    // What lies on the way to both is told once.
    for mistake in g.mistakes().into_iter().filter(of_op) {
        if !errors.contains(&mistake) {
            errors.push(mistake);
        }
    }
    (!errors.is_empty()).then(|| told::of_entry(graph, "step", BuildErrors(errors)))
}

/// The outputs of the forward graph that a step needs.
pub(super) const WITH_PENALTY: [&str; 3] = [LOSS, WEIGHT, PENALTY];
/// Those that one batch of several needs.
pub(super) const WITHOUT_PENALTY: [&str; 2] = [LOSS, WEIGHT];
