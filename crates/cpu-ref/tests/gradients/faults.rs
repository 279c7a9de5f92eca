//! Faults planted in what rules make: a judge that does not find them is none.
//!
//! A node of the sample's graph is taken by itself: the gradients of its results come in, what its rule contributes to
//! each operand goes out, and each is a value of the graph. A fault replaces what goes in or out, so that the library
//! knows nothing of it; what the faulty rule makes of the leaves' gradients is the sound ones less the contribution
//! plus the faulty one.

use super::judge::{CLOSE, Ground, Subject, sum};
use super::midway::Midway;
use super::slopes::{Direction, Slope};
use pumice_cpu_ref::{Array, Data};
use pumice_ir::{Node, Value};
use pumice_types::DType;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is wrong with a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The gradients of the results are taken as 1.
    Ones,
    /// That of this result is left out, where there are others.
    ResultDropped(usize),
    /// That of this operand is left out.
    OperandDropped(usize),
    /// Of an axis along which this operand was stretched only the first element is summed.
    NotSummed(usize),
    /// That of this operand has the other sign.
    Sign(usize),
    /// It is divided by the root of its last extent.
    Scale(usize),
}

impl Fault {
    pub fn word(self) -> &'static str {
        match self {
            Fault::Ones => "dy as 1",
            Fault::ResultDropped(_) => "a result's dy dropped",
            Fault::OperandDropped(_) => "an operand's gradient dropped",
            Fault::NotSummed(_) => "a stretched axis not summed",
            Fault::Sign(_) => "a sign",
            Fault::Scale(_) => "a scale",
        }
    }
}

/// The gradients of the leaves, one list for each.
type Gradients = Vec<Vec<f64>>;

/// A node between the upstream gradients of its results and its contributions to operands.
struct Seam<'a> {
    midway: &'a Midway,
    leaves: Vec<Value>,
    results: Vec<Value>,
    upstream: Vec<Value>,
    /// Operands by their places.
    operands: Vec<(usize, Value)>,
}

impl<'a> Seam<'a> {
    /// None where operands depend on each other or are one value: contributions would count twice.
    fn of(midway: &'a Midway, node: &Node, leaves: Vec<Value>) -> Option<Seam<'a>> {
        let (g, loss) = (&midway.g, midway.loss()?);
        let here = |v: &pumice_ir::ValueId| midway.values[v];
        let results: Vec<Value> = node.outputs.iter().map(here).filter(|&y| g.reaches(loss, y)).collect();
        let moves = |x: Value| leaves.iter().any(|&leaf| g.reaches(x, leaf));
        let given = node.inputs.iter().enumerate().filter_map(|(i, v)| Some((i, here(v.as_ref()?))));
        let reached = |x: Value| results.iter().any(|&y| g.reaches(y, x));
        let operands: Vec<(usize, Value)> = given.filter(|&(_, x)| moves(x) && reached(x)).collect();
        let apart = |&(i, x): &(usize, Value)| operands.iter().all(|&(j, y)| i == j || !g.reaches(x, y));
        if results.is_empty() || operands.is_empty() || !operands.iter().all(apart) {
            return None;
        }
        let upstream = g.grad(loss, &results);
        Some(Seam { midway, leaves, results, upstream, operands })
    }

    /// What the rule contributes to its operands where these are the gradients of its results.
    fn contributions(&self, upstream: &[Option<Value>]) -> Vec<Option<Value>> {
        let g = &self.midway.g;
        let product = |(dy, y): (&Option<Value>, &Value)| Some(self.inner(g.stop_gradient((*dy)?), *y));
        let parts = upstream.iter().zip(&self.results).filter_map(product);
        let Some(loss) = parts.reduce(|sum, part| g.add(sum, part)) else {
            return vec![None; self.operands.len()];
        };
        let one = |&(_, x): &(usize, Value)| g.reaches(loss, x).then(|| g.grad(loss, &[x])[0]);
        self.operands.iter().map(one).collect()
    }

    /// What a contribution to an operand makes of the leaves: outputs of the graph under these names.
    fn at_leaves(&self, name: &str, operand: Value, contribution: Option<Value>) {
        let g = &self.midway.g;
        let Some(contribution) = contribution else { return };
        let loss = self.inner(g.stop_gradient(contribution), operand);
        for (at, &leaf) in self.leaves.iter().enumerate().filter(|(_, leaf)| g.reaches(loss, **leaf)) {
            g.output(&format!("{name} {at}"), g.grad(loss, &[leaf])[0]);
        }
    }

    fn inner(&self, a: Value, b: Value) -> Value {
        let g = &self.midway.g;
        g.reduce_sum(g.cast(g.mul(a, b), DType::F32), &[], false)
    }

    /// Axes of the first result along which an operand was stretched, as extents after broadcasting say.
    fn stretched(&self, operand: Value, extents: &dyn Fn(Value) -> Vec<u64>) -> Vec<usize> {
        let (to, from) = (extents(self.results[0]), extents(operand));
        let Some(new) = to.len().checked_sub(from.len()) else { return Vec::new() };
        let is = |axis: usize| to[axis] > 1 && (axis < new || from[axis - new] == 1);
        (0..to.len()).filter(|&axis| is(axis)).collect()
    }
}

/// Which faults were planted in a sample, in the first node of the op that allows it, and whether the judge finds each.
pub fn planted(op: &str, subject: &Subject<'_>) -> Result<BTreeMap<Fault, bool>, String> {
    let Some(ground) = Ground::of(subject, None)? else { return Ok(BTreeMap::new()) };
    let slopes = slopes(&ground)?;
    let found =
        |gradients: &Gradients| slopes.iter().any(|(d, slope)| is_wrong(&ground, gradients, d, *slope));
    for (_, node) in subject.forward.nodes().filter(|(_, node)| node.op.name() == op) {
        let faulty = faulty(subject, &ground, node)?;
        if !faulty.is_empty() {
            return Ok(faulty.iter().map(|(&fault, gradients)| (fault, found(gradients))).collect());
        }
    }
    Ok(BTreeMap::new())
}

/// Directions with the slope of all losses together.
fn slopes(ground: &Ground) -> Result<Vec<(Direction, Slope)>, String> {
    let mut judged = Vec::new();
    for direction in ground.directions(12) {
        if let Some(slope) = sum(&ground.slopes(&direction)?) {
            judged.push((direction, slope));
        }
        if judged.len() == 3 {
            break;
        }
    }
    Ok(judged)
}

fn is_wrong(ground: &Ground, gradients: &Gradients, direction: &Direction, slope: Slope) -> bool {
    let (said, size) = ground.said(gradients, direction);
    (said - slope.value).abs() > CLOSE * size + slope.noise
}

/// The gradients of the leaves that each fault makes, of those that change anything.
fn faulty(subject: &Subject<'_>, ground: &Ground, node: &Node) -> Result<BTreeMap<Fault, Gradients>, String> {
    let midway = subject.midway(&ground.domain, None);
    let leaves: Vec<Value> = midway.reached().into_iter().map(|(_, leaf)| leaf).collect();
    let Some(seam) = Seam::of(&midway, node, leaves.clone()) else { return Ok(BTreeMap::new()) };
    let extents = |v: Value| -> Vec<u64> {
        let shape = midway.g.type_of(v).map(|ty| ty.shape.to_vec()).unwrap_or_default();
        shape.iter().map(|d| d.eval_extent(&ground.bindings).unwrap_or(0)).collect()
    };
    let (loss, scales) = (midway.loss().ok_or("no loss")?, seam.write(&extents));
    let sound = midway.g.grad(loss, &leaves);
    sound.iter().enumerate().for_each(|(at, &value)| midway.g.output(&format!("sound {at}"), value));
    let masks = seam.masks(&extents);
    let outputs = evaluated(subject, ground, midway, masks)?;
    let zeros: Gradients = ground.reached.iter().map(|(_, count)| vec![0.0; *count]).collect();
    let read = |name: &str| -> Gradients {
        let part = |(at, zeros): (usize, &Vec<f64>)| {
            outputs.get(&format!("{name} {at}")).cloned().unwrap_or_else(|| zeros.clone())
        };
        zeros.iter().enumerate().map(part).collect()
    };
    Ok(scales.combine(&read))
}

/// Outputs by name.
fn evaluated(
    subject: &Subject<'_>,
    ground: &Ground,
    midway: Midway,
    masks: BTreeMap<String, Array>,
) -> Result<BTreeMap<String, Vec<f64>>, String> {
    let (graph, mut filled) = subject.build(midway)?;
    filled.extend(masks.into_iter().map(|(name, mask)| (name, Arc::new(mask))));
    let values = ground.evaluator(&graph, &filled).outputs(None)?;
    Ok(graph.outputs().iter().map(|o| o.name.clone()).zip(values).collect())
}

/// What was written into a graph: how many operands and results there are, and which were stretched or have long rows.
struct Written {
    operands: Vec<Operand>,
    results: usize,
}

struct Operand {
    place: usize,
    stretched: bool,
    last: u64,
}

impl Seam<'_> {
    fn mask(at: usize) -> String {
        format!("first of stretched {at}")
    }

    /// Writes the contributions, sound and faulty, as outputs.
    fn write(&self, extents: &dyn Fn(Value) -> Vec<u64>) -> Written {
        let g = &self.midway.g;
        let given: Vec<Option<Value>> = self.upstream.iter().map(|&dy| Some(dy)).collect();
        let one = |&dy: &Value| {
            let ty = g.type_of(dy)?;
            Some(g.expand_to(g.constant_scalar(ty.dtype(), 1.0), ty.shape.to_vec()))
        };
        let ones: Vec<Option<Value>> = self.upstream.iter().map(one).collect();
        let mut faulty = vec![("given".to_owned(), given.clone()), ("ones".to_owned(), ones)];
        for j in 0..self.results.len() {
            let mut dropped = given.clone();
            dropped[j] = None;
            faulty.push((format!("dropped {j}"), dropped));
        }
        for (name, upstream) in faulty {
            let contributions = self.contributions(&upstream);
            for ((place, x), contribution) in self.operands.iter().zip(contributions) {
                self.at_leaves(&format!("{name} {place}"), *x, contribution);
            }
        }
        let operand = |(at, &(place, x)): (usize, &(usize, Value))| {
            let stretched = !self.stretched(x, extents).is_empty();
            if stretched {
                self.write_masked(at);
            }
            Operand { place, stretched, last: extents(x).last().copied().unwrap_or(1) }
        };
        Written {
            operands: self.operands.iter().enumerate().map(operand).collect(),
            results: self.results.len(),
        }
    }

    /// The contribution to one operand by the first elements of the axes along which it was stretched.
    fn write_masked(&self, at: usize) {
        let (g, (place, x)) = (&self.midway.g, self.operands[at]);
        let Some(ty) = g.type_of(self.upstream[0]) else { return };
        let mask = g.input(&Self::mask(at), ty);
        let mut upstream: Vec<Option<Value>> = self.upstream.iter().map(|&dy| Some(dy)).collect();
        upstream[0] = Some(g.mul(mask, self.upstream[0]));
        let contribution = self.contributions(&upstream)[at];
        self.at_leaves(&format!("not summed {place}"), x, contribution);
    }

    /// 1 at the first elements of stretched axes, else 0.
    fn masks(&self, extents: &dyn Fn(Value) -> Vec<u64>) -> BTreeMap<String, Array> {
        let shape = extents(self.results[0]);
        let dtype = self.midway.g.type_of(self.results[0]).map_or(DType::F32, |ty| ty.dtype());
        let of = |(at, &(_, x)): (usize, &(usize, Value))| {
            let axes = self.stretched(x, extents);
            let is_first = |mut element: u64| {
                let mut first = true;
                for (axis, n) in shape.iter().enumerate().rev() {
                    first &= !axes.contains(&axis) || element.is_multiple_of(*n);
                    element /= n;
                }
                first
            };
            let count = shape.iter().product();
            let values = (0..count).map(|i| f64::from(u8::from(is_first(i)))).collect();
            (Self::mask(at), Array { dtype, shape: shape.clone(), data: Data::Float(values) })
        };
        self.operands.iter().enumerate().map(of).collect()
    }
}

impl Written {
    /// The gradients that faults make of what was evaluated; faults that change nothing are none.
    fn combine(&self, read: &dyn Fn(&str) -> Gradients) -> BTreeMap<Fault, Gradients> {
        let sound = read("sound");
        let part = |name: &str| -> Vec<Gradients> {
            self.operands.iter().map(|o| read(&format!("{name} {}", o.place))).collect()
        };
        let given = part("given");
        // All contributions replaced by others.
        let with = |others: Vec<Gradients>| {
            let pairs = given.iter().zip(&others);
            pairs.fold(sound.clone(), |sum, (old, new)| plus(&plus(&sum, old, -1.0), new, 1.0))
        };
        let mut faults = BTreeMap::from([(Fault::Ones, with(part("ones")))]);
        if self.results > 1 {
            faults.extend(
                (0..self.results).map(|j| (Fault::ResultDropped(j), with(part(&format!("dropped {j}"))))),
            );
        }
        for (at, o) in self.operands.iter().enumerate() {
            let scaled = |by: f64| plus(&sound, &given[at], by - 1.0);
            faults.insert(Fault::OperandDropped(o.place), scaled(0.0));
            faults.insert(Fault::Sign(o.place), scaled(-1.0));
            if o.last > 1 {
                faults.insert(Fault::Scale(o.place), scaled((o.last as f64).sqrt().recip()));
            }
            if o.stretched {
                let other = plus(&scaled(0.0), &read(&format!("not summed {}", o.place)), 1.0);
                faults.insert(Fault::NotSummed(o.place), other);
            }
        }
        faults.retain(|_, gradients| differ(gradients, &sound));
        faults
    }
}

fn plus(a: &Gradients, b: &Gradients, by: f64) -> Gradients {
    let row = |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).map(|(x, y)| x + by * y).collect();
    a.iter().zip(b).map(row).collect()
}

/// Beyond rounding.
fn differ(a: &Gradients, b: &Gradients) -> bool {
    let size = b.iter().flatten().fold(0.0f64, |m, g| m.max(g.abs()));
    a.iter().flatten().zip(b.iter().flatten()).any(|(x, y)| (x - y).abs() > 1e-9 * size)
}
