//! Every op with the attributes and operands that its samples have.

use pumice_cpu_ref::sample as data;
use pumice_ir::{Graph, Op, ValueId};
use pumice_types::{Bindings, DType, Tensor};
use std::sync::Arc;

/// What a sample has in the place of an operand.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// Its dtype.
    pub dtype: DType,
    /// Its extents, as the sample binds them.
    pub shape: Vec<u64>,
    /// The data, if it is a small constant.
    pub constant: Option<Arc<Tensor>>,
    /// If it is a version of a state, that state's capacity axis.
    pub state: Option<Option<i64>>,
    /// If it is a dynamic scalar, its range.
    pub scalar: Option<(f64, f64)>,
}

/// An op with what it was applied to.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The op.
    pub op: Op,
    /// Its operands.
    pub operands: Vec<Option<Leaf>>,
}

/// Operands with more elements than this are left out.
const MOST: u64 = 2000;
/// Samples of one op that are taken.
const OF_ONE_OP: usize = 24;

/// Ops to choose from, every op as likely as another.
pub struct Catalogue {
    by_op: Vec<Vec<Entry>>,
    count: usize,
}

impl Catalogue {
    /// The ops of all samples.
    pub fn new() -> Catalogue {
        let by_op: Vec<Vec<Entry>> = Op::NAMES.iter().map(|name| entries(name)).collect();
        let by_op: Vec<Vec<Entry>> = by_op.into_iter().filter(|e| !e.is_empty()).collect();
        let count = by_op.len() * OF_ONE_OP;
        Catalogue { by_op, count }
    }

    /// How many numbers there are for [`entry`](Self::entry).
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Entry `i` of all.
    pub fn entry(&self, i: usize) -> &Entry {
        let of_op = &self.by_op[i % self.by_op.len()];
        &of_op[i / self.by_op.len() % of_op.len()]
    }
}

impl Default for Catalogue {
    fn default() -> Catalogue {
        Catalogue::new()
    }
}

fn entries(name: &str) -> Vec<Entry> {
    let samples = Op::samples(name);
    let step = samples.len().div_ceil(OF_ONE_OP).max(1);
    let mut entries = Vec::new();
    for sample in samples.iter().step_by(step) {
        let Ok(graph) = &sample.graph else { continue };
        let bindings = data::bindings(sample, graph);
        let node = graph.nodes().map(|(_, n)| n).find(|n| n.op.name() == name && !n.op.is_leaf());
        let Some(node) = node else { continue };
        let leaves: Option<Vec<Option<Leaf>>> = node
            .inputs
            .iter()
            .map(|v| match v {
                None => Some(None),
                Some(v) => leaf(graph, *v, &bindings).map(Some),
            })
            .collect();
        entries.extend(leaves.map(|operands| Entry { op: node.op.clone(), operands }));
    }
    entries
}

fn leaf(graph: &Graph, v: ValueId, bindings: &Bindings) -> Option<Leaf> {
    let ty = graph.ty(v);
    let shape = ty.shape.iter().map(|d| d.eval_extent(bindings).ok()).collect::<Option<Vec<u64>>>()?;
    if shape.iter().try_fold(1u64, |n, e| n.checked_mul(*e)).is_none_or(|n| n > MOST) {
        return None;
    }
    let state = graph.state_of(v).and_then(|s| match &graph.def(s).op {
        Op::State(s) => Some(s.capacity_axis),
        _ => None,
    });
    let (constant, scalar) = match &graph.def(v).op {
        Op::Constant(c) => (Some(c.data.clone()), None),
        Op::Scalar(s) => (None, Some((s.min, s.max))),
        _ => (None, None),
    };
    Some(Leaf { dtype: ty.dtype(), shape, constant, state, scalar })
}
