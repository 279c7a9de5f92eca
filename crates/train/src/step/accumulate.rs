//! Several batches, one update: the entries `accumulate` and `update`.
//!
//! A batch adds weight·gradient, weight·loss and its weight to what was accumulated; an update divides by the sum of
//! the weights, so that it is that of one batch of all rows. A batch of weight 0 adds nothing, whatever its loss is. A
//! micro-batch is a batch here, of its own weight or of its share of the rows.

use super::forward::{Forward, WITH_PENALTY, WITHOUT_PENALTY, Weight, built, f32_state, number};
use super::scale::{Scale, gradients};
use super::update::{Made, chosen, write};
use crate::error::TrainError;
use crate::names;
use crate::trained::Trained;
use pumice_ir::{Graph, GraphBuilder, Value, tensor};
use pumice_types::DType;

/// One batch of several.
pub(super) fn accumulate(forward: &Forward<'_>) -> Result<Graph, TrainError> {
    let graph = forward.of("accumulate", &WITHOUT_PENALTY)?;
    let g = graph.edit();
    let weights = forward.weights(Some(&graph), &g);
    add_batch(forward, &graph, &g, (&weights, forward.scale(&g)))?;
    built(forward.graph, "accumulate", g)
}

/// An update of what was accumulated.
pub(super) fn update(forward: &Forward<'_>) -> Result<Graph, TrainError> {
    let graph = forward.of_penalty("update")?;
    let graph = graph.as_ref();
    let g = graph.map_or_else(|| GraphBuilder::new(forward.graph.name()), Graph::edit);
    let weights = forward.weights(graph, &g);
    let penalty = graph.and_then(|graph| number(graph, &g, names::PENALTY));
    let sums = Sums::read(&g, &of_loss(forward));
    let scale = forward.scale(&g);
    make_update(forward, &g, &sums, Sources { weights: &weights, penalty, scale, due: None });
    built(forward.graph, "update", g)
}

/// One batch of several, and an update where it is the last of them: what [`accumulate`] and then [`update`] do, of the
/// same bits.
pub(super) fn step(forward: &Forward<'_>) -> Result<Graph, TrainError> {
    let graph = forward.of("step", &WITH_PENALTY)?;
    let g = graph.edit();
    let weights = forward.weights(Some(&graph), &g);
    let scale = forward.scale(&g);
    let penalty = number(&graph, &g, names::PENALTY);
    let sums = add_batch(forward, &graph, &g, (&weights, scale))?.again(&g);
    let due = Some(g.input(names::ENDS, tensor(DType::Bool, [0u64; 0])));
    make_update(forward, &g, &sums, Sources { weights: &weights, penalty, scale, due });
    built(forward.graph, "step", g)
}

/// Params that the loss reaches.
fn of_loss<'f>(forward: &Forward<'f>) -> Vec<&'f Trained> {
    forward.trained.iter().filter(|param| param.by_loss).collect()
}

/// Adds a batch to what was accumulated, which is then this.
fn add_batch(
    forward: &Forward<'_>,
    graph: &Graph,
    g: &GraphBuilder,
    (weights, scale): (&[Weight], Option<Scale>),
) -> Result<Sums, TrainError> {
    let [loss, weight] = WITHOUT_PENALTY.map(|name| number(graph, g, name));
    let loss = loss.ok_or(TrainError::NoLoss)?;
    let own = weight.is_some();
    let weight = weight.unwrap_or_else(|| forward.weight(g));
    if !own {
        g.output(names::WEIGHT, weight);
    }
    let reached = forward.trained.iter().zip(weights).filter(|(param, _)| param.by_loss);
    let wanted: Vec<Value> = reached.map(|(_, w)| w.now).collect();
    let gradients = gradients(g, scale, loss, &wanted);
    let zero = g.constant_scalar(DType::F32, 0.0);
    let counts = own.then(|| g.not_equal(weight, zero));
    let part = |x: Value| {
        let weighed = if own || forward.by_share { g.mul(x, weight) } else { x };
        counts.map_or(weighed, |counts| g.select(counts, weighed, zero))
    };
    let sums = Sums::read(g, &of_loss(forward));
    let of_params = sums.gradients.iter().zip(gradients).map(|(sum, gradient)| sum.plus(g, part(gradient)));
    Ok(Sums {
        weights: sums.weights.plus(g, weight),
        losses: sums.losses.plus(g, part(loss)),
        gradients: of_params.collect(),
    })
}

/// What an update needs beside what was accumulated.
struct Sources<'w> {
    weights: &'w [Weight],
    penalty: Option<Value>,
    scale: Option<Scale>,
    /// As in [`Made`].
    due: Option<Value>,
}

/// Updates by what was accumulated, which is nothing then.
fn make_update(forward: &Forward<'_>, g: &GraphBuilder, sums: &Sums, from: Sources<'_>) {
    let Sources { weights, penalty, scale, due } = from;
    let weight = sums.weights.now;
    let loss = g.div(sums.losses.now, weight);
    let pulls = penalty.map_or_else(Vec::new, |penalty| pulls(g, forward, weights, (penalty, scale)));
    let means = sums.gradients.iter().map(|sum| g.div(sum.now, weight)).collect();
    let gradients = merged(g, forward, means, pulls);
    let [loss_name, weight_name] = match due {
        Some(_) => [names::LOSS_OF_UPDATE, names::WEIGHT_OF_UPDATE],
        None => [names::LOSS, names::WEIGHT],
    };
    g.output(loss_name, loss);
    g.output(weight_name, weight);
    write(g, forward, weights, Made { loss, weight: Some(weight), penalty, gradients, scale, due });
    sums.clear(g, &of_loss(forward), due);
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

impl Sum {
    /// The sum with x added to it, in place.
    fn plus(self, g: &GraphBuilder, x: Value) -> Sum {
        let now = g.add(self.now, x);
        Sum { state: g.state_write(self.state, now), now }
    }

    /// What lies in the state now, as another run would read it: no pass makes what was added part of an update.
    fn again(self, g: &GraphBuilder) -> Sum {
        let now = g.state_read(self.state);
        Sum { now: g.barrier(&[now], None)[0], ..self }
    }
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

    fn again(self, g: &GraphBuilder) -> Sums {
        let again = |sum: Sum| sum.again(g);
        Sums {
            weights: again(self.weights),
            losses: again(self.losses),
            gradients: self.gradients.into_iter().map(again).collect(),
        }
    }

    /// All of them 0, or where that is not due as they are.
    fn clear(&self, g: &GraphBuilder, params: &[&Trained], due: Option<Value>) {
        let zero = |shape: &[u64]| {
            let shape = shape.iter().map(|&n| n.into()).collect();
            g.expand_to(g.constant_scalar(DType::F32, 0.0), shape)
        };
        let shapes = [&[][..], &[]].into_iter().chain(params.iter().map(|p| &p.shape[..]));
        let sums = [self.weights, self.losses].into_iter().chain(self.gradients.iter().copied());
        for (sum, shape) in sums.zip(shapes) {
            g.state_write(sum.state, chosen(g, due, zero(shape), sum.now));
        }
    }
}
