//! The update of all trained params, behind one flag, and the entry `step`.

use super::forward::{Forward, WITH_PENALTY, Weight, built, f32_state, number};
use super::guard::finite;
use super::scale::{Scale, gradients};
use crate::error::TrainError;
use crate::names;
use crate::numbers::TABLE_ROWS;
use crate::optimizer::UpdateCx;
use crate::recipe::{OnNonfinite, Recipe};
use crate::trained::Trained;
use pumice_ir::{Graph, GraphBuilder, Value, tensor};
use pumice_types::DType;
use std::collections::{BTreeMap, BTreeSet};

/// What an update is made of: f32 of rank 0, but for the gradients.
pub(super) struct Made {
    /// The mean over rows.
    pub(super) loss: Value,
    /// What it was divided by; none where the graph does not say so.
    pub(super) weight: Option<Value>,
    pub(super) penalty: Option<Value>,
    /// By trained param, unscaled.
    pub(super) gradients: Vec<Value>,
    pub(super) scale: Option<Scale>,
    /// Whether an update is due, a bool of rank 0; none where it always is. Where it is not, nothing is written but
    /// what was there.
    pub(super) due: Option<Value>,
}

/// One batch, one update.
pub(super) fn step(forward: &Forward<'_>) -> Result<Graph, TrainError> {
    let graph = forward.of("step", &WITH_PENALTY)?;
    let g = graph.edit();
    let weights = forward.weights(Some(&graph), &g);
    let [loss, weight, penalty] = WITH_PENALTY.map(|name| number(&graph, &g, name));
    let loss = loss.ok_or(TrainError::NoLoss)?;
    let objective = penalty.map_or(loss, |penalty| g.add(loss, penalty));
    let scale = forward.scale(&g);
    let gradients = gradients(&g, scale, objective, &weights.iter().map(|w| w.now).collect::<Vec<_>>());
    let made = Made { loss, weight, penalty, gradients, scale, due: None };
    if weight.is_none() {
        g.output(names::WEIGHT, forward.weight(&g));
    }
    write(&g, forward, &weights, made);
    built(forward.graph, "step", g)
}

/// Nodes that write params, slots and counts, and the outputs that say how it went.
pub(super) fn write(g: &GraphBuilder, forward: &Forward<'_>, weights: &[Weight], made: Made) {
    let recipe = forward.recipe;
    // An update waits for all gradients, so none is part of the step that makes it; nor is its square, which would be
    // stored beside it.
    let whole = (!recipe.unguarded).then(|| g.barrier(&made.gradients, None));
    let made = Made { gradients: whole.unwrap_or_else(|| made.gradients.clone()), ..made };
    let judgement = (!recipe.unguarded).then(|| Judgement::of(g, &made));
    let gradients = match &judgement {
        Some(judgement) => {
            judgement.tell(g, forward, made.scale);
            // What an update begins with before it is known whether it is made would be stored until then.
            let held = g.barrier(&made.gradients, Some(judgement.flag));
            clipped(g, recipe, judgement.norm, held)
        }
        None => made.gradients,
    };
    let flag = judgement.as_ref().map(|judgement| judgement.flag);
    let counts = Counts::read(g);
    let row = Row::read(g, forward, counts.updates.1);
    for ((param, weight), &gradient) in forward.trained.iter().zip(weights).zip(&gradients) {
        g.scoped(&param.name, |g| row.update(g, forward, (param, weight), gradient, flag));
    }
    counts.write(g, judgement.as_ref(), made.scale, made.due);
}

/// Whether an update is made, and why not: bools of rank 0.
struct Judgement {
    /// It is made.
    flag: Value,
    /// Something is not finite, and there were rows.
    failed: Value,
    finite_loss: Value,
    /// The norm of the gradients, f32.
    norm: Value,
}

impl Judgement {
    fn of(g: &GraphBuilder, made: &Made) -> Judgement {
        let squares = sum_of_squares(g, &made.gradients);
        let objective = made.penalty.map_or(made.loss, |penalty| g.add(made.loss, penalty));
        let finite_loss = finite(g, objective);
        let sound = g.and(finite_loss, finite(g, squares));
        let unsound = g.not(sound);
        // Without rows there is nothing to learn, and nothing is wrong.
        let any = made.weight.map(|weight| g.not_equal(weight, g.constant_scalar(DType::F32, 0.0)));
        let with_rows = |x: Value| any.map_or(x, |any| g.and(x, any));
        let is_due = |x: Value| made.due.map_or(x, |due| g.and(x, due));
        let [flag, failed] = [sound, unsound].map(with_rows).map(is_due);
        Judgement { flag, failed, finite_loss, norm: g.sqrt(squares) }
    }

    /// The outputs `norm`, `flag`, `stop`. A program that finds extents stops no later replays itself; its host does.
    fn tell(&self, g: &GraphBuilder, forward: &Forward<'_>, scale: Option<Scale>) {
        g.output(names::NORM, self.norm);
        g.output(names::FLAG, self.flag);
        if forward.recipe.on_nonfinite == OnNonfinite::Stop {
            let hopeless = scale.map(|scale| g.not(scale.may_help(g, self.finite_loss)));
            g.output(names::STOP, hopeless.map_or(self.failed, |hopeless| g.and(self.failed, hopeless)));
            if forward.graph.finders().is_empty() {
                g.stop(names::STOP);
            }
        }
    }
}

/// Numbers that one step adds.
const ADDED: usize = 8;

/// The sum of the squares of all gradients: of each by itself, then of [`ADDED`] of these at a time in the order of the
/// params, so that 512 params take three levels. One concatenation would write each number after the other.
fn sum_of_squares(g: &GraphBuilder, gradients: &[Value]) -> Value {
    let mut sums: Vec<Value> = gradients.iter().map(|&v| g.reduce_sum(g.square(v), &[], false)).collect();
    while sums.len() > 1 {
        let add = |some: &[Value]| some.iter().copied().reduce(|a, b| g.add(a, b));
        // What is added is there before it is added to more: fusion would make one chain of all.
        sums = sums.chunks(ADDED).filter_map(add).flat_map(|sum| g.barrier(&[sum], None)).collect();
    }
    sums.pop().unwrap_or_else(|| g.constant_scalar(DType::F32, 0.0))
}

/// Gradients times min(1, most/(norm + 1e-6)).
fn clipped(g: &GraphBuilder, recipe: &Recipe, norm: Value, gradients: Vec<Value>) -> Vec<Value> {
    let Some(most) = recipe.clip_norm else { return gradients };
    let [most, epsilon, one] = [most, 1e-6, 1.0].map(|v| g.constant_scalar(DType::F32, v));
    let factor = g.min(&[one, g.div(most, g.add(norm, epsilon))]);
    gradients.into_iter().map(|gradient| g.mul(gradient, factor)).collect()
}

/// The numbers of this update.
struct Row {
    /// The learning rates of groups that have params, by group.
    rates: BTreeMap<usize, Value>,
    /// The optimizer's, by name.
    numbers: Vec<(&'static str, Value)>,
}

impl Row {
    /// Row `updates` − base of the table. One that it does not have is reported by the gather.
    fn read(g: &GraphBuilder, forward: &Forward<'_>, updates: Value) -> Row {
        let recipe = forward.recipe;
        let (groups, own) = (recipe.groups.len() + 1, recipe.optimizer.numbers(1));
        let columns = (groups + own.len()) as u64;
        let table = g.input(names::NUMBERS, tensor(DType::F32, [TABLE_ROWS, columns]));
        let base = g.input(names::BASE, tensor(DType::I32, [0u64; 0]));
        let at = g.sub(updates, base);
        // An index below 0 would count from the end.
        let [zero, beyond] = [0, TABLE_ROWS].map(|v| g.constant_scalar(DType::I32, v as f64));
        let at = g.select(g.less(at, zero), beyond, at);
        let row = g.gather(table, at, 0);
        let number = |column: usize| {
            let column = column as i64;
            g.reshape(g.slice(row, &[column], &[column + 1], &[0], &[1]), &[])
        };
        let used: BTreeSet<usize> = forward.trained.iter().map(|param| param.group).collect();
        Row {
            rates: used.into_iter().map(|group| (group, number(group))).collect(),
            numbers: own.iter().zip(groups..).map(|((name, _), column)| (*name, number(column))).collect(),
        }
    }

    /// The update of one param.
    fn update(
        &self,
        g: &GraphBuilder,
        forward: &Forward<'_>,
        (param, weight): (&Trained, &Weight),
        gradient: Value,
        flag: Option<Value>,
    ) {
        let slot =
            |slot: &crate::Slot| f32_state(g, &names::slot(&param.name, slot.name), &slot.shape, false);
        let states: Vec<Value> = param.slots.iter().map(slot).collect();
        let slots: Vec<Value> = states.iter().map(|&state| g.state_read(state)).collect();
        let values = [weight.now, gradient, self.rates[&param.group]];
        let (kept, numbers) = ((&*param.shape, &*slots), (param.weight_decay, &*self.numbers));
        let updated = forward.recipe.optimizer.update(&UpdateCx::new(g, values, kept, numbers));
        let all = [(weight.state, weight.now, updated.param)].into_iter();
        let kept =
            states.into_iter().zip(slots).zip(updated.slots).map(|((state, now), new)| (state, now, new));
        for (state, now, new) in all.chain(kept) {
            g.state_write(state, chosen(g, flag, new, now));
        }
    }
}

/// The one where the flag says so, else the other; without a flag the one.
pub(super) fn chosen(g: &GraphBuilder, flag: Option<Value>, new: Value, old: Value) -> Value {
    flag.map_or(new, |flag| g.select(flag, new, old))
}

/// Counts of updates: their states and what these are.
struct Counts {
    updates: (Value, Value),
    good: (Value, Value),
    skips: (Value, Value),
}

impl Counts {
    fn read(g: &GraphBuilder) -> Counts {
        let [updates, good, skips] = [names::UPDATES, names::GOOD, names::SKIPS].map(|name| {
            let state = g.state(name, tensor(DType::I32, [0u64; 0]));
            (state, g.state_read(state))
        });
        Counts { updates, good, skips }
    }

    /// An update that is made counts, and one more is good; one that is due and not made ends those, and is a skip.
    fn write(
        self,
        g: &GraphBuilder,
        judgement: Option<&Judgement>,
        scale: Option<Scale>,
        due: Option<Value>,
    ) {
        let [zero, one] = [0.0, 1.0].map(|v| g.constant_scalar(DType::I32, v));
        let Counts { updates, good, skips } = self;
        let flag = judgement.map(|judgement| judgement.flag);
        let [more_updates, mut more_good] = [updates, good].map(|(_, now)| g.add(now, one));
        if let (Some(judgement), Some(scale)) = (judgement, scale) {
            more_good = scale.write(g, (judgement.flag, judgement.failed), more_good);
        }
        g.state_write(updates.0, chosen(g, flag, more_updates, updates.1));
        let none_good = chosen(g, due, zero, good.1);
        g.state_write(good.0, chosen(g, flag, more_good, none_good));
        if let Some(flag) = flag {
            let more_skips = chosen(g, due, g.add(skips.1, one), skips.1);
            g.state_write(skips.0, g.select(flag, skips.1, more_skips));
        }
    }
}
