//! Which nodes a loop computes again in every turn.
//!
//! In: a graph. Out: for each node the loop that it is in. A node is in a loop where it follows from what a turn begins
//! with ([`Carry`](crate::ops::Carry)) and not from the loop's result ([`Loop`](crate::ops::Loop)): so whatever is the
//! same in every turn is outside, and a loop is no mark that a pass could lose. Loops do not stand in one another.

use crate::graph::Graph;
use crate::{NodeId, ValueId};
use pumice_types::{DimExpr, SymbolId};
use std::collections::BTreeMap;

/// A loop of a graph.
#[derive(Clone, Debug)]
pub struct LoopInfo {
    /// The node that ends it.
    pub end: NodeId,
    /// 1 while it runs.
    pub running: DimExpr,
    /// Turns at most.
    pub most: u64,
    /// How many there are, where the caller's symbols say so: less than one is none.
    pub turns: Option<DimExpr>,
    /// Its nodes, in their order, without the end.
    pub nodes: Vec<NodeId>,
    /// What turns begin with, by its place.
    pub carried: BTreeMap<usize, ValueId>,
}

/// The loops of a graph.
#[derive(Clone, Debug, Default)]
pub struct Loops {
    /// In the order of their ends.
    pub all: Vec<LoopInfo>,
    /// By node; empty where there is no loop.
    of: Vec<Option<u32>>,
    /// By symbol that a turn finds, the loop.
    found: BTreeMap<SymbolId, u32>,
}

impl Loops {
    /// Of a graph.
    pub fn of(graph: &Graph) -> Loops {
        let ends = graph.nodes().filter_map(|(end, node)| Some((end, node.op.loops()?)));
        let mut loops = Loops::default();
        let mut numbers: BTreeMap<i64, u32> = BTreeMap::new();
        for (end, of) in ends {
            numbers.insert(of.number, loops.all.len() as u32);
            let (nodes, carried) = (Vec::new(), BTreeMap::new());
            let (running, most, turns) = (of.running.clone(), of.most, of.turns.cloned());
            loops.all.push(LoopInfo { end, running, most, turns, nodes, carried });
        }
        if loops.all.is_empty() {
            return loops;
        }
        loops.of = vec![None; graph.nodes().len()];
        for (id, node) in graph.nodes() {
            let mut of = loops.follows(graph, id);
            if let Some((number, place)) = node.op.carries() {
                of = numbers.get(&number).copied();
                if let Some(l) = of {
                    loops.all[l as usize].carried.insert(place, node.output());
                }
            }
            if let Some(own) = of.filter(|&l| loops.all[l as usize].end != id) {
                loops.of[id.index()] = Some(own);
                loops.all[own as usize].nodes.push(id);
                loops.found.extend(node.op.finds().map(|symbol| (symbol, own)));
            }
        }
        loops
    }

    /// The loop that a node's operands, or the extents that it names, are in.
    fn follows(&self, graph: &Graph, id: NodeId) -> Option<u32> {
        let node = graph.node(id);
        let of_operands = node.operands().find_map(|v| self.of[graph.value(v).def.0.index()]);
        let of_symbols = || match node.op.loops() {
            None => graph.symbols_named(node).iter().find_map(|symbol| self.found.get(symbol).copied()),
            Some(_) => None,
        };
        of_operands.or_else(of_symbols)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The number of the loop that a node is in.
    pub fn inside(&self, id: NodeId) -> Option<usize> {
        self.of.get(id.index()).copied().flatten().map(|l| l as usize)
    }

    /// The number of the loop whose turns find a symbol.
    pub fn finding(&self, symbol: SymbolId) -> Option<usize> {
        self.found.get(&symbol).map(|&l| l as usize)
    }

    /// The loop that a node ends.
    pub fn ended_by(&self, id: NodeId) -> Option<usize> {
        self.all.iter().position(|l| l.end == id)
    }
}
