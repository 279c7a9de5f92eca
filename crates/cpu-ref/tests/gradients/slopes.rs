//! Slopes of losses along directions, by Richardson's extrapolation of central differences.
//!
//! In: a finished graph whose outputs are losses, and what its leaves hold. Out: the slope of each, or that it has a
//! kink there.

use pumice_cpu_ref::{Array, Data, EvalOptions, eval_graph};
use pumice_ir::{Graph, ValueId};
use pumice_types::Bindings;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The largest step, which is halved.
const STEP: f64 = 4e-3;
const HALVINGS: usize = 4;

/// Leaves by name, and how far each is moved.
pub type Direction = BTreeMap<String, Vec<f64>>;

/// What leaves hold, by name.
pub type Filled = BTreeMap<String, Arc<Array>>;

/// A graph on the evaluator, unrounded.
pub struct Evaluator<'a> {
    pub graph: &'a Graph,
    pub bindings: &'a Bindings,
    pub filled: &'a Filled,
}

impl Evaluator<'_> {
    /// The outputs as f64.
    pub fn outputs(&self, moved: Option<(&Direction, f64)>) -> Result<Vec<Vec<f64>>, String> {
        let leaf = |v: ValueId| {
            let name = &*self.graph.value(v).name;
            let array = self.filled.get(name)?;
            let Some((direction, by)) = moved.and_then(|(d, by)| Some((d.get(name)?, by))) else {
                return Some(array.clone());
            };
            let values = array.as_floats().iter().zip(direction).map(|(x, d)| x + by * d).collect();
            Some(Arc::new(Array { data: Data::Float(values), ..(**array).clone() }))
        };
        let options = EvalOptions { unrounded: true, ..EvalOptions::default() };
        let outputs = eval_graph(self.graph, &leaf, self.bindings, options).map_err(|e| e.to_string())?;
        Ok(outputs.outputs.iter().map(|a| a.to_f64()).collect())
    }

    /// The losses: every output is one number.
    fn losses(&self, direction: &Direction, by: f64) -> Result<Vec<f64>, String> {
        Ok(self.outputs(Some((direction, by)))?.iter().map(|y| y[0]).collect())
    }

    /// The slope of each loss, and what rounding may make of it; none where it does not settle, as at a kink.
    pub fn slopes(&self, at: &[f64], direction: &Direction) -> Result<Vec<Option<Slope>>, String> {
        let mut seen = vec![Vec::new(); at.len()];
        for k in 0..HALVINGS {
            let h = STEP / f64::from(1u32 << k);
            let (up, down) = (self.losses(direction, h)?, self.losses(direction, -h)?);
            for (seen, (up, down)) in seen.iter_mut().zip(up.into_iter().zip(down)) {
                seen.push(Pair { h, up, down });
            }
        }
        Ok(seen.iter().zip(at).map(|(pairs, &at)| slope(pairs, at)).collect())
    }
}

/// A slope, and what rounding may make of it.
#[derive(Clone, Copy)]
pub struct Slope {
    pub value: f64,
    pub noise: f64,
}

/// A loss at two places.
#[derive(Clone, Copy)]
struct Pair {
    h: f64,
    up: f64,
    down: f64,
}

fn slope(pairs: &[Pair], at: f64) -> Option<Slope> {
    let size = pairs.iter().flat_map(|p| [p.up.abs(), p.down.abs()]).fold(0.0, f64::max);
    let mut rows = vec![pairs.iter().map(|p| (p.up - p.down) / (2.0 * p.h)).collect::<Vec<f64>>()];
    for k in 1..HALVINGS {
        let power = f64::from(4u32.pow(k as u32));
        let last = rows.last()?;
        rows.push(last.windows(2).map(|w| (power * w[1] - w[0]) / (power - 1.0)).collect());
    }
    let (value, before) = (*rows[HALVINGS - 1].last()?, *rows[HALVINGS - 2].last()?);
    let noise = size * 1e-11;
    let settled = (value - before).abs() <= 1e-7 * value.abs().max(size * 1e-3) + noise;
    (value.is_finite() && settled && !bends(pairs, at, size)).then_some(Slope { value, noise })
}

/// Whether the slopes of both sides differ however small the step: a kink is met exactly.
fn bends(pairs: &[Pair], at: f64, size: f64) -> bool {
    let bend = |p: &Pair| ((p.up - at) - (at - p.down)) / p.h;
    let (wide, narrow) = (bend(&pairs[0]), bend(&pairs[pairs.len() - 1]));
    narrow.abs() > 1e-6 * size.max(1e-3) && narrow.abs() > 0.6 * wide.abs()
}
