//! Several batches, one update: the entries `accumulate` and `update`.
//!
//! A batch adds weight·gradient, weight·loss and its weight to what was accumulated; an update divides by the sum of
//! the weights, so that it is that of one batch of all rows. A batch of weight 0 adds nothing, whatever its loss is.

use super::forward::{Forward, WITHOUT_PENALTY, Weight, built, f32_state, number};
use super::scale::{Scale, gradients};
use super::update::{Made, write};
use crate::error::TrainError;
use crate::names;
use crate::trained::Trained;
use pumice_ir::{Graph, GraphBuilder, Value};
use pumice_types::DType;

/// One batch of several.
pub(super) fn accumulate(forward: &Forward<'_>) -> Result<Graph, TrainError> {
    let graph = forward.of("accumulate", &WITHOUT_PENALTY)?;
    let g = graph.edit();
    let weights = forward.weights(Some(&graph), &g);
    let [loss, weight] = WITHOUT_PENALTY.map(|name| number(&graph, &g, name));
    let loss = loss.ok_or(TrainError::NoLoss)?;
    let own = weight.is_some();
    let weight = weight.unwrap_or_else(|| g.constant_scalar(DType::F32, 1.0));
    if !own {
        g.output(names::WEIGHT, weight);
    }
    let reached = forward.trained.iter().zip(&weights).filter(|(param, _)| param.by_loss);
    let (params, wanted): (Vec<&Trained>, Vec<Value>) = reached.map(|(param, w)| (param, w.now)).unzip();
    let gradients = gradients(&g, forward.scale(&g), loss, &wanted);
    let zero = g.constant_scalar(DType::F32, 0.0);
    let counts = own.then(|| g.not_equal(weight, zero));
    let part = |x: Value| {
        let weighed = if own { g.mul(x, weight) } else { x };
        counts.map_or(weighed, |counts| g.select(counts, weighed, zero))
    };
    let sums = Sums::read(&g, &params);
    sums.add(&g, sums.weights, weight);
    sums.add(&g, sums.losses, part(loss));
    for (&sum, gradient) in sums.gradients.iter().zip(gradients) {
        sums.add(&g, sum, part(gradient));
    }
    built("accumulate", g)
}

/// An update of what was accumulated.
pub(super) fn update(forward: &Forward<'_>) -> Result<Graph, TrainError> {
    let graph = forward.of_penalty("update")?;
    let graph = graph.as_ref();
    let g = graph.map_or_else(|| GraphBuilder::new(forward.graph.name()), Graph::edit);
    let weights = forward.weights(graph, &g);
    let penalty = graph.and_then(|graph| number(graph, &g, names::PENALTY));
    let params: Vec<&Trained> = forward.trained.iter().filter(|param| param.by_loss).collect();
    let sums = Sums::read(&g, &params);
    let weight = sums.weights.now;
    let loss = g.div(sums.losses.now, weight);
    let scale = forward.scale(&g);
    let pulls = penalty.map_or_else(Vec::new, |penalty| pulls(&g, forward, &weights, (penalty, scale)));
    let means = sums.gradients.iter().map(|sum| g.div(sum.now, weight)).collect();
    let gradients = merged(&g, forward, means, pulls);
    g.output(names::LOSS, loss);
    g.output(names::WEIGHT, weight);
    write(&g, forward, &weights, Made { loss, weight: Some(weight), penalty, gradients, scale });
    sums.clear(&g, &params);
    built("update", g)
}

/// The gradients of the penalty, by params that it depends on.
fn pulls(
    g: &GraphBuilder,
    forward: &Forward<'_>,
    weights: &[Weight],
    (penalty, scale): (Value, Option<Scale>),
) -> Vec<Value> {
    let reached = forward.trained.iter().zip(weights).filter(|(param, _)| param.by_penalty);
    let wanted: Vec<Value> = reached.map(|(_, weight)| weight.now).collect();
    if wanted.is_empty() { Vec::new() } else { gradients(g, scale, penalty, &wanted) }
}

/// By trained param the gradient of the loss, of the penalty, or the sum of both.
fn merged(g: &GraphBuilder, forward: &Forward<'_>, means: Vec<Value>, pulls: Vec<Value>) -> Vec<Value> {
    let (mut means, mut pulls) = (means.into_iter(), pulls.into_iter());
    let of_one = |param: &Trained| {
        let mean = if param.by_loss { means.next() } else { None };
        let pull = if param.by_penalty { pulls.next() } else { None };
        match (mean, pull) {
            (Some(mean), Some(pull)) => Some(g.add(mean, pull)),
            (mean, pull) => mean.or(pull),
        }
    };
    forward.trained.iter().filter_map(of_one).collect()
}

/// A state of f32 and what it is.
#[derive(Clone, Copy)]
struct Sum {
    state: Value,
    now: Value,
}

/// What was accumulated since the last update.
struct Sums {
    weights: Sum,
    losses: Sum,
    /// By param that the loss reaches.
    gradients: Vec<Sum>,
}

impl Sums {
    fn read(g: &GraphBuilder, params: &[&Trained]) -> Sums {
        let read = |name: &str, shape: &[u64]| {
            let state = f32_state(g, name, shape, false);
            Sum { state, now: g.state_read(state) }
        };
        Sums {
            weights: read(names::WEIGHTS, &[]),
            losses: read(names::LOSSES, &[]),
            gradients: params.iter().map(|p| read(&names::accumulated(&p.name), &p.shape)).collect(),
        }
    }

    fn add(&self, g: &GraphBuilder, sum: Sum, x: Value) {
        g.state_write(sum.state, g.add(sum.now, x));
    }

    /// All of them 0.
    fn clear(&self, g: &GraphBuilder, params: &[&Trained]) {
        let zero = |shape: &[u64]| {
            let shape = shape.iter().map(|&n| n.into()).collect();
            g.expand_to(g.constant_scalar(DType::F32, 0.0), shape)
        };
        let shapes = [&[][..], &[]].into_iter().chain(params.iter().map(|p| &p.shape[..]));
        let sums = [self.weights, self.losses].into_iter().chain(self.gradients.iter().copied());
        for (sum, shape) in sums.zip(shapes) {
            g.state_write(sum.state, zero(shape));
        }
    }
}
