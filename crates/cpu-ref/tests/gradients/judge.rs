//! One sample: the gradients of each float result's loss and of all together, by all operands and by each alone, are
//! held against slopes along drawn directions (OPS T5).

use super::draws::Draws;
use super::midway::{Domain, Midway, float_leaves, is_float};
use super::slopes::{Direction, Evaluator, Filled, Slope};
use pumice_cpu_ref::sample as data;
use pumice_ir::{Graph, Sample, ValueId};
use pumice_types::Bindings;

/// Of Σ|g·d|.
pub const CLOSE: f64 = 1e-6;
/// The same gradient asked for in two ways, of its largest element.
const SAME: f64 = 1e-9;
/// Elements of a direction that moves few.
const FEW: usize = 16;

/// How much is asked of a sample.
#[derive(Clone, Copy)]
pub struct Depth {
    /// Directions that are judged, and how often one is drawn.
    pub directions: usize,
    pub tries: usize,
    /// Elements that are moved one by one: all, if there are no more than that.
    pub elements: usize,
    /// Elements of the largest value of a sample that is judged.
    pub most: u64,
}

/// How a sample ended.
#[derive(PartialEq)]
pub enum Outcome {
    Right,
    Wrong(String),
    /// No float result moves with a float operand.
    NotAsked,
    /// Every direction meets a kink.
    Kinks,
    /// A loss is NaN or infinite there in every domain.
    NotFinite,
}

impl Outcome {
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Right => "right",
            Outcome::Wrong(_) => "wrong",
            Outcome::NotAsked => "nothing moves",
            Outcome::Kinks => "kinks",
            Outcome::NotFinite => "not finite",
        }
    }
}

/// A sample that can be judged.
pub struct Subject<'a> {
    pub sample: &'a Sample,
    pub forward: &'a Graph,
    pub bindings: Bindings,
    pub leaves: Vec<ValueId>,
}

impl<'a> Subject<'a> {
    /// A sample whose largest value has at most so many elements, or why it is not judged.
    pub fn of(op: &str, sample: &'a Sample, most: u64) -> Result<Subject<'a>, &'static str> {
        let forward = sample.graph.as_ref().map_err(|_| "no graph")?;
        let bindings = data::bindings(sample, forward);
        let leaves = float_leaves(op, forward);
        let has_op = forward.nodes().any(|(_, node)| node.op.name() == op);
        let results = forward.outputs().iter().any(|o| is_float(forward, o.value));
        let largest = data::largest(forward, &bindings);
        let reasons = [
            (!has_op, "without the op"),
            (leaves.is_empty() || !results, "no float"),
            (largest == 0, "no element"),
            (!forward.states().is_empty(), "a state"),
            (largest > most, "large"),
        ];
        match reasons.into_iter().find(|(is_so, _)| *is_so) {
            Some((_, reason)) => Err(reason),
            None => Ok(Subject { sample, forward, bindings, leaves }),
        }
    }

    /// Two leaves that may be the same value: the first pair of one type.
    pub fn pair(&self) -> Option<(ValueId, ValueId)> {
        let ty = |v: ValueId| self.forward.ty(v);
        let later = |i: usize| self.leaves[i + 1..].iter().map(move |&b| (self.leaves[i], b));
        (0..self.leaves.len()).flat_map(later).find(|&(a, b)| ty(a) == ty(b))
    }

    /// Whether a value has no element.
    fn is_empty(&self, v: ValueId) -> bool {
        self.forward.ty(v).shape.iter().any(|d| d.eval_extent(&self.bindings).unwrap_or(0) == 0)
    }

    /// The sample in the middle of a graph.
    pub fn midway(&self, domain: &Domain, tied: Option<(ValueId, ValueId)>) -> Midway {
        Midway::new(self.sample, self.forward, &self.leaves, domain, tied)
    }

    pub fn build(&self, midway: Midway) -> Result<(Graph, Filled), String> {
        midway.build(self.sample, self.forward, &self.bindings)
    }

    /// Judges it; of two leaves that are `tied`, the second is what the first is.
    pub fn judge(&self, tied: Option<(ValueId, ValueId)>, depth: Depth) -> Outcome {
        let judged = || {
            let Some(ground) = Ground::of(self, tied)? else { return Ok(Outcome::NotAsked) };
            let asked = ground.gradients(self, tied)?;
            ground.compare(&asked, depth)
        };
        judged().unwrap_or_else(Outcome::Wrong)
    }
}

/// Where a sample is judged: its losses alone, at a place where they are finite.
pub struct Ground {
    pub domain: Domain,
    pub graph: Graph,
    pub bindings: Bindings,
    pub filled: Filled,
    /// The outputs that they are of.
    outputs: Vec<usize>,
    /// The losses there.
    pub at: Vec<f64>,
    /// Leaves that some loss moves with, and how many elements each has.
    pub reached: Vec<(String, usize)>,
}

impl Ground {
    /// In the first domain in which the losses are finite, else without those that are not.
    pub fn of(subject: &Subject<'_>, tied: Option<(ValueId, ValueId)>) -> Result<Option<Ground>, String> {
        for domain in Domain::all() {
            let Some(ground) = Ground::within(subject, domain, tied)? else { return Ok(None) };
            if ground.at.iter().all(|y| y.is_finite()) {
                return Ok(Some(ground));
            }
        }
        let [domain, ..] = Domain::all();
        let Some(all) = Ground::within(subject, domain.clone(), tied)? else { return Ok(None) };
        // Means of nothing are NaN, and gradients with them.
        let empty = subject.leaves.iter().any(|&v| subject.is_empty(v));
        if empty || !all.at.iter().any(|y| y.is_finite()) {
            return Ok(Some(all));
        }
        let left_out = all.outputs.iter().zip(&all.at).filter(|(_, y)| !y.is_finite()).map(|(i, _)| *i);
        Ground::within(subject, Domain { left_out: left_out.collect(), ..domain }, tied)
    }

    fn within(
        subject: &Subject<'_>,
        domain: Domain,
        tied: Option<(ValueId, ValueId)>,
    ) -> Result<Option<Ground>, String> {
        let midway = subject.midway(&domain, tied);
        let reached = midway.reached();
        let outputs = midway.losses.iter().map(|(i, _)| *i).collect();
        for (j, loss) in &midway.losses {
            midway.g.output(&format!("loss {j}"), *loss);
        }
        let (graph, filled) = subject.build(midway)?;
        if reached.is_empty() {
            return Ok(None);
        }
        let reached = reached.into_iter().map(|(name, _)| (filled[&name].len(), name));
        let reached = reached.map(|(count, name)| (name, count)).collect();
        let bindings = subject.bindings.clone();
        let mut ground = Ground { domain, graph, bindings, filled, outputs, at: Vec::new(), reached };
        ground.at =
            ground.evaluator(&ground.graph, &ground.filled).outputs(None)?.iter().map(|y| y[0]).collect();
        Ok(Some(ground))
    }

    pub fn evaluator<'a>(&'a self, graph: &'a Graph, filled: &'a Filled) -> Evaluator<'a> {
        Evaluator { graph, bindings: &self.bindings, filled }
    }

    /// Slopes of the losses along a direction.
    pub fn slopes(&self, direction: &Direction) -> Result<Vec<Option<Slope>>, String> {
        self.evaluator(&self.graph, &self.filled).slopes(&self.at, direction)
    }

    fn elements(&self) -> usize {
        self.reached.iter().map(|(_, count)| count).sum()
    }

    /// The gradients that are asked for, evaluated.
    fn gradients(
        &self,
        subject: &Subject<'_>,
        tied: Option<(ValueId, ValueId)>,
    ) -> Result<Vec<Asked>, String> {
        let midway = subject.midway(&self.domain, tied);
        let g = &midway.g;
        let leaves: Vec<_> = midway.reached().into_iter().map(|(_, leaf)| leaf).collect();
        let all = midway.loss().ok_or("no loss")?;
        let mut asks = vec![(None, all, (0..leaves.len()).collect::<Vec<_>>())];
        if midway.losses.len() > 1 {
            let moves = |loss| (0..leaves.len()).filter(|&i| g.reaches(loss, leaves[i])).collect();
            asks.extend(midway.losses.iter().enumerate().map(|(j, (_, y))| (Some(j), *y, moves(*y))));
        }
        if leaves.len() > 1 {
            asks.extend((0..leaves.len()).map(|i| (None, all, vec![i])));
        }
        asks.retain(|(_, _, wanted)| !wanted.is_empty());
        for (at, (_, loss, wanted)) in asks.iter().enumerate() {
            let values: Vec<_> = wanted.iter().map(|&i| leaves[i]).collect();
            for (i, gradient) in g.grad(*loss, &values).into_iter().enumerate() {
                g.output(&format!("gradient {at} {i}"), gradient);
            }
        }
        let (graph, filled) = subject.build(midway)?;
        let mut outputs = self.evaluator(&graph, &filled).outputs(None)?.into_iter();
        let zeros = || self.reached.iter().map(|(_, count)| vec![0.0; *count]).collect::<Vec<_>>();
        let asked = asks.into_iter().map(|(loss, _, wanted)| {
            let mut gradients = zeros();
            wanted.iter().for_each(|&i| gradients[i] = outputs.next().unwrap_or_default());
            Asked {
                loss,
                alone: (loss.is_none() && leaves.len() > 1 && wanted.len() == 1).then(|| wanted[0]),
                gradients,
            }
        });
        Ok(asked.collect())
    }

    fn compare(&self, asked: &[Asked], depth: Depth) -> Result<Outcome, String> {
        let finite = |a: &Asked| a.gradients.iter().flatten().all(|g| g.is_finite());
        if !self.at.iter().all(|y| y.is_finite()) {
            return Ok(Outcome::NotFinite);
        }
        if !asked.iter().all(finite) {
            return Err("a gradient is not finite where the loss is".to_owned());
        }
        for one in asked {
            one.same_as(&asked[0])?;
        }
        let judged = self.of_elements(asked, depth)? + self.of_directions(asked, depth)?;
        Ok(if judged == 0 { Outcome::Kinks } else { Outcome::Right })
    }

    /// Moves single elements; how many could be judged.
    fn of_elements(&self, asked: &[Asked], depth: Depth) -> Result<usize, String> {
        let count = self.elements();
        let few = if count <= depth.elements { count } else { 0 };
        let mut judged = 0;
        for element in 0..few {
            let only = |at: usize| if at == element { 1.0 } else { 0.0 };
            judged += self.along(asked, &self.direction(only))?;
        }
        Ok(judged)
    }

    /// Moves everything, and few elements at a time where that meets kinks; how many could be judged.
    fn of_directions(&self, asked: &[Asked], depth: Depth) -> Result<usize, String> {
        let mut judged = 0;
        for direction in self.directions(depth.tries) {
            judged += self.along(asked, &direction)?;
            if judged == depth.directions {
                break;
            }
        }
        Ok(judged)
    }

    /// Drawn directions: every second one moves few elements, which meet fewer kinks.
    pub fn directions(&self, tries: usize) -> impl Iterator<Item = Direction> + '_ {
        let (count, mut draws) = (self.elements(), Draws::new(99));
        (0..tries).map(move |k| {
            let part = if k % 2 == 0 { 1.0 } else { FEW as f64 / count.max(FEW) as f64 };
            let numbers: Vec<f64> = (0..count).map(|_| draws.sparse(part)).collect();
            self.direction(|at| numbers[at])
        })
    }

    fn direction(&self, number: impl Fn(usize) -> f64) -> Direction {
        let mut at = 0;
        let mut next = |count: usize| {
            at += count;
            (at - count..at).map(&number).collect::<Vec<f64>>()
        };
        self.reached.iter().map(|(name, count)| (name.clone(), next(*count))).collect()
    }

    /// Whether the direction could be judged: 1 or 0.
    fn along(&self, asked: &[Asked], direction: &Direction) -> Result<usize, String> {
        let slopes = self.slopes(direction)?;
        let mut judged = 0;
        for one in asked.iter().filter(|one| one.alone.is_none()) {
            let Some(slope) = one.slope(&slopes) else { continue };
            one.agrees(self, direction, slope)?;
            judged = 1;
        }
        Ok(judged)
    }

    /// The slope that gradients of the reached leaves say, and Σ|g·d|.
    pub fn said(&self, gradients: &[Vec<f64>], direction: &Direction) -> (f64, f64) {
        let pairs =
            self.reached.iter().zip(gradients).flat_map(|((name, _), g)| g.iter().zip(&direction[name]));
        pairs.fold((0.0, 0.0), |(sum, size), (g, d)| (sum + g * d, size + (g * d).abs()))
    }
}

/// The sum of the slopes, where all are there.
pub fn sum(slopes: &[Option<Slope>]) -> Option<Slope> {
    slopes.iter().try_fold(Slope { value: 0.0, noise: 0.0 }, |sum, slope| {
        let slope = (*slope)?;
        Some(Slope { value: sum.value + slope.value, noise: sum.noise + slope.noise })
    })
}

/// Gradients that were asked for at once.
struct Asked {
    /// Of which loss; none is all together.
    loss: Option<usize>,
    /// By which leaf alone.
    alone: Option<usize>,
    gradients: Vec<Vec<f64>>,
}

impl Asked {
    fn slope(&self, slopes: &[Option<Slope>]) -> Option<Slope> {
        match self.loss {
            Some(j) => slopes[j],
            None => sum(slopes),
        }
    }

    /// By one leaf alone it is what it is by all.
    fn same_as(&self, all: &Asked) -> Result<(), String> {
        let Some(i) = self.alone else { return Ok(()) };
        let (one, all) = (&self.gradients[i], &all.gradients[i]);
        let size = all.iter().fold(0.0f64, |m, g| m.max(g.abs()));
        let same = one.iter().zip(all).all(|(a, b)| (a - b).abs() <= SAME * size || !b.is_finite());
        if same { Ok(()) } else { Err(format!("by leaf {i} alone: {one:?}, with others: {all:?}")) }
    }

    fn agrees(&self, ground: &Ground, direction: &Direction, slope: Slope) -> Result<(), String> {
        let (said, size) = ground.said(&self.gradients, direction);
        if (said - slope.value).abs() <= CLOSE * size + slope.noise {
            return Ok(());
        }
        let of = self.loss.map_or("all losses".to_owned(), |j| format!("loss {j}"));
        Err(format!("{of}: {said} where differences say {}, of sizes {size}", slope.value))
    }
}
