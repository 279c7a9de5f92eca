//! Patches: the only way a graph becomes another graph.
//!
//! A pass returns patches; applying them makes a graph with new nodes in and old values redirected, drops nodes
//! that became unused, sorts what is out of order, and infers the types of every new node. A patch that would change
//! the type of a value it replaces is a defect of the pass and is refused.

mod order;
mod patched;
mod rebuild;
mod redirect;

use crate::attr::AttrError;
use crate::entity::ValueId;
use crate::error::OpError;
use crate::graph::Graph;
use crate::ops::Op;
use patched::Patched;
use pumice_types::{DimExpr, Symbol, SymbolId};
use std::sync::Arc;

/// A value in a patch: of the graph, or of one of the patch's nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchRef {
    /// A value of the graph that is patched.
    Old(ValueId),
    /// Output `.1` of the patch's node number `.0`.
    New(u32, u16),
}

impl PatchRef {
    /// Another output of the new node; of an old value none.
    #[must_use]
    pub fn result(self, output: u16) -> Option<PatchRef> {
        match self {
            PatchRef::Old(_) => None,
            PatchRef::New(node, _) => Some(PatchRef::New(node, output)),
        }
    }
}

/// A new node.
#[derive(Clone, Debug, PartialEq)]
pub struct PatchNode {
    /// Its op.
    pub op: Op,
    /// Its operands; refer to earlier nodes of the patch only.
    pub inputs: Vec<Option<PatchRef>>,
    /// Name its values should have; made unique if taken.
    pub name: Arc<str>,
}

/// One labelled change of a graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patch {
    /// What it does, with the names of the nodes: `fold constant scale`.
    pub label: String,
    /// New nodes.
    pub nodes: Vec<PatchNode>,
    /// Values of the graph that every user sees replaced.
    pub replace: Vec<(ValueId, PatchRef)>,
    /// A symbol that its nodes find, which the graph gets as its last one.
    pub found: Option<Symbol>,
}

impl Patch {
    /// An empty patch.
    pub fn new(label: impl Into<String>) -> Patch {
        // Most replace one value by one node, and a pass may find very many.
        let (nodes, replace) = (Vec::with_capacity(1), Vec::with_capacity(1));
        Patch { label: label.into(), nodes, replace, found: None }
    }

    /// Adds a node; the result is its first output.
    pub fn add(&mut self, op: impl Into<Op>, name: impl Into<Arc<str>>, inputs: &[PatchRef]) -> PatchRef {
        self.add_opt(op, name, inputs.iter().map(|&i| Some(i)).collect())
    }

    /// Adds a node with optional operands; the result is its first output.
    pub fn add_opt(
        &mut self,
        op: impl Into<Op>,
        name: impl Into<Arc<str>>,
        inputs: Vec<Option<PatchRef>>,
    ) -> PatchRef {
        self.nodes.push(PatchNode { op: op.into(), inputs, name: name.into() });
        PatchRef::New(self.nodes.len() as u32 - 1, 0)
    }

    /// A symbol from 0 to `max` that a node of the patch finds. Of the patches that are applied at once one may have
    /// such: its number is that of the graph's next symbol.
    pub fn find_symbol(&mut self, graph: &Graph, name: &str, max: u64) -> DimExpr {
        self.found = Some(graph.symbols.new_found(name, max));
        DimExpr::symbol(SymbolId(graph.symbols.len() as u32))
    }

    /// Redirects every use of a value.
    pub fn replace(&mut self, old: ValueId, new: PatchRef) {
        self.replace.push((old, new));
    }
}

/// A patch that cannot be applied: a defect of the pass that made it.
#[derive(Clone, PartialEq, thiserror::Error)]
pub enum PatchError {
    /// A new node's types cannot be inferred.
    #[error("patch `{label}`: new node {node}: {source}")]
    Infer {
        /// The patch.
        label: String,
        /// The node.
        node: String,
        /// Why.
        source: OpError,
    },
    /// A replacement has another type.
    #[error("patch `{label}` replaces {name}: {old} by {new}")]
    Type {
        /// The patch.
        label: String,
        /// The value.
        name: String,
        /// Its type.
        old: String,
        /// The type of the replacement.
        new: String,
    },
    /// Nodes depend on each other in a circle.
    #[error("patches {labels:?} leave a cycle through {node}")]
    Cycle {
        /// The patches.
        labels: Vec<String>,
        /// A node on the cycle.
        node: String,
    },
    /// A reference to a node the patch does not have.
    #[error("patch `{label}` refers to node {index}, which it does not have")]
    Reference {
        /// The patch.
        label: String,
        /// The index.
        index: u32,
    },
    /// Two patches bring a symbol each.
    #[error("patches {labels:?} each find a symbol; one may in a round")]
    Symbols {
        /// The patches.
        labels: Vec<String>,
    },
    /// An attribute of a rebuilt op is wrong.
    #[error(transparent)]
    Attr(#[from] AttrError),
}

pumice_types::debug_as_display!(PatchError);

impl Graph {
    /// The graph with the patches applied. Replaced values, and whatever only they needed, are gone; leaves stay.
    pub fn apply(&self, patches: &[Patch]) -> Result<Graph, PatchError> {
        self.clone().applied(patches)
    }

    /// As [`Graph::apply`]: what stays is moved, not copied.
    pub fn applied(self, patches: &[Patch]) -> Result<Graph, PatchError> {
        let patched = Patched::new(&self, patches)?;
        let order = patched.order(&self)?;
        if patches.is_empty() && order.iter().copied().eq(0..self.nodes.len()) {
            return Ok(self);
        }
        patched.rebuild(self, &order)
    }

    /// Whether anything needs each node: leaves of the interface, outputs and final states are needed.
    ///
    /// # Errors
    /// A graph against the rules.
    pub fn needed_nodes(&self) -> Result<Vec<bool>, PatchError> {
        Ok(Patched::new(self, &[])?.live(self))
    }

    /// The graph without nodes whose values nothing needs. Leaves stay: they are the program's interface.
    pub fn without_dead_nodes(&self) -> Result<Graph, PatchError> {
        self.apply(&[])
    }
}
