//! `call`: a graph that is built already, put into another one.
//!
//! In: the function, its operands. Out: nodes of the caller's graph, one for each of the function, with the caller's
//! extents in the places of its symbols. Never here: a node that stands for the whole.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::graph::{Graph, Node};
use crate::infer::Infer;
use crate::ops::Op;
use crate::ops::source::stream_of;
use crate::shape::display_dim;
use crate::{NodeId, ValueId};
use pumice_types::{DimExpr, ScalarId, Symbol, SymbolId, Var};
use std::collections::BTreeMap;

/// What the function's symbols are here.
type Bound = BTreeMap<SymbolId, DimExpr>;

impl GraphBuilder {
    /// The outputs of a function, a graph that is built already, for these operands, which take the places of its
    /// inputs in their order (ONNX's functions; StableHLO `call`). The function's nodes become nodes of this graph,
    /// named within the function's name. A symbol of the function is the extent that an operand has in the place of
    /// an input's extent that is this symbol alone; an operand's extents must be as the function's inputs say, and
    /// within its symbols' ranges: what only runs tell becomes a condition of this graph.
    ///
    /// Constants come along. So do params and scalars, under their own names, without the function's: one of a name
    /// that this graph has already is the same one, so that two calls share their weights, and must be declared alike.
    /// Who wants weights of a call's own makes them inputs of the function. Nodes that draw random numbers without a
    /// stream that was given take one of their own in each call.
    ///
    /// A function has no states, feeds or stop, is no graph that a pass has fused, and binds all of its symbols by its
    /// inputs; another one is refused by name. It cannot call itself: a graph is built when it is called.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32, sym};
    /// let f = GraphBuilder::new("dense");
    /// let (x, w) = (f.input("x", f32([sym("rows", 1..=64), 8.into()])), f.param("w", f32([8, 8])));
    /// f.output("y", f.relu(f.matmul(x, w)));
    /// let dense = f.build()?;
    ///
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([5, 8]));
    /// let y = g.call(&dense, &g.call(&dense, &[x]))[0];
    /// g.output("y", y);
    /// assert_eq!(g.build()?.params().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn call(&self, function: &Graph, operands: &[Value]) -> Vec<Value> {
        match self.inlined(function, operands) {
            Ok(results) => results,
            Err(mistake) => vec![mistake; function.outputs().len()],
        }
    }

    #[track_caller]
    fn inlined(&self, function: &Graph, operands: &[Value]) -> Result<Vec<Value>, Value> {
        let mut bound = Bound::new();
        let rule = |cx: &Infer<'_>| {
            can_be_called(function)?;
            bound = bind(cx, function)?;
            within_ranges(cx, function, &bound)?;
            all_bound(function, &bound)?;
            of_methods(cx, function, &bound)
        };
        self.checked_operands("call", &["operands*"], operands, rule)?;
        if has_own_source(function) {
            self.random_source();
        }
        let name = if function.name().is_empty() { "call" } else { function.name() };
        let g = self.composition(name);
        bound.extend(function.nodes().filter_map(|(_, node)| found(&g, function, node)));
        let mut call = Call {
            g: &g,
            function,
            bound,
            values: BTreeMap::new(),
            numbers: BTreeMap::new(),
            streams: BTreeMap::new(),
        };
        call.values.extend(function.inputs().into_iter().zip(operands.iter().copied()));
        for (id, node) in function.nodes() {
            call.node(id, node)?;
        }
        Ok(function.outputs().iter().map(|o| call.values[&o.value]).collect())
    }
}

fn invalid(reason: String) -> OpError {
    OpError::Invalid(reason)
}

/// What of a graph belongs to a program alone.
fn can_be_called(function: &Graph) -> Result<(), OpError> {
    let f = function.name();
    if let Some(&state) = function.states().first() {
        let state = &function.value(state).name;
        return Err(invalid(format!("`{f}` has the state `{state}`, and a function has none")));
    }
    if let Some(stop) = function.stop() {
        let output = &function.outputs()[stop].name;
        return Err(invalid(format!("`{f}` stops replays by `{output}`, and a function stops none")));
    }
    if let Some((id, _)) = function.nodes().find(|(_, node)| node.op.body().is_some()) {
        let node = function.node_name(id);
        return Err(invalid(format!("`{f}` has the fused node `{node}`: call the graph as it was built")));
    }
    Ok(())
}

/// The operands as the function's inputs; what its symbols are.
fn bind(cx: &Infer<'_>, function: &Graph) -> Result<Bound, OpError> {
    let (f, inputs) = (function.name(), function.inputs());
    if inputs.len() != cx.len() {
        return Err(invalid(format!("`{f}` has {} inputs, {} operands are given", inputs.len(), cx.len())));
    }
    let mut bound = Bound::new();
    for (k, &input) in inputs.iter().enumerate() {
        let (own, given) = (function.ty(input), cx.ty(k)?);
        if (own.encoding, own.rank()) != (given.encoding, given.rank()) {
            let [own, given] = [own.display(function.symbols()), given.display(cx.symbols())];
            let name = &function.value(input).name;
            return Err(invalid(format!("input `{name}` of `{f}` is {own}, the operand {given}")));
        }
        let symbols = own.shape.iter().zip(given.shape.iter());
        symbols.for_each(|(own, given)| {
            if let Some(symbol) = own.as_symbol() {
                bound.entry(symbol).or_insert_with(|| given.clone());
            }
        });
    }
    for (k, &input) in inputs.iter().enumerate() {
        let own = &function.ty(input).shape;
        for (axis, (own, given)) in own.iter().zip(cx.ty(k)?.shape.iter()).enumerate() {
            unbound(own, &bound).map_or(Ok(()), |symbol| Err(binds_nothing(function, symbol)))?;
            let name = &function.value(input).name;
            let what = format!("axis {axis} of the operand and of input `{name}` of `{f}`");
            cx.equal(given, &within_caller(own, &bound, &[]), &what)?;
        }
    }
    Ok(bound)
}

/// Extents are in the ranges of the symbols that they take the places of.
fn within_ranges(cx: &Infer<'_>, function: &Graph, bound: &Bound) -> Result<(), OpError> {
    for (&id, extent) in bound {
        let Some(Symbol { name, min, max, multiple_of, .. }) = function.symbols().get(id) else { continue };
        let number = |n: &u64| DimExpr::constant(i64::try_from(*n).unwrap_or(i64::MAX));
        let what = format!("the range of symbol `{name}` of `{}`", function.name());
        cx.at_most(&number(min), extent, &what)?;
        cx.at_most(extent, &number(max), &what)?;
        if extent.divisor(cx.symbols()) % (*multiple_of).max(1) != 0 {
            let step = number(multiple_of);
            let whole = extent.floor_div(&step) * step;
            cx.equal(extent, &whole, &format!("multiples that symbol `{name}` of `{}` is", function.name()))?;
        }
    }
    Ok(())
}

/// Every symbol that a node names is an extent of an input, or found.
fn all_bound(function: &Graph, bound: &Bound) -> Result<(), OpError> {
    let mut free = None;
    let mut look = |e: &DimExpr| {
        let wanted = |id: &SymbolId| !bound.contains_key(id) && !function.symbols().is_found(*id);
        e.visit_vars(|v| free = free.or(v.symbol().filter(wanted)));
    };
    for (_, node) in function.nodes() {
        node.op.visit_dims(&mut look);
        node.outputs.iter().flat_map(|&v| function.ty(v).shape.iter()).for_each(&mut look);
    }
    free.map_or(Ok(()), |symbol| Err(binds_nothing(function, symbol)))
}

/// What the function's methods need, whose nodes do not.
fn of_methods(cx: &Infer<'_>, function: &Graph, bound: &Bound) -> Result<(), OpError> {
    let mut conditions = function.constraints().iter().filter(|c| c.of_method);
    conditions.try_for_each(|c| {
        let [left, right] = [&c.left, &c.right].map(|e| within_caller(e, bound, &[]));
        cx.require(&left, c.relation, &right, &c.what)
    })
}

fn binds_nothing(function: &Graph, symbol: SymbolId) -> OpError {
    let shown = display_dim(&DimExpr::symbol(symbol), function.symbols());
    invalid(format!("symbol `{shown}` of `{}` is no extent of an input: nothing binds it", function.name()))
}

/// A symbol of an expression that is not bound.
fn unbound(e: &DimExpr, bound: &Bound) -> Option<SymbolId> {
    e.find_var(|v| v.symbol().is_some_and(|id| !bound.contains_key(&id))).and_then(Var::symbol)
}

/// An expression of the function as one of the caller: symbols as they are bound, scalars by their number there.
fn within_caller(e: &DimExpr, bound: &Bound, scalars: &[DimExpr]) -> DimExpr {
    e.substitute(&|var| match var {
        Var::Symbol(id) => bound.get(&id).cloned(),
        Var::Scalar(ScalarId(i)) => scalars.get(i as usize).cloned(),
    })
}

/// A symbol of the caller for one that a node of the function finds.
fn found(g: &GraphBuilder, function: &Graph, node: &Node) -> Option<(SymbolId, DimExpr)> {
    let id = node.op.finds()?;
    Some((id, g.found_symbol(function.symbols().get(id)?.max)))
}

/// Whether the function draws random numbers from a graph's own source, which is then the caller's.
fn has_own_source(function: &Graph) -> bool {
    let is_scalar = |name: &str| {
        let value = function.find(name);
        value.is_some_and(|v| matches!(function.def(v).op, Op::Scalar(_)))
    };
    ["seed_low", "seed_high", "random_step"].into_iter().all(is_scalar)
}

/// A call while its nodes are made.
struct Call<'c> {
    g: &'c GraphBuilder,
    function: &'c Graph,
    bound: Bound,
    values: BTreeMap<ValueId, Value>,
    /// By the function's number of a loop, the caller's.
    numbers: BTreeMap<i64, i64>,
    /// By a stream that a node of the function has by its name, the one that it has here: what draws again has it too.
    streams: BTreeMap<u64, u64>,
}

impl Call<'_> {
    /// Makes a node of the function here.
    #[track_caller]
    fn node(&mut self, id: NodeId, node: &Node) -> Result<(), Value> {
        let made = match &node.op {
            Op::Input(_) => return Ok(()),
            Op::Param(_) | Op::Scalar(_) => vec![self.leaf(id, node)?],
            _ => {
                let inputs: Vec<Option<Value>> =
                    node.inputs.iter().map(|v| v.map(|v| self.values[&v])).collect();
                self.apply(id, node, &inputs)
            }
        };
        match made.len() == node.outputs.len() {
            true => self.values.extend(node.outputs.iter().copied().zip(made)),
            false => return Err(made[0]),
        }
        Ok(())
    }

    /// A param or scalar: the one of that name, or a new one.
    #[track_caller]
    fn leaf(&self, id: NodeId, node: &Node) -> Result<Value, Value> {
        let (op, name) = (self.op(&node.op), self.function.node_name(id));
        let Some(known) = self.g.find(name) else { return Ok(self.g.leaf_again(name, op)) };
        let is_same = self.g.look(|graph| known.valid().is_some_and(|v| graph.def(v).op == op));
        if is_same {
            return Ok(known);
        }
        let (kind, f) = (op.name(), self.function.name());
        let reason = format!("the {kind} `{name}` of `{f}` is declared otherwise in the graph that calls it");
        Err(self.g.wrong_call("call", invalid(reason)))
    }

    #[track_caller]
    fn apply(&mut self, id: NodeId, node: &Node, inputs: &[Option<Value>]) -> Vec<Value> {
        let (op, name) = (self.of_its_loop(self.op(&node.op)), self.function.node_name(id));
        let again = |stream: u64| op.with_stream(stream).unwrap_or_else(|| op.clone());
        match op.stream() {
            Some(stream) if self.streams.contains_key(&stream) => {
                let again = again(self.streams[&stream]);
                self.g.named(name).apply_all(again, inputs)
            }
            Some(own) if own == stream_of(name) => {
                let noted = |stream: u64| {
                    self.streams.insert(own, stream);
                    again(stream)
                };
                self.g.apply_streamed(name, None, noted, inputs)
            }
            _ => self.g.named(name).apply_all(op, inputs),
        }
    }

    /// A part of a loop under the number that the loop has here; another op as it is.
    fn of_its_loop(&mut self, op: Op) -> Op {
        let number = op.carries().map(|(number, _)| number).or(op.loops().map(|l| l.number));
        let Some(number) = number else { return op };
        let free = self.g.look(|graph| graph.nodes.len() as i64);
        let here = *self.numbers.entry(number).or_insert(free);
        op.with_loop_number(here).unwrap_or(op)
    }

    /// An op with the caller's extents.
    fn op(&self, op: &Op) -> Op {
        let scalar = |v: ValueId| self.values.get(&v).map(|&v| self.g.scalar_expr(v));
        let mut uses_scalars = false;
        op.visit_dims(&mut |e| uses_scalars |= e.find_var(|v| v.symbol().is_none()).is_some());
        let scalars: Vec<DimExpr> = match uses_scalars {
            true => self.function.scalars().into_iter().map_while(scalar).collect(),
            false => Vec::new(),
        };
        let mut op = op.clone();
        op.map_dims(&|e| within_caller(e, &self.bound, &scalars));
        op
    }
}
