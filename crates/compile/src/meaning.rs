//! Meanings: the small graph a step computes, as text that only the evaluator reads.

use pumice_ir::{Graph, GraphBuilder, Node, ValueType, text};
use pumice_plan::MeaningGraph;
use pumice_types::{DimExpr, Symbol, SymbolTable, Tensor, Var};

/// Whether a constant is written into kernels and meanings instead of being read from memory: one element.
pub fn is_immediate(data: &Tensor) -> bool {
    data.shape().iter().all(|&d| d == 1)
}

/// The meaning of one node: operand k becomes the input `i{k}` (with `immediates` a one-element constant stays itself),
/// its results the outputs `o0`, `o1`, …
///
/// A fused node means its body.
pub fn of_node(graph: &Graph, node: &Node, immediates: bool) -> Result<MeaningGraph, String> {
    if let Some(body) = node.op.body() {
        return Ok(written(body, graph.symbols()));
    }
    let g = builder(graph.symbols());
    let inputs: Vec<_> = node
        .inputs
        .iter()
        .enumerate()
        .map(|(i, v)| {
            v.map(|v| match graph.constant_data(v).filter(|t| immediates && is_immediate(t)) {
                Some(data) => g.constant(data.clone()),
                None => g.input(&format!("i{i}"), graph.ty(v).clone()),
            })
        })
        .collect();
    let outputs = g.apply_all(node.op.clone(), &inputs);
    outputs.iter().enumerate().for_each(|(i, &o)| g.output(&format!("o{i}"), o));
    finish(g, graph.symbols())
}

/// The meaning of a copy: the value itself.
///
/// An extent that a dynamic scalar decides (rows of a feed) becomes a symbol of the meaning's own, which the extents of
/// its input bind.
pub fn of_copy(graph: &Graph, ty: &ValueType) -> Result<MeaningGraph, String> {
    let mut symbols = graph.symbols().clone();
    let mut shape = ty.shape.clone();
    for (axis, extent) in shape.iter_mut().enumerate() {
        if extent.vars().iter().any(|v| matches!(v, Var::Scalar(_))) {
            let (name, max) = (own_name(&symbols, axis), u64::from(u32::MAX));
            *extent = DimExpr::symbol(symbols.push(Symbol { name, min: 0, max, multiple_of: 1 }));
        }
    }
    let g = builder(&symbols);
    let x = g.input("i0", ValueType::new(ty.dtype(), shape));
    g.output("o0", x);
    finish(g, graph.symbols())
}

/// A builder whose symbols have the ids of the graph's.
fn builder(symbols: &SymbolTable) -> GraphBuilder {
    GraphBuilder::with_symbols("step", symbols.clone())
}

/// A name that no symbol has.
fn own_name(symbols: &SymbolTable, axis: usize) -> String {
    let mut name = format!("extent.{axis}");
    while symbols.find(&name).is_some() {
        name.push('_');
    }
    name
}

fn finish(g: GraphBuilder, symbols: &SymbolTable) -> Result<MeaningGraph, String> {
    g.build().map(|g| written(&g, symbols)).map_err(|e| e.to_string())
}

/// The graph as text; symbols past those of the plan are its own.
fn written(graph: &Graph, symbols: &SymbolTable) -> MeaningGraph {
    let (text, mut used) = text::print_used(graph);
    used.retain(|&id| symbols.get(id).is_some());
    MeaningGraph { text: text.into(), symbols: used.into() }
}
