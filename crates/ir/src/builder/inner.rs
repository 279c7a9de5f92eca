//! What all handles of one builder share: the graph so far, its names, and the mistakes.

use super::alike::Inputs;
use super::{CallSite, Mistake, Value};
use crate::conditions::Conditions;
use crate::entity::{NodeId, ValueId};
use crate::error::{BuildError, OpError, node_and_op};
use crate::graph::{Constraint, Graph, Node, Relation, ValueInfo};
use crate::infer::{Types, infer_types, tell_node};
use crate::names::Names;
use crate::ops::Op;
use crate::ops::source::RandomSource;
use crate::place::Place;
use crate::shape::{DimSpec, TypeSpec, ValueType, display_dim};
use crate::sites::Sites;
use pumice_types::{DimExpr, Symbol, SymbolTable};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A graph that is being built.
pub(super) struct Inner {
    pub(super) graph: Graph,
    /// What the values of this builder carry.
    pub(super) id: usize,
    pub(super) names: Names,
    /// Indices of outputs by name.
    pub(super) outputs: BTreeMap<String, usize>,
    pub(super) conditions: Conditions,
    pub(super) scope: Vec<String>,
    pub(super) errors: Vec<Mistake>,
    /// Outputs whose values came out of mistakes.
    pub(super) lost: BTreeSet<String>,
    /// Where each value was made.
    pub(super) made: BTreeMap<ValueId, CallSite>,
    /// Where each feed was made, with the name of its output.
    pub(super) fed: Vec<(String, CallSite)>,
    pub(super) stops: Option<CallSite>,
    /// The graph's own source of random numbers.
    pub(super) source: Option<RandomSource>,
    /// Known turns of a loop that are built one after the other, at most.
    pub(super) unroll: u64,
    /// The places of the true elements of masks, so that whatever one mask chooses has one extent.
    pub(super) places: BTreeMap<ValueId, Value>,
    /// Where nodes are told to be made, while a method of many steps makes them.
    pub(super) made_at: Option<CallSite>,
}

/// What builders begin with.
const UNROLL: u64 = 16;

impl Inner {
    pub(super) fn new(name: &str, symbols: SymbolTable) -> Inner {
        Inner {
            graph: Graph::empty(name.to_owned(), symbols),
            id: 0,
            names: Names::default(),
            outputs: BTreeMap::new(),
            conditions: Conditions::default(),
            scope: Vec::new(),
            errors: Vec::new(),
            lost: BTreeSet::new(),
            made: BTreeMap::new(),
            fed: Vec::new(),
            stops: None,
            source: None,
            unroll: UNROLL,
            places: BTreeMap::new(),
            made_at: None,
        }
    }

    /// Takes a finished graph to go on with.
    pub(super) fn reopen(&mut self, graph: Graph) {
        self.names = graph.values().map(|(_, value)| value.name.clone()).collect();
        self.outputs = graph.outputs.iter().enumerate().map(|(i, o)| (o.name.clone(), i)).collect();
        self.conditions = Conditions::of(&graph.constraints);
        self.graph = graph;
    }

    /// Notes a mistake; its number.
    pub(super) fn mistake(&mut self, error: BuildError, site: CallSite) -> usize {
        self.errors.push(Mistake { error, site: Some(site) });
        self.errors.len() - 1
    }

    /// Notes a mistake; the value that came out of it.
    pub(super) fn wrong(&mut self, error: BuildError, site: CallSite) -> Vec<Value> {
        vec![Value { id: Err(self.mistake(error, site)), graph: self.id }]
    }

    /// Where what a rule of the whole graph complains about was made.
    pub(super) fn site_of(&self, error: &BuildError) -> Option<CallSite> {
        let made = |name: &str| {
            let value = self.graph.find(name)?;
            let end = self.loop_of(value).and_then(|end| self.made.get(&end));
            end.or_else(|| self.made.get(&value)).copied()
        };
        match error {
            BuildError::Stop { .. } => self.stops,
            BuildError::Feed { output, .. } => self.fed.iter().find(|(o, _)| o == output).map(|(_, p)| *p),
            BuildError::State { state: name, .. }
            | BuildError::Scalar { name, .. }
            | BuildError::Stream { node: name, .. }
            | BuildError::Loop { node: name, .. }
            | BuildError::DuplicateName(name) => made(name),
            _ => None,
        }
    }

    /// Where nodes were made, of this builder and of the graph that it opened.
    pub(super) fn sites(&self) -> Sites {
        let first = self.made.iter().filter(|(v, _)| self.graph.value(**v).def.1 == 0);
        let named = first.map(|(&v, &site)| (Arc::clone(&self.graph.value(v).name), site));
        self.graph.sites.and(named.collect())
    }

    /// For what a turn begins with, which a method of the builder makes, the first result of its loop.
    fn loop_of(&self, value: ValueId) -> Option<ValueId> {
        let (number, _) = self.graph.def(value).op.carries()?;
        let ends = |node: &Node| node.op.loops().is_some_and(|l| l.number == number);
        self.graph.nodes().find(|(_, node)| ends(node)).map(|(_, node)| node.output())
    }

    /// Whether a value came from another builder.
    pub(super) fn is_foreign(&self, value: Value) -> bool {
        value.graph != self.id || value.id.is_ok_and(|id| id.index() >= self.graph.values.len())
    }

    /// Adds a node under that name, or that name with a number if it is taken; its values.
    pub(super) fn add(
        &mut self,
        op: Op,
        name: String,
        inputs: &[Option<Value>],
        site: CallSite,
    ) -> Vec<Value> {
        let name = self.names.unique(name.into());
        self.add_named(op, name, inputs, site)
    }

    /// Adds a node under a name that is its own already.
    pub(super) fn add_named(
        &mut self,
        op: Op,
        name: Arc<str>,
        inputs: &[Option<Value>],
        site: CallSite,
    ) -> Vec<Value> {
        let site = self.made_at.unwrap_or(site);
        for (operand, v) in inputs.iter().enumerate() {
            match v {
                Some(v) if self.is_foreign(*v) => {
                    let node = name.to_string();
                    return self.wrong(BuildError::ForeignValue { node, operand }, site);
                }
                Some(v) if v.id.is_err() => return vec![*v],
                _ => {}
            }
        }
        let mut ids: Inputs = inputs.iter().map(|v| v.and_then(|v| v.id.ok())).collect();
        while ids.last() == Some(&None) {
            ids.pop();
        }
        let inferred = self.infer(&op, &name, &ids).or_else(|refused| {
            ids = self.cut_alike(&op, &name, &ids, site).ok_or_else(|| refused.clone())?;
            self.infer(&op, &name, &ids).map_err(|_| refused)
        });
        match inferred {
            Ok((types, constraints)) => {
                self.add_constraints(constraints, site);
                let names = self.names.of_results(name, types.len());
                let values = self.graph.push_node(op, ids, types.into_iter().zip(names));
                self.made.extend(values.iter().map(|&v| (v, site)));
                values.into_iter().map(|v| Value { id: Ok(v), graph: self.id }).collect()
            }
            Err(source) => self.wrong(BuildError::Op { node: name.to_string(), op: op.name(), source }, site),
        }
    }

    /// Gives a node another op, which has these results more: all its results.
    pub(super) fn become_op(&mut self, id: NodeId, op: Op, more: Vec<(ValueType, String)>) -> Vec<ValueId> {
        let site = self.made.get(&self.graph.node(id).output()).copied();
        for (ty, name) in more {
            let place = self.graph.node(id).outputs.len() as u16;
            let name = self.names.unique(name.into());
            let value = self.graph.push_result(id, ValueInfo { name, ty, def: (id, place) });
            self.made.extend(site.map(|site| (value, site)));
        }
        self.graph.nodes[id.index()].op = op;
        self.graph.node(id).outputs.to_vec()
    }

    /// Types and constraints of a node that is not added yet.
    fn infer(
        &self,
        op: &Op,
        name: &str,
        inputs: &[Option<ValueId>],
    ) -> Result<(Types, Vec<Constraint>), OpError> {
        let (types, mut constraints) = infer_types(&self.graph, op, inputs)?;
        self.stretch_always_or_never(&constraints)?;
        self.nothing_found(&constraints)?;
        tell_node(&mut constraints, &node_and_op(name, op.name()));
        Ok((types, constraints))
    }

    /// Conditions that no node needs, but the method that makes `node`.
    pub(super) fn require(
        &mut self,
        mut constraints: Vec<Constraint>,
        node: &str,
        site: CallSite,
    ) -> Result<(), OpError> {
        self.stretch_always_or_never(&constraints)?;
        self.nothing_found(&constraints)?;
        tell_node(&mut constraints, node);
        self.add_constraints(constraints.into_iter().map(|c| Constraint { of_method: true, ..c }), site);
        Ok(())
    }

    /// Whether they hold is known when a run binds the symbols: then the builder is gone, so they say where they were
    /// made.
    fn add_constraints(&mut self, constraints: impl IntoIterator<Item = Constraint>, site: CallSite) {
        let placed = constraints.into_iter().map(|c| Constraint { place: Place::Source(site), ..c });
        self.conditions.append(&mut self.graph.constraints, placed);
    }

    /// Refuses an extent that is 1 in some runs only, where NumPy would let it stretch in those.
    fn stretch_always_or_never(&self, constraints: &[Constraint]) -> Result<(), OpError> {
        let symbols = &self.graph.symbols;
        let may_be_one = |d: &&DimExpr| {
            let (low, high) = d.bounds(symbols);
            (low..=high).contains(&1)
        };
        for (i, c) in constraints.iter().enumerate().filter(|(_, c)| c.relation == Relation::Broadcast) {
            if c.difference().within(symbols).is(0) {
                continue;
            }
            let symbolic = [&c.left, &c.right].into_iter().find(may_be_one);
            let is_implied =
                || self.conditions.imply(c) || constraints[..i].iter().any(|known| known.implies(c));
            if let Some(d) = symbolic.filter(|_| !is_implied()) {
                let [a, b, symbolic] = [&c.left, &c.right, d].map(|d| display_dim(d, symbols));
                return Err(OpError::MayStretch { a, b, symbolic });
            }
        }
        Ok(())
    }

    /// Refuses a condition on what is found while the program runs: nobody could look before it does.
    fn nothing_found(&self, constraints: &[Constraint]) -> Result<(), OpError> {
        let symbols = &self.graph.symbols;
        let open = |c: &&Constraint| c.names_found(symbols) && !self.conditions.imply(c);
        match constraints.iter().find(open) {
            None => Ok(()),
            Some(c) => Err(OpError::OnlyFound { what: c.what.to_string(), condition: c.shown(symbols) }),
        }
    }

    pub(super) fn resolve(&mut self, spec: TypeSpec, site: CallSite) -> Result<ValueType, usize> {
        let dims = spec.dims.into_iter().map(|d| self.resolve_dim(d, site));
        // Every wrong symbol is a mistake of its own; the first stands for the value.
        let dims: Vec<Result<DimExpr, usize>> = dims.collect();
        let shape = dims.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(ValueType::new(spec.encoding, shape))
    }

    fn resolve_dim(&mut self, spec: DimSpec, site: CallSite) -> Result<DimExpr, usize> {
        let (name, range, multiple_of) = match spec {
            DimSpec::Expr(e) => return Ok(e),
            DimSpec::Symbol { name, range, multiple_of } => (name, range, multiple_of),
        };
        let symbol =
            Symbol { name: name.clone(), min: *range.start(), max: *range.end(), multiple_of, found: false };
        let known = self.graph.symbols.find(&name);
        let reason = if name.is_empty() {
            "it needs a name"
        } else if symbol.min > symbol.max {
            "its range is empty"
        } else if multiple_of == 0 {
            "its step is 0"
        } else if symbol.max > i64::MAX as u64 {
            "the end of its range is 2^63 or more"
        } else {
            match known {
                None => return Ok(DimExpr::symbol(self.graph.symbols.push(symbol))),
                Some(id) if self.graph.symbols.get(id) == Some(&symbol) => return Ok(DimExpr::symbol(id)),
                Some(_) => "it is declared twice with different ranges",
            }
        };
        Err(self.mistake(BuildError::Symbol { name, reason: reason.to_owned() }, site))
    }
}
