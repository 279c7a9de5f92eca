//! Where a program is differentiated: its first run, unrounded, with the sample's leaves. Whole floats are moved off
//! whole numbers there, at which what has jumps has them.

use pumice_cpu_ref::{Array, Data, EvalOptions, Evaluation, RefSession, sample as data};
use pumice_ir::sample::random as draw;
use pumice_ir::{Fill, Graph, Sample, ValueId};
use pumice_types::{Bindings, DType};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How far each element of some leaves is moved, by the leaf's name.
pub(super) type Direction = BTreeMap<String, Vec<f64>>;

/// The leaves of a program.
pub(super) struct Place {
    bindings: Bindings,
    leaves: BTreeMap<String, Arc<Array>>,
}

/// Whether a value is a float, not in blocks.
pub(super) fn is_float(graph: &Graph, v: ValueId) -> bool {
    graph.ty(v).encoding.plain().is_some_and(DType::is_float)
}

impl Place {
    pub(super) fn of(sample: &Sample, graph: &Graph) -> Result<Place, String> {
        let bindings = data::bindings(sample, graph);
        let mut leaves = BTreeMap::new();
        for v in graph.inputs().into_iter().chain(graph.params()) {
            let name = graph.value(v).name.to_string();
            let tensor = data::leaf_tensor(sample, graph, v, &bindings, 0).map_err(|e| e.to_string())?;
            let mut array = Array::from_tensor(&tensor);
            if is_float(graph, v) && matches!(sample.fill_of(&name), Fill::Range(..)) {
                array = off_whole(&array);
            }
            leaves.insert(name, Arc::new(array));
        }
        Ok(Place { bindings, leaves })
    }

    /// How many elements a leaf has.
    pub(super) fn elements(&self, leaf: &str) -> usize {
        self.leaves.get(leaf).map_or(0, |array| array.len())
    }

    /// The first run of a graph over these leaves, some of them moved.
    pub(super) fn evaluate(
        &self,
        graph: &Graph,
        moved: Option<(&Direction, f64)>,
        keep_all: bool,
    ) -> Result<Evaluation, String> {
        let leaf = |name: &str| {
            let array = self.leaves.get(name)?;
            match moved.and_then(|(direction, by)| Some((direction.get(name)?, by))) {
                Some((direction, by)) => Some(Arc::new(along(array, direction, by))),
                None => Some(Arc::clone(array)),
            }
        };
        let options = EvalOptions { unrounded: true, keep_all, ..EvalOptions::default() };
        let mut session = RefSession::new(graph, &leaf, options).map_err(|e| e.to_string())?;
        session.run(&leaf, &self.bindings).map_err(|e| format!("evaluator: {e}"))
    }
}

fn along(array: &Array, direction: &[f64], by: f64) -> Array {
    let values = array.as_floats().iter().zip(direction).map(|(x, d)| x + by * d).collect();
    Array { data: Data::Float(values), ..array.clone() }
}

/// Each element a tenth to two fifths further.
fn off_whole(array: &Array) -> Array {
    let part = |i: usize| 0.1 + 0.3 * (draw(0x0ff, i as u64) >> 11) as f64 / (1u64 << 53) as f64;
    let values = array.as_floats().iter().enumerate().map(|(i, x)| x + part(i)).collect();
    Array { data: Data::Float(values), ..array.clone() }
}
