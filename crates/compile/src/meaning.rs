//! Meanings: the small graph a step computes, as text that only the evaluator reads, and the names of its inputs, by
//! which a step says which of its uses they are.

use indexmap::IndexMap;
use indexmap::map::Entry;
use pumice_ir::{Graph, GraphBuilder, Node, Op, Value, ValueId, ValueType, text};
use pumice_plan::{InputUse, MeaningGraph};
use pumice_types::{DType, DimExpr, Symbol, SymbolTable, Tensor, Var};
use smallvec::SmallVec;
use std::sync::Arc;

/// Whether a constant is written into kernels and meanings instead of being read from memory: one element.
pub fn is_literal(data: &Tensor) -> bool {
    data.shape().iter().all(|&d| d == 1)
}

/// What a step computes, while it is put together.
#[derive(Clone, Debug, Default)]
pub struct StepMeaning {
    /// The graph as text, with the names of its inputs.
    pub graph: Arc<MeaningGraph>,
    /// Names of operands that are written into it as constants.
    pub constants: Arc<[Arc<str>]>,
    /// How many outputs it has.
    pub outputs: usize,
}

impl StepMeaning {
    /// The uses that are its inputs, of names with uses in any order: without those that are constants in it.
    ///
    /// # Errors
    /// An input that is not bound once, a name that it does not have.
    pub fn uses(&self, bound: &[(Arc<str>, u16)]) -> Result<Vec<InputUse>, String> {
        let inputs = &self.graph.inputs;
        let known =
            |name: &str| inputs.iter().any(|n| **n == *name) || self.constants.iter().any(|n| **n == *name);
        if let Some((name, _)) = bound.iter().find(|(name, _)| !known(name)) {
            return Err(format!("its meaning has no input {name}"));
        }
        let one = |name: &Arc<str>| {
            let mut uses = bound.iter().filter(|(n, _)| **n == **name).map(|(_, at)| *at);
            match (uses.next(), uses.next()) {
                (Some(at), None) => Ok(InputUse { name: Arc::clone(name), at }),
                _ => Err(format!("input {name} of its meaning is not bound once")),
            }
        };
        let mut uses = Vec::with_capacity(inputs.len());
        for name in inputs.iter() {
            uses.push(one(name)?);
        }
        Ok(uses)
    }
}

/// The name of a node's operand `k` in the meaning of the node.
pub fn operand(k: usize) -> Arc<str> {
    format!("i{k}").into()
}

/// The meanings of nodes so far: nodes of one op that take operands of the same types compute the same.
#[derive(Default)]
pub struct Meanings<'g>(IndexMap<Key<'g>, StepMeaning>);

/// An op with its operands, and whether constants of one element are written into the meaning.
type Key<'g> = (&'g Op, SmallVec<[Option<Operand<'g>>; 4]>, bool);

/// What a meaning depends on of an operand.
#[derive(PartialEq, Eq, Hash)]
enum Operand<'g> {
    Read(&'g ValueType),
    Written(&'g Tensor),
}

impl<'g> Meanings<'g> {
    /// As [`of_node`], for nodes of one graph.
    pub fn of_node(
        &mut self,
        graph: &'g Graph,
        node: &'g Node,
        literals: bool,
    ) -> Result<StepMeaning, String> {
        if node.op.body().is_some() {
            return of_node(graph, node, literals);
        }
        let operand = |v: ValueId| match literal(graph, v, literals) {
            Some(data) => Operand::Written(data),
            None => Operand::Read(graph.ty(v)),
        };
        let operands = node.inputs.iter().map(|v| v.map(operand)).collect();
        match self.0.entry((&node.op, operands, literals)) {
            Entry::Occupied(known) => Ok(known.get().clone()),
            Entry::Vacant(new) => Ok(new.insert(of_node(graph, node, literals)?).clone()),
        }
    }
}

/// The data of an operand that is written into the meaning.
fn literal(graph: &Graph, v: ValueId, literals: bool) -> Option<&Tensor> {
    graph.constant_data(v).filter(|t| literals && is_literal(t))
}

/// The meaning of one node: operand k becomes the input `i{k}` (with `literals` a one-element constant stays itself),
/// its results the outputs `o0`, `o1`, …
///
/// A fused node means its body.
pub fn of_node(graph: &Graph, node: &Node, literals: bool) -> Result<StepMeaning, String> {
    if let Some(body) = node.op.body() {
        return Ok(written(body, graph.symbols()));
    }
    let of_operand = |(i, v): (usize, &Option<ValueId>)| v.map(|v| (i, v, literal(graph, v, literals)));
    let operands: Vec<_> = node.inputs.iter().enumerate().map(of_operand).collect();
    let written = operands.iter().flatten().filter(|(_, _, data)| data.is_some());
    let constants: Vec<Arc<str>> = written.map(|(i, ..)| operand(*i)).collect();
    let meaning = made(graph, |g| {
        let value = |&(i, v, data): &(usize, ValueId, Option<&Tensor>)| match data {
            Some(data) => g.constant(data.clone()),
            None => g.input(&operand(i), graph.ty(v).clone()),
        };
        let inputs: Vec<_> = operands.iter().map(|of| of.as_ref().map(value)).collect();
        give(g, &g.apply_all(node.op.clone(), &inputs));
    })?;
    Ok(StepMeaning { constants: constants.into(), ..meaning })
}

/// The results of a node as outputs.
fn give(g: &GraphBuilder, results: &[Value]) {
    results.iter().enumerate().for_each(|(i, &o)| g.output(&format!("o{i}"), o));
}

/// As [`of_node`] without literals, of inputs that have other types, by their names in the meaning: batch axes of the
/// result, say, where the node's operand is stretched. The types of the results must not depend on which of the two it
/// is.
pub fn of_node_taking(
    graph: &Graph,
    node: &Node,
    types: &[(Arc<str>, ValueType)],
) -> Result<StepMeaning, String> {
    let type_of = |name: &str, own: &ValueType| {
        types.iter().find(|t| *t.0 == *name).map_or_else(|| own.clone(), |t| t.1.clone())
    };
    of_node_over(graph, node, &|g, name, own| g.input(name, type_of(name, own)))
}

/// As [`of_node`] without literals, of values that this makes of an input's name and own type.
pub fn of_node_over(
    graph: &Graph,
    node: &Node,
    value: &dyn Fn(&GraphBuilder, &str, &ValueType) -> Value,
) -> Result<StepMeaning, String> {
    made(graph, |g| {
        let Some(body) = node.op.body() else {
            let operand = |(i, v): (usize, &Option<ValueId>)| {
                let (name, v) = (operand(i), (*v)?);
                Some(value(g, &name, graph.ty(v)))
            };
            let inputs: Vec<_> = node.inputs.iter().enumerate().map(operand).collect();
            return give(g, &g.apply_all(node.op.clone(), &inputs));
        };
        again(g, body, value);
    })
}

/// The meaning that this builds. The graph's conditions, by which extents may be equal that do not look so, are looked
/// at where it is no meaning without them: going through them for every step would take the square of their number.
pub fn made(graph: &Graph, build: impl Fn(&GraphBuilder)) -> Result<StepMeaning, String> {
    let g = GraphBuilder::with_symbols("step", graph.symbols().clone());
    build(&g);
    match finish(g, graph.symbols()) {
        Err(_) if !graph.constraints().is_empty() => {
            let g = GraphBuilder::part_of("step", graph);
            build(&g);
            finish(g, graph.symbols())
        }
        first => first,
    }
}

/// A body built again over these values of its inputs' names and own types.
fn again(g: &GraphBuilder, body: &Graph, value: &dyn Fn(&GraphBuilder, &str, &ValueType) -> Value) {
    let mut made: IndexMap<ValueId, Value> = IndexMap::new();
    for (_, inner) in body.nodes() {
        let results = if inner.op.is_leaf_interface() {
            let v = inner.output();
            let name = &body.value(v).name;
            vec![value(g, name, body.ty(v))]
        } else {
            let operands: Vec<_> = inner.inputs.iter().map(|v| made.get(&(*v)?).copied()).collect();
            g.apply_all(inner.op.clone(), &operands)
        };
        made.extend(inner.outputs.iter().copied().zip(results));
    }
    let results = body.outputs().iter().filter_map(|o| Some((&o.name, *made.get(&o.value)?)));
    results.for_each(|(name, value)| g.output(name, value));
}

/// The meaning of a copy: the value itself.
///
/// An extent that a dynamic scalar decides (rows of a feed) becomes a symbol of the meaning's own, which the extents of
/// its input bind.
pub fn of_copy(graph: &Graph, ty: &ValueType) -> Result<StepMeaning, String> {
    of_cast(graph, ty, ty.dtype())
}

/// That a value is one of another dtype.
pub fn of_cast(graph: &Graph, ty: &ValueType, to: DType) -> Result<StepMeaning, String> {
    let mut symbols = graph.symbols().clone();
    let mut shape = ty.shape.to_vec();
    for (axis, extent) in shape.iter_mut().enumerate() {
        if extent.find_var(|v| matches!(v, Var::Scalar(_))).is_some() {
            let (name, max) = (own_name(&symbols, axis), u64::from(u32::MAX));
            *extent =
                DimExpr::symbol(symbols.push(Symbol { name, min: 0, max, multiple_of: 1, found: false }));
        }
    }
    let g = GraphBuilder::with_symbols("step", symbols.clone());
    let x = g.input(&operand(0), ValueType::new(ty.dtype(), shape));
    g.output("o0", if to == ty.dtype() { x } else { g.cast(x, to) });
    finish(g, graph.symbols())
}

/// That a count is 0, which a kernel reports where it is not.
pub fn of_count(graph: &Graph) -> Result<StepMeaning, String> {
    let g = GraphBuilder::with_symbols("step", graph.symbols().clone());
    let count = g.input(&operand(0), ValueType::fixed(DType::I32, &[]));
    g.output("o0", g.found_count(count, 0));
    finish(g, graph.symbols())
}

/// A name that no symbol has.
fn own_name(symbols: &SymbolTable, axis: usize) -> String {
    let mut name = format!("extent.{axis}");
    while symbols.find(&name).is_some() {
        name.push('_');
    }
    name
}

fn finish(g: GraphBuilder, symbols: &SymbolTable) -> Result<StepMeaning, String> {
    g.build().map(|g| written(&g, symbols)).map_err(|e| e.to_string())
}

/// The graph as text; symbols past those of the plan are its own.
fn written(graph: &Graph, symbols: &SymbolTable) -> StepMeaning {
    let (text, mut used) = text::print_used(graph);
    used.retain(|&id| symbols.get(id).is_some());
    let inputs = graph.inputs().iter().map(|&v| Arc::clone(&graph.value(v).name)).collect();
    let written = MeaningGraph { text: text.into(), symbols: used.into(), inputs };
    StepMeaning { graph: written.into(), constants: Arc::default(), outputs: graph.outputs().len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses are found by name, whatever the order; what is missing, bound twice or unknown is refused.
    #[test]
    fn inputs_are_bound_by_name_once() {
        let meaning = StepMeaning {
            graph: MeaningGraph::new("", &["x", "gamma", "residual"]).into(),
            constants: Arc::from(["eps".into()]),
            ..StepMeaning::default()
        };
        let uses = |bound: &[(&str, u16)]| {
            let bound: Vec<(Arc<str>, u16)> = bound.iter().map(|(n, at)| ((*n).into(), *at)).collect();
            let uses = meaning.uses(&bound)?;
            Ok::<_, String>(uses.into_iter().map(|i| (i.name.to_string(), i.at)).collect::<Vec<_>>())
        };
        let are = |list: [u16; 3]| {
            let names = ["x", "gamma", "residual"].map(str::to_owned);
            Ok(names.into_iter().zip(list).collect::<Vec<_>>())
        };
        assert_eq!(uses(&[("residual", 4), ("x", 0), ("gamma", 2)]), are([0, 2, 4]));
        assert_eq!(uses(&[("eps", 9), ("x", 0), ("gamma", 0), ("residual", 1)]), are([0, 0, 1]));
        assert!(uses(&[("x", 0), ("gamma", 1)]).is_err_and(|e| e.contains("residual")));
        assert!(uses(&[("x", 0), ("gamma", 1), ("x", 2), ("residual", 3)]).is_err_and(|e| e.contains("x")));
        assert!(
            uses(&[("x", 0), ("gamma", 1), ("residual", 2), ("beta", 3)]).is_err_and(|e| e.contains("beta"))
        );
    }
}
