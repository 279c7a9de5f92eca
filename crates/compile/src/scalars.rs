//! Elementwise nodes as one scalar expression.

use crate::cx::{LowerResult, Refusal};
use indexmap::IndexMap;
use indexmap::map::Entry;
use pumice_ir::ops::ScalarCx;
use pumice_ir::{Graph, Node, Op, ValueId};
use pumice_plan::kernel::status;
use pumice_types::scalar::{Reg, RegType, ScalarBuilder, ScalarExpr};
use pumice_types::{DType, Tensor};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// An expression over the elements of `inputs`, with one output for each of `outputs`.
pub struct Body {
    /// The expression.
    pub expr: ScalarExpr,
    /// The graph values its inputs are; one-element constants are folded in and not among them.
    pub inputs: Vec<ValueId>,
    /// Whether the expression has one more output: flags for the status block (an integer divided by zero).
    pub raises: bool,
}

/// The expressions of single nodes so far: nodes of one op that take elements of the same types compute the same, and
/// share one expression.
#[derive(Default)]
pub struct Bodies<'g>(IndexMap<Key<'g>, (ScalarExpr, bool)>);

/// An op with its operands, and the type of its result.
type Key<'g> = (&'g Op, SmallVec<[Option<Operand<'g>>; 4]>, DType);

/// What an expression depends on of an operand.
#[derive(PartialEq, Eq, Hash)]
enum Operand<'g> {
    /// The input of that number.
    Input(Option<usize>, DType),
    /// A constant that is folded in.
    Written(&'g Tensor),
}

impl<'g> Bodies<'g> {
    /// As [`body`], for one node of one graph, and `given` its operands.
    pub fn of_node(&mut self, graph: &'g Graph, node: &'g Node, given: &[ValueId]) -> LowerResult<Body> {
        let inputs: Vec<ValueId> = given.iter().copied().filter(|&v| literal(graph, v).is_none()).collect();
        let operand = |v: ValueId| match literal(graph, v) {
            Some(data) => Operand::Written(data),
            None => Operand::Input(inputs.iter().position(|&i| i == v), graph.ty(v).dtype()),
        };
        let operands = node.inputs.iter().map(|v| v.map(operand)).collect();
        match self.0.entry((&node.op, operands, graph.ty(node.output()).dtype())) {
            Entry::Occupied(known) => {
                let (expr, raises) = known.get().clone();
                Ok(Body { expr, inputs, raises })
            }
            Entry::Vacant(new) => {
                let body = body(graph, &[node], given, &node.outputs)?;
                new.insert((body.expr.clone(), body.raises));
                Ok(body)
            }
        }
    }
}

/// The expression of a run of elementwise nodes. `given` are values that come from outside (inputs of the body, and
/// whatever is not computed by `nodes`), in the order the expression should take them.
pub fn body(graph: &Graph, nodes: &[&Node], given: &[ValueId], outputs: &[ValueId]) -> LowerResult<Body> {
    let inputs: Vec<ValueId> = given.iter().copied().filter(|&v| literal(graph, v).is_none()).collect();
    let types: Vec<RegType> = inputs.iter().map(|&v| RegType::from(graph.ty(v).dtype())).collect();
    let b = ScalarBuilder::new(&types);
    let regs = inputs.iter().copied().zip(b.inputs().iter().copied()).collect();
    let mut computed = Computed { graph, b: &b, regs, flags: None };
    for &v in given {
        if let Some(data) = literal(graph, v) {
            computed.constant(v, data)?;
        }
    }
    nodes.iter().try_for_each(|node| computed.node(node))?;
    let Computed { regs, flags, .. } = computed;
    let results: Option<Vec<Reg>> = outputs.iter().map(|v| regs.get(v).copied()).collect();
    let mut results = results.ok_or_else(|| Refusal("a result is not computed".into()))?;
    // A division by a constant other than 0 raises nothing.
    let flags = flags.filter(|&f| b.constant_bits(f) != Some(0));
    results.extend(flags);
    let expr = b.finish(&results).map_err(|e| Refusal(format!("its scalar form is wrong: {e}")))?;
    Ok(Body { expr, inputs, raises: flags.is_some() })
}

/// The values of a run of nodes as registers, as far as it has come.
struct Computed<'a> {
    graph: &'a Graph,
    b: &'a ScalarBuilder,
    regs: BTreeMap<ValueId, Reg>,
    /// What goes to the status block; none where no node can raise anything.
    flags: Option<Reg>,
}

impl Computed<'_> {
    fn constant(&mut self, v: ValueId, data: &Tensor) -> LowerResult {
        let reg = self.b.literal(data).ok_or_else(|| Refusal("a constant cannot be read".into()))?;
        self.regs.insert(v, reg);
        Ok(())
    }

    fn node(&mut self, node: &Node) -> LowerResult {
        if let Some(data) = self.graph.constant_data(node.output()) {
            return self.constant(node.output(), data);
        }
        let (b, graph) = (self.b, self.graph);
        let inputs = || node.inputs.iter();
        let args: Vec<Option<Reg>> = inputs().map(|v| v.and_then(|v| self.regs.get(&v).copied())).collect();
        let out = graph.ty(node.output()).dtype();
        let dtypes: Vec<DType> = inputs().map(|v| v.map_or(out, |v| graph.ty(v).dtype())).collect();
        let cx = ScalarCx { b, args: &args, dtypes: &dtypes, out };
        let none = || Refusal(format!("{} has no scalar form over {dtypes:?}", node.op.name()));
        let reg = node.op.scalar(&cx).ok_or_else(none)?;
        self.regs.insert(node.output(), b.narrow(reg, out));
        let raised = [
            (node.op.zero_divisor(&cx), status::INT_DIV_ZERO),
            (node.op.mismatch(&cx), status::EXTENT_MISMATCH),
        ];
        for (wrong, flag) in raised.into_iter().filter_map(|(wrong, flag)| Some((wrong?, flag))) {
            let flag = b.select(wrong, b.u32(flag), b.u32(0));
            self.flags = Some(self.flags.map_or(flag, |f| b.or(f, flag)));
        }
        Ok(())
    }
}

/// The data of a constant of one element.
fn literal(graph: &Graph, v: ValueId) -> Option<&Tensor> {
    graph.constant_data(v).filter(|t| crate::meaning::is_literal(t))
}
