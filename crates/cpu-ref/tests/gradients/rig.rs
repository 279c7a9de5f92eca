//! One sample: its loss is the sum of its float results times drawn numbers; its gradients by all float leaves are held
//! against differences along drawn directions.

use pumice_cpu_ref::sample as data;
use pumice_cpu_ref::{Array, Data, EvalOptions, eval_graph};
use pumice_ir::{Graph, GraphBuilder, Sample, Value, ValueId};
use pumice_types::{Bindings, DType};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Elements of the largest value of a sample that is judged.
const MOST: u64 = 3000;
/// Directions that are tried, and how many must agree.
const DIRECTIONS: usize = 12;
const AGREEING: usize = 3;
/// Of Σ|g·d|.
const CLOSE: f64 = 1e-6;

/// Leaves by which OPS 3.12 defines no gradient: the op is judged by its other operands.
const UNDEFINED: [(&str, &str); 2] = [("attention", "sinks"), ("attention", "alibi")];

/// How a sample ended.
pub enum Outcome {
    Right,
    Wrong(String),
    /// No float leaf, no float result, no element, or too many.
    NotAsked,
    /// Every direction meets a kink.
    Kinks,
}

impl Outcome {
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Right => "right",
            Outcome::Wrong(_) => "wrong",
            Outcome::NotAsked => "not asked",
            Outcome::Kinks => "kinks",
        }
    }
}

/// A stream of numbers.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// About normal: the sum of twelve uniform numbers less 6.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| (self.next() >> 11) as f64 / (1u64 << 53) as f64).sum::<f64>() - 6.0
    }

    fn normals(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.normal()).collect()
    }
}

fn is_float(graph: &Graph, v: ValueId) -> bool {
    graph.ty(v).encoding.plain().is_some_and(DType::is_float)
}

/// Judges the gradients of a sample.
pub fn judge(op: &str, sample: &Sample) -> Outcome {
    let Ok(graph) = &sample.graph else { return Outcome::NotAsked };
    let bindings = data::bindings(sample, graph);
    let defined = |v: &ValueId| !UNDEFINED.contains(&(op, &graph.value(*v).name));
    let leaves = graph.inputs().into_iter().chain(graph.params()).filter(|&v| is_float(graph, v));
    let leaves: Vec<ValueId> = leaves.filter(defined).collect();
    let has_op = graph.nodes().any(|(_, node)| node.op.name() == op);
    let results = graph.outputs().iter().any(|o| is_float(graph, o.value));
    let largest = data::largest(graph, &bindings);
    if leaves.is_empty()
        || !has_op
        || !results
        || largest == 0
        || largest > MOST
        || !graph.states().is_empty()
    {
        return Outcome::NotAsked;
    }
    match Rig::new(sample, graph, bindings, leaves) {
        Ok(Some(mut rig)) => rig.judge(),
        Ok(None) => Outcome::NotAsked,
        Err(why) => Outcome::Wrong(why),
    }
}

struct Rig {
    /// The sample's graph with a loss, its gradients and what weighs the results.
    graph: Graph,
    bindings: Bindings,
    values: BTreeMap<String, Arc<Array>>,
    /// Names of the leaves by which is differentiated.
    wanted: Vec<String>,
}

impl Rig {
    fn new(
        sample: &Sample,
        forward: &Graph,
        bindings: Bindings,
        leaves: Vec<ValueId>,
    ) -> Result<Option<Rig>, String> {
        let g = forward.edit();
        let mut loss: Option<Value> = None;
        for (i, output) in forward.outputs().iter().enumerate().filter(|(_, o)| is_float(forward, o.value)) {
            let y = g.find(&forward.value(output.value).name).expect("a value of the graph");
            let shape = g.type_of(y).expect("it has one").shape.to_vec();
            let r = g.input(&format!("weigh {i}"), pumice_ir::tensor(DType::F32, shape));
            let part = g.reduce_sum(g.mul(g.cast(y, DType::F32), r), &[], false);
            loss = Some(loss.map_or(part, |loss| g.add(loss, part)));
        }
        let loss = loss.ok_or("no loss")?;
        let wanted: Vec<String> = leaves.iter().map(|&v| forward.value(v).name.to_string()).collect();
        let reached = reached(&g, loss, &wanted);
        if reached.is_empty() {
            return Ok(None);
        }
        let values: Vec<Value> = reached.iter().map(|n| g.find(n).expect("a leaf")).collect();
        let gradients = g.grad(loss, &values);
        g.output("the loss", loss);
        for (name, &gradient) in reached.iter().zip(&gradients) {
            g.output(&format!("gradient {name}"), gradient);
        }
        let graph = g.build().map_err(|e| e.to_string())?;
        let mut rig = Rig { graph, bindings, values: BTreeMap::new(), wanted: reached };
        rig.fill(sample, forward)?;
        Ok(Some(rig))
    }

    /// Drawn floats, and integers as the sample has them.
    fn fill(&mut self, sample: &Sample, forward: &Graph) -> Result<(), String> {
        let mut draws = Draws(7);
        let leaves: Vec<ValueId> =
            self.graph.inputs().into_iter().chain(self.graph.params()).chain(self.graph.scalars()).collect();
        for v in leaves {
            let name = self.graph.value(v).name.to_string();
            let shape: Vec<u64> =
                self.graph.ty(v).shape.iter().map(|d| d.eval_extent(&self.bindings).unwrap_or(0)).collect();
            let count = shape.iter().product::<u64>() as usize;
            let given = sample.scalars.iter().find(|(n, _)| *n == name).map(|(_, value)| *value);
            let array = if self.graph.scalars().contains(&v) {
                scalar(&self.graph, v, given)
            } else if is_float(&self.graph, v) {
                let dtype = self.graph.ty(v).dtype();
                let values = self.ordinary(sample, forward, &name, draws.normals(count));
                Array { dtype, shape, data: Data::Float(values) }
            } else {
                let leaf = forward.find(&name).ok_or("a leaf that is not the sample's")?;
                let tensor =
                    data::leaf_tensor(sample, forward, leaf, &self.bindings, 0).map_err(|e| e.to_string())?;
                Array::from_tensor(&tensor)
            };
            self.values.insert(name, Arc::new(array));
        }
        Ok(())
    }

    /// Normal numbers, or where the sample keeps its own within bounds, as many within them.
    fn ordinary(&self, sample: &Sample, forward: &Graph, name: &str, normals: Vec<f64>) -> Vec<f64> {
        use pumice_ir::Fill;
        if forward.find(name).is_none() {
            return normals;
        }
        match sample.fill_of(name) {
            Fill::Uniform(low, high) => {
                let middle = (low + high) / 2.0;
                normals.iter().map(|z| middle + (high - low) * 0.45 * (z / 3.0).clamp(-1.0, 1.0)).collect()
            }
            Fill::Constant(c) if c.is_finite() => vec![c; normals.len()],
            _ => normals,
        }
    }

    fn evaluate(&self, moved: Option<(&[Vec<f64>], f64)>) -> Result<Vec<Arc<Array>>, String> {
        let leaf = |v: ValueId| {
            let name = &*self.graph.value(v).name;
            let array = self.values.get(name)?;
            let Some((directions, by)) = moved else { return Some(array.clone()) };
            let Some(at) = self.wanted.iter().position(|w| w == name) else { return Some(array.clone()) };
            let values = array.as_floats().iter().zip(&directions[at]).map(|(x, d)| x + by * d).collect();
            Some(Arc::new(Array { data: Data::Float(values), ..(**array).clone() }))
        };
        let options = EvalOptions { unrounded: true, ..EvalOptions::default() };
        eval_graph(&self.graph, &leaf, &self.bindings, options).map(|e| e.outputs).map_err(|e| e.to_string())
    }

    /// Moves floats to where roots and logarithms are.
    fn make_positive(&mut self) {
        for array in self.values.values_mut() {
            if let Data::Float(values) = &array.data {
                let values = values.iter().map(|v| v.abs() + 0.5).collect();
                *array = Arc::new(Array { data: Data::Float(values), ..(**array).clone() });
            }
        }
    }

    fn judge(&mut self) -> Outcome {
        let loss =
            self.evaluate(None).map(|outputs| outputs[outputs.len() - 1 - self.wanted.len()].to_f64()[0]);
        if loss.is_ok_and(|loss| !loss.is_finite()) {
            self.make_positive();
        }
        let outputs = match self.evaluate(None) {
            Ok(outputs) => outputs,
            Err(why) => return Outcome::Wrong(why),
        };
        let first = outputs.len() - self.wanted.len();
        let gradients: Vec<Vec<f64>> = outputs[first..].iter().map(|a| a.to_f64()).collect();
        if gradients.iter().flatten().any(|g| !g.is_finite()) && outputs[first - 1].to_f64()[0].is_finite() {
            return Outcome::Wrong("a gradient is not finite where the loss is".to_owned());
        }
        let (mut draws, mut agreeing, mut worst) = (Draws(99), 0, (0.0, String::new()));
        for _ in 0..DIRECTIONS {
            let directions: Vec<Vec<f64>> = gradients.iter().map(|g| draws.normals(g.len())).collect();
            let Some((slope, noise)) = self.slope(first - 1, &directions) else { continue };
            let pairs = || gradients.iter().flatten().zip(directions.iter().flatten());
            let given: f64 = pairs().map(|(g, d)| g * d).sum();
            let size: f64 = pairs().map(|(g, d)| (g * d).abs()).sum();
            let off = (given - slope).abs();
            if off <= CLOSE * size + noise {
                agreeing += 1;
                if agreeing == AGREEING {
                    return Outcome::Right;
                }
            } else if off / size.max(1e-30) > worst.0 {
                worst = (
                    off / size.max(1e-30),
                    format!("{given} where differences say {slope}, of sizes {size}"),
                );
            }
        }
        match (agreeing, worst.1.is_empty()) {
            (0, true) => Outcome::Kinks,
            (n, _) if n > 0 && worst.1.is_empty() => Outcome::Right,
            _ => Outcome::Wrong(worst.1),
        }
    }

    /// The slope of the loss along directions by Richardson's extrapolation, and what rounding may make of it; none
    /// where it does not settle, as at a kink.
    fn slope(&self, loss: usize, directions: &[Vec<f64>]) -> Option<(f64, f64)> {
        let at = |by: f64| self.evaluate(Some((directions, by))).ok().map(|o| o[loss].to_f64()[0]);
        let (mut steps, mut h, mut size) = (Vec::new(), 4e-3, 0.0f64);
        for _ in 0..4 {
            let (up, down) = (at(h)?, at(-h)?);
            size = size.max(up.abs()).max(down.abs());
            steps.push((up - down) / (2.0 * h));
            h /= 2.0;
        }
        let mut rows = vec![steps];
        for k in 1..4 {
            let power = f64::from(4u32.pow(k));
            let last = rows.last()?;
            rows.push(last.windows(2).map(|w| (power * w[1] - w[0]) / (power - 1.0)).collect());
        }
        let (best, before) = (*rows[3].last()?, *rows[2].last()?);
        let noise = size * 1e-11;
        let settled = (best - before).abs() <= 1e-7 * best.abs().max(size * 1e-3) + noise;
        (best.is_finite() && settled).then_some((best, noise))
    }
}

/// A scalar as the sample has it, else its default.
fn scalar(graph: &Graph, v: ValueId, given: Option<f64>) -> Array {
    let default = match &graph.def(v).op {
        pumice_ir::Op::Scalar(scalar) => scalar.default,
        _ => 0.0,
    };
    let (dtype, value) = (graph.ty(v).dtype(), given.unwrap_or(default));
    let data = if dtype.is_float() { Data::Float(vec![value]) } else { Data::Int(vec![value as i64]) };
    Array { dtype, shape: vec![], data }
}

/// The leaves that the loss reaches: asked one by one.
fn reached(g: &GraphBuilder, loss: Value, wanted: &[String]) -> Vec<String> {
    let reaches = |name: &&String| g.reaches(loss, g.find(name).expect("a leaf"));
    wanted.iter().filter(reaches).cloned().collect()
}
