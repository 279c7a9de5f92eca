//! Running a graph again and again: states that survive, feeds, scalars that advance.
//!
//! In: a graph, its params, inputs by name for every run. Out: an [`Evaluation`] per run. This is the meaning of
//! OPS 2, against which every session is compared.

use crate::array::Array;
use crate::graph::{EvalError, EvalOptions, Evaluation, eval_graph};
use crate::index::{count, offsets, strides};
use pumice_ir::{Feed, FeedKind, Graph, Op, ValueId};
use pumice_types::{Bindings, DType, DimExpr, ScalarId};
use std::sync::Arc;

/// Values by name.
pub type ByName<'a> = &'a dyn Fn(&str) -> Option<Arc<Array>>;

/// States and scalars of one user of a graph.
pub struct RefSession<'g> {
    graph: &'g Graph,
    params: Vec<(ValueId, Arc<Array>)>,
    states: Vec<Arc<Array>>,
    scalars: Vec<f64>,
    options: EvalOptions,
}

impl<'g> RefSession<'g> {
    /// A session whose states have their initial values and whose scalars their defaults. `given` has a value for
    /// every param and every given state.
    pub fn new(
        graph: &'g Graph,
        given: ByName<'_>,
        options: EvalOptions,
    ) -> Result<RefSession<'g>, EvalError> {
        let name = |v: ValueId| graph.value(v).name.to_string();
        let leaf = |v: ValueId| given(&name(v)).ok_or_else(|| EvalError::MissingLeaf(name(v)));
        let params = graph.params().into_iter().map(|v| leaf(v).map(|a| (v, a)));
        let params = params.collect::<Result<Vec<_>, _>>()?;
        let initial =
            |v: ValueId| if is_given(graph, v) { leaf(v) } else { Ok(Arc::new(initial(graph, &params, v))) };
        let states = graph.states().into_iter().map(initial).collect::<Result<_, _>>()?;
        let scalars = graph.scalars().into_iter().map(|v| default_of(graph, v)).collect();
        Ok(RefSession { graph, params, states, scalars, options })
    }

    /// Sets a scalar by name; false if there is none of that name.
    pub fn set_scalar(&mut self, name: &str, value: f64) -> bool {
        let position = self.graph.scalars().iter().position(|&v| *self.graph.value(v).name == *name);
        if let Some(i) = position {
            self.scalars[i] = value;
        }
        position.is_some()
    }

    /// Scalars in declaration order.
    pub fn scalars(&self) -> &[f64] {
        &self.scalars
    }

    /// States in declaration order.
    pub fn states(&self) -> &[Arc<Array>] {
        &self.states
    }

    /// One run: evaluates, then feeds, then advances. Nothing changes if it fails.
    pub fn run(&mut self, inputs: ByName<'_>, bindings: &Bindings) -> Result<Evaluation, EvalError> {
        let graph = self.graph;
        let bindings = self.bind_scalars(bindings);
        let leaves = Leaves { states: graph.states(), scalars: graph.scalars() };
        let leaf = |v: ValueId| self.leaf(&leaves, v, inputs);
        let result = eval_graph(graph, &leaf, &bindings, self.options)?;
        let mut after = result.states.clone();
        for feed in graph.feeds() {
            let target = leaves.states.iter().position(|s| *s == feed.state);
            let target = target.expect("verified: a feed's target is a state");
            after[target] =
                Arc::new(fed(graph, feed, &after[target], &result.outputs[feed.output], &bindings)?);
        }
        let scalars = leaves.scalars.iter().zip(&self.scalars);
        let advanced = scalars.map(|(&v, &old)| advance(graph, v, old, &bindings));
        self.scalars = advanced.collect::<Result<_, _>>()?;
        self.states = after;
        Ok(result)
    }

    /// The array of a leaf of the interface, if there is one.
    fn leaf(&self, leaves: &Leaves, v: ValueId, inputs: ByName<'_>) -> Option<Arc<Array>> {
        let at = |list: &[ValueId]| list.iter().position(|leaf| *leaf == v);
        match &self.graph.def(v).op {
            Op::Input(_) => inputs(&self.graph.value(v).name),
            Op::Param(_) => self.params.iter().find(|(p, _)| *p == v).map(|(_, a)| a.clone()),
            Op::State(_) => at(&leaves.states).map(|i| self.states[i].clone()),
            _ => {
                let scalar = at(&leaves.scalars)?;
                Some(Arc::new(rank0(self.graph.ty(v).dtype(), self.scalars[scalar])))
            }
        }
    }

    /// The symbols' bindings and the integer scalars' present values.
    fn bind_scalars(&self, bindings: &Bindings) -> Bindings {
        let mut all = bindings.clone();
        for (i, (&v, &value)) in self.graph.scalars().iter().zip(&self.scalars).enumerate() {
            if self.graph.ty(v).dtype() != DType::F32 {
                all.bind_scalar(ScalarId(i as u32), value as i64);
            }
        }
        all
    }
}

/// Whether a state begins as what the caller sets.
fn is_given(graph: &Graph, v: ValueId) -> bool {
    matches!(&graph.def(v).op, Op::State(state) if state.given)
}

/// What any other state begins as.
fn initial(graph: &Graph, params: &[(ValueId, Arc<Array>)], v: ValueId) -> Array {
    let Some(init) = graph.def(v).input(0) else { return zeros(graph, v) };
    if let Op::Constant(c) = &graph.def(init).op {
        return Array::from_tensor(&c.data);
    }
    params.iter().find(|(p, _)| *p == init).map_or_else(|| zeros(graph, v), |(_, a)| (**a).clone())
}

/// Leaves whose arrays a session has, in the order of its lists.
struct Leaves {
    states: Vec<ValueId>,
    scalars: Vec<ValueId>,
}

fn zeros(graph: &Graph, v: ValueId) -> Array {
    let ty = graph.ty(v);
    let shape = ty.static_shape().expect("verified: extents of a state are constant");
    let n = count(&shape);
    if ty.dtype().is_float() {
        Array::floats(ty.dtype(), &shape, vec![0.0; n])
    } else {
        Array::ints(ty.dtype(), &shape, vec![0; n])
    }
}

fn rank0(dtype: DType, value: f64) -> Array {
    if dtype.is_float() {
        Array::floats(dtype, &[], vec![value])
    } else {
        Array::ints(dtype, &[], vec![value as i64])
    }
}

fn default_of(graph: &Graph, v: ValueId) -> f64 {
    match &graph.def(v).op {
        Op::Scalar(s) => s.default,
        _ => 0.0,
    }
}

fn advance(graph: &Graph, v: ValueId, old: f64, bindings: &Bindings) -> Result<f64, EvalError> {
    let Op::Scalar(scalar) = &graph.def(v).op else { return Ok(old) };
    let Some(by) = &scalar.advance else { return Ok(old) };
    Ok(old + expr(graph, v, by, bindings)? as f64)
}

fn expr(graph: &Graph, v: ValueId, e: &DimExpr, bindings: &Bindings) -> Result<i64, EvalError> {
    e.eval(bindings).map_err(|source| EvalError::Extent { name: graph.value(v).name.to_string(), source })
}

/// The state after a feed.
fn fed(
    graph: &Graph,
    feed: &Feed,
    state: &Array,
    output: &Array,
    bindings: &Bindings,
) -> Result<Array, EvalError> {
    let eval = |e: &DimExpr| expr(graph, feed.state, e, bindings);
    let (axis, src, dst, rows) = match &feed.kind {
        FeedKind::Whole => return Ok(output.clone()),
        FeedKind::Prefix { axis, len } => (*axis, 0, 0, eval(len)?),
        FeedKind::Row { axis, src, dst, count } => (*axis, eval(src)?, eval(dst)?, eval(count)?),
    };
    for (from, array) in [(src, output), (dst, state)] {
        let size = array.shape[axis];
        if from < 0 || rows < 0 || from.saturating_add(rows) > size as i64 {
            let (output, name) =
                (graph.outputs()[feed.output].name.clone(), graph.value(feed.state).name.to_string());
            return Err(EvalError::Feed { output, state: name, from, to: from.saturating_add(rows), size });
        }
    }
    let mut part = state.shape.clone();
    part[axis] = rows as u64;
    let walk = |a: &Array, first: i64| {
        let s = strides(&a.shape);
        offsets(&part, &s, first * s[axis])
    };
    let mut after = state.clone();
    after.scatter(&walk(state, dst), output, &walk(output, src));
    Ok(after)
}
