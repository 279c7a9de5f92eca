//! Which params of a graph a recipe trains, and every mistake that can be seen before a step is made.

use crate::error::TrainError;
use crate::group::Group;
use crate::held::{lost, outside, shown};
use crate::names::{LOSS, OWN, PENALTY, WEIGHT};
use crate::numbers::{TABLE_ROWS, lost_rates};
use crate::optimizer::Slot;
use crate::optimizer::trial::forgotten;
use crate::pattern::Pattern;
use crate::recipe::{OnNonfinite, Recipe};
use pumice_ir::{Graph, Op, ValueId};
use pumice_types::DType;
use std::collections::{BTreeMap, BTreeSet};

/// A param that is trained.
#[derive(Clone, Debug, PartialEq)]
pub struct Trained {
    /// Its name, which is that of its state.
    pub name: String,
    /// Its extents.
    pub shape: Vec<u64>,
    /// Its group: 0 for those in none, else its number in the recipe, from 1. The column of its rate in a row of
    /// numbers.
    pub group: usize,
    /// Its weight decay.
    pub weight_decay: f64,
    /// What the optimizer keeps for it, in states named by [`names::slot`](crate::names::slot).
    pub slots: Vec<Slot>,
    /// Whether the loss depends on it; the penalty may alone.
    pub(crate) by_loss: bool,
    /// Whether the penalty does.
    pub(crate) by_penalty: bool,
}

/// The params that a recipe trains, in the order of the graph, and what is wrong.
pub(crate) fn trained(graph: &Graph, recipe: &Recipe) -> (Vec<Trained>, Vec<TrainError>) {
    let params = param_names(graph);
    let groups = Members::of(&recipe.groups, &params);
    let of_groups = wrong_groups(&params, &groups);
    let mut wrong = [wrong_outputs(graph), wrong_recipe(recipe), of_groups, wrong_leaves(graph)].concat();
    let [loss, weight, penalty] = [LOSS, WEIGHT, PENALTY].map(|name| moving(graph, &outputs(graph, &[name])));
    let has_loss = graph.outputs().iter().any(|o| o.name == LOSS);
    let mut all = Vec::new();
    for v in graph.params() {
        let name = &graph.value(v).name;
        let (group, own) = group_of(name, &groups, &recipe.groups);
        if own.is_some_and(|group| group.frozen) {
            continue;
        }
        let (by_loss, by_penalty) = (loss.contains(&v), penalty.contains(&v));
        let Some(shape) = trainable(graph, v) else {
            let asked = own.is_some_and(|group| group.trained);
            wrong.extend(asked.then(|| not_trainable(graph, v)));
            continue;
        };
        let (reached, param) = (by_loss || by_penalty, name.to_string());
        if !reached && (recipe.allow_unused || !has_loss) {
            continue;
        }
        wrong.extend((!reached).then(|| TrainError::NotReached { param: param.clone() }));
        wrong.extend(weight.contains(&v).then(|| TrainError::WeightMoves { param: param.clone() }));
        let weight_decay = own.and_then(|group| group.weight_decay);
        let slots = recipe.optimizer.slots(&shape);
        let weight_decay = weight_decay.unwrap_or_else(|| recipe.optimizer.weight_decay());
        all.push(Trained { name: param, shape, group, weight_decay, slots, by_loss, by_penalty });
    }
    wrong.extend(wrong_update(recipe, &all, wrong.is_empty()));
    (all, wrong)
}

/// The extents of a param that can be trained: a float of constant extents.
fn trainable(graph: &Graph, v: ValueId) -> Option<Vec<u64>> {
    let ty = graph.ty(v);
    ty.encoding.plain().filter(|dtype| dtype.is_float()).and_then(|_| ty.static_shape())
}

fn param_names(graph: &Graph) -> Vec<String> {
    graph.params().into_iter().map(|v| graph.value(v).name.to_string()).collect()
}

fn not_trainable(graph: &Graph, v: ValueId) -> TrainError {
    let (param, encoding) = (graph.value(v).name.to_string(), graph.ty(v).display(graph.symbols()));
    TrainError::NotTrainable { param, encoding }
}

/// The group of a param and its number from 1; 0 for those in none.
fn group_of<'r>(param: &str, members: &[Members<'_>], groups: &'r [Group]) -> (usize, Option<&'r Group>) {
    let found = members.iter().position(|group| group.has(param));
    found.map_or((0, None), |i| (i + 1, groups.get(i)))
}

/// Who is in a group.
struct Members<'r> {
    patterns: Vec<Pattern<'r>>,
    texts: &'r [String],
}

impl<'r> Members<'r> {
    /// Of each group, among these params.
    fn of(groups: &'r [Group], params: &[String]) -> Vec<Members<'r>> {
        let pattern = |text: &'r String| Pattern::among(text, params.iter().map(String::as_str));
        let of = |group: &'r Group| Members {
            patterns: group.patterns.iter().map(pattern).collect(),
            texts: &group.patterns,
        };
        groups.iter().map(of).collect()
    }

    fn has(&self, param: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.matches(param))
    }

    /// Patterns that none of these params is of.
    fn unmatched(&self, params: &[String]) -> impl Iterator<Item = &'r String> {
        let none = |pattern: &Pattern<'_>| !params.iter().any(|name| pattern.matches(name));
        self.patterns.iter().zip(self.texts).filter(move |(pattern, _)| none(pattern)).map(|(_, text)| text)
    }
}

/// `loss`, `weight` and `penalty` are one float each.
fn wrong_outputs(graph: &Graph) -> Vec<TrainError> {
    let mut wrong = Vec::new();
    for output in [LOSS, WEIGHT, PENALTY] {
        match graph.outputs().iter().find(|o| o.name == output) {
            Some(o) => {
                let ty = graph.ty(o.value);
                let float = ty.encoding.plain().is_some_and(DType::is_float);
                if !float || ty.rank() != 0 {
                    wrong.push(TrainError::NoNumber { output, ty: ty.display(graph.symbols()) });
                }
            }
            None if output == LOSS => wrong.push(TrainError::NoLoss),
            None => {}
        }
    }
    wrong
}

/// Patterns match, and a param is in one group.
fn wrong_groups(params: &[String], groups: &[Members<'_>]) -> Vec<TrainError> {
    let mut wrong = Vec::new();
    for (group, number) in groups.iter().zip(1..) {
        let unmatched = group.unmatched(params);
        wrong.extend(unmatched.map(|p| TrainError::NoMatch { pattern: p.clone(), group: number }));
    }
    for param in params {
        let mut of = groups.iter().zip(1..).filter(|(group, _)| group.has(param)).map(|(_, number)| number);
        if let (Some(first), Some(second)) = (of.next(), of.next()) {
            wrong.push(TrainError::TwoGroups { param: param.clone(), first, second });
        }
    }
    wrong
}

/// What a graph declares that it must not, and states that are none of training.
fn wrong_leaves(graph: &Graph) -> Vec<TrainError> {
    [reserved(graph), wrong_states(graph), needed_writes(graph)].concat()
}

/// States are running statistics: written as a whole, if at all.
fn wrong_states(graph: &Graph) -> Vec<TrainError> {
    let mut wrong: BTreeMap<ValueId, &'static str> = BTreeMap::new();
    for feed in graph.feeds() {
        wrong.insert(feed.state, "fed by an output");
    }
    for (_, node) in graph.nodes() {
        let whole = node.op.whole_state().is_some();
        for next in graph.successions(node) {
            if let Some(state) = graph.state_of(next.previous).filter(|_| !whole) {
                wrong.insert(state, "a cache, written in parts or by a loop");
            }
        }
    }
    let name = |v: ValueId| graph.value(v).name.to_string();
    wrong.into_iter().map(|(v, what)| TrainError::State { state: name(v), what }).collect()
}

/// Writes that the loss is made of, the first of each state: all writes wait for the loss (DESIGN 11.5).
fn needed_writes(graph: &Graph) -> Vec<TrainError> {
    let of_loss = needed(graph, &outputs(graph, &[LOSS]));
    let mut first: BTreeMap<ValueId, ValueId> = BTreeMap::new();
    for (_, node) in graph.nodes().filter(|(_, node)| node.op.whole_state().is_some()) {
        let written = node.output();
        if let Some(state) = graph.state_of(written).filter(|_| of_loss.contains(&written)) {
            first.entry(state).or_insert(written);
        }
    }
    let name = |v: ValueId| graph.value(v).name.to_string();
    first.into_iter().map(|(s, v)| TrainError::LossNeedsWrite { state: name(s), node: name(v) }).collect()
}

/// What the graph declares by a name that is for what training adds.
fn reserved(graph: &Graph) -> Vec<TrainError> {
    let leaves = graph.leaves(Op::is_leaf_interface).into_iter();
    let own = leaves.filter(|&v| graph.value(v).name.starts_with(OWN));
    own.map(|v| TrainError::Reserved { kind: graph.def(v).op.name(), name: graph.value(v).name.to_string() })
        .collect()
}

fn of_optimizer(recipe: &Recipe, reason: String) -> TrainError {
    TrainError::Optimizer { optimizer: recipe.optimizer.name().to_owned(), reason }
}

/// That there is nothing to update, where nothing else is wrong, or what the optimizer forgets.
fn wrong_update(recipe: &Recipe, all: &[Trained], sound: bool) -> Option<TrainError> {
    if all.is_empty() {
        return sound.then_some(TrainError::NothingTrained);
    }
    let forgets = |param: &Trained| forgotten(&*recipe.optimizer, &param.shape);
    all.iter().find_map(forgets).map(|reason| of_optimizer(recipe, reason))
}

/// What groups say against themselves.
fn wrong_settings(recipe: &Recipe) -> Vec<TrainError> {
    let mut wrong = Vec::new();
    let mut say = |wrong_so: bool, what: String| wrong.extend(wrong_so.then_some(TrainError::Recipe(what)));
    let no_number = |number: f64| !(number.is_finite() && number >= 0.0);
    for (group, number) in recipe.groups.iter().zip(1..) {
        say(group.patterns.is_empty(), format!("group {number} has no pattern, and no param is in it"));
        say(group.frozen && group.trained, format!("group {number} is frozen and trained"));
        let rate = format!("the rate of group {number} is a multiple of the schedule's, not below 0");
        say(no_number(group.rate), rate);
        let decay = format!("the weight decay of group {number} is not below 0");
        say(group.weight_decay.is_some_and(no_number), decay);
    }
    wrong
}

/// Numbers of a recipe that are right but for f32, which does not hold them; those of the optimizer are its own to
/// tell.
fn lost_numbers(recipe: &Recipe) -> Vec<TrainError> {
    let decay = |group: &Group| group.weight_decay.filter(|decay| *decay >= 0.0);
    let decays =
        recipe.groups.iter().zip(1..).filter_map(|(group, number)| {
            Some((format!("the weight decay of group {number}"), decay(group)?))
        });
    let clip = recipe.clip_norm.filter(|most| *most > 0.0);
    let numbers = decays.chain(clip.map(|most| ("the norm to which gradients are clipped".to_owned(), most)));
    let said = numbers.filter_map(|(name, number)| {
        Some(format!("{name} is {}, which is {} in f32", shown(number), lost(number)?))
    });
    let rates = recipe.schedule.mistake().is_none().then(|| lost_rates(&recipe.schedule, &recipe.factors()));
    rates.into_iter().flatten().chain(said).map(TrainError::Recipe).collect()
}

/// What a recipe says against itself.
fn wrong_recipe(recipe: &Recipe) -> Vec<TrainError> {
    let mut wrong = Vec::new();
    // One of one's own may not look after its decay.
    let decay = || outside("weight_decay", recipe.optimizer.weight_decay(), 0.0, f64::INFINITY);
    let mistake = recipe.optimizer.mistake().or_else(decay);
    wrong.extend(mistake.map(|reason| of_optimizer(recipe, reason)));
    wrong.extend(recipe.schedule.mistake().map(TrainError::Recipe));
    let mut say = |wrong_so: bool, what: &str| {
        if wrong_so {
            wrong.push(TrainError::Recipe(what.to_owned()));
        }
    };
    let guarded = recipe.clip_norm.is_some()
        || recipe.accumulate > 1
        || recipe.loss_scale
        || recipe.on_nonfinite == OnNonfinite::Skip;
    say(recipe.accumulate == 0, "an update is made of one run at least");
    let steps = u64::from(recipe.steps_per_submission);
    let in_table = format!("a submission is of 1 to {TABLE_ROWS} steps, not of {steps}");
    say(!(1..=TABLE_ROWS).contains(&steps), &in_table);
    say(
        recipe.clip_norm.is_some_and(|most| !(most > 0.0 && most.is_finite())),
        "gradients are clipped to a norm above 0",
    );
    say(recipe.unguarded && guarded, "what is unguarded neither clips, accumulates, scales nor skips");
    wrong.extend(wrong_settings(recipe));
    wrong.extend(lost_numbers(recipe));
    wrong
}

/// The values of the outputs of these names.
pub(crate) fn outputs(graph: &Graph, names: &[&str]) -> Vec<ValueId> {
    let named = graph.outputs().iter().filter(|o| names.contains(&o.name.as_str()));
    named.map(|o| o.value).collect()
}

/// The float values that these move with, by ways that have a gradient.
pub(crate) fn moving(graph: &Graph, of: &[ValueId]) -> BTreeSet<ValueId> {
    let mut moving: BTreeSet<ValueId> = of.iter().copied().collect();
    for (_, node) in graph.nodes().rev() {
        let results: Vec<usize> =
            (0..node.outputs.len()).filter(|&k| moving.contains(&node.outputs[k])).collect();
        let moves = |i: usize| {
            node.op.moves_with(i) && results.iter().any(|&result| node.op.result_moves_with(result, i))
        };
        let operands = node.inputs.iter().enumerate().filter(|&(i, _)| moves(i));
        let floats = operands
            .filter_map(|(_, v)| *v)
            .filter(|v| graph.ty(*v).encoding.plain().is_some_and(DType::is_float));
        moving.extend(floats);
    }
    moving
}

/// The values that these are made of.
pub(crate) fn needed(graph: &Graph, of: &[ValueId]) -> BTreeSet<ValueId> {
    let mut needed: BTreeSet<ValueId> = of.iter().copied().collect();
    for (_, node) in graph.nodes().rev() {
        if node.outputs.iter().any(|v| needed.contains(v)) {
            needed.extend(node.operands());
        }
    }
    needed
}
